// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
package import MediaTypes

/// A program to run as a process of its own, with exactly the files, devices, descriptors and variables that are
/// listed.
package struct ConfinedCommand: Sendable, Hashable {
    /// What the process reads from standard input.
    package enum Input: Sendable, Hashable {
        /// Nothing (`/dev/null`).
        case nothing
        /// An open descriptor of the caller, which keeps it and may close it once
        /// ``ProcessHost/run(_:onProgress:onLogLine:)`` has returned.
        case descriptor(Int32)
    }

    /// Where standard output of the process goes.
    package enum Output: Sendable, Hashable {
        /// Nowhere (`/dev/null`).
        case nothing
        /// An open descriptor of the caller, which keeps it.
        case descriptor(Int32)
        /// Into ``ExecutionResult/output``, up to a number of bytes; the process can write more, which is dropped.
        case captured(limit: Int)
    }

    /// What the process may use at most.
    package struct Limits: Sendable, Hashable {
        /// The size of a file that it writes, in bytes.
        package var largestFile: UInt64 = 1 << 40
        /// The number of open descriptors of each of its processes.
        package var mostDescriptors: UInt64 = 4096
        /// The memory of all its processes together, in bytes: memory of their own and shared memory, which counts in
        /// each process that has it mapped. It is measured four times a second. `nil` for no limit.
        package var memory: UInt64?
        /// The number of its processes, which are counted as often.
        package var mostProcesses = 256
        /// By how much the nice value of its processes is above the caller's, 0...19 (setpriority(2)): they leave the
        /// processor to the caller when it has something to do.
        package var niceness = 0
        /// The time without progress after which it is killed; `nil` for no limit. Progress is a line that differs from
        /// the one before in more than `elapsed`.
        package var stallTimeout: Duration?
        /// The time after which it is killed; `nil` for no limit. Like all times here, it does not pass while the
        /// system is suspended.
        package var timeLimit: Duration?
        /// The bytes of standard error that are passed on as lines of the log; the rest is dropped, which one last line
        /// says.
        package var log = 16 << 20

        /// The longest line of progress, in bytes; a longer one is dropped.
        package var progressLine = 4096

        /// The default limits.
        package init() {}
    }

    /// How the process is ended if the Swift task that waits for it is cancelled.
    package enum Cancellation: Sendable, Hashable {
        /// By SIGTERM, so that it can close its output. If it has not ended after the grace period, it is killed with
        /// all that it started.
        case gentle(grace: Duration)
        /// By SIGKILL.
        case immediate
    }

    /// The path under which the process can open the pipe for its progress, for example with `--progress`.
    package static let progressPath = "/dev/fd/\(ChildDescriptor.progress)"

    /// The path of the program.
    package var program: String
    /// Its arguments, without the program's name.
    package var arguments: [String]
    /// All its environment variables.
    package var environment: [String: String]
    /// Its working folder, which it need not be able to list.
    package var folder: String
    /// Other programs that it may start. Without these, it can start none but itself.
    package var otherPrograms: [String]
    /// Files and folders to read.
    package var readable: [String]
    /// Files and folders to read and write. In folders, it can also create, move and remove files and folders, but no
    /// symbolic links, FIFOs or sockets.
    package var writable: [String]
    /// Whether it may use `/dev/dri`. Libraries, drivers and what the kernel says of devices can always be read.
    package var devices: Bool
    /// Whether it may open Internet sockets.
    package var network: Bool
    /// Whether an incomplete confinement, on an old kernel or in a container that forbids it, is an error. Otherwise it
    /// is reported (``ExecutionResult/limitations``).
    package var requiresConfinement: Bool
    /// Its standard input.
    package var input: Input
    /// Its standard output.
    package var output: Output
    /// Its limits.
    package var limits: Limits
    /// How it is cancelled.
    package var cancellation: Cancellation

    /// Describes a command.
    package init(
        _ program: String,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        folder: String = "/",
        otherPrograms: [String] = [],
        readable: [String] = [],
        writable: [String] = [],
        devices: Bool = false,
        network: Bool = false,
        requiresConfinement: Bool = false,
        input: Input = .nothing,
        output: Output = .nothing,
        limits: Limits = Limits(),
        cancellation: Cancellation = .gentle(grace: .seconds(30))
    ) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.folder = folder
        self.otherPrograms = otherPrograms
        self.readable = readable
        self.writable = writable
        self.devices = devices
        self.network = network
        self.requiresConfinement = requiresConfinement
        self.input = input
        self.output = output
        self.limits = limits
        self.cancellation = cancellation
    }

    /// The helper programs of `vatoolbox` that are installed beside it, for ``otherPrograms``.
    package static func helpers(besides program: String) -> [String] {
        let folder = program.lastIndex(of: "/").map { String(program[...$0]) } ?? ""
        return ["vatoolbox-helper", "vatoolbox-decoding-helper"].map { folder + $0 }.filter { access($0, X_OK) == 0 }
    }

    /// Checks what can be checked before a process is started.
    ///
    /// - Throws: `invalidArgument` for a value that no process can have; `unavailable` for a path that does not exist.
    package func validate() throws(MediaError) {
        let texts = [program, folder] + arguments + otherPrograms + readable + writable
        if let text = (texts + environment.flatMap { [$0, $1] }).first(where: { $0.utf8.contains(0) }) {
            let shown = LogLines.shown(text)
            throw MediaError(.invalidArgument, "a process cannot get a text with a zero byte", given: shown)
        }
        if let name = environment.keys.first(where: { $0.isEmpty || $0.contains("=") }) {
            throw MediaError(
                .invalidArgument,
                "the name of an environment variable is not valid",
                given: name,
                allowed: "a name without ="
            )
        }
        for path in [program, folder] + otherPrograms + readable + writable where !path.hasPrefix("/") {
            throw MediaError(.invalidArgument, "the path is not absolute", given: path, allowed: "a path from /")
        }
        for path in [program] + otherPrograms { try Self.checkProgram(path) }
        try Self.check(folder, "the working folder", F_OK)
        for path in readable { try Self.check(path, "a file or folder to read", R_OK) }
        for path in writable { try Self.check(path, "a file or folder to write", W_OK) }
    }

    private static func checkProgram(_ path: String) throws(MediaError) {
        try check(path, "the program", X_OK)
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw MediaError(.unavailable, "the program is not a file", given: path, remedies: [remedy])
        }
    }

    private static func check(_ path: String, _ what: String, _ mode: Int32) throws(MediaError) {
        guard access(path, mode) != 0 else { return }
        let status = errno
        throw MediaError(
            .unavailable,
            "\(what) cannot be used: \(String(cString: strerror(status)))",
            given: path,
            call: "access",
            status: Int(status),
            remedies: mode == X_OK ? [remedy] : ["let the user of the service access it: namei -l \(path)"]
        )
    }

    static let remedy = "install the program, or correct its path in the configuration of the service"
}

/// The numbers of the descriptors that a process gets besides the standard ones.
enum ChildDescriptor {
    /// The pipe for progress.
    static let progress: Int32 = 3
    /// The connection of the launcher to its host, which the program does not get.
    static let control: Int32 = 4
}
