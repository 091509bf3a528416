// SPDX-License-Identifier: GPL-2.0-or-later

/// A sequence parameter set of H.264: clause 7.3.2.1.1.
///
/// Property names are those of the specification; properties that end in `Flag`, `Idc` or `MinusN` hold the coded
/// value. Ranges are those of the specification; widths and heights are limited to 65536 samples. Values out of range
/// are rejected when the set is written.
public struct H264SequenceParameterSet: Hashable, Sendable {
    /// `nal_ref_idc`, 1...3.
    public var nalRefIdc: UInt32 = 3
    /// `profile_idc`, 0...255: 66 Baseline, 77 Main, 88 Extended, 100 High, 110 High 10, 122 High 4:2:2, 244 High 4:4:4
    /// Predictive, 44 CAVLC 4:4:4 Intra.
    public var profileIdc: UInt32 = 100
    /// `constraint_set0_flag`: conforms to Baseline.
    public var constraintSet0Flag = false
    /// `constraint_set1_flag`: conforms to Main; with `profileIdc` 66 Constrained Baseline.
    public var constraintSet1Flag = false
    /// `constraint_set2_flag`: conforms to Extended.
    public var constraintSet2Flag = false
    /// `constraint_set3_flag`: level 1b in Baseline, Main, Extended; intra only in the high profiles.
    public var constraintSet3Flag = false
    /// `constraint_set4_flag`: in Main and High, frames only.
    public var constraintSet4Flag = false
    /// `constraint_set5_flag`: in Main and High, no B slices.
    public var constraintSet5Flag = false
    /// `reserved_zero_2bits`, 0...3: zero today, ignored by decoders.
    public var reservedZero2Bits: UInt32 = 0
    /// `level_idc`, 0...255: ten times the level; see ``level``.
    public var levelIdc: UInt32 = 10
    /// `seq_parameter_set_id`, 0...31.
    public var seqParameterSetId: UInt32 = 0
    /// `chroma_format_idc`; 4:2:0 unless the profile is one of the high profiles.
    public var chromaFormatIdc = ChromaFormat.yuv420
    /// `separate_colour_plane_flag`, for 4:4:4 only: whether the planes are coded as three monochrome pictures.
    public var separateColourPlaneFlag = false
    /// `bit_depth_luma_minus8`, 0...6.
    public var bitDepthLumaMinus8: UInt32 = 0
    /// `bit_depth_chroma_minus8`, 0...6.
    public var bitDepthChromaMinus8: UInt32 = 0
    /// `qpprime_y_zero_transform_bypass_flag`: QP 0 means lossless.
    public var qpprimeYZeroTransformBypassFlag = false
    /// The scaling lists, if `seq_scaling_matrix_present_flag` is one: 8 of them, 12 for 4:4:4.
    public var scalingMatrix: H264ScalingMatrix?
    /// `log2_max_frame_num_minus4`, 0...12.
    public var log2MaxFrameNumMinus4: UInt32 = 0
    /// `pic_order_cnt_type`, 0...2.
    public var picOrderCntType: UInt32 = 0
    /// `log2_max_pic_order_cnt_lsb_minus4`, 0...12, coded with type 0 only.
    public var log2MaxPicOrderCntLsbMinus4: UInt32 = 0
    /// The cycle of picture order counts, coded with type 1 only.
    public var picOrderCntCycle = H264PicOrderCntCycle()
    /// `max_num_ref_frames`, 0...16.
    public var maxNumRefFrames: UInt32 = 1
    /// `gaps_in_frame_num_value_allowed_flag`.
    public var gapsInFrameNumValueAllowedFlag = false
    /// `pic_width_in_mbs_minus1`, 0...4095.
    public var picWidthInMbsMinus1: UInt32 = 0
    /// `pic_height_in_map_units_minus1`, 0...4095; a map unit is 16 rows, 32 if there may be fields.
    public var picHeightInMapUnitsMinus1: UInt32 = 0
    /// `frame_mbs_only_flag`: whether there are neither field pictures nor field macroblocks.
    public var frameMbsOnlyFlag = true
    /// `mb_adaptive_frame_field_flag`, coded unless `frameMbsOnlyFlag`.
    public var mbAdaptiveFrameFieldFlag = false
    /// `direct_8x8_inference_flag`; must be true unless `frameMbsOnlyFlag`.
    public var direct8x8InferenceFlag = true
    /// The cropping offsets, if `frame_cropping_flag` is one, in units of ``cropUnit``.
    public var frameCropping: WindowOffsets?
    /// The VUI, if `vui_parameters_present_flag` is one.
    public var vui: H264VideoUsability?
    /// The bits between the VUI and the trailing bits, which this edition of the specification does not define.
    public var unknownData = RawBits()

