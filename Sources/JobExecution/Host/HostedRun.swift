// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import MediaTypes

/// One run on the host's thread: what its process says, and how it ends.
final class HostedRun {
    let mailbox: Mailbox
    private let command: ConfinedCommand
    private let launcher: LauncherProcess
    private let begin = SuspendingClock.now
    private var rules: RunRules
    private var log = LogLines()
    private var logged = 0
    private var progressLines: LogLines
    private var malformedProgressLines = 0
    private var output: [UInt8] = []
    private var isOutputIncomplete = false
    private var limitations: [String] = []
    private var failure: MediaError?
    private var report: LauncherReport?
    private var program: pid_t?
    /// The streams that have ended.
    private var ended: Set<Int32> = []
    /// The times from which streams are read again.
    private var pauses: [Int32: SuspendingClock.Instant] = [:]

    /// The pause after reading what is dropped, or a progress: a process that says a lot cannot keep the host's thread
    /// from the others.
    private static let pause = Duration.milliseconds(50)
    /// The bytes of progress that are read at a time; a line has about 150.
    private static let progressPortion = 4096

    /// Starts the process.
    init(_ command: ConfinedCommand, launcher: [String], mailbox: Mailbox) throws(MediaError) {
        (self.command, self.mailbox) = (command, mailbox)
        rules = RunRules(command.limits, command.cancellation)
        progressLines = LogLines(excess: .dropped, limit: command.limits.progressLine)
        self.launcher = try LauncherProcess(launcher, command)
    }

    private var elapsed: Duration { SuspendingClock.now - begin }

    /// The descriptors to wait for.
    var descriptors: [Int32] {
        var numbers = [launcher.process.number, launcher.control.number]
        if let output = launcher.output { numbers.append(output.number) }
        // A reader that is slow with the log must not look like a program without progress.
        numbers.append(launcher.progress.number)
        if !mailbox.isFull { numbers.append(launcher.errors.number) }
        let now = SuspendingClock.now
        pauses = pauses.filter { $0.value > now }
        return numbers.filter { !ended.contains($0) && pauses[$0] == nil }
    }

    /// The time until ``tick()`` or a stream has something to do.
    var patience: Duration? {
        let pause = pauses.values.min().map { $0 - .now }
        return [rules.next.map { $0 - elapsed }, pause].compactMap(\.self).min()
    }

    // MARK: - Orders

    func cancel() { perform(rules.cancel(at: elapsed)) }

    func tick() { perform(rules.tick(at: elapsed)) }

    private func perform(_ action: RunRules.Action?) {
        switch action {
        case .terminate: HostMessage.terminate.send(to: launcher.control.number)
        case .kill: HostMessage.kill.send(to: launcher.control.number)
        case nil: break
        }
    }

    // MARK: - Reading

    /// Reads from a descriptor that is ready.
    ///
    /// - Returns: Whether the process has ended, and with it the run.
    func read(_ number: Int32) -> Bool {
        if number == launcher.process.number { return end() }
        if number == launcher.control.number {
            takeMessages()
        } else if take(number) == .end {
            ended.insert(number)
        } else if number == launcher.progress.number || isExcess(number) {
            pauses[number] = .now + Self.pause
        }
        return false
    }

    /// Whether what comes from a stream is dropped.
    private func isExcess(_ number: Int32) -> Bool {
        number == launcher.errors.number ? logged > command.limits.log : isOutputIncomplete
    }

    private enum Taken { case some, nothing, end }

