// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import MediaTimeline
internal import MediaTypes

/// Gives times to the pictures of a raw H.264 or HEVC stream, which has none: libavcodec's parser finds the order in which
/// they are shown, and the frame rate is constant.
final class PictureCounts {
    /// The time base of the times: half frames, because a picture may be a field.
    let timeBase: AVRational

    private let codec: VideoCodec
    private let fieldDuration: Int64
    private var parser: UnsafeMutablePointer<AVCodecParserContext>?
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var order = PictureOrder()
    /// How much earlier pictures are decoded than shown, in ticks; `nil` before the first one.
    private var delay: Int64?
    private let statedDelay: Int64
    private var waiting: [PacketReference] = []
    /// The number of pictures that more pictures precede in decoding order than the stream states.
    private(set) var lateCount = 0

    /// - Parameter frameRate: In frames per second.
    /// - Throws: `outOfMemory`.
    init(_ stream: UnsafePointer<AVStream>, codec: VideoCodec, frameRate: Rational) throws(MediaError) {
        self.codec = codec
        let rate = frameRate.reduced
        timeBase = AVRational(num: 1, den: Int32(clamping: 2 * Int64(rate.numerator)))
        fieldDuration = Int64(rate.denominator)
        let parameters = stream.pointee.codecpar.pointee
        statedDelay = Int64(max(parameters.video_delay, 0)) * 2 * fieldDuration
        parser = av_parser_init(Int32(bitPattern: parameters.codec_id.rawValue))
        context = avcodec_alloc_context3(nil)
        guard let parser, let context else {
            throw MediaError(.outOfMemory, "no memory for a parser", call: "av_parser_init")
        }
        parser.pointee.flags |= PARSER_FLAG_COMPLETE_FRAMES
        context.pointee.codec_id = parameters.codec_id
    }

    deinit {
        av_parser_close(parser)
        avcodec_free_context(&context)
    }

    /// Takes the next picture, and returns the pictures whose times are known now, in decoding order.
    func add(_ reference: PacketReference) -> [PacketReference] {
        guard let packet = reference.packet, let parser, let context else { return [] }
        var (parsed, size): (UnsafeMutablePointer<UInt8>?, Int32) = (nil, 0)
        av_parser_parse2(
            parser,
            context,
            &parsed,
            &size,
            packet.pointee.data,
            packet.pointee.size,
            ffmpeg_no_pts,
            ffmpeg_no_pts,
            0
        )
        let isField = [AV_PICTURE_STRUCTURE_TOP_FIELD, AV_PICTURE_STRUCTURE_BOTTOM_FIELD]
            .contains(parser.pointee.picture_structure)
        waiting.append(reference)
        return release(
            order.add(
                count: Int(parser.pointee.output_picture_number),
                beginsSequence: beginsSequence(packet),
                duration: isField ? fieldDuration : 2 * fieldDuration
            )
        )
    }

    /// Returns the remaining pictures.
    func finish() -> [PacketReference] { release(order.finish()) }

    /// Whether picture order counts begin anew: with an IDR picture, or a BLA picture of HEVC.
    private func beginsSequence(_ packet: UnsafePointer<AVPacket>) -> Bool {
        let bytes = UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size))
        guard let units = try? NALUnitFraming.annexB.nalUnits(in: bytes) else { return false }
        for unit in units {
            guard let header = try? codec.nalUnitHeader(of: bytes[unit]), header.isVideoCodingLayer else { continue }
            return header.isIDR || (codec == .hevc && (16...18).contains(bytes[unit.lowerBound] >> 1))
        }
        return false
    }

    private func release(_ times: [PictureOrder.Times]) -> [PacketReference] {
        guard !times.isEmpty else { return [] }
        let delay = delay ?? max(statedDelay, times.map { $0.decode - $0.presentation }.max() ?? 0)
        self.delay = delay
        let known = waiting.prefix(times.count)
        for (reference, time) in zip(known, times) {
            guard let packet = reference.packet else { continue }
            packet.pointee.pts = time.presentation
            packet.pointee.dts = min(time.decode - delay, time.presentation)
            packet.pointee.duration = time.duration
            if time.decode - delay > time.presentation { lateCount += 1 }
        }
        waiting.removeFirst(known.count)
        return Array(known)
    }
}
