// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Glibc
internal import MediaTypes
internal import Synchronization

/// One helper process: its start, its log, its end, and the connections to encoders in it.
///
/// A thread of its own starts the process, reads what it says, and waits for its end; so a stuck helper holds up nobody,
/// and `PR_SET_PDEATHSIG`, which is about the thread that started a process, means what it says.
final class HelperHost: Sendable {
    private struct State {
        var process: HelperProcess?
        var greeting: Greeting?
        /// Why nothing more can be asked of the helper.
        var failure: MediaError?
        var isClosed = false
        /// Whether an encoder in it has failed: what the driver left behind is not for others.
        var isRetired = false
        var connections = 0
        /// Takes what the helper logs, on the host's thread; never blocks.
        var log: @Sendable (HelperLogLine) -> Void
        /// How the process ended by itself.
        var ending: HelperProcess.Ending?
    }

    /// How long a helper that was asked to end, or has closed its socket, may take to end.
    static let grace = Duration.seconds(2)
    static let peer = "the encoder's helper process"

    private let control: Channel
    private let metrics: HelperMetrics
    private let state: Mutex<State>
    /// Open when the helper has greeted, or is gone.
    private let greeted = Latch()
    /// Open when the helper is gone.
    private let over = Latch()

    /// Starts a helper program, and greets it.
    ///
    /// - Parameters:
    ///   - metrics: Counts it.
    ///   - log: Takes what the helper logs, on the host's thread; never blocks.
    /// - Throws: `outOfMemory`. That the program cannot be run is told by ``awaitGreeting(within:)``.
    static func start(
        path: String,
        metrics: HelperMetrics = HelperMetrics(),
        log: @escaping @Sendable (HelperLogLine) -> Void
    ) throws(MediaError) -> HelperHost {
        let sockets = try DescriptorPair.sockets()
        let pipe = try DescriptorPair.pipe()
        let host = HelperHost(try Descriptor.duplicate(sockets.near.number), metrics, log)
        let far = try Descriptor.duplicate(sockets.far.number)
        let logFar = try Descriptor.duplicate(pipe.far.number)
        let logNear = try Descriptor.duplicate(pipe.near.number)
        guard fcntl(logNear.number, F_SETFL, O_NONBLOCK) == 0 else { throw systemError("fcntl", "a pipe fails") }
        let environment = HelperProcess.inheritedEnvironment()
        let launch = Launch(path: path, environment: environment, socket: far, log: logFar, output: logNear)
        try PlainThread.start(name: "vt-helper") { host.run(launch) }
        return host
    }

    /// Talks to a helper that somebody else has started.
    static func adopt(
        _ socket: consuming Descriptor,
        log: @escaping @Sendable (HelperLogLine) -> Void = { _ in }
    ) throws(MediaError) -> HelperHost {
        let host = HelperHost(socket, HelperMetrics(), log)
        try PlainThread.start(name: "vt-helper") { host.run(nil) }
        return host
    }

    private init(
        _ socket: consuming Descriptor,
        _ metrics: HelperMetrics,
        _ log: @escaping @Sendable (HelperLogLine) -> Void
    ) {
        control = Channel(socket, peer: Self.peer)
        self.metrics = metrics
        state = Mutex(State(log: log))
    }

    /// What the host's thread needs to start the process, handed over to it.
    private final class Launch: Sendable {
        let path: String
        let environment: [String]
        let ends: Mutex<Ends?>
        /// Where the helper's output can be read.
        let output: Descriptor

        struct Ends: ~Copyable {
            let socket: Descriptor
            let log: Descriptor
        }

        init(
            path: String,
            environment: [String],
            socket: consuming Descriptor,
            log: consuming Descriptor,
            output: consuming Descriptor
        ) {
            self.path = path
            self.environment = environment
            ends = Mutex(Ends(socket: socket, log: log))
            self.output = output
        }

        /// Starts the process. The helper's ends are closed here then, so that its end is seen.
        func start() throws(MediaError) -> HelperProcess {
            try ends.withLock { (ends) throws(MediaError) in
                let taken = ends.take()
                guard let taken else { throw MediaError(.invalidState, "the helper was already started") }
                return try HelperProcess(path: path, environment, socket: taken.socket, log: taken.log)
            }
        }
    }

    // MARK: - Connections

    /// The process, while it runs.
    var processID: pid_t? { state.withLock { $0.process?.id } }

    /// What confines the helper less than it should; none before the greeting.
    var limitations: [String] { state.withLock { $0.greeting?.limitations ?? [] } }

