// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

extension PixelBuffer {
    /// The samples of all planes without padding, as in FFmpeg's raw files.
    package func packed() throws -> [UInt8] {
        var bytes: [UInt8] = []
        try withPlanes { planes in
            for (plane, extent) in zip(planes, planeExtents) {
                for row in 0..<extent.rows {
                    let start = UnsafeRawPointer(plane.baseAddress) + row * plane.bytesPerRow
                    bytes += UnsafeRawBufferPointer(start: start, count: extent.bytesPerRow)
                }
            }
        }
        return bytes
    }
}
