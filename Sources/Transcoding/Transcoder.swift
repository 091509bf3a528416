// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaIO
public import MediaTypes
import Synchronization
public import VAToolbox

/// Reads an input once and writes any number of outputs: encodes the video, copies or encodes the audio, and copies the
/// other tracks of each. Each instance can run once.
public final class Transcoder: Sendable {
    /// An event during a transcode, for display.
    public enum Notice: Sendable {
        /// The encoder was created and the transcode begins.
        case started(VideoTrack, EncoderDescription)
        /// An event of the session.
        case session(SessionEvent)
        /// An event of the session that decodes for all outputs; it is reported for the first one.
        case decoding(DecompressionEvent)
        /// An item that the output will lack.
        case omission(String)
        /// A quality was tried on samples, to find that of the target.
        case tried(QualityReport.Attempt, QualityTarget)
    }

    private let request: TranscodeRequest
    private let reader = MediaReader()
    private let pipelines: [OutputPipeline]
    /// The clean-up of outputs that have failed.
    private let discards = Mutex<[Task<Void, Never>]>([])
    /// Ends reading, and the wait for a reader of an output.
    private let cancellation = Cancellation()
    private let signals: Signals
    private let noteFailure: @Sendable (Int) -> Void
    private let notifyOutput: @Sendable (Int, Notice) -> Void
    /// The loudness of the input, when it is known, and until which time it is measured.
    private let measurement = Mutex<(levels: SoundLevels?, time: MediaTime?)>((nil, nil))
    /// How far the search for a quality is.
    private let search = Mutex<TranscodeProgress.Search?>(nil)
    /// What decodes the video.
    private let decoder = Mutex<JobDecoder?>(nil)
    /// The transcoder of the outputs that are encoded again.
    private let second = Mutex<Transcoder?>(nil)

    /// What the outputs and the transcoder tell each other from any thread.
    private final class Signals: Sendable {
        private let stopped = Atomic(false)
        private let started = Atomic(false)
        private let failed = Mutex<Set<Int>>([])
        /// Whether the transcode was stopped.
        var isStopped: Bool { stopped.load(ordering: .sequentiallyConsistent) }
        func stop() { stopped.store(true, ordering: .sequentiallyConsistent) }

        /// Registers the start; returns whether it is the first.
        func start() -> Bool { !started.exchange(true, ordering: .sequentiallyConsistent) }

        /// Registers an output that has failed, and returns their number.
        func noteFailure(of index: Int) -> Int {
            failed.withLock { failed in
                failed.insert(index)
                return failed.count
            }
        }
    }

    /// Makes a transcoder.
    ///
    /// - Parameters:
    ///   - request: The input, the outputs and the settings.
    ///   - notify: Receives notices of all outputs on any thread; must not block.
    public convenience init(_ request: TranscodeRequest, notify: @escaping @Sendable (Notice) -> Void = { _ in }) {
        self.init(request, notifyOutput: { _, notice in notify(notice) })
    }

    /// Makes a transcoder.
    ///
    /// - Parameters:
    ///   - request: The input, the outputs and the settings.
    ///   - notifyOutput: Receives the index of an output and a notice about it, on any thread; must not block.
    public init(_ request: TranscodeRequest, notifyOutput: @escaping @Sendable (Int, Notice) -> Void) {
        self.request = request
        self.notifyOutput = notifyOutput
        let signals = Signals()
        self.signals = signals
        let count = request.outputs.count
        let noteFailure = { @Sendable [cancellation] (index: Int) in
            // Without outputs, nothing needs to be read any more.
            if signals.noteFailure(of: index) == count { cancellation.cancel() }
        }
        self.noteFailure = noteFailure
        let context = OutputPipeline.Context(
            input: request.input,
            duration: request.source.duration,
            startsLater: request.source.start ?? .zero > .zero,
            isPaced: request.isPaced,
            logger: request.logger,
            cancellation: cancellation,
            isStopped: { signals.isStopped },
            stream: request.stream
        )
        pipelines = request.outputs.enumerated().map { index, output in
            OutputPipeline(
                output,
                number: index,
                context,
                failed: { noteFailure(index) },
                notify: { notifyOutput(index, $0) }
            )
        }
    }

    /// The present progress: that of the output with the most frames, because others may have failed. Safe on any thread.
    public var progress: TranscodeProgress {
        if let second = second.withLock({ $0 }) { return second.progress }
        let all = progressOfOutputs
        var progress = all.max { $0.framesIn < $1.framesIn } ?? TranscodeProgress()
        progress.bytesWritten = all.reduce(0) { $0 + $1.bytesWritten }
        let verified = all.compactMap { $0.verifiedTime?.seconds }
        if !verified.isEmpty {
            let mean = verified.reduce(0, +) / Double(all.count)
            progress.verifiedTime = MediaTime(seconds: mean, preferredTimescale: 1_000_000)
        }
        progress.measuredTime = measurement.withLock { $0.time }
        progress.search = search.withLock { $0 }
        return progress
    }

