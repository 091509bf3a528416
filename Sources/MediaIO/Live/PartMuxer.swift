// SPDX-License-Identifier: GPL-2.0-or-later

package import AudioCoding
internal import CFFmpeg
internal import MediaTimeline
package import MediaTypes

/// Writes one track as fragments of MP4 (ISO/IEC 14496-12 8.8), which are cut on request: the parts of a live stream.
///
/// Times are those of the stream: each fragment states its decode time (`tfdt`), so that parts of several muxers
/// continue each other. Parameter sets are in the initialization section (`avc1`, `hvc1`); another one needs another
/// muxer. It is used by one thread.
package final class PartMuxer {
    /// A fragment: a `moof` and an `mdat` box.
    package struct Part: Sendable {
        /// The boxes.
        package var bytes: [UInt8]
        /// The decode time of the first sample.
        package var start: MediaTime
        /// The sum of the durations of the samples.
        package var duration: MediaTime
        /// The number of samples.
        package var sampleCount: Int
        /// Whether it contains a key frame, or it is sound.
        package var isIndependent: Bool
        /// Whether its first sample is a key frame, or it is sound.
        package var startsWithKeyFrame: Bool
    }

    /// The initialization section; `nil` until the first part was taken.
    package var initialization: [UInt8]? { muxer?.initialization }

    private enum Track {
        case video(FormatDescription, frameRate: Rational?, repeatsParameterSets: Bool)
        case audio(MediaTrack, AudioStreamDescription)
    }

    private let track: Track
    private var muxer: SegmentMuxer?
    private var clock: TickClock?
    private var open: Part?

    /// Makes a muxer for video.
    ///
    /// - Parameters:
    ///   - format: The codec, the size and the parameter sets of all pictures.
    ///   - frameRate: The frame rate in frames per second, if it is constant.
    ///   - repeatsParameterSets: Whether key frames carry them as well, because some players ignore a second
    ///     initialization section.
    package init(video format: FormatDescription, frameRate: Rational? = nil, repeatsParameterSets: Bool = false) {
        track = .video(format, frameRate: frameRate, repeatsParameterSets: repeatsParameterSets)
    }

    /// Makes a muxer for audio.
    ///
    /// - Throws: `unsupported` for a codec that MP4 or HTTP Live Streaming does not have.
    package init(audio: AudioStreamDescription) throws(MediaError) {
        let track = try MediaTrack(audio: audio)
        let refusal = ContainerFormat.mp4.refusal(of: track, isSeekable: false)
        guard refusal == nil, audio.mediaTypeCodec != nil else {
            throw MediaError(
                .unsupported,
                refusal ?? "HTTP Live Streaming does not support this audio",
                given: audio.codecName,
                allowed: "aac, ac3, eac3, mp3, flac, alac"
            )
        }
        self.track = .audio(track, audio)
    }

    /// Adds a picture to the open part, in decoding order.
    ///
    /// - Parameter duration: The time to the next decode time.
    /// - Throws: `invalidState` for a track of audio; `malformedData` for damaged data or times that go back.
    package func write(_ sample: SampleBuffer, duration: MediaTime) throws(MediaError) {
        guard case .video(_, _, let repeatsParameterSets) = track else { throw Self.otherKind }
        guard !sample.isDropped else { return }
        let data = try ContainerFormat.mp4.framed(
            sample,
            withParameterSets: repeatsParameterSets && sample.isKeyFrame
        )
        let times = Times(presentation: sample.presentationTime, decode: sample.decodeTime, duration: duration)
        try write(times, isKeyFrame: sample.isKeyFrame) { (packet) throws(MediaError) in
            try packet.refer(to: data)
            if sample.isKeyFrame { packet.pointee.flags |= AV_PKT_FLAG_KEY }
            if !sample.isReference { packet.pointee.flags |= AV_PKT_FLAG_DISPOSABLE }
        }
    }

    /// Adds a packet of audio to the open part.
    ///
    /// - Parameter duration: Its duration.
    /// - Throws: `invalidState` for a track of video; `malformedData` for times that go back.
    package func write(_ sample: AudioSample, duration: MediaTime) throws(MediaError) {
        guard case .audio = track else { throw Self.otherKind }
        let time = sample.presentationTime
        try write(Times(presentation: time, decode: time, duration: duration), isKeyFrame: true) {
            (packet) throws(MediaError) in
            try packet.refer(to: sample.data)
            packet.pointee.flags |= AV_PKT_FLAG_KEY
        }
    }

    /// Ends the open part.
    ///
    /// - Returns: The part; `nil` if it has no sample.
    package func takePart() throws(MediaError) -> Part? {
        guard var part = open.take(), let muxer else { return nil }
        try muxer.closeFragment()
        part.bytes = try muxer.take()
        return part
    }

    private static let otherKind = MediaError(.invalidState, "the track has another kind of samples")

    private struct Times {
        var presentation: MediaTime
        var decode: MediaTime
        var duration: MediaTime
    }

    private func write(
        _ times: Times,
        isKeyFrame: Bool,
        _ fill: (UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Void
    ) throws(MediaError) {
        let muxer = if let muxer { muxer } else { try begin(times) }
        guard var clock else { return }
        let ticks = try clock.ticks(presentation: times.presentation, decode: times.decode)
        self.clock = clock
        let duration = times.duration.isValid && times.duration > .zero ? times.duration : .zero
        try muxer.write(isHead: false) { (packet) throws(MediaError) in
            try fill(packet)
            packet.pointee.stream_index = 0
            (packet.pointee.pts, packet.pointee.dts) = (ticks.pts, ticks.dts)
            // Rounded ends, not rounded durations: the next fragment begins where this one ends.
            let end = (times.decode + duration).converted(to: muxer.timescale)
            packet.pointee.duration = max((end.isValid ? end.value : ticks.dts) - ticks.dts, 0)
            packet.pointee.pos = -1
        }
        var part =
            open
            ?? Part(
                bytes: [],
                start: times.decode,
                duration: .zero,
                sampleCount: 0,
                isIndependent: false,
                startsWithKeyFrame: isKeyFrame
            )
        part.duration = part.duration + duration
        part.sampleCount += 1
        part.isIndependent = part.isIndependent || isKeyFrame
        open = part
    }

    private func begin(_ first: Times) throws(MediaError) -> SegmentMuxer {
        let made: SegmentMuxer
        switch track {
        case .video(let format, let frameRate, _):
            made = try SegmentMuxer(.fmp4, start: first.presentation) { (stream, _) throws(MediaError) in
                try stream.describe(format, in: .mp4, inBand: false)
                stream.setTiming([first.presentation, first.decode, first.duration], frameRate: frameRate)
            }
        case .audio(let track, let audio):
            made = try SegmentMuxer(.fmp4, start: first.presentation, movieTimescale: max(audio.sampleRate, 1)) {
                (stream, context) throws(MediaError) in
                try stream.copy(track, in: .mp4, to: context)
            }
        }
        muxer = made
        clock = TickClock(timescale: made.timescale, order: .increasing, largestStep: Int64(Int32.max) - 1)
        return made
    }
}
