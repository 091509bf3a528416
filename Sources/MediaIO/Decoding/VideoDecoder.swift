// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes
internal import VideoDecoding

/// Decodes one stream with libavcodec's frame threads. Used from one thread at a time.
final class VideoDecoder {
    /// The result of a call to ``receive()``.
    enum Output {
        case frame(FrameReference)
        case needsInput
        case finished
        /// Decoding of one frame failed with this status; decoding can continue.
        case failed(Int32)
    }

    private var context: UnsafeMutablePointer<AVCodecContext>?
    private let log: LogRoute?

    /// - Parameters:
    ///   - stream: The stream to decode.
    ///   - threads: The number of threads; 0 for one per processor.
    ///   - pixels: The largest number of pixels of a picture; `nil` for libavcodec's limit. Larger ones are damage.
    ///   - log: The destination of messages, including those of the decoder's threads.
    init(stream: UnsafePointer<AVStream>, threads: Int, pixels: Int?, log: LogRoute?) throws(MediaError) {
        self.log = log
        let parameters = stream.pointee.codecpar
        let (codec, context) = try Self.make(parameters?.pointee.codec_id ?? AV_CODEC_ID_NONE)
        self.context = context
        try check(
            avcodec_parameters_to_context(context, parameters),
            "avcodec_parameters_to_context",
            "the stream's parameters cannot be used",
            code: .malformedData
        )
        // Each thread has a copy of the context, which contains this field.
        context.pointee.opaque = log?.mark
        context.pointee.pkt_timebase = stream.pointee.time_base
        context.pointee.framerate = stream.pointee.avg_frame_rate
        if let pixels { context.pointee.max_pixels = Int64(pixels) }
        context.pointee.thread_count = Int32(clamping: threads)
        context.pointee.thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE
        // Crop to the exact edge rather than to an aligned address.
        context.pointee.flags |= AV_CODEC_FLAG_UNALIGNED
        try Self.open(context, codec)
    }

    /// Makes a decoder for packets that contain parameter sets. It uses one thread and reports damaged data. It reports
    /// what it conceals, because without concealment libavcodec treats every picture of several slices as damaged.
    init(strictly id: AVCodecID, log: LogRoute?) throws(MediaError) {
        self.log = log
        let (codec, context) = try Self.make(id)
        self.context = context
        context.pointee.err_recognition = AV_EF_EXPLODE | AV_EF_BITSTREAM | AV_EF_BUFFER
        context.pointee.thread_count = 1
        context.pointee.opaque = log?.mark
        try Self.open(context, codec)
    }

    private static func make(
        _ id: AVCodecID
    ) throws(MediaError) -> (UnsafePointer<AVCodec>, UnsafeMutablePointer<AVCodecContext>) {
        guard let codec = avcodec_find_decoder(id) else {
            throw MediaError(
                .unsupported,
                "FFmpeg has no decoder for this video",
                given: avcodec_get_name(id).map { String(cString: $0) }
            )
        }
        guard let context = avcodec_alloc_context3(codec) else {
            throw MediaError(.outOfMemory, "no memory for a decoder", call: "avcodec_alloc_context3")
        }
        return (codec, context)
    }

    private static func open(
        _ context: UnsafeMutablePointer<AVCodecContext>,
        _ codec: UnsafePointer<AVCodec>
    ) throws(MediaError) {
        try check(
            avcodec_open2(context, codec, nil),
            "avcodec_open2",
            "the decoder cannot be opened",
            code: .unsupported
        )
    }

    deinit { avcodec_free_context(&context) }

    /// The size of the coded pictures with padding, when one was decoded.
    var codedSize: (width: Int, height: Int) {
        (Int(context?.pointee.coded_width ?? 0), Int(context?.pointee.coded_height ?? 0))
    }

    /// Whether frames are returned in an order that differs from the input order.
    var reorders: Bool { reorderDepth > 0 }

    /// The number of packets by which pictures are delayed, so that they leave in presentation order.
    var reorderDepth: Int { Int(context?.pointee.has_b_frames ?? 0) }

    /// Submits a packet, after ``receive()`` has reported that it needs input; `nil` ends the input.
    ///
    /// - Returns: The status of `avcodec_send_packet`; if it is negative, the packet could not be decoded.
    func send(_ packet: UnsafePointer<AVPacket>?) -> Int32 { avcodec_send_packet(context, packet) }

    /// Returns the next decoded frame.
    func receive() throws(MediaError) -> Output {
        let reference = try FrameReference()
        switch avcodec_receive_frame(context, reference.frame) {
        case 0: return .frame(reference)
        case ffmpeg_error_again: return .needsInput
        case ffmpeg_error_eof: return .finished
        case let status: return .failed(status)
        }
    }

    /// Discards all state, as required after a seek.
    func flush() { avcodec_flush_buffers(context) }
}
