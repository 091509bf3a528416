// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Glibc
internal import MediaTypes
internal import Synchronization

/// One helper process: its start, its log, its end, and the connections to encoders and decoders in it.
///
/// A separate thread starts the process, reads its output and waits for its end, so that a stuck helper blocks no other
/// thread, and `PR_SET_PDEATHSIG`, which refers to the thread that started the process, works as intended.
final class HelperHost: Sendable {
    private struct State {
        var process: HelperProcess?
        var greeting: Greeting?
        /// The reason why the helper can no longer be used.
        var failure: MediaError?
        var isClosed = false
        /// Whether an encoder or decoder in it has failed: others must not use the state that the driver left behind.
        var isRetired = false
        var connections = 0
        /// Receives the log lines of the helper, on the host's thread; never blocks.
        var log: @Sendable (HelperLogLine) -> Void
        /// The devices that the helper has open, so that the kernel tells what they do for it with this process, too. They
        /// are closed with the helper, whose memory on the device is free then.
        var devices: [DeviceNumber: SharedDescriptor] = [:]
        /// How the process ended on its own.
        var ending: HelperProcess.Ending?
    }

    /// The time that a helper may take to end after it was asked to, or has closed its socket.
    static let grace = Duration.seconds(2)
    static let peer = "the helper process"
    /// How many devices of a helper are kept; more are closed at once.
    static let mostDevices = 64

    private let program: HelperProgram
    /// The path of the program; `nil` if it was started elsewhere.
    private let path: String?
    private let control: Channel
    private let metrics: HelperMetrics
    private let state: Mutex<State>
    /// Open when the helper has sent its greeting, or has ended.
    private let greeted = Latch()
    /// Open when the helper has ended.
    private let over = Latch()

    /// Starts a helper program and sends the greeting.
    ///
    /// - Parameters:
    ///   - program: Names the program at the path in errors.
    ///   - metrics: Counts the helper.
    ///   - log: Receives the log lines of the helper, on the host's thread; never blocks.
    /// - Throws: `outOfMemory`. ``awaitGreeting(within:)`` reports a program that cannot be run.
    static func start(
        _ program: HelperProgram = .encoding,
        path: String,
        metrics: HelperMetrics = HelperMetrics(),
        log: @escaping @Sendable (HelperLogLine) -> Void
    ) throws(MediaError) -> HelperHost {
        let sockets = try DescriptorPair.sockets()
        let pipe = try DescriptorPair.pipe()
        let host = HelperHost(program, path, try Descriptor.duplicate(sockets.near.number), metrics, log)
        let far = try Descriptor.duplicate(sockets.far.number)
        let logFar = try Descriptor.duplicate(pipe.far.number)
        let logNear = try Descriptor.duplicate(pipe.near.number)
        guard fcntl(logNear.number, F_SETFL, O_NONBLOCK) == 0 else { throw systemError("fcntl", "a pipe fails") }
        let environment = HelperProcess.inheritedEnvironment()
        let launch = Launch(program, path, environment, socket: far, log: logFar, output: logNear)
        try PlainThread.start(name: "vt-helper") { host.run(launch) }
        return host
    }

    /// Uses a helper that was started elsewhere.
    static func adopt(
        _ socket: consuming Descriptor,
        log: @escaping @Sendable (HelperLogLine) -> Void = { _ in }
    ) throws(MediaError) -> HelperHost {
        let host = HelperHost(.encoding, nil, socket, HelperMetrics(), log)
        try PlainThread.start(name: "vt-helper") { host.run(nil) }
        return host
    }

    private init(
        _ program: HelperProgram,
        _ path: String?,
        _ socket: consuming Descriptor,
        _ metrics: HelperMetrics,
        _ log: @escaping @Sendable (HelperLogLine) -> Void
    ) {
        self.program = program
        self.path = path
        control = Channel(socket, peer: Self.peer)
        self.metrics = metrics
        state = Mutex(State(log: log))
    }

    /// The resources for starting the process, which are passed to the host's thread.
    private final class Launch: Sendable {
        let program: HelperProgram
        let path: String
        let environment: [String]
        let ends: Mutex<Ends?>
        /// The read end of the helper's output.
        let output: Descriptor

        struct Ends: ~Copyable {
            let socket: Descriptor
            let log: Descriptor
        }

        init(
            _ program: HelperProgram,
            _ path: String,
            _ environment: [String],
            socket: consuming Descriptor,
            log: consuming Descriptor,
            output: consuming Descriptor
        ) {
            self.program = program
            self.path = path
            self.environment = environment
            ends = Mutex(Ends(socket: socket, log: log))
            self.output = output
        }

