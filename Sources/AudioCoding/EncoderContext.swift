// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes

/// An encoder of libavcodec. Used from one thread at a time.
final class EncoderContext {
    /// The format of the frames that it takes.
    let format: AudioFormat
    /// The number of frames per packet.
    let framesPerPacket: Int
    /// The description of its output.
    let description: AudioStreamDescription

    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    private let log: LogRoute?

    /// The number of frames per packet of codecs that take any number.
    private static let packetOfAnySize = 1024

    init(_ codec: AudioCodec, _ setup: EncoderSetup, log: LogRoute?) throws(MediaError) {
        self.log = log
        let name = codec.encoderName(setup.sampleType)
        guard let encoder = avcodec_find_encoder_by_name(name) else {
            throw MediaError(
                .unavailable,
                "FFmpeg was built without this audio encoder",
                given: name,
                call: "avcodec_find_encoder_by_name"
            )
        }
        var (context, packet) = (avcodec_alloc_context3(encoder), av_packet_alloc())
        guard let allocated = context, packet != nil else {
            avcodec_free_context(&context)
            av_packet_free(&packet)
            throw MediaError(.outOfMemory, "no memory for an audio encoder", call: "avcodec_alloc_context3")
        }
        (self.context, self.packet) = (context, packet)
        format = AudioFormat(
            sampleType: setup.sampleType,
            sampleRate: setup.sampleRate,
            layout: setup.layout,
            isInterleaved: codec != .aac
        )
        allocated.pointee.opaque = log?.mark
        allocated.pointee.sample_fmt = format.libraryFormat
        allocated.pointee.sample_rate = Int32(clamping: setup.sampleRate)
        allocated.pointee.ch_layout = setup.layout.libraryLayout
        allocated.pointee.time_base = AVRational(num: 1, den: Int32(clamping: setup.sampleRate))
        allocated.pointee.bit_rate = Int64(setup.bitRate ?? 0)
        if setup.sampleType == .int24 { allocated.pointee.bits_per_raw_sample = 24 }
        allocated.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        // One thread: audio is encoded beside the video, which has the others.
        allocated.pointee.thread_count = 1
        let status = avcodec_open2(allocated, encoder, nil)
        framesPerPacket =
            allocated.pointee.frame_size > 0 ? Int(allocated.pointee.frame_size) : Self.packetOfAnySize
        description = AudioStreamDescription(codec, setup, allocated.pointee)
        guard status >= 0 else {
            avcodec_free_context(&self.context)
            av_packet_free(&self.packet)
            try check(status, "avcodec_open2", "the audio encoder cannot be opened", code: .unsupported, given: name)
            return
        }
    }

    deinit {
        avcodec_free_context(&context)
        av_packet_free(&packet)
    }

    /// A frame with memory for samples.
    final class Frame {
        let pointer: UnsafeMutablePointer<AVFrame>

        fileprivate init() throws(MediaError) {
            guard let pointer = av_frame_alloc() else {
                throw MediaError(.outOfMemory, "no memory for audio", call: "av_frame_alloc")
            }
            self.pointer = pointer
        }

        deinit {
            var pointer: UnsafeMutablePointer<AVFrame>? = pointer
            av_frame_free(&pointer)
        }
    }

    /// Returns memory for `count` frames.
    func frame(_ count: Int) throws(MediaError) -> Frame {
        let frame = try Frame()
        frame.pointer.pointee.nb_samples = Int32(clamping: count)
        frame.pointer.pointee.format = format.libraryFormat.rawValue
        frame.pointer.pointee.sample_rate = Int32(clamping: format.sampleRate)
        frame.pointer.pointee.ch_layout = format.layout.libraryLayout
        try check(
            av_frame_get_buffer(frame.pointer, 0),
            "av_frame_get_buffer",
            "no memory for audio",
            code: .outOfMemory
        )
        return frame
    }

    /// Submits frames; `nil` ends the input.
    func send(_ frame: UnsafeMutablePointer<AVFrame>?) throws(MediaError) {
        try check(
            avcodec_send_frame(context, frame),
            "avcodec_send_frame",
            "audio cannot be encoded",
            code: .frameFailed
        )
    }

    /// Returns the next packet; `nil` if the encoder needs input or is finished.
    func receive() throws(MediaError) -> CodedData? {
        while let packet {
            let status = avcodec_receive_packet(context, packet)
            if status == ffmpeg_error_again || status == ffmpeg_error_eof { return nil }
            try check(status, "avcodec_receive_packet", "audio cannot be encoded", code: .frameFailed)
            defer { av_packet_unref(packet) }
            // FLAC's last packet is empty: it only carries the checksum of the whole.
            guard packet.pointee.size > 0 else { continue }
            return CodedData(UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
        }
        return nil
    }
}

extension AudioCodec {
    /// Returns the name of libavcodec's encoder.
    fileprivate func encoderName(_ type: AudioFormat.SampleType) -> String {
        switch (self, type) {
        case (.aac, _): "aac"
        // FFmpeg's own encoder is experimental.
        case (.opus, _): "libopus"
        case (.flac, _): "flac"
        case (.pcm, .int16): "pcm_s16le"
        case (.pcm, .int24): "pcm_s24le"
        case (.pcm, .int32): "pcm_s32le"
        case (.pcm, .float32): "pcm_f32le"
        }
    }
}

extension AudioStreamDescription {
    fileprivate init(_ codec: AudioCodec, _ setup: EncoderSetup, _ context: AVCodecContext) {
        let configuration = UnsafeBufferPointer(start: context.extradata, count: Int(context.extradata_size))
        self.init(
            codecName: avcodec_get_name(context.codec_id).map { String(cString: $0) } ?? codec.rawValue,
            sampleRate: setup.sampleRate,
            layout: setup.layout,
            configuration: Array(configuration)
        )
        bitRate = setup.bitRate ?? 0
        framesPerPacket = Int(max(context.frame_size, 0))
        priming = Int(max(context.initial_padding, 0))
        if codec == .flac || codec == .pcm { bitsPerSample = setup.sampleType.byteCount * 8 }
        if codec == .pcm { blockByteCount = setup.layout.channelCount * setup.sampleType.byteCount }
        if codec == .aac { profile = FF_PROFILE_AAC_LOW }
    }
}
