// SPDX-License-Identifier: GPL-2.0-or-later

/// How the samples of a picture lie in memory.
public enum PixelFormat: String, Sendable, Hashable, CaseIterable {
    /// 8-bit 4:2:0, two planes: Y, then interleaved Cb and Cr. What GPUs encode.
    case nv12
    /// 8-bit 4:2:0, three planes: Y, Cb, Cr. What most software decoders give.
    case i420
    /// 10-bit 4:2:0, two planes as NV12, each sample in the upper ten bits of a little-endian 16-bit word.
    case p010
    /// 8-bit blue, green, red, alpha in one plane, in this order in memory.
    case bgra
    /// 8-bit 4:2:2 in one plane: Y0 Cb Y1 Cr. What cameras give.
    case yuy2

    /// The number of planes.
    public var planeCount: Int {
        switch self {
        case .nv12, .p010: 2
        case .i420: 3
        case .bgra, .yuy2: 1
        }
    }

    /// Bits of each sample: 8 or 10.
    public var bitDepth: Int { self == .p010 ? 10 : 8 }

    /// Bytes of each sample: 1 or 2. Rows and planes of 2-byte samples begin at even addresses.
    public var bytesPerSample: Int { self == .p010 ? 2 : 1 }

    /// Whether the samples are luma and chroma (else red, green and blue).
    public var isYCbCr: Bool { self != .bgra }

    /// Whether width and height have to be even: chroma samples are shared by 2x2 luma samples.
    public var is420: Bool {
        switch self {
        case .nv12, .i420, .p010: true
        case .bgra, .yuy2: false
        }
    }

    /// The used bytes of a row and the number of rows of one plane of a picture of that size.
    ///
    /// Odd sizes count their last, incomplete chroma sample. `nil` if the format has no such plane, a size is below 1
    /// or above ``PixelBuffer/maximumDimension``.
    public func planeExtent(_ plane: Int, width: Int, height: Int) -> PlaneExtent? {
        let valid = 1...PixelBuffer.maximumDimension
        guard valid.contains(width), valid.contains(height), (0..<planeCount).contains(plane) else { return nil }
        let chromaWidth = (width + 1) / 2
        let chromaHeight = (height + 1) / 2
        switch (self, plane) {
        case (.nv12, 0), (.i420, 0): return PlaneExtent(bytesPerRow: width, rows: height)
        case (.nv12, _): return PlaneExtent(bytesPerRow: chromaWidth * 2, rows: chromaHeight)
        case (.i420, _): return PlaneExtent(bytesPerRow: chromaWidth, rows: chromaHeight)
        case (.p010, 0): return PlaneExtent(bytesPerRow: width * 2, rows: height)
        case (.p010, _): return PlaneExtent(bytesPerRow: chromaWidth * 4, rows: chromaHeight)
        case (.bgra, _): return PlaneExtent(bytesPerRow: width * 4, rows: height)
        case (.yuy2, _): return PlaneExtent(bytesPerRow: chromaWidth * 4, rows: height)
        }
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