    /// The present progress of each output. Safe on any thread.
    public var progressOfOutputs: [TranscodeProgress] { pipelines.map(\.progress) }

    /// Ends the transcode as if the input ended here: the frames that were read are encoded, and the outputs are
    /// complete. Safe on any thread, at any time.
    public func stop() {
        signals.stop()
        cancellation.cancel()
        second.withLock { $0 }?.stop()
    }

    /// Runs the transcode. If the calling task is cancelled, it ends with `cancelled` and leaves no output.
    ///
    /// - Returns: The report of the first output.
    /// - Throws: The first error of input, encoder or output; then there is no file with the output's name. With several
    ///   outputs, the first error among them in the order of the request, after all have ended.
    public func run() async throws(MediaError) -> TranscodeReport {
        let results = try await runAll()
        for result in results { _ = try result.get() }
        return try results[0].get()
    }

    /// Runs the transcode. An output that fails leaves no file, and the others go on. If the calling task is cancelled,
    /// all end with `cancelled`. Variants of a presentation fail together: then there is only an error.
    ///
    /// - Returns: The report or the error of each output, in the order of the request.
    /// - Throws: The error of the input or of the request, or `cancelled`; then there is no output. `invalidState` for a
    ///   second run, which does not affect the first.
    public func runAll() async throws(MediaError) -> [Result<TranscodeReport, MediaError>] {
        guard signals.start() else { throw MediaError(.invalidState, "a transcoder can run only once") }
        let result = await withTaskCancellationHandler {
            await Self.result { () async throws(MediaError) in try await transcode() }
        } onCancel: {
            cancellation.cancel()
            decoder.withLock { $0 }?.cancel()
            for pipeline in pipelines { pipeline.abandon() }
        }
        decoder.withLock { $0 }?.cancel()
        if case .failure = result { for pipeline in pipelines { await pipeline.discard() } }
        for discard in discards.withLock({ $0 }) { await discard.value }
        await reader.close()
        return try await encodingAgain(result)
    }

    /// Searches the qualities of outputs that have a ``QualityTarget``, and writes nothing.
    ///
    /// - Returns: The prediction or the error of each output, in the order of the request.
    /// - Throws: The error of the input or of the request, `cancelled`; `invalidArgument` for an output without a
    ///   target; `invalidState` for a second run.
    public func predictAll() async throws(MediaError) -> [Result<QualityPrediction, MediaError>] {
        guard signals.start() else { throw MediaError(.invalidState, "a transcoder can run only once") }
        let result = await withTaskCancellationHandler {
            await Self.result { () async throws(MediaError) in try await predict() }
        } onCancel: {
            cancellation.cancel()
        }
        await reader.close()
        return try result.get()
    }

    private func predict() async throws(MediaError) -> [Result<QualityPrediction, MediaError>] {
        try request.validate()
        if let output = request.outputs.first(where: { $0.target == nil }) {
            throw MediaError(.invalidArgument, "only an output with a quality target is predicted", given: output.path)
        }
        let contents = try await reader.open(request.input, request.demandedSource, request.logger, cancellation)
        var results: [Result<QualityPrediction, MediaError>] = []
        for (index, output) in request.outputs.enumerated() {
            let result = await Self.result { () async throws(MediaError) in try await findQuality(of: index, contents) }
            if Task.isCancelled || signals.isStopped { _ = try result.get() }
            results.append(
                result.flatMap { report in
                    let missing = MediaError(.invalidState, "the output has no quality target", given: output.path)
                    guard let report else { return .failure(missing) }
                    return .success(QualityPrediction(path: output.path, report: report))
                }
            )
        }
        return results
    }

    /// Returns the quality with which an output reaches its target; `nil` if it has none.
    private func findQuality(
        of index: Int,
        _ contents: MediaReader.Contents
    ) async throws(MediaError) -> QualityReport? {
        let output = request.outputs[index]
        guard let target = output.target else { return nil }
        let finder = QualityFinder(
            target: target,
            output: output,
            video: contents.video,
            input: InputSampleReader.Input(
                path: request.input,
                options: request.demandedSource,
                frameRate: output.video.frameRate,
                regions: try output.video.regions(in: contents.video).0,
                logger: request.logger,
                cancellation: cancellation
            ),
            segmentKeyFrames: request.stream?.keyFrameDuration?.seconds,
            judge: output.judge,
            progress: { [self] state in search.withLock { $0 = state } },
            tell: { [notifyOutput] attempt in notifyOutput(index, .tried(attempt, target)) }
        )
        return try await finder.find()
    }

