// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// Pictures that move, with noise, each different from those around it.
enum Pictures {
    /// Frame `number` in memory of the session's pool, or of its own if there is none.
    static func make(_ number: Int, _ pool: PixelBufferPool) throws(MediaError) -> PixelBuffer {
        let buffer = try pool.make()
        try buffer.withPlanes { (planes) throws(MediaError) in
            for (index, plane) in planes.enumerated() {
                fill(plane, rows: buffer.height >> index, columns: buffer.width, number, index)
            }
        }
        return buffer
    }

    private static func fill(_ plane: PixelPlane, rows: Int, columns: Int, _ number: Int, _ index: Int) {
        var random = UInt32(truncatingIfNeeded: number &* 7919 &+ index &+ 1)
        for row in 0..<rows {
            let line = plane.baseAddress + row * plane.bytesPerRow
            for column in 0..<columns {
                random = random &* 1_664_525 &+ 1_013_904_223
                let wave = ((column + number * 3) >> 3 ^ (row + number) >> 2) & 127
                let value = UInt8(truncatingIfNeeded: 48 + wave + Int(random >> 29))
                line.storeBytes(of: value, toByteOffset: column, as: UInt8.self)
            }
        }
    }
}
