// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLibVA
internal import GOPPlanning

extension VAEncSequenceParameterBufferHEVC {
    /// Creates the parameters of va_enc_hevc.h from a sequence parameter set and the periods of the plan.
    ///
    /// - Parameter bitsPerSecond: The bitrate of the stream; 0 if there is none.
    init(_ set: HEVCSequenceParameterSet, _ structure: GOPStructure, bitsPerSecond: Int) {
        self.init()
        general_profile_idc = UInt8(clamping: set.profileTierLevel.general.profileIdc)
        general_level_idc = UInt8(clamping: set.profileTierLevel.generalLevelIdc)
        general_tier_flag = set.profileTierLevel.general.tierFlag ? 1 : 0
        let periods = SequencePeriods(structure)
        (intra_period, intra_idr_period, ip_period) = (periods.intra, periods.idr, periods.anchor)
        bits_per_second = UInt32(clamping: bitsPerSecond)
        pic_width_in_luma_samples = UInt16(clamping: set.picWidthInLumaSamples)
        pic_height_in_luma_samples = UInt16(clamping: set.picHeightInLumaSamples)
        seq_fields.bits.chroma_format_idc = set.chromaFormatIdc.rawValue
        seq_fields.bits.bit_depth_luma_minus8 = set.bitDepthLumaMinus8
        seq_fields.bits.bit_depth_chroma_minus8 = set.bitDepthChromaMinus8
        seq_fields.bits.strong_intra_smoothing_enabled_flag = set.strongIntraSmoothingEnabledFlag ? 1 : 0
        seq_fields.bits.amp_enabled_flag = set.ampEnabledFlag ? 1 : 0
        seq_fields.bits.sample_adaptive_offset_enabled_flag = set.sampleAdaptiveOffsetEnabledFlag ? 1 : 0
        seq_fields.bits.sps_temporal_mvp_enabled_flag = set.spsTemporalMvpEnabledFlag ? 1 : 0
        seq_fields.bits.low_delay_seq = structure.consecutiveBFrames == 0 ? 1 : 0
        log2_min_luma_coding_block_size_minus3 = UInt8(clamping: set.log2MinLumaCodingBlockSizeMinus3)
        log2_diff_max_min_luma_coding_block_size = UInt8(clamping: set.log2DiffMaxMinLumaCodingBlockSize)
        log2_min_transform_block_size_minus2 = UInt8(clamping: set.log2MinLumaTransformBlockSizeMinus2)
        log2_diff_max_min_transform_block_size = UInt8(clamping: set.log2DiffMaxMinLumaTransformBlockSize)
        max_transform_hierarchy_depth_inter = UInt8(clamping: set.maxTransformHierarchyDepthInter)
        max_transform_hierarchy_depth_intra = UInt8(clamping: set.maxTransformHierarchyDepthIntra)
        if let vui = set.vui { setUsability(vui) }
    }

    private mutating func setUsability(_ vui: HEVCVideoUsability) {
        vui_parameters_present_flag = 1
        if let ratio = vui.signal.aspectRatio {
            vui_fields.bits.aspect_ratio_info_present_flag = 1
            aspect_ratio_idc = UInt8(clamping: ratio.aspectRatioIdc)
            sar_width = ratio.sarWidth
            sar_height = ratio.sarHeight
        }
        if let timing = vui.timing {
            vui_fields.bits.vui_timing_info_present_flag = 1
            vui_num_units_in_tick = timing.numUnitsInTick
            vui_time_scale = timing.timeScale
        }
    }
}
