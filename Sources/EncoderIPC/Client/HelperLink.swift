// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Glibc
internal import MediaTypes
internal import Synchronization

/// The client's connection to one helper: orders and their answers, the process, and everything that the helper sends.
///
/// A thread of its own starts the process, receives, and waits for the end of the process; so a stuck helper holds up
/// nobody, and `PR_SET_PDEATHSIG`, which is about the thread that started a process, means what it says. One thread at a
/// time gives orders.
final class HelperLink: Sendable {
    /// Takes what comes from the helper, on the link's thread; never blocks.
    struct Handlers: Sendable {
        /// A message that answers no order. An error ends the helper.
        var message: @Sendable (HelperMessage) throws(MediaError) -> Void
        /// The helper is gone while no order waited for an answer.
        var failed: @Sendable (MediaError) -> Void
        /// A line for the log.
        var log: @Sendable (HelperLogLine) -> Void
        /// The process has ended by itself, and how; told before orders fail because of it.
        var ended: @Sendable (HelperProcess.Ending) -> Void = { _ in }
    }

    private struct State {
        var isWaiting = false
        var answer: HelperMessage?
        var failure: MediaError?
        var isClosed = false
        /// When the helper last showed that it works.
        var progress = ContinuousClock.now
        var process: HelperProcess?
    }

    /// How long a helper that was asked to end, or has closed its socket, may take to end.
    private static let grace = Duration.seconds(2)
    static let peer = "the encoder's helper process"

    private let channel: Channel
    private let state = Mutex(State())
    private let change = DispatchSemaphore(value: 0)

    /// Starts a helper program.
    ///
    /// - Throws: `unavailable` if it cannot be run, `outOfMemory`.
    static func start(path: String, handlers: Handlers) throws(MediaError) -> HelperLink {
        let sockets = try DescriptorPair.sockets()
        let log = try DescriptorPair.pipe()
        let link = HelperLink(try Descriptor.duplicate(sockets.near.number))
        let far = try Descriptor.duplicate(sockets.far.number)
        let logFar = try Descriptor.duplicate(log.far.number)
        let logNear = try Descriptor.duplicate(log.near.number)
        guard fcntl(logNear.number, F_SETFL, O_NONBLOCK) == 0 else { throw systemError("fcntl", "a pipe fails") }
        let launch = Launch(path: path, socket: far, log: logFar, output: logNear)
        try PlainThread.start(name: "vt-helper") { link.run(launch, handlers) }
        // The first order fails if the process could not be started.
        return link
    }

    /// What the link's thread needs to start the process, handed over to it.
    private final class Launch: Sendable {
        let path: String
        let ends: Mutex<Ends?>
        /// Where the helper's output can be read.
        let output: Descriptor

        struct Ends: ~Copyable {
            let socket: Descriptor
            let log: Descriptor
        }

        init(path: String, socket: consuming Descriptor, log: consuming Descriptor, output: consuming Descriptor) {
            self.path = path
            ends = Mutex(Ends(socket: socket, log: log))
            self.output = output
        }

        /// Starts the process. The helper's ends are closed here then, so that its end is seen.
        func start() throws(MediaError) -> HelperProcess {
            try ends.withLock { (ends) throws(MediaError) in
                let taken = ends.take()
                guard let taken else { throw MediaError(.invalidState, "a helper is started once") }
                return try HelperProcess(path: path, socket: taken.socket, log: taken.log)
            }
        }
    }

    private init(_ socket: consuming Descriptor) {
        channel = Channel(socket, peer: Self.peer)
    }

    /// Talks to a helper that somebody else has started.
    static func connect(_ socket: consuming Descriptor, handlers: Handlers) throws(MediaError) -> HelperLink {
        let link = HelperLink(socket)
        try PlainThread.start(name: "vt-helper") { link.run(nil, handlers) }
        return link
    }

