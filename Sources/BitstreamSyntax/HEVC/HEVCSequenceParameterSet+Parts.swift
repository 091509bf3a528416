// SPDX-License-Identifier: GPL-2.0-or-later

/// The decoded picture buffer by sub-layer, which both VPS and SPS contain: `*_sub_layer_ordering_info_present_flag`
/// and the elements after it.
public struct HEVCSubLayerOrdering: Hashable, Sendable {
    /// The requirements of one sub-layer together with those below it.
    public struct SubLayer: Hashable, Sendable {
        /// `*_max_dec_pic_buffering_minus1`, 0...15.
        public var maxDecPicBufferingMinus1: UInt32 = 0
        /// `*_max_num_reorder_pics`, 0...`maxDecPicBufferingMinus1`.
        public var maxNumReorderPics: UInt32 = 0
        /// `*_max_latency_increase_plus1`, 0...2^32-2; zero means no limit.
        public var maxLatencyIncreasePlus1: UInt32 = 0

        /// Makes a sub-layer of pictures that refer to no others.
        public init() {}
    }

    /// `*_sub_layer_ordering_info_present_flag`: whether each sub-layer has its own values, or those of the highest
    /// apply to all.
    public var isPresentForEachSubLayer = true
    /// The values: one entry for each sub-layer from the lowest up, or a single one.
    public var subLayers = [SubLayer()]

    /// Makes the ordering of one sub-layer of pictures that refer to no others.
    public init() {}

    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        prefix: String,
        maxSubLayersMinus1: UInt32
    ) throws(BitstreamError) {
        try visitor.flag("\(prefix)_sub_layer_ordering_info_present_flag", &isPresentForEachSubLayer)
        let first = isPresentForEachSubLayer ? 0 : Int(maxSubLayersMinus1)
        let count = Int(maxSubLayersMinus1) + 1 - first
        try visitor.resize("\(prefix)_max_dec_pic_buffering_minus1", &subLayers, to: count, with: SubLayer())
        for index in subLayers.indices {
            let name = "[\(first + index)]"
            try visitor.ue(
                "\(prefix)_max_dec_pic_buffering_minus1\(name)",
                &subLayers[index].maxDecPicBufferingMinus1,
                in: 0...15
            )
            try visitor.ue(
                "\(prefix)_max_num_reorder_pics\(name)",
                &subLayers[index].maxNumReorderPics,
                in: 0...subLayers[index].maxDecPicBufferingMinus1
            )
            try visitor.ue(
                "\(prefix)_max_latency_increase_plus1\(name)",
                &subLayers[index].maxLatencyIncreasePlus1
            )
        }
    }
}

/// Blocks of raw samples: the elements after `pcm_enabled_flag`.
public struct HEVCPCM: Hashable, Sendable {
    /// `pcm_sample_bit_depth_luma_minus1`, 0...15.
    public var pcmSampleBitDepthLumaMinus1: UInt32 = 7
    /// `pcm_sample_bit_depth_chroma_minus1`, 0...15.
    public var pcmSampleBitDepthChromaMinus1: UInt32 = 7
    /// `log2_min_pcm_luma_coding_block_size_minus3`, 0...2.
    public var log2MinPcmLumaCodingBlockSizeMinus3: UInt32 = 0
    /// `log2_diff_max_min_pcm_luma_coding_block_size`, 0...2.
    public var log2DiffMaxMinPcmLumaCodingBlockSize: UInt32 = 0
    /// `pcm_loop_filter_disabled_flag`.
    public var pcmLoopFilterDisabledFlag = false

    /// Makes blocks of 8x8 samples of 8 bits.
    public init() {}

    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.u("pcm_sample_bit_depth_luma_minus1", bits: 4, &pcmSampleBitDepthLumaMinus1)
        try visitor.u("pcm_sample_bit_depth_chroma_minus1", bits: 4, &pcmSampleBitDepthChromaMinus1)
        try visitor.ue(
            "log2_min_pcm_luma_coding_block_size_minus3",
            &log2MinPcmLumaCodingBlockSizeMinus3,
            in: 0...2
        )
        try visitor.ue(
            "log2_diff_max_min_pcm_luma_coding_block_size",
            &log2DiffMaxMinPcmLumaCodingBlockSize,
            in: 0...2
        )
        try visitor.flag("pcm_loop_filter_disabled_flag", &pcmLoopFilterDisabledFlag)
    }
}

