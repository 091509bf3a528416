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
    /// The options of each output; several share the input.
    private let commands: [EncodeCommand]
    private let report: ReportArguments
    private let state = Mutex(State())
    /// The console for messages.
    let console: Console

    private struct State {
        var transcoder: Transcoder?
        var narrator: EncodeNarrator?
        var wasInterrupted = false
    }

    /// - Parameter commands: The options of each output, at least one.
    init(_ commands: [EncodeCommand]) {
        self.commands = commands
        report = ReportArguments(merging: commands.map(\.report))
        console = Console(detail: report.detail(usesStandardOutput: commands.contains(where: \.usesStandardOutput)))
    }

    /// Runs the encode and reports the result.
    func run() async -> ExitStatus {
        let clock = SuspendingClock()
        let start = clock.now
        do throws(MediaError) {
            let (request, encoders) = try commands.request(inputIsLive: !Self.isRegularFile(commands[0].input))
            if let stream = request.stream {
                try stream.validate()
            } else {
                for output in request.outputs { try MediaSink.validate(path: output.path, options: output.sink) }
            }
            let isSingle = commands.count == 1 && commands[0].ladder.ladder == nil && request.stream == nil
            let narrators = zip(request.outputs, encoders).map { output, encoder in
                EncodeNarrator(
                    console: console,
                    name: request.others.isEmpty ? nil : output.path,
                    policy: output.session.policy,
                    arguments: encoder
                )
            }
            let transcoder = Transcoder(request, notifyOutput: { narrators[$0].tell($1) })
            begin(transcoder, narrators[0])
            let results = try await console.watching { elapsed, width in
                ProgressLine(progress: transcoder.progress, elapsed: elapsed).text(width: width)
            } during: { () async throws(MediaError) in
                try await transcoder.runAll()
            }
            if isSingle { _ = try results[0].get() }
            let elapsed = (clock.now - start).seconds
            var (documents, statuses): ([JSON], [ExitStatus]) = ([], [])
            for (index, result) in results.enumerated() {
                let (document, status) = tell(result, of: request, index, narrators[index], elapsed: elapsed)
                documents.append(document)
                statuses.append(status)
            }
            if isSingle { return deliver(documents[0]) ? statuses[0] : .failed }
            let status = statuses.max { $0.severity < $1.severity } ?? .failed
            let stream = results.lazy.compactMap { try? $0.get().stream }.first
            if let stream { console.summary(stream.summary(width: console.width)) }
            return deliver(JSON.outputs(documents, status, stream: stream)) ? status : .failed
        } catch {
            // If reading ended before the first picture, nothing else has failed.
            let isOfInterruption = error.code == .cancelled || error.code == .malformedData
            let status = wasInterrupted && isOfInterruption ? .interrupted : ExitStatus(error)
            let narrator = state.withLock { $0.narrator }
            narrator?.tellFailures()
            if !(report.json && usesStandardOutput) {
                console.error(error.readable)
                console.remedies(error.remedies)
            }
            return deliver(.failure(error, status, switches: narrator?.switches ?? [])) ? status : .failed
        }
    }

    /// Reports the result of one output.
    private func tell(
        _ result: Result<TranscodeReport, MediaError>,
        of request: TranscodeRequest,
        _ index: Int,
        _ narrator: EncodeNarrator,
        elapsed: Double
    ) -> (JSON, ExitStatus) {
        let output = request.outputs[index]
        switch result {
        case .success(let report):
            let outcome = EncodeOutcome(
                input: request.input,
                request: output,
                report: report,
                elapsed: elapsed,
                wasInterrupted: wasInterrupted
            )
            narrator.finish(outcome)
            return (outcome.document, outcome.status)
        case .failure(let error):
            narrator.tellFailures()
            console.error("\(output.path): \(error.readable)")
            console.remedies(error.remedies)
            let status: ExitStatus = wasInterrupted && error.code == .cancelled ? .interrupted : ExitStatus(error)
            return (.failure(error, status, path: output.path, switches: narrator.switches), status)
        }
    }

    /// Prints the document if it was requested.
    ///
    /// - Returns: Whether it was printed, or not requested.
    private func deliver(_ document: @autoclosure () -> JSON) -> Bool {
        guard report.json else { return true }
        let descriptor = usesStandardOutput ? STDERR_FILENO : STDOUT_FILENO
        if Terminal.write(document().text + "\n", to: descriptor) { return true }
        if !usesStandardOutput { console.error("the JSON document cannot be written to standard output") }
        return false
    }

    /// Handles a signal: the first one ends the reading, so that the output is completed; the second one ends the
    /// process. Safe on any thread.
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
        // The reader of standard error may have stopped, and the next signal must not wait for it.
        let isTold = DispatchSemaphore(value: 0)
        DispatchQueue.global().async { [console] in
            console.note("interrupted: finishing the frames that were read; interrupt again to exit at once")
            isTold.signal()
        }
        _ = isTold.wait(timeout: .now() + 1)
    }

    private var usesStandardOutput: Bool { commands.contains(where: \.usesStandardOutput) }

    private var wasInterrupted: Bool { state.withLock { $0.wasInterrupted } }

    private func begin(_ transcoder: Transcoder, _ narrator: EncodeNarrator) {
        let wasInterrupted = state.withLock { state in
            state.transcoder = transcoder
            state.narrator = narrator
            return state.wasInterrupted
        }
        if wasInterrupted { transcoder.stop() }
    }

    private static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        let code = path == "-" ? fstat(STDIN_FILENO, &status) : stat(path, &status)
        return code == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}

extension EncodeCommand {
    /// Whether the video is written to standard output, which then contains nothing else.
    var usesStandardOutput: Bool { output.output == ContainerFormat.standardOutput }
}

extension ReportArguments {
    /// Returns what applies to several outputs: each flag counts wherever it stands.
    init(merging all: [ReportArguments]) {
        self.init()
        json = all.contains(where: \.json)
        quiet = all.contains(where: \.quiet)
        verbose = all.contains(where: \.verbose)
    }

    /// Returns the level of detail on standard error. With a JSON document, the document contains all notes.
    func detail(usesStandardOutput: Bool) -> Console.Detail {
        if json { return usesStandardOutput ? .errors : quiet ? .errors : .warnings }
        if verbose { return .everything }
        return quiet ? .warnings : .notes
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
