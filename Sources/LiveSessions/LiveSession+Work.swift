// SPDX-License-Identifier: GPL-2.0-or-later

internal import AssetWriting
internal import AudioCoding
internal import Capture
internal import MediaTimeline
internal import MediaTypes
internal import Synchronization
internal import VAToolbox

// What becomes of pictures and sound.
extension LiveSession {
    /// Makes the writer, as soon as there are a picture and the format of the sound.
    func prepare(_ picture: FirstPicture?) async throws(MediaError) {
        guard work == nil, !isPreparing else { return }
        let sound = soundContents
        guard soundInput == nil || sound != nil, picture != nil || pictureInputs.isEmpty else { return }
        isPreparing = true
        defer { isPreparing = false }
        // A task of its own, which stopping cancels: an output or an encoder may take long to open.
        let preparation = Task { () async -> Result<Work, MediaError> in await makeWork(picture, sound?.sound) }
        onStop { preparation.cancel() }
        let made = try await preparation.value.get()
        work = made
        soundEnd = made.audio == nil ? nil : picture.flatMap { place($0.time) }
        shared.withLock { shared in
            guard shared.status.phase == .starting else { return }
            shared.status.phase = shared.pauses.isPaused ? .paused : .running
        }
        // What arrives meanwhile waits behind it.
        var waiting = early.take()
        while !waiting.isEmpty {
            for buffer in waiting { try await pass(buffer) }
            waiting = early.take()
        }
    }

    private func makeWork(_ picture: FirstPicture?, _ format: AudioFormat?) async -> Result<Work, MediaError> {
        do throws(MediaError) {
            var made = Work(writer: try await makeWriter(0))
            do throws(MediaError) {
                try await fill(&made, picture, format)
                return .success(made)
            } catch {
                for writer in made.writers { await writer.cancel() }
                throw error
            }
        } catch {
            return .failure(error)
        }
    }

    private func fill(
        _ work: inout Work,
        _ picture: FirstPicture?,
        _ format: AudioFormat?
    ) async throws(MediaError) {
        switch picture {
        case .coded(let sample):
            work.coded = try await work.writer.addCodedVideo(sample.formatDescription)
            shared.withLock { $0.status.isPassedThrough = true }
        case .picture(let picture): try await addVideo(to: &work, first: picture.buffer)
        case nil: break
        }
        if let format {
            work.audio = try await work.writer.addAudio(settings.audio, format: format)
            work.soundFormat = format
        }
        guard let picture else { return try await work.writer.startSession(.first) }
        let start = place(picture.time) ?? picture.time
        try await work.writer.startSession(.at(start))
        work.end = settings.duration.map { start + $0 }
        if let ladder = work.ladder { work.ladder = try await begin(ladder, at: start) }
        guard let end = work.end else { return }
        for writer in work.writers { try await writer.endSession(at: end) }
    }

    private func addVideo(to work: inout Work, first: PixelBuffer) async throws(MediaError) {
        let active = shared.withLock { $0.active }
        let (contents, isPatient) = (contents[active] ?? LiveContents(), pictureInputs[active].isPatient)
        guard settings.renditions.isEmpty else {
            let ladder = try await makeLadder(work.writer, first: first, contents: contents, isPatient: isPatient)
            work.switches = ladder.encoders.map { follow($0.video.session) }
            work.ladder = ladder
            return
        }
        let configuration = settings.configuration(for: contents, first: first)
        var options = settings.session
        options.realTime = isPatient ? nil : RealTimeMode()
        let video = try await work.writer.addVideo(configuration, session: options)
        work.video = video
        work.switches = [follow(video.session)]
        shared.withLock {
            $0.status.encoder = video.session.encoder
            $0.configuredBitRates = [configuration.rateControl.bitsPerSecond]
        }
    }

    /// Notes the replacements of an encoder.
    nonisolated func follow(_ session: CompressionSession) -> Task<Void, Never> {
        Task {
            for await event in session.events {
                guard case .encoderSwitched(let change) = event else { continue }
                shared.withLock { $0.status.switches.append(change) }
            }
        }
    }

    // MARK: - Pictures

