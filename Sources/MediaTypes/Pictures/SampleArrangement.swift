// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax

/// Where the samples of each component of a picture lie: the one description from which the planes of a format, and the
/// way from any format to any other of the same chroma format and depth, follow.
package struct SampleArrangement: Sendable, Hashable {
    /// Luma, Cb or Cr; or green, blue or red.
    package struct Component: Sendable, Hashable {
        /// The plane that it lies in.
        package var plane: Int
        /// Bytes before its first sample in a row.
        package var offset: Int
        /// Bytes from a sample to the next one in a row.
        package var step: Int
        /// Bytes of the little-endian word that holds a sample: 1, 2 or 4.
        package var wordSize: Int
        /// Bits of the word below the sample.
        package var shift: Int

        init(_ plane: Int, offset: Int = 0, step: Int, wordSize: Int = 1, shift: Int = 0) {
            (self.plane, self.offset, self.step) = (plane, offset, step)
            (self.wordSize, self.shift) = (wordSize, shift)
        }
    }

    /// How densely chroma is sampled.
    package var chromaFormat: ChromaFormat
    /// Bits of each sample.
    package var bitDepth: Int
    /// Luma, or green.
    package var luma: Component
    /// Cb, or blue.
    package var cb: Component
    /// Cr, or red.
    package var cr: Component
    /// What is beside the samples in their plane and becomes all ones.
    package var alpha: Component?
    /// Bits of ``alpha``.
    package var alphaDepth = 0

    /// The number of planes.
    package var planeCount: Int { max(luma.plane, cb.plane, cr.plane) + 1 }

    /// Used bytes of a row and rows of a plane of a picture of that size; `nil` if there is no such plane.
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
    /// Three planes; of more than 8 bits, samples are the lower bits of 16-bit words.
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

    /// 4:2:0 with a plane of luma and one of pairs of Cb and Cr, as NV12, P010 and P012; of more than 8 bits, samples are
    /// the upper bits of 16-bit words.
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

    /// 4:2:2 as Y0 Cb Y1 Cr in one plane, as YUY2, Y210 and Y212; of more than 8 bits, samples are the upper bits of 16-bit
    /// words.
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

    /// 4:4:4 of 8 bits as the bytes Cr Cb Y A in one plane: VA-API's AYUV, and XYUV, whose last byte means nothing.
    package static let ayuv = SampleArrangement(
        chromaFormat: .yuv444,
        bitDepth: 8,
        luma: Component(0, offset: 2, step: 4),
        cb: Component(0, offset: 1, step: 4),
        cr: Component(0, step: 4),
        alpha: Component(0, offset: 3, step: 4),
        alphaDepth: 8
    )

    /// 4:4:4 of 10 bits in 32-bit words, from the lowest bit on: Cb, Y, Cr, and two bits of alpha.
    package static let y410 = SampleArrangement(
        chromaFormat: .yuv444,
        bitDepth: 10,
        luma: Component(0, step: 4, wordSize: 4, shift: 10),
        cb: Component(0, step: 4, wordSize: 4),
        cr: Component(0, step: 4, wordSize: 4, shift: 20),
        alpha: Component(0, step: 4, wordSize: 4, shift: 30),
        alphaDepth: 2
    )

    /// 4:4:4 of 12 bits as the 16-bit words Cb Y Cr A, samples in their upper bits.
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
    /// Where the samples of each component lie.
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
