// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes

/// Moving pictures made of arithmetic: a drifting texture with noise, and a change of scene in the middle.
struct TestClip: Sendable {
    let width: Int
    let height: Int
    let frameRate: Rational
    /// I420, 8 bits, tightly packed.
    let frames: [[UInt8]]

    static let small = TestClip(width: 144, height: 80, count: 60)
    static let tiny = TestClip(width: 48, height: 32, count: 60)

    init(width: Int, height: Int, count: Int, hasSceneChange: Bool = true) {
        self.width = width
        self.height = height
        frameRate = Rational(30)
        var random = SplitMix(state: 7)
        frames = (0..<count).map { index in
            let scene = index * 2 < count || !hasSceneChange ? 3 : 11
            var frame = [UInt8](repeating: 0, count: width * height * 3 / 2)
            for y in 0..<height {
                for x in 0..<width {
                    let wave = (x + index) * scene ^ (y * 5 + index * 2)
                    frame[y * width + x] = UInt8(truncatingIfNeeded: 40 + (wave & 127) + Int(random.next() & 7))
                }
            }
            for chroma in width * height..<frame.count {
                frame[chroma] = UInt8(truncatingIfNeeded: 100 + ((chroma / 3 + index * scene) & 31))
            }
            return frame
        }
    }

    /// YUV4MPEG2, which the `x264` command line reads.
    var y4m: Data {
        var data = Data(
            "YUV4MPEG2 W\(width) H\(height) F\(frameRate.numerator):\(frameRate.denominator) Ip C420\n".utf8
        )
        for frame in frames {
            data.append(contentsOf: "FRAME\n".utf8)
            data.append(contentsOf: frame)
        }
        return data
    }

    /// The same pictures with ten bits, as YUV4MPEG2: every sample times 4 and a bit more.
    var tenBitY4M: Data {
        let header = "YUV4MPEG2 W\(width) H\(height) F\(frameRate.numerator):\(frameRate.denominator) Ip C420p10\n"
        var data = Data(header.utf8)
        for frame in frames {
            data.append(contentsOf: "FRAME\n".utf8)
            for sample in frame {
                let wide = Self.tenBit(sample)
                data.append(UInt8(wide & 255))
                data.append(UInt8(wide >> 8))
            }
        }
        return data
    }

    /// The luma of a frame with chroma of its own, in any planar format or YUY2: the bytes of each plane, tightly packed.
    func bytes(_ index: Int, _ format: PixelFormat) -> [[UInt8]] {
        let luma = Array(frames[index].prefix(width * height))
        let components = [luma, chroma(index, 3, format), chroma(index, 7, format)]
        if format == .yuy2 {
            var packed: [UInt8] = []
            for place in 0..<width * height {
                packed.append(components[0][place])
                packed.append(components[1 + place % 2][place / 2])
            }
            return [packed]
        }
        let extra = UInt16(format.bitDepth - 8)
        if extra == 0 { return components }
        let mask: UInt16 = 1 << extra - 1
        return components.map { samples in
            var words: [UInt8] = []
            for sample in samples {
                let code: UInt16 = UInt16(sample) << extra | UInt16(sample) & mask
                words.append(UInt8(code & 255))
                words.append(UInt8(code >> 8))
            }
            return words
        }
    }

    private func chroma(_ index: Int, _ seed: Int, _ format: PixelFormat) -> [UInt8] {
        let columns = width / format.chromaFormat.horizontalSubsampling
        let rows = height / format.chromaFormat.verticalSubsampling
        var samples: [UInt8] = []
        for y in 0..<rows {
            for x in 0..<columns {
                let value: Int = 90 + x * 3 + y * 5 + index * seed
                samples.append(UInt8(64 + value & 63))
            }
        }
        return samples
    }

    /// YUV4MPEG2 of frames in a planar format.
    func y4m(_ format: PixelFormat) -> Data {
        let depth = format.bitDepth > 8 ? "p\(format.bitDepth)" : ""
        let space = format.chromaFormat.name.filter(\.isNumber) + depth
        let header = "YUV4MPEG2 W\(width) H\(height) F\(frameRate.numerator):\(frameRate.denominator) Ip C\(space)\n"
        var data = Data(header.utf8)
        for index in frames.indices {
            data.append(contentsOf: "FRAME\n".utf8)
            for plane in bytes(index, format) { data.append(contentsOf: plane) }
        }
        return data
    }

    static func tenBit(_ sample: UInt8) -> UInt16 { UInt16(sample) * 4 + UInt16(sample & 3) }

    /// One frame as pixel buffer, in rows that are `padding` bytes longer than needed; the padding is poisoned.
    func buffer(_ index: Int, format: PixelFormat, padding: Int = 0) throws -> PixelBuffer {
        let chromaSize = width / 2 * height / 2
        let luma = frames[index][..<(width * height)]
        let first = frames[index][(width * height)...].prefix(chromaSize)
        let second = frames[index].suffix(chromaSize)
        let interleaved = zip(first, second).flatMap { [$0, $1] }
        func words(_ samples: some Sequence<UInt8>) -> [UInt8] {
            samples.flatMap { sample in
                let word = Self.tenBit(sample) << 6
                return [UInt8(word & 255), UInt8(word >> 8)]
            }
        }
        let planes: [[UInt8]] =
            switch format {
            case _ where format == .yuy2 || format.chromaFormat != .yuv420 || format.bitDepth == 12:
                bytes(index, format)
            case .nv12: [Array(luma), interleaved]
            case .p010: [words(luma), words(interleaved)]
            default: [Array(luma), Array(first), Array(second)]
            }
        let description = PixelBuffer.Description(format: format, width: width, height: height)
        let laidOut = planes.enumerated().map { plane, samples in
            let rows = plane == 0 ? height : height / format.chromaFormat.verticalSubsampling
            return Plane(samples, bytesPerRow: samples.count / rows, rows: rows, padding: padding)
        }
        return try PixelBuffer(description, planes: laidOut.map(\.pixelPlane)) { withExtendedLifetime(laidOut) {} }
    }

    private final class Plane: @unchecked Sendable {
        let pixelPlane: PixelPlane

        init(_ samples: [UInt8], bytesPerRow: Int, rows: Int, padding: Int) {
            let pitch = bytesPerRow + padding
            let memory = UnsafeMutableRawPointer.allocate(byteCount: pitch * rows, alignment: 1)
            memory.initializeMemory(as: UInt8.self, repeating: 0xA5, count: pitch * rows)
            for row in 0..<rows {
                UnsafeMutableRawBufferPointer(start: memory + row * pitch, count: bytesPerRow)
                    .copyBytes(from: samples[row * bytesPerRow..<(row + 1) * bytesPerRow])
            }
            pixelPlane = PixelPlane(baseAddress: memory, bytesPerRow: pitch)
        }

        deinit { pixelPlane.baseAddress.deallocate() }
    }
}

/// A small generator of random numbers that gives the same ones everywhere.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