    func append(_ picture: CapturedPicture, of index: Int?) async throws(MediaError) {
        guard let work, work.hasPictures, let time = place(picture.time) else { return }
        // After a change of inputs, or after a picture that was repeated, one may be earlier than the last one.
        if let latestPicture, time <= latestPicture.time {
            if let index { shared.withLock { $0.status.inputs[index].late += 1 } }
            return
        }
        latestPicture = (picture.buffer, time)
        if let end = work.end, time >= end { stop() }
        let isKeyFrame = shared.withLock { shared in
            defer { shared.isKeyFrameWanted = false }
            return shared.isKeyFrameWanted
        }
        if let video = work.video {
            let options = FrameOptions(forceKeyFrame: isKeyFrame)
            let disposition = try await video.append(picture.buffer, at: time, options: options)
            if isKeyFrame, disposition == .dropped { requestKeyFrame() }
            await note(video.session)
        } else if let ladder = work.ladder {
            await append(picture.buffer, at: time, isKeyFrame: isKeyFrame)
            await note(ladder)
        }
        if let index { judgeMemory(of: index, picture) }
        try await fillSilence(until: time, after: Self.longestSilence)
    }

    /// Asks for DMA-BUFs where a GPU may encode.
    func chooseMemory() async {
        let choices = pictureInputs.compactMap(\.memory)
        guard !choices.isEmpty else { return }
        let policy = settings.session.policy
        let nodes = try? await PlainThread.result(name: "vt-survey") { () throws(MediaError) in policy.usableNodes }
        for choice in choices { choice.setForGPU(nodes?.isEmpty == false) }
    }

    /// Asks for other memory if the CPU has to read DMA-BUFs.
    private func judgeMemory(of index: Int, _ picture: CapturedPicture) {
        let (isOnGPU, readByCPU) = shared.withLock { shared in
            let status = shared.status
            return (status.encoder?.identity.isHardware == true, status.copiedPictures + status.convertedByCPU)
        }
        if !dmaBufTrial.goesOn(isDMABuf: picture.isDMABuf, isOnGPU: isOnGPU, readByCPU: readByCPU) {
            pictureInputs[index].memory?.setForGPU(false)
        }
    }

    /// Takes over what the encoder and the file tell. Pictures may be dropped after they were taken to wait.
    func note(_ session: CompressionSession) async {
        let statistics = await session.statistics
        let encoder = session.encoder
        noteFiles()
        shared.withLock { shared in
            shared.status.lostByEncoder = statistics.droppedFrames
            shared.status.encodedPictures = statistics.acceptedFrames
            shared.status.encoder = encoder
            shared.status.copiedPictures = statistics.copiedPictures
            shared.status.convertedByEncoder = statistics.convertedByEncoder
            shared.status.convertedByCPU = statistics.convertedByCPU
        }
    }

    private func noteFiles() {
        guard let writer = work?.writer else { return }
        let (duration, files, temporaryPath) = (writer.recordedDuration, writer.files, writer.temporaryPath)
        shared.withLock { shared in
            shared.status.duration = duration
            (shared.status.files, shared.status.temporaryPath) = (files, temporaryPath)
        }
    }

    /// Passes on a picture that the device has coded, if it can be decoded.
    func append(_ picture: CodedPicture, of index: Int) async throws(MediaError) {
        let sample: SampleBuffer
        switch try codedPictures.take(picture) {
        case .early: return
        case .lost: return shared.withLock { $0.status.inputs[index].lostByDevice += 1 }
        case .sample(let made): sample = made
        }
        try await prepare(.coded(sample))
        guard let coded = work?.coded else { return }
        guard let time = place(sample.presentationTime) else {
            // In a pause. What follows it begins with a key frame.
            return codedPictures.skipToKeyFrame()
        }
        if let latestCoded, time <= latestCoded { return shared.withLock { $0.status.inputs[index].late += 1 } }
        latestCoded = time
        if let end = work?.end, time >= end { stop() }
        var moved = sample
        (moved.presentationTime, moved.decodeTime) = (time, time)
        try await coded.append(moved)
        shared.withLock { $0.status.encodedPictures += 1 }
        noteFiles()
        try await fillSilence(until: time, after: Self.longestSilence)
    }

    // MARK: - Sound

    func append(_ buffer: AudioBuffer) async throws(MediaError) {
        guard work != nil, !isPreparing else { return early.add(buffer) }
        try await pass(buffer)
    }

    private func pass(_ buffer: AudioBuffer) async throws(MediaError) {
        guard let work, let audio = work.audio else { return }
        var buffer = buffer
        if buffer.presentationTime.isValid {
            guard let time = place(buffer.presentationTime) else { return }
            buffer.presentationTime = time
            soundEnd = max(soundEnd ?? time, time + buffer.duration)
            try await endSound(work, from: time)
        }
        try await audio.append(buffer)
        guard !work.hasPictures else { return }
        let duration = work.writer.recordedDuration
        shared.withLock { $0.status.duration = duration }
    }

