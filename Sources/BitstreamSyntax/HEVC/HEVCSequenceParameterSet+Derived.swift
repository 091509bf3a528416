// SPDX-License-Identifier: GPL-2.0-or-later

/// Values derived from the elements. They are meaningful for sets that were parsed or can be written.
extension HEVCSequenceParameterSet {
    /// The size of the decoded picture.
    public var codedSize: PictureSize {
        PictureSize(width: Int(picWidthInLumaSamples), height: Int(picHeightInLumaSamples))
    }

    /// The size of the output picture: the conformance window.
    public var displaySize: PictureSize {
        let window = conformanceWindow ?? WindowOffsets()
        return PictureSize(
            width: codedSize.width - chromaFormatIdc.horizontalSubsampling * (Int(window.left) + Int(window.right)),
            height: codedSize.height - chromaFormatIdc.verticalSubsampling * (Int(window.top) + Int(window.bottom))
        )
    }

    /// `MinCbLog2SizeY`: the base-2 logarithm of the minimum coding block size.
    public var minCbLog2Size: Int { Int(log2MinLumaCodingBlockSizeMinus3) + 3 }
    /// `CtbLog2SizeY`: the base-2 logarithm of the coding tree block size, 4...6.
    public var ctbLog2Size: Int { minCbLog2Size + Int(log2DiffMaxMinLumaCodingBlockSize) }
    /// `BitDepthY`: the bit depth of luma samples.
    public var lumaBitDepth: Int { 8 + Int(bitDepthLumaMinus8) }
    /// `BitDepthC`: the bit depth of chroma samples.
    public var chromaBitDepth: Int { 8 + Int(bitDepthChromaMinus8) }
    /// The sample aspect ratio (width to height); nil if it is unspecified.
    public var sampleAspectRatio: PositiveRatio? { vui?.signal.aspectRatio?.ratio }
    /// The picture rate according to the VUI, in pictures per second; nil if there is none.
    public var frameRate: PositiveRatio? { vui?.timing?.frameRate }
    /// The primaries, transfer characteristics and matrix coefficients; nil if they are unspecified.
    public var colourDescription: ColourCodePoints? { vui?.signal.signalType?.colourDescription }
    /// Whether luma has full range; false if unspecified.
    public var isFullRange: Bool { vui?.signal.signalType?.videoFullRangeFlag ?? false }
    /// The maximum number of pictures that precede a picture in decoding order and follow it in output order, with all
    /// sub-layers decoded.
    public var maxNumReorderPics: Int { Int(subLayerOrdering.subLayers.last?.maxNumReorderPics ?? 0) }
    /// The size of the decoded picture buffer in pictures, with all sub-layers decoded.
    public var maxDecPicBuffering: Int { Int(subLayerOrdering.subLayers.last?.maxDecPicBufferingMinus1 ?? 0) + 1 }
    /// The name of the profile: `Main 10`.
    public var profileName: String { profileTierLevel.general.name }

    /// Sets the conformance window so that a picture of the given size is output, from the upper left corner.
    ///
    /// - Throws: `BitstreamError` if the size is larger than the coded size, or not a multiple of a chroma sample.
    public mutating func setDisplaySize(_ size: PictureSize) throws(BitstreamError) {
        let columns = codedSize.width - size.width
        let rows = codedSize.height - size.height
        let (unitX, unitY) = (chromaFormatIdc.horizontalSubsampling, chromaFormatIdc.verticalSubsampling)
        guard size.width > 0, columns >= 0, columns.isMultiple(of: unitX) else {
            throw .outOfRange("conf_win_right_offset", at: 0, value: columns, allowed: 0...max(codedSize.width - 1, 0))
        }
        guard size.height > 0, rows >= 0, rows.isMultiple(of: unitY) else {
            throw .outOfRange("conf_win_bottom_offset", at: 0, value: rows, allowed: 0...max(codedSize.height - 1, 0))
        }
        let window = WindowOffsets(right: UInt32(columns / unitX), bottom: UInt32(rows / unitY))
        conformanceWindow = columns > 0 || rows > 0 ? window : nil
    }
}
