// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

extension PixelBuffer {
    /// Returns a copy of the samples in the planar arrangement of their chroma format and bit depth, such as that of I420,
    /// with rows and planes one directly after another. Pictures with the same samples have the same bytes, whatever their
    /// formats.
    ///
    /// - Throws: As ``withPlanes(_:)``.
    package func planarSamples() throws(MediaError) -> [UInt8] {
        let arrangement = SampleArrangement.planar(format.chromaFormat, bitDepth: format.bitDepth)
        let extents = (0..<arrangement.planeCount).compactMap {
            arrangement.extent(ofPlane: $0, width: width, height: height)
        }
        let size = extents.reduce(0) { $0 + $1.bytesPerRow * $1.rows }
        return try withPlanes { planes in
            [UInt8](unsafeUninitializedCapacity: size) { memory, count in
                guard let base = memory.baseAddress else { return }
                var offset = 0
                let targets = extents.map { extent in
                    defer { offset += extent.bytesPerRow * extent.rows }
                    return PixelPlane(
                        baseAddress: UnsafeMutableRawPointer(base + offset),
                        bytesPerRow: extent.bytesPerRow
                    )
                }
                PictureComponents(format.arrangement, width: width, height: height, planes: planes)
                    .write(to: PictureComponents(arrangement, width: width, height: height, planes: targets))
                count = size
            }
        }
    }
}