    /// Encodes the outputs again whose encoders were replaced and that do not allow it, and all variants of a presentation
    /// together.
    ///
    /// - Parameter result: The result of the first run.
    private func encodingAgain(
        _ result: Result<[Result<TranscodeReport, MediaError>], MediaError>
    ) async throws(MediaError) -> [Result<TranscodeReport, MediaError>] {
        var indices: [Int] = []
        for (index, pipeline) in pipelines.enumerated() where await pipeline.mustRestart { indices.append(index) }
        guard !indices.isEmpty, !Task.isCancelled, !signals.isStopped else { return try result.get() }
        let reason = Adjustment(
            property: "encoder",
            requested: "one encoder for the whole output",
            used: "software, from the beginning",
            reason: "another encoder took over"
        )
        if request.stream != nil { indices = Array(pipelines.indices) }
        var again = request
        again.levels = measurement.withLock { $0.levels }
        let outputs = indices.map { index in
            notifyOutput(index, .session(.adjusted(reason)))
            var output = request.outputs[index]
            output.session.policy = .requireSoftware
            output.encoderChange = .continues
            return output
        }
        (again.first, again.others) = (outputs[0], Array(outputs.dropFirst()))
        let transcoder = Transcoder(again) { [notifyOutput, indices] in notifyOutput(indices[$0], $1) }
        second.withLock { $0 = transcoder }
        if signals.isStopped { transcoder.stop() }
        let repeated = try await transcoder.runAll().map { result in
            result.map { report in
                var report = report
                report.adjustments.append(reason)
                return report
            }
        }
        if request.stream != nil { return repeated }
        var results = try result.get()
        for (index, result) in zip(indices, repeated) { results[index] = result }
        return results
    }

    private static func result<Value>(
        _ body: () async throws(MediaError) -> Value
    ) async -> Result<Value, MediaError> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    private func transcode() async throws(MediaError) -> [Result<TranscodeReport, MediaError>] {
        try request.validate()
        var contents = try await reader.open(request.input, request.demandedSource, request.logger, cancellation)
        contents.levels = try await levels(of: contents)
        let (regions, _) = try request.video.regions(in: contents.video)
        var failures: [Int: MediaError] = [:]
        var qualities: [Int: QualityReport] = [:]
        for index in pipelines.indices {
            do throws(MediaError) {
                qualities[index] = try await findQuality(of: index, contents)
            } catch {
                try await note(error, of: index, in: &failures)
            }
        }
        if failures.count == pipelines.count {
            return pipelines.indices.compactMap { index in failures[index].map { .failure($0) } }
        }
        let folder = try await makeFolder()
        let plan = try DecoderPlan(request, contents)
        for (index, pipeline) in pipelines.enumerated() where failures[index] == nil {
            do throws(MediaError) {
                try await pipeline.prepare(contents, plan, folder: folder, quality: qualities[index])
            } catch {
                try await note(error, of: index, in: &failures)
            }
        }
        try await chooseDecoder(plan)
        if pipelines.count == 1, await pipelines[0].copiesPictures { await reader.leavePicturesInFile() }

        while failures.count < pipelines.count {
            let events = try await nextEvents(&failures)
            if events.isEmpty { break }
            if !regions.isEmpty {
                for case .frame(let frame) in events { frame.buffer.attachments.regionsOfInterest = regions }
            }
            try await forEach(&failures) { (pipeline, _) async throws(MediaError) in try await pipeline.take(events) }
        }
        try await forEach(&failures) { (pipeline, _) async throws(MediaError) in try await pipeline.encodeRest() }
        // All outputs are complete now, so a cancellation leaves either all of them or none.
        if Task.isCancelled { throw MediaError(.cancelled, "the call was cancelled") }
        let problems = await reader.problems
        guard let decoding = await decoder.withLock({ $0 })?.report else {
            throw MediaError(.invalidState, "the transcode has no decoder")
        }
        let reports = Mutex<[Int: TranscodeReport]>([:])
        try await forEach(&failures) { (pipeline, index) async throws(MediaError) in
            let report = try await pipeline.commit(problems, decoding)
            reports.withLock { $0[index] = report }
        }
        if let folder { try await publish(folder, reports) }
        return pipelines.indices.map { index in
            let missing = MediaError(.invalidState, "the output has no report", given: pipelines[index].request.path)
            return reports.withLock { $0[index] }.map { .success($0) } ?? .failure(failures[index] ?? missing)
        }
    }

    /// Chooses what decodes the video, now that the encoders are known.
    private func chooseDecoder(_ plan: DecoderPlan) async throws(MediaError) {
        var encoders: [EncoderDescription] = []
        for pipeline in pipelines { if let encoder = await pipeline.encoder { encoders.append(encoder) } }
        let chosen = try await plan.makeDecoder(for: encoders) { [notifyOutput] in notifyOutput(0, .decoding($0)) }
        decoder.withLock { $0 = chosen }
        if Task.isCancelled { chosen.cancel() }
        try await chosen.attach(to: reader)
    }

