// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import TestSupport
import Testing
import VideoDecoding

/// Film grain that an SEI message suggests is no part of the pictures, whatever decodes them: GPUs add none.
@Suite struct FilmGrainTests {
    /// The values of a message, bit by bit.
    private struct Bits {
        private var text = ""

        mutating func write(_ value: UInt32, _ count: Int) {
            let digits = String(value, radix: 2)
            text += String(repeating: "0", count: count - digits.count) + digits
        }

        mutating func writeGolomb(_ value: UInt32) { write(value + 1, 2 * String(value + 1, radix: 2).count - 1) }

        mutating func writeSignedGolomb(_ value: Int32) {
            writeGolomb(value > 0 ? UInt32(2 * value - 1) : UInt32(-2 * value))
        }

        /// The bits in whole bytes, with the bit that ends a payload.
        var bytes: [UInt8] {
            var text = text
            if text.count % 8 != 0 { text += "1" }
            while text.count % 8 != 0 { text += "0" }
            return stride(from: 0, to: text.count, by: 8).compactMap { UInt8(text.dropFirst($0).prefix(8), radix: 2) }
        }
    }

    /// `film_grain_characteristics()` with strong grain in the luma plane (H.264 D.1.21, HEVC D.2.21).
    private func message(_ codec: VideoCodec) -> SEIMessage {
        var bits = Bits()
        bits.write(0, 1)  // film_grain_characteristics_cancel_flag
        bits.write(0, 2)  // film_grain_model_id
        bits.write(0, 1)  // separate_colour_description_present_flag
        bits.write(0, 2)  // blending_mode_id
        bits.write(2, 4)  // log2_scale_factor
        bits.write(0b100, 3)  // comp_model_present_flag
        bits.write(0, 8)  // num_intensity_intervals_minus1
        bits.write(2, 3)  // num_model_values_minus1
        bits.write(0, 8)  // intensity_interval_lower_bound
        bits.write(255, 8)  // intensity_interval_upper_bound
        for value: Int32 in [100, 8, 8] { bits.writeSignedGolomb(value) }  // comp_model_value
        switch codec {
        case .h264: bits.writeGolomb(1)  // film_grain_characteristics_repetition_period
        case .hevc: bits.write(1, 1)  // film_grain_characteristics_persistence_flag
        }
        return SEIMessage(type: .init(rawValue: 19), payload: bits.bytes)
    }

    /// Adds the message to each picture.
    private func grained(_ stream: CodedStream) throws -> CodedStream {
        let unit = SEIMessage.nalUnit([message(stream.codec)], codec: stream.codec)
        let start: [UInt8] = [0, 0, 0, 1]
        var bytes: [UInt8] = []
        for range in try NALUnitFraming.annexB.nalUnits(in: stream.bytes) {
            let original = Array(stream.bytes[range])
            if try stream.codec.nalUnitHeader(of: original).isVideoCodingLayer { bytes += start + unit }
            bytes += start + original
        }
        return try CodedStream(stream.codec, bytes: bytes)
    }

    @Test(arguments: [VideoCodec.h264, .hevc]) func itIsNotAdded(codec: VideoCodec) throws {
        let options = codec == .h264 ? "-x264-params slices=1:threads=1" : "-x265-params log-level=none:frame-threads=1"
        let plain = try CodedStream(codec, frames: 8, options)
        let stream = try grained(plain)
        let size = 192 * 112 * 3 / 2
        let expected = try plain.pictures("yuv420p", byteCount: size)
        let ffmpeg = try stream.pictures("yuv420p", byteCount: size)
        // The message is understood: by default, ffmpeg adds the grain.
        #expect(ffmpeg.count == expected.count && zip(ffmpeg, expected).allSatisfy { $0 != $1 })
        for threads in [1, 3] {
            let recording = try Recording.decode(stream, threads: threads)
            #expect(recording.damaged.isEmpty && recording.pictures.count == expected.count)
            #expect(try zip(recording.pictures, expected).allSatisfy { try $0.buffer.packed() == $1 })
        }
    }
}