/// A long-term reference picture that slices may refer to by its index.
public struct HEVCLongTermReferencePicture: Hashable, Sendable {
    /// `lt_ref_pic_poc_lsb_sps`: the low bits of its picture order count, below 2^(`log2MaxPicOrderCntLsbMinus4` + 4).
    public var ltRefPicPocLsbSps: UInt32 = 0
    /// `used_by_curr_pic_lt_sps_flag`.
    public var usedByCurrPicLtSpsFlag = true

    /// Makes a picture that is used, with picture order count zero.
    public init() {}
}

/// The elements after `sps_extension_present_flag`: HEVC 7.3.2.2.1.
public struct HEVCSequenceParameterSetExtensions: Hashable, Sendable {
    /// `sps_range_extension( )`, if `sps_range_extension_flag` is one.
    public var range: HEVCSequenceParameterSetRangeExtension?
    /// `sps_multilayer_extension_flag`.
    public var spsMultilayerExtensionFlag = false
    /// `sps_3d_extension_flag`.
    public var sps3dExtensionFlag = false
    /// `sps_scc_extension_flag`.
    public var spsSccExtensionFlag = false
    /// `sps_extension_4bits`, 0...15.
    public var spsExtension4bits: UInt32 = 0
    /// The content of the extensions other than the range extension, preserved as found.
    public var otherData = RawBits()

    /// Makes extensions without content.
    public init() {}

    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.presence("sps_range_extension_flag", of: &range, HEVCSequenceParameterSetRangeExtension())
        try visitor.flag("sps_multilayer_extension_flag", &spsMultilayerExtensionFlag)
        try visitor.flag("sps_3d_extension_flag", &sps3dExtensionFlag)
        try visitor.flag("sps_scc_extension_flag", &spsSccExtensionFlag)
        try visitor.u("sps_extension_4bits", bits: 4, &spsExtension4bits)
        try range?.visit(&visitor)
        try visitor.remainder("sps_extension_data_flag", &otherData)
    }
}

/// `sps_range_extension( )`: HEVC 7.3.2.2.2.
public struct HEVCSequenceParameterSetRangeExtension: Hashable, Sendable {
    /// `transform_skip_rotation_enabled_flag`.
    public var transformSkipRotationEnabledFlag = false
    /// `transform_skip_context_enabled_flag`.
    public var transformSkipContextEnabledFlag = false
    /// `implicit_rdpcm_enabled_flag`.
    public var implicitRdpcmEnabledFlag = false
    /// `explicit_rdpcm_enabled_flag`.
    public var explicitRdpcmEnabledFlag = false
    /// `extended_precision_processing_flag`.
    public var extendedPrecisionProcessingFlag = false
    /// `intra_smoothing_disabled_flag`.
    public var intraSmoothingDisabledFlag = false
    /// `high_precision_offsets_enabled_flag`.
    public var highPrecisionOffsetsEnabledFlag = false
    /// `persistent_rice_adaptation_enabled_flag`.
    public var persistentRiceAdaptationEnabledFlag = false
    /// `cabac_bypass_alignment_enabled_flag`.
    public var cabacBypassAlignmentEnabledFlag = false

    /// Makes an extension that enables nothing.
    public init() {}

    // HEVC 7.3.2.2.2
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.flag("transform_skip_rotation_enabled_flag", &transformSkipRotationEnabledFlag)
        try visitor.flag("transform_skip_context_enabled_flag", &transformSkipContextEnabledFlag)
        try visitor.flag("implicit_rdpcm_enabled_flag", &implicitRdpcmEnabledFlag)
        try visitor.flag("explicit_rdpcm_enabled_flag", &explicitRdpcmEnabledFlag)
        try visitor.flag("extended_precision_processing_flag", &extendedPrecisionProcessingFlag)
        try visitor.flag("intra_smoothing_disabled_flag", &intraSmoothingDisabledFlag)
        try visitor.flag("high_precision_offsets_enabled_flag", &highPrecisionOffsetsEnabledFlag)
        try visitor.flag("persistent_rice_adaptation_enabled_flag", &persistentRiceAdaptationEnabledFlag)
        try visitor.flag("cabac_bypass_alignment_enabled_flag", &cabacBypassAlignmentEnabledFlag)
    }
}
