// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import Glibc
import MediaIO
import MediaTypes
import Synchronization
import Transcoding
import VAToolbox

/// One run of `vatoolbox encode`, from the command line to the exit status.
final class EncodeJob: Sendable {
    private let command: EncodeCommand
    private let state = Mutex(State())
    /// Where it tells what happens.
    let console: Console

    private struct State {
        var transcoder: Transcoder?
        var narrator: EncodeNarrator?
        var wasInterrupted = false
    }

    init(_ command: EncodeCommand) {
        self.command = command
        console = Console(detail: command.detail)
    }

    /// Does the work and tells what came of it.
    func run() async -> ExitStatus {
        let clock = SuspendingClock()
        let start = clock.now
        do throws(MediaError) {
            let request = try command.request(inputIsLive: !Self.isRegularFile(command.input))
            try MediaSink.validate(path: request.output, options: request.sink)
            let narrator = EncodeNarrator(
                console: console,
                policy: request.session.policy,
                arguments: command.encoder
            )
            let transcoder = Transcoder(request) { narrator.tell($0) }
            begin(transcoder, narrator)
            let report = try await watching(transcoder) { () async throws(MediaError) in try await transcoder.run() }
            let outcome = EncodeOutcome(
                request: request,
                report: report,
                elapsed: (clock.now - start).seconds,
                wasInterrupted: wasInterrupted
            )
            narrator.finish(outcome)
            return deliver(outcome.document) ? outcome.status : .failed
        } catch {
            // Where reading ended before there was a picture, nothing else has failed.
            let isOfInterruption = error.code == .cancelled || error.code == .malformedData
            let status = wasInterrupted && isOfInterruption ? .interrupted : ExitStatus(error)
            let narrator = state.withLock { $0.narrator }
            narrator?.tellFailures()
            if !(command.report.json && command.usesStandardOutput) {
                console.error(error.readable)
                console.remedies(error.remedies)
            }
            return deliver(.failure(error, status, switches: narrator?.switches ?? [])) ? status : .failed
        }
    }

    /// Prints the document if one is wanted.
    ///
    /// - Returns: Whether whoever wanted it has it.
    private func deliver(_ document: @autoclosure () -> JSON) -> Bool {
        guard command.report.json else { return true }
        let descriptor = command.usesStandardOutput ? STDERR_FILENO : STDOUT_FILENO
        if Terminal.write(document().text + "\n", to: descriptor) { return true }
        if !command.usesStandardOutput { console.error("the JSON document cannot be written to standard output") }
        return false
    }

    /// What a signal leads to: the first one ends the reading, so that the output is closed in good order; the second
    /// one ends the process. Safe on any thread.
    func interrupt(before: Int) {
        if before > 0 {
            MediaSink.discardUnfinishedOutputs()
            _exit(ExitStatus.interrupted.rawValue)
        }
        let transcoder = state.withLock { state in
            state.wasInterrupted = true
            return state.transcoder
        }
        transcoder?.stop()
        // Whoever reads standard error may have stopped to, and the next signal must not wait for that.
        let isTold = DispatchSemaphore(value: 0)
        DispatchQueue.global().async { [console] in
            console.note("interrupted: finishing the frames that were read; interrupt again to exit at once")
            isTold.signal()
        }
        _ = isTold.wait(timeout: .now() + 1)
    }

    private var wasInterrupted: Bool { state.withLock { $0.wasInterrupted } }

    private func begin(_ transcoder: Transcoder, _ narrator: EncodeNarrator) {
        let wasInterrupted = state.withLock { state in
            state.transcoder = transcoder
            state.narrator = narrator
            return state.wasInterrupted
        }
        if wasInterrupted { transcoder.stop() }
    }

    /// Shows a line of progress four times a second while the work goes on.
    private func watching<Result>(
        _ transcoder: Transcoder,
        _ work: () async throws(MediaError) -> Result
    ) async throws(MediaError) -> Result {
        guard console.showsProgress else { return try await work() }
        let console = console
        let display = Task {
            let clock = SuspendingClock()
            let start = clock.now
            while !Task.isCancelled {
                let line = ProgressLine(progress: transcoder.progress, elapsed: (clock.now - start).seconds)
                console.showProgress(line.text(width: console.width))
                try? await clock.sleep(for: .milliseconds(250))
            }
        }
        do {
            let result = try await work()
            display.cancel()
            await display.value
            console.showProgress("")
            return result
        } catch {
            display.cancel()
            await display.value
            console.showProgress("")
            throw error
        }
    }

    private static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        let code = path == "-" ? fstat(STDIN_FILENO, &status) : stat(path, &status)
        return code == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}

extension EncodeCommand {
    /// Whether the video goes to standard output, which then carries nothing else.
    var usesStandardOutput: Bool { output.output == ContainerFormat.standardOutput }

    /// How much is said on standard error. With a document for programs, that says all there is to note.
    var detail: Console.Detail {
        if report.json { return usesStandardOutput ? .errors : report.quiet ? .errors : .warnings }
        if report.verbose { return .everything }
        return report.quiet ? .warnings : .notes
    }
}

extension Duration {
    /// The length in seconds.
    var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
