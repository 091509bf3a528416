// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// The layout of a picture's samples in memory.
public enum PixelFormat: String, Sendable, Hashable, CaseIterable {
    /// 8-bit 4:2:0 in two planes: Y, then interleaved Cb and Cr. The input format of GPU encoders.
    case nv12
    /// 8-bit 4:2:0 in three planes: Y, Cb, Cr. The output format of most software decoders.
    case i420
    /// 10-bit 4:2:0 in two planes like NV12, each sample in the upper ten bits of a little-endian 16-bit word.
    case p010
    /// 12-bit 4:2:0 in three planes, each sample in the lower twelve bits of a little-endian 16-bit word.
    case i012
    /// 8-bit 4:2:2 in three planes.
    case i422
    /// 10-bit 4:2:2 in three planes, each sample in the lower bits of a little-endian 16-bit word.
    case i210
    /// 12-bit 4:2:2 in three planes, each sample in the lower bits of a little-endian 16-bit word.
    case i212
    /// 8-bit 4:4:4 in three planes.
    case i444
    /// 10-bit 4:4:4 in three planes, each sample in the lower bits of a little-endian 16-bit word.
    case i410
    /// 12-bit 4:4:4 in three planes, each sample in the lower bits of a little-endian 16-bit word.
    case i412
    /// 8-bit blue, green, red and alpha in one plane, in this order in memory.
    case bgra
    /// 8-bit 4:2:2 in one plane: Y0 Cb Y1 Cr. The output format of many cameras.
    case yuy2

    /// The number of planes.
    public var planeCount: Int { arrangement.planeCount }

    /// The bit depth of the samples: 8, 10 or 12.
    public var bitDepth: Int { arrangement.bitDepth }

    /// The size of a sample in bytes: 1 or 2. Rows and planes of 2-byte samples begin at even addresses.
    public var bytesPerSample: Int { arrangement.luma.wordSize }

    /// Whether the samples are luma and chroma rather than red, green and blue.
    public var isYCbCr: Bool { self != .bgra }

    /// The chroma subsampling; 4:4:4 for red, green and blue.
    public var chromaFormat: ChromaFormat { arrangement.chromaFormat }

    /// Whether width and height must be even, because 2x2 luma samples share chroma samples.
    public var is420: Bool { chromaFormat == .yuv420 }

    /// Returns the pixel format of libavcodec's and x265's pictures with the given chroma format and bit depth, except
    /// that 10-bit 4:2:0 is P010 instead of three planes. `nil` for a bit depth other than 8, 10 or 12, and for
    /// monochrome.
    public static func preferred(_ chroma: ChromaFormat, bitDepth: Int) -> PixelFormat? {
        let order: [PixelFormat] = [.i420, .p010, .i012, .i422, .i210, .i212, .i444, .i410, .i412]
        return order.first { $0.chromaFormat == chroma && $0.bitDepth == bitDepth }
    }

    /// Returns the used bytes of a row and the number of rows of one plane of a picture of the given size.
    ///
    /// For odd sizes, the last, incomplete chroma sample counts. `nil` if the format has no such plane, or if a
    /// dimension is below 1 or above ``PixelBuffer/maximumDimension``.
    public func planeExtent(_ plane: Int, width: Int, height: Int) -> PlaneExtent? {
        let valid = 1...PixelBuffer.maximumDimension
        guard valid.contains(width), valid.contains(height) else { return nil }
        return arrangement.extent(ofPlane: plane, width: width, height: height)
    }
}

/// The extent of one plane of a picture.
public struct PlaneExtent: Sendable, Hashable {
    /// The used bytes of a row, without padding.
    public let bytesPerRow: Int
    /// The number of rows.
    public let rows: Int
}

/// The layout of one plane in a buffer's memory.
public struct PlaneLayout: Sendable, Hashable {
    /// The offset of the plane's first sample from the start of the memory, in bytes.
    public var offset: Int
    /// The row stride in bytes, at least the used bytes of a row.
    public var bytesPerRow: Int

    /// Makes a plane layout.
    public init(offset: Int, bytesPerRow: Int) {
        self.offset = offset
        self.bytesPerRow = bytesPerRow
    }
}