    /// Returns the loudness of the tracks that an output normalizes.
    private func levels(of contents: MediaReader.Contents) async throws(MediaError) -> SoundLevels? {
        let levels = try await request.measuredLevels(of: contents, cancellation) { [self] time in
            measurement.withLock { $0.time = time }
        }
        measurement.withLock { $0.levels = levels }
        return levels
    }

    /// Creates the folder of a presentation; `nil` if the outputs are files.
    private func makeFolder() async throws(MediaError) -> StreamFolder? {
        guard let stream = request.stream else { return nil }
        return try await onDisk { () throws(MediaError) in try StreamFolder(stream) }
    }

    /// Runs what writes and deletes files, on a thread that it may block. A cancellation waits for it, so that nothing is
    /// left half done.
    private func onDisk<Value: Sendable>(
        _ body: @escaping @Sendable () throws(MediaError) -> Value
    ) async throws(MediaError) -> Value {
        let work = Task {
            await Self.result { () async throws(MediaError) in
                try await PlainThread.result(name: "vt-publish", body)
            }
        }
        return try await work.value.get()
    }

    /// Publishes a presentation, and adds it to the reports of its variants.
    private func publish(_ folder: StreamFolder, _ reports: borrowing Mutex<[Int: TranscodeReport]>)
        async throws(MediaError)
    {
        var facts: [Presentation.VariantFacts] = []
        for pipeline in pipelines { facts.append(await pipeline.variantFacts) }
        let presentation = try folder.presentation(facts)
        try await onDisk { () throws(MediaError) in try folder.write(presentation) }
        for (index, pipeline) in pipelines.enumerated() where pipeline.request.isVerified {
            let path = try await onDisk { () throws(MediaError) in
                try folder.writePlaylist(of: presentation, variant: index)
            }
            let result = try await pipeline.verify(path)
            reports.withLock { reports in
                reports[index]?.verification = result
                guard let score = result.score else { return }
                reports[index]?.quality?.outcome?.score = score.value
                reports[index]?.quality?.outcome?.pictureCount = score.pictureCount
            }
        }
        try await onDisk { () throws(MediaError) in try folder.publish(presentation) }
        reports.withLock { reports in
            for index in reports.keys { reports[index]?.stream = presentation.report }
        }
    }

    /// Calls `body` with all outputs that have not failed, at the same time.
    ///
    /// - Throws: `cancelled`, if the transcode was.
    private func forEach(
        _ failures: inout [Int: MediaError],
        _ body: @escaping @Sendable (OutputPipeline, Int) async throws(MediaError) -> Void
    ) async throws(MediaError) {
        let running = pipelines.indices.filter { failures[$0] == nil }
        if running.isEmpty { return }
        if running.count == 1 {
            do throws(MediaError) {
                try await body(pipelines[running[0]], running[0])
            } catch {
                try await note(error, of: running[0], in: &failures)
            }
            return
        }
        let errors = await withTaskGroup(of: (Int, MediaError?).self) { group in
            for index in running {
                group.addTask { [pipelines] in
                    do throws(MediaError) {
                        try await body(pipelines[index], index)
                        return (index, nil)
                    } catch {
                        return (index, error)
                    }
                }
            }
            var errors: [(Int, MediaError)] = []
            for await (index, error) in group { if let error { errors.append((index, error)) } }
            return errors
        }
        for (index, error) in errors { try await note(error, of: index, in: &failures) }
    }

    /// Registers the failure of an output, and discards it.
    ///
    /// - Throws: The error, if the transcode was cancelled.
    private func note(_ error: MediaError, of index: Int, in failures: inout [Int: MediaError]) async throws(MediaError)
    {
        failures[index] = error
        noteFailure(index)
        if Task.isCancelled || request.stream != nil { throw error }
        // The others do not wait until a hung encoder is given up.
        discards.withLock { $0.append(Task { [pipelines] in await pipelines[index].discard() }) }
    }

    /// Returns the next events; after a stop, those that the decoder still holds. If reading ended because no output can
    /// be written any more, returns none and registers the errors of the outputs.
    private func nextEvents(_ failures: inout [Int: MediaError]) async throws(MediaError) -> [MediaSource.Event] {
        if !signals.isStopped {
            do {
                return try await reader.next()
            } catch {
                guard error.code == .cancelled, !Task.isCancelled else { throw error }
                if !signals.isStopped {
                    for (index, pipeline) in pipelines.enumerated() where failures[index] == nil {
                        try await note(await pipeline.writingError ?? error, of: index, in: &failures)
                    }
                    return []
                }
            }
        }
        await reader.endInput()
        return try await reader.next()
    }
}
