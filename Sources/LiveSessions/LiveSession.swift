// SPDX-License-Identifier: GPL-2.0-or-later

public import AssetWriting
internal import AudioCoding
internal import Capture
internal import MediaIO
internal import MediaTimeline
public import MediaTypes
internal import Synchronization
internal import VAToolbox

/// Encodes what devices and files deliver, in step, into a file or a live stream, until it is stopped: the counterpart of
/// `AVCaptureSession` with a movie file output.
///
/// The first picture and the first sound begin the recording together. Pictures keep their times, so that a variable frame
/// rate stays variable; sound is kept in step with them, whatever the drift of its device. Pictures for which the encoder is too
/// slow are dropped and counted, unless the input can wait.
public actor LiveSession {
    /// The pictures, of which one input at a time is used.
    private let pictureInputs: [LiveInput]
    /// The sound.
    private let soundInput: LiveInput?
    private let settings: LiveSettings
    private let makeWriter: @Sendable () async throws(MediaError) -> AssetWriter
    private let shared: Mutex<Shared>

    private var readers: [Int: LiveInput.Reader] = [:]
    private var contents: [Int: LiveContents] = [:]
    private var firstPicture: CapturedPicture?
    private var writer: AssetWriter?
    private var video: VideoInput?
    private var audio: AudioInput?
    /// Whether the writer is being made.
    private var isPreparing = false
    private var pauses = PausedTimeline()
    private var latestPicture: (buffer: PixelBuffer, time: MediaTime)?
    private var soundEnd: MediaTime?
    private var failure: MediaError?
    /// When the session ends by itself.
    private var end: MediaTime?
    /// The bitrate that the encoder has.
    private var bitRate: Int?

    /// What other threads read and set.
    private struct Shared {
        var status = LiveStatus()
        var active = 0
        var isKeyFrameWanted = false
        var isStopped = false
        var configuredBitRate: Int?
        var meter = LevelMeter()
        var interrupts: [@Sendable () -> Void] = []
    }

    /// Makes a session that writes a file.
    ///
    /// - Parameters:
    ///   - pictures: The inputs of pictures, of which the first one is used until ``use(input:)``; none for sound alone. A
    ///     file may deliver sound as well.
    ///   - sound: The input of sound; `nil` for that of the files.
    ///   - settings: The settings.
    ///   - path: The path of the file, as for `AssetWriter`.
    ///   - options: The options of the file.
    /// - Throws: `invalidArgument` if there is no input.
    public init(
        pictures: [LiveInput],
        sound: LiveInput? = nil,
        settings: LiveSettings,
        path: String,
        options: AssetWriter.Options = .init()
    ) throws(MediaError) {
        try self.init(pictures: pictures, sound: sound, settings: settings) { () async throws(MediaError) in
            try await AssetWriter(path: path, options: options)
        }
    }

    /// Makes a session with the writer that a closure makes when the inputs are known.
    init(
        pictures: [LiveInput],
        sound: LiveInput?,
        settings: LiveSettings,
        writer: @escaping @Sendable () async throws(MediaError) -> AssetWriter
    ) throws(MediaError) {
        guard !pictures.isEmpty || sound != nil else {
            throw MediaError(.invalidArgument, "a session has no input", allowed: "pictures, sound, or both")
        }
        (pictureInputs, soundInput, self.settings, makeWriter) = (pictures, sound, settings, writer)
        var begin = Shared()
        begin.status.inputs = (pictures + [sound].compactMap(\.self)).map { LiveStatus.Input(name: $0.name) }
        for index in begin.status.inputs.indices where index > 0 && index < pictures.count {
            begin.status.inputs[index].isActive = false
        }
        shared = Mutex(begin)
    }

    // MARK: - Control

    /// The present status. Levels are those since the last call. Safe on any thread.
    public nonisolated var status: LiveStatus {
        shared.withLock { shared in
            shared.status.levels = shared.meter.take().map(\.peak)
            return shared.status
        }
    }

    /// Ends the session: what was captured so far is encoded and written. Safe on any thread.
    public nonisolated func stop() {
        let interrupts = shared.withLock { shared in
            shared.isStopped = true
            shared.status.phase = .finishing
            return shared.interrupts
        }
        for interrupt in interrupts { interrupt() }
    }

    /// Pauses the session: what comes meanwhile is not in the result, which continues without a gap. Safe on any thread.
    public nonisolated func pause() { setPaused(true) }

    /// Continues after ``pause()``. Safe on any thread.
    public nonisolated func resume() { setPaused(false) }

    private nonisolated func setPaused(_ isPaused: Bool) {
        let now = MonotonicClock.now
        Task { await apply(isPaused, at: now) }
    }

    private func apply(_ isPaused: Bool, at time: MediaTime) {
        if isPaused { pauses.pause(at: time) } else { pauses.resume(at: time) }
        shared.withLock { shared in
            guard shared.status.phase == .running || shared.status.phase == .paused else { return }
            shared.status.phase = isPaused ? .paused : .running
            shared.isKeyFrameWanted = shared.isKeyFrameWanted || !isPaused
        }
    }

    /// Uses the pictures of another input from now on. Safe on any thread.
    ///
    /// - Parameter index: The index of the input among those of pictures; others have no effect.
    public nonisolated func use(input index: Int) {
        shared.withLock { shared in
            guard pictureInputs.indices.contains(index), shared.active != index else { return }
            shared.active = index
            shared.isKeyFrameWanted = true
            for other in pictureInputs.indices { shared.status.inputs[other].isActive = other == index }
        }
    }

    /// Makes the next picture a key frame. Safe on any thread.
    nonisolated func requestKeyFrame() { shared.withLock { $0.isKeyFrameWanted = true } }

    /// The bitrate with which the encoder has begun, in bit/s; `nil` before that, or if its rate control has none. Safe on
    /// any thread.
    nonisolated var configuredBitRate: Int? { shared.withLock { $0.configuredBitRate } }

    /// Changes the bitrate of the video.
    func update(bitRate: Int) async {
        guard let video, self.bitRate != bitRate else { return }
        do throws(MediaError) {
            try await video.session.update(EncoderUpdate(bitRate: bitRate))
            self.bitRate = bitRate
        } catch {
            // The session may be ending, and reports its own errors.
            return
        }
    }

    // MARK: - Running

    /// Runs until ``stop()``, until all inputs have ended, or until the first error.
    ///
    /// - Returns: What was written.
    /// - Throws: The error of an input that cannot be opened or has failed, of the encoder, or of the output.
    public func run() async throws(MediaError) -> AssetWriter.Summary {
        let inputs = pictureInputs + [soundInput].compactMap(\.self)
        for (index, input) in inputs.enumerated() {
            let reader = try LiveInput.Reader(name: "vt-input-\(index)", options: input.options, open: input.open)
            readers[index] = reader
            let interrupt: @Sendable () -> Void = { [weak reader] in
                input.interrupt()
                reader?.stop()
            }
            let isStopped = shared.withLock { shared in
                shared.interrupts.append(interrupt)
                return shared.isStopped
            }
            if isStopped { interrupt() }
        }
        await withTaskGroup(of: Void.self) { group in
            for (index, reader) in readers {
                group.addTask { await self.consume(reader, index) }
            }
            group.addTask { await self.fillGaps() }
            // The first inputs to end are not the end: the task for gaps ends last.
            await group.waitForAll()
        }
        return try await finish()
    }

    private func consume(_ reader: LiveInput.Reader, _ index: Int) async {
        while let event = await reader.next() {
            do throws(MediaError) {
                try await handle(event, from: index)
            } catch {
                fail(error)
            }
            shared.withLock { $0.status.inputs[index].lostByReader = reader.dropped }
            if failure != nil { break }
        }
        readers[index] = nil
        // The end of a file is the end of the session, unless another input is used by then.
        if readers.isEmpty || index == shared.withLock({ $0.active }) { stop() }
    }

    private func fail(_ error: MediaError) {
        guard failure == nil else { return }
        failure = error
        stop()
    }

    private func handle(_ event: LiveInput.Reader.Event, from index: Int) async throws(MediaError) {
        switch event {
        case .opened(let contents):
            self.contents[index] = contents
            shared.withLock {
                $0.status.inputs[index].contents = contents
                $0.status.inputs[index].error = nil
            }
            if pictureInputs.isEmpty { try await prepare() }
        case .item(.picture(let picture)):
            note(picture, index)
            lastPictureOfInput = picture.time
            guard shared.withLock({ $0.active == index }) else { return }
            try await prepare(picture)
            try await append(picture)
        case .item(.sound(let buffer)):
            guard isSound(index) else { return }
            shared.withLock { $0.meter.append(buffer) }
            try await append(buffer)
        case .gone(let error):
            shared.withLock {
                $0.status.inputs[index].error = error
                $0.status.inputs[index].losses += 1
            }
        case .failed(let error): throw error
        }
    }

    private func note(_ picture: CapturedPicture, _ index: Int) {
        shared.withLock {
            $0.status.inputs[index].pictures += 1
            $0.status.inputs[index].lostByDevice += picture.lostBefore
        }
    }

    /// Whether the sound of an input is used.
    private func isSound(_ index: Int) -> Bool {
        soundInput == nil ? shared.withLock { $0.active == index } : index == pictureInputs.count
    }

    // MARK: - The writer

    /// Makes the writer, as soon as there are a picture and the format of the sound.
    private func prepare(_ picture: CapturedPicture? = nil) async throws(MediaError) {
        guard writer == nil, !isPreparing, failure == nil else { return }
        let sound = soundInput == nil ? contents[shared.withLock { $0.active }] : contents[pictureInputs.count]
        guard soundInput == nil || sound != nil, !pictureInputs.isEmpty || sound != nil else { return }
        isPreparing = true
        defer { isPreparing = false }
        let writer = try await makeWriter()
        var video: VideoInput?
        if let picture {
            let active = shared.withLock { $0.active }
            let configuration = settings.configuration(
                for: contents[active] ?? LiveContents(),
                first: picture.buffer
            )
            var options = settings.session
            options.realTime = pictureInputs[active].isPatient ? nil : RealTimeMode()
            video = try await writer.addVideo(configuration, session: options)
            bitRate = configuration.rateControl.bitsPerSecond
            let configured = bitRate
            let encoder = video?.session.encoder
            shared.withLock {
                $0.status.encoder = encoder
                $0.configuredBitRate = configured
            }
        }
        var audio: AudioInput?
        if let format = sound?.sound { audio = try await writer.addAudio(settings.audio, format: format) }
        if let picture {
            let start = pauses.place(picture.time) ?? picture.time
            try await writer.startSession(.at(start))
            end = settings.duration.map { start + $0 }
            if let end { try await writer.endSession(at: end) }
        } else {
            try await writer.startSession(.first)
        }
        (self.writer, self.video, self.audio) = (writer, video, audio)
        shared.withLock { if $0.status.phase == .starting { $0.status.phase = .running } }
    }

    private func append(_ picture: CapturedPicture) async throws(MediaError) {
        guard let video, let time = pauses.place(picture.time) else { return }
        // After a change of inputs, a picture may be earlier than the last one.
        if let latestPicture, time <= latestPicture.time { return }
        latestPicture = (picture.buffer, time)
        if let end, time >= end { stop() }
        let isKeyFrame = shared.withLock { shared in
            defer { shared.isKeyFrameWanted = false }
            return shared.isKeyFrameWanted
        }
        let disposition = try await video.append(
            picture.buffer,
            at: time,
            options: FrameOptions(forceKeyFrame: isKeyFrame)
        )
        if isKeyFrame, disposition == .dropped { requestKeyFrame() }
        await note(video.session)
    }

    /// Takes over what the encoder and the file tell. Pictures may be dropped after they were taken to wait.
    private func note(_ session: CompressionSession) async {
        let statistics = await session.statistics
        let duration = writer?.recordedDuration ?? .zero
        let (files, temporaryPath) = (writer?.files ?? [], writer?.temporaryPath)
        shared.withLock { shared in
            shared.status.lostByEncoder = statistics.droppedFrames
            shared.status.encodedPictures = statistics.acceptedFrames
            shared.status.duration = duration
            (shared.status.files, shared.status.temporaryPath) = (files, temporaryPath)
        }
    }

    private func append(_ buffer: AudioBuffer) async throws(MediaError) {
        guard let audio else { return }
        var buffer = buffer
        if buffer.presentationTime.isValid {
            guard let time = pauses.place(buffer.presentationTime) else { return }
            buffer.presentationTime = time
        }
        if buffer.presentationTime.isValid {
            soundEnd = buffer.presentationTime + buffer.duration
            if video == nil, end == nil, let duration = settings.duration {
                let limit = buffer.presentationTime + duration
                end = limit
                try await writer?.endSession(at: limit)
            }
            if video == nil, let end, let soundEnd, soundEnd >= end { stop() }
        }
        try await audio.append(buffer)
        if video == nil, let duration = writer?.recordedDuration { shared.withLock { $0.status.duration = duration } }
    }

    // MARK: - Absent inputs

    /// Repeats pictures, and makes silence, while inputs deliver nothing, so that receivers get a continuous stream.
    private func fillGaps() async {
        guard case .slate = settings.absence else { return }
        while !shared.withLock({ $0.isStopped }) {
            try? await Task.sleep(for: .milliseconds(100))
            do throws(MediaError) {
                try await fillGap(at: MonotonicClock.now)
            } catch {
                fail(error)
            }
        }
    }

    /// How long pictures and sound may be late before they are replaced.
    private static let patience = MediaTime(value: 4, timescale: 10)
    /// How far behind the present silence ends, so that late sound still has its place.
    private static let silenceLead = MediaTime(value: 2, timescale: 10)
    /// How long the last picture is shown before the slate.
    private static let slatePatience = MediaTime(value: 3, timescale: 1)

    private var lastPictureOfInput: MediaTime?
    private var slate: PixelBuffer?

    private func fillGap(at now: MediaTime) async throws(MediaError) {
        guard !pauses.isPaused, let time = pauses.place(now), writer != nil else { return }
        if let latestPicture, time - latestPicture.time > Self.patience, failure == nil {
            let absent = now - (lastPictureOfInput ?? now)
            let picture =
                absent > Self.slatePatience ? try slatePicture(like: latestPicture.buffer) : latestPicture.buffer
            shared.withLock { $0.status.repeatedPictures += 1 }
            try await append(CapturedPicture(picture, time: now))
        }
        if let end = soundEnd, time - end > Self.patience, let format = soundFormat {
            let missing = (time - end - Self.silenceLead).converted(to: Int32(clamping: format.sampleRate)).value
            let silence = AudioBuffer(format: format, frameCount: Int(missing), presentationTime: end)
            soundEnd = end + silence.duration
            try await audio?.append(silence)
        }
    }

    private var soundFormat: AudioFormat? {
        (soundInput == nil ? contents[shared.withLock { $0.active }] : contents[pictureInputs.count])?.sound
    }

    private func slatePicture(like picture: PixelBuffer) throws(MediaError) -> PixelBuffer {
        if case .slate(let given?) = settings.absence { return given }
        if let slate { return slate }
        let made = try PixelBuffer.slate(width: picture.width & ~1, height: picture.height & ~1)
        slate = made
        return made
    }

    // MARK: - The end

    private func finish() async throws(MediaError) -> AssetWriter.Summary {
        for reader in readers.values { reader.stop() }
        guard let writer else {
            throw failure ?? MediaError(.cancelled, "the session ended before the first picture")
        }
        if let failure {
            await writer.cancel()
            throw failure
        }
        let summary = try await writer.finish()
        if let video { await note(video.session) }
        return summary
    }
}
