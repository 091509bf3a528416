// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaIO
public import MediaTypes
import Synchronization
import VAToolbox

/// Encodes one output in chunks that are kept in a folder until all are there, so that a run that was interrupted, by a
/// signal, a crash or a power failure, continues where it was. Each instance can run once.
///
/// The video is divided into chunks that are encoded on their own, by as many encoders at a time as the options say, and
/// then written one after another without encoding them again. All chunks have the same parameter sets, so they form one
/// stream, with a key frame at the beginning of each chunk. Audio, subtitles, chapters and metadata are written in one
/// piece at the end.
///
/// An input whose pictures cannot be told without decoding it, such as one that is damaged or interlaced, is encoded in
/// one piece; the report says why.
public final class ChunkedTranscoder: Sendable {
    private let request: TranscodeRequest
    private let options: ChunkOptions
    private let notify: @Sendable (Transcoder.Notice) -> Void
    private let state = Mutex(State())
    /// Ends reading and writing of what is no chunk.
    private let cancellation = Cancellation()

    private struct State {
        var hasStarted = false
        var isStopped = false
        /// Cancels what runs, for ``ChunkedTranscoder/stop()``.
        var cancelWork: (@Sendable () -> Void)?
        /// The transcoder of the input in one piece.
        var whole: Transcoder?
        var running: [Int: Transcoder] = [:]
        var records: [Int: ChunkRecord] = [:]
        var plan: ChunkPlan?
        /// The chunks that are to be finished.
        var wanted: [Int] = []
        /// The bytes of the input and of finished chunks that were read to find what is missing; `nil` after that.
        var examined: Int64? = 0
        /// The time up to which the loudness was measured, as long as it is measured.
        var measured: MediaTime?
        /// What writes the output, and the time up to which it was verified.
        var writer: MediaWriter?
        var verified: MediaTime?
        var hasTold = false
        var adjustments: [Adjustment] = []
        var switches: [EncoderSwitch] = []
        var decoding: DecodingReport?
        var statistics = SessionStatistics()
        var reused = 0
        var repeated = 0
        /// The number of finished chunks, and of all that are wanted; `nil` before they are planned.
        var keptChunks: (finished: Int, all: Int)? {
            plan == nil ? nil : (records.count, wanted.count)
        }
    }

    /// Makes a transcoder.
    ///
    /// - Parameters:
    ///   - request: The input, the only output and the settings.
    ///   - options: The chunks.
    ///   - notify: Receives notices on any thread; must not block.
    public init(
        _ request: TranscodeRequest,
        _ options: ChunkOptions,
        notify: @escaping @Sendable (Transcoder.Notice) -> Void = { _ in }
    ) {
        self.request = request
        self.options = options
        self.notify = notify
    }

    /// The present progress. Safe on any thread.
    public var progress: TranscodeProgress {
        state.withLock { state in
            if let whole = state.whole { return whole.progress }
            var progress = TranscodeProgress()
            if let examined = state.examined { progress.examinedBytes = examined }
            // Before the first sample is written, as in an encode without chunks.
            progress.measuredTime = state.measured
            guard let plan = state.plan, state.measured == nil else { return progress }
            progress.verifiedTime = state.verified
            progress.bytesWritten = state.writer?.written.count ?? 0
            for record in state.records.values {
                progress.framesOut += record.samples.count
                progress.bytesOut += record.samples.reduce(0) { $0 + $1.byteCount }
                progress.framesIn += record.samples.count
            }
            for transcoder in state.running.values {
                let part = transcoder.progress
                progress.framesIn += part.framesIn
                progress.framesOut += part.framesOut
                progress.bytesOut += part.bytesOut
                progress.device = progress.device ?? part.device
            }
            let expected = state.wanted.reduce(0) { $0 + plan.chunks[$1].count }
            progress.expectedFrames = expected
            let whole = (plan.index.end - plan.index.frames[0].presentationTime).seconds
            func duration(of frames: Int) -> MediaTime {
                let share = Double(min(frames, expected)) / Double(plan.index.frames.count)
                return MediaTime(seconds: whole * share, preferredTimescale: 1_000_000)
            }
            progress.expectedDuration = duration(of: expected)
            progress.time = duration(of: progress.framesIn)
            return progress
        }
    }

    /// Ends the work; the chunks that are finished are kept for the next run. If the input is encoded in one piece, it ends as
    /// with ``Transcoder/stop()``. Safe on any thread, at any time.
    public func stop() {
        let (cancelWork, whole) = state.withLock { state in
            state.isStopped = true
            return (state.cancelWork, state.whole)
        }
        if let whole { return whole.stop() }
        cancelWork?()
        cancellation.cancel()
    }

