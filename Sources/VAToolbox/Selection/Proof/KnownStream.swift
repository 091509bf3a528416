// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax
package import MediaTypes
import VideoDecoding

/// A short stream whose pictures are known: 8 pictures of 320x192 with B-frames. A decoder that can be trusted with
/// streams of its class returns exactly these pictures, because H.264 and HEVC define every sample.
package struct KnownStream: Sendable, CustomStringConvertible {
    /// The codec.
    package let codec: VideoCodec
    /// The profile, and whether it is interlaced, such as `high` or `high interlaced`.
    package let name: String
    /// The checksums of the pictures in presentation order; see ``checksum(of:)``.
    package let checksums: [UInt64]
    private let text: String

    /// - Parameter text: The stream as in Annex B, with access unit delimiters, in base 64.
    init(_ codec: VideoCodec, _ name: String, checksums: [UInt64], _ text: String) {
        (self.codec, self.name, self.checksums, self.text) = (codec, name, checksums, text)
    }

    /// For example `h264 high interlaced`.
    package var description: String { "\(codec.rawValue) \(name)" }

    /// All streams.
    package static let all = [h264Main, h264High, h264Interlaced, hevcMain, hevcMain10]

    /// The streams of a codec.
    package static func streams(of codec: VideoCodec) -> [KnownStream] { all.filter { $0.codec == codec } }

    /// The usual stream of a codec: H.264 High, HEVC Main.
    static func usual(_ codec: VideoCodec) -> KnownStream { codec == .h264 ? h264High : hevcMain }

    /// Returns the stream that stands for all streams of a format; `nil` if GPU decoders do not support the format.
    ///
    /// The profile, the bit depth and interlacing select different functions of a driver. The size does not: drivers
    /// refuse a size that they do not support.
    ///
    /// - Throws: `malformedData` if the sequence parameter set cannot be parsed.
    static func standing(for format: FormatDescription) throws(MediaError) -> KnownStream? {
        guard let unit = format.sequenceParameterSets.first else {
            throw MediaError(.malformedData, "the format has no sequence parameter set")
        }
        do throws(BitstreamError) {
            switch format.codec {
            case .h264:
                let set = try H264SequenceParameterSet(nalUnit: unit)
                guard set.chromaFormatIdc == .yuv420, max(set.lumaBitDepth, set.chromaBitDepth) == 8 else { return nil }
                if !set.frameMbsOnlyFlag { return h264Interlaced }
                return set.profileIdc == 100 ? h264High : h264Main
            case .hevc:
                let set = try HEVCSequenceParameterSet(nalUnit: unit)
                guard set.chromaFormatIdc == .yuv420 else { return nil }
                switch max(set.lumaBitDepth, set.chromaBitDepth) {
                case 8: return hevcMain
                case 10: return hevcMain10
                default: return nil
                }
            }
        } catch {
            throw MediaError(.malformedData, "the sequence parameter set cannot be parsed: \(error)")
        }
    }

    // MARK: - Samples

    /// The bytes of the stream, as in Annex B.
    package var bytes: [UInt8] {
        var (bytes, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
        for character in text.utf8 {
            guard let value = Self.digit(character) else { continue }
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }

    /// The value of a digit in base 64.
    private static func digit(_ character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }

    /// The samples in decoding order.
    package func samples() throws(MediaError) -> [SampleBuffer] {
        let bytes = bytes
        var (sets, pictures): ([[UInt8]], [[[UInt8]]]) = ([], [])
        do throws(BitstreamError) {
            for range in try NALUnitFraming.annexB.nalUnits(in: bytes) {
                let unit = Array(bytes[range])
                let header = try codec.nalUnitHeader(of: unit)
                if header.isAccessUnitDelimiter {
                    pictures.append([])
                } else if header.isParameterSet {
                    sets.append(unit)
                } else if header.isVideoCodingLayer, !pictures.isEmpty {
                    pictures[pictures.count - 1].append(unit)
                }
            }
        } catch {
            throw MediaError(.malformedData, "the known stream cannot be parsed: \(error)")
        }
        let format = FormatDescription(codec: codec, width: Self.width, height: Self.height, parameterSets: sets)
        return pictures.enumerated().map { index, units in
            let data = units.reduce(into: [UInt8]()) { data, unit in
                withUnsafeBytes(of: UInt32(unit.count).bigEndian) { data += $0 }
                data += unit
            }
            let time = MediaTime(value: Int64(index), timescale: 25)
            return SampleBuffer(
                data: CodedData(data),
                presentationTime: time,
                decodeTime: time,
                duration: MediaTime(value: 1, timescale: 25),
                isKeyFrame: index == 0,
                formatDescription: format,
                formatDescriptionChanged: index == 0
            )
        }
    }

    /// The size of the pictures.
    private static let (width, height) = (320, 192)

    // MARK: - Pictures

    /// Returns the checksum of a picture in any 4:2:0 format of 8 or 10 bits: 64-bit FNV-1a over the samples of luma, Cb
    /// and Cr, one byte each, or two with the low byte first beyond 8 bits.
    ///
    /// - Returns: `nil` if the picture has another size or chroma format.
    package static func checksum(of picture: PixelBuffer) throws(MediaError) -> UInt64? {
        let arrangement = picture.format.arrangement
        guard arrangement.chromaFormat == .yuv420, picture.width == width, picture.height == height else { return nil }
        let isDeep = arrangement.bitDepth > 8
        return try picture.withPlanes { planes in
            var sum: UInt64 = 0xCBF2_9CE4_8422_2325
            func add(_ byte: UInt16) { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3 }
            let components = PictureComponents(arrangement, width: width, height: height, planes: planes)
            for plane in components.planes {
                for row in 0..<plane.height {
                    let start = plane.base + row * plane.bytesPerRow
                    for column in 0..<plane.width {
                        let address = start + column * plane.step
                        guard isDeep else {
                            add(UInt16(address.load(as: UInt8.self)))
                            continue
                        }
                        let word = UInt16(littleEndian: address.load(as: UInt16.self)) >> UInt16(plane.shift)
                        add(word & 0xFF)
                        add(word >> 8)
                    }
                }
            }
            return sum
        }
    }
}
