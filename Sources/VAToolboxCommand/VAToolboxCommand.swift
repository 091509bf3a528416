// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CLinux
import CommandLineSupport
import EncodingBenchmark
import FFmpegSupport
import Glibc
import Logging
import MediaIO
import MediaTypes
import ServiceCommandLine
import VAToolbox

/// The `vatoolbox` command.
@main
struct VAToolboxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vatoolbox",
        abstract: "Encode video to H.264 and HEVC on Intel and AMD GPUs, and on the CPU where no GPU can.",
        version: version,
        subcommands: [
            EncodeCommand.self, DecodeCommand.self, RemuxCommand.self, InspectCommand.self, ThumbnailsCommand.self,
            ProbeCommand.self, BenchCommand.self, DevicesCommand.self, RecordCommand.self, StreamCommand.self,
            PlayCommand.self, ServeCommand.self, WorkerCommand.self, ClusterCommand.self,
            BenchRunCommand.self,
        ] + ServiceCommands.all
    )

    /// The version of the command and of the package.
    static let version = LibraryVersion.current

    static func main() {
        Interruption.ignoreBrokenPipes()
        giveBackPictures()
        guard hasDescriptorsToStart else {
            Console(detail: .errors).error(
                "the limit of open files is too low to start (given \(Self.descriptorLimit); allowed: about 32 or more, see "
                    + "ulimit -n)"
            )
            leave(.failed)
        }
        if let number = unreadableArgument {
            Console(detail: .errors).error(
                "an argument is not valid UTF-8 (given argument \(number); allowed: names in UTF-8, such as that of a link "
                    + "to the file)"
            )
            leave(.usage)
        }
        let arguments = Array(CommandLine.arguments.dropFirst())
        for program in SiblingProgram.all {
            if let failure = program.becomeIfNeeded(arguments) {
                Console(detail: .errors).error(failure)
                leave(.failed)
            }
        }
        switch prepare(arguments) {
        case .done(let status): leave(status)
        case .encode(let job):
            let interruption = Interruption()
            start(job)
            interruption.wait(job.base.interrupt)
        case .decode(let job):
            let interruption = Interruption()
            start(job)
            interruption.wait(job.base.interrupt)
        case .remux(let job):
            let interruption = Interruption()
            start(job)
            interruption.wait(job.base.interrupt)
        case .thumbnails(let job):
            let interruption = Interruption()
            start(job)
            interruption.wait(job.base.interrupt)
        case .inspect(let job):
            let interruption = Interruption()
            start(job)
            interruption.wait(job.base.interrupt)
        case .tryAll(let probe):
            let interruption = Interruption()
            start(probe)
            interruption.wait { _ in probe.interrupt() }
        case .benchDecoders(let job):
            let interruption = Interruption()
            start(job)
            interruption.wait(job.base.interrupt)
        case .bench(let job):
            let interruption = Interruption()
            start(job)
            interruption.wait(job.interrupt)
        case .benchRun(let command):
            let interruption = Interruption()
            start(command)
            interruption.wait { _ in leave(.interrupted) }
        }
    }

    /// The number of descriptors that Dispatch opens for its threads and timers. It traps if it cannot get them; any
    /// other lack of descriptors is reported where they are opened.
    private static let descriptorsToStart = 3

    /// Whether these descriptors are available.
    private static var hasDescriptorsToStart: Bool {
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        while taken.count < descriptorsToStart {
            // Not a file: a confined process may not be allowed to open any.
            let descriptor = linux_memfd_create("start")
            guard descriptor >= 0 else { return false }
            taken.append(descriptor)
        }
        return true
    }

    /// The index of the first argument, from 1, that is not valid UTF-8; `nil` if there is none.
    /// `CommandLine.arguments` has altered bytes for it, so a file of that name would not be found, or would be created
    /// under another name.
    private static var unreadableArgument: Int? {
        (1..<max(Int(CommandLine.argc), 1)).first { number in
            CommandLine.unsafeArgv[number].map { String(validatingCString: $0) == nil } ?? false
        }
    }

    /// The soft limit of descriptors (`RLIMIT_NOFILE`).
    private static var descriptorLimit: Int {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? Int(clamping: limit.rlim_cur) : 0
    }

    /// Makes the C library return the memory of each picture immediately. By default, it raises its threshold with the
    /// first freed picture and then keeps some pictures in every thread's arena.
    private static func giveBackPictures() { linux_return_blocks_from(1 << 20) }

    /// Continues the work on other threads; the process ends with it.
    private static func start(_ job: EncodeJob) {
        Task.detached { () async -> Void in leave(await job.run()) }
    }

    private static func start(_ job: DecodeJob) {
        Task.detached { () async -> Void in leave(await job.run()) }
    }

    private static func start(_ job: RemuxJob) {
        Task.detached { () async -> Void in leave(await job.run()) }
    }

    private static func start(_ job: BenchDecodersJob) {
        Task.detached { () async -> Void in leave(await job.run()) }
    }

    private static func start(_ job: ThumbnailsJob) {
        Task.detached { () async -> Void in leave(await job.run()) }
    }

    private static func start(_ job: InspectJob) {
        do throws(MediaError) {
            try PlainThread.start(name: "vt-inspect") { leave(job.run()) }
        } catch {
            leave(job.run())
        }
    }

    private static func start(_ probe: ExhaustiveProbe) {
        do throws(MediaError) {
            try PlainThread.start(name: "vt-probe") { leave(probe.run()) }
        } catch {
            leave(probe.run())
        }
    }

    private static func start(_ bench: BenchJob) {
        do throws(MediaError) {
            try PlainThread.start(name: "vt-bench") { leave(bench.run()) }
        } catch {
            leave(bench.run())
        }
    }

    private static func start(_ run: BenchRunCommand) {
        Task.detached { () async -> Void in
            leave(await RunProcess.serve(request: run.request, record: run.record) ? .done : .failed)
        }
    }

    /// Not with `exit`: it would wait for threads of a hung encoder, and drivers crash in their destructors.
    private static func leave(_ status: ExitStatus) -> Never {
        fflush(nil)
        _exit(status.rawValue)
    }

    private enum Preparation {
        case encode(EncodeJob)
        case decode(DecodeJob)
        case remux(RemuxJob)
        case inspect(InspectJob)
        case thumbnails(ThumbnailsJob)
        case tryAll(ExhaustiveProbe)
        case bench(BenchJob)
        case benchDecoders(BenchDecodersJob)
        case benchRun(BenchRunCommand)
        case done(ExitStatus)
    }

    /// Performs the preparation on the first thread.
    private static func prepare(_ arguments: [String]) -> Preparation {
        do {
            try checkCommand(arguments)
            let groups = try outputGroups(arguments)
            if !groups.groups.isEmpty { return .encode(try job(groups)) }
            if let command = try BenchDecodersCommand(commandLine: arguments) {
                try checkEnvironment()
                let job = BenchDecodersJob(command)
                startLogging(to: job.base.console)
                return .benchDecoders(job)
            }
            var command = try parseAsRoot(arguments)
            try checkEnvironment()
            switch command {
            case let command as EncodeCommand:
                let job = EncodeJob([command])
                startLogging(to: job.base.console)
                return .encode(job)
            case let command as DecodeCommand:
                let job = DecodeJob(command)
                startLogging(to: job.base.console)
                return .decode(job)
            case let command as RemuxCommand:
                let job = RemuxJob(command)
                startLogging(to: job.base.console)
                return .remux(job)
            case let command as ThumbnailsCommand:
                let job = ThumbnailsJob(command)
                startLogging(to: job.base.console)
                return .thumbnails(job)
            case let command as InspectCommand:
                let job = InspectJob(command)
                startLogging(to: job.base.console)
                return .inspect(job)
            case let command as BenchCommand:
                let job = BenchJob(command)
                startLogging(to: job.console)
                return .bench(job)
            case is BenchDecodersCommand:
                throw ValidationError(
                    "write \(BenchDecodersCommand.name) without options in between: those of bench do not apply to it"
                )
            case let command as BenchCompareCommand: return .done(command.compare())
            case let command as BenchReportCommand: return .done(command.show())
            case let command as BenchRunCommand:
                startLogging(to: Console(detail: .errors))
                return .benchRun(command)
            case let command as ProbeCommand where command.exhaustive: return .tryAll(try ExhaustiveProbe(command))
            case let command as ProbeCommand:
                return .done(try command.probe())
            default:
                try command.run()
                return .done(.done)
            }
        } catch {
            return .done(report(error, arguments))
        }
    }

    /// Splits the command line of several outputs.
    private static func outputGroups(_ arguments: [String]) throws -> OutputGroups {
        do {
            return try OutputGroups(arguments) { (path) throws(MediaError) in
                try BenchmarkFile.text(path, "the file of the outputs")
            }
        } catch {
            throw ValidationError(error.readable)
        }
    }

    private static func job(_ groups: OutputGroups) throws -> EncodeJob {
        var commands: [EncodeCommand] = []
        for group in groups.groups {
            do {
                guard let command = try parseAsRoot(groups.arguments(of: group)) as? EncodeCommand else {
                    throw CleanExit.helpRequest(EncodeCommand.self)
                }
                commands.append(command)
            } catch {
                guard let place = group.place, exitCode(for: error) != .success else { throw error }
                throw ValidationError("\(place): \(message(for: error))")
            }
        }
        try checkEnvironment()
        let job = EncodeJob(commands)
        startLogging(to: job.base.console)
        return job
    }

    private static func checkEnvironment() throws {
        do { try DeviceOptions.checkEnvironment() } catch { throw ValidationError(error.readable) }
    }

    private static let commandNames = configuration.subcommands.compactMap { $0.configuration.commandName }

    /// The parser treats an unknown command as an extra argument and blames the first option after it.
    private static func checkCommand(_ arguments: [String]) throws {
        guard let first = arguments.first, !first.isEmpty, !first.hasPrefix("-"), first != "help",
            !commandNames.contains(first)
        else { return }
        let isFile = access(first, F_OK) == 0 || first.contains("/") || first.contains(".")
        let names = configuration.subcommands.filter { $0.configuration.shouldDisplay }
            .compactMap { $0.configuration.commandName }
        throw ValidationError(
            "unknown subcommand (given \(Readable.oneLine(first)); allowed: \(names.joined(separator: ", "))"
                + (isFile ? ", for example vatoolbox encode \(Readable.oneLine(first)) -o out.mp4)" : ")")
        )
    }

    /// Prints the requested text, such as help, or the error in the command line.
    private static func report(_ error: any Error, _ arguments: [String]) -> ExitStatus {
        if exitCode(for: error) == .success {
            var text = fullMessage(for: error)
            while text.last?.isNewline == true { text.removeLast() }
            return Terminal.write(text + "\n", to: STDOUT_FILENO) ? .done : .failed
        }
        let text = message(for: error)
        let command = arguments.first.flatMap { commandNames.contains($0) ? "vatoolbox \($0)" : nil } ?? "vatoolbox"
        // If the stream was to go to standard output, only the document goes to standard error.
        let isStreaming = writesToStandardOutput(arguments)
        let isDocument = arguments.contains("--json")
        if !isDocument || !isStreaming { Console(detail: .errors).error("\(text) (see \(command) --help)") }
        if isDocument {
            Terminal.write(JSON.usageFailure(text).text + "\n", to: isStreaming ? STDERR_FILENO : STDOUT_FILENO)
        }
        return .usage
    }

    /// Whether the output is `-`, as far as this can be determined from arguments that cannot be parsed.
    private static func writesToStandardOutput(_ arguments: [String]) -> Bool {
        if arguments.contains(where: { ["-o-", "-o=-", "--output=-"].contains($0) }) { return true }
        return zip(arguments, arguments.dropFirst()).contains { ["-o", "--output"].contains($0) && $1 == "-" }
    }

    private static func startLogging(to console: Console) {
        LoggingSystem.bootstrap { ConsoleLogHandler(label: $0, console: console) }
        if console.detail >= .everything { MediaLog.logger = Logger(label: "ffmpeg") }
    }
}
