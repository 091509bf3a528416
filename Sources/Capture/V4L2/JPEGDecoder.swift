// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import Logging
internal import MediaTypes
internal import Synchronization
internal import VideoDecoding

/// Decodes JPEG pictures of a camera with libavcodec. Used by one thread.
final class JPEGDecoder {
    /// Whether libavcodec has logged an error about the present picture.
    private final class Damage: Sendable {
        private let isFound = Atomic(false)
        func note() { isFound.store(true, ordering: .relaxed) }
        func take() -> Bool { isFound.exchange(false, ordering: .relaxed) }
    }

    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    private let pictures = FramePictures()
    private let damage = Damage()
    private let route: LogRoute

    /// Opens a decoder.
    ///
    /// - Throws: `unavailable` if libavcodec was built without it; `outOfMemory`.
    init(logger: Logger?) throws(MediaError) {
        MediaLog.install()
        route = LogRoute(logger) { [damage] _, _ in damage.note() }
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_MJPEG) else {
            throw MediaError(.unavailable, "FFmpeg has no decoder for MJPEG", call: "avcodec_find_decoder")
        }
        context = avcodec_alloc_context3(codec)
        packet = av_packet_alloc()
        guard let context, packet != nil else {
            free()
            throw MediaError(.outOfMemory, "no memory for a decoder", call: "avcodec_alloc_context3")
        }
        context.pointee.opaque = route.mark
        context.pointee.thread_count = 1
        context.pointee.err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER | AV_EF_EXPLODE
        context.pointee.flags |= AV_CODEC_FLAG_UNALIGNED
        let mark = LogRoute.enter(route)
        let status = avcodec_open2(context, codec, nil)
        LogRoute.leave(mark)
        guard status >= 0 else {
            free()
            throw MediaError(
                .unavailable,
                "the decoder for MJPEG cannot be opened: \(describe(status))",
                call: "avcodec_open2",
                status: Int(status)
            )
        }
    }

    deinit { free() }

    private func free() {
        avcodec_free_context(&context)
        av_packet_free(&packet)
    }

    /// Decodes one picture.
    ///
    /// - Parameter expected: What the driver says of the picture.
    /// - Returns: `nil` if the data is damaged or no JPEG picture.
    /// - Throws: `outOfMemory`.
    func decode(_ bytes: UnsafeRawBufferPointer, _ expected: NegotiatedPicture) throws(MediaError) -> PixelBuffer? {
        guard let context, let packet, let source = bytes.baseAddress, Self.isFramed(bytes) else { return nil }
        av_packet_unref(packet)
        let allocated = av_new_packet(packet, Int32(clamping: bytes.count))
        guard allocated >= 0 else {
            throw MediaError(.outOfMemory, "no memory for a picture", call: "av_new_packet", status: Int(allocated))
        }
        packet.pointee.data.map { UnsafeMutableRawPointer($0).copyMemory(from: source, byteCount: bytes.count) }
        let frame = try FrameReference()
        let mark = LogRoute.enter(route)
        _ = damage.take()
        var status = avcodec_send_packet(context, packet)
        if status >= 0 {
            status = avcodec_receive_frame(context, frame.address.assumingMemoryBound(to: AVFrame.self))
        }
        LogRoute.leave(mark)
        if status == ffmpeg_error_no_memory {
            throw MediaError(.outOfMemory, "no memory for a picture", call: "avcodec_receive_frame")
        }
        guard status >= 0, !damage.take() else {
            avcodec_flush_buffers(context)
            return nil
        }
        do throws(MediaError) {
            return try pictures.picture(of: frame, properties(of: frame, expected))
        } catch  where error.code != .outOfMemory {
            return nil
        }
    }

    /// What the data states comes first. What it does not state, the driver does.
    private func properties(of frame: FrameReference, _ expected: NegotiatedPicture) -> FrameProperties {
        var color = PictureColor.description(of: frame)
        if color.primaries == .unspecified { color.primaries = expected.color.primaries }
        if color.transfer == .unspecified { color.transfer = expected.color.transfer }
        if color.matrix == .unspecified { color.matrix = expected.color.matrix }
        if color.range == .unspecified { color.range = .full }
        let attachments = PixelAttachments(fieldOrder: expected.fieldOrder)
        return FrameProperties(color: color, attachments: PictureColor.attachments(of: frame, stream: attachments))
    }

    /// Whether the data begins with the marker SOI and has the marker EOI, which cameras pad with further bytes.
    private static func isFramed(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] == 0xD8 else { return false }
        var index = bytes.count - 1
        while index >= 3 {
            if bytes[index] == 0xD9, bytes[index - 1] == 0xFF { return true }
            index -= 1
        }
        return false
    }
}
