// SPDX-License-Identifier: GPL-2.0-or-later

/// `chroma_format_idc`: the chroma subsampling.
public enum ChromaFormat: UInt32, Sendable, Hashable, CaseIterable, Comparable {
    /// 4:0:0, luma only.
    case monochrome = 0
    /// 4:2:0, chroma with half the width and half the height.
    case yuv420 = 1
    /// 4:2:2, chroma with half the width.
    case yuv422 = 2
    /// 4:4:4, chroma with full size.
    case yuv444 = 3

    /// Returns whether the first format has fewer chroma samples than the second.
    public static func < (first: ChromaFormat, second: ChromaFormat) -> Bool { first.rawValue < second.rawValue }

    /// `SubWidthC`: the number of luma samples per chroma sample in a row; 1 for monochrome.
    public var horizontalSubsampling: Int { self == .yuv420 || self == .yuv422 ? 2 : 1 }
    /// `SubHeightC`: the number of luma samples per chroma sample in a column; 1 for monochrome.
    public var verticalSubsampling: Int { self == .yuv420 ? 2 : 1 }

    /// The number of luma and chroma samples in a picture of that many luma samples, a multiple of four.
    public func sampleCount(luma: Int) -> Int {
        self == .monochrome ? luma : luma + 2 * luma / (horizontalSubsampling * verticalSubsampling)
    }

    /// The common name, for example `4:2:0`.
    public var name: String {
        switch self {
        case .monochrome: "4:0:0"
        case .yuv420: "4:2:0"
        case .yuv422: "4:2:2"
        case .yuv444: "4:4:4"
        }
    }
}

/// A width and height in luma samples.
public struct PictureSize: Hashable, Sendable {
    /// The width in luma samples.
    public var width: Int
    /// The height in luma samples.
    public var height: Int

    /// Makes a size of `width` by `height` luma samples.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}

/// A positive fraction in lowest terms: a frame rate in frames per second or a sample aspect ratio.
public struct PositiveRatio: Hashable, Sendable {
    /// The numerator, at least 1.
    public let numerator: Int
    /// The denominator, at least 1.
    public let denominator: Int

    /// Makes the reduced fraction; nil unless both numbers are at least 1.
    public init?(_ numerator: Int, _ denominator: Int) {
        guard numerator > 0, denominator > 0 else { return nil }
        var (divisor, rest) = (numerator, denominator)
        while rest > 0 { (divisor, rest) = (rest, divisor % rest) }
        self.numerator = numerator / divisor
        self.denominator = denominator / divisor
    }
}

/// The colour description of samples, as code points of ITU-T H.273, which the VUI of H.264 and HEVC contains.
public struct ColourCodePoints: Hashable, Sendable {
    /// `colour_primaries`, 0...255: 1 is BT.709, 9 is BT.2020, 2 is unspecified.
    public var colourPrimaries: UInt32
    /// `transfer_characteristics`, 0...255: 1 is BT.709, 16 is PQ, 18 is HLG, 2 is unspecified.
    public var transferCharacteristics: UInt32
    /// `matrix_coefficients`, 0...255: 1 is BT.709, 5 and 6 are BT.601, 9 is BT.2020, 2 is unspecified.
    public var matrixCoefficients: UInt32

    /// Makes a colour description; all parts are unspecified by default.
    public init(
        colourPrimaries: UInt32 = 2,
        transferCharacteristics: UInt32 = 2,
        matrixCoefficients: UInt32 = 2
    ) {
        self.colourPrimaries = colourPrimaries
        self.transferCharacteristics = transferCharacteristics
        self.matrixCoefficients = matrixCoefficients
    }

    // H.264 E.1.1, HEVC E.2.1
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.u("colour_primaries", bits: 8, &colourPrimaries)
        try visitor.u("transfer_characteristics", bits: 8, &transferCharacteristics)
        try visitor.u("matrix_coefficients", bits: 8, &matrixCoefficients)
    }
}

/// Offsets from the edges of a picture: frame cropping, the conformance window or the default display window.
///
/// The unit is that of the element: chroma samples, doubled in height for H.264 streams that may have fields.
public struct WindowOffsets: Hashable, Sendable {
    /// The offset from the left edge.
    public var left: UInt32
    /// The offset from the right edge.
    public var right: UInt32
    /// The offset from the top edge.
    public var top: UInt32
    /// The offset from the bottom edge.
    public var bottom: UInt32

    /// Makes offsets; all are zero by default.
    public init(left: UInt32 = 0, right: UInt32 = 0, top: UInt32 = 0, bottom: UInt32 = 0) {
        self.left = left
        self.right = right
        self.top = top
        self.bottom = bottom
    }

    /// Visits the four offsets, which must leave at least one unit of a picture of `limits` units.
    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        prefix: String,
        limits: PictureSize
    ) throws(BitstreamError) {
        let width = UInt32(clamping: max(limits.width, 1))
        let height = UInt32(clamping: max(limits.height, 1))
        try visitor.ue("\(prefix)_left_offset", &left, in: 0...(width - 1))
        try visitor.ue("\(prefix)_right_offset", &right, in: 0...(width - 1 - left))
        try visitor.ue("\(prefix)_top_offset", &top, in: 0...(height - 1))
        try visitor.ue("\(prefix)_bottom_offset", &bottom, in: 0...(height - 1 - top))
    }
}
