// SPDX-License-Identifier: GPL-2.0-or-later

/// A picture parameter set of HEVC for the base layer: clause 7.3.2.3.
///
/// Property names are those of the specification; properties hold the coded values. Values out of range are rejected
/// when the set is written.
public struct HEVCPictureParameterSet: Hashable, Sendable {
    /// `nuh_temporal_id_plus1`, 1...7.
    public var nuhTemporalIdPlus1: UInt32 = 1
    /// `pps_pic_parameter_set_id`, 0...63.
    public var ppsPicParameterSetId: UInt32 = 0
    /// `pps_seq_parameter_set_id`, 0...15.
    public var ppsSeqParameterSetId: UInt32 = 0
    /// `dependent_slice_segments_enabled_flag`.
    public var dependentSliceSegmentsEnabledFlag = false
    /// `output_flag_present_flag`.
    public var outputFlagPresentFlag = false
    /// `num_extra_slice_header_bits`, 0...7.
    public var numExtraSliceHeaderBits: UInt32 = 0
    /// `sign_data_hiding_enabled_flag`.
    public var signDataHidingEnabledFlag = false
    /// `cabac_init_present_flag`.
    public var cabacInitPresentFlag = false
    /// `num_ref_idx_l0_default_active_minus1`, 0...14.
    public var numRefIdxL0DefaultActiveMinus1: UInt32 = 0
    /// `num_ref_idx_l1_default_active_minus1`, 0...14.
    public var numRefIdxL1DefaultActiveMinus1: UInt32 = 0
    /// `init_qp_minus26`, -74...25; the lower bound is that of 16-bit video.
    public var initQpMinus26: Int32 = 0
    /// `constrained_intra_pred_flag`.
    public var constrainedIntraPredFlag = false
    /// `transform_skip_enabled_flag`.
    public var transformSkipEnabledFlag = false
    /// `diff_cu_qp_delta_depth`, 0...3, if `cu_qp_delta_enabled_flag` is one.
    public var diffCuQpDeltaDepth: UInt32?
    /// `pps_cb_qp_offset`, -12...12.
    public var ppsCbQpOffset: Int32 = 0
    /// `pps_cr_qp_offset`, -12...12.
    public var ppsCrQpOffset: Int32 = 0
    /// `pps_slice_chroma_qp_offsets_present_flag`.
    public var ppsSliceChromaQpOffsetsPresentFlag = false
    /// `weighted_pred_flag`.
    public var weightedPredFlag = false
    /// `weighted_bipred_flag`.
    public var weightedBipredFlag = false
    /// `transquant_bypass_enabled_flag`.
    public var transquantBypassEnabledFlag = false
    /// The tiles, if `tiles_enabled_flag` is one.
    public var tiles: HEVCTiles?
    /// `entropy_coding_sync_enabled_flag`: wavefronts.
    public var entropyCodingSyncEnabledFlag = false
    /// `pps_loop_filter_across_slices_enabled_flag`.
    public var ppsLoopFilterAcrossSlicesEnabledFlag = false
    /// The deblocking filter's elements, if `deblocking_filter_control_present_flag` is one.
    public var deblocking: HEVCDeblocking?
    /// The scaling lists, if `pps_scaling_list_data_present_flag` is one.
    public var scalingListData: HEVCScalingListData?
    /// `lists_modification_present_flag`.
    public var listsModificationPresentFlag = false
    /// `log2_parallel_merge_level_minus2`, 0...4.
    public var log2ParallelMergeLevelMinus2: UInt32 = 0
    /// `slice_segment_header_extension_present_flag`.
    public var sliceSegmentHeaderExtensionPresentFlag = false
    /// The extensions, if `pps_extension_present_flag` is one.
    public var extensions: HEVCPictureParameterSetExtensions?

    /// Makes a set with all coding tools disabled.
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

extension HEVCPictureParameterSet: SyntaxStructure {
    // HEVC 7.3.2.3.1
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.baseLayerHeader(.pictureParameterSet, temporalIdPlus1: &nuhTemporalIdPlus1)
        try visitor.ue("pps_pic_parameter_set_id", &ppsPicParameterSetId, in: 0...63)
        try visitor.ue("pps_seq_parameter_set_id", &ppsSeqParameterSetId, in: 0...15)
        try visitor.flag("dependent_slice_segments_enabled_flag", &dependentSliceSegmentsEnabledFlag)
        try visitor.flag("output_flag_present_flag", &outputFlagPresentFlag)
        try visitor.u("num_extra_slice_header_bits", bits: 3, &numExtraSliceHeaderBits)
        try visitor.flag("sign_data_hiding_enabled_flag", &signDataHidingEnabledFlag)
        try visitor.flag("cabac_init_present_flag", &cabacInitPresentFlag)
        try visitor.ue("num_ref_idx_l0_default_active_minus1", &numRefIdxL0DefaultActiveMinus1, in: 0...14)
        try visitor.ue("num_ref_idx_l1_default_active_minus1", &numRefIdxL1DefaultActiveMinus1, in: 0...14)
        try visitQuantization(&visitor)
        try visitor.flag("weighted_pred_flag", &weightedPredFlag)
        try visitor.flag("weighted_bipred_flag", &weightedBipredFlag)
        try visitor.flag("transquant_bypass_enabled_flag", &transquantBypassEnabledFlag)
        try visitor.presence("tiles_enabled_flag", of: &tiles, HEVCTiles())
        try visitor.flag("entropy_coding_sync_enabled_flag", &entropyCodingSyncEnabledFlag)
        try tiles?.visit(&visitor)
        try visitFilters(&visitor)
        try visitor.presence("pps_scaling_list_data_present_flag", of: &scalingListData, HEVCScalingListData())
        try scalingListData?.visit(&visitor)
        try visitor.flag("lists_modification_present_flag", &listsModificationPresentFlag)
        try visitor.ue("log2_parallel_merge_level_minus2", &log2ParallelMergeLevelMinus2, in: 0...4)
        try visitor.flag("slice_segment_header_extension_present_flag", &sliceSegmentHeaderExtensionPresentFlag)
        try visitor.presence(
            "pps_extension_present_flag",
            of: &extensions,
            HEVCPictureParameterSetExtensions()
        )
        try extensions?.visit(&visitor, transformSkip: transformSkipEnabledFlag)
        try visitor.trailingBits()
    }

    private mutating func visitQuantization(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.se("init_qp_minus26", &initQpMinus26, in: -74...25)
        try visitor.flag("constrained_intra_pred_flag", &constrainedIntraPredFlag)
        try visitor.flag("transform_skip_enabled_flag", &transformSkipEnabledFlag)
        try visitor.presence("cu_qp_delta_enabled_flag", of: &diffCuQpDeltaDepth, 0)
        if var depth = diffCuQpDeltaDepth {
            try visitor.ue("diff_cu_qp_delta_depth", &depth, in: 0...3)
            diffCuQpDeltaDepth = depth
        }
        try visitor.se("pps_cb_qp_offset", &ppsCbQpOffset, in: -12...12)
        try visitor.se("pps_cr_qp_offset", &ppsCrQpOffset, in: -12...12)
        try visitor.flag("pps_slice_chroma_qp_offsets_present_flag", &ppsSliceChromaQpOffsetsPresentFlag)
    }

    private mutating func visitFilters(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.flag("pps_loop_filter_across_slices_enabled_flag", &ppsLoopFilterAcrossSlicesEnabledFlag)
        try visitor.presence("deblocking_filter_control_present_flag", of: &deblocking, HEVCDeblocking())
        try deblocking?.visit(&visitor)
    }
}