    /// Whether it may take connections, now or when others are closed.
    var isOpen: Bool { state.withLock { $0.failure == nil && !$0.isClosed && !$0.isRetired } }

    /// Keeps a place for one more connection; ``release()`` gives it back.
    ///
    /// - Parameter limit: How many connections there may be.
    /// - Returns: Whether there is one.
    func reserve(limit: Int) -> Bool {
        state.withLock { state in
            guard state.failure == nil, !state.isClosed, !state.isRetired, state.connections < limit else {
                return false
            }
            state.connections += 1
            return true
        }
    }

    /// Ends the helper in order with its last connection.
    func release() {
        let isLast = state.withLock { state in
            state.connections -= 1
            // Under the lock, so that nobody takes a place in a helper that is about to end.
            if state.connections == 0 { state.isClosed = true }
            return state.connections == 0
        }
        if isLast { close() }
    }

    /// Waits for the helper's greeting.
    ///
    /// - Throws: why there is none: `unavailable` if the program cannot be run, the end of the process,
    ///   `malformedData` for a helper of another version, `deadlineExceeded` after which the helper is ended.
    func awaitGreeting(within patience: Duration) throws(MediaError) {
        if !greeted.isOpen(within: patience) {
            let error = MediaError(.deadlineExceeded, "\(Self.peer) did not start in time", allowed: "\(patience)")
            end(because: error)
            throw error
        }
        try state.withLock { (state) throws(MediaError) in
            if let failure = state.failure { throw failure }
        }
    }

    /// Opens a connection, for which a place was kept.
    func connect(_ handlers: HelperLink.Handlers) throws(MediaError) -> HelperLink {
        let sockets = try DescriptorPair.sockets()
        do {
            try control.send(ControlOrder.attach, descriptor: sockets.far.number, until: .after(Self.grace))
        } catch {
            // It may have got the socket or not, and serves nobody if it takes nothing.
            retire()
            throw ending(within: Self.grace) ?? error
        }
        return try HelperLink.start(try Descriptor.duplicate(sockets.near.number), host: self, handlers: handlers)
    }

    /// From now on another function takes what the helper logs.
    func setLog(_ log: @escaping @Sendable (HelperLogLine) -> Void) { state.withLock { $0.log = log } }

    // MARK: - The end

    /// Lets nobody else in.
    func retire() { state.withLock { $0.isRetired = true } }

    /// Lets the helper end in order, and ends it if it takes too long. Returns at once.
    func close() {
        state.withLock { $0.isClosed = true }
        control.sendIfPossible(ControlOrder.close)
        control.shutDown()
    }

    /// Ends a helper that does not keep its promises, with every encoder in it. Its end is not waited for.
    func end(because error: MediaError) {
        let process = state.withLock { state in
            if state.failure == nil {
                var failure = error
                failure.message = "\(Self.peer) was killed because another encoder in it failed: \(error.message)"
                failure.isPermanent = false
                state.failure = failure
            }
            return state.process
        }
        process?.end()
        control.shutDown()
    }

    /// Waits for the end of the helper.
    ///
    /// - Returns: What is to be told about it; `nil` if it still runs.
    func ending(within patience: Duration) -> MediaError? {
        over.isOpen(within: patience) ? state.withLock { $0.failure } : nil
    }

    /// How the process ended by itself; `nil` if it runs, or was ended from here.
    var ownEnding: HelperProcess.Ending? { state.withLock { $0.ending } }

    // MARK: - The host's thread

    private func run(_ launch: Launch?) {
        var tail = LogTail()
        do throws(MediaError) {
            if let launch {
                let process = try launch.start()
                metrics.started()
                let isUnwanted = state.withLock { state in
                    state.process = process
                    return state.failure != nil
                }
                if isUnwanted { process.end() }
            }
            try? control.send(ControlOrder.hello(Hello(build: EncoderProtocol.build)), until: .now)
            try receive(launch, &tail)
            conclude(nil, launch, &tail)
        } catch {
            conclude(error, launch, &tail)
        }
    }

    private func log(_ line: HelperLogLine) { state.withLock { $0.log }(line) }

    /// Receives until the helper's end.
    private func receive(_ launch: Launch?, _ tail: inout LogTail) throws(MediaError) {
        var output = launch?.output.number ?? -1
        while true {
            let events = try waitForEvents([(control.socketNumber, POLLIN), (output, POLLIN)], until: .never)
            if events[1] != 0, !readOutput(output, &tail) { output = -1 }
            guard events[0] != 0 else { continue }
            guard let notice = try control.receive(ControlNotice.self) else { return }
            switch notice {
            case .log(let message):
                let line = HelperLogLine(level: message.level, text: message.text)
                // What an encoder says in good times does not explain its end.
                if line.isWarning { tail.add(line.text) }
                log(line)
            case .hello(let greeting):
                let isFirst = state.withLock { state in
                    defer { state.greeting = greeting }
                    return state.greeting == nil
                }
                guard isFirst else { throw MediaError(.malformedData, "\(Self.peer) greeted twice") }
                greeted.open()
            }
        }
    }

