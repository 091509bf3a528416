// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
package import MediaTypes

/// Owns the `AVCodecContext` of a decoder for samples with length prefixes. Used by one thread at a time.
final class CodecContext {
    /// The number of packets since the start or the last ``flush()``.
    private(set) var packetCount = 0

    private var context: UnsafeMutablePointer<AVCodecContext>?

    /// Opens a decoder.
    ///
    /// - Parameter mark: The mark of the log route, which each thread of the decoder copies.
    /// - Throws: `unsupported` if libavcodec has no decoder or refuses the format; `malformedData` if the parameter sets
    ///   cannot be parsed; errors of the platform.
    init(
        _ format: FormatDescription,
        _ platform: any DecodingPlatform,
        mark: UnsafeMutableRawPointer?
    ) throws(MediaError) {
        let id = format.codec == .h264 ? AV_CODEC_ID_H264 : AV_CODEC_ID_HEVC
        let configuration = try format.decoderConfigurationRecord()
        guard let codec = avcodec_find_decoder(id) else {
            throw MediaError(.unsupported, "FFmpeg has no decoder for this video", given: format.codec.rawValue)
        }
        guard let context = avcodec_alloc_context3(codec) else {
            throw MediaError(.outOfMemory, "no memory for a decoder", call: "avcodec_alloc_context3")
        }
        self.context = context
        do throws(MediaError) {
            try Self.set(configuration, in: context)
            context.pointee.opaque = mark
            context.pointee.pkt_timebase = AVRational(num: 1, den: 1)
            // Crop to the exact edge rather than to an aligned address, and return pictures with missing references.
            context.pointee.flags |= AV_CODEC_FLAG_UNALIGNED | AV_CODEC_FLAG_OUTPUT_CORRUPT
            // On the CPU, libavcodec would otherwise add film grain, which is no part of the decoding process (H.274),
            // and which no GPU adds.
            context.pointee.export_side_data |= AV_CODEC_EXPORT_DATA_FILM_GRAIN
            // libavcodec guesses the depth of H.264 streams without a bitstream restriction, and drops pictures until it
            // has guessed right. It takes that of HEVC from the SPS.
            context.pointee.has_b_frames = Int32(clamping: Self.reorderDepth(of: format))
            try platform.prepare(UnsafeMutableRawPointer(context), for: format)
            try check(
                avcodec_open2(context, codec, nil),
                "avcodec_open2",
                "the decoder cannot be opened",
                code: .unsupported,
                given: format.codec.rawValue
            )
        } catch {
            free()
            throw error
        }
    }

    deinit { free() }

    private func free() { avcodec_free_context(&context) }

    private static func set(
        _ configuration: [UInt8],
        in context: UnsafeMutablePointer<AVCodecContext>
    ) throws(MediaError) {
        guard let memory = av_mallocz(configuration.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else {
            throw MediaError(.outOfMemory, "no memory for the decoder configuration", call: "av_mallocz")
        }
        memory.copyMemory(from: configuration, byteCount: configuration.count)
        context.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        context.pointee.extradata_size = Int32(clamping: configuration.count)
    }

    /// The largest reorder depth of the sequence parameter sets; 0 for HEVC.
    private static func reorderDepth(of format: FormatDescription) -> Int {
        guard format.codec == .h264 else { return 0 }
        let depths = format.sequenceParameterSets.compactMap { unit in
            (try? H264SequenceParameterSet(nalUnit: unit))?.maxNumReorderFrames
        }
        return min(depths.max() ?? 0, 16)
    }

    /// The number of threads that decode.
    var threadCount: Int { Int(context?.pointee.thread_count ?? 1) }

    /// The number of samples that the decoder works on at a time.
    var parallelSamples: Int {
        (context?.pointee.active_thread_type ?? 0) & FF_THREAD_FRAME != 0 ? max(threadCount, 1) : 1
    }

    /// Sets the mark for messages about the next packet.
    func setMark(_ mark: UnsafeMutableRawPointer?) { context?.pointee.opaque = mark }

    /// Submits a packet; `nil` ends the input.
    func send(_ packet: UnsafePointer<AVPacket>?) -> Int32 {
        if packet != nil { packetCount += 1 }
        return avcodec_send_packet(context, packet)
    }

    /// Receives a frame.
    func receive(_ frame: FrameReference) -> Int32 { avcodec_receive_frame(context, frame.frame) }

    /// Makes the decoder ready for input after its end.
    func flush() {
        avcodec_flush_buffers(context)
        packetCount = 0
    }
}

extension FormatDescription {
    /// The sequence parameter sets.
    package var sequenceParameterSets: [[UInt8]] {
        parameterSets.filter { unit in
            switch codec {
            case .h264: (try? H264NALUnitHeader(nalUnit: unit))?.nalUnitType == .sequenceParameterSet
            case .hevc: (try? HEVCNALUnitHeader(nalUnit: unit))?.nalUnitType == .sequenceParameterSet
            }
        }
    }
}
