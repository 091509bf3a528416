// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Glibc
internal import MediaTypes
internal import Synchronization

/// The client's connection to one encoder in a helper: orders and their answers, and everything that the encoder sends.
///
/// A thread of its own receives. One thread at a time gives orders.
final class HelperLink: Sendable {
    /// Takes what comes from the helper, on the link's thread, which blocks only while a message has to be sent.
    struct Handlers: Sendable {
        /// Takes a message that answers no order. An error ends the helper.
        ///
        /// - Returns: Whether it is a sign of work: one that cannot come for ever, since a helper that only talks is ended.
        var message: @Sendable (HelperMessage) throws(MediaError) -> Bool
        /// Frames that are given without waiting for their answers; `nil` if none are.
        var frames: Frames?
        /// The encoder is gone while no order waited for an answer.
        var failed: @Sendable (MediaError) -> Void
    }

    /// What a link knows of frames that are given without waiting.
    struct Frames: Sendable {
        /// How long the helper may show no sign of work while answers are due.
        var patience: Duration
        /// Whether answers are due.
        var areDue: @Sendable () -> Bool
        /// Takes an answer.
        ///
        /// - Returns: Whether it is about such a frame, and not about an order.
        var answer: @Sendable (HelperMessage) throws(MediaError) -> Bool
    }

    private struct State {
        var isWaiting = false
        var answer: HelperMessage?
        var failure: MediaError?
        var isClosed = false
        /// Whether somebody was told that the encoder is gone.
        var isTold = false
        /// When the helper last showed that it works.
        var progress = SuspendingClock.now
    }

    static let peer = HelperHost.peer

    private let channel: Channel
    private let host: HelperHost
    private let state = Mutex(State())
    private let change = DispatchSemaphore(value: 0)
    /// Signalled when nothing comes from the helper any more.
    private let over = DispatchSemaphore(value: 0)

    /// Receives from now on.
    ///
    /// - Parameters:
    ///   - socket: The near end of the connection.
    ///   - host: The process at its far end, where a place was kept for the connection: the link gives it back.
    static func start(
        _ socket: consuming Descriptor,
        host: HelperHost,
        handlers: Handlers
    ) throws(MediaError) -> HelperLink {
        if let frames = handlers.frames {
            // Often enough for the wait to be about as long as it should.
            let pause = max(frames.patience.asPatience / 8, .milliseconds(1)).components
            var time = timeval(tv_sec: Int(pause.seconds), tv_usec: Int(pause.attoseconds / 1_000_000_000_000))
            let size = socklen_t(MemoryLayout<timeval>.size)
            guard setsockopt(socket.number, SOL_SOCKET, SO_RCVTIMEO, &time, size) == 0 else {
                throw systemError("setsockopt", "a socket cannot be set up")
            }
        }
        let link = HelperLink(socket, host)
        try PlainThread.start(name: "vt-link") { link.run(handlers) }
        return link
    }

    private init(_ socket: consuming Descriptor, _ host: HelperHost) {
        channel = Channel(socket, peer: Self.peer)
        self.host = host
    }

    /// The process, while it runs.
    var processID: pid_t? { host.processID }

    /// What confines the helper less than it should.
    var limitations: [String] { host.limitations }

    // MARK: - Orders

    /// Gives an order and waits for its answer.
    ///
    /// - Parameters:
    ///   - patience: How long the helper may show no sign of work.
    ///   - purpose: What the helper is asked to do, for errors.
    /// - Throws: what the helper answers if it failed; `deadlineExceeded` after which the helper is ended; the end of the
    ///   helper.
    func call(
        _ order: ClientMessage,
        descriptor: Int32? = nil,
        within patience: Duration,
        to purpose: String
    ) throws(MediaError) -> HelperMessage {
        switch try ask(order, descriptor: descriptor, within: patience, to: purpose) {
        case .refused(let error), .callFailed(let error):
            if !error.isPermanent { host.retire() }
            throw error
        case let answer: return answer
        }
    }

    /// As ``call(_:descriptor:within:to:)``, but what the helper answers if it failed is an answer like others, apart
    /// from the failures of the helper itself.
    func ask(
        _ order: ClientMessage,
        descriptor: Int32? = nil,
        within patience: Duration,
        to purpose: String
    ) throws(MediaError) -> HelperMessage {
        try state.withLock { (state) throws(MediaError) in
            if let failure = state.failure {
                state.isTold = true
                throw failure
            }
            state.isWaiting = true
            state.answer = nil
            state.progress = .now
        }
        do {
            try channel.send(order, descriptor: descriptor, until: .after(patience))
        } catch  where error.code == .invalidArgument {
            state.withLock { $0.isWaiting = false }
            throw error
        } catch {
            // The link's thread finds out why the helper is gone; a helper that takes nothing runs into its deadline.
        }
        return try answer(within: patience, to: purpose)
    }

    private func answer(within patience: Duration, to purpose: String) throws(MediaError) -> HelperMessage {
        while true {
            let remaining = try state.withLock { (state) throws(MediaError) -> Duration? in
                if state.answer == nil, let failure = state.failure {
                    state.isTold = true
                    throw failure
                }
                if state.answer != nil { return nil }
                return state.progress + patience.asPatience - .now
            }
            guard let remaining else { break }
            if remaining <= .zero {
                let limit = "\(patience)"
                abandon(MediaError(.deadlineExceeded, "\(Self.peer) did not \(purpose) in time", allowed: limit))
                continue
            }
            _ = change.wait(until: .after(min(remaining, .seconds(1))))
        }
        let answer = state.withLock { state in
            state.isWaiting = false
            defer { state.answer = nil }
            return state.answer
        }
        guard let answer else { throw MediaError(.invalidState, "a reply was taken twice") }
        return answer
    }

