// SPDX-License-Identifier: GPL-2.0-or-later

/// What follows from the elements. The values are meaningful for sets that were read or can be written.
extension HEVCSequenceParameterSet {
    /// The size of the decoded picture.
    public var codedSize: PictureSize {
        PictureSize(width: Int(picWidthInLumaSamples), height: Int(picHeightInLumaSamples))
    }

    /// The size of the picture that is output: the conformance window.
    public var displaySize: PictureSize {
        let window = conformanceWindow ?? WindowOffsets()
        return PictureSize(
            width: codedSize.width - chromaFormatIdc.horizontalSubsampling * (Int(window.left) + Int(window.right)),
            height: codedSize.height - chromaFormatIdc.verticalSubsampling * (Int(window.top) + Int(window.bottom))
        )
    }

    /// `MinCbLog2SizeY`: the smallest coding block's side as a power of two.
    public var minCbLog2Size: Int { Int(log2MinLumaCodingBlockSizeMinus3) + 3 }
    /// `CtbLog2SizeY`: the coding tree block's side as a power of two, 4...6.
    public var ctbLog2Size: Int { minCbLog2Size + Int(log2DiffMaxMinLumaCodingBlockSize) }
    /// `BitDepthY`: bits of a luma sample.
    public var lumaBitDepth: Int { 8 + Int(bitDepthLumaMinus8) }
    /// `BitDepthC`: bits of a chroma sample.
    public var chromaBitDepth: Int { 8 + Int(bitDepthChromaMinus8) }
    /// A sample's width to its height; nil where it is unspecified.
    public var sampleAspectRatio: PositiveRatio? { vui?.signal.aspectRatio?.ratio }
    /// Pictures per second by the clock of the VUI; nil without one.
    public var frameRate: PositiveRatio? { vui?.timing?.frameRate }
    /// Primaries, transfer and matrix; nil where they are unspecified.
    public var colourDescription: ColourCodePoints? { vui?.signal.signalType?.colourDescription }
    /// Whether luma uses all values; false where nothing is said.
    public var isFullRange: Bool { vui?.signal.signalType?.videoFullRangeFlag ?? false }
    /// How many pictures may precede another in decoding and follow it in output, with all sub-layers decoded.
    public var maxNumReorderPics: Int { Int(subLayerOrdering.subLayers.last?.maxNumReorderPics ?? 0) }
    /// The size of the decoded picture buffer in pictures, with all sub-layers decoded.
    public var maxDecPicBuffering: Int { Int(subLayerOrdering.subLayers.last?.maxDecPicBufferingMinus1 ?? 0) + 1 }
    /// The profile as people write it: `Main 10`.
    public var profileName: String { profileTierLevel.general.name }

    /// Sets the conformance window so that a picture of this size is output, from the upper left corner.
    ///
    /// - Throws: `BitstreamError` if the size is larger than the coded one, or no multiple of the chroma samples.
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
