// SPDX-License-Identifier: GPL-2.0-or-later

internal import JobExecution
internal import Logging
internal import ServiceAPI
internal import Synchronization

/// Runs `vatoolbox` in processes that can do nothing but their work.
struct ConfinedRunner: CommandRunning {
    let host: ProcessHost
    /// The path of the program.
    let program: String
    /// The variables that it gets.
    let environment: [String: String]
    /// The path of the ffmpeg that measures VMAF, if there is one. Only commands that need it may start it.
    let qualityProgram: String?
    /// The folder where its processes share what they know of devices.
    let state: String
    let stallTimeout: Double
    let memory: Int
    let niceness: Int
    /// The most sessions of a GPU at a time; 0 for no limit.
    let mostSessions: Int
    /// What inputs may have, as the command reads it.
    let inputLimits: String
    let notice: ConfinementNotice

    init(
        host: ProcessHost,
        program: String,
        environment: [String: String],
        qualityProgram: String?,
        state: String,
        stallTimeout: Double,
        memory: Int,
        niceness: Int,
        mostSessions: Int,
        inputLimits: String,
        notice: ConfinementNotice
    ) {
        self.host = host
        self.program = program
        self.environment = environment
        self.qualityProgram = qualityProgram
        self.state = state
        self.stallTimeout = stallTimeout
        self.memory = memory
        self.niceness = niceness
        self.mostSessions = mostSessions
        self.inputLimits = inputLimits
        self.notice = notice
    }

    /// The most that a command can print.
    private static let largestDocument = 32 << 20

    func run(
        _ command: WorkerCommand,
        onProgress: @escaping @Sendable (CommandProgress) -> Void,
        onLogLine: @escaping @Sendable (String) -> Void
    ) async throws -> CommandResult {
        var confined = ConfinedCommand(
            program,
            arguments(of: command),
            environment: environment.merging(["VATOOLBOX_STATE": state]) { $1 },
            otherPrograms: ConfinedCommand.helpers(besides: program),
            readable: command.readable,
            writable: command.writable + [state],
            devices: true,
            output: .captured(limit: Self.largestDocument),
            cancellation: .immediate
        )
        if command.measuresVMAF {
            // Where that program leaves what it has measured.
            confined.environment["TMPDIR"] = command.writable.first
            if let qualityProgram {
                confined.otherPrograms.append(qualityProgram)
                confined.environment["VATOOLBOX_FFMPEG"] = qualityProgram
            }
        }
        if let streams = command.streams {
            confined.input = .descriptor(streams.input)
            confined.output = .descriptor(streams.output)
        }
        if command.tellsProgress {
            confined.limits.stallTimeout = .seconds(command.stallTimeout ?? stallTimeout)
        }
        if let limit = command.timeLimit { confined.limits.timeLimit = .seconds(limit) }
        if memory > 0 { confined.limits.memory = UInt64(memory) }
        confined.limits.niceness = niceness
        let lines = CollectedLines(limit: command.streams == nil ? 0 : Self.largestDocument)
        let result = try await host.run(confined) { progress in
            onProgress(
                CommandProgress(
                    phase: progress.phase,
                    elapsed: progress.elapsed,
                    time: progress.time,
                    expectedDuration: progress.expectedDuration,
                    framesOut: progress.framesOut,
                    bytes: progress.bytes,
                    device: progress.device
                )
            )
        } onLogLine: {
            lines.append($0)
            onLogLine($0)
        }
        notice.tell(result.limitations)
        try Task.checkCancellation()
        return CommandResult(
            exit: CommandExit(result, stallTimeout: command.stallTimeout ?? stallTimeout, memory: memory),
            document: command.streams == nil ? result.output : lines.bytes,
            lastLines: result.lastLines
        )
    }

    /// The arguments with what all commands get. Options of the input come before those of the first output.
    private func arguments(of command: WorkerCommand) -> [String] {
        var arguments = command.arguments
        if command.readsInput { arguments.insert("--input-limits=\(inputLimits)", at: 1) }
        if mostSessions > 0, arguments.first == "encode", !arguments.contains("--device=software") {
            arguments.insert("--max-sessions=\(mostSessions)", at: 1)
        }
        if command.tellsProgress { arguments += ["--progress", ConfinedCommand.progressPath] }
        return arguments
    }

}

extension CommandExit {
    /// - Parameters:
    ///   - stallTimeout: The seconds without progress after which the process was to be ended.
    ///   - memory: The bytes that it could have.
    init(_ result: ExecutionResult, stallTimeout: Double, memory: Int) {
        self =
            switch (result.interruption, result.ending) {
            case (.stalled, _): .stalled(stallTimeout)
            case (.memoryLimit, _): .tooMuchMemory(memory)
            case (.timeLimit, _): .tooLate
            case (.processLimit, _): .tooManyProcesses
            case (_, .exited(let status)): .status(status)
            case (_, .killed(let signal)): .signal(Self.name(ofSignal: signal))
            }
    }

    private static func name(ofSignal signal: Int32) -> String {
        let names: [Int32: String] = [
            4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM",
            31: "SIGSYS",
        ]
        return names[signal] ?? "signal \(signal)"
    }
}

/// Tells once what the confinement of processes lacks.
final class ConfinementNotice: Sendable {
    private let logger: Logger
    private let isTold = Mutex(false)

    init(_ logger: Logger) { self.logger = logger }

    /// - Parameter limitations: What it lacks; empty if it is complete.
    func tell(_ limitations: [String]) {
        guard !limitations.isEmpty,
            !isTold.withLock({ isTold in
                defer { isTold = true }
                return isTold
            })
        else { return }
        logger.warning(
            "the kernel, or the container, does not confine workers completely",
            metadata: ["missing": "\(limitations.joined(separator: "; "))"]
        )
    }
}

/// Lines of text, up to a number of bytes.
private final class CollectedLines: Sendable {
    private let limit: Int
    private let state = Mutex<[UInt8]>([])

    init(limit: Int) { self.limit = limit }

    func append(_ line: String) {
        state.withLock { bytes in
            guard bytes.count + line.utf8.count < limit else { return }
            bytes += Array(line.utf8) + [UInt8(ascii: "\n")]
        }
    }

    var bytes: [UInt8] { state.withLock { $0 } }
}