    /// From now on counts how long the helper shows no sign of work.
    func noteWork() { state.withLock { $0.progress = .now } }

    /// Gives a frame whose answer is not waited for: ``Handlers/frames`` take it.
    ///
    /// - Throws: the end of the helper.
    func give(_ order: FrameOrder, within patience: Duration) throws(MediaError) {
        try state.withLock { (state) throws(MediaError) in
            if let failure = state.failure {
                state.isTold = true
                throw failure
            }
            state.progress = .now
        }
        try tell(.frame(order), within: patience)
    }

    /// Sends what has no answer. If the helper is gone, the next order tells it.
    func tell(_ message: ClientMessage, descriptor: Int32? = nil, within patience: Duration) throws(MediaError) {
        do {
            try channel.send(message, descriptor: descriptor, until: .after(patience))
        } catch  where error.code == .invalidArgument {
            throw error
        } catch {
            if error.code == .deadlineExceeded { abandon(error) }
        }
    }

    /// Ends a helper that does not keep its promises; its end is not waited for.
    func abandon(_ error: MediaError) {
        state.withLock { $0.failure = $0.failure ?? error }
        host.end(because: error)
        channel.shutDown()
        change.signal()
    }

    /// Lets the encoder be released: where the last word cannot be sent, the end of the connection says it.
    ///
    /// - Parameter patience: How long to wait until it is. A helper does not outlive this process, so that a driver in it
    ///   would be cut off in what it does at its end.
    func close(within patience: Duration = .zero) {
        let (isFirst, isUsable) = state.withLock { state in
            defer { state.isClosed = true }
            let isUsable = state.failure == nil
            state.failure = state.failure ?? MediaError(.invalidState, "the encoder is closed")
            return (!state.isClosed, isUsable)
        }
        guard isFirst else { return }
        let isSent = channel.sendIfPossible(ClientMessage.close)
        host.release()
        // One that is stuck gets no more encoders.
        if isUsable, isSent, !over.wait(until: .after(patience)), patience > .zero { host.retire() }
        channel.shutDown()
    }

    // MARK: - The link's thread

    private func run(_ handlers: Handlers) {
        defer { over.signal() }
        do throws(MediaError) {
            var descriptor: Descriptor?
            receiving: while true {
                switch try channel.receive(HelperMessage.self, &descriptor, waits: true) {
                case .message(let message): try handle(message, handlers)
                case .nothing: break
                case .end: break receiving
                }
                try checkPatience(handlers.frames)
            }
            conclude(nil, handlers)
        } catch {
            conclude(error, handlers)
        }
    }

    /// Ends a helper that has shown no sign of work for too long, whatever else it says.
    private func checkPatience(_ frames: Frames?) throws(MediaError) {
        guard let frames, frames.areDue() else { return }
        if state.withLock({ $0.progress + frames.patience.asPatience <= .now }) { throw frames.deadlineExceeded }
    }

    private func handle(_ message: HelperMessage, _ handlers: Handlers) throws(MediaError) {
        switch message {
        case .created, .refused, .accepted, .updated, .drained, .callFailed, .inspected:
            if try handlers.frames?.answer(message) == true {
                if case .callFailed(let error) = message, !error.isPermanent { host.retire() }
                return noteWork()
            }
            let isExpected = state.withLock { state in
                guard state.isWaiting, state.answer == nil else { return false }
                state.answer = message
                return true
            }
            guard isExpected else {
                throw MediaError(.malformedData, "\(Self.peer) sent a reply without a request")
            }
            change.signal()
        case .coded, .released, .failed, .roomWanted, .stage, .report, .encoder:
            if case .failed = message { host.retire() }
            if try handlers.message(message) { noteWork() }
        }
    }

    /// Finds out why nothing more comes, and tells it.
    private func conclude(_ error: MediaError?, _ handlers: Handlers) {
        let isClosed = state.withLock { $0.isClosed }
        let failure = isClosed ? MediaError(.invalidState, "the encoder is closed") : error ?? reasonForTheEnd
        if let error, !isClosed { host.end(because: error) }
        let (isToldHere, final) = state.withLock { state -> (Bool, MediaError) in
            let final = state.failure ?? failure
            state.failure = final
            // Who waits is told by the order, unless it has got its answer before the end.
            let isToldByOrder = state.isWaiting && state.answer == nil
            let isToldHere = !state.isTold && !state.isClosed && !isToldByOrder
            if isToldHere { state.isTold = true }
            return (isToldHere, final)
        }
        change.signal()
        if isToldHere { handlers.failed(final) }
    }

    /// Why the helper closed the connection: mostly because it has ended. One that goes on without takes no more encoders.
    private var reasonForTheEnd: MediaError {
        // An order that waits has failed already if it had enough.
        if let failure = state.withLock({ $0.failure }) { return failure }
        // The host itself waits that long for a process that has closed everything, and ends it then.
        if let ending = host.ending(within: HelperHost.grace * 2) { return ending }
        host.retire()
        return MediaError(.frameFailed, "\(Self.peer) closed its connection")
    }
}

extension HelperLink.Frames {
    fileprivate var deadlineExceeded: MediaError {
        MediaError(.deadlineExceeded, "\(HelperLink.peer) did not encode a frame in time", allowed: "\(patience)")
    }
}
