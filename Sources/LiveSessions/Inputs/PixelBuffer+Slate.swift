// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension PixelBuffer {
    /// Makes a dark picture with a lighter bar across the middle, which is shown instead of an input that is gone.
    ///
    /// - Parameters:
    ///   - width: The width in luma samples, even.
    ///   - height: The height in luma samples, even.
    static func slate(width: Int, height: Int) throws(MediaError) -> PixelBuffer {
        let picture = try PixelBuffer(
            .init(
                format: .nv12,
                width: max(width, 2),
                height: max(height, 2),
                color: ColorDescription(primaries: .bt709, transfer: .bt709, matrix: .bt709, range: .limited)
            )
        )
        let rows = picture.height
        try picture.withPlanes { planes in
            for (index, plane) in planes.enumerated() {
                let (count, scale) = index == 0 ? (rows, 1) : (rows / 2, 2)
                for row in 0..<count {
                    let isBar = (rows * 7 / 16..<rows * 9 / 16).contains(row * scale)
                    plane.baseAddress.advanced(by: row * plane.bytesPerRow).initializeMemory(
                        as: UInt8.self,
                        repeating: index == 1 ? 128 : isBar ? 70 : 30,
                        count: picture.width
                    )
                }
            }
        }
        return picture
    }
}
