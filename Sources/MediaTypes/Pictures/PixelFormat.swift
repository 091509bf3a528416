// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// How the samples of a picture lie in memory.
public enum PixelFormat: String, Sendable, Hashable, CaseIterable {
    /// 8-bit 4:2:0, two planes: Y, then interleaved Cb and Cr. What GPUs encode.
    case nv12
    /// 8-bit 4:2:0, three planes: Y, Cb, Cr. What most software decoders give.
    case i420
    /// 10-bit 4:2:0, two planes as NV12, each sample in the upper ten bits of a little-endian 16-bit word.
    case p010
    /// 12-bit 4:2:0, three planes, each sample in the lower twelve bits of a little-endian 16-bit word.
    case i012
    /// 8-bit 4:2:2, three planes.
    case i422
    /// 10-bit 4:2:2, three planes of little-endian 16-bit words with the sample in their lower bits.
    case i210
    /// 12-bit 4:2:2, three planes of little-endian 16-bit words with the sample in their lower bits.
    case i212
    /// 8-bit 4:4:4, three planes.
    case i444
    /// 10-bit 4:4:4, three planes of little-endian 16-bit words with the sample in their lower bits.
    case i410
    /// 12-bit 4:4:4, three planes of little-endian 16-bit words with the sample in their lower bits.
    case i412
    /// 8-bit blue, green, red, alpha in one plane, in this order in memory.
    case bgra
    /// 8-bit 4:2:2 in one plane: Y0 Cb Y1 Cr. What cameras give.
    case yuy2

    /// The number of planes.
    public var planeCount: Int { arrangement.planeCount }

    /// Bits of each sample: 8, 10 or 12.
    public var bitDepth: Int { arrangement.bitDepth }

    /// Bytes of each sample: 1 or 2. Rows and planes of 2-byte samples begin at even addresses.
    public var bytesPerSample: Int { arrangement.luma.wordSize }

    /// Whether the samples are luma and chroma (else red, green and blue).
    public var isYCbCr: Bool { self != .bgra }

    /// How densely chroma is sampled; 4:4:4 for red, green and blue.
    public var chromaFormat: ChromaFormat { arrangement.chromaFormat }

    /// Whether width and height have to be even: chroma samples are shared by 2x2 luma samples.
    public var is420: Bool { chromaFormat == .yuv420 }

    /// The format of that chroma format and bit depth in which libavcodec and x265 have pictures, P010 in place of planes
    /// for 4:2:0 of 10 bits; `nil` for a bit depth that is not 8, 10 or 12, and for monochrome.
    public static func preferred(_ chroma: ChromaFormat, bitDepth: Int) -> PixelFormat? {
        let order: [PixelFormat] = [.i420, .p010, .i012, .i422, .i210, .i212, .i444, .i410, .i412]
        return order.first { $0.chromaFormat == chroma && $0.bitDepth == bitDepth }
    }

    /// The used bytes of a row and the number of rows of one plane of a picture of that size.
    ///
    /// Odd sizes count their last, incomplete chroma sample. `nil` if the format has no such plane, a size is below 1
    /// or above ``PixelBuffer/maximumDimension``.
    public func planeExtent(_ plane: Int, width: Int, height: Int) -> PlaneExtent? {
        let valid = 1...PixelBuffer.maximumDimension
        guard valid.contains(width), valid.contains(height) else { return nil }
        return arrangement.extent(ofPlane: plane, width: width, height: height)
    }
}

/// What one plane of a picture holds.
public struct PlaneExtent: Sendable, Hashable {
    /// Used bytes of a row, without padding.
    public let bytesPerRow: Int
    /// Number of rows.
    public let rows: Int
}

/// Where one plane lies inside a buffer's memory.
public struct PlaneLayout: Sendable, Hashable {
    /// Bytes from the start of the memory to the plane's first sample.
    public var offset: Int
    /// Bytes from a row to the next one, at least the used bytes of a row.
    public var bytesPerRow: Int

    /// Describes a plane.
    public init(offset: Int, bytesPerRow: Int) {
        self.offset = offset
        self.bytesPerRow = bytesPerRow
    }
}
