// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CLinux
import CommandLineSupport
import FFmpegSupport
import Glibc
import Logging
import MediaTypes
import VAToolbox

/// The program `vatoolbox-live`, which `vatoolbox devices`, `record`, `stream` and `play` become.
@main
struct Live: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vatoolbox",
        abstract: "Record and stream cameras, screens, sound and files.",
        version: LibraryVersion.current,
        subcommands: [DevicesCommand.self, RecordCommand.self, StreamCommand.self, PlayCommand.self]
    )

    static func main() {
        Interruption.ignoreBrokenPipes()
        shareFreedMemory()
        do {
            var command = try parseAsRoot(Array(CommandLine.arguments.dropFirst()))
            switch command {
            case let command as RecordCommand: run(RecordJob(command))
            case let command as StreamCommand: run(try StreamJob.controlled(command))
            case let command as DevicesCommand: leave(command.list())
            case let command as PlayCommand: leave(refusing(command.play()))
            default:
                try command.run()
                leave(.done)
            }
        } catch {
            let status = exitCode(for: error)
            guard status == .success else {
                Console(detail: .errors).error(message(for: error))
                leave(.usage)
            }
            print(fullMessage(for: error))
            leave(.done)
        }
    }

    /// Lets every thread use what another one has freed.
    ///
    /// libsrt starts threads with buffers of megabytes for each connection. In an arena of its own, which such a thread
    /// gets by default, what it freed would stay reserved, and memory would grow with each reconnection until every arena
    /// had seen its largest connection.
    private static func shareFreedMemory() { linux_limit_arenas(2) }

    private static func run(_ job: some LiveJob) -> Never {
        let interruption = Interruption(also: job.signals)
        startLogging(to: job.base.console)
        Task.detached { () async -> Void in leave(await job.run()) }
        interruption.waitForEach { signal in
            guard !job.signals.contains(signal) else { return job.handle(signal: signal) }
            // After the key q, too, the first signal ends it at once.
            job.base.interrupt(before: job.base.wasInterrupted ? 1 : 0)
        }
    }

    /// Tells why a command cannot do its work.
    private static func refusing(_ error: MediaError) -> ExitStatus {
        let console = Console(detail: .errors)
        console.error(error.readable)
        console.remedies(error.remedies)
        return ExitStatus(error)
    }

    private static func startLogging(to console: Console) {
        LoggingSystem.bootstrap { ConsoleLogHandler(label: $0, console: console) }
    }

    /// Not with `exit`: it would wait for threads of a hung device or driver.
    private static func leave(_ status: ExitStatus) -> Never {
        fflush(nil)
        _exit(status.rawValue)
    }
}

/// A command that runs until it is interrupted.
protocol LiveJob: Sendable {
    /// The console, the document and the signals.
    var base: FileJob { get }
    /// Further signals that mean something.
    var signals: [Int32] { get }
    /// Handles one of them.
    func handle(signal: Int32)
    /// Runs to its end.
    func run() async -> ExitStatus
}

extension LiveJob {
    /// Does the work while keys are read, news are told, and the progress is shown.
    ///
    /// - Parameters:
    ///   - onKey: Handles a key, on a thread of its own.
    ///   - tell: Tells what is new: four times a second, whether or not progress is shown, and at the end.
    ///   - progress: Returns the present progress.
    ///   - work: The work.
    /// - Throws: As `FileJob.watching`.
    func attending<Result>(
        onKey: @escaping @Sendable (Character) -> Void,
        tell: @escaping @Sendable () -> Void,
        progress: @escaping @Sendable () -> any RunProgress,
        during work: () async throws(MediaError) -> Result
    ) async throws(MediaError) -> Result {
        let keys = Keys()
        base.atExit { keys?.restore() }
        keys?.start(onKey)
        defer { keys?.restore() }
        let telling = Task {
            while !Task.isCancelled {
                tell()
                try? await Task.sleep(for: .milliseconds(250))
            }
        }
        defer {
            telling.cancel()
            tell()
        }
        return try await base.watching(progress, during: work)
    }
}
