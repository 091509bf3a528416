// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax

/// The location of each component's samples in memory. This one description defines the planes of a format, and the
/// conversion between any two formats of the same chroma format and bit depth.
package struct SampleArrangement: Sendable, Hashable {
    /// The samples of one component: luma, Cb or Cr; or green, blue or red.
    package struct Component: Sendable, Hashable {
        /// The index of its plane.
        package var plane: Int
        /// The offset of its first sample in a row, in bytes.
        package var offset: Int
        /// The distance between adjacent samples of a row in bytes.
        package var step: Int
        /// The size in bytes of the little-endian word that holds a sample: 1, 2 or 4.
        package var wordSize: Int
        /// The number of bits of the word below the sample.
        package var shift: Int

        init(_ plane: Int, offset: Int = 0, step: Int, wordSize: Int = 1, shift: Int = 0) {
            (self.plane, self.offset, self.step) = (plane, offset, step)
            (self.wordSize, self.shift) = (wordSize, shift)
        }
    }

    /// The chroma subsampling.
    package var chromaFormat: ChromaFormat
    /// The bit depth of the samples.
    package var bitDepth: Int
    /// Luma or green.
    package var luma: Component
    /// Cb or blue.
    package var cb: Component
    /// Cr or red.
    package var cr: Component
    /// The alpha samples or padding next to the samples in their plane, written as all ones.
    package var alpha: Component?
    /// The bit depth of ``alpha``.
    package var alphaDepth = 0

    /// The number of planes.
    package var planeCount: Int { max(luma.plane, cb.plane, cr.plane) + 1 }

    /// Returns the used bytes of a row and the number of rows of one plane of a picture of the given size; `nil` if
    /// there is no such plane.
    package func extent(ofPlane plane: Int, width: Int, height: Int) -> PlaneExtent? {
        guard (0..<planeCount).contains(plane) else { return nil }
        let columns = (width + chromaFormat.horizontalSubsampling - 1) / chromaFormat.horizontalSubsampling
        let rows = (height + chromaFormat.verticalSubsampling - 1) / chromaFormat.verticalSubsampling
        var bytes = luma.plane == plane ? width * luma.step : 0
        for chroma in [cb, cr] where chroma.plane == plane { bytes = max(bytes, columns * chroma.step) }
        return PlaneExtent(bytesPerRow: bytes, rows: luma.plane == plane ? height : rows)
    }
}

// MARK: - Formats

extension SampleArrangement {
    /// Three planes; samples of more than 8 bits are in the lower bits of 16-bit words.
    package static func planar(_ chroma: ChromaFormat, bitDepth: Int) -> SampleArrangement {
        let size = bitDepth > 8 ? 2 : 1
        return SampleArrangement(
            chromaFormat: chroma,
            bitDepth: bitDepth,
            luma: Component(0, step: size, wordSize: size),
            cb: Component(1, step: size, wordSize: size),
            cr: Component(2, step: size, wordSize: size)
        )
    }

    /// 4:2:0 with a luma plane and a plane of Cb and Cr pairs, as in NV12, P010 and P012; samples of more than 8 bits
    /// are in the upper bits of 16-bit words.
    package static func semiPlanar(bitDepth: Int) -> SampleArrangement {
        let size = bitDepth > 8 ? 2 : 1
        let shift = size * 8 - bitDepth
        return SampleArrangement(
            chromaFormat: .yuv420,
            bitDepth: bitDepth,
            luma: Component(0, step: size, wordSize: size, shift: shift),
            cb: Component(1, step: 2 * size, wordSize: size, shift: shift),
            cr: Component(1, offset: size, step: 2 * size, wordSize: size, shift: shift)
        )
    }

    /// 4:2:2 as Y0 Cb Y1 Cr in one plane, as in YUY2, Y210 and Y212; samples of more than 8 bits are in the upper bits
    /// of 16-bit words.
    package static func packed422(bitDepth: Int) -> SampleArrangement {
        let size = bitDepth > 8 ? 2 : 1
        let shift = size * 8 - bitDepth
        return SampleArrangement(
            chromaFormat: .yuv422,
            bitDepth: bitDepth,
            luma: Component(0, step: 2 * size, wordSize: size, shift: shift),
            cb: Component(0, offset: size, step: 4 * size, wordSize: size, shift: shift),
            cr: Component(0, offset: 3 * size, step: 4 * size, wordSize: size, shift: shift)
        )
    }

    /// 8-bit 4:4:4 as the bytes Cr Cb Y A in one plane: VA-API's AYUV, and XYUV, whose last byte is unused.
    package static let ayuv = SampleArrangement(
        chromaFormat: .yuv444,
        bitDepth: 8,
        luma: Component(0, offset: 2, step: 4),
        cb: Component(0, offset: 1, step: 4),
        cr: Component(0, step: 4),
        alpha: Component(0, offset: 3, step: 4),
        alphaDepth: 8
    )

    /// 10-bit 4:4:4 in 32-bit words, from the lowest bit: Cb, Y, Cr, and two bits of alpha.
    package static let y410 = SampleArrangement(
        chromaFormat: .yuv444,
        bitDepth: 10,
        luma: Component(0, step: 4, wordSize: 4, shift: 10),
        cb: Component(0, step: 4, wordSize: 4),
        cr: Component(0, step: 4, wordSize: 4, shift: 20),
        alpha: Component(0, step: 4, wordSize: 4, shift: 30),
        alphaDepth: 2
    )

    /// 12-bit 4:4:4 as the 16-bit words Cb Y Cr A, with samples in their upper bits.
    package static let y412 = SampleArrangement(
        chromaFormat: .yuv444,
        bitDepth: 12,
        luma: Component(0, offset: 2, step: 8, wordSize: 2, shift: 4),
        cb: Component(0, step: 8, wordSize: 2, shift: 4),
        cr: Component(0, offset: 4, step: 8, wordSize: 2, shift: 4),
        alpha: Component(0, offset: 6, step: 8, wordSize: 2, shift: 4),
        alphaDepth: 12
    )

    fileprivate static let bgra = SampleArrangement(
        chromaFormat: .yuv444,
        bitDepth: 8,
        luma: Component(0, offset: 1, step: 4),
        cb: Component(0, step: 4),
        cr: Component(0, offset: 2, step: 4)
    )
}

extension PixelFormat {
    /// The arrangement of the samples of each component.
    package var arrangement: SampleArrangement {
        switch self {
        case .nv12: .semiPlanar(bitDepth: 8)
        case .p010: .semiPlanar(bitDepth: 10)
        case .i420: .planar(.yuv420, bitDepth: 8)
        case .i012: .planar(.yuv420, bitDepth: 12)
        case .i422: .planar(.yuv422, bitDepth: 8)
        case .i210: .planar(.yuv422, bitDepth: 10)
        case .i212: .planar(.yuv422, bitDepth: 12)
        case .i444: .planar(.yuv444, bitDepth: 8)
        case .i410: .planar(.yuv444, bitDepth: 10)
        case .i412: .planar(.yuv444, bitDepth: 12)
        case .yuy2: .packed422(bitDepth: 8)
        case .bgra: .bgra
        }
    }
}
