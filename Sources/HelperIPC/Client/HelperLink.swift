// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Glibc
internal import MediaTypes
internal import Synchronization

/// The client's connection to one encoder or decoder in a helper: orders with their answers, and all other messages.
///
/// A separate thread receives. One thread at a time sends orders.
final class HelperLink<Messages: ConnectionMessages>: Sendable {
    typealias Order = Messages.Client
    typealias Message = Messages.Helper

    /// The handlers of messages from the helper. They run on the link's thread and only block to send a message, or to copy
    /// a picture over another link.
    struct Handlers: Sendable {
        /// Handles a message that answers no order. An error ends the helper.
        ///
        /// - Returns: Whether it shows progress. Only a bounded number of messages may count as progress, so that a
        ///   helper that only sends messages is ended.
        var message: @Sendable (Message) throws(MediaError) -> Bool
        /// The handlers of orders that are submitted without waiting for their answers; `nil` if there are none.
        var submissions: Submissions?
        /// Called when the far end is lost while no order waits for an answer.
        var failed: @Sendable (MediaError) -> Void
    }

    /// The handlers of orders that are submitted without waiting.
    struct Submissions: Sendable {
        /// The longest time without progress while answers are pending.
        var patience: Duration
        /// The purpose of such an order, for errors.
        var purpose: String
        /// Whether answers are pending.
        var areDue: @Sendable () -> Bool
        /// Handles an answer.
        ///
        /// - Returns: Whether it answers such an order, rather than one that a thread waits for.
        var answer: @Sendable (Message) throws(MediaError) -> Bool
        /// Whether the helper waits for this process, so that the time does not count. It must not be up to the helper
        /// alone.
        var isExcused: @Sendable () -> Bool = { false }
        /// The longest time between two calls of ``watch``.
        var longestPause = Duration.seconds(3600)
        /// Called on the link's thread again and again.
        var watch: @Sendable (HelperLink) -> Void = { _ in }
    }

    /// A message from the helper.
    struct Received {
        var message: Message
        /// The descriptors that came with it.
        var descriptors: [SharedDescriptor]
    }

    private struct State {
        var isWaiting = false
        var answer: Received?
        var failure: MediaError?
        var isClosed = false
        /// Whether orders fail because this end has given up, and not because of the helper.
        var isCancelled = false
        /// Whether the loss of the far end was reported.
        var isTold = false
        /// The time of the helper's last progress.
        var progress = SuspendingClock.now
    }

    private static var peer: String { HelperHost.peer }

    private let channel: Channel
    private let host: HelperHost
    private let submissions: Submissions?
    private let state = Mutex(State())
    private let change = DispatchSemaphore(value: 0)
    /// Signalled when no more messages will arrive.
    private let over = DispatchSemaphore(value: 0)

    /// Starts to receive.
    ///
    /// - Parameters:
    ///   - socket: The near end of the connection.
    ///   - host: The process at the far end, with a reserved place for the connection, which the link returns.
    static func start(
        _ socket: consuming Descriptor,
        host: HelperHost,
        handlers: Handlers
    ) throws(MediaError) -> HelperLink {
        if let submissions = handlers.submissions {
            // Frequent enough for an accurate deadline.
            let wanted = min(submissions.patience.asPatience / 8, submissions.longestPause)
            let pause = max(wanted, .milliseconds(1)).components
            var time = timeval(tv_sec: Int(pause.seconds), tv_usec: Int(pause.attoseconds / 1_000_000_000_000))
            let size = socklen_t(MemoryLayout<timeval>.size)
            guard setsockopt(socket.number, SOL_SOCKET, SO_RCVTIMEO, &time, size) == 0 else {
                throw systemError("setsockopt", "a socket cannot be set up")
            }
        }
        let link = HelperLink(socket, host, handlers.submissions)
        try PlainThread.start(name: "vt-link") { link.run(handlers) }
        return link
    }

    private init(_ socket: consuming Descriptor, _ host: HelperHost, _ submissions: Submissions?) {
        channel = Channel(socket, peer: Self.peer)
        self.host = host
        self.submissions = submissions
    }

    /// The ID of the process, while it runs.
    var processID: pid_t? { host.processID }

    /// The missing parts of the helper's sandbox.
    var limitations: [String] { host.limitations }

    /// Whether the helper still keeps what this end has: neither end is lost, and this one was not closed, even if it was
    /// cancelled.
    var isServed: Bool { state.withLock { ($0.failure == nil || $0.isCancelled) && !$0.isClosed } }

    /// Whether its helper accepts no more connections, because something in it has failed.
    var isHelperRetired: Bool { !host.isOpen }

    /// Whether another link is to the same helper.
    func sharesHelper<Others>(with other: HelperLink<Others>) -> Bool { host === other.host }

