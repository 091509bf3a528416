// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

extension PixelBuffer {
    /// Returns a picture of noise: no two parts of it are alike, so a sample that is read from any other place differs.
    static func testCard(_ picture: Description) throws(MediaError) -> PixelBuffer {
        let card = try PixelBuffer(picture)
        // Samples of 10 bits are in the upper bits of 16.
        let used: UInt64 = picture.format.bytesPerSample == 2 ? 0xFFC0_FFC0_FFC0_FFC0 : .max
        try card.withPlanes { planes in
            for (index, (plane, extent)) in zip(planes, card.planeExtents).enumerated() {
                var words = [UInt64](repeating: 0, count: (extent.bytesPerRow + 7) / 8)
                for row in 0..<extent.rows {
                    let start = UInt64(index) << 48 | UInt64(row) << 24
                    for column in words.indices { words[column] = noise(start | UInt64(column)) & used }
                    (plane.baseAddress + row * plane.bytesPerRow).copyMemory(from: words, byteCount: extent.bytesPerRow)
                }
            }
        }
        return card
    }

    /// Returns where planes differ from the picture; `nil` if they show it.
    func difference(from others: [PixelPlane]) throws(MediaError) -> String? {
        let extents = planeExtents
        return try withPlanes { planes in
            for (index, (plane, other)) in zip(planes, others).enumerated() {
                for row in 0..<extents[index].rows {
                    let expected = plane.baseAddress + row * plane.bytesPerRow
                    let found = other.baseAddress + row * other.bytesPerRow
                    if memcmp(expected, found, extents[index].bytesPerRow) != 0 {
                        return "row \(row) of plane \(index) differs"
                    }
                }
            }
            return nil
        }
    }
}

/// Returns a value in which all bits depend on all bits of a number: the mixing function of SplitMix64.
private func noise(_ number: UInt64) -> UInt64 {
    var value = (number + 1) &* 0x9E37_79B9_7F4A_7C15
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
}
