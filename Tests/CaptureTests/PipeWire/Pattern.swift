// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import MediaTypes

/// The pattern of the tests' source: byte x of row y of plane p of picture n is (3x + 5y + 17p + 7n) mod 256.
enum Pattern {
    /// Returns the number of a picture modulo 256; `nil` unless every byte is right.
    ///
    /// - Parameters:
    ///   - x: The column of the picture's first one, in luma samples.
    ///   - y: The row of the picture's first one.
    static func number(_ picture: PixelBuffer, x: Int = 0, y: Int = 0) throws -> Int? {
        let extents = picture.planeExtents
        let format = picture.format
        return try picture.withPlanes { planes -> Int? in
            func expected(_ column: Int, _ row: Int, _ plane: Int, _ number: Int) -> UInt8 {
                UInt8(truncatingIfNeeded: 3 * column + 5 * row + 17 * plane + 7 * number)
            }
            let origin = expected(x * bytes(format, 0), y, 0, 0)
            let first = planes[0].baseAddress.load(as: UInt8.self)
            // 183 is the inverse of 7 modulo 256.
            let number = Int(first &- origin) * 183 % 256
            for (index, (plane, extent)) in zip(planes, extents).enumerated() {
                let left = index == 0 ? x * bytes(format, 0) : format == .nv12 ? x : x / 2
                let top = index == 0 ? y : y / 2
                for row in 0..<extent.rows {
                    let bytes = plane.baseAddress + row * plane.bytesPerRow
                    for column in 0..<extent.bytesPerRow
                    where bytes.load(fromByteOffset: column, as: UInt8.self)
                        != expected(left + column, top + row, index, number)
                    {
                        return nil
                    }
                }
            }
            return number
        }
    }

    private static func bytes(_ format: PixelFormat, _ plane: Int) -> Int {
        format == .bgra ? 4 : format == .yuy2 ? 2 : 1
    }
}

/// Checks that pictures are exact and that every one between them was counted as lost.
struct PatternSequence {
    private var last: Int?
    private(set) var count = 0
    private(set) var lost = 0
    private var lastTime = Int64.min

    /// Returns what is wrong with the next picture; `nil` if nothing is.
    mutating func check(_ picture: CapturedPicture, x: Int = 0, y: Int = 0) throws -> String? {
        guard let number = try Pattern.number(picture.buffer, x: x, y: y) else {
            return "picture \(count) is not exact"
        }
        defer { (last, lastTime, count, lost) = (number, picture.time.value, count + 1, lost + picture.lostBefore) }
        guard picture.time.value > lastTime else { return "the time of picture \(count) is not later" }
        guard let last else { return nil }
        let gap = (number - last + 256) % 256
        return gap == (picture.lostBefore + 1) % 256
            ? nil : "picture \(count): a gap of \(gap) with \(picture.lostBefore) lost"
    }
}
