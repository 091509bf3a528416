// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
public import Logging
public import MediaIO
public import MediaTimeline
public import MediaTypes
public import VAToolbox

/// Records pictures, audio and coded packets into one file: the counterpart of `AVAssetWriter`.
///
/// ```swift
/// let writer = try await AssetWriter(path: CommandLine.arguments[1], options: options)
/// let video = try await writer.addVideo(configuration)
/// let audio = try await writer.addAudio(.voice, format: format)
/// try await writer.startSession(.at(.zero))
/// ```
///
/// Then pictures and buffers are appended to `video` and `audio`, and ``finish()`` completes the file. A file has at most
/// one video input, and any number of audio inputs; without video, it has audio alone.
///
/// A writer is used once. Its inputs are added before ``startSession(_:)``. Pictures are encoded by a
/// `CompressionSession`, with its promises: an accepted picture is in the file exactly once, whichever encoder does the
/// work. Audio is encoded by an `AudioEncoder`, which keeps it in sync with the times of its buffers.
///
/// **Times** are those of a clock that all inputs share, such as `CLOCK_MONOTONIC`. Time zero of the file is the start of
/// the session. For live sources, start it at the time of the first picture, or with
/// ``MediaTimeline/SessionTimeline/Start/first``: from the clock's own zero on, the file would begin with hours of silence.
///
/// **Waiting.** `append` of a picture waits while the encoder is busy, unless its session is in real-time mode. No
/// `append` waits for another input, so one task can append everything in any order. Audio that is ahead of the first coded
/// picture is kept in memory and, above 64 MiB, in a temporary file; later, tracks are interleaved as long as they are at
/// most ten seconds apart. To stay within that, call ``VideoInput/waitUntilReady()`` before each `append`.
///
/// **Several files.** With ``Options/splitting``, the recording continues in another file after a time or a size.
/// ``init(segments:options:receive:)`` hands over segments for HTTP streaming instead.
///
/// **Failure.** After the first error of an encoder or of the file, every call throws this error, and no file is left,
/// except for those of a split recording that were complete. The same holds after ``cancel()``, and if a writer is
/// released without ``finish()``. With ``Options/keepsFilesAfterFailure``, what was written until an error stays.
public actor AssetWriter {
    /// The state of a writer.
    public enum Status: Sendable, Hashable {
        /// Inputs can be added.
        case ready
        /// Pictures and audio can be appended.
        case writing
        /// The file is complete.
        case completed
        /// The writer was cancelled.
        case cancelled
        /// The writer has failed with this error.
        case failed(MediaError)
    }

    /// The options of a writer.
    public struct Options: Sendable {
        /// The options for writing the file.
        public var sink = MediaSink.Options()
        /// The rule by which the recording continues in another file; `nil` for one file.
        public var splitting: Splitting?
        /// Whether a file is completed with what was written until an encoder or the disk fails: then
        /// ``AssetWriter/finish()`` returns a summary with ``Summary/failure``. If the disk fails, the file ends with its last
        /// fragment (MP4 and QuickTime with `MediaSink.Options.isFragmented`; without, it is lost), cluster (Matroska) or
        /// access unit (transport streams) that is whole, and stays fragmented. A file that cannot get its name in the
        /// end stays under its temporary one, which the error names.
        public var keepsFilesAfterFailure = false
        /// Receives the messages of FFmpeg's libraries about the file and its audio; `nil` leaves them to
        /// `MediaLog.logger`.
        public var logger: Logger?
        /// By how much an input may be ahead of the others before it is no longer ready; default: 1 s.
        public var interleaving = MediaTime(value: 1, timescale: 1)
        /// The longest wait of ``VideoInput/waitUntilReady()``; default: 5 s.
        public var patience = Duration.seconds(5)

        /// Makes the default options.
        public init() {}
    }

    /// The results of a writer.
    public struct Summary: Sendable, Hashable {
        /// The written file, the last one of a recording that was split, or all segments.
        public var file: MediaSink.Summary
        /// The written files in their order: one if the recording was not split, none for segments.
        public var files: [File]
        /// The number of pictures that were dropped because the session had not started, or started later.
        public var picturesBeforeStart: Int
        /// The number of pictures that were dropped because they were after the end.
        public var picturesAfterEnd: Int
        /// What was inserted, cut and corrected in each audio input, in the order of the inputs.
        public var audio: [AudioPlacement]
        /// The estimates of the devices' clocks, for the audio inputs with arrival times, by the number of the input.
        public var clocks: [Int: DeviceClock]
        /// The error that has ended the writer early, with ``Options/keepsFilesAfterFailure``; otherwise `nil`.
        public var failure: MediaError?
    }

    /// The state of the writer.
    public private(set) var status = Status.ready
    /// The temporary path of the present file until ``finish()`` renames it; `nil` if there is no regular file. After a
    /// crash, a fragmented file is playable up to its last fragment: see `MediaSink.Options.fragmentInterval`.
    public nonisolated var temporaryPath: String? { file.temporaryPath }
    /// The files of a split recording that are complete. Safe on any thread.
    public nonisolated var files: [File] { file.files }

    /// How much video, or without video how much audio, was written so far, from the start of the session: the counterpart of
    /// `AVCaptureFileOutput.recordedDuration`. Safe on any thread.
    public nonisolated var recordedDuration: MediaTime { file.recordedDuration }

    let options: Options
    let file: AssetFiles
    var readiness: InputReadiness
    var timeline = SessionTimeline(.at(.zero))
    var video: (session: CompressionSession, drain: Task<MediaError?, Never>)?
    private var hasVideo = false
    private var hasCodedVideo = false
    /// The work of ``finish()``.
    var ending: Task<Result<Summary, MediaError>, Never>?
    /// The work of ``discard()`` after a failure.
    private var discarding: Task<Void, Never>?
    private var isCancelRequested = false
    /// The number of calls that append, and what waits for their end.
    var appending = 0
    var idle: [CheckedContinuation<Void, Never>] = []
    var audioTracks: [Int: Int] = [:]
    var packetTracks: [Int: Int] = [:]
    /// The clocks of the devices of audio inputs, and the frames that they have captured.
    var clocks: [Int: (clock: DeviceClock, frames: Int64)] = [:]
    /// The end of the latest buffer of each audio input, on the sources' clock.
    var audioEnds: [Int: MediaTime] = [:]
    var picturesBeforeStart = 0
    var picturesAfterEnd = 0
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var waitCount = 0

    /// Opens a file for writing.
    ///
    /// - Parameters:
    ///   - path: The path of the file, as for `MediaSink`; with ``Options/splitting``, a pattern for paths.
    ///   - options: The options.
    /// - Throws: As `MediaSink.init`; `invalidArgument` if the rule for splitting is not valid, or one of its first files
    ///   cannot be written.
    public init(path: String, options: Options = Options()) async throws(MediaError) {
        self.options = options
        let names = try FileNames(path: path, splitting: options.splitting, sink: options.sink)
        var sink = options.sink
        sink.isRescuable = options.keepsFilesAfterFailure
        file = try await AssetFiles(.files(names, sink), logger: options.logger)
        readiness = InputReadiness(largestLead: options.interleaving)
    }

    /// Makes a writer that hands over segments for HTTP streaming instead of writing a file: the counterpart of
    /// `AVAssetWriter` with `outputFileTypeProfile` `.mpeg4AppleHLS` and a delegate.
    ///
    /// The writer requests the key frames with which segments begin. It needs a video input. `StreamFolder` of `Transcoding`
    /// stores the segments and writes playlists.
    ///
    /// - Parameters:
    ///   - segments: The container and the duration of segments.
    ///   - options: The options; ``Options/sink`` does not apply.
    ///   - receive: Receives each segment with its times and key frames when it is complete, in order for each track, on a
    ///     thread of the writer, which waits meanwhile. After an error of the closure the writer has failed with it.
    /// - Throws: `invalidArgument` if an option is out of range, or with ``Options/splitting``.
    public init(
        segments: SegmentSink.Options,
        options: Options = Options(),
        receive: @escaping @Sendable (MediaSegment) throws(MediaError) -> Void
    ) async throws(MediaError) {
        guard options.splitting == nil else {
            throw MediaError(
                .invalidArgument,
                "segments are not split into files",
                given: "a rule for splitting",
                allowed: "none"
            )
        }
        self.options = options
        file = try await AssetFiles(.segments(segments, receive), logger: options.logger)
        readiness = InputReadiness(largestLead: options.interleaving)
    }

    /// Makes a writer that passes what it encodes to a sink.
    ///
    /// - Parameters:
    ///   - container: The container whose codecs the sink takes.
    ///   - options: The options; ``Options/sink`` and ``Options/splitting`` do not apply.
    ///   - makeSink: Makes the sink, which is used on a thread of the writer.
    /// - Throws: The error of the closure.
    package init(
        container: ContainerFormat,
        options: Options = Options(),
        makeSink: @escaping @Sendable () throws(MediaError) -> any OutputSink
    ) async throws(MediaError) {
        self.options = options
        file = try await AssetFiles(.sink(container, makeSink), logger: options.logger)
        readiness = InputReadiness(largestLead: options.interleaving)
    }

    // MARK: - Inputs

    /// Adds the video input. A file has one.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the encoder.
    ///   - options: The options of its session; in real-time mode, it drops pictures instead of waiting.
    /// - Throws: `invalidState` if the session has started or there is a video input; `invalidArgument` if the container
    ///   does not support the codec; as `CompressionSession.init`.
    public func addVideo(
        _ configuration: EncoderConfiguration,
        session options: SessionOptions = .init()
    ) async throws(MediaError) -> VideoInput {
        try checkIsReady()
        guard !hasVideo else { throw MediaError(.invalidState, "the writer has a video input") }
        if let codec = configuration.fixedCodec { try file.format.validate(codec) }
        hasVideo = true
        do throws(MediaError) {
            let session = try await CompressionSession(configuration: configuration, options: options)
            try checkIsReady()
            try file.format.validate(session.encoder.identity.codec)
            // A player that seeks back across a replacement of the encoder finds the earlier parameter sets only there.
            if session.encoder.identity.isHardware { try await file.repeatParameterSets() }
            video = (session, drain(session))
            return VideoInput(writer: self, index: readiness.add(), session: session)
        } catch {
            hasVideo = false
            throw error
        }
    }

    /// Adds a video input whose samples are written as they are.
    ///
    /// - Parameter format: The format of the first samples.
    /// - Throws: `invalidState` if the session has started or there is a video input; `invalidArgument` if the container
    ///   does not support the codec.
    public func addCodedVideo(_ format: FormatDescription) async throws(MediaError) -> CodedVideoInput {
        try checkIsReady()
        guard !hasVideo else { throw MediaError(.invalidState, "the writer has a video input") }
        try file.format.validate(format.codec)
        (hasVideo, hasCodedVideo) = (true, true)
        // A device may change its parameter sets.
        try await file.repeatParameterSets()
        return CodedVideoInput(writer: self, index: readiness.add())
    }

    /// Writes the samples of a session. The task does not retain the writer, so that releasing it ends the session.
    private func drain(_ session: CompressionSession) -> Task<MediaError?, Never> {
        Task { [weak self, file, samples = session.samples] in
            do throws(MediaError) {
                try await file.write(samples)
                return nil
            } catch {
                await self?.drainFailed(error)
                return error
            }
        }
    }

    /// Ends the writer after its samples cannot be written, or its session has no encoder any more.
    private func drainFailed(_ error: MediaError) {
        guard status == .writing, ending == nil else { return }
        status = .failed(error)
        discarding = Task { await discard() }
    }

    /// Adds an audio input whose buffers are encoded.
    ///
    /// - Parameters:
    ///   - settings: The codec, bitrate, rate and channels.
    ///   - format: The format of the first buffer.
    ///   - policy: The thresholds for gaps and drift.
    /// - Throws: `invalidState` if the session has started; `invalidArgument` for a setting out of range, or if the
    ///   container does not support the codec; as `AudioEncoder.init`.
    public func addAudio(
        _ settings: AudioEncoderSettings,
        format: AudioFormat,
        policy: AudioPlacement.Policy = .device
    ) async throws(MediaError) -> AudioInput {
        try checkIsReady()
        let (track, adjustments) = try await file.addAudio(settings, format, policy)
        let input = readiness.add()
        audioTracks[input] = track
        return AudioInput(writer: self, index: input, adjustments: adjustments)
    }

    /// Adds an input whose packets are written as they are.
    ///
    /// - Throws: `invalidState` if the session has started; `invalidArgument` if the container does not support the
    ///   track.
    public func addTrack(_ track: MediaTrack) async throws(MediaError) -> PacketInput {
        try checkIsReady()
        let number = try await file.addTrack(track)
        let input = readiness.add()
        packetTracks[input] = number
        return PacketInput(writer: self, index: input, track: track)
    }

    /// Sets metadata of the whole file, such as `title`; see `MediaSink.setMetadata`.
    ///
    /// - Throws: `invalidState` if the session has started.
    public func setMetadata(_ metadata: [String: String]) async throws(MediaError) -> MediaSink.Acceptance {
        try checkIsReady()
        return try await file.setMetadata(metadata)
    }

    /// Sets the chapters, whose times count from the start of the session; see `MediaSink.setChapters`. A recording that is
    /// split refuses them.
    ///
    /// - Throws: `invalidState` if the session has started; `invalidArgument` if a chapter's times are invalid.
    public func setChapters(_ chapters: [Chapter]) async throws(MediaError) -> MediaSink.Acceptance {
        try checkIsReady()
        return try await file.setChapters(chapters)
    }

    func checkIsReady() throws(MediaError) {
        guard status != .ready else { return }
        throw stateError("inputs are added before the session starts")
    }

    func stateError(_ message: String) -> MediaError {
        if case .failed(let error) = status { return error }
        if ending != nil, status == .writing { return MediaError(.invalidState, "the writer is finishing") }
        return MediaError(.invalidState, message, given: "a writer that is \(status.name)")
    }

    // MARK: - Session

    /// Starts the session, after which pictures and audio can be appended.
    ///
    /// - Throws: `invalidState` if it was started before, or while the video input is being added; `invalidArgument` if
    ///   there is no input, the container needs a video track and there is none, or the time is invalid.
    public func startSession(_ start: SessionTimeline.Start) async throws(MediaError) {
        guard status == .ready else { throw stateError("a session starts once") }
        guard video != nil || hasCodedVideo || !hasVideo else {
            throw MediaError(.invalidState, "the video input is being added")
        }
        guard readiness.count > 0 else { throw MediaError(.invalidArgument, "the writer has no input") }
        if case .at(let time) = start, !time.isValid {
            throw MediaError(.invalidArgument, "the start time is not valid", given: "\(time)", allowed: "a valid time")
        }
        timeline = SessionTimeline(start)
        status = .writing
        guard !hasVideo else { return }
        do throws(MediaError) {
            try await file.omitVideo()
        } catch {
            status = .ready
            throw error
        }
    }

    /// Ends the session at a time: later pictures are dropped, audio is cut there, and the last picture is shown until then.
    /// Applies to what is appended afterwards.
    ///
    /// - Throws: `invalidState` if no session is running; `invalidArgument` if the time is invalid.
    public func endSession(at time: MediaTime) async throws(MediaError) {
        try checkIsWriting()
        guard time.isValid else {
            throw MediaError(.invalidArgument, "the end time is not valid", given: "\(time)", allowed: "a valid time")
        }
        timeline.end(at: time)
        if let duration = timeline.duration { await file.endAudio(at: duration) }
    }

    func checkIsWriting() throws(MediaError) {
        guard status != .writing || ending != nil else { return }
        throw stateError("no session is running")
    }

    // MARK: - The end

    /// Encodes what is left and completes the file. Every input counts as finished; calls that append are completed before.
    ///
    /// Cancelling the calling task has no effect on it; use ``cancel()``.
    ///
    /// - Throws: `invalidState` if no session is running; `malformedData` if there is no picture, or without video nothing;
    ///   `cancelled` if
    ///   ``cancel()`` was called meanwhile; the error with which the writer failed. After an error, no file is left.
    public func finish() async throws(MediaError) -> Summary {
        if let ending, status == .writing { return try await ending.value.get() }
        if case .failed(let error) = status {
            await discarding?.value
            if let summary = await summary(after: failure ?? error) { return summary }
        }
        try checkIsWriting()
        readiness.finishAll()
        let work = Task { await complete() }
        ending = work
        resumeWaiting()
        return try await work.value.get()
    }

    private func complete() async -> Result<Summary, MediaError> {
        do throws(MediaError) {
            if appending > 0 { await withCheckedContinuation { idle.append($0) } }
            try await video?.session.finish()
            if let error = await video?.drain.value { throw error }
            try await file.finishVideo(end: timeline.duration)
            try await file.finishAudio()
            if isCancelRequested { throw MediaError(.cancelled, "the writer was cancelled") }
            let (last, files) = try await file.finish()
            status = .completed
            return .success(await summary(last, files))
        } catch {
            video?.session.cancel()
            let cause = await video?.drain.value ?? error
            let first = isCancelRequested ? MediaError(.cancelled, "the writer was cancelled") : cause
            status = isCancelRequested ? .cancelled : .failed(first)
            await discard()
            if let summary = await summary(after: failure ?? first) { return .success(summary) }
            return .failure(failure ?? first)
        }
    }

    private func summary(_ last: MediaSink.Summary, _ files: [File]) async -> Summary {
        Summary(
            file: last,
            files: files,
            picturesBeforeStart: picturesBeforeStart,
            picturesAfterEnd: picturesAfterEnd,
            audio: await file.placements,
            clocks: clocks.reduce(into: [:]) { all, item in
                if let track = audioTracks[item.key] { all[track] = item.value.clock }
            }
        )
    }

    /// What was kept of the files; `nil` if nothing was.
    private func summary(after error: MediaError) async -> Summary? {
        guard keepsFiles, let last = file.files.last else { return nil }
        var kept = await summary(last.summary, file.files)
        kept.failure = error
        return kept
    }

    private var keepsFiles: Bool {
        if case .failed = status { options.keepsFilesAfterFailure } else { false }
    }

    /// Discards the file. If ``finish()`` is already renaming it, waits for that, and the file stays.
    public func cancel() async {
        if let ending {
            isCancelRequested = true
            video?.session.cancel()
            file.abandon()
            _ = await ending.value
            return
        }
        guard status == .ready || status == .writing else { return }
        status = .cancelled
        await discard()
    }

    /// Ends the writer with the first error that occurred, and returns it.
    func fail(_ error: MediaError) async -> MediaError {
        guard status == .writing, ending == nil else { return stateError("the writer has ended") }
        var first = error
        if let video, error.code == .cancelled || error.code == .invalidState {
            // The session's error may only be a consequence of the file's.
            video.session.cancel()
            first = await video.drain.value ?? error
            guard status == .writing else { return stateError("the writer has ended") }
        }
        status = .failed(first)
        let work = Task { await discard() }
        discarding = work
        await work.value
        return failure ?? first
    }

    /// Ends everything; after a failure, the files are completed if that is wanted.
    private func discard() async {
        resumeWaiting()
        video?.session.cancel()
        // The reader of a FIFO may have stalled. A file has none.
        let keepsFiles = keepsFiles && file.temporaryPath != nil
        if !keepsFiles { file.abandon() }
        _ = await video?.drain.value
        guard keepsFiles else { return await file.abort() }
        let kept = await file.rescue()
        if let failure { status = .failed(failure.naming(keptPath: kept)) }
    }

    /// The error with which it has failed.
    private var failure: MediaError? { if case .failed(let error) = status { error } else { nil } }

    deinit { file.abandon() }
}

extension AssetWriter.Status {
    /// A word for messages.
    var name: String {
        switch self {
        case .ready: "not started"
        case .writing: "writing"
        case .completed: "completed"
        case .cancelled: "cancelled"
        case .failed: "failed"
        }
    }
}
