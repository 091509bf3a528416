// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Stacks two pictures of the same size vertically, in the layout of FFmpeg's `yuv420p` and `yuv420p10le`.
struct PictureStack {
    /// The bit depth, 8 or 10.
    let bitDepth: Int

    /// Returns the bytes of both: for each plane, the rows of the upper picture, followed by those of the lower one.
    ///
    /// - Throws: Any error of accessing the samples.
    func bytes(above: PixelBuffer, below: PixelBuffer) throws(MediaError) -> [UInt8] {
        let samples = above.width * above.height + (above.width + 1) / 2 * ((above.height + 1) / 2) * 2
        var bytes: [UInt8] = []
        bytes.reserveCapacity(2 * samples * (bitDepth > 8 ? 2 : 1))
        try above.withPlanes { upper throws(MediaError) in
            try below.withPlanes { (lower) throws(MediaError) in
                for component in 0..<3 {
                    append(component, of: above, upper, to: &bytes)
                    append(component, of: below, lower, to: &bytes)
                }
            }
        }
        return bytes
    }

    private func append(_ component: Int, of picture: PixelBuffer, _ planes: [PixelPlane], to bytes: inout [UInt8]) {
        let isLuma = component == 0
        let width = isLuma ? picture.width : (picture.width + 1) / 2
        let height = isLuma ? picture.height : (picture.height + 1) / 2
        let isInterleaved = picture.format != .i420 && !isLuma
        let plane = planes[isInterleaved ? 1 : component]
        let (step, offset) = isInterleaved ? (2, component - 1) : (1, 0)
        for row in 0..<height {
            let start = plane.baseAddress + row * plane.bytesPerRow
            if picture.format.bytesPerSample == 2 {
                let words = start.assumingMemoryBound(to: UInt16.self)
                for column in 0..<width {
                    let code = UInt16(littleEndian: words[column * step + offset]) >> 6
                    bytes.append(UInt8(truncatingIfNeeded: code))
                    bytes.append(UInt8(truncatingIfNeeded: code >> 8))
                }
            } else if step == 1 {
                bytes.append(contentsOf: UnsafeRawBufferPointer(start: start, count: width))
            } else {
                let samples = start.assumingMemoryBound(to: UInt8.self)
                for column in 0..<width { bytes.append(samples[column * step + offset]) }
            }
        }
    }
}