    private func take(_ number: Int32) -> Taken {
        let count = withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 1) { buffer in
            let portion = number == launcher.progress.number ? Self.progressPortion : buffer.count
            let count = Glibc.read(number, buffer.baseAddress, portion)
            if count > 0 { add(buffer[..<count], from: number) }
            return count
        }
        return count > 0 ? .some : count < 0 && wouldBlock() ? .nothing : .end
    }

    private func add(_ bytes: Slice<UnsafeMutableRawBufferPointer>, from number: Int32) {
        switch number {
        case launcher.errors.number: post(log.log(bytes))
        case launcher.progress.number:
            for line in progressLines.split(bytes) { take(progress: line) }
        default: capture(bytes)
        }
    }

    private func post(_ lines: [String]) {
        for line in lines {
            guard logged <= command.limits.log else { return }
            logged += line.utf8.count + 1
            let isWithin = logged <= command.limits.log
            mailbox.post(.line(isWithin ? line : "(the rest is left out: it exceeds \(command.limits.log) bytes)"))
        }
    }

    private func take(progress line: [UInt8]) {
        guard let progress = TaskProgress(line: line) else {
            malformedProgressLines += 1
            return
        }
        rules.advance(to: progress, at: elapsed)
        mailbox.post(.progress(progress, line))
    }

    private func capture(_ bytes: Slice<UnsafeMutableRawBufferPointer>) {
        guard case .captured(let limit) = command.output else { return }
        let room = max(limit - output.count, 0)
        output += bytes.prefix(room)
        if bytes.count > room { isOutputIncomplete = true }
    }

    private func takeMessages() {
        while true {
            switch receiveMessage(launcher.control.number) {
            case .nothing: return
            case .end:
                ended.insert(launcher.control.number)
                return
            case .message(let bytes):
                switch LauncherMessage(bytes) {
                case .started(let process): program = process
                case .limitation(let text): limitations.append(LogLines.shown(text))
                case .failed(let what, let status): failure = startFailure(what, status)
                case .ended(let report): self.report = report
                case nil: break
                }
            }
        }
    }

    private func startFailure(_ what: String, _ status: Int32) -> MediaError {
        var error = callError("execve", LogLines.shown(what), status: status)
        error.given = command.program
        guard error.code != .outOfMemory else { return error }
        error.code = .unavailable
        error.isPermanent = true
        error.remedies = [ConfinedCommand.remedy]
        if status == EACCES {
            error.remedies.insert("if it is a script, list its interpreter among the programs that it may start", at: 0)
        }
        return error
    }

    // MARK: - The end

    private func end() -> Bool {
        var status: Int32 = 0
        guard linux_process_reap(launcher.process.number, &status) != 0 else { return false }
        // Nobody writes any more, so what is there is in the pipes.
        takeMessages()
        // A launcher that was killed leaves what its program has started. The program itself dies with it.
        if report == nil, let program { kill(-program, SIGKILL) }
        for stream in [launcher.output, launcher.errors, launcher.progress].compactMap(\.self) {
            while !ended.contains(stream.number), take(stream.number) == .some {}
        }
        post(log.finishLog())
        if let rest = progressLines.finish() { take(progress: rest) }
        mailbox.finish(result(launcherStatus: status))
        return true
    }

    private func result(launcherStatus: Int32) -> Result<ExecutionResult, MediaError> {
        if let failure { return .failure(failure) }
        guard let report else {
            return .failure(
                MediaError(
                    .unavailable,
                    launcherStatus < 0
                        ? "the launcher of the task was killed by signal \(-launcherStatus)"
                        : "the launcher of the task ended with status \(launcherStatus)"
                            + (log.last.isEmpty ? "" : "; it said: \(log.last.joined(separator: " | "))"),
                    given: command.program,
                    isPermanent: false,
                    remedies: ["look for the reason in the kernel's log: journalctl -k"]
                )
            )
        }
        let usage = ExecutionResult.Usage(
            processorTime: .microseconds(report.processorTime),
            largestProcess: report.largestProcess,
            memory: report.memory,
            wallTime: elapsed
        )
        return .success(
            ExecutionResult(
                ending: report.status >= 0 ? .exited(report.status) : .killed(signal: -report.status),
                interruption: rules.interruption ?? report.excess.interruption,
                output: output,
                isOutputIncomplete: isOutputIncomplete,
                lastLines: log.last,
                progress: rules.progress,
                malformedProgressLines: malformedProgressLines,
                limitations: limitations,
                leftProcesses: report.leftProcesses,
                usage: usage
            )
        )
    }
}

extension LauncherReport.Excess {
    fileprivate var interruption: ExecutionResult.Interruption? {
        switch self {
        case .none: nil
        case .memory: .memoryLimit
        case .processes: .processLimit
        }
    }
}