    /// Makes a set of High profile, level 1, for progressive 4:2:0 pictures of one macroblock.
    public init() {}

    /// Parses a parameter set.
    ///
    /// - Parameter nalUnit: A complete NAL unit without start code or length; zero bytes after its end are ignored.
    /// - Throws: `BitstreamError` at the first element that is out of range or missing.
    public init(nalUnit: some Collection<UInt8>) throws(BitstreamError) {
        try read(nalUnit)
    }

    /// Serializes the parameter set.
    ///
    /// - Returns: A NAL unit without start code or length; for a set that was parsed, the original bytes.
    /// - Throws: `BitstreamError` at the first element that is out of range or contradicts another.
    public func nalUnit() throws(BitstreamError) -> [UInt8] { try written() }

    /// Returns the elements in bitstream order, for debugging.
    ///
    /// - Throws: The errors of ``nalUnit()``.
    public func trace() throws(BitstreamError) -> [SyntaxElement] { try traced() }
}

/// The elements of `pic_order_cnt_type` 1: H.264 7.4.2.1.1.
public struct H264PicOrderCntCycle: Hashable, Sendable {
    /// `delta_pic_order_always_zero_flag`.
    public var deltaPicOrderAlwaysZeroFlag = false
    /// `offset_for_non_ref_pic`, -(2^31-1)...2^31-1.
    public var offsetForNonRefPic: Int32 = 0
    /// `offset_for_top_to_bottom_field`, -(2^31-1)...2^31-1.
    public var offsetForTopToBottomField: Int32 = 0
    /// `offset_for_ref_frame`, up to 255 of -(2^31-1)...2^31-1.
    public var offsetForRefFrame: [Int32] = []

    /// Makes an empty cycle.
    public init() {}

    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.flag("delta_pic_order_always_zero_flag", &deltaPicOrderAlwaysZeroFlag)
        try visitor.se("offset_for_non_ref_pic", &offsetForNonRefPic)
        try visitor.se("offset_for_top_to_bottom_field", &offsetForTopToBottomField)
        try visitor.ueCount("num_ref_frames_in_pic_order_cnt_cycle", of: &offsetForRefFrame, in: 0...255, with: 0)
        for index in offsetForRefFrame.indices {
            try visitor.se("offset_for_ref_frame[\(index)]", &offsetForRefFrame[index])
        }
    }
}

