// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes
internal import VideoDecoding

/// Encodes pictures of one format and size as PNG or JPEG with libavcodec, several at a time. Used from one thread at a
/// time.
final class StillEncoder {
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?

    /// Opens an encoder of pictures like a frame.
    ///
    /// - Throws: `unavailable` if FFmpeg was built without the encoder; `unsupported` if it refuses the frame.
    init(for frame: FrameReference, as format: StillFormat, log: LogRoute?) throws(MediaError) {
        guard let codec = avcodec_find_encoder(format == .png ? AV_CODEC_ID_PNG : AV_CODEC_ID_MJPEG) else {
            throw MediaError(.unavailable, "FFmpeg was built without the encoder", given: format.name)
        }
        (context, packet) = (avcodec_alloc_context3(codec), av_packet_alloc())
        guard let context, packet != nil else {
            free()
            throw MediaError(.outOfMemory, "no memory for an encoder", call: "avcodec_alloc_context3")
        }
        let picture = frame.frame.pointee
        context.pointee.opaque = log?.mark
        context.pointee.pix_fmt = AVPixelFormat(picture.format)
        (context.pointee.width, context.pointee.height) = (picture.width, picture.height)
        context.pointee.sample_aspect_ratio = picture.sample_aspect_ratio
        context.pointee.time_base = AVRational(num: 1, den: 1)
        context.pointee.thread_count = 0
        if let quantizer = format.quantizer {
            context.pointee.color_range = AVCOL_RANGE_JPEG
            context.pointee.flags |= AV_CODEC_FLAG_QSCALE
            context.pointee.global_quality = Int32((quantizer * Double(FF_QP2LAMBDA)).rounded())
        }
        do throws(MediaError) {
            try check(
                avcodec_open2(context, codec, nil),
                "avcodec_open2",
                "the \(format.name) encoder cannot be opened",
                code: .unsupported,
                given: "\(picture.width)x\(picture.height)"
            )
        } catch {
            free()
            throw error
        }
    }

    deinit { free() }

    private func free() {
        avcodec_free_context(&context)
        av_packet_free(&packet)
    }

    /// Encodes a picture; `nil` ends the input.
    ///
    /// - Parameters:
    ///   - frame: The picture, like the first one.
    ///   - write: Receives each file that is complete, in the order of the pictures.
    func encode(
        _ frame: FrameReference?,
        _ write: (UnsafeRawBufferPointer) throws(MediaError) -> Void
    ) throws(MediaError) {
        // Each picture states its quantizer.
        if let frame, let context { frame.frame.pointee.quality = context.pointee.global_quality }
        try check(avcodec_send_frame(context, frame?.frame), "avcodec_send_frame", "a picture cannot be encoded")
        while true {
            let status = avcodec_receive_packet(context, packet)
            if status == ffmpeg_error_again || status == ffmpeg_error_eof { return }
            try check(status, "avcodec_receive_packet", "a picture cannot be encoded")
            defer { av_packet_unref(packet) }
            try write(UnsafeRawBufferPointer(start: packet?.pointee.data, count: Int(packet?.pointee.size ?? 0)))
        }
    }
}