    /// The process, once it runs.
    var processID: pid_t? { state.withLock { $0.process?.id } }

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
        case .refused(let error), .callFailed(let error): throw error
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
            if let failure = state.failure { throw failure }
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
                if state.answer == nil, let failure = state.failure { throw failure }
                if state.answer != nil { return nil }
                return state.progress + patience.asPatience - .now
            }
            guard let remaining else { break }
            if remaining <= .zero {
                let limit = "\(patience)"
                abandon(MediaError(.deadlineExceeded, "\(Self.peer) did not \(purpose) in time", allowed: limit))
                continue
            }
            _ = change.wait(timeout: .now() + .milliseconds(min(remaining, .seconds(1)).millisecondsRoundedUp))
        }
        let answer = state.withLock { state in
            state.isWaiting = false
            defer { state.answer = nil }
            return state.answer
        }
        guard let answer else { throw MediaError(.invalidState, "an answer was taken twice") }
        return answer
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
        let process = state.withLock { state in
            state.failure = state.failure ?? error
            return state.process
        }
        process?.end()
        channel.shutDown()
        change.signal()
    }

    /// Lets the helper end in order, and ends it if it takes too long. Returns at once.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.failure = state.failure ?? MediaError(.invalidState, "the encoder is closed")
        }
        try? channel.send(ClientMessage.close, until: .now)
        channel.shutDown()
    }

    // MARK: - The link's thread

    private func run(_ launch: Launch?, _ handlers: Handlers) {
        var tail = LogTail()
        do throws(MediaError) {
            if let launch {
                let process = try launch.start()
                let isAbandoned = state.withLock { state in
                    state.process = process
                    return state.failure != nil
                }
                if isAbandoned { process.end() }
            }
            try receive(launch, &tail, handlers)
            conclude(nil, launch, &tail, handlers)
        } catch {
            conclude(error, launch, &tail, handlers)
        }
    }

    /// Receives until the helper's end.
    private func receive(_ launch: Launch?, _ tail: inout LogTail, _ handlers: Handlers) throws(MediaError) {
        var output = launch?.output.number ?? -1
        while true {
            let events = try waitForEvents([(channel.socketNumber, POLLIN), (output, POLLIN)], until: .never)
            if events[1] != 0, !readOutput(output, &tail, handlers) { output = -1 }
            guard events[0] != 0 else { continue }
            guard let delivery = try channel.receive(HelperMessage.self, until: .never) else { return }
            try handle(delivery.message, &tail, handlers)
        }
    }

    private func handle(
        _ message: HelperMessage,
        _ tail: inout LogTail,
        _ handlers: Handlers
    ) throws(MediaError) {
        switch message {
        case .hello, .created, .refused, .accepted, .updated, .drained, .callFailed, .inspected:
            let isExpected = state.withLock { state in
                guard state.isWaiting, state.answer == nil else { return false }
                state.answer = message
                return true
            }
            guard isExpected else {
                throw MediaError(.malformedData, "\(Self.peer) answered what nobody had asked")
            }
            change.signal()
        case .stage, .report: try handlers.message(message)
        case .coded, .released, .failed:
            state.withLock { $0.progress = .now }
            try handlers.message(message)
        case .log(let line):
            tail.add(line.text)
            handlers.log(HelperLogLine(level: line.level, text: line.text))
        }
    }

    /// - Returns: Whether more may come.
    private func readOutput(_ number: Int32, _ tail: inout LogTail, _ handlers: Handlers) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(number, &buffer, buffer.count)
        if count > 0 {
            for line in tail.add(buffer[..<count]) { handlers.log(HelperLogLine(level: nil, text: line)) }
            return true
        }
        if count < 0 && (errno == EAGAIN || errno == EINTR) { return true }
        if let line = tail.finish() { handlers.log(HelperLogLine(level: nil, text: line)) }
        return false
    }

    /// Waits for the end of the process, and tells why it ended.
    private func conclude(_ error: MediaError?, _ launch: Launch?, _ tail: inout LogTail, _ handlers: Handlers) {
        let process = state.withLock { $0.process }
        if error != nil { process?.end() }
        let ending = process.map { end($0, launch, &tail, handlers) }
        // No pictures are given back, and no answers are waited for, after this.
        var failure = error ?? MediaError(.frameFailed, "\(Self.peer) closed its connection")
        if error == nil, let ending {
            failure = MediaError(.frameFailed, "\(Self.peer) \(ending)\(tail.explanation)")
            if case .killed(let signal) = ending { failure.status = Int(signal) }
            failure.call = launch?.path
            handlers.ended(ending)
        }
        let (isToldHere, final) = state.withLock { state -> (Bool, MediaError) in
            let isNew = state.failure == nil
            let final = state.failure ?? failure
            state.failure = final
            state.process = nil
            return (isNew && !state.isWaiting && !state.isClosed, final)
        }
        change.signal()
        if isToldHere { handlers.failed(final) }
    }

    /// Waits for the end of a process, for a while in patience, and reads what it says until then.
    private func end(
        _ process: HelperProcess,
        _ launch: Launch?,
        _ tail: inout LogTail,
        _ handlers: Handlers
    ) -> HelperProcess.Ending {
        var output = launch?.output.number ?? -1
        var deadline = Deadline.after(Self.grace)
        while true {
            let events = try? waitForEvents([(process.handleNumber, POLLIN), (output, POLLIN)], until: deadline)
            if let events, events[1] != 0, !readOutput(output, &tail, handlers) { output = -1 }
            if let ending = process.reap() {
                while output >= 0, readAvailable(output), readOutput(output, &tail, handlers) {}
                return ending
            }
            if deadline.isOver {
                process.end()
                deadline = .never
            }
        }
    }

    private func readAvailable(_ number: Int32) -> Bool {
        let events = try? waitForEvents([(number, POLLIN)], until: .now)
        return (events?[0] ?? 0) != 0
    }
}

/// A line that a helper process logged.
public struct HelperLogLine: Sendable, Hashable {
    /// The name of the level, for example `warning`; `nil` for what it wrote to its standard output or error.
    public var level: String?
    /// The line.
    public var text: String

    /// Makes a line.
    public init(level: String?, text: String) {
        self.level = level
        self.text = text
    }
}
