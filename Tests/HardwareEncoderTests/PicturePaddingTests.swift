// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import HardwareEncoder
@testable import VAAPI

/// What lies in a surface beside a picture that is no multiple of a macroblock.
@Suite struct PicturePaddingTests {
    private static let untouched: UInt8 = 0xEE

    /// NV12 memory with a pitch of its own, whose picture's samples tell their places.
    private func extended(width: Int, height: Int, columns: Int, rows: Int, pitch: Int, count: Int? = nil) -> [UInt8] {
        let chroma = rows * pitch
        var memory = [UInt8](repeating: Self.untouched, count: count ?? chroma + rows / 2 * pitch)
        for row in 0..<height { for x in 0..<width { memory[row * pitch + x] = UInt8(row * 7 + x) } }
        for row in 0..<height / 2 { for x in 0..<width { memory[chroma + row * pitch + x] = UInt8(row * 5 + x) } }
        memory.withUnsafeMutableBytes { bytes in
            WritablePlanes(
                format: .nv12,
                width: columns,
                height: rows,
                planes: [ImagePlane(offset: 0, pitch: pitch), ImagePlane(offset: chroma, pitch: pitch)],
                bytes: bytes
            ).extend(width: width, height: height, columns: columns, rows: rows)
        }
        return memory
    }

    @Test func theLastColumnAndRowAreRepeated() {
        let (width, height, columns, rows, pitch) = (18, 14, 32, 16, 40)
        let memory = extended(width: width, height: height, columns: columns, rows: rows, pitch: pitch)
        for row in 0..<rows {
            for x in 0..<columns {
                let expected = UInt8(min(row, height - 1) * 7 + min(x, width - 1))
                #expect(memory[row * pitch + x] == expected, "luma \(x), \(row)")
            }
            #expect(memory[row * pitch + columns] == Self.untouched)
        }
        for row in 0..<rows / 2 {
            for x in 0..<columns {
                let pair = min(x / 2, width / 2 - 1)
                let expected = UInt8(min(row, height / 2 - 1) * 5 + pair * 2 + x % 2)
                #expect(memory[rows * pitch + row * pitch + x] == expected, "chroma \(x), \(row)")
            }
        }
    }

    @Test func nothingIsWrittenBesideAWholePicture() {
        let memory = extended(width: 16, height: 16, columns: 16, rows: 16, pitch: 24)
        for row in 0..<16 { #expect(memory[row * 24 + 16] == Self.untouched) }
    }

    @Test func memoryThatIsTooSmallIsLeftAlone() {
        // A driver that gives out less than it was asked for: no more than the picture itself is touched.
        let (width, height, pitch) = (18, 14, 40)
        let count = 16 * pitch + 7 * pitch
        let memory = extended(width: width, height: height, columns: 32, rows: 16, pitch: pitch, count: count)
        #expect(memory.count == count)
    }
}