    /// Runs the transcode. If the calling task is cancelled, it ends as with ``stop()``, but leaves no output in any case.
    ///
    /// - Throws: As ``Transcoder/run()``; `invalidArgument` for a request that cannot be encoded in chunks, and for a folder
    ///   of another encode; `busy` if another process uses the folder; `cancelled`, with the number of finished chunks.
    public func run() async throws(MediaError) -> TranscodeReport {
        try await attend { [self] () async throws(MediaError) in try await transcode() }
    }

    /// Finishes the chunks of a part and writes no output, while other processes finish those of the other parts, on this
    /// or other machines that share the folder. When all are done, ``run()`` finds all chunks finished.
    ///
    /// If the input cannot be encoded in chunks, it does nothing, and says why in a notice.
    ///
    /// - Returns: The number of all chunks, 0 if the input cannot be encoded in chunks, and of those of the part that were
    ///   finished before.
    /// - Throws: As ``run()``.
    public func run(_ part: ChunkPart) async throws(MediaError) -> ChunkSummary {
        try await attend { [self] () async throws(MediaError) in try await encode(part) }
    }

    /// Runs the work so that it can be stopped.
    private func attend<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(MediaError) -> Value
    ) async throws(MediaError) -> Value {
        let isFirst = state.withLock { state in
            defer { state.hasStarted = true }
            return !state.hasStarted
        }
        guard isFirst else { throw MediaError(.invalidState, "a transcoder can run only once") }
        let work = Task { () async -> Result<Value, MediaError> in
            do throws(MediaError) { return .success(try await body()) } catch { return .failure(error) }
        }
        let isStopped = state.withLock { state in
            state.cancelWork = { work.cancel() }
            return state.isStopped
        }
        if isStopped { stop() }
        let result = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
            cancellation.cancel()
        }
        do throws(MediaError) {
            return try result.get()
        } catch {
            guard error.code == .cancelled, let kept = state.withLock({ $0.keptChunks }) else { throw error }
            throw MediaError(
                .cancelled,
                "stopped with \(kept.finished) of \(kept.all) chunks finished; they are kept for the next run",
                given: options.folder
            )
        }
    }

    // MARK: - Course

    private func transcode() async throws(MediaError) -> TranscodeReport {
        let plan: Preparation
        switch try await prepare(nil) {
        case .failure(let error): return try await transcodeWhole(error.readable)
        case .success(let found): plan = found
        }
        let report: TranscodeReport
        if let unfit = try await finish(plan) {
            report = try await transcodeWhole(unfit)
        } else {
            report = try await join(plan.work, plan.variation.configuration, lost: plan.lost)
        }
        if !options.keepsChunks { plan.work.folder.delete() }
        return report
    }

    /// Encodes what is missing, and what does not fit the rest.
    ///
    /// - Returns: Why the input cannot be encoded in chunks; `nil` if they can be joined.
    private func finish(_ plan: Preparation) async throws(MediaError) -> String? {
        if let unfit = try await encode(plan.missing, plan.work, plan.variation) { return unfit }
        // Chunks that are encoded again for the buffer may get another encoder.
        for _ in 0..<2 {
            if let unfit = try await unify(plan.work, plan.variation) { return unfit }
            if let unfit = try await fitBuffer(plan.work, plan.variation) { return unfit }
            if ChunkUnity.outliers(records).isEmpty { return nil }
        }
        return Self.differentEncoders
    }

    private func encode(_ part: ChunkPart) async throws(MediaError) -> ChunkSummary {
        switch try await prepare(part) {
        case .failure(let error):
            notify(.session(.adjusted(noChunks("none by this process", error.readable))))
            return ChunkSummary(count: 0, reused: 0, repeated: 0)
        case .success(let plan):
            if let unfit = try await encode(plan.missing, plan.work, plan.variation) {
                notify(.session(.adjusted(noChunks("none by this process", unfit))))
            }
            let reused = state.withLock { $0.reused }
            return ChunkSummary(count: plan.work.plan.chunks.count, reused: reused, repeated: 0)
        }
    }

    /// What is known before the first chunk.
    private struct Preparation: Sendable {
        var work: ChunkWork
        var variation: ChunkWork.Variation
        /// The chunks that are not finished, of those that are wanted.
        var missing: [Int]
        /// What of the input the configuration cannot keep.
        var lost: [Adjustment]
    }

    /// Finds the pictures, plans the chunks, and opens the folder.
    ///
    /// - Parameter part: The chunks that are wanted, while other processes use the folder; `nil` for all.
    /// - Returns: The reason if the input cannot be encoded in chunks.
    private func prepare(_ part: ChunkPart?) async throws(MediaError) -> Result<Preparation, MediaError> {
        try options.validate()
        try request.validateForChunks()
        let (video, found) = try await findPictures()
        let index: FrameIndex
        switch found {
        case .failure(let error): return .failure(error)
        case .success(let pictures): index = pictures
        }
        let plan = ChunkPlan(index, duration: options.duration)
        let (configuration, lost) = request.video.configuration(for: video)
        let (_, cut) = try request.video.regions(in: video)
        let (folder, missing) = try await openFolder(plan, configuration, part)
        return .success(
            Preparation(
                work: ChunkWork(request: request, plan: plan, folder: folder),
                variation: ChunkWork.Variation(
                    policy: request.session.policy,
                    decoder: request.decoder,
                    configuration: configuration
                ),
                missing: missing,
                lost: lost + cut
            )
        )
    }

    /// Opens the input and finds its pictures, or the reason why they cannot be found.
    private func findPictures() async throws(MediaError) -> (VideoTrack, Result<FrameIndex, MediaError>) {
        let reader = MediaReader()
        do throws(MediaError) {
            var source = request.demandedSource
            source.allowsOtherDecoder = false
            let contents = try await reader.open(request.input, source, request.logger, cancellation)
            var found = Result<FrameIndex, MediaError>.failure(MediaError(.invalidState, "the input was closed"))
            do throws(MediaError) {
                let index = try await reader.readFrameIndex { [self] count in
                    state.withLock { $0.examined = ($0.examined ?? 0) + Int64(count) }
                }
                if let index { found = .success(index) }
            } catch {
                guard error.code == .unsupported else { throw error }
                found = .failure(error)
            }
            await reader.close()
            return (contents.video, found)
        } catch {
            await reader.close()
            throw error
        }
    }

    /// Opens the folder and reads the records of earlier runs.
    ///
    /// - Returns: The folder, and the wanted chunks that are not finished.
    private func openFolder(
        _ plan: ChunkPlan,
        _ configuration: EncoderConfiguration,
        _ part: ChunkPart?
    ) async throws(MediaError) -> (ChunkFolder, [Int]) {
        let (path, key) = (options.folder, ChunkKey(request, plan, configuration))
        return try await PlainThread.result(name: "vt-chunks") { [self] () throws(MediaError) in
            let isShared = part != nil || options.keepsChunks
            let folder = try ChunkFolder(path: path, key: key.text, isShared: isShared)
            let wanted = plan.chunks.indices.filter { part?.contains($0) ?? true }
            var records: [Int: ChunkRecord] = [:]
            for number in wanted {
                records[number] = folder.record(
                    number,
                    pictureCount: plan.chunks[number].count,
                    encoders: { [policy = request.session.policy] in
                        $0.isHardware ? policy != .requireSoftware : policy.allowsSoftware
                    },
                    note: { count in
                        state.withLock { $0.examined = ($0.examined ?? 0) + Int64(count) }
                        return !cancellation.isCancelled
                    }
                )
            }
            if cancellation.isCancelled { throw MediaError(.cancelled, "the call was cancelled") }
            state.withLock { [records] state in
                (state.plan, state.wanted) = (plan, wanted)
                (state.records, state.reused, state.examined) = (records, records.count, nil)
            }
            return (folder, wanted.filter { records[$0] == nil })
        }
    }

    private func noChunks(_ used: String, _ reason: String) -> Adjustment {
        Adjustment(
            property: "chunks",
            requested: "\(Readable.number(options.duration, places: 1)) s each",
            used: used,
            reason: reason
        )
    }

    /// Encodes the input as one piece.
    ///
    /// - Parameter reason: Why it is not encoded in chunks.
    private func transcodeWhole(_ reason: String) async throws(MediaError) -> TranscodeReport {
        let adjustment = noChunks("one piece", reason)
        notify(.session(.adjusted(adjustment)))
        let transcoder = Transcoder(request, notify: notify)
        let isStopped = state.withLock { state in
            (state.whole, state.plan) = (transcoder, nil)
            return state.isStopped
        }
        if isStopped { throw MediaError(.cancelled, "stopped before the input was encoded") }
        var report = try await transcoder.run()
        report.adjustments.insert(adjustment, at: 0)
        return report
    }

    // MARK: - Chunks

    /// Encodes chunks, as many at a time as the options say.
    ///
    /// - Returns: Why the input cannot be encoded in chunks; `nil` if all are finished.
    private func encode(
        _ numbers: [Int],
        _ work: ChunkWork,
        _ variation: ChunkWork.Variation
    ) async throws(MediaError) -> String? {
        let failure = await withTaskGroup(of: Result<String?, MediaError>.self) { group in
            var rest = numbers[...]
            func begin() {
                guard let number = rest.popFirst() else { return }
                group.addTask { [self] in
                    do throws(MediaError) {
                        return .success(try await encode(number, work, variation))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            for _ in 0..<options.parallel { begin() }
            var first: Result<String?, MediaError>?
            for await result in group {
                if case .success(nil) = result, first == nil {
                    begin()
                } else if first == nil {
                    first = result
                    group.cancelAll()
                }
            }
            return first
        }
        return try failure?.get() ?? nil
    }

    /// Encodes a chunk: again without a GPU's decoder if that has lost pictures, and once more if the input cannot be read as
    /// planned, because that may be the storage's fault.
    private func encode(
        _ number: Int,
        _ work: ChunkWork,
        _ variation: ChunkWork.Variation
    ) async throws(MediaError) -> String? {
        var (variation, isRepeated) = (variation, false)
        while true {
            if Task.isCancelled { throw MediaError(.cancelled, "the call was cancelled") }
            let file = ChunkFolder.newFile(number)
            let transcoder = work.transcoder(number, to: file, variation) { [self] in tell($0) }
            state.withLock { state in
                state.records[number] = nil
                state.running[number] = transcoder
            }
            defer { state.withLock { _ = $0.running.removeValue(forKey: number) } }
            switch try await work.encode(number, to: file, with: transcoder) {
            case .unfit(let reason):
                if isRepeated { return reason }
                isRepeated = true
            case .lost where variation.decoder != .software: variation.decoder = .software
            case .lost:
                throw MediaError(
                    .pictureLost,
                    "decoded frames were lost although the CPU decoded them",
                    given: "chunk \(number + 1)"
                )
            case .finished(let record, let report):
                state.withLock { state in
                    state.records[number] = record
                    state.decoding = report.decoding
                    state.switches += report.switches
                    state.statistics.add(report.statistics)
                }
                return nil
            }
        }
    }

    /// Passes on what the encode of a chunk tells, without what each chunk repeats.
    private func tell(_ notice: Transcoder.Notice) {
        switch notice {
        case .omission: return
        case .started:
            let isFirst = state.withLock { state in
                defer { state.hasTold = true }
                return !state.hasTold
            }
            if isFirst { notify(notice) }
        case .session, .decoding, .tried: notify(notice)
        }
    }

    private static let differentEncoders = "its chunks have different encoders or parameter sets"

    /// Encodes chunks again until all have the same encoder, version and parameter sets: those that differ from the
    /// majority; then, since the encoder that is there now may be another version, all that differ from those; and last, all
    /// on the CPU.
    private func unify(
        _ work: ChunkWork,
        _ variation: ChunkWork.Variation
    ) async throws(MediaError) -> String? {
        if ChunkUnity.outliers(records).isEmpty { return nil }
        var onCPU = variation
        onCPU.policy = .requireSoftware
        let variations = [variation] + (variation.policy.allowsSoftware ? [onCPU] : [])
        for (round, variation) in variations.enumerated() {
            let onGPU = records.indices.filter { records[$0].encoder.identity.isHardware }
            var numbers = round == 0 ? ChunkUnity.outliers(records) : onGPU
            // Twice, unless encoders change all the time.
            for _ in 0..<2 {
                guard let last = numbers.last else { break }
                if let unfit = try await again(numbers, work, variation) { return unfit }
                let (records, encoder) = (records, records[last].encoder.identity.name)
                let rest = ChunkUnity.differing(from: last, records)
                // If this is not another version but another encoder, a GPU has failed and would fail again.
                guard rest.allSatisfy({ records[$0].encoder.identity.name == encoder }) else { break }
                numbers = rest
            }
            if ChunkUnity.outliers(records).isEmpty { return nil }
        }
        return Self.differentEncoders
    }

    /// Encodes chunks again at which the buffer of a decoder would run empty, with less at a time.
    private func fitBuffer(
        _ work: ChunkWork,
        _ variation: ChunkWork.Variation
    ) async throws(MediaError) -> String? {
        let codec = records[0].encoder.identity.codec
        guard let limit = variation.configuration.rateLimit(codec: codec) else { return nil }
        let sets = records[0].parameterSets
        var variation = variation
        // Not by a GPU that has failed before.
        if variation.policy.allowsSoftware, !records[0].encoder.identity.isHardware {
            variation.policy = .requireSoftware
        }
        let original = variation
        for share in [0.9, 0.75, 0.6, 0.45] {
            let over = BufferModel.chunksOverLimit(pictures(work.plan, variation.configuration), limit)
            if over.isEmpty { return nil }
            let level = records[0].encoder.level
            variation.configuration = original.configuration.limited(to: share, of: limit, level: level)
            if let unfit = try await again(over, work, variation) { return unfit }
            // A limit that stands in the stream cannot differ within it.
            let changed = over.filter { records[$0].parameterSets != sets }
            if changed.isEmpty { continue }
            if let unfit = try await again(changed, work, original) { return unfit }
            break
        }
        let over = BufferModel.chunksOverLimit(pictures(work.plan, original.configuration), limit)
        guard !over.isEmpty else { return nil }
        let adjustment = Adjustment(
            property: "peak bitrate",
            requested: Readable.bitRate(Double(limit.bitsPerSecond)),
            used: "exceeded at the beginning of \(Readable.count(over.count, "chunk"))",
            reason: "the encoder of a chunk does not know the VBV fullness at its beginning"
        )
        notify(.session(.adjusted(adjustment)))
        state.withLock { $0.adjustments.append(adjustment) }
        return nil
    }

    private func again(
        _ numbers: [Int],
        _ work: ChunkWork,
        _ variation: ChunkWork.Variation
    ) async throws(MediaError) -> String? {
        state.withLock { $0.repeated += numbers.count }
        return try await encode(numbers, work, variation)
    }

    /// The records of all chunks, once all are finished.
    private var records: [ChunkRecord] {
        state.withLock { state in state.records.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// The pictures of all chunks with the decode times that they have in the output.
    private func pictures(_ plan: ChunkPlan, _ configuration: EncoderConfiguration) -> [[BufferModel.Picture]] {
        let records = records
        let depth = records.map(\.reorderDepth).max() ?? 0
        var times = DecodeTimes(depth: depth, frameRate: configuration.frameRate)
        let decodeTimes = times.assign(presentationTimes: plan.index.frames.map(\.presentationTime))
        return zip(plan.chunks, records).map { frames, record in
            zip(decodeTimes[frames], record.samples).map {
                BufferModel.Picture(decodeTime: $0, byteCount: $1.byteCount)
            }
        }
    }

    // MARK: - Output

    private func join(
        _ work: ChunkWork,
        _ configuration: EncoderConfiguration,
        lost: [Adjustment]
    ) async throws(MediaError) -> TranscodeReport {
        let records = records
        let (writer, abandonment) = (MediaWriter(), Cancellation())
        let joiner = ChunkJoiner(
            request: request,
            plan: work.plan,
            records: records,
            folder: work.folder,
            configuration: configuration,
            cancellation: cancellation,
            abandonment: abandonment,
            writer: writer,
            noteMeasured: { [self] time in state.withLock { $0.measured = time } },
            noteVerified: { [self] time in state.withLock { $0.verified = time } }
        )
        state.withLock { $0.writer = writer }
        let result = await withTaskCancellationHandler {
            do throws(MediaError) {
                return Result<ChunkJoiner.Outcome, MediaError>.success(try await joiner.run())
            } catch {
                return .failure(error)
            }
        } onCancel: {
            cancellation.cancel()
            abandonment.cancel()
        }
        let outcome = try result.get()
        let last = state.withLock { $0 }
        return TranscodeReport(
            path: request.output,
            video: outcome.video,
            configuration: configuration,
            encoder: EncoderDescription(records[0].encoder, outcome.format, reorderDepth: records[0].reorderDepth),
            decoding: last.decoding ?? .earlier,
            output: outcome.summary,
            videoByteCount: records.reduce(0) { $0 + $1.samples.reduce(0) { $0 + $1.byteCount } },
            statistics: last.statistics.counting(work.plan.index.frames.count),
            switches: last.switches,
            problems: outcome.problems,
            adjustments: (lost + records.flatMap(\.adjustments) + last.adjustments + outcome.adjustments).unique,
            omissions: outcome.omissions,
            verification: outcome.verification,
            audio: outcome.audio,
            chunks: ChunkSummary(count: records.count, reused: last.reused, repeated: last.repeated),
            wasStopped: false
        )
    }
}
