// SPDX-License-Identifier: GPL-2.0-or-later

/// A sequence parameter set of HEVC for the base layer: clause 7.3.2.2.
///
/// Property names are those of the specification; properties that end in `Flag`, `Idc` or `MinusN` hold the coded
/// value. Ranges are those of the specification; widths and heights are limited to 65535 samples. Values out of range
/// are rejected when the set is written.
public struct HEVCSequenceParameterSet: Hashable, Sendable {
    /// `nuh_temporal_id_plus1`, 1...7: 1 in every valid stream.
    public var nuhTemporalIdPlus1: UInt32 = 1
    /// `sps_video_parameter_set_id`, 0...15.
    public var spsVideoParameterSetId: UInt32 = 0
    /// `sps_max_sub_layers_minus1`, 0...6.
    public var spsMaxSubLayersMinus1: UInt32 = 0
    /// `sps_temporal_id_nesting_flag`; must be true if there is one sub-layer.
    public var spsTemporalIdNestingFlag = true
    /// The profile, tier and level.
    public var profileTierLevel = HEVCProfileTierLevel()
    /// `sps_seq_parameter_set_id`, 0...15.
    public var spsSeqParameterSetId: UInt32 = 0
    /// `chroma_format_idc`.
    public var chromaFormatIdc = ChromaFormat.yuv420
    /// `separate_colour_plane_flag`, for 4:4:4 only: whether the planes are coded as three monochrome pictures.
    public var separateColourPlaneFlag = false
    /// `pic_width_in_luma_samples`, 1...65535, a multiple of the minimum coding block size.
    public var picWidthInLumaSamples: UInt32 = 8
    /// `pic_height_in_luma_samples`, 1...65535, a multiple of the minimum coding block size.
    public var picHeightInLumaSamples: UInt32 = 8
    /// The window in chroma samples, if `conformance_window_flag` is one.
    public var conformanceWindow: WindowOffsets?
    /// `bit_depth_luma_minus8`, 0...8.
    public var bitDepthLumaMinus8: UInt32 = 0
    /// `bit_depth_chroma_minus8`, 0...8.
    public var bitDepthChromaMinus8: UInt32 = 0
    /// `log2_max_pic_order_cnt_lsb_minus4`, 0...12.
    public var log2MaxPicOrderCntLsbMinus4: UInt32 = 0
    /// The decoded picture buffer of each sub-layer, or only of the highest one.
    public var subLayerOrdering = HEVCSubLayerOrdering()
    /// `log2_min_luma_coding_block_size_minus3`, 0...3.
    public var log2MinLumaCodingBlockSizeMinus3: UInt32 = 0
    /// `log2_diff_max_min_luma_coding_block_size`, 0...3; the maximum block size is 16 to 64 samples.
    public var log2DiffMaxMinLumaCodingBlockSize: UInt32 = 1
    /// `log2_min_luma_transform_block_size_minus2`, 0...3.
    public var log2MinLumaTransformBlockSizeMinus2: UInt32 = 0
    /// `log2_diff_max_min_luma_transform_block_size`, 0...3.
    public var log2DiffMaxMinLumaTransformBlockSize: UInt32 = 0
    /// `max_transform_hierarchy_depth_inter`, 0...4.
    public var maxTransformHierarchyDepthInter: UInt32 = 0
    /// `max_transform_hierarchy_depth_intra`, 0...4.
    public var maxTransformHierarchyDepthIntra: UInt32 = 0
    /// `scaling_list_enabled_flag`.
    public var scalingListEnabledFlag = false
    /// The scaling lists, if `sps_scaling_list_data_present_flag` is one; the default lists if enabled without data.
    public var scalingListData: HEVCScalingListData?
    /// `amp_enabled_flag`.
    public var ampEnabledFlag = false
    /// `sample_adaptive_offset_enabled_flag`.
    public var sampleAdaptiveOffsetEnabledFlag = false
    /// The parameters of PCM blocks, if `pcm_enabled_flag` is one.
    public var pcm: HEVCPCM?
    /// The short-term reference picture sets, at most 64.
    public var shortTermReferencePictureSets: [HEVCShortTermReferencePictureSet] = []
    /// The long-term reference pictures, if `long_term_ref_pics_present_flag` is one; at most 32.
    public var longTermReferencePictures: [HEVCLongTermReferencePicture]?
    /// `sps_temporal_mvp_enabled_flag`.
    public var spsTemporalMvpEnabledFlag = false
    /// `strong_intra_smoothing_enabled_flag`.
    public var strongIntraSmoothingEnabledFlag = false
    /// The VUI, if `vui_parameters_present_flag` is one.
    public var vui: HEVCVideoUsability?
    /// The extensions, if `sps_extension_present_flag` is one.
    public var extensions: HEVCSequenceParameterSetExtensions?

    /// Makes a set of the Main profile, level 1, for 4:2:0 pictures of 8x8 samples.
    public init() {}

