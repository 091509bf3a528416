// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// Pictures that move, with noise, each different from those around it.
enum Pictures {
    /// Frame `number` in memory of the session's pool, or of its own if there is none.
    static func make(_ number: Int, _ pool: PixelBufferPool) throws(MediaError) -> PixelBuffer {
        try fill(pool.make(), number)
    }

    /// A buffer that is frame `number` now.
    static func fill(_ buffer: PixelBuffer, _ number: Int) throws(MediaError) -> PixelBuffer {
        try buffer.withPlanes { planes in fill(planes, buffer.pictureDescription, number) }
        return buffer
    }

    /// Fills planes with frame `number`.
    static func fill(_ planes: [PixelPlane], _ picture: PixelBuffer.Description, _ number: Int) {
        for (index, (plane, extent)) in zip(planes, picture.planeExtents).enumerated() {
            fill(plane, rows: extent.rows, columns: extent.bytesPerRow, number, index)
        }
    }

    /// Makes a buffer show the lower eight bits of a number: sixteen blocks, four in a row, are light or dark, the
    /// first eight for the bits, the others for the opposite of them. They can be read back after any coding.
    static func number(_ buffer: PixelBuffer, _ number: Int) throws(MediaError) -> PixelBuffer {
        let (width, height) = (buffer.width, buffer.height)
        try buffer.withPlanes { planes in
            for row in 0..<height {
                for column in 0..<width {
                    let block = row * 4 / height * 4 + column * 4 / width
                    let isSet = number >> (block % 8) & 1 == (block < 8 ? 1 : 0)
                    planes[0].baseAddress.storeBytes(
                        of: isSet ? 200 : 50,
                        toByteOffset: row * planes[0].bytesPerRow + column,
                        as: UInt8.self
                    )
                }
            }
            for row in 0..<height / 2 {
                (planes[1].baseAddress + row * planes[1].bytesPerRow)
                    .initializeMemory(as: UInt8.self, repeating: 128, count: width)
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
