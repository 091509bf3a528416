// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import HostSystem
internal import JobExecution
internal import ServiceAPI

/// Runs `vatoolbox-live stream` in processes that can do nothing but their work. Unlike tasks, they have the network.
struct LiveRunner: Sendable {
    let host: ProcessHost
    /// The path of the program.
    let program: String
    /// The variables that it gets.
    let environment: [String: String]
    /// The folder where processes share what they know of devices.
    let state: String
    let stallTimeout: Double
    let memory: Int
    let notice: ConfinementNotice

    /// How long a process may take to end its stream when it is stopped.
    static let grace = Duration.seconds(10)

    /// What the C library and GnuTLS read to find hosts and to trust them.
    private static let networkFiles = [
        "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services",
        "/etc/ssl/certs", "/etc/ca-certificates", "/etc/gnutls",
    ]

    /// Why it cannot run; `nil` if it can.
    var absence: APIError? {
        guard access(program, X_OK) != 0 else { return nil }
        return APIError(
            .unavailable,
            "The program of live jobs cannot be started: \(String(cString: strerror(errno)))",
            value: .string(program),
            remedies: ["Install vatoolbox-live beside vatoolbox-service."]
        )
    }

    /// Runs a process to its end. If the calling task is cancelled, the stream is ended.
    ///
    /// - Parameters:
    ///   - control: Where the process reads what it is told.
    ///   - places: The files that it reads, and the folders that it writes.
    func run(
        _ control: LiveControl,
        _ places: LiveArguments.Places,
        onProgress: @escaping @Sendable ([UInt8]) -> Void,
        onLogLine: @escaping @Sendable (String) -> Void
    ) async throws -> CommandResult {
        var command = ConfinedCommand(
            program,
            LiveArguments.visible(progress: ConfinedCommand.progressPath),
            environment: environment.merging(["VATOOLBOX_STATE": state]) { $1 },
            otherPrograms: ConfinedCommand.helpers(besides: program),
            readable: Self.networkFiles.filter { access($0, R_OK) == 0 } + places.inputs.values,
            writable: [state] + places.outputs.values,
            devices: true,
            network: true,
            input: .descriptor(control.far),
            output: .captured(limit: 1 << 20),
            cancellation: .gentle(grace: Self.grace)
        )
        command.limits.progressLine = 64 << 10
        command.limits.stallTimeout = .seconds(stallTimeout)
        if memory > 0 { command.limits.memory = UInt64(memory) }
        let result = try await host.run(command, onProgressLine: onProgress, onLogLine: onLogLine)
        notice.tell(result.limitations)
        return CommandResult(
            exit: CommandExit(result, stallTimeout: stallTimeout, memory: memory),
            document: result.output,
            lastLines: result.lastLines
        )
    }
}

/// The standard input of the process of a live job: its arguments, which may have secrets, and commands.
final class LiveControl: Sendable {
    /// The end of the process.
    let far: Int32
    private let near: Int32

    /// - Parameter text: What the process reads first. It fits into the buffer of a pipe, 64 KiB.
    init(_ text: String) throws(FileError) {
        var ends: [Int32] = [-1, -1]
        guard linux_pipe(&ends) == 0 else { throw FileError("pipe2", "a live job") }
        (far, near) = (ends[0], ends[1])
        // A process that reads nothing must not hold up the service.
        _ = fcntl(near, F_SETFL, O_NONBLOCK)
        try write(text)
    }

    deinit {
        close(far)
        close(near)
    }

    /// Tells the process a command.
    ///
    /// - Throws: `FileError` if it does not read.
    func tell(_ command: String) throws(FileError) { try write(command + "\n") }

    private func write(_ text: String) throws(FileError) {
        let bytes = Array(text.utf8)
        // Up to 4 KiB, a pipe takes all or nothing; more is written only while it is empty.
        guard Glibc.write(near, bytes, bytes.count) == bytes.count else { throw FileError("write", "a live job") }
    }
}
