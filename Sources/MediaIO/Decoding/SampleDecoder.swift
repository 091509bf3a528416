// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
public import Logging
public import MediaTypes
internal import VideoDecoding

/// Decodes samples with libavcodec in strict mode, to check whether the output of an encoder is a valid stream. Used
/// from one thread at a time; calls block.
public final class SampleDecoder {
    /// A decoded picture.
    public struct Picture: Sendable, Hashable {
        /// The presentation time of the sample that contains it.
        public let presentationTime: MediaTime
        /// The display width in luma samples.
        public let width: Int
        /// The display height in luma samples.
        public let height: Int
    }

    private let decoder: VideoDecoder
    private let log: LogRoute?

    /// Makes a decoder.
    ///
    /// - Parameters:
    ///   - codec: The codec to decode.
    ///   - logger: Receives FFmpeg's messages, like `MediaLog.logger`; `nil` leaves them to that logger.
    /// - Throws: `unsupported` if FFmpeg has no decoder for the codec; `outOfMemory`.
    public init(_ codec: VideoCodec, logger: Logger? = nil) throws(MediaError) {
        MediaLog.install()
        log = LogRoute(logger)
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        let id = codec == .h264 ? AV_CODEC_ID_H264 : AV_CODEC_ID_HEVC
        decoder = try VideoDecoder(strictly: id, log: log)
    }

    /// Decodes a whole stream.
    ///
    /// - Parameter samples: The samples in decoding order, starting with a key frame. Samples that the encoder dropped
    ///   are skipped.
    /// - Returns: The pictures in presentation order.
    /// - Throws: `malformedData` with the sample that the decoder rejects, or if a picture is damaged.
    public func decode(_ samples: [SampleBuffer]) throws(MediaError) -> [Picture] {
        var pictures: [Picture] = []
        try decode(samples) { (frame, time) throws(MediaError) in
            let (width, height) = (Int(frame.frame.pointee.width), Int(frame.frame.pointee.height))
            pictures.append(Picture(presentationTime: time, width: width, height: height))
        }
        return pictures
    }

    /// Decodes a whole stream, and passes its pictures to a closure in presentation order.
    ///
    /// - Parameters:
    ///   - samples: As for ``decode(_:)``.
    ///   - show: Receives each picture, in the decoder's memory, with the presentation time of its sample. A 10-bit
    ///     picture, which decoders return in three planes, is copied into P010.
    /// - Throws: As ``decode(_:)``; `unsupported` for pictures without a matching pixel format; any error of `show`.
    public func decode(
        _ samples: [SampleBuffer],
        show: (PixelBuffer, MediaTime) throws(MediaError) -> Void
    ) throws(MediaError) {
        let pictures = FramePictures()
        try decode(samples) { (frame: FrameReference, time) throws(MediaError) in
            try show(try pictures.picture(of: frame, FrameProperties()), time)
        }
    }

    private func decode(
        _ samples: [SampleBuffer],
        take: (FrameReference, MediaTime) throws(MediaError) -> Void
    ) throws(MediaError) {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        for (index, sample) in samples.enumerated() where !sample.isDropped {
            let data = try sample.annexB(withParameterSets: sample.isKeyFrame || sample.formatDescriptionChanged)
            let packet = try data.withUnsafeBytes { (bytes) throws(MediaError) in
                try PacketReference(bytes, number: index)
            }
            try check(
                decoder.send(packet.packet),
                "avcodec_send_packet",
                "sample \(index) cannot be decoded",
                code: .malformedData
            )
            try receive(samples, take)
        }
        try check(decoder.send(nil), "avcodec_send_packet", "the decoder cannot be flushed", code: .malformedData)
        try receive(samples, take)
    }

    /// - Parameter samples: The samples to which packet times are indices, because sample times may have several
    ///   timescales.
    private func receive(
        _ samples: [SampleBuffer],
        _ take: (FrameReference, MediaTime) throws(MediaError) -> Void
    ) throws(MediaError) {
        while true {
            switch try decoder.receive() {
            case .needsInput, .finished: return
            case .failed(let status):
                try check(status, "avcodec_receive_frame", "a picture cannot be decoded", code: .malformedData)
            case .frame(let reference):
                let frame = reference.frame.pointee
                guard frame.flags & AV_FRAME_FLAG_CORRUPT == 0, frame.decode_error_flags == 0 else {
                    throw MediaError(
                        .malformedData,
                        "a decoded picture is damaged",
                        given: "errors 0x\(String(frame.decode_error_flags, radix: 16))",
                        call: "avcodec_receive_frame"
                    )
                }
                guard let index = Int(exactly: frame.pts), samples.indices.contains(index) else {
                    throw MediaError(
                        .malformedData,
                        "a decoded picture does not match any sample",
                        given: "\(frame.pts)"
                    )
                }
                try take(reference, samples[index].presentationTime)
            }
        }
    }
}

extension PacketReference {
    /// Makes a packet with a copy of bytes, and with an index in place of its time.
    fileprivate convenience init(
        _ bytes: UnsafeRawBufferPointer,
        number: Int
    ) throws(MediaError) {
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        guard let packet, av_new_packet(packet, Int32(clamping: bytes.count)) == 0 else {
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_new_packet")
        }
        UnsafeMutableRawBufferPointer(start: packet.pointee.data, count: bytes.count).copyMemory(from: bytes)
        packet.pointee.pts = Int64(number)
        try self.init(moving: packet)
    }
}
