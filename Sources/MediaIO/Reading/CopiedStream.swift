// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTimeline
internal import MediaTypes

/// A stream of an input that is copied: completes the times of its packets, and ends it. All times are in ticks of
/// ``timeBase`` on the input's timeline.
final class CopiedStream {
    /// The origin of times.
    private enum Timing {
        /// The container.
        case stored
        /// Presentation times of the container; it has no decode times.
        case presentationOnly(DecodeTimes)
        /// The order of pictures in a stream without times.
        case counted(PictureCounts)
    }

    let stream: UnsafeMutablePointer<AVStream>
    var details: StreamDetails
    private var timing: Timing
    private var waiting: [PacketReference] = []
    private var decodeTimes: [Int64] = []
    /// The video packets at or after the end, which are needed if one before it follows.
    private var beyond: [PacketReference] = []
    /// Where the stream ends, if that is before its last packet.
    var end: Int64?
    /// Whether a key frame of the video was found, at which the copy begins.
    var hasBegun = false
    /// Whether all packets before ``end`` were returned.
    private(set) var isFinished = false

    var index: Int { Int(stream.pointee.index) }
    var kind: AVMediaType { stream.pointee.codecpar.pointee.codec_type }
    var timeBase: AVRational { details.timeBase }
    var isVideo: Bool { kind == AVMEDIA_TYPE_VIDEO }
    /// Whether it delivers packets all the time.
    var isContinuous: Bool { isVideo || kind == AVMEDIA_TYPE_AUDIO }
    /// The number of pictures whose times do not fit to the order in which they are decoded.
    var lateCount: Int { if case .counted(let counts) = timing { counts.lateCount } else { 0 } }

    /// - Parameter frameRate: Of a raw stream, in frames per second; `nil` for its own.
    /// - Throws: `invalidArgument` if a raw stream states no frame rate and none is given; `outOfMemory`.
    init(
        _ stream: UnsafeMutablePointer<AVStream>,
        in demuxer: Demuxer,
        frameRate: Rational?
    ) throws(MediaError) {
        self.stream = stream
        details = StreamDetails(stream)
        let parameters = stream.pointee.codecpar.pointee
        let isVideo = parameters.codec_type == AVMEDIA_TYPE_VIDEO
        if isVideo, let codec = VideoCodec(rawValue: demuxer.formatName) {
            let rate = if let frameRate { frameRate } else { try Self.statedFrameRate(stream, codec, demuxer.path) }
            let counts = try PictureCounts(stream, codec: codec, frameRate: rate)
            timing = .counted(counts)
            details = details.timed(counts.timeBase, rate)
        } else if isVideo, demuxer.formatName.hasPrefix("matroska") {
            timing = .presentationOnly(DecodeTimes(depth: Int(parameters.video_delay)))
        } else {
            timing = .stored
        }
    }

    /// Returns the frame rate that the SPS of a raw stream states.
    static func statedFrameRate(
        _ stream: UnsafePointer<AVStream>,
        _ codec: VideoCodec,
        _ path: String
    ) throws(MediaError) -> Rational {
        let parameters = stream.pointee.codecpar.pointee
        let sets = Array(UnsafeBufferPointer(start: parameters.extradata, count: Int(parameters.extradata_size)))
        for range in (try? NALUnitFraming.annexB.nalUnits(in: sets)) ?? [] {
            let unit = Array(sets[range])
            let rate =
                switch codec {
                case .h264: (try? H264SequenceParameterSet(nalUnit: unit))?.frameRate
                case .hevc: (try? HEVCSequenceParameterSet(nalUnit: unit))?.frameRate
                }
            if let rate, let count = Int32(exactly: rate.numerator), let seconds = Int32(exactly: rate.denominator) {
                return Rational(count, seconds)
            }
        }
        throw MediaError(
            .invalidArgument,
            "the stream does not state its frame rate",
            given: path,
            allowed: "a stream with timing information, or an explicit frame rate",
            remedies: ["state the frame rate: --input-fps 25"]
        )
    }

