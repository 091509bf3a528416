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
///
/// A device that is gone is waited for. If an input fails for good, the session ends as if it was stopped, and the status tells
/// the failure; so it does if the encoder or the disk fails, and the options of the writer keep what was written until then.
public actor LiveSession {
    /// The pictures, of which one input at a time is used.
    let pictureInputs: [LiveInput]
    /// The sound.
    let soundInput: LiveInput?
    let settings: LiveSettings
    /// Makes the writer of a rendition; the first one gets the sound as well.
    let makeWriter: @Sendable (Int) async throws(MediaError) -> AssetWriter
    let shared: Mutex<Shared>

    private var readers: [Int: LiveInput.Reader] = [:]
    private var hasRun = false
    var contents: [Int: LiveContents] = [:]
    /// The writer and its inputs, from the first picture on.
    var work: Work?
    var isPreparing = false
    /// Sound that has come before the writer was ready.
    var early = EarlySound()
    /// The latest picture that was passed on, with its time on the timeline of the session.
    var latestPicture: (buffer: PixelBuffer, time: MediaTime)?
    /// When the session began, on `CLOCK_MONOTONIC`.
    var begin: MediaTime?
    /// When the active input has delivered its latest picture, on `CLOCK_MONOTONIC`.
    var latestArrival: MediaTime?
    /// The end of the sound that was passed on, on the timeline of the session.
    var soundEnd: MediaTime?
    private var failure: MediaError?
    /// The bitrate that the encoder has.
    private var bitRate: Int?
    var slate: PixelBuffer?
    var dmaBufTrial = DMABufTrial()
    var codedPictures = CodedPictures()
    /// The time of the latest picture that was passed through.
    var latestCoded: MediaTime?

    /// What encodes and writes.
    struct Work: Sendable {
        var writer: AssetWriter
        var video: VideoInput?
        /// The video that is passed through.
        var coded: CodedVideoInput?
        var audio: AudioInput?
        /// Note when encoders are replaced, until their sessions have ended.
        var switches: [Task<Void, Never>] = []
        /// The renditions, if there are several; ``video`` is `nil` then.
        var ladder: Ladder?
        /// The format with which the audio input began.
        var soundFormat: AudioFormat?
        /// When the session ends by itself, on its own timeline; `nil` if it does not, or not yet.
        var end: MediaTime?

        /// The writers of all renditions.
        var writers: [AssetWriter] { [writer] + (ladder?.encoders.dropFirst().map(\.writer) ?? []) }
        /// Whether it encodes pictures.
        var hasPictures: Bool { video != nil || coded != nil || ladder != nil }
    }

    /// What other threads read and set.
    struct Shared {
        var status = LiveStatus()
        var active = 0
        var isKeyFrameWanted = false
        var isStopped = false
        /// The bitrates with which the encoders of the renditions have begun.
        var configuredBitRates: [Int?] = []
        var pauses = PausedTimeline()
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
    /// - Throws: `invalidArgument` if there is no input, or a setting is out of range.
    public init(
        pictures: [LiveInput],
        sound: LiveInput? = nil,
        settings: LiveSettings,
        path: String,
        options: AssetWriter.Options = .init()
    ) throws(MediaError) {
        try self.init(pictures: pictures, sound: sound, settings: settings) { _ async throws(MediaError) in
            try await AssetWriter(path: path, options: options)
        }
    }

    /// Makes a session with the writers that a closure makes when the inputs are known: one for each rendition, by its number.
    init(
        pictures: [LiveInput],
        sound: LiveInput?,
        settings: LiveSettings,
        writer: @escaping @Sendable (Int) async throws(MediaError) -> AssetWriter
    ) throws(MediaError) {
        guard !pictures.isEmpty || sound != nil else {
            throw MediaError(.invalidArgument, "a session has no input", allowed: "pictures, sound, or both")
        }
        try settings.validate()
        try settings.validate(passingThrough: pictures)
        (pictureInputs, soundInput, self.settings, makeWriter) = (pictures, sound, settings, writer)
        var begin = Shared()
        begin.status.inputs = (pictures + [sound].compactMap(\.self)).map { LiveStatus.Input(name: $0.name) }
        begin.status.renditions = settings.renditions.map { LiveStatus.Rendition($0) }
        for index in begin.status.inputs.indices where index > 0 && index < pictures.count {
            begin.status.inputs[index].isActive = false
        }
        shared = Mutex(begin)
    }

    // MARK: - Control

    /// The present status. Safe on any thread.
    public nonisolated var status: LiveStatus { shared.withLock { $0.status } }

    /// Returns the loudest sample of each channel since the last call, in dBFS; empty without sound. Safe on any thread.
    public nonisolated func takeLevels() -> [Double] { shared.withLock { $0.meter.take().map(\.peak) } }

    /// Ends the session: what was captured so far is encoded and written. Safe on any thread.
    public nonisolated func stop() {
        let interrupts = shared.withLock { shared in
            shared.isStopped = true
            shared.status.phase = .finishing
            return shared.interrupts
        }
        for interrupt in interrupts { interrupt() }
    }

    /// Adds what ends a wait when the session is stopped.
    func onStop(_ interrupt: @escaping @Sendable () -> Void) {
        let isStopped = shared.withLock { shared in
            shared.interrupts.append(interrupt)
            return shared.isStopped
        }
        if isStopped { interrupt() }
    }

    /// Pauses the session: what comes meanwhile is not in the result, which continues without a gap. Safe on any thread.
    public nonisolated func pause() { setPaused { _ in true } }

    /// Continues after ``pause()``. Safe on any thread.
    public nonisolated func resume() { setPaused { _ in false } }

    /// Pauses, or continues after a pause. Safe on any thread.
    public nonisolated func togglePause() { setPaused { !$0 } }

    private nonisolated func setPaused(_ change: (Bool) -> Bool) {
        let now = MonotonicClock.now
        shared.withLock { shared in
            let isPaused = change(shared.pauses.isPaused)
            guard isPaused != shared.pauses.isPaused, shared.status.phase != .finishing else { return }
            if isPaused { shared.pauses.pause(at: now) } else { shared.pauses.resume(at: now) }
            shared.isKeyFrameWanted = shared.isKeyFrameWanted || !isPaused
            if shared.status.phase != .starting { shared.status.phase = isPaused ? .paused : .running }
        }
    }

    /// Returns a time of the inputs without the pauses; `nil` within a pause.
    nonisolated func place(_ time: MediaTime) -> MediaTime? { shared.withLock { $0.pauses.place(time) } }

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

    /// The bitrates with which the encoders of the renditions have begun, in bit/s; empty before that. One whose rate control
    /// has none is `nil`. Safe on any thread.
    nonisolated var configuredBitRates: [Int?] { shared.withLock { $0.configuredBitRates } }

    /// Changes the bitrate of the video.
    ///
    /// - Parameter rendition: The number of the rendition.
    /// - Returns: Whether the encoder has it now.
    func update(bitRate: Int, of rendition: Int = 0) async -> Bool {
        guard let video = work?.ladder?.encoders[rendition].video ?? work?.video else { return false }
        do throws(MediaError) {
            try await video.session.update(EncoderUpdate(bitRate: bitRate))
            return true
        } catch {
            // The session may be ending, and reports its own errors.
            return false
        }
    }

    // MARK: - Running

    /// Runs until ``stop()``, until the active input has ended, or until a failure. It can run once. Cancelling the task stops
    /// it.
    ///
    /// - Returns: What was written. If an input has failed, ``LiveStatus/failure`` tells it.
    /// - Throws: The error of an input that fails before the first picture, of the encoder, or of the output; `cancelled` if
    ///   it was stopped before the first picture; `invalidState` if it has run before.
    public func run() async throws(MediaError) -> AssetWriter.Summary {
        guard !hasRun else { throw MediaError(.invalidState, "the session has run already") }
        hasRun = true
        defer { for reader in readers.values { reader.stop() } }
        let inputs = pictureInputs + [soundInput].compactMap(\.self)
        await chooseMemory()
        for (index, input) in inputs.enumerated() {
            let reader = try LiveInput.Reader(name: "vt-input-\(index)", options: input.options, open: input.open)
            readers[index] = reader
            onStop { [weak reader] in
                // First the signal, so that the end of a blocked read is not taken for a failure.
                reader?.stop()
                input.interrupt()
            }
        }
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                for (index, reader) in readers { group.addTask { await self.consume(reader, index) } }
                group.addTask { await self.watch() }
                await group.waitForAll()
            }
        } onCancel: {
            stop()
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
            let hasGap = shared.withLock { shared in
                defer { shared.status.inputs[index].lostByReader = reader.dropped }
                return shared.status.inputs[index].lostByReader < reader.dropped
            }
            if hasGap { codedPictures.skipToKeyFrame() }
            if failure != nil { break }
        }
        readers[index] = nil
        // The end of a file is the end of the session, unless another input is used by then.
        if readers.isEmpty || index == shared.withLock({ $0.active }) { stop() }
    }

    /// Ends the session with its first error.
    func fail(_ error: MediaError) {
        // What is stopped may report how.
        guard failure == nil, !shared.withLock({ $0.isStopped }) else { return }
        failure = error
        stop()
    }

    private func handle(_ event: LiveInput.Reader.Event, from index: Int) async throws(MediaError) {
        switch event {
        case .opened(let contents):
            self.contents[index] = contents
            shared.withLock {
                $0.status.inputs[index].contents = contents
                ($0.status.inputs[index].error, $0.status.inputs[index].missing) = (nil, [:])
            }
            if pictureInputs.isEmpty { try await prepare(nil) }
            codedPictures.skipToKeyFrame()
        case .item(.picture(let picture)):
            let isActive = shared.withLock { shared in
                shared.status.inputs[index].pictures += 1
                shared.status.inputs[index].isDMABuf = picture.isDMABuf
                if picture.isCopy { shared.status.inputs[index].copied += 1 }
                shared.status.inputs[index].lostByDevice += picture.lostBefore
                return shared.active == index
            }
            guard isActive else { return }
            latestArrival = MonotonicClock.now
            settings.preview?(picture.buffer)
            try await prepare(.picture(picture))
            try await append(picture, of: index)
        case .item(.coded(let picture)):
            shared.withLock { shared in
                shared.status.inputs[index].pictures += 1
                shared.status.inputs[index].lostByDevice += picture.lostBefore
            }
            try await append(picture, of: index)
        case .item(.sound(let buffer)):
            guard isSound(index) else { return }
            shared.withLock { $0.meter.append(buffer) }
            try await append(buffer)
        case .item(.lost(let name, let error)):
            shared.withLock {
                $0.status.inputs[index].missing[name] = error
                $0.status.inputs[index].losses += 1
            }
        case .item(.back(let name)): shared.withLock { $0.status.inputs[index].missing[name] = nil }
        case .gone(let error):
            shared.withLock {
                $0.status.inputs[index].error = error
                $0.status.inputs[index].losses += 1
            }
        case .failed(let error):
            let isUsed = shared.withLock { shared in
                shared.status.inputs[index].error = error
                return index == shared.active || !pictureInputs.indices.contains(index)
            }
            // What nobody sees does not end a session.
            if isUsed { throw error }
        }
    }

    /// Whether the sound of an input is used.
    private func isSound(_ index: Int) -> Bool {
        soundInput == nil ? shared.withLock { $0.active == index } : index == pictureInputs.count
    }

    /// What is known of the input whose sound is used.
    var soundContents: LiveContents? {
        soundInput == nil ? contents[shared.withLock { $0.active }] : contents[pictureInputs.count]
    }

    // MARK: - The end

    private func finish() async throws(MediaError) -> AssetWriter.Summary {
        guard let work else {
            throw failure ?? MediaError(.cancelled, "the session ended before the first picture")
        }
        var failed: MediaError?
        if let ladder = work.ladder { failed = await finish(ladder) }
        let summary = try await work.writer.finish()
        if let video = work.video { await note(video.session) }
        if let ladder = work.ladder { await note(ladder) }
        for task in work.switches { await task.value }
        shared.withLock {
            $0.status.failure = failure ?? summary.failure
            $0.status.files = work.writer.files
        }
        if let failed { throw failed }
        return summary
    }
}