    /// Ends a session without pictures after its duration.
    private func endSound(_ work: Work, from time: MediaTime) async throws(MediaError) {
        guard !work.hasPictures, let duration = settings.duration else { return }
        let end = work.end ?? time + duration
        if work.end == nil {
            self.work?.end = end
            try await work.writer.endSession(at: end)
        }
        if let soundEnd, soundEnd >= end { stop() }
    }

    /// How far sound may be behind the pictures of an input before there is silence instead: longer than files interleave.
    static let longestSilence = MediaTime(value: 2, timescale: 1)

    /// Makes silence where there is no sound.
    ///
    /// - Parameter patience: How far sound may be behind.
    func fillSilence(until time: MediaTime, after patience: MediaTime) async throws(MediaError) {
        guard let work, let audio = work.audio, let format = work.soundFormat, let end = soundEnd,
            time - end > patience
        else { return }
        let missing = time - end - patience + Self.silenceLead
        let count = min(missing.converted(to: Int32(clamping: format.sampleRate)).value, Int64(format.sampleRate))
        let silence = AudioBuffer(format: format, frameCount: Int(count), presentationTime: end)
        soundEnd = end + silence.duration
        try await audio.append(silence)
    }

    /// By how much silence is made at once, so that it is not made for every picture.
    private static let silenceLead = MediaTime(value: 2, timescale: 10)

    // MARK: - Watching

    /// Ends the session after its duration, whether pictures come or not, and fills gaps.
    func watch() async {
        while !shared.withLock({ $0.isStopped }) {
            guard (try? await Task.sleep(for: .milliseconds(100))) != nil else { return stop() }
            let now = MonotonicClock.now
            noteWait(at: now)
            if let end = work?.end, let time = place(now), time - end > Self.patience { return stop() }
            guard case .slate = settings.absence else { continue }
            do throws(MediaError) {
                try await fillGap(at: now)
            } catch {
                // The consumers of the inputs meet the same error.
                return
            }
        }
    }

    /// Notes how long the session has waited for an input that was away from the start.
    private func noteWait(at now: MediaTime) {
        begin = begin ?? now
        let waited = now - (begin ?? now)
        shared.withLock { shared in
            guard shared.status.phase == .starting, shared.status.inputs[shared.active].error != nil else { return }
            shared.status.waitedForInput = waited.seconds
        }
    }

    /// How late pictures and sound may be before they are replaced.
    private static let patience = MediaTime(value: 4, timescale: 10)
    /// How long the last picture of an input that is gone is shown before the slate.
    private static let slatePatience = MediaTime(value: 3, timescale: 1)

    /// Repeats the last picture, and makes silence, while inputs deliver nothing, so that receivers get a continuous stream.
    private func fillGap(at now: MediaTime) async throws(MediaError) {
        guard work != nil, let time = place(now) else { return }
        if let latestPicture, let arrival = latestArrival, now - arrival > Self.patience,
            time - latestPicture.time > Self.patience
        {
            let isGone = shared.withLock { shared in
                shared.status.repeatedPictures += 1
                return shared.status.inputs[shared.active].error != nil
            }
            let showsSlate = isGone && now - arrival > Self.slatePatience
            let picture = showsSlate ? try slatePicture(like: latestPicture.buffer) : latestPicture.buffer
            try await append(CapturedPicture(picture, time: now), of: nil)
        }
        try await fillSilence(until: time, after: Self.patience)
    }

    private func slatePicture(like picture: PixelBuffer) throws(MediaError) -> PixelBuffer {
        if case .slate(let given?) = settings.absence { return given }
        if let slate { return slate }
        let made = try PixelBuffer.slate(width: picture.width & ~1, height: picture.height & ~1)
        slate = made
        return made
    }
}

/// What a recording begins with.
enum FirstPicture: Sendable {
    case picture(CapturedPicture)
    case coded(SampleBuffer)

    /// When it was captured.
    var time: MediaTime {
        switch self {
        case .picture(let picture): picture.time
        case .coded(let sample): sample.presentationTime
        }
    }
}

extension CapturedPicture {
    var isDMABuf: Bool {
        if case .dmaBuf = buffer.storage { true } else { false }
    }
}

/// Sound that waits for the writer, some seconds of it.
struct EarlySound {
    private var buffers: [AudioBuffer] = []
    private var seconds = 0.0

    private static let mostSeconds = 20.0

    mutating func add(_ buffer: AudioBuffer) {
        buffers.append(buffer)
        seconds += buffer.duration.seconds
        while seconds > Self.mostSeconds, let first = buffers.first {
            buffers.removeFirst()
            seconds -= first.duration.seconds
        }
    }

    mutating func take() -> [AudioBuffer] {
        defer { (buffers, seconds) = ([], 0) }
        return buffers
    }
}
