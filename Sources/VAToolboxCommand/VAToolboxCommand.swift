// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CLinux
import EncodingBenchmark
import Glibc
import Logging
import MediaIO
import MediaTypes
import VAToolbox

/// `vatoolbox`.
@main
struct VAToolboxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vatoolbox",
        abstract: "Encode video to H.264 and HEVC on Intel and AMD GPUs, and on the CPU where no GPU can.",
        version: version,
        subcommands: [EncodeCommand.self, ProbeCommand.self, BenchCommand.self, BenchRunCommand.self]
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
        switch prepare(Array(CommandLine.arguments.dropFirst())) {
        case .done(let status): leave(status)
        case .encode(let job):
            let interruption = Interruption()
            start(job)
            interruption.wait(job.interrupt)
        case .tryAll(let probe):
            let interruption = Interruption()
            start(probe)
            interruption.wait { _ in probe.interrupt() }
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

    /// How many descriptors Dispatch opens for its threads and timers. It ends the process by a trap if it does not get them;
    /// whatever else is missing is told where it is opened.
    private static let descriptorsToStart = 3

    /// Whether those can be had.
    private static var hasDescriptorsToStart: Bool {
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        while taken.count < descriptorsToStart {
            // The root folder is there whatever else is missing.
            let descriptor = open("/", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return false }
            taken.append(descriptor)
        }
        return true
    }

    /// The first argument, from 1, whose bytes are no text: `CommandLine.arguments` has other ones, and a file of that name
    /// would not be found, or be made under another name. `nil` if there is none.
    private static var unreadableArgument: Int? {
        (1..<max(Int(CommandLine.argc), 1)).first { number in
            CommandLine.unsafeArgv[number].map { String(validatingCString: $0) == nil } ?? false
        }
    }

    /// `RLIMIT_NOFILE`: how many the process may have.
    private static var descriptorLimit: Int {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? Int(clamping: limit.rlim_cur) : 0
    }

    /// Has the C library return the memory of each picture at once. Left alone it raises its threshold with the first
    /// picture that is freed, and then keeps some of them in every thread's arena.
    private static func giveBackPictures() { linux_return_blocks_from(1 << 20) }

    /// Lets the work go on on other threads; the process ends with it.
    private static func start(_ job: EncodeJob) {
        Task.detached { () async -> Void in leave(await job.run()) }
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

    /// Not by `exit`: threads of an encoder that hangs would be waited for, and drivers crash in their destructors.
    private static func leave(_ status: ExitStatus) -> Never {
        fflush(nil)
        _exit(status.rawValue)
    }

    private enum Preparation {
        case encode(EncodeJob)
        case tryAll(ExhaustiveProbe)
        case bench(BenchJob)
        case benchRun(BenchRunCommand)
        case done(ExitStatus)
    }

    /// Everything that is done on the first thread alone.
    private static func prepare(_ arguments: [String]) -> Preparation {
        do {
            try checkCommand(arguments)
            var command = try parseAsRoot(arguments)
            do { try DeviceOptions.checkEnvironment() } catch { throw ValidationError(error.readable) }
            switch command {
            case let command as EncodeCommand:
                let job = EncodeJob(command)
                startLogging(to: job.console)
                return .encode(job)
            case let command as BenchCommand:
                let job = BenchJob(command)
                startLogging(to: job.console)
                return .bench(job)
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

    private static let commandNames = configuration.subcommands.compactMap { $0.configuration.commandName }

    /// The parser takes a word that is no command for one too many, and blames the first option behind it.
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

    /// Prints what was asked for, as help is; or what is wrong with the command line.
    private static func report(_ error: any Error, _ arguments: [String]) -> ExitStatus {
        if exitCode(for: error) == .success {
            var text = fullMessage(for: error)
            while text.last?.isNewline == true { text.removeLast() }
            return Terminal.write(text + "\n", to: STDOUT_FILENO) ? .done : .failed
        }
        let text = message(for: error)
        let command = arguments.first.flatMap { commandNames.contains($0) ? "vatoolbox \($0)" : nil } ?? "vatoolbox"
        // Where the stream was to go to standard output, the document is all that goes to standard error.
        let isStreaming = writesToStandardOutput(arguments)
        let isDocument = arguments.contains("--json")
        if !isDocument || !isStreaming { Console(detail: .errors).error("\(text) (see \(command) --help)") }
        if isDocument {
            Terminal.write(JSON.usageFailure(text).text + "\n", to: isStreaming ? STDERR_FILENO : STDOUT_FILENO)
        }
        return .usage
    }

    /// Whether the output is `-`, as far as that can be told of arguments that are not understood.
    private static func writesToStandardOutput(_ arguments: [String]) -> Bool {
        if arguments.contains(where: { ["-o-", "-o=-", "--output=-"].contains($0) }) { return true }
        return zip(arguments, arguments.dropFirst()).contains { ["-o", "--output"].contains($0) && $1 == "-" }
    }

    private static func startLogging(to console: Console) {
        LoggingSystem.bootstrap { ConsoleLogHandler(label: $0, console: console) }
        if console.detail >= .everything { MediaLog.logger = Logger(label: "ffmpeg") }
    }
}
