// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import Logging
internal import MediaIO
internal import MediaTimeline
internal import MediaTypes
internal import Synchronization
internal import VAToolbox

/// The files and the audio encoders of a writer, on a dedicated thread.
///
/// Usually there is one file. If the recording is split, several may be open: the last one, which gets pictures, and
/// earlier ones whose audio has not arrived yet.
actor AssetFiles {
    /// An open file.
    struct Part {
        let number: Int
        let path: String
        /// The start, from the start of the session.
        let start: MediaTime
        let sink: any OutputSink
    }

    /// An audio input.
    struct Audio {
        let encoder: AudioEncoder
        let track: MediaTrack
        /// The number of the file that gets its packets.
        var part = 1
        var hasEnded = false

        var rate: Int32 { Int32(clamping: encoder.description.sampleRate) }
        /// Until when audio has arrived.
        var time: MediaTime { MediaTime(value: encoder.producedFrames, timescale: rate) }
    }

    /// A track whose packets are written as they are.
    struct Copied {
        let track: MediaTrack
        /// The packets of which it is not known yet in which file they begin.
        var waiting: [MediaPacket] = []
        /// The time of the latest packet.
        var time = MediaTime.zero
        var hasEnded = false
    }

    /// What other threads read.
    struct Shared {
        var recorded = MediaTime.zero
        var temporaryPath: String?
        var plan: SeamPlan?
        var keyFrames: SegmentKeyFrames?
        var files: [AssetWriter.File] = []
        var error: MediaError?
    }

    /// How far the pictures may be ahead of a track before a file does not wait for it any more.
    static let patience = MediaTime(value: 10, timescale: 1)

    nonisolated let format: ContainerFormat
    nonisolated let isSplit: Bool
    private let executor: ThreadExecutor
    nonisolated let shared: Mutex<Shared>
    nonisolated let abandonment: Cancellation
    private let logger: Logger?
    private let destination: AssetDestination

    /// The open files, in their order; empty when the writer has ended.
    var parts: [Part]
    var audios: [Audio] = []
    var copied: [Copied] = []
    var finishing: [Task<Void, Never>] = []
    var hasVideo = true
    private var repeatsParameterSets = false
    private var metadata: [String: String] = [:]
    /// The samples that are not followed yet by one that is shown later, in decode order.
    private var held: [SampleBuffer] = []
    /// The decode time of the latest sample that was passed to a file; later ones are not shown before it.
    var videoTime: MediaTime?
    var hasVideoEnded = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ destination: AssetDestination, logger: Logger?) async throws(MediaError) {
        let executor = ThreadExecutor(name: "vt-asset")
        self.executor = executor
        let abandonment = Cancellation()
        self.abandonment = abandonment
        // Opening a FIFO waits for its reader.
        let opening = await withTaskCancellationHandler {
            await Self.open(destination, logger, abandonment)
        } onCancel: {
            abandonment.cancel()
        }
        let (sink, format) = try opening.get().opened
        let splitting = destination.splitting
        guard splitting == nil || sink.temporaryPath != nil || format == .null else {
            throw MediaError(
                .invalidArgument,
                "only a recording into files can be split",
                given: destination.path(1),
                allowed: "the path of a regular file"
            )
        }
        (self.destination, self.logger, self.format) = (destination, logger, format)
        isSplit = splitting != nil
        shared = Mutex(
            Shared(
                temporaryPath: sink.temporaryPath,
                plan: splitting.map { SeamPlan($0) },
                keyFrames: destination.keyFrames
            )
        )
        parts = [Part(number: 1, path: destination.path(1), start: .zero, sink: sink)]
    }

    private static func open(
        _ destination: AssetDestination,
        _ logger: Logger?,
        _ abandonment: Cancellation
    ) async -> Result<Carrier, MediaError> {
        do throws(MediaError) {
            let opened = try await PlainThread.result(name: "vt-asset-open") { () throws(MediaError) in
                Carrier(opened: try destination.open(1, logger: logger, abandonment: abandonment))
            }
            return .success(opened)
        } catch {
            return .failure(error)
        }
    }

    /// Passes a sink from one thread to another.
    private struct Carrier: @unchecked Sendable {
        let opened: AssetDestination.Opened
    }

    nonisolated var recordedDuration: MediaTime { shared.withLock { $0.recorded } }
    nonisolated var temporaryPath: String? { shared.withLock { $0.temporaryPath } }
    /// The files that are complete.
    nonisolated var files: [AssetWriter.File] { shared.withLock { $0.files } }

    /// Ends every wait for the reader of the output, from any thread.
    nonisolated func abandon() { abandonment.cancel() }

    /// Returns whether a picture should become a key frame, with which a file or a segment can begin.
    nonisolated func requestsKeyFrame(at time: MediaTime) -> Bool {
        shared.withLock { shared in
            let ofFile = shared.plan?.requestsKeyFrame(at: time) ?? false
            let ofSegment = shared.keyFrames?.requestsKeyFrame(at: time) ?? false
            return ofFile || ofSegment
        }
    }

    /// Registers that a requested key frame was dropped.
    nonisolated func requestKeyFrameAgain() {
        shared.withLock {
            $0.plan?.requestAgain()
            $0.keyFrames?.requestAgain()
        }
    }

    var plan: SeamPlan? { shared.withLock { $0.plan } }

    // MARK: - Setup

    func repeatParameterSets() throws(MediaError) {
        repeatsParameterSets = true
        try last().sink.prepareForSwitches()
    }

    func omitVideo() throws(MediaError) {
        hasVideo = false
        try last().sink.omitVideo()
    }

    func addAudio(
        _ settings: AudioEncoderSettings,
        _ format: AudioFormat,
        _ policy: AudioPlacement.Policy
    ) throws(MediaError) -> (track: Int, adjustments: [Adjustment]) {
        let encoder = try AudioEncoder(settings, input: format, policy: policy, logger: logger)
        let track = try MediaTrack(audio: encoder.description)
        try add(track, to: last().sink)
        audios.append(Audio(encoder: encoder, track: track))
        return (audios.count - 1, encoder.adjustments)
    }

    func addTrack(_ track: MediaTrack) throws(MediaError) -> Int {
        try add(track, to: last().sink)
        copied.append(Copied(track: track))
        return copied.count - 1
    }

    private func add(_ track: MediaTrack, to sink: any OutputSink) throws(MediaError) {
        guard case .refused(let reason) = try sink.addTrack(track) else { return }
        throw MediaError(
            .invalidArgument,
            reason,
            given: track.codecName,
            allowed: "a codec that the container supports"
        )
    }

    func setMetadata(_ metadata: [String: String]) throws(MediaError) -> MediaSink.Acceptance {
        self.metadata = metadata
        return try last().sink.setMetadata(metadata)
    }

    func setChapters(_ chapters: [Chapter]) throws(MediaError) -> MediaSink.Acceptance {
        guard !isSplit else { return .refused(reason: "a recording that is split has no chapters") }
        return try last().sink.setChapters(chapters)
    }

    func last() throws(MediaError) -> Part {
        guard let part = parts.last else { throw MediaError(.invalidState, "the file is closed") }
        return part
    }

    // MARK: - Pictures

    func write(_ samples: SampleSequence) async throws(MediaError) {
        var samples = samples.makeAsyncIterator()
        while let sample = try await samples.next(isolation: self) {
            try write(sample)
        }
    }

    /// Writes the samples before one.
    func write(_ sample: SampleBuffer) throws(MediaError) {
        guard !sample.isDropped else { return }
        held.append(sample)
        let latest = held.lazy.map(\.presentationTime).max() ?? sample.presentationTime
        while let first = held.first, first.presentationTime < latest {
            held.removeFirst()
            try put(first)
        }
    }

    /// Passes a sample to the file that it belongs to. After a failure, none follows: it could need one that is missing.
    private func put(_ sample: SampleBuffer) throws(MediaError) {
        if let error = shared.withLock({ $0.error }) { throw error }
        do throws(MediaError) {
            try pass(sample)
        } catch {
            note(error)
            throw error
        }
    }

    private func pass(_ sample: SampleBuffer) throws(MediaError) {
        let isFirst = sample.isKeyFrame && plan?.isDue(at: sample.presentationTime) == true
        if isFirst { try beginPart(at: sample.presentationTime) }
        let part = try last()
        var moved = sample
        if part.number > 1 {
            moved.presentationTime = sample.presentationTime - part.start
            moved.decodeTime = sample.decodeTime - part.start
        }
        // A picture of unknown duration is shown for as long as the one before it was, also if a file has no other one.
        let assumed = videoTime.map { sample.decodeTime - $0 } ?? .zero
        if isFirst, !moved.duration.isValid { moved.duration = assumed }
        try part.sink.write(moved)
        videoTime = sample.decodeTime
        let end = sample.presentationTime + (sample.duration.isValid ? sample.duration : assumed)
        note(end, byteCount: sample.data.count)
        if isSplit { try distribute() }
    }

    /// Registers what was passed to the last file.
    func note(_ end: MediaTime, byteCount: Int) {
        shared.withLock {
            $0.recorded = max($0.recorded, end)
            $0.plan?.add(byteCount)
        }
    }

    /// Writes the last pictures, after all samples are passed.
    ///
    /// - Parameter end: The end of the session, from its start: until then the last picture is shown.
    func finishVideo(end: MediaTime?) throws(MediaError) {
        if let end, let shown = held.indices.max(by: { held[$0].presentationTime < held[$1].presentationTime }) {
            // The last in decoding order determines the length of the track in some containers.
            for index in Set([shown, held.count - 1]) where held[index].presentationTime < end {
                held[index].duration = end - held[index].presentationTime
            }
        }
        for sample in held { try put(sample) }
        held = []
        hasVideoEnded = true
    }

    // MARK: - Files

    func beginPart(at start: MediaTime) throws(MediaError) {
        let number = try last().number + 1
        let (sink, _) = try destination.open(number, logger: logger, abandonment: abandonment)
        if repeatsParameterSets { sink.prepareForSwitches() }
        if !hasVideo { try sink.omitVideo() }
        for audio in audios { try add(audio.track, to: sink) }
        for track in copied { try add(track.track, to: sink) }
        if !metadata.isEmpty { _ = try sink.setMetadata(metadata) }
        parts.append(Part(number: number, path: destination.path(number), start: start, sink: sink))
        shared.withLock {
            $0.plan?.begin(at: start)
            $0.temporaryPath = sink.temporaryPath
        }
    }

    /// Completes the files before the last one that get nothing more, on another thread.
    func finishParts() {
        while parts.count > 1, isComplete(parts[0], until: parts[1].start) {
            let (part, end) = (parts.removeFirst(), parts[0].start)
            let carrier = Carrier(opened: (part.sink, format))
            finishing.append(
                Task {
                    do throws(MediaError) {
                        let ended = try await PlainThread.result(name: "vt-asset-end") { () throws(MediaError) in
                            Self.end(carrier.opened.sink)
                        }
                        if let summary = ended.summary { note(part.path, part.start, end, summary) }
                        if let error = ended.error { note(error) }
                    } catch {
                        note(error)
                    }
                }
            )
        }
    }

    private static func end(_ sink: any OutputSink) -> (summary: MediaSink.Summary?, error: MediaError?) {
        do throws(MediaError) {
            return (try sink.finish(), nil)
        } catch {
            let summary = sink.rescue()
            return (summary, error.naming(keptPath: sink.keptPath))
        }
    }

    nonisolated func note(_ path: String, _ start: MediaTime, _ end: MediaTime, _ summary: MediaSink.Summary) {
        let file = AssetWriter.File(path: path, start: start, end: end, summary: summary)
        shared.withLock {
            $0.files.append(file)
            $0.files.sort { $0.start < $1.start }
        }
    }

    private nonisolated func note(_ error: MediaError) { shared.withLock { $0.error = $0.error ?? error } }

    private func isComplete(_ part: Part, until end: MediaTime) -> Bool {
        let isLate = progress - end > Self.patience
        return audios.allSatisfy { $0.part > part.number }
            && copied.allSatisfy { $0.hasEnded || $0.time >= end || isLate }
    }
}