    /// Opens another connection to the helper, even to one that accepts no others, and even if this one was cancelled. It
    /// counts as one of those that the helper may have.
    ///
    /// - Throws: The end of the helper.
    func connect<Others: ConnectionMessages>(
        _ handlers: HelperLink<Others>.Handlers
    ) throws(MediaError) -> HelperLink<Others> {
        if !isServed { try check() }
        guard host.reserve(limit: .max, evenIfRetired: true) else {
            throw MediaError(.unavailable, "\(Self.peer) accepts no more connections", isPermanent: false)
        }
        do {
            return try host.connect(handlers)
        } catch {
            host.release()
            throw error
        }
    }

    // MARK: - Orders

    /// Sends an order and waits for its answer.
    ///
    /// - Parameters:
    ///   - patience: The longest time without progress of the helper.
    ///   - purpose: The purpose of the order, for errors.
    /// - Throws: The error that the helper answers; `deadlineExceeded` (the helper is then ended); the end of the
    ///   helper.
    func call(
        _ order: Order,
        descriptor: Int32? = nil,
        within patience: Duration,
        to purpose: String
    ) throws(MediaError) -> Message {
        try answer(to: order, descriptor: descriptor, within: patience, to: purpose).message
    }

    /// Sends an order like ``call(_:descriptor:within:to:)``, and returns the descriptors in the answer as well.
    func answer(
        to order: Order,
        descriptor: Int32? = nil,
        within patience: Duration,
        to purpose: String
    ) throws(MediaError) -> Received {
        let answer = try exchange(order, descriptor, patience, purpose)
        if case .refusal(let error) = answer.message.role {
            if !error.isPermanent { host.retire() }
            throw host.explain(error)
        }
        return answer
    }

    /// Sends an order like ``call(_:descriptor:within:to:)``, but returns an error in the helper's answer like any
    /// other answer. It only throws failures of the helper itself.
    func ask(
        _ order: Order,
        descriptor: Int32? = nil,
        within patience: Duration,
        to purpose: String
    ) throws(MediaError) -> Message {
        try exchange(order, descriptor, patience, purpose).message
    }

