// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
public import MediaIO
public import MediaTimeline
public import MediaTypes
public import VAToolbox

/// Records pictures, sound and coded packets into one file: the counterpart of `AVAssetWriter`.
///
/// ```swift
/// let writer = try await AssetWriter(path: CommandLine.arguments[1], options: options)
/// let video = try await writer.addVideo(configuration)
/// let sound = try await writer.addAudio(.voice, format: format)
/// try await writer.startSession()
/// ```
///
/// Then pictures and buffers are appended to `video` and `sound`, and ``finish()`` completes the file.
///
/// A writer is used once. Its inputs are added before ``startSession(_:)``. Pictures are encoded by a
/// `CompressionSession`, with its promises: an accepted picture is in the file exactly once, whichever encoder does the
/// work. Sound is encoded by an `AudioEncoder`, which keeps it in step with the times of its buffers.
///
/// **Times** are those of a clock that all inputs share. Time zero of the file is the start of the session.
///
/// **Waiting.** `append` of a picture waits while the encoder is busy, unless its session is in real-time mode. No
/// `append` waits for another input, so one task can append everything in any order; what an input is ahead of the others
/// waits in memory and, above 64 MiB, in a temporary file. Tasks that want to stay together call
/// ``VideoInput/waitUntilReady()`` before each `append`.
///
/// **Failure.** The first error of an encoder or of the file ends the writer: ``status`` and every later call have it,
/// and no file is left. The same holds after ``cancel()``, and if a writer is released without ``finish()``.
public actor AssetWriter {
    /// The state of a writer.
    public enum Status: Sendable, Hashable {
        /// Inputs can be added.
        case ready
        /// Pictures and sound can be appended.
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
        /// By how much an input may be ahead of the others before it is no longer ready; default: 1 s.
        public var interleaving = MediaTime(value: 1, timescale: 1)
        /// How long an input waits for others that deliver nothing; default: 5 s.
        public var patience = Duration.seconds(5)

        /// Makes the default options.
        public init() {}
    }

    /// The results of a writer.
    public struct Summary: Sendable, Hashable {
        /// The written file.
        public var file: MediaSink.Summary
        /// The number of pictures that were not used because they were before the start.
        public var picturesBeforeStart: Int
        /// The number of pictures that were not used because they were after the end.
        public var picturesAfterEnd: Int
        /// What was inserted, cut and corrected in each audio input, in the order of the inputs.
        public var sound: [SoundPlacement]
    }

    /// The state of the writer.
    public private(set) var status = Status.ready
    /// The path of the file until ``finish()`` gives it its name; `nil` if it is not a regular file. If the process is
    /// killed, a fragmented recording plays from there, up to the last fragment: see
    /// `MediaSink.Options.fragmentInterval`.
    public nonisolated var temporaryPath: String? { file.temporaryPath }

    private let options: Options
    private let file: AssetFile
    private var readiness: InputReadiness
    private var timeline = SessionTimeline(.at(.zero))
    private var video: (session: CompressionSession, input: Int, drain: Task<Void, any Error>)?
    private var soundTracks: [Int: Int] = [:]
    private var picturesBeforeStart = 0
    private var picturesAfterEnd = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Opens a file for writing.
    ///
    /// - Parameters:
    ///   - path: The path of the file, as for `MediaSink`.
    ///   - options: The options.
    /// - Throws: As `MediaSink.init`.
    public init(path: String, options: Options = Options()) async throws(MediaError) {
        self.options = options
        file = try await AssetFile(path: path, options: options.sink)
        readiness = InputReadiness(largestLead: options.interleaving)
    }

    // MARK: - Inputs

    /// Adds the video input. A file has one.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the encoder.
    ///   - session: The options of its session; in real-time mode, it drops pictures instead of waiting.
    /// - Throws: `invalidState` if the session has started or there is a video input; `invalidArgument` if the container
    ///   does not support the codec; as `CompressionSession.init`.
    public func addVideo(
        _ configuration: EncoderConfiguration,
        session options: SessionOptions = .init()
    ) async throws(MediaError) -> VideoInput {
        try checkIsReady()
        guard video == nil else { throw MediaError(.invalidState, "the writer has a video input") }
        let session = try await CompressionSession(configuration: configuration, options: options)
        try checkIsReady()
        try file.format.validate(session.encoder.identity.codec)
        let drain = Task { [file, samples = session.samples] in try await file.write(samples) }
        let input = readiness.add()
        video = (session, input, drain)
        return VideoInput(writer: self, index: input, session: session)
    }

    /// Adds an audio input whose buffers are encoded.
    ///
    /// - Parameters:
    ///   - settings: The codec, bitrate, rate and channels.
    ///   - format: The format of the first buffer.
    /// - Throws: `invalidState` if the session has started; `invalidArgument` for a setting out of range, or if the
    ///   container does not support the codec; as `AudioEncoder.init`.
    public func addAudio(
        _ settings: AudioEncoderSettings,
        format: AudioFormat
    ) async throws(MediaError) -> AudioInput {
        try checkIsReady()
        let (track, adjustments) = try await file.addAudio(settings, format)
        let input = readiness.add()
        soundTracks[input] = track
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

    private func checkIsReady() throws(MediaError) {
        guard status != .ready else { return }
        throw stateError("inputs are added before the session starts")
    }

    private func stateError(_ message: String) -> MediaError {
        if case .failed(let error) = status { return error }
        return MediaError(.invalidState, message, given: "a writer that is \(status.name)")
    }

    // MARK: - Session

    /// Starts the session, after which pictures and sound can be appended.
    ///
    /// - Throws: `invalidState` if it was started before; `invalidArgument` if there is no video input, or the time is
    ///   invalid.
    public func startSession(_ start: SessionTimeline.Start = .at(.zero)) throws(MediaError) {
        guard status == .ready else { throw stateError("a session starts once") }
        guard video != nil else { throw MediaError(.invalidArgument, "the writer has no video input") }
        if case .at(let time) = start, !time.isValid {
            throw MediaError(.invalidArgument, "the start time is not valid", given: "\(time)", allowed: "a valid time")
        }
        timeline = SessionTimeline(start)
        status = .writing
    }

    /// Ends the session at a time: pictures from then on are not used, and sound is cut there. Applies to what is
    /// appended afterwards.
    ///
    /// - Throws: `invalidState` if no session is running; `invalidArgument` if the time is invalid.
    public func endSession(at time: MediaTime) async throws(MediaError) {
        try checkIsWriting()
        guard time.isValid else {
            throw MediaError(.invalidArgument, "the end time is not valid", given: "\(time)", allowed: "a valid time")
        }
        timeline.end(at: time)
        if let duration = timeline.duration { await file.endSound(at: duration) }
    }

    private func checkIsWriting() throws(MediaError) {
        guard status != .writing else { return }
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
        try check(input)
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
                // An error about the picture, and a cancelled call, concern only this picture.
                let isCancelledCall = error.code == .cancelled && Task.isCancelled
                if error.code == .invalidArgument || isCancelledCall, status == .writing { throw error }
                throw await fail(error)
            }
        }
    }

    func append(_ buffer: AudioBuffer, input: Int) async throws(MediaError) {
        try check(input)
        guard let track = soundTracks[input] else { return }
        var buffer = buffer
        if buffer.presentationTime.isValid {
            note(input, buffer.presentationTime + buffer.duration)
            let (origin, end) = (timeline.origin, timeline.duration)
            switch timeline.placeSound(at: buffer.presentationTime, duration: buffer.duration) {
            case .beforeStart, .afterEnd: return
            case .at(let place): buffer.presentationTime = place
            }
            // The first sound may start the session, whose end is known only then.
            if origin == nil, end == nil, let end = timeline.duration { await file.endSound(at: end) }
        }
        do throws(MediaError) { try await file.append(buffer, track: track) } catch { throw await fail(error) }
    }

    func append(_ packet: MediaPacket, input: Int) async throws(MediaError) {
        try check(input)
        note(input, packet.presentationTime)
        do throws(MediaError) {
            try await file.write(packet)
        } catch {
            if [.invalidArgument, .malformedData].contains(error.code) { throw error }
            throw await fail(error)
        }
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
        while status == .writing, !readiness.isReady(input), ContinuousClock.now < deadline {
            let timer = Task { [weak self] in
                try? await Task.sleep(until: deadline)
                await self?.resumeWaiting()
            }
            await withCheckedContinuation { waiting.append($0) }
            timer.cancel()
            guard !Task.isCancelled else { throw MediaError(.cancelled, "the call was cancelled") }
        }
        try checkIsWriting()
    }

    private func resumeWaiting() {
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    // MARK: - The end

    /// Encodes what is left and completes the file. Every input counts as finished.
    ///
    /// - Throws: `invalidState` if no session is running; `malformedData` if there is no picture; the error with which
    ///   the writer failed. No file is left then.
    public func finish() async throws(MediaError) -> Summary {
        try checkIsWriting()
        guard let video else { throw MediaError(.invalidArgument, "the writer has no video input") }
        readiness.finishAll()
        resumeWaiting()
        do throws(MediaError) {
            let sound = try await file.finishSound()
            try await video.session.finish()
            try await result(of: video.drain)
            let summary = try await file.finish()
            guard status == .writing else { throw stateError("the writer was cancelled") }
            status = .completed
            return Summary(
                file: summary,
                picturesBeforeStart: picturesBeforeStart,
                picturesAfterEnd: picturesAfterEnd,
                sound: sound
            )
        } catch {
            throw await fail(error)
        }
    }

    /// Discards the file. Has no effect after ``finish()``.
    public func cancel() async {
        guard status == .ready || status == .writing else { return }
        status = .cancelled
        await discard()
    }

    private func result(of drain: Task<Void, any Error>) async throws(MediaError) {
        if case .failure(let error) = await drain.result {
            throw error as? MediaError ?? MediaError(.inputOutput, "writing failed: \(error)")
        }
    }

    /// Ends the writer with the first error that occurred, and returns it.
    private func fail(_ error: MediaError) async -> MediaError {
        guard status == .writing else { return stateError("the writer has ended") }
        var first = error
        // The session's error may only be a consequence of the file's.
        if let video, error.code == .cancelled || error.code == .invalidState,
            case .failure(let cause) = await video.drain.result
        {
            first = cause as? MediaError ?? error
        }
        guard status == .writing else { return stateError("the writer has ended") }
        status = .failed(first)
        await discard()
        return first
    }

    private func discard() async {
        resumeWaiting()
        video?.session.cancel()
        _ = await video?.drain.result
        await file.abort()
    }
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