    /// Parses a parameter set.
    ///
    /// - Parameter nalUnit: A complete NAL unit without start code or length; zero bytes after its end are ignored.
    /// - Throws: `BitstreamError` at the first element that is out of range or missing; sets of layers above the base
    ///   layer are rejected on `nuh_layer_id`.
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

extension HEVCSequenceParameterSet: SyntaxStructure {
    // HEVC 7.3.2.2.1
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.baseLayerHeader(.sequenceParameterSet, temporalIdPlus1: &nuhTemporalIdPlus1)
        try visitor.u("sps_video_parameter_set_id", bits: 4, &spsVideoParameterSetId)
        try visitor.u("sps_max_sub_layers_minus1", bits: 3, &spsMaxSubLayersMinus1, in: 0...6)
        try visitor.flag("sps_temporal_id_nesting_flag", &spsTemporalIdNestingFlag)
        try profileTierLevel.visit(&visitor, maxSubLayersMinus1: spsMaxSubLayersMinus1)
        try visitor.ue("sps_seq_parameter_set_id", &spsSeqParameterSetId, in: 0...15)
        try visitPictureFormat(&visitor)
        try visitor.ue("log2_max_pic_order_cnt_lsb_minus4", &log2MaxPicOrderCntLsbMinus4, in: 0...12)
        try subLayerOrdering.visit(&visitor, prefix: "sps", maxSubLayersMinus1: spsMaxSubLayersMinus1)
        try visitBlocks(&visitor)
        try visitTools(&visitor)
        try visitReferencePictures(&visitor)
        try visitor.flag("sps_temporal_mvp_enabled_flag", &spsTemporalMvpEnabledFlag)
        try visitor.flag("strong_intra_smoothing_enabled_flag", &strongIntraSmoothingEnabledFlag)
        try visitor.presence("vui_parameters_present_flag", of: &vui, HEVCVideoUsability())
        let limits = chromaSize
        try vui?.visit(&visitor, maxSubLayersMinus1: spsMaxSubLayersMinus1, size: limits)
        try visitor.presence(
            "sps_extension_present_flag",
            of: &extensions,
            HEVCSequenceParameterSetExtensions()
        )
        try extensions?.visit(&visitor)
        try visitor.trailingBits()
    }

    private mutating func visitPictureFormat(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.chromaFormat(&chromaFormatIdc)
        if chromaFormatIdc == .yuv444 {
            try visitor.flag("separate_colour_plane_flag", &separateColourPlaneFlag)
        } else {
            try visitor.infer("separate_colour_plane_flag", &separateColourPlaneFlag, false)
        }
        try visitor.ue("pic_width_in_luma_samples", &picWidthInLumaSamples, in: 1...65535)
        try visitor.ue("pic_height_in_luma_samples", &picHeightInLumaSamples, in: 1...65535)
        try visitor.presence("conformance_window_flag", of: &conformanceWindow, WindowOffsets())
        let limits = chromaSize
        try conformanceWindow?.visit(&visitor, prefix: "conf_win", limits: limits)
        try visitor.ue("bit_depth_luma_minus8", &bitDepthLumaMinus8, in: 0...8)
        try visitor.ue("bit_depth_chroma_minus8", &bitDepthChromaMinus8, in: 0...8)
    }

    private mutating func visitBlocks(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.ue("log2_min_luma_coding_block_size_minus3", &log2MinLumaCodingBlockSizeMinus3, in: 0...3)
        try visitor.ue("log2_diff_max_min_luma_coding_block_size", &log2DiffMaxMinLumaCodingBlockSize, in: 0...3)
        try visitor.check("CtbLog2SizeY", ctbLog2Size, in: 4...6)
        try visitor.ue("log2_min_luma_transform_block_size_minus2", &log2MinLumaTransformBlockSizeMinus2, in: 0...3)
        let diffName = "log2_diff_max_min_luma_transform_block_size"
        try visitor.ue(diffName, &log2DiffMaxMinLumaTransformBlockSize, in: 0...3)
        try visitor.ue("max_transform_hierarchy_depth_inter", &maxTransformHierarchyDepthInter, in: 0...4)
        try visitor.ue("max_transform_hierarchy_depth_intra", &maxTransformHierarchyDepthIntra, in: 0...4)
    }

    private mutating func visitTools(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.flag("scaling_list_enabled_flag", &scalingListEnabledFlag)
        if scalingListEnabledFlag {
            try visitor.presence("sps_scaling_list_data_present_flag", of: &scalingListData, HEVCScalingListData())
            try scalingListData?.visit(&visitor)
        } else {
            try visitor.inferAbsent("sps_scaling_list_data_present_flag", &scalingListData)
        }
        try visitor.flag("amp_enabled_flag", &ampEnabledFlag)
        try visitor.flag("sample_adaptive_offset_enabled_flag", &sampleAdaptiveOffsetEnabledFlag)
        try visitor.presence("pcm_enabled_flag", of: &pcm, HEVCPCM())
        try pcm?.visit(&visitor)
    }

    private mutating func visitReferencePictures(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.ueCount(
            "num_short_term_ref_pic_sets",
            of: &shortTermReferencePictureSets,
            in: 0...64,
            with: HEVCShortTermReferencePictureSet()
        )
        var previous: [HEVCShortTermReferencePictureSet.Reference]?
        for index in shortTermReferencePictureSets.indices {
            try shortTermReferencePictureSets[index].visit(&visitor, previous: previous)
            previous = shortTermReferencePictureSets[index].references(after: previous ?? [])
        }
        try visitor.presence("long_term_ref_pics_present_flag", of: &longTermReferencePictures, [])
        guard var pictures = longTermReferencePictures else { return }
        try visitor.ueCount(
            "num_long_term_ref_pics_sps",
            of: &pictures,
            in: 0...32,
            with: HEVCLongTermReferencePicture()
        )
        for index in pictures.indices {
            let bits = Int(log2MaxPicOrderCntLsbMinus4) + 4
            try visitor.u("lt_ref_pic_poc_lsb_sps[\(index)]", bits: bits, &pictures[index].ltRefPicPocLsbSps)
            try visitor.flag("used_by_curr_pic_lt_sps_flag[\(index)]", &pictures[index].usedByCurrPicLtSpsFlag)
        }
        longTermReferencePictures = pictures
    }

    /// The picture size in the units of the windows.
    private var chromaSize: PictureSize {
        PictureSize(
            width: codedSize.width / chromaFormatIdc.horizontalSubsampling,
            height: codedSize.height / chromaFormatIdc.verticalSubsampling
        )
    }
}
