// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
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
    private let narrator = Mutex<EncodeNarrator?>(nil)
    /// The console, the document and the signals.
    let base: FileJob

    private var console: Console { base.console }

    /// - Parameter commands: The options of each output, at least one.
    init(_ commands: [EncodeCommand]) {
        self.commands = commands
        base = FileJob(
            commands.map(\.report),
            usesStandardOutput: commands.contains { $0.output.output == ContainerFormat.standardOutput },
            ending: commands[0].chunks.checkpoints == nil
                ? "finishing the frames that were read" : "keeping the chunks that are finished"
        )
    }

    /// Runs the encode and reports the result.
    func run() async -> ExitStatus {
        let clock = SuspendingClock()
        let start = clock.now
        do throws(MediaError) {
            let (request, encoders) = try commands.request(inputIsLive: !Self.isRegularFile(commands[0].input))
            let isPrediction = try commands.isPrediction
            if let stream = request.stream {
                try stream.validate()
            } else if !isPrediction {
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
            narrator.withLock { $0 = narrators[0] }
            let chunks = try commands[0].chunks.options()
            if isPrediction {
                if chunks != nil { throw contradiction("--target-only", "--checkpoints") }
                let transcoder = Transcoder(request, notifyOutput: { narrators[$0].tell($1) })
                base.begin { transcoder.stop() }
                return try await predict(request, transcoder, isSingle: isSingle, clock, start)
            }
            let transcoder: any OutputEncoder
            if let chunks {
                let chunked = ChunkedTranscoder(request, chunks, notify: { narrators[0].tell($0) })
                if let part = try commands[0].chunks.onlyChunks?.value(of: "--only-chunks") {
                    return try await finish(part, request, chunked, clock, start)
                }
                transcoder = chunked
            } else {
                transcoder = Transcoder(request, notifyOutput: { narrators[$0].tell($1) })
            }
            base.begin { transcoder.stop() }
            let results = try await base.watching {
                transcoder.progress
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
            if isSingle { return base.deliver(documents[0], statuses[0]) }
            let status = statuses.max { $0.severity < $1.severity } ?? .failed
            let stream = results.lazy.compactMap { try? $0.get().stream }.first
            if let stream { console.summary(stream.summary(width: console.width)) }
            return base.deliver(JSON.outputs(documents, status, stream: stream), status)
        } catch {
            let narrator = narrator.withLock { $0 }
            narrator?.tellFailures()
            return base.fail(error, switches: narrator?.switches ?? [])
        }
    }

    /// Reports which qualities reach the targets, without an output.
    private func predict(
        _ request: TranscodeRequest,
        _ transcoder: Transcoder,
        isSingle: Bool,
        _ clock: SuspendingClock,
        _ start: SuspendingClock.Instant
    ) async throws(MediaError) -> ExitStatus {
        let results = try await base.watching {
            transcoder.progress
        } during: { () async throws(MediaError) in
            try await transcoder.predictAll()
        }
        if isSingle { _ = try results[0].get() }
        let elapsed = (clock.now - start).seconds
        var (documents, statuses): ([JSON], [ExitStatus]) = ([], [])
        for (output, result) in zip(request.outputs, results) {
            switch result {
            case .success(let prediction):
                console.summary(prediction.summary(width: console.width))
                documents.append(prediction.document(.done, input: request.input, elapsed: elapsed))
                statuses.append(.done)
            case .failure(let error):
                let (document, status) = tell(error, of: output.path, switches: [])
                documents.append(document)
                statuses.append(status)
            }
        }
        if isSingle { return base.deliver(documents[0], statuses[0]) }
        let status = statuses.max { $0.severity < $1.severity } ?? .failed
        return base.deliver(JSON.outputs(documents, status, stream: nil), status)
    }

    /// Finishes some of the chunks, without an output.
    private func finish(
        _ part: ChunkPart,
        _ request: TranscodeRequest,
        _ transcoder: ChunkedTranscoder,
        _ clock: SuspendingClock,
        _ start: SuspendingClock.Instant
    ) async throws(MediaError) -> ExitStatus {
        base.begin { transcoder.stop() }
        let summary = try await base.watching {
            transcoder.progress
        } during: { () async throws(MediaError) in
            try await transcoder.run(part)
        }
        var page = TextPage(width: console.width)
        let all = Readable.count(summary.count, "chunk")
        page.entry("chunks", "part \(part) of \(all), \(summary.reused) of them finished before")
        console.summary(page.text)
        let document = JSON.object([
            "status": .string(ExitStatus.done.name),
            "exitStatus": .integer(Int(ExitStatus.done.rawValue)),
            "input": .object(["path": .string(request.input)]),
            "chunks": summary.document,
            "wallTime": .number((clock.now - start).seconds),
        ])
        return base.deliver(document, .done)
    }

    /// Reports the failure of one of several outputs.
    private func tell(_ error: MediaError, of path: String, switches: [EncoderSwitch]) -> (JSON, ExitStatus) {
        console.error("\(path): \(error.readable)")
        console.remedies(error.remedies)
        let status: ExitStatus = base.wasInterrupted && error.code == .cancelled ? .interrupted : ExitStatus(error)
        return (.failure(error, status, path: path, switches: switches), status)
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
                wasInterrupted: base.wasInterrupted
            )
            narrator.finish(outcome)
            return (outcome.document, outcome.status)
        case .failure(let error):
            narrator.tellFailures()
            return tell(error, of: output.path, switches: narrator.switches)
        }
    }

    private static func isRegularFile(_ path: String) -> Bool {
        var status = stat()
        let code = path == "-" ? fstat(STDIN_FILENO, &status) : stat(path, &status)
        return code == 0 && status.st_mode & S_IFMT == S_IFREG
    }
}

/// What encodes the outputs of a command.
private protocol OutputEncoder: Sendable {
    var progress: TranscodeProgress { get }
    func stop()
    func runAll() async throws(MediaError) -> [Result<TranscodeReport, MediaError>]
}

extension Transcoder: OutputEncoder {}

extension ChunkedTranscoder: OutputEncoder {
    fileprivate func runAll() async throws(MediaError) -> [Result<TranscodeReport, MediaError>] {
        [.success(try await run())]
    }
}
