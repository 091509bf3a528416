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

    /// The samples in the layout of NV12 or P010, in whatever planes they are.
    package func packedInterleaved() throws -> [UInt8] {
        var description = pictureDescription
        description.format = format.bitDepth == 8 ? .nv12 : .p010
        let copy = try PixelBuffer(description)
        try withPlanes { (source) throws(MediaError) in
            try copy.withPlanes { target in components(source).write(to: copy.components(target)) }
        }
        return try copy.packed()
    }

    private func components(_ planes: [PixelPlane]) -> PictureComponents {
        PictureComponents(format.arrangement, width: width, height: height, planes: planes)
    }
}