    /// - Returns: Whether more may come.
    private func readOutput(_ number: Int32, _ tail: inout LogTail) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(number, &buffer, buffer.count)
        if count > 0 {
            for line in tail.add(buffer[..<count]) { log(HelperLogLine(level: nil, text: line)) }
            return true
        }
        if count < 0 && (errno == EAGAIN || errno == EINTR) { return true }
        if let line = tail.finish() { log(HelperLogLine(level: nil, text: line)) }
        return false
    }

    /// What there is to say of a helper that has not greeted: it is of another version, or another program.
    private static func withoutGreeting(_ error: MediaError) -> MediaError {
        guard [.malformedData, .frameFailed].contains(error.code) else { return error }
        var error = error
        error.cause = .helperMismatch
        error.remedies = HelperLocation.remediesForAnother
        return error
    }

    /// Waits for the end of the process, and tells why it ended.
    private func conclude(_ error: MediaError?, _ launch: Launch?, _ tail: inout LogTail) {
        let process = state.withLock { $0.process }
        if error != nil { process?.end() }
        let (ending, wasForced) = process.map { end($0, launch, &tail) } ?? (nil, false)
        // No pictures are given back, and no answers are waited for, after this.
        var failure = error ?? MediaError(.frameFailed, "\(Self.peer) closed its connection")
        if error == nil, let ending {
            failure = MediaError(.frameFailed, "\(Self.peer) \(ending)\(tail.explanation)", cause: .helperEnded)
            if case .killed(let signal) = ending { failure.status = Int(signal) }
            failure.call = launch?.path
        }
        if error == nil, wasForced {
            failure.message = "\(Self.peer) closed its connection but did not exit\(tail.explanation)"
        }
        let (own, wasAsked) = state.withLock { state in
            if error == nil, state.failure == nil, !wasForced { state.ending = ending }
            if state.greeting == nil { failure = Self.withoutGreeting(failure) }
            state.failure = state.failure ?? failure
            state.process = nil
            return (state.ending, state.isClosed)
        }
        if process != nil { metrics.ended(own, wasAsked: wasAsked) }
        control.shutDown()
        over.open()
        greeted.open()
    }

    /// Waits for the end of a process, for a while in patience, and reads what it says until then.
    ///
    /// - Returns: How it ended, and whether it had to be ended.
    private func end(
        _ process: HelperProcess,
        _ launch: Launch?,
        _ tail: inout LogTail
    ) -> (HelperProcess.Ending?, wasForced: Bool) {
        var output = launch?.output.number ?? -1
        var deadline = Deadline.after(Self.grace)
        var wasForced = false
        while true {
            let events = try? waitForEvents([(process.handleNumber, POLLIN), (output, POLLIN)], until: deadline)
            if let events, events[1] != 0, !readOutput(output, &tail) { output = -1 }
            if let ending = process.reap() {
                while output >= 0, readAvailable(output), readOutput(output, &tail) {}
                return (ending, wasForced)
            }
            if deadline.isOver {
                process.end()
                wasForced = true
                deadline = .never
            }
        }
    }

    private func readAvailable(_ number: Int32) -> Bool {
        let events = try? waitForEvents([(number, POLLIN)], until: .now)
        return (events?[0] ?? 0) != 0
    }
}

/// Something that happens once, for which any number of threads may wait.
private final class Latch: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Lets all who wait, and will wait, go on.
    func open() { semaphore.signal() }

    /// Waits for it.
    ///
    /// - Returns: Whether it happened in time.
    func isOpen(within patience: Duration) -> Bool {
        guard semaphore.wait(until: .after(patience)) else { return false }
        // For the next who waits.
        semaphore.signal()
        return true
    }
}

/// A line that a helper process logged.
public struct HelperLogLine: Sendable, Hashable {
    /// The name of the level, for example `warning`; `nil` for what it wrote to its standard output or error.
    public var level: String?
    /// The line.
    public var text: String

    /// Whether it is at least a warning, or may be one.
    var isWarning: Bool { level.map { ["warning", "error", "critical"].contains($0) } ?? true }

    /// Makes a line.
    public init(level: String?, text: String) {
        self.level = level
        self.text = text
    }
}