        /// Starts the process and closes the helper's ends in this process, so that its end is detected.
        func start() throws(MediaError) -> HelperProcess {
            try ends.withLock { (ends) throws(MediaError) in
                let taken = ends.take()
                guard let taken else { throw MediaError(.invalidState, "the helper was already started") }
                return try HelperProcess(program, path: path, environment, socket: taken.socket, log: taken.log)
            }
        }
    }

    // MARK: - Connections

    /// Adds the program and the remedies to the error of a helper that cannot do what it was asked, because another
    /// program is needed. Remedies are commands that people run, so they never come from the helper.
    func explain(_ error: MediaError) -> MediaError {
        guard error.cause == .helperMismatch else { return error }
        var error = error
        error.call = path
        error.remedies = program.remediesForAnother
        return error
    }

    /// The ID of the process, while it runs.
    var processID: pid_t? { state.withLock { $0.process?.id } }

    /// The missing parts of the helper's sandbox; empty before the greeting.
    var limitations: [String] { state.withLock { $0.greeting?.limitations ?? [] } }

    /// Whether it accepts connections, now or when others are closed.
    var isOpen: Bool { state.withLock { $0.failure == nil && !$0.isClosed && !$0.isRetired } }

    /// Reserves a place for one more connection; ``release()`` returns it.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of connections.
    ///   - evenIfRetired: Whether a place is also free after ``retire()``.
    /// - Returns: Whether a place was free.
    func reserve(limit: Int, evenIfRetired: Bool = false) -> Bool {
        state.withLock { state in
            guard state.failure == nil, !state.isClosed, evenIfRetired || !state.isRetired, state.connections < limit
            else { return false }
            state.connections += 1
            return true
        }
    }

    /// Returns a place. The last connection ends the helper in an orderly way.
    func release() {
        let isLast = state.withLock { state in
            state.connections -= 1
            // Under the lock, so that no place is reserved in a helper that is about to end.
            if state.connections == 0 { state.isClosed = true }
            return state.connections == 0
        }
        if isLast { close() }
    }

    /// Waits for the helper's greeting.
    ///
    /// - Throws: The reason if there is none: `unavailable` if the program cannot be run, the end of the process,
    ///   `malformedData` for a helper of another version, `deadlineExceeded` (the helper is then ended).
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

    /// Opens a connection for a reserved place.
    func connect<Messages: ConnectionMessages>(
        _ handlers: HelperLink<Messages>.Handlers
    ) throws(MediaError) -> HelperLink<Messages> {
        let sockets = try DescriptorPair.sockets()
        do {
            let order = ControlOrder.attach(Messages.kind)
            try control.send(order, descriptor: sockets.far.number, until: .after(Self.grace))
        } catch {
            // It may or may not have received the socket, and serves nobody if it does not read.
            retire()
            throw ending(within: Self.grace) ?? error
        }
        return try HelperLink<Messages>.start(
            try Descriptor.duplicate(sockets.near.number),
            host: self,
            handlers: handlers
        )
    }

    /// Replaces the function that receives the log lines of the helper.
    func setLog(_ log: @escaping @Sendable (HelperLogLine) -> Void) { state.withLock { $0.log = log } }

    // MARK: - The end

    /// Accepts no further connections.
    func retire() { state.withLock { $0.isRetired = true } }

    /// Lets the helper end in an orderly way, and ends it if it takes too long. Returns immediately.
    func close() {
        state.withLock { $0.isClosed = true }
        control.sendIfPossible(ControlOrder.close)
        control.shutDown()
    }

