// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import HelperSandbox
internal import MediaTypes

/// The launcher: a process between a host and the program that it runs.
///
/// It starts the program confined, watches all that it starts, and leaves nothing behind: neither when the program
/// ends, nor when the host does.
package enum Confinement {
    /// The word that makes `vatoolbox-service` a launcher.
    package static let subcommand = "confine"

    /// Starts a program confined, and ends this process when the program has ended.
    ///
    /// Call it first in `main`, while the process has one thread, which also holds before anything of NIO, Dispatch or
    /// Foundation is used.
    ///
    /// - Parameter arguments: The words behind ``subcommand``; ``ProcessHost`` knows them. People can use them as well:
    ///   the exit status is then that of the program, or 128 and the number of the signal that killed it.
    package static func enterAndExecute(_ arguments: [String]) -> Never {
        do {
            Launcher(try LaunchRequest(arguments)).run()
        } catch {
            say("error: \(error)\n\(LaunchRequest.usage)")
            exit(64)
        }
    }

    static func say(_ text: String) {
        let bytes = Array("\(subcommand): \(text)\n".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}

/// Starts one program and watches it. All of it runs on the only thread of the process.
struct Launcher {
    private let request: LaunchRequest
    init(_ request: LaunchRequest) { self.request = request }

    func run() -> Never {
        if let control = request.control, fcntl(control, F_SETFD, FD_CLOEXEC) != 0 {
            Confinement.say("error: descriptor \(control) is not open")
            exit(64)
        }
        let host = getppid()
        let signals = linux_signal_descriptor([SIGCHLD, SIGTERM, SIGINT, SIGHUP], 4)
        guard signals >= 0, linux_adopt_orphans() == 0 else { fail("the launcher cannot watch processes", errno) }
        let program = linux_fork()
        guard program >= 0 else { fail("a process cannot be created", errno) }
        if program == 0 { become(guardians: [getppid(), host]) }
        if let control = request.control { LauncherMessage.started(program).send(to: control) }
        // The program can neither trace the launcher nor read its memory, even without Landlock.
        _ = linux_forbid_tracing()
        closeStreams()
        var watch = ProgramWatch(program: program, request: request, signals: signals)
        let report = watch.run()
        if let control = request.control {
            LauncherMessage.ended(report).send(to: control)
            _exit(0)
        }
        _exit(report.status >= 0 ? report.status : 128 - report.status)
    }

    /// The program alone has the streams and the pipe: who reads from it or writes to it notices at once when it ends.
    private func closeStreams() {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        guard null >= 0 else { return }
        dup2(null, STDIN_FILENO)
        dup2(null, STDOUT_FILENO)
        if request.control != nil {
            dup2(null, STDERR_FILENO)
            dup2(null, ChildDescriptor.progress)
        }
        close(null)
    }

    // MARK: - In the new process

    private func become(guardians: [pid_t]) -> Never {
        // A parent that ended before this was active is recognised by its number.
        guard linux_die_with_parent() == 0, getppid() == guardians[0] else { _exit(1) }
        // Neither a terminal nor the launcher's group; the group of the program is that of what it starts.
        setsid()
        var none = sigset_t()
        sigemptyset(&none)
        sigprocmask(SIG_SETMASK, &none, nil)
        preferForOutOfMemory()
        takePriority(of: guardians[1])

        var policy = SandboxPolicy(
            task: request.access,
            guardians: guardians,
            environment: { name in linux_environment(name).map { String(cString: $0) } }
        )
        policy.largestFile = request.largestFile
        policy.mostDescriptors = request.mostDescriptors
        let report = Sandbox.apply(policy)
        let limitations = report.degradations.map(\.description) + report.unreachable.map { "no access to \($0)" }
        if request.requiresConfinement, !limitations.isEmpty {
            fail("the kernel does not confine it completely: \(limitations.joined(separator: "; "))", EPERM)
        }
        for text in limitations { tell(text) }

        let words = request.command.map { strdup($0) } + [nil]
        execv(request.command[0], words)
        fail("the program cannot be run", errno)
    }

    /// If memory is short, the kernel ends this process rather than the service.
    private func preferForOutOfMemory() {
        let file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        write(file, "500", 3)
        close(file)
    }

    /// The thread of the host that has started the launcher may have a priority of its own, by its class of service.
    private func takePriority(of host: pid_t) {
        let process = __priority_which_t(PRIO_PROCESS.rawValue)
        errno = 0
        let priority = getpriority(process, id_t(host))
        // The kernel reduces larger values to 19.
        if errno == 0 { _ = setpriority(process, 0, priority + Int32(request.niceness)) }
    }

    private func tell(_ limitation: String) {
        if let control = request.control {
            LauncherMessage.limitation(limitation).send(to: control)
        } else {
            Confinement.say("warning: the confinement lacks \(limitation)")
        }
    }

    private func fail(_ what: String, _ status: Int32) -> Never {
        if let control = request.control {
            LauncherMessage.failed(what, status: status).send(to: control)
        } else {
            Confinement.say("error: \(what): \(request.command[0]): \(String(cString: strerror(status)))")
        }
        _exit(status == ENOENT ? 127 : 126)
    }
}

/// Watches a program from its start to the end of all that it started.
private struct ProgramWatch {
    let program: pid_t
    let request: LaunchRequest
    let signals: Int32
    /// The exit status of the program, or the negative number of the signal that killed it.
    private var status: Int32?
    private var isKilled = false
    private var control: Int32?
    private var excess = LauncherReport.Excess.none
    private var memory: UInt64 = 0
    private var left: Set<pid_t> = []
    /// Whether its session need not be made nicer any more.
    private var isSessionNice: Bool

    init(program: pid_t, request: LaunchRequest, signals: Int32) {
        (self.program, self.request, self.signals) = (program, request, signals)
        control = request.control
        isSessionNice = request.niceness == 0
    }

    /// How often memory is measured and processes are counted, in milliseconds.
    private static let interval: Int32 = 250

    mutating func run() -> LauncherReport {
        var next = SuspendingClock.now
        while status == nil {
            var entries = [
                pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
                pollfd(fd: control ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            poll(&entries, 2, Self.interval)
            takeSignals()
            if entries[1].revents != 0 { takeMessage() }
            _ = reap()
            if status == nil, excess == .none, .now >= next {
                makeSessionNicer()
                measure()
                next = .now + .milliseconds(Self.interval)
            }
        }
        clear()
        var usage = rusage()
        getrusage(.init(RUSAGE_CHILDREN.rawValue), &usage)
        let time = [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Int64($1.tv_sec) * 1_000_000 + Int64($1.tv_usec) }
        return LauncherReport(
            status: status ?? -SIGKILL,
            excess: excess,
            leftProcesses: left.count,
            processorTime: time,
            largestProcess: UInt64(max(usage.ru_maxrss, 0)) * 1024,
            memory: memory
        )
    }

    /// Where the kernel schedules sessions as groups (sched(7), autogroup), nice values count within a session only, and
    /// the program has one of its own. The kernel lets those without rights change ten sessions a second, so this is
    /// tried again.
    private mutating func makeSessionNicer() {
        guard !isSessionNice, getsid(program) == program else { return }
        let group = open("/proc/\(program)/autogroup", O_WRONLY | O_CLOEXEC)
        guard group >= 0 else {
            isSessionNice = true
            return
        }
        defer { close(group) }
        let text = "\(request.niceness)"
        let written = text.withCString { write(group, $0, strlen($0)) }
        isSessionNice = written > 0 || errno != EAGAIN
    }

    private func takeSignals() {
        while true {
            let signal = linux_next_signal(signals)
            if signal <= 0 { return }
            // A host decides itself what becomes of its programs when it is asked to end.
            if signal != SIGCHLD, request.control == nil { kill(program, SIGTERM) }
        }
    }

    private mutating func takeMessage() {
        guard let control else { return }
        switch receiveMessage(control) {
        case .nothing: return
        case .message(let bytes):
            switch HostMessage(rawValue: String(decoding: bytes, as: UTF8.self)) {
            case .terminate: kill(program, SIGTERM)
            case .kill, nil: killAll()
            }
        // The host has ended.
        case .end:
            self.control = nil
            killAll()
        }
    }

    private mutating func measure() {
        let processes = ProcessTree.current().descendants(of: getpid())
        let sum = processes.reduce(UInt64(0)) { sum, entry in
            sum + (kernelText("/proc/\(entry.process)/status").map { ProcessTree.memory(status: $0) } ?? 0)
        }
        memory = max(memory, sum)
        if processes.count > request.mostProcesses { excess = .processes }
        if let limit = request.memory, sum > limit { excess = .memory }
        if excess != .none { killAll() }
    }

    /// Waits for what has ended.
    ///
    /// - Returns: Whether there may be more processes.
    private mutating func reap() -> Bool {
        while true {
            var code: Int32 = 0
            let process = waitpid(-1, &code, WNOHANG)
            if process == 0 { return true }
            if process < 0 { return errno != ECHILD }
            if process == program { status = code & 0x7F == 0 ? (code >> 8) & 0xFF : -(code & 0x7F) }
        }
    }

    private mutating func killAll() {
        isKilled = true
        _ = killTree()
    }

    /// Kills all processes below this one. Groups die at once, so that a member that starts others cannot escape.
    private func killTree() -> [ProcessTree.Entry] {
        let processes = ProcessTree.current().descendants(of: getpid())
        for group in Set(processes.map(\.group)) where group != getpgrp() { kill(-group, SIGKILL) }
        for entry in processes { kill(entry.process, SIGKILL) }
        return processes
    }

    /// Ends what the program has left.
    private mutating func clear() {
        while reap() {
            let killed = killTree().map(\.process)
            if !isKilled { left.formUnion(killed) }
            var entry = pollfd(fd: signals, events: Int16(POLLIN), revents: 0)
            poll(&entry, 1, 20)
            while linux_next_signal(signals) > 0 {}
        }
    }
}
