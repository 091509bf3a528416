// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import HelperSandbox
internal import MediaTypes

/// A launcher that was started, with the near ends of its pipes.
struct LauncherProcess {
    let id: pid_t
    /// A descriptor of the process, readable when it has ended.
    let process: OwnedDescriptor
    let control: OwnedDescriptor
    let progress: OwnedDescriptor
    let errors: OwnedDescriptor
    /// Standard output, if it is captured.
    let output: OwnedDescriptor?

    /// Starts a launcher: in the folder of the command, with its environment, without other descriptors, in a group of
    /// its own, with no signal blocked or ignored.
    init(_ launcher: [String], _ command: ConfinedCommand) throws(MediaError) {
        let (control, farControl) = try Self.pair("socketpair") { linux_message_sockets($0) }
        let (progress, farProgress) = try Self.pair("pipe2") { linux_pipe($0) }
        let (errors, farErrors) = try Self.pair("pipe2") { linux_pipe($0) }
        let (output, farOutput) = try Self.output(command.output)
        let input = try Self.input(command.input)

        var request = LaunchRequest(
            access: TaskAccess(
                programs: [command.program] + command.otherPrograms,
                readable: command.readable,
                writable: command.writable,
                devices: command.devices,
                network: command.network
            ),
            command: [command.program] + command.arguments
        )
        request.largestFile = command.limits.largestFile
        request.mostDescriptors = command.limits.mostDescriptors
        request.memory = command.limits.memory
        request.mostProcesses = command.limits.mostProcesses
        request.niceness = command.limits.niceness
        request.requiresConfinement = command.requiresConfinement
        request.control = ChildDescriptor.control
        var environment = command.environment
        // A backtrace of the Swift runtime would need another process, and delay the end of a crash by seconds.
        if environment["SWIFT_BACKTRACE"] == nil { environment["SWIFT_BACKTRACE"] = "enable=no" }

        let descriptors = [input, farOutput, farErrors, farProgress, farControl]
        id = try Self.spawn(launcher + request.arguments, environment, command.folder, descriptors)
        let number = linux_process_open(id)
        guard number >= 0 else {
            let error = callError("pidfd_open", "a process cannot be watched")
            kill(id, SIGKILL)
            while waitpid(id, nil, 0) < 0 && errno == EINTR {}
            throw error
        }
        process = OwnedDescriptor(owning: number)
        (self.control, self.progress, self.errors, self.output) = (control, progress, errors, output)
    }

    private static func pair(
        _ call: String,
        _ make: (UnsafeMutablePointer<Int32>) -> Int32
    ) throws(MediaError) -> (near: OwnedDescriptor, far: OwnedDescriptor) {
        var numbers: [Int32] = [-1, -1]
        guard make(&numbers) == 0 else { throw callError(call, "a pipe to a process cannot be created") }
        let (near, far) = (OwnedDescriptor(owning: numbers[0]), OwnedDescriptor(owning: numbers[1]))
        _ = fcntl(numbers[0], F_SETFL, O_NONBLOCK)
        return (near, try far.moved())
    }

    private static func input(_ input: ConfinedCommand.Input) throws(MediaError) -> OwnedDescriptor {
        switch input {
        case .nothing: try null(O_RDONLY)
        case .descriptor(let number): try OwnedDescriptor.duplicate(number)
        }
    }

    private static func output(
        _ output: ConfinedCommand.Output
    ) throws(MediaError) -> (near: OwnedDescriptor?, far: OwnedDescriptor) {
        switch output {
        case .nothing: return (nil, try null(O_WRONLY))
        case .descriptor(let number): return (nil, try OwnedDescriptor.duplicate(number))
        case .captured:
            let (near, far) = try pair("pipe2") { linux_pipe($0) }
            return (near, far)
        }
    }

    private static func null(_ mode: Int32) throws(MediaError) -> OwnedDescriptor {
        let file = open("/dev/null", mode | O_CLOEXEC)
        guard file >= 0 else { throw callError("open", "/dev/null cannot be opened") }
        return try OwnedDescriptor(owning: file).moved()
    }

    /// - Parameter descriptors: Those that become the numbers from 0 on. Their own numbers are larger.
    private static func spawn(
        _ words: [String],
        _ environment: [String: String],
        _ folder: String,
        _ descriptors: [OwnedDescriptor]
    ) throws(MediaError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var statuses = descriptors.enumerated().map { number, descriptor in
            posix_spawn_file_actions_adddup2(&actions, descriptor.number, Int32(number))
        }
        statuses.append(linux_spawn_close_from(&actions, Int32(descriptors.count)))
        statuses.append(linux_spawn_in_folder(&actions, folder))
        if let status = statuses.first(where: { $0 != 0 }) {
            throw callError("posix_spawn_file_actions", "a process cannot be started", status: status)
        }

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

        let arguments = words.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { variables.forEach { free($0) } }
        var id = pid_t()
        let status = posix_spawn(&id, words[0], &actions, &attributes, arguments, variables)
        withExtendedLifetime(descriptors) {}
        guard status == 0 else {
            var error = callError("posix_spawn", "the launcher of tasks cannot be run", status: status)
            error.given = words[0]
            if error.code != .outOfMemory {
                error.code = .unavailable
                error.remedies = ["install vatoolbox-service completely, or give the path of its program"]
            }
            throw error
        }
        return id
    }
}
