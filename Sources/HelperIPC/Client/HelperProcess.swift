// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import MediaTypes

/// A helper process. Its creator must wait for its end; otherwise, it stays a zombie.
final class HelperProcess: Sendable {
    /// How a process ended.
    enum Ending: Equatable, CustomStringConvertible {
        case exited(Int32)
        case killed(signal: Int32)
        /// Other code has waited for it.
        case unknown

        var description: String {
            switch self {
            case .exited(let status): "exited with status \(status)"
            case .killed(let signal): "was killed by \(Self.name(of: signal))"
            case .unknown: "ended for an unknown reason"
            }
        }

        /// Returns the name of a signal, for example `SIGSEGV`.
        static func name(of signal: Int32) -> String {
            let names = [
                SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGHUP: "SIGHUP", SIGILL: "SIGILL",
                SIGINT: "SIGINT", SIGKILL: "SIGKILL", SIGSEGV: "SIGSEGV", SIGSYS: "SIGSYS", SIGTERM: "SIGTERM",
                SIGTRAP: "SIGTRAP", SIGXCPU: "SIGXCPU",
            ]
            return names[signal] ?? "signal \(signal)"
        }
    }

    /// The descriptor number of the helper's socket.
    static let socketNumber: Int32 = 3

    let id: pid_t
    private let handle: Descriptor

    /// Starts the program with its socket as descriptor 3, a pipe for its output and errors, and no other open
    /// descriptors. It runs in its own process group, so that Ctrl-C in the terminal does not reach it, and no signal
    /// is blocked or ignored.
    ///
    /// - Throws: `unavailable` if the program cannot be run.
    init(
        _ program: HelperProgram = .encoding,
        path: String,
        _ environment: [String] = inheritedEnvironment(),
        socket: borrowing Descriptor,
        log: borrowing Descriptor
    ) throws(MediaError) {
        id = try Self.spawn(program, path, environment, socket, log)
        let number = linux_process_open(id)
        guard number >= 0 else {
            // Other code that waits for all children of this process may already have reaped it, and its ID may have
            // been reused.
            let isThere = errno != ESRCH
            let error = systemError("pidfd_open", "the helper process cannot be watched")
            if isThere { kill(id, SIGKILL) }
            while waitpid(id, nil, 0) < 0 && errno == EINTR {}
            throw error
        }
        handle = Descriptor(owning: number)
    }

    /// A descriptor that becomes readable when the process has ended.
    var handleNumber: Int32 { handle.number }

    /// Kills the process.
    func end() { _ = linux_process_kill(handle.number) }

    /// Checks whether the process has ended.
    ///
    /// - Returns: `nil` while it runs.
    func reap() -> Ending? {
        var status: Int32 = 0
        switch linux_process_reap(handle.number, &status) {
        case 0: return nil
        case 1: return status >= 0 ? .exited(status) : .killed(signal: -status)
        default: return .unknown
        }
    }

    private static func spawn(
        _ program: HelperProgram,
        _ path: String,
        _ environment: [String],
        _ socket: borrowing Descriptor,
        _ log: borrowing Descriptor
    ) throws(MediaError) -> pid_t {
        // Numbers that no later action overwrites before its turn.
        let socket = try Descriptor.duplicate(socket.number, atLeast: 16)
        let log = try Descriptor.duplicate(log.number, atLeast: 16)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let statuses = [
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0),
            posix_spawn_file_actions_adddup2(&actions, log.number, 1),
            posix_spawn_file_actions_adddup2(&actions, log.number, 2),
            posix_spawn_file_actions_adddup2(&actions, socket.number, socketNumber),
            linux_spawn_close_from(&actions, socketNumber + 1),
        ]
        if let status = statuses.first(where: { $0 != 0 }) { throw error(status, program, path) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags))

        let words = [path, "--parent", "\(getpid())"]
        let arguments = words.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        var id = pid_t()
        let environment = environment.map { strdup($0) } + [nil]
        defer { environment.forEach { free($0) } }
        let status = posix_spawn(&id, path, &actions, &attributes, arguments, environment)
        socket.keepOpen()
        log.keepOpen()
        guard status == 0 else { throw error(status, program, path) }
        return id
    }

    /// Distinguishes a process that cannot be started now from a program that cannot be run.
    static func error(_ status: Int32, _ program: HelperProgram, _ path: String) -> MediaError {
        let isScarce = [EAGAIN, ENOMEM, EMFILE, ENFILE].contains(status)
        return MediaError(
            isScarce ? .outOfMemory : .unavailable,
            "the helper program cannot be run: \(String(cString: strerror(status)))",
            given: path,
            call: "posix_spawn",
            status: Int(status),
            // ETXTBSY: the program is being replaced by another version.
            isPermanent: !isScarce && status != ETXTBSY,
            cause: isScarce ? .helperFailed : .helperMissing,
            remedies: isScarce ? [] : program.remedies
        )
    }

    /// The environment of this process, including libva's variables, but without the backtraces of the Swift runtime,
    /// which delay a crash by seconds and push a driver's last messages out of the log tail.
    ///
    /// The list is not protected against changes by other threads, so it is read on the thread that requests a helper.
    static func inheritedEnvironment() -> [String] {
        var variables: [String] = []
        // After clearenv(3), there is no list.
        let list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
        guard var next = list else { return [withoutBacktraces] }
        while let variable = next.pointee {
            let text = String(cString: variable)
            if !text.hasPrefix("SWIFT_BACKTRACE=") { variables.append(text) }
            next += 1
        }
        return variables + [withoutBacktraces]
    }

    private static let withoutBacktraces = "SWIFT_BACKTRACE=enable=no"
}
