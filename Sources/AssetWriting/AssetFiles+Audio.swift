// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import MediaIO
internal import MediaTimeline
internal import MediaTypes
internal import Synchronization

// Audio and copied packets, and the files that they belong to.
extension AssetFiles {
    /// Until when the input has arrived that decides how long others are waited for.
    var progress: MediaTime {
        if hasVideo { return videoTime ?? .zero }
        return (audios.map(\.time) + copied.map(\.time)).max() ?? .zero
    }

    /// The time up to which no file begins any more; `nil` if none begins before the end.
    private var horizon: MediaTime? {
        guard let plan, !hasVideoEnded else { return nil }
        guard hasVideo else { return plan.boundary }
        return max(videoTime ?? .zero, plan.earliest ?? .zero)
    }

    // MARK: - Input

    func append(_ buffer: AudioBuffer, track: Int) throws(MediaError) {
        guard !parts.isEmpty else { throw MediaError(.invalidState, "the file is closed") }
        try audios[track].encoder.send(buffer)
        if isSplit { try distribute() } else { try writeAll(of: track) }
    }

    func append(_ packet: MediaPacket, track: Int) throws(MediaError) {
        guard isSplit else { return try write(packet, to: last()) }
        let time = packet.presentationTime
        guard time.isValid, let first = parts.first, time >= first.start || first.number == 1 else {
            throw MediaError(
                .malformedData,
                "a packet has no time, or its file is complete",
                given: "\(time)",
                allowed: parts.first.map { "at least \($0.start.seconds) s" }
            )
        }
        copied[track].time = max(copied[track].time, time)
        copied[track].waiting.append(packet)
        try distribute()
    }

    /// Registers that no audio follows.
    func endAudio(track: Int) throws(MediaError) {
        audios[track].hasEnded = true
        try distribute()
    }

    /// Registers that no packets follow.
    func endPackets(track: Int) throws(MediaError) {
        copied[track].hasEnded = true
        try distribute()
    }

    func endAudio(at time: MediaTime) { for audio in audios { audio.encoder.end(at: time) } }

    // MARK: - Distribution

    /// Passes on everything of which it is known in which file it belongs, and completes files.
    func distribute() throws(MediaError) {
        guard isSplit, !parts.isEmpty else { return }
        repeat {
            for track in audios.indices { try distributeAudio(track) }
            for track in copied.indices { try distributePackets(track) }
        } while try beginPartOfSound()
        finishParts()
    }

    private func distributeAudio(_ track: Int) throws(MediaError) {
        while let next = parts.first(where: { $0.number > audios[track].part }) {
            let audio = audios[track]
            let frame = next.start.converted(to: audio.rate).value
            audio.encoder.limit = frame
            try writeAll(of: track)
            let isThere = audio.encoder.producedFrames >= frame
            guard isThere || audio.hasEnded || progress - audio.time > Self.patience else { return }
            for sample in try audio.encoder.split(at: frame, hasEnded: audio.hasEnded && !isThere) {
                try write(sample, of: track)
            }
            audios[track].part = next.number
        }
        let rate = audios[track].rate
        audios[track].encoder.limit = horizon.map { $0.converted(to: rate, rounding: .down).value }
        try writeAll(of: track)
    }

    private func distributePackets(_ track: Int) throws(MediaError) {
        while let packet = copied[track].waiting.first {
            let time = packet.presentationTime
            guard let part = parts.last(where: { $0.start <= time }) ?? parts.first else { return }
            if let horizon, part.number == parts.last?.number, time >= horizon { return }
            copied[track].waiting.removeFirst()
            try write(part.number == 1 ? packet : packet.moved(by: .zero - part.start), to: part)
        }
    }

    /// Begins another file of a recording without video, when one of the limits is reached.
    ///
    /// - Returns: Whether there is one.
    private func beginPartOfSound() throws(MediaError) -> Bool {
        guard !hasVideo, !hasVideoEnded, let plan else { return false }
        let leader = audios.first?.time ?? copied.first?.time ?? .zero
        if let boundary = plan.boundary, leader >= boundary {
            try beginPart(at: boundary)
            return true
        }
        // After everything that is encoded already.
        let encoded = audios.map { MediaTime(value: $0.encoder.encodedFrames, timescale: $0.rate) }.max() ?? leader
        guard plan.isFull, plan.isDue(at: encoded), audios.allSatisfy({ $0.part == parts.last?.number }) else {
            return false
        }
        try beginPart(at: encoded)
        return true
    }

    /// Writes samples one by one, because there are many after a long gap.
    private func writeAll(of track: Int) throws(MediaError) {
        while let sample = try audios[track].encoder.receive() {
            try write(sample, of: track)
            if abandonment.isCancelled { throw MediaError(.cancelled, "the writer was cancelled") }
        }
    }

    private func write(_ sample: AudioSample, of track: Int) throws(MediaError) {
        guard let part = parts.first(where: { $0.number == audios[track].part }) else {
            throw MediaError(.invalidState, "the file is closed")
        }
        try write(MediaPacket(sample, track: audios[track].track), to: part)
    }

    private func write(_ packet: MediaPacket, to part: Part) throws(MediaError) {
        try part.sink.write(packet)
        guard part.number == parts.last?.number else { return }
        let end = packet.presentationTime + packet.duration + part.start
        note(hasVideo || !end.isValid ? .zero : end, byteCount: packet.byteCount)
    }

    // MARK: - The end

    /// Encodes what is left of the audio, after all pictures are written.
    func finishAudio() throws(MediaError) {
        hasVideoEnded = true
        for track in audios.indices { audios[track].hasEnded = true }
        for track in copied.indices { copied[track].hasEnded = true }
        try distribute()
        for track in audios.indices {
            audios[track].encoder.limit = nil
            audios[track].encoder.sendEnd()
            try writeAll(of: track)
        }
    }

    /// What was inserted, cut and corrected in the audio.
    var placements: [AudioPlacement] { audios.map(\.encoder.placement) }

    /// Completes the files, or the segments.
    ///
    /// - Returns: What was written last, and all files.
    func finish() async throws(MediaError) -> (summary: MediaSink.Summary, files: [AssetWriter.File]) {
        finishParts()
        for task in finishing { await task.value }
        if let error = shared.withLock({ $0.error }) { throw error }
        let part = try last()
        let summary = try part.sink.finish()
        parts = []
        if !part.path.isEmpty { note(part.path, part.start, part.start + summary.duration, summary) }
        return (summary, files)
    }

    /// Completes the open files with what is whole in them after a failure.
    ///
    /// - Returns: The path of a file that could not get its name; `nil` if there is none.
    func rescue() async -> String? {
        // What is held back; it has no place if the disk has failed.
        if (try? finishVideo(end: nil)) != nil { try? finishAudio() }
        for task in finishing { await task.value }
        var kept: String?
        for part in parts {
            if let summary = part.sink.rescue() {
                note(part.path, part.start, part.start + summary.duration, summary)
            }
            kept = kept ?? part.sink.keptPath
        }
        parts = []
        return kept
    }

    /// Discards the files that are not complete.
    func abort() async {
        for part in parts { part.sink.abort() }
        parts = []
        for task in finishing { await task.value }
    }
}