    /// Takes the next packet, and returns the packets that have all times now.
    func add(_ reference: PacketReference) -> [PacketReference] {
        switch timing {
        case .stored: return [reference]
        case .counted(let counts): return counts.add(reference)
        case .presentationOnly(var times):
            guard let packet = reference.packet, packet.pointee.pts != ffmpeg_no_pts else { return [reference] }
            waiting.append(reference)
            decodeTimes += times.add(packet.pointee.pts, duration: packet.pointee.duration)
            timing = .presentationOnly(times)
            return withDecodeTimes()
        }
    }

    /// Returns the packets that are still waiting for their times.
    func finish() -> [PacketReference] {
        switch timing {
        case .stored: return []
        case .counted(let counts): return counts.finish()
        case .presentationOnly(var times):
            decodeTimes += times.finish()
            timing = .presentationOnly(times)
            return withDecodeTimes()
        }
    }

    private func withDecodeTimes() -> [PacketReference] {
        let known = Array(waiting.prefix(decodeTimes.count))
        for (reference, time) in zip(known, decodeTimes) { reference.packet?.pointee.dts = time }
        waiting.removeFirst(known.count)
        decodeTimes.removeFirst(known.count)
        return known
    }

    /// Discards what was read, as required before a seek.
    func restart() {
        waiting = []
        decodeTimes = []
        beyond = []
        if case .presentationOnly = timing {
            timing = .presentationOnly(DecodeTimes(depth: Int(stream.pointee.codecpar.pointee.video_delay)))
        }
    }

    /// Returns the packets that belong to the part before ``end``. A picture that is shown after it is returned as well if
    /// a later one, in decoding order, is shown before it.
    func limit(_ reference: PacketReference) throws(MediaError) -> [PacketReference] {
        guard let end, let packet = reference.packet, let time = packet.pointee.ownTime else { return [reference] }
        if isFinished { return [] }
        guard isVideo else {
            if time >= end { isFinished = true }
            if time < end, kind == AVMEDIA_TYPE_AUDIO { try trim(packet, by: time &+ packet.pointee.duration &- end) }
            return time < end ? [reference] : []
        }
        if time >= end {
            let decode = packet.pointee.dts != ffmpeg_no_pts ? packet.pointee.dts : time
            if decode >= end { isFinished = true }
            beyond = isFinished ? [] : beyond + [reference]
            return []
        }
        defer { beyond = [] }
        return beyond + [reference]
    }

    /// Marks ticks at the end of a packet of audio as not to be played.
    private func trim(_ packet: UnsafeMutablePointer<AVPacket>, by excess: Int64) throws(MediaError) {
        let rate = stream.pointee.codecpar.pointee.sample_rate
        guard excess > 0, rate > 0 else { return }
        let samples = av_rescale_q(excess, timeBase, AVRational(num: 1, den: rate))
        let trim = SampleTrim(start: packet.trim?.start ?? 0, end: Int(clamping: samples))
        guard let trim else { return }
        guard let memory = av_packet_new_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, SampleTrim.byteCount) else {
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_new_side_data")
        }
        UnsafeMutableRawBufferPointer(start: memory, count: SampleTrim.byteCount).copyBytes(from: trim.bytes)
    }
}

extension StreamDetails {
    /// Returns the details with the timing of a raw stream.
    fileprivate func timed(_ timeBase: AVRational, _ rate: Rational) -> StreamDetails {
        var details = self
        details.timeBase = timeBase
        details.averageFrameRate = AVRational(num: rate.numerator, den: rate.denominator)
        return details
    }
}

extension UnsafeMutablePointer<AVPacket> {
    /// The samples of a packet of audio that are not played; `nil` if it states none.
    var trim: SampleTrim? {
        var size = 0
        guard let bytes = av_packet_get_side_data(self, AV_PKT_DATA_SKIP_SAMPLES, &size) else { return nil }
        return SampleTrim(bytes: Array(UnsafeBufferPointer(start: bytes, count: size)))
    }

    /// Whether decoding can begin at the packet.
    var isKeyFrame: Bool { pointee.flags & AV_PKT_FLAG_KEY != 0 }
}
