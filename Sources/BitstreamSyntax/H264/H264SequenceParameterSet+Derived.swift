// SPDX-License-Identifier: GPL-2.0-or-later

/// Values derived from the elements. They are meaningful for sets that were parsed or can be written.
extension H264SequenceParameterSet {
    /// The size of the decoded picture in whole macroblocks.
    public var codedSize: PictureSize {
        PictureSize(
            width: (Int(picWidthInMbsMinus1) + 1) * 16,
            height: (Int(picHeightInMapUnitsMinus1) + 1) * 16 * rowsPerMapUnit
        )
    }

    /// `CropUnitX` and `CropUnitY`: the unit of ``frameCropping`` in luma samples.
    public var cropUnit: PictureSize {
        PictureSize(
            width: chromaFormatIdc.horizontalSubsampling,
            height: chromaFormatIdc.verticalSubsampling * rowsPerMapUnit
        )
    }

    /// The size of the output picture, after cropping.
    public var displaySize: PictureSize {
        let crop = frameCropping ?? WindowOffsets()
        return PictureSize(
            width: codedSize.width - cropUnit.width * (Int(crop.left) + Int(crop.right)),
            height: codedSize.height - cropUnit.height * (Int(crop.top) + Int(crop.bottom))
        )
    }

    /// Crops coded pictures to `size` and keeps their upper left corner.
    ///
    /// - Throws: `BitstreamError` if the size is larger than ``codedSize``, not positive or not a multiple of
    ///   ``cropUnit``.
    public mutating func setDisplaySize(_ size: PictureSize) throws(BitstreamError) {
        let (coded, unit) = (codedSize, cropUnit)
        let right = try Self.offset("frame_crop_right_offset", from: coded.width, to: size.width, unit: unit.width)
        let bottom = try Self.offset("frame_crop_bottom_offset", from: coded.height, to: size.height, unit: unit.height)
        frameCropping = right == 0 && bottom == 0 ? nil : WindowOffsets(right: right, bottom: bottom)
    }

    /// `BitDepthY`: the bit depth of luma samples.
    public var lumaBitDepth: Int { 8 + Int(bitDepthLumaMinus8) }
    /// `BitDepthC`: the bit depth of chroma samples.
    public var chromaBitDepth: Int { 8 + Int(bitDepthChromaMinus8) }
    /// The name of the profile for profiles of 4:2:0 video; otherwise its number. H.264 A.2.
    public var profileName: String {
        switch profileIdc {
        case 66: constraintSet1Flag ? "Constrained Baseline" : "Baseline"
        case 77: "Main"
        case 100: "High"
        case 110: "High 10"
        case 244: "High 4:4:4 Predictive"
        default: "\(profileIdc)"
        }
    }
    /// The level as written in the specification: `4.1`, `1b`.
    public var level: String {
        if levelIdc == 9 || isLevel1b { return "1b" }
        return levelIdc % 10 == 0 ? "\(levelIdc / 10)" : "\(levelIdc / 10).\(levelIdc % 10)"
    }
    /// The sample aspect ratio (width to height); nil if it is unspecified.
    public var sampleAspectRatio: PositiveRatio? { vui?.signal.aspectRatio?.ratio }
    /// The frame rate according to the VUI, in frames per second; nil if there is none.
    public var frameRate: PositiveRatio? { vui?.timing?.frameRate }
    /// The primaries, transfer characteristics and matrix coefficients; nil if they are unspecified.
    public var colourDescription: ColourCodePoints? { vui?.signal.signalType?.colourDescription }
    /// Whether luma has full range; false if unspecified.
    public var isFullRange: Bool { vui?.signal.signalType?.videoFullRangeFlag ?? false }

    /// `max_num_reorder_frames`: the maximum number of frames that precede a frame in decoding order and follow it in
    /// output order. The inferred value if the element is absent.
    ///
    /// H.264 E.2.1.
    public var maxNumReorderFrames: Int { statedReorderFrames ?? maxDpbFrames }

    /// ``maxNumReorderFrames`` as far as the set states it, or implies it by the type of picture order counts or by an intra
    /// profile; `nil` if it would only be that of the largest decoded picture buffer.
    ///
    /// H.264 8.2.1, E.2.1.
    public var statedReorderFrames: Int? {
        if let restriction = vui?.bitstreamRestriction { return Int(restriction.maxNumReorderFrames) }
        if picOrderCntType == 2 { return 0 }
        return constraintSet3Flag && [44, 86, 100, 110, 122, 244].contains(profileIdc) ? 0 : nil
    }

    /// States that no frames are reordered, with the values that are inferred otherwise.
    ///
    /// H.264 E.2.1.
    public mutating func stateNoReordering() {
        var restriction = H264VideoUsability.BitstreamRestriction()
        restriction.maxDecFrameBuffering = UInt32(maxDpbFrames)
        var usability = vui ?? H264VideoUsability()
        usability.bitstreamRestriction = restriction
        vui = usability
    }

    /// `MaxDpbFrames`: the number of frames that the decoded picture buffer of this level holds, 0...16; 16 for unknown
    /// levels.
    ///
    /// H.264 A.3.1.
    public var maxDpbFrames: Int {
        let limits = H264LevelLimits(levelIdc: isLevel1b ? 9 : UInt8(clamping: levelIdc))
        return limits?.maxDpbFrames(columns: codedSize.width / 16, rows: codedSize.height / 16) ?? 16
    }

    private var isLevel1b: Bool { levelIdc == 11 && constraintSet3Flag && [66, 77, 88].contains(profileIdc) }
    private var rowsPerMapUnit: Int { frameMbsOnlyFlag ? 1 : 2 }

    private static func offset(
        _ name: String,
        from coded: Int,
        to displayed: Int,
        unit: Int
    ) throws(BitstreamError) -> UInt32 {
        guard (1...coded).contains(displayed) else {
            throw .outOfRange(name, at: 0, value: displayed, allowed: 1...coded)
        }
        let removed = coded - displayed
        guard removed % unit == 0 else {
            throw .outOfRange(name, at: 0, value: removed, allowed: removed / unit * unit...removed / unit * unit)
        }
        return UInt32(clamping: removed / unit)
    }
}
