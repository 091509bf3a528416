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
/// Then pictures and buffers are appended to `video` and `audio`, and ``finish()`` completes the file. A file has one video
/// input, without which there is no file, and any number of audio inputs.
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
/// **Failure.** After the first error of an encoder or of the file, every call throws this error, and no file is left. The
/// same holds after ``cancel()``, and if a writer is released without ``finish()``.
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
        /// The written file.
        public var file: MediaSink.Summary
        /// The number of pictures that were dropped because the session had not started, or started later.
        public var picturesBeforeStart: Int
        /// The number of pictures that were dropped because they were after the end.
        public var picturesAfterEnd: Int
        /// What was inserted, cut and corrected in each audio input, in the order of the inputs.
        public var audio: [AudioPlacement]
    }

    /// The state of the writer.
    public private(set) var status = Status.ready
    /// The temporary path of the file until ``finish()`` renames it; `nil` if the output is not a regular file. After a
    /// crash, a fragmented file is playable up to its last fragment: see `MediaSink.Options.fragmentInterval`.
    public nonisolated var temporaryPath: String? { file.temporaryPath }

    /// How much video was written so far, from the start of the session: the counterpart of
    /// `AVCaptureFileOutput.recordedDuration`. Safe on any thread.
    public nonisolated var recordedDuration: MediaTime { file.recordedDuration }

    private let options: Options
    private let file: AssetFile
    private var readiness: InputReadiness
    private var timeline = SessionTimeline(.at(.zero))
    private var video: (session: CompressionSession, drain: Task<MediaError?, Never>)?
    private var hasVideo = false
    /// The work of ``finish()``.
    private var ending: Task<Result<Summary, MediaError>, Never>?
    private var isCancelRequested = false
    /// The number of calls that append, and what waits for their end.
    private var appending = 0
    private var idle: [CheckedContinuation<Void, Never>] = []
    private var audioTracks: [Int: Int] = [:]
    /// The end of the latest buffer of each audio input, on the sources' clock.
    private var audioEnds: [Int: MediaTime] = [:]
    private var picturesBeforeStart = 0
    private var picturesAfterEnd = 0
    private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    private var waitCount = 0

    /// Opens a file for writing.
    ///
    /// - Parameters:
    ///   - path: The path of the file, as for `MediaSink`.
    ///   - options: The options.
    /// - Throws: As `MediaSink.init`.
    public init(path: String, options: Options = Options()) async throws(MediaError) {
        self.options = options
        file = try await AssetFile(path: path, options: options.sink, logger: options.logger)
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
            if session.encoder.identity.isHardware { await file.repeatParameterSets() }
            video = (session, drain(session))
            return VideoInput(writer: self, index: readiness.add(), session: session)
        } catch {
            hasVideo = false
            throw error
        }
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
        Task { await discard() }
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
        try await file.addTrack(track)
        return PacketInput(writer: self, index: readiness.add(), track: track)
    }

    /// Sets metadata of the whole file, such as `title`; see `MediaSink.setMetadata`.
    ///
    /// - Throws: `invalidState` if the session has started.
    public func setMetadata(_ metadata: [String: String]) async throws(MediaError) -> MediaSink.Acceptance {
        try checkIsReady()
        return try await file.setMetadata(metadata)
    }

    private func checkIsReady() throws(MediaError) {
        guard status != .ready else { return }
        throw stateError("inputs are added before the session starts")
    }

    private func stateError(_ message: String) -> MediaError {
        if case .failed(let error) = status { return error }
        if ending != nil, status == .writing { return MediaError(.invalidState, "the writer is finishing") }
        return MediaError(.invalidState, message, given: "a writer that is \(status.name)")
    }

    // MARK: - Session

    /// Starts the session, after which pictures and audio can be appended.
    ///
    /// - Throws: `invalidState` if it was started before; `invalidArgument` if there is no video input, or the time is
    ///   invalid.
    public func startSession(_ start: SessionTimeline.Start) throws(MediaError) {
        guard status == .ready else { throw stateError("a session starts once") }
        guard video != nil else { throw MediaError(.invalidArgument, "the writer has no video input") }
        if case .at(let time) = start, !time.isValid {
            throw MediaError(.invalidArgument, "the start time is not valid", given: "\(time)", allowed: "a valid time")
        }
        timeline = SessionTimeline(start)
        status = .writing
    }

    /// Ends the session at a time: later pictures are dropped, and audio is cut there. Applies to what is appended
    /// afterwards.
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

    private func checkIsWriting() throws(MediaError) {
        guard status != .writing || ending != nil else { return }
        throw stateError("no session is running")
    }

    // MARK: - Appending

    func append(
        _ picture: PixelBuffer,
        at time: MediaTime,
        duration: MediaTime,
        options: FrameOptions,
        input: Int
    ) async throws(MediaError) -> FrameDisposition? {
        try begin(input)
        defer { end() }
        guard time.isValid else {
            throw MediaError(.invalidArgument, "a picture has no valid time", given: "\(time)", allowed: "a valid time")
        }
        note(input, time + (duration.isValid ? duration : .zero))
        switch timeline.placePicture(at: time) {
        case .beforeStart:
            picturesBeforeStart += 1
            return nil
        case .afterEnd:
            picturesAfterEnd += 1
            return nil
        case .at(let place):
            guard let video else { return nil }
            do throws(MediaError) {
                return try await video.session.encode(
                    picture,
                    presentationTime: place,
                    duration: duration,
                    options: options
                )
            } catch {
                throw await failure(error, ofItem: [.invalidArgument, .unsupported])
            }
        }
    }

    func append(_ buffer: AudioBuffer, input: Int) async throws(MediaError) {
        try begin(input)
        defer { end() }
        guard let track = audioTracks[input] else { return }
        var buffer = buffer
        if !buffer.presentationTime.isValid {
            buffer.presentationTime = audioEnds[input] ?? timeline.origin ?? .zero
        }
        let end = buffer.presentationTime + buffer.duration
        audioEnds[input] = end
        note(input, end)
        let hadOrigin = timeline.origin != nil
        switch timeline.placeAudio(at: buffer.presentationTime, duration: buffer.duration) {
        case .beforeStart, .afterEnd: return
        case .at(let place): buffer.presentationTime = place
        }
        // The first audio may start the session, and only then is its end known on the timeline of the file.
        if !hadOrigin, let end = timeline.duration { await file.endAudio(at: end) }
        do throws(MediaError) {
            try await file.append(buffer, track: track)
        } catch {
            throw await failure(error, ofItem: [.invalidArgument, .unsupported, .malformedData])
        }
    }

    func append(_ packet: MediaPacket, of track: MediaTrack, input: Int) async throws(MediaError) {
        try begin(input)
        defer { end() }
        guard packet.track === track else {
            throw MediaError(
                .invalidArgument,
                "the packet belongs to another track",
                given: "track \(packet.track.index)",
                allowed: "track \(track.index)"
            )
        }
        if let origin = timeline.origin { note(input, packet.presentationTime + origin) }
        do throws(MediaError) {
            try await file.write(packet)
        } catch {
            throw await failure(error, ofItem: [.invalidArgument, .malformedData])
        }
    }

    private func begin(_ input: Int) throws(MediaError) {
        try check(input)
        appending += 1
    }

    private func end() {
        appending -= 1
        guard appending == 0 else { return }
        let all = idle
        idle = []
        for continuation in all { continuation.resume() }
    }

    /// Returns the error to throw for an item. If it concerns more than the item, the writer ends.
    ///
    /// - Parameter codes: The codes of errors about the item alone, without which the writer continues.
    private func failure(_ error: MediaError, ofItem codes: [MediaError.Code]) async -> MediaError {
        let isCancelledCall = error.code == .cancelled && Task.isCancelled
        if codes.contains(error.code) || isCancelledCall { return error }
        return await fail(error)
    }

    private func check(_ input: Int) throws(MediaError) {
        try checkIsWriting()
        guard !readiness.isFinished(input) else { throw MediaError(.invalidState, "the input is marked as finished") }
    }

    private func note(_ input: Int, _ end: MediaTime) {
        if end.isValid, readiness.note(input, end: end) { resumeWaiting() }
    }

    func markAsFinished(_ input: Int) {
        readiness.finish(input)
        resumeWaiting()
    }

    // MARK: - Readiness

    func isReady(_ input: Int) -> Bool { status == .writing && readiness.isReady(input) }

    func waitUntilReady(_ input: Int) async throws(MediaError) {
        try checkIsWriting()
        let deadline = ContinuousClock.now + options.patience
        while status == .writing, ending == nil, !readiness.isReady(input), !readiness.isFinished(input) {
            guard ContinuousClock.now < deadline else {
                // The inputs that deliver nothing are not waited for again until they do.
                readiness.excuseLaggards(of: input)
                break
            }
            await wait(until: deadline)
            if Task.isCancelled { throw MediaError(.cancelled, "the call was cancelled") }
        }
        try checkIsWriting()
    }

    /// Waits until an input has delivered something, the deadline, or the cancellation of the task.
    private func wait(until deadline: ContinuousClock.Instant) async {
        let number = waitCount
        waitCount += 1
        let timer = Task { [weak self] in
            guard (try? await Task.sleep(until: deadline)) != nil else { return }
            await self?.resume(number)
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { continuation.resume() } else { waiting[number] = continuation }
            }
        } onCancel: {
            Task { await self.resume(number) }
        }
        timer.cancel()
    }

    private func resume(_ number: Int) { waiting.removeValue(forKey: number)?.resume() }

    private func resumeWaiting() {
        let all = waiting
        waiting = [:]
        for continuation in all.values { continuation.resume() }
    }

    // MARK: - The end

    /// Encodes what is left and completes the file. Every input counts as finished; calls that append are completed before.
    ///
    /// Cancelling the calling task has no effect on it; use ``cancel()``.
    ///
    /// - Throws: `invalidState` if no session is running; `malformedData` if there is no picture; `cancelled` if
    ///   ``cancel()`` was called meanwhile; the error with which the writer failed. After an error, no file is left.
    public func finish() async throws(MediaError) -> Summary {
        if let ending, status == .writing { return try await ending.value.get() }
        try checkIsWriting()
        guard let video else { throw MediaError(.invalidArgument, "the writer has no video input") }
        readiness.finishAll()
        let work = Task { await complete(video.session, video.drain) }
        ending = work
        resumeWaiting()
        return try await work.value.get()
    }

    private func complete(
        _ session: CompressionSession,
        _ drain: Task<MediaError?, Never>
    ) async -> Result<Summary, MediaError> {
        do throws(MediaError) {
            if appending > 0 { await withCheckedContinuation { idle.append($0) } }
            let audio = try await file.finishAudio()
            try await session.finish()
            if let error = await drain.value { throw error }
            if isCancelRequested { throw MediaError(.cancelled, "the writer was cancelled") }
            let summary = try await file.finish()
            status = .completed
            return .success(
                Summary(
                    file: summary,
                    picturesBeforeStart: picturesBeforeStart,
                    picturesAfterEnd: picturesAfterEnd,
                    audio: audio
                )
            )
        } catch {
            session.cancel()
            let cause = await drain.value ?? error
            let first = isCancelRequested ? MediaError(.cancelled, "the writer was cancelled") : cause
            status = isCancelRequested ? .cancelled : .failed(first)
            await discard()
            return .failure(first)
        }
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
    private func fail(_ error: MediaError) async -> MediaError {
        guard status == .writing, ending == nil else { return stateError("the writer has ended") }
        var first = error
        if let video, error.code == .cancelled || error.code == .invalidState {
            // The session's error may only be a consequence of the file's.
            video.session.cancel()
            first = await video.drain.value ?? error
            guard status == .writing else { return stateError("the writer has ended") }
        }
        status = .failed(first)
        await discard()
        return first
    }

    private func discard() async {
        resumeWaiting()
        video?.session.cancel()
        file.abandon()
        _ = await video?.drain.value
        await file.abort()
    }

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