extension H264SequenceParameterSet: SyntaxStructure {
    // H.264 7.3.2.1
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        let type = H264NALUnitHeader.UnitType.sequenceParameterSet
        var header = H264NALUnitHeader(nalRefIdc: nalRefIdc, nalUnitType: type)
        try header.visit(&visitor, types: type.rawValue...type.rawValue)
        nalRefIdc = header.nalRefIdc
        try visitData(&visitor)
        try visitor.remainder("unknown_data_flag", &unknownData)
        try visitor.trailingBits()
    }

    // H.264 7.3.2.1.1
    private mutating func visitData(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitProfileAndLevel(&visitor)
        try visitor.ue("seq_parameter_set_id", &seqParameterSetId, in: 0...31)
        try visitSampleFormat(&visitor)
        try visitor.ue("log2_max_frame_num_minus4", &log2MaxFrameNumMinus4, in: 0...12)
        try visitor.ue("pic_order_cnt_type", &picOrderCntType, in: 0...2)
        if picOrderCntType == 0 {
            try visitor.ue("log2_max_pic_order_cnt_lsb_minus4", &log2MaxPicOrderCntLsbMinus4, in: 0...12)
        } else if picOrderCntType == 1 {
            try picOrderCntCycle.visit(&visitor)
        }
        try visitor.ue("max_num_ref_frames", &maxNumRefFrames, in: 0...16)
        try visitor.flag("gaps_in_frame_num_value_allowed_flag", &gapsInFrameNumValueAllowedFlag)
        try visitSize(&visitor)
        try visitor.presence("vui_parameters_present_flag", of: &vui, H264VideoUsability())
        try vui?.visit(&visitor)
    }

    private mutating func visitProfileAndLevel(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.u("profile_idc", bits: 8, &profileIdc)
        try visitor.flag("constraint_set0_flag", &constraintSet0Flag)
        try visitor.flag("constraint_set1_flag", &constraintSet1Flag)
        try visitor.flag("constraint_set2_flag", &constraintSet2Flag)
        try visitor.flag("constraint_set3_flag", &constraintSet3Flag)
        try visitor.flag("constraint_set4_flag", &constraintSet4Flag)
        try visitor.flag("constraint_set5_flag", &constraintSet5Flag)
        try visitor.u("reserved_zero_2bits", bits: 2, &reservedZero2Bits)
        try visitor.u("level_idc", bits: 8, &levelIdc)
    }

    private mutating func visitSampleFormat(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        guard Self.profilesWithSampleFormat.contains(profileIdc) else {
            var chromaFormat = chromaFormatIdc.rawValue
            try visitor.infer("chroma_format_idc", &chromaFormat, ChromaFormat.yuv420.rawValue)
            chromaFormatIdc = .yuv420
            try visitor.infer("separate_colour_plane_flag", &separateColourPlaneFlag, false)
            try visitor.infer("bit_depth_luma_minus8", &bitDepthLumaMinus8, 0)
            try visitor.infer("bit_depth_chroma_minus8", &bitDepthChromaMinus8, 0)
            try visitor.infer("qpprime_y_zero_transform_bypass_flag", &qpprimeYZeroTransformBypassFlag, false)
            try visitor.inferAbsent("seq_scaling_matrix_present_flag", &scalingMatrix)
            return
        }
        try visitor.chromaFormat(&chromaFormatIdc)
        if chromaFormatIdc == .yuv444 {
            try visitor.flag("separate_colour_plane_flag", &separateColourPlaneFlag)
        } else {
            try visitor.infer("separate_colour_plane_flag", &separateColourPlaneFlag, false)
        }
        try visitor.ue("bit_depth_luma_minus8", &bitDepthLumaMinus8, in: 0...6)
        try visitor.ue("bit_depth_chroma_minus8", &bitDepthChromaMinus8, in: 0...6)
        try visitor.flag("qpprime_y_zero_transform_bypass_flag", &qpprimeYZeroTransformBypassFlag)
        try visitor.presence("seq_scaling_matrix_present_flag", of: &scalingMatrix, H264ScalingMatrix(lists: []))
        try scalingMatrix?.visit(&visitor, prefix: "seq", count: chromaFormatIdc == .yuv444 ? 12 : 8)
    }

    private mutating func visitSize(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.ue("pic_width_in_mbs_minus1", &picWidthInMbsMinus1, in: 0...4095)
        try visitor.ue("pic_height_in_map_units_minus1", &picHeightInMapUnitsMinus1, in: 0...4095)
        try visitor.flag("frame_mbs_only_flag", &frameMbsOnlyFlag)
        if frameMbsOnlyFlag {
            try visitor.infer("mb_adaptive_frame_field_flag", &mbAdaptiveFrameFieldFlag, false)
        } else {
            try visitor.flag("mb_adaptive_frame_field_flag", &mbAdaptiveFrameFieldFlag)
        }
        try visitor.flag("direct_8x8_inference_flag", &direct8x8InferenceFlag)
        try visitor.presence("frame_cropping_flag", of: &frameCropping, WindowOffsets())
        let (coded, unit) = (codedSize, cropUnit)
        let limits = PictureSize(width: coded.width / unit.width, height: coded.height / unit.height)
        try frameCropping?.visit(&visitor, prefix: "frame_crop", limits: limits)
    }

    /// The profiles whose sets contain `chroma_format_idc` and the elements after it.
    private static let profilesWithSampleFormat: Set<UInt32> = [
        100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135,
    ]
}
