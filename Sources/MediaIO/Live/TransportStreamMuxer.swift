// SPDX-License-Identifier: GPL-2.0-or-later

package import AudioCoding
internal import CFFmpeg
internal import MediaTimeline
package import MediaTypes

/// Writes coded video and audio as one live transport stream (ISO/IEC 13818-1) into memory.
///
/// Nothing waits in it: each call returns the packets of its sample. Key frames carry their parameter sets, and a PAT and a
/// PMT precede them, so that a receiver can begin at each. It is used by one thread.
package final class TransportStreamMuxer {
    private let muxer: SegmentMuxer
    private let hasVideo: Bool
    private let audio: [MediaTrack]
    private var clocks: [TickClock]

    /// Makes a stream.
    ///
    /// - Parameters:
    ///   - video: The video at the start; `nil` if there is sound alone.
    ///   - frameRate: The frame rate in frames per second, if it is constant.
    ///   - audio: The audio tracks.
    /// - Throws: `unsupported` for a codec that a transport stream cannot carry; `outOfMemory`.
    package init(
        video: FormatDescription?,
        frameRate: Rational? = nil,
        audio: [AudioStreamDescription]
    ) throws(MediaError) {
        hasVideo = video != nil
        var tracks: [MediaTrack] = []
        for description in audio {
            let track = try MediaTrack(audio: description)
            if let reason = ContainerFormat.ts.refusal(of: track, isSeekable: false) {
                throw MediaError(.unsupported, reason, given: description.codecName)
            }
            tracks.append(track)
        }
        self.audio = tracks
        var streams = tracks.map(Self.description)
        if let video { streams.insert(Self.description(of: video, frameRate), at: 0) }
        // Otherwise, audio would wait until a packet of the elementary stream is full.
        muxer = try SegmentMuxer(.ts, start: .zero, options: ["pes_payload_size": "0"], streams: streams)
        let timescale = muxer.timescale
        clocks = streams.map { _ in TickClock(timescale: timescale, order: .nondecreasing) }
    }

    private static func description(of video: FormatDescription, _ frameRate: Rational?) -> SegmentMuxer.Describe {
        { (stream, _) throws(MediaError) in
            try stream.describe(video, in: .ts, inBand: true)
            stream.setTiming([], frameRate: frameRate)
        }
    }

    private static func description(of track: MediaTrack) -> SegmentMuxer.Describe {
        { (stream, context) throws(MediaError) in try stream.copy(track, in: .ts, to: context) }
    }

    /// Writes a picture. Times may not be negative.
    ///
    /// - Returns: Whole packets of 188 bytes.
    /// - Throws: `malformedData` for damaged data or times that go back; `invalidState` if there is no video track.
    package func write(_ sample: SampleBuffer) throws(MediaError) -> [UInt8] {
        guard hasVideo else { throw MediaError(.invalidState, "the stream has no video") }
        guard !sample.isDropped else { return [] }
        let data = try ContainerFormat.ts.framed(sample, withParameterSets: sample.isKeyFrame)
        return try write(0, sample.presentationTime, sample.decodeTime, isHead: sample.isKeyFrame) {
            (packet) throws(MediaError) in
            try packet.refer(to: data)
            if sample.isKeyFrame { packet.pointee.flags |= AV_PKT_FLAG_KEY }
        }
    }

    /// Writes a packet of an audio track.
    ///
    /// - Returns: Whole packets of 188 bytes.
    /// - Throws: `malformedData` for times that go back; `invalidArgument` if there is no such track.
    package func write(_ sample: AudioSample, track: Int) throws(MediaError) -> [UInt8] {
        guard audio.indices.contains(track) else {
            throw MediaError(
                .invalidArgument,
                "the stream has no such audio track",
                given: "\(track)",
                allowed: "0..<\(audio.count)"
            )
        }
        let time = sample.presentationTime
        return try write((hasVideo ? 1 : 0) + track, time, time, isHead: !hasVideo) { (packet) throws(MediaError) in
            try packet.refer(to: sample.data)
            packet.pointee.flags |= AV_PKT_FLAG_KEY
        }
    }

    /// Returns what the muxer still holds.
    package func finish() throws(MediaError) -> [UInt8] {
        try muxer.closeFragment()
        return try muxer.take()
    }

    private func write(
        _ stream: Int,
        _ presentation: MediaTime,
        _ decode: MediaTime,
        isHead: Bool,
        _ fill: (UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Void
    ) throws(MediaError) -> [UInt8] {
        let times = try clocks[stream].ticks(presentation: presentation, decode: decode)
        try muxer.write(isHead: isHead) { (packet) throws(MediaError) in
            try fill(packet)
            packet.pointee.stream_index = Int32(stream)
            (packet.pointee.pts, packet.pointee.dts) = (times.pts, times.dts)
            packet.pointee.pos = -1
        }
        return try muxer.take()
    }
}
