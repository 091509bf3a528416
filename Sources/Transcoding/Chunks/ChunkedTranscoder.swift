// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaIO
public import MediaTypes
import Synchronization
import VAToolbox

/// Encodes one output in chunks that are kept in a folder until all are there, so that a run that was interrupted, by a
/// signal, a crash or a power failure, continues where it was. Each instance can run once.
///
/// The video is cut into chunks that are encoded on their own, by as many encoders at a time as the options say, and then
/// written one after another without encoding them again. All chunks have the same parameter sets, so the output is as
/// one that was encoded in one piece, with a key frame at the beginning of each chunk. Sound, subtitles, chapters and
/// metadata are written in one piece at the end.
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
        /// What is told while the output is written.
        var joined = TranscodeProgress()
        var hasTold = false
        var adjustments: [Adjustment] = []
        var switches: [EncoderSwitch] = []
        var decoding: DecodingReport?
        var statistics = SessionStatistics()
        var reused = 0
        var repeated = 0
        /// The number of finished chunks that wait in the folder, and of all.
        var keptChunks: (finished: Int, all: Int)? {
            plan == nil || records.isEmpty ? nil : (records.count, wanted.count)
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
            guard let plan = state.plan else { return state.joined }
            var progress = state.joined
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
                if progress.bytesWritten == 0 { progress.device = progress.device ?? part.device }
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
    /// - Returns: The number of all chunks, and of those of the part that were finished before.
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
                "stopped with \(kept.finished) of \(kept.all) chunks finished; the same command continues with them",
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
        var unfit = try await encode(plan.missing, plan.work, plan.variation)
        if unfit == nil { unfit = try await unify(plan.work, plan.variation) }
        if unfit == nil { unfit = try await fitBuffer(plan.work, plan.variation) }
        if let unfit {
            plan.work.folder.delete()
            return try await transcodeWhole(unfit)
        }
        let report = try await join(plan.work, plan.variation.configuration, lost: plan.lost)
        plan.work.folder.delete()
        return report
    }

    private func encode(_ part: ChunkPart) async throws(MediaError) -> ChunkSummary {
        switch try await prepare(part) {
        case .failure(let error):
            notify(.session(.adjusted(inOnePiece(error.readable))))
            return ChunkSummary(count: 0, reused: 0, repeated: 0)
        case .success(let plan):
            if let unfit = try await encode(plan.missing, plan.work, plan.variation) {
                notify(.session(.adjusted(inOnePiece(unfit))))
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
        try validate()
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

    /// Refuses what is no single encode of a file.
    private func validate() throws(MediaError) {
        try request.validate()
        let refusals: [(Bool, String)] = [
            (!request.others.isEmpty, "several outputs"), (request.stream != nil, "a presentation"),
            (request.isPaced || request.session.realTime != nil, "real time"),
            (request.first.target != nil, "a quality target"),
            (request.video.frameRate != nil, "another frame rate"),
            (!request.inputIsFile, "an input that is no regular file"),
        ]
        guard let refusal = refusals.first(where: \.0)?.1 else { return }
        throw MediaError(
            .invalidArgument,
            "this cannot be encoded in chunks",
            given: refusal,
            allowed: "one output of a regular file, with its own frame rate"
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
                if let index = try await reader.readFrameIndex() { found = .success(index) }
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
            let folder = try ChunkFolder(path: path, key: key.text, isShared: part != nil)
            let wanted = plan.chunks.indices.filter { part?.contains($0) ?? true }
            var records: [Int: ChunkRecord] = [:]
            for number in wanted {
                records[number] = folder.record(number, pictureCount: plan.chunks[number].count)
            }
            state.withLock { [records] state in
                (state.plan, state.wanted) = (plan, wanted)
                (state.records, state.reused) = (records, records.count)
            }
            return (folder, wanted.filter { records[$0] == nil })
        }
    }

    private func inOnePiece(_ reason: String) -> Adjustment {
        Adjustment(
            property: "chunks",
            requested: "\(Readable.number(options.duration, places: 1)) s each",
            used: "one piece",
            reason: reason
        )
    }

    /// Encodes the input as one piece.
    ///
    /// - Parameter reason: Why it is not encoded in chunks.
    private func transcodeWhole(_ reason: String) async throws(MediaError) -> TranscodeReport {
        let adjustment = inOnePiece(reason)
        notify(.session(.adjusted(adjustment)))
        let transcoder = Transcoder(request, notify: notify)
        let isStopped = state.withLock { state in
            (state.whole, state.records) = (transcoder, [:])
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

    /// Encodes a chunk, again without a GPU's decoder if that has lost pictures.
    private func encode(
        _ number: Int,
        _ work: ChunkWork,
        _ variation: ChunkWork.Variation
    ) async throws(MediaError) -> String? {
        var variation = variation
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
            case .unfit(let reason): return reason
            case .lost where variation.decoder != .software: variation.decoder = .software
            case .lost:
                throw MediaError(.pictureLost, "frames of chunk \(number + 1) were lost because a GPU failed")
            case .finished(let record, let report):
                state.withLock { state in
                    state.records[number] = record
                    state.decoding = report.decoding
                    state.switches += report.switches
                    state.statistics.add(report.statistics)
                    for adjustment in report.adjustments where !state.adjustments.contains(adjustment) {
                        state.adjustments.append(adjustment)
                    }
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

    /// Encodes chunks again until all have the same encoder and parameter sets: first those that differ from most, then all
    /// on the CPU.
    private func unify(
        _ work: ChunkWork,
        _ variation: ChunkWork.Variation
    ) async throws(MediaError) -> String? {
        let strangers = ChunkUnity.strangers(records)
        if strangers.isEmpty { return nil }
        if let unfit = try await again(strangers, work, variation) { return unfit }
        guard !ChunkUnity.strangers(records).isEmpty else { return nil }
        let reason = "its chunks have different encoders or parameter sets"
        guard variation.policy.allowsSoftware else { return reason }
        var onCPU = variation
        onCPU.policy = .requireSoftware
        let onGPU = records.indices.filter { records[$0].encoder.identity.isHardware }
        if let unfit = try await again(onGPU, work, onCPU) { return unfit }
        return ChunkUnity.strangers(records).isEmpty ? nil : reason
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
            used: "more at the beginning of \(Readable.count(over.count, "chunk"))",
            reason: "a chunk does not know how full the buffer is when it begins"
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
        let abandonment = Cancellation()
        let joiner = ChunkJoiner(
            request: request,
            plan: work.plan,
            records: records,
            folder: work.folder,
            configuration: configuration,
            cancellation: cancellation,
            abandonment: abandonment,
            noteProgress: { [self] _, bytes in state.withLock { $0.joined.bytesWritten = bytes } },
            noteMeasured: { [self] time in state.withLock { $0.joined.measuredTime = time } },
            noteVerified: { [self] time in state.withLock { $0.joined.verifiedTime = time } }
        )
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
            adjustments: (lost + last.adjustments + outcome.adjustments).unique,
            omissions: outcome.omissions,
            verification: outcome.verification,
            audio: outcome.audio,
            chunks: ChunkSummary(count: records.count, reused: last.reused, repeated: last.repeated),
            wasStopped: false
        )
    }
}

/// Whether chunks can follow each other in one stream.
enum ChunkUnity {
    private struct Kind: Hashable {
        var name: String
        var codec: String
        var version: String
        var parameterSets: String
    }

    /// Returns the chunks that most of the pictures differ from in encoder or parameter sets; none if all are alike.
    static func strangers(_ records: [ChunkRecord]) -> [Int] {
        let kinds = records.map { record in
            Kind(
                name: record.encoder.identity.name,
                codec: record.encoder.identity.codec.rawValue,
                version: record.encoder.name,
                parameterSets: record.parameterSets
            )
        }
        var counts: [Kind: Int] = [:]
        for (kind, record) in zip(kinds, records) { counts[kind, default: 0] += record.samples.count }
        // Of two with as many pictures, the one that comes first.
        guard let most = counts.values.max(), let usual = kinds.first(where: { counts[$0] == most }) else { return [] }
        return kinds.indices.filter { kinds[$0] != usual }
    }
}

extension EncoderDescription {
    /// Describes the encoder of chunks.
    fileprivate init(_ encoder: ChunkRecord.Encoder, _ format: FormatDescription, reorderDepth: Int) {
        self.init(
            identity: encoder.identity,
            isInHelper: encoder.isInHelper,
            properties: EncoderProperties(
                name: encoder.name,
                profile: encoder.profile,
                level: encoder.level,
                reorderDepth: reorderDepth,
                maximumDelay: 0,
                pixelFormats: [],
                supportedProperties: [],
                formatDescription: format
            ),
            reason: encoder.reason,
            rejected: [],
            proof: .notWanted
        )
    }
}

extension DecodingReport {
    /// The decoding of chunks that are all of earlier runs.
    fileprivate static let earlier = DecodingReport(
        name: MediaSource.decoderName,
        reason: "all chunks were finished by earlier runs"
    )
}

extension SessionStatistics {
    /// Adds the counters of the session of another chunk.
    fileprivate mutating func add(_ other: SessionStatistics) {
        repeatedFrames += other.repeatedFrames
        copiedPictures += other.copiedPictures
        convertedByEncoder += other.convertedByEncoder
        convertedByCPU += other.convertedByCPU
        createdEncoders += other.createdEncoders
        failedEncoders += other.failedEncoders
        encoderSwitches += other.encoderSwitches
    }

    /// Returns the counters with the number of frames of the whole.
    fileprivate func counting(_ frames: Int) -> SessionStatistics {
        var result = self
        (result.acceptedFrames, result.codedFrames) = (frames, frames)
        return result
    }
}

extension EncoderConfiguration {
    /// Returns the configuration with a lower peak in a stream of the same level.
    ///
    /// - Parameters:
    ///   - share: The share of the peak bitrate and of the buffer.
    ///   - limit: The effective peak.
    ///   - level: The name of the level.
    fileprivate func limited(to share: Double, of limit: RateLimit, level: String) -> EncoderConfiguration {
        var result = self
        let rate = Int(Double(limit.bitsPerSecond) * share)
        let peak = PeakBitRate.limit(rate, window: Double(limit.bufferSize) / Double(limit.bitsPerSecond))
        switch rateControl {
        case .averageBitRate(let average, _): result.rateControl = .averageBitRate(min(average, rate), peak: peak)
        case .constantBitRate(let average, let window):
            result.rateControl = .constantBitRate(Int(Double(average) * share), window: window)
        case .constantQuality(let quality, _): result.rateControl = .constantQuality(quality, peak: peak)
        case .constantQuantizer: break
        }
        result.h264Level = h264Level ?? H264Level(name: level)
        result.hevcLevel = hevcLevel ?? HEVCLevel(name: level)
        return result
    }
}
