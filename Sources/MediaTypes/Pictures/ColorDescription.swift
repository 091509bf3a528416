// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

/// The colour description of sample values: the code points of ITU-T H.273 and the range.
///
/// `unspecified` values are passed on as they are; nothing in this package guesses them silently.
public struct ColorDescription: Sendable, Hashable {
    /// The chromaticity of the primaries (H.273 table 2).
    public struct Primaries: Sendable, Hashable, RawRepresentable {
        /// The code point `ColourPrimaries`.
        public let rawValue: UInt8
        /// Makes the primaries with the given code point.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// BT.709, also sRGB.
        public static let bt709 = Primaries(rawValue: 1)
        /// Unspecified.
        public static let unspecified = Primaries(rawValue: 2)
        /// BT.601 with 625 lines (PAL).
        public static let bt601Lines625 = Primaries(rawValue: 5)
        /// BT.601 with 525 lines (NTSC), SMPTE 170M.
        public static let bt601Lines525 = Primaries(rawValue: 6)
        /// BT.2020 and BT.2100.
        public static let bt2020 = Primaries(rawValue: 9)
        /// Display P3 (SMPTE EG 432-1).
        public static let displayP3 = Primaries(rawValue: 12)
    }

    /// The transfer characteristics (H.273 table 3).
    public struct Transfer: Sendable, Hashable, RawRepresentable {
        /// The code point `TransferCharacteristics`.
        public let rawValue: UInt8
        /// Makes the transfer characteristics with the given code point.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// BT.709.
        public static let bt709 = Transfer(rawValue: 1)
        /// Unspecified.
        public static let unspecified = Transfer(rawValue: 2)
        /// BT.601, SMPTE 170M.
        public static let bt601 = Transfer(rawValue: 6)
        /// IEC 61966-2-1 (sRGB).
        public static let sRGB = Transfer(rawValue: 13)
        /// BT.2020 for 10-bit systems.
        public static let bt2020Bits10 = Transfer(rawValue: 14)
        /// PQ of SMPTE ST 2084 and BT.2100 (HDR10).
        public static let pq = Transfer(rawValue: 16)
        /// Hybrid log-gamma of BT.2100.
        public static let hlg = Transfer(rawValue: 18)
    }

    /// The matrix coefficients that derive luma and chroma from red, green and blue (H.273 table 4).
    public struct Matrix: Sendable, Hashable, RawRepresentable {
        /// The code point `MatrixCoefficients`.
        public let rawValue: UInt8
        /// Makes the matrix with the given code point.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The identity: the samples are green, blue and red.
        public static let rgb = Matrix(rawValue: 0)
        /// BT.709.
        public static let bt709 = Matrix(rawValue: 1)
        /// Unspecified.
        public static let unspecified = Matrix(rawValue: 2)
        /// BT.601 with 625 lines; the same coefficients as ``bt601Lines525``.
        public static let bt601Lines625 = Matrix(rawValue: 5)
        /// BT.601 with 525 lines, SMPTE 170M.
        public static let bt601Lines525 = Matrix(rawValue: 6)
        /// BT.2020, non-constant luminance.
        public static let bt2020 = Matrix(rawValue: 9)
    }

    /// The range of the sample values.
    public enum Range: String, Sendable, Hashable {
        /// Unspecified; decoders assume limited range.
        case unspecified
        /// Luma 16...235 and chroma 16...240 (times 4 for 10 bits); also called video or MPEG range.
        case limited
        /// All values; also called full or JPEG range.
        case full
    }

    /// The location of chroma samples relative to luma samples: the code points 0 to 5 of `chroma_sample_loc_type`
    /// (H.264 E.2.1).
    public struct ChromaLocation: Sendable, Hashable, RawRepresentable {
        /// The code point, 0...5.
        public let rawValue: UInt8
        /// Makes the location with the given code point.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Left, between two lines: the default of MPEG-2, H.264 and HEVC.
        public static let left = ChromaLocation(rawValue: 0)
        /// In the centre of four luma samples (JPEG, MPEG-1).
        public static let center = ChromaLocation(rawValue: 1)
        /// At the upper left luma sample (BT.2020 and BT.2100).
        public static let topLeft = ChromaLocation(rawValue: 2)
    }

    /// The primaries.
    public var primaries: Primaries
    /// The transfer characteristics.
    public var transfer: Transfer
    /// The matrix coefficients.
    public var matrix: Matrix
    /// The range of sample values.
    public var range: Range
    /// The location of the chroma samples; `nil` if not known.
    public var chromaLocation: ChromaLocation?

    /// Makes a colour description; all parts are unspecified by default.
    public init(
        primaries: Primaries = .unspecified,
        transfer: Transfer = .unspecified,
        matrix: Matrix = .unspecified,
        range: Range = .unspecified,
        chromaLocation: ChromaLocation? = nil
    ) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.range = range
        self.chromaLocation = chromaLocation
    }

    /// The colour description with all parts unspecified.
    public static let unspecified = ColorDescription()
    /// BT.709, limited range: high definition video.
    public static let bt709 = ColorDescription(primaries: .bt709, transfer: .bt709, matrix: .bt709, range: .limited)
    /// BT.601 with 525 lines, limited range: standard definition video.
    public static let bt601 = ColorDescription(
        primaries: .bt601Lines525,
        transfer: .bt601,
        matrix: .bt601Lines525,
        range: .limited
    )
    /// sRGB pixels of a screen.
    public static let sRGB = ColorDescription(primaries: .bt709, transfer: .sRGB, matrix: .rgb, range: .full)
    /// BT.2100 with PQ, limited range: HDR10.
    public static let hdr10 = ColorDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020, range: .limited)
    /// BT.2100 with hybrid log-gamma, limited range.
    public static let hlg = ColorDescription(primaries: .bt2020, transfer: .hlg, matrix: .bt2020, range: .limited)
}

extension ColorDescription {
    /// Returns the colour description of a picture with this description and the given format after its conversion to
    /// 4:2:0 luma and chroma without other requests.
    ///
    /// Luma and chroma keep their description, except that chroma of 4:4:4 is then located in the centre. Red, green
    /// and blue (given by the format, or by ``Matrix/rgb``) are converted to limited range, with the BT.709 matrix from
    /// 1280 columns or 720 rows on and the BT.601 matrix below. Their chroma samples, each the mean of four pixels, are
    /// located in the centre of these. Primaries and transfer characteristics do not change.
    ///
    /// - Parameters:
    ///   - format: The format of the picture before the conversion.
    ///   - width: The width of the result in luma samples.
    ///   - height: The height of the result in luma samples.
    public func coded(from format: PixelFormat, width: Int, height: Int) -> ColorDescription {
        var result = self
        // Four chroma samples become one.
        if format.chromaFormat == .yuv444 { result.chromaLocation = .center }
        guard !format.isYCbCr || matrix == .rgb else { return result }
        result.matrix = Self.usualMatrix(width: width, height: height)
        result.range = .limited
        result.chromaLocation = .center
        return result
    }

    /// Returns the default matrix for the conversion of red, green and blue if none is specified: BT.709 from 1280
    /// columns or 720 rows on, otherwise BT.601.
    package static func usualMatrix(width: Int, height: Int) -> Matrix {
        width >= 1280 || height >= 720 ? .bt709 : .bt601Lines525
    }
}