    /// Ends a helper that violates the protocol, with everything in it, without waiting for its end.
    func end(because error: MediaError) {
        let process = state.withLock { state in
            if state.failure == nil {
                var failure = error
                failure.message = "\(Self.peer) was killed because another connection to it failed: \(error.message)"
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
    /// - Returns: The error that describes it; `nil` if it still runs.
    func ending(within patience: Duration) -> MediaError? {
        over.isOpen(within: patience) ? state.withLock { $0.failure } : nil
    }

    /// How the process ended on its own; `nil` if it runs, or was ended by this host.
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
            try? control.send(ControlOrder.hello(Hello(build: HelperProtocol.build)), until: .now)
            try receive(launch, &tail)
            conclude(nil, launch, &tail)
        } catch {
            conclude(error, launch, &tail)
        }
    }

    private func log(_ line: HelperLogLine) { state.withLock { $0.log }(line) }

    /// Receives messages until the helper ends.
    private func receive(_ launch: Launch?, _ tail: inout LogTail) throws(MediaError) {
        var output = launch?.output.number ?? -1
        while true {
            let events = try waitForEvents([(control.socketNumber, POLLIN), (output, POLLIN)], until: .never)
            if events[1] != 0, !readOutput(output, &tail) { output = -1 }
            guard events[0] != 0 else { continue }
            var descriptor: Descriptor?
            guard let notice = try control.receive(ControlNotice.self, descriptor: &descriptor) else { return }
            switch notice {
            case .log(let message):
                let line = HelperLogLine(level: message.level, text: message.text)
                // Messages below the level of a warning do not explain the end of a helper.
                if line.isWarning { tail.add(line.text) }
                log(line)
            case .hello(let greeting):
                let isFirst = state.withLock { state in
                    defer { state.greeting = greeting }
                    return state.greeting == nil
                }
                guard isFirst else { throw MediaError(.malformedData, "\(Self.peer) sent its greeting twice") }
                greeted.open()
            case .device(let number):
                guard let descriptor = descriptor.take(), !descriptor.isSocket else {
                    // One end of the control socket would hide the end of the helper.
                    throw MediaError(.malformedData, "\(Self.peer) sent something else than a device")
                }
                keep(SharedDescriptor(descriptor), as: number)
            case .deviceClosed(let number): keep(nil, as: number)
            }
        }
    }

    /// Keeps a copy of a device's descriptor, or closes it.
    private func keep(_ descriptor: SharedDescriptor?, as number: DeviceNumber) {
        let replaced = state.withLock { state in
            let replaced = DescriptorBag([state.devices.removeValue(forKey: number)].compactMap(\.self))
            if let descriptor, state.devices.count < Self.mostDevices { state.devices[number] = descriptor }
            return replaced
        }
        replaced.empty()
    }

    private func forgetDevices() {
        let devices = state.withLock { state in
            defer { state.devices = [:] }
            return DescriptorBag(Array(state.devices.values))
        }
        devices.empty()
    }

    /// - Returns: Whether more output may follow.
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

    /// Returns the error for a helper without a greeting: it has another version, or is another program.
    private func withoutGreeting(_ error: MediaError) -> MediaError {
        guard [.malformedData, .frameFailed].contains(error.code) else { return error }
        var error = error
        error.cause = .helperMismatch
        error.remedies = program.remediesForAnother
        return error
    }

    /// Waits for the end of the process, and reports its reason.
    private func conclude(_ error: MediaError?, _ launch: Launch?, _ tail: inout LogTail) {
        let process = state.withLock { $0.process }
        if error != nil { process?.end() }
        let (ending, wasForced) = process.map { end($0, launch, &tail) } ?? (nil, false)
        forgetDevices()
        // After this, no pictures are returned and no answers are awaited.
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
            if state.greeting == nil { failure = withoutGreeting(failure) }
            state.failure = state.failure ?? failure
            state.process = nil
            return (state.ending, state.isClosed)
        }
        if process != nil { metrics.ended(own, wasAsked: wasAsked) }
        control.shutDown()
        over.open()
        greeted.open()
    }

    /// Waits for the end of a process, first patiently, and reads its output until then.
    ///
    /// - Returns: How it ended, and whether it had to be killed.
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

/// Descriptors of devices, to be closed.
private final class DescriptorBag: Sendable {
    private let content: Mutex<[SharedDescriptor]>

    init(_ content: [SharedDescriptor]) { self.content = Mutex(content) }

    /// Closes them. The last close of a device may wait for a GPU that hangs, so that has a thread of its own.
    func empty() {
        guard content.withLock({ !$0.isEmpty }) else { return }
        // Without a thread, they are closed when this object is released.
        try? PlainThread.start(name: "vt-close") { self.content.withLock { $0 = [] } }
    }
}

/// A one-time event for which any number of threads may wait.
private final class Latch: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Releases all current and future waiters.
    func open() { semaphore.signal() }

    /// Waits for the event.
    ///
    /// - Returns: Whether it occurred in time.
    func isOpen(within patience: Duration) -> Bool {
        guard semaphore.wait(until: .after(patience)) else { return false }
        // For the next waiter.
        semaphore.signal()
        return true
    }
}

/// A line that a helper process logged.
public struct HelperLogLine: Sendable, Hashable {
    /// The name of the level, for example `warning`; `nil` for output to standard output or standard error.
    public var level: String?
    /// The line.
    public var text: String

    /// Whether it is a warning or more severe, or may be.
    var isWarning: Bool { level.map { ["warning", "error", "critical"].contains($0) } ?? true }

    /// Creates a line.
    public init(level: String?, text: String) {
        self.level = level
        self.text = text
    }
}
