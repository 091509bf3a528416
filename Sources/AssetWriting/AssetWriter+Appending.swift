// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import MediaIO
internal import MediaTimeline
internal import MediaTypes
internal import VAToolbox

// What the inputs call.
extension AssetWriter {
    func append(
        _ picture: PixelBuffer,
        at time: MediaTime,
        duration: MediaTime,
        options: FrameOptions,
        token: (any Sendable)?,
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
            var options = options
            let isRequested = file.requestsKeyFrame(at: place)
            options.forceKeyFrame = options.forceKeyFrame || isRequested
            do throws(MediaError) {
                let disposition = try await video.session.encode(
                    picture,
                    presentationTime: place,
                    duration: duration,
                    options: options,
                    token: token
                )
                if isRequested, disposition == .dropped { file.requestKeyFrameAgain() }
                return disposition
            } catch {
                if isRequested { file.requestKeyFrameAgain() }
                throw await failure(error, ofItem: [.invalidArgument, .unsupported])
            }
        }
    }

    func append(_ sample: SampleBuffer, input: Int) async throws(MediaError) {
        try begin(input)
        defer { end() }
        let time = sample.presentationTime
        guard time.isValid, sample.decodeTime.isValid else {
            throw MediaError(.invalidArgument, "a sample has no valid time", given: "\(time)", allowed: "a valid time")
        }
        note(input, time)
        switch timeline.placePicture(at: time) {
        case .beforeStart: picturesBeforeStart += 1
        case .afterEnd: picturesAfterEnd += 1
        case .at(let place):
            var moved = sample
            (moved.presentationTime, moved.decodeTime) = (place, place - (time - sample.decodeTime))
            do throws(MediaError) {
                try await file.write(moved)
            } catch {
                throw await failure(error, ofItem: [])
            }
        }
    }

    /// Appends a buffer with the time that the clock of its device gives.
    func append(
        _ buffer: AudioBuffer,
        arrival: MediaTime,
        lostFrames: Int,
        input: Int
    ) async throws(MediaError) {
        try check(input)
        let rate = Int32(clamping: buffer.format.sampleRate)
        var (clock, frames) = clocks[input] ?? (DeviceClock(ticksPerSecond: rate), 0)
        if clock.ticksPerSecond != rate { clock = DeviceClock(ticksPerSecond: rate) }
        let first = frames + Int64(max(lostFrames, 0))
        var buffer = buffer
        buffer.presentationTime = clock.place(position: first, count: buffer.frameCount, arrival: arrival)
        clocks[input] = (clock, first + Int64(buffer.frameCount))
        try await append(buffer, input: input)
    }

    /// The estimate of the clock of an input's device.
    func clock(_ input: Int) -> DeviceClock? { clocks[input]?.clock }

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
            guard let number = packetTracks[input] else { return }
            try await file.append(packet, track: number)
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

    func markAsFinished(_ input: Int) async {
        readiness.finish(input)
        resumeWaiting()
        do throws(MediaError) {
            if let track = audioTracks[input] { try await file.endAudio(track: track) }
            if let track = packetTracks[input] { try await file.endPackets(track: track) }
        } catch {
            _ = await fail(error)
        }
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

    func resumeWaiting() {
        let all = waiting
        waiting = [:]
        for continuation in all.values { continuation.resume() }
    }
}