    private func exchange(
        _ order: Order,
        _ descriptor: Int32?,
        _ patience: Duration,
        _ purpose: String
    ) throws(MediaError) -> Received {
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
            // The link's thread determines why the helper was lost; a helper that does not read exceeds its deadline.
        }
        return try answer(within: patience, to: purpose)
    }

    private func answer(within patience: Duration, to purpose: String) throws(MediaError) -> Received {
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
                if submissions?.isExcused() == true {
                    noteWork()
                    continue
                }
                abandon(Self.deadlineExceeded(purpose, patience))
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

    /// Restarts the time without progress of the helper.
    func noteWork() { state.withLock { $0.progress = .now } }

    /// Submits an order without waiting for its answer, which ``Handlers/submissions`` receives.
    ///
    /// - Throws: The end of the helper.
    func give(_ order: Order, within patience: Duration) throws(MediaError) {
        try check()
        noteWork()
        try tell(order, within: patience)
    }

    /// - Throws: The error of the connection, if it can no longer be used.
    func check() throws(MediaError) {
        try state.withLock { (state) throws(MediaError) in
            guard let failure = state.failure else { return }
            state.isTold = true
            throw failure
        }
    }

    /// Sends a message that has no answer, if this requires no waiting.
    ///
    /// - Returns: Whether it was sent.
    func sendIfPossible(_ message: Order, descriptor: Int32? = nil) -> Bool {
        channel.sendIfPossible(message, descriptor: descriptor)
    }

    /// Sends a message that has no answer. If the helper was lost, the next order reports it.
    func tell(_ message: Order, descriptor: Int32? = nil, within patience: Duration) throws(MediaError) {
        do {
            try channel.send(message, descriptor: descriptor, until: .after(patience))
        } catch  where error.code == .invalidArgument {
            throw error
        } catch {
            if error.code == .deadlineExceeded { abandon(error) }
        }
    }

    /// Ends a helper that violates the protocol, without waiting for its end.
    func abandon(_ error: MediaError) {
        state.withLock { $0.failure = $0.failure ?? error }
        host.end(because: error)
        channel.shutDown()
        change.signal()
    }

    /// Ends a helper that violates the protocol.
    ///
    /// - Parameter reason: What it did.
    /// - Returns: The error.
    func refuse(_ reason: String) -> MediaError {
        let error = MediaError(.malformedData, "\(Self.peer) \(reason)")
        abandon(error)
        return error
    }

    /// Gives the encoder or decoder up: orders fail with an error, also one that waits. The helper is not ended, and the
    /// connection stays until ``close(within:)``.
    ///
    /// - Returns: Whether the caller has to tell the helper to release what it has, with the last message.
    func cancel(because error: MediaError) -> Bool {
        let isFirst = state.withLock { state in
            guard state.failure == nil else { return false }
            state.failure = error
            state.isTold = true
            state.isCancelled = true
            return true
        }
        if isFirst { change.signal() }
        return isFirst
    }

    /// Lets the encoder or decoder be released. If the message cannot be sent, the end of the connection has the same
    /// effect.
    ///
    /// - Parameter patience: The time to wait for the release. A helper does not outlive this process, so without
    ///   waiting, a driver in it might be interrupted while it ends.
    func close(within patience: Duration = .zero) {
        let (isFirst, isUsable, isCancelled) = state.withLock { state in
            defer { state.isClosed = true }
            let isUsable = state.failure == nil || state.isCancelled
            state.failure = state.failure ?? Self.closed
            return (!state.isClosed, isUsable, state.isCancelled)
        }
        guard isFirst else { return }
        let isSent = isCancelled || channel.sendIfPossible(Messages.close)
        // The helper keeps nothing for this end any more.
        channel.endSending()
        host.release()
        // A stuck helper receives no more connections.
        if isUsable, isSent, !over.wait(until: .after(patience)), patience > .zero { host.retire() }
        channel.shutDown()
    }

    // MARK: - The link's thread

    private func run(_ handlers: Handlers) {
        defer { over.signal() }
        do throws(MediaError) {
            var descriptors: [SharedDescriptor] = []
            receiving: while true {
                switch try channel.receive(Message.self, &descriptors, waits: true) {
                case .message(let message): try handle(Received(message: message, descriptors: descriptors), handlers)
                case .nothing: break
                case .end: break receiving
                }
                submissions?.watch(self)
                try checkPatience()
            }
            conclude(nil, handlers)
        } catch {
            conclude(error, handlers)
        }
    }

    /// Ends a helper that has made no progress for too long, regardless of its other messages.
    private func checkPatience() throws(MediaError) {
        guard let submissions, submissions.areDue() else { return }
        // After a cancellation, nobody waits for answers, but the helper may keep pictures.
        if state.withLock({ $0.isCancelled }) { return }
        let patience = submissions.patience
        if state.withLock({ $0.progress + patience.asPatience <= .now }) {
            if submissions.isExcused() { return noteWork() }
            throw Self.deadlineExceeded(submissions.purpose, patience)
        }
    }

    private func handle(_ received: Received, _ handlers: Handlers) throws(MediaError) {
        let message = received.message
        switch message.role {
        case .answer, .refusal:
            // Before the session learns of it, and may want another connection.
            if case .refusal(let error) = message.role, !error.isPermanent, submissions?.areDue() == true {
                host.retire()
            }
            if try submissions?.answer(message) == true { return noteWork() }
            let isExpected = state.withLock { state in
                // The order has failed already.
                if state.isCancelled { return true }
                guard state.isWaiting, state.answer == nil else { return false }
                state.answer = received
                return true
            }
            guard isExpected else {
                throw MediaError(.malformedData, "\(Self.peer) sent a reply without a request")
            }
            change.signal()
        case .failure, .notice:
            if case .failure = message.role { host.retire() }
            if try handlers.message(message) { noteWork() }
        }
    }

    /// Determines why no more messages arrive, and reports it.
    private func conclude(_ error: MediaError?, _ handlers: Handlers) {
        let isClosed = state.withLock { $0.isClosed }
        let failure = isClosed ? Self.closed : error ?? reasonForTheEnd
        if let error, !isClosed { host.end(because: error) }
        let (isToldHere, final) = state.withLock { state -> (Bool, MediaError) in
            let final = state.failure ?? failure
            state.failure = final
            // A waiting order reports the error itself, unless it was answered before the end.
            let isToldByOrder = state.isWaiting && state.answer == nil
            let isToldHere = !state.isTold && !state.isClosed && !isToldByOrder
            if isToldHere { state.isTold = true }
            return (isToldHere, final)
        }
        change.signal()
        if isToldHere { handlers.failed(final) }
    }

    /// The reason why the helper closed the connection: usually its end. A helper that continues without the connection
    /// accepts no more connections.
    private var reasonForTheEnd: MediaError {
        // A waiting order has already failed if the deadline has passed.
        if let failure = state.withLock({ $0.failure }) { return failure }
        // The host itself waits that long for a process that has closed everything, and then ends it.
        if let ending = host.ending(within: HelperHost.grace * 2) { return ending }
        host.retire()
        return MediaError(.frameFailed, "\(Self.peer) closed its connection")
    }

    private static var closed: MediaError { MediaError(.invalidState, "the connection to the helper is closed") }

    private static func deadlineExceeded(_ purpose: String, _ patience: Duration) -> MediaError {
        MediaError(.deadlineExceeded, "\(peer) did not \(purpose) in time", allowed: "\(patience)")
    }
}
