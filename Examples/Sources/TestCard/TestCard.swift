// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// Paints a picture in NV12 or I420, without colour: noise that moves to the left, and below it noise that is new in
/// every picture, which costs an encoder whatever rate it has.
///
/// - Parameters:
///   - number: Which picture of the clip.
///   - buffer: Where to paint it.
public func paintTestCard(_ number: Int, into buffer: PixelBuffer) throws(MediaError) {
    try buffer.withPlanes { planes in
        for (index, (plane, extent)) in zip(planes, buffer.planeExtents).enumerated() {
            for row in 0..<extent.rows {
                let samples = UnsafeMutableRawBufferPointer(
                    start: plane.baseAddress + row * plane.bytesPerRow,
                    count: extent.bytesPerRow
                )
                let isNew = row > extent.rows * 3 / 4
                for column in samples.indices {
                    let luma = noise(isNew ? column : column + 3 * number, row, seed: isNew ? number : 0)
                    samples[column] = index == 0 ? luma : 128
                }
            }
        }
    }
}

/// A grey of the limited range, 16...235, that looks random and is the same in every run.
private func noise(_ column: Int, _ row: Int, seed: Int) -> UInt8 {
    var hash = UInt32(truncatingIfNeeded: column / 4 &* 73_856_093 ^ row / 4 &* 19_349_663 ^ seed &* 83_492_791)
    hash = (hash ^ hash >> 13) &* 0x5bd1_e995
    return UInt8(16 + (hash ^ hash >> 15) % 220)
}
