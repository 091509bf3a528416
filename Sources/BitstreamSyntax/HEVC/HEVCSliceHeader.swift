// SPDX-License-Identifier: GPL-2.0-or-later

/// The elements of an HEVC slice segment header that apply to a whole slice; dependent slice segments omit them.
public struct HEVCSliceHeader: Hashable, Sendable {
    /// `num_ref_idx_l0_active_minus1` and `num_ref_idx_l1_active_minus1`.
    public struct ActiveReferences: Hashable, Sendable {
        /// `num_ref_idx_l0_active_minus1`, 0...14.
        public var numRefIdxL0ActiveMinus1: UInt32 = 0
        /// `num_ref_idx_l1_active_minus1`, 0...14, for B slices.
        public var numRefIdxL1ActiveMinus1: UInt32 = 0

        /// Makes lists of one entry.
        public init() {}
    }

    /// The deblocking filter of a slice, if `deblocking_filter_override_flag` is one.
    public struct Deblocking: Hashable, Sendable {
        /// `slice_deblocking_filter_disabled_flag`.
        public var sliceDeblockingFilterDisabledFlag = false
        /// `slice_beta_offset_div2`, -6...6.
        public var sliceBetaOffsetDiv2: Int32 = 0
        /// `slice_tc_offset_div2`, -6...6.
        public var sliceTcOffsetDiv2: Int32 = 0

        /// Makes a filter without offsets.
        public init() {}
    }

    /// `slice_reserved_flag`: as many as the PPS specifies.
    public var sliceReservedFlags: [Bool] = []
    /// `slice_type`.
    public var sliceType = HEVCSliceSegmentHeader.Kind.i
    /// `pic_output_flag`, coded if the PPS requires it.
    public var picOutputFlag = true
    /// `colour_plane_id`, 0...2, if the planes are coded separately.
    public var colourPlaneId: UInt32 = 0
    /// The picture order count and the reference pictures; nil for an IDR picture.
    public var references: HEVCSliceReferencePictureSet? = HEVCSliceReferencePictureSet()
    /// `slice_temporal_mvp_enabled_flag`, if the SPS allows it, for non-IDR pictures.
    public var sliceTemporalMvpEnabledFlag = false
    /// `slice_sao_luma_flag`, if the SPS allows it.
    public var sliceSaoLumaFlag = false
    /// `slice_sao_chroma_flag`, if the SPS allows it.
    public var sliceSaoChromaFlag = false
    /// The lengths of the lists, if `num_ref_idx_active_override_flag` is one; otherwise those of the PPS apply.
    public var activeReferences: ActiveReferences?
    /// `list_entry_l0`; nil for the initial order. P and B slices.
    public var listEntryL0: [UInt32]?
    /// `list_entry_l1`; nil for the initial order. B slices.
    public var listEntryL1: [UInt32]?
    /// `mvd_l1_zero_flag`, for B slices.
    public var mvdL1ZeroFlag = false
    /// `cabac_init_flag`, coded if the PPS requires it.
    public var cabacInitFlag = false
    /// `collocated_from_l0_flag`, for B slices with temporal motion vector prediction.
    public var collocatedFromL0Flag = true
    /// `collocated_ref_idx`, below the length of its list.
    public var collocatedRefIdx: UInt32 = 0
    /// The explicit weights, if the PPS requires them.
    public var weights: HEVCPredictionWeights?
    /// `five_minus_max_num_merge_cand`, 0...4, for P and B slices.
    public var fiveMinusMaxNumMergeCand: UInt32 = 0
    /// `slice_qp_delta`: added to `26 + init_qp_minus26` of the PPS.
    public var sliceQpDelta: Int32 = 0
    /// `slice_cb_qp_offset`, -12...12, coded if the PPS requires it.
    public var sliceCbQpOffset: Int32 = 0
    /// `slice_cr_qp_offset`, -12...12, coded if the PPS requires it.
    public var sliceCrQpOffset: Int32 = 0
    /// `cu_chroma_qp_offset_enabled_flag`, if the PPS has a list of offsets.
    public var cuChromaQpOffsetEnabledFlag = false
    /// The deblocking filter of the slice, if the PPS allows it; nil for that of the PPS.
    public var deblocking: Deblocking?
    /// `slice_loop_filter_across_slices_enabled_flag`; nil for that of the PPS, in which case it is not coded.
    public var sliceLoopFilterAcrossSlicesEnabledFlag: Bool?

    /// Makes the header of an I slice.
    public init() {}

    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        unit: HEVCNALUnitHeader,
        sps: HEVCSequenceParameterSet,
        pps: HEVCPictureParameterSet
    ) throws(BitstreamError) {
        let reserved = Int(pps.numExtraSliceHeaderBits)
        try visitor.resize("slice_reserved_flag", &sliceReservedFlags, to: reserved, with: false)
        for index in sliceReservedFlags.indices {
            try visitor.flag("slice_reserved_flag[\(index)]", &sliceReservedFlags[index])
        }
        var type = sliceType.rawValue
        try visitor.ue("slice_type", &type, in: unit.isKeyFrame ? 2...2 : 0...2)
        sliceType = HEVCSliceSegmentHeader.Kind(rawValue: type) ?? .i
        if pps.outputFlagPresentFlag {
            try visitor.flag("pic_output_flag", &picOutputFlag)
        } else {
            try visitor.infer("pic_output_flag", &picOutputFlag, true)
        }
        if sps.separateColourPlaneFlag {
            try visitor.u("colour_plane_id", bits: 2, &colourPlaneId, in: 0...2)
        } else {
            try visitor.infer("colour_plane_id", &colourPlaneId, 0)
        }
        try visitPictureSet(&visitor, unit: unit, sps: sps)
        try visitOffset(&visitor, sps: sps)
        if sliceType == .i {
            try visitIntra(&visitor)
        } else {
            try visitPrediction(&visitor, sps: sps, pps: pps)
        }
        try visitQuantizers(&visitor, sps: sps, pps: pps)
        try visitFilters(&visitor, pps: pps)
    }

    private mutating func visitPictureSet(
        _ visitor: inout some SyntaxVisitor,
        unit: HEVCNALUnitHeader,
        sps: HEVCSequenceParameterSet
    ) throws(BitstreamError) {
        guard !unit.isIDR else {
            try visitor.inferAbsent("slice_pic_order_cnt_lsb", &references)
            return try visitor.infer("slice_temporal_mvp_enabled_flag", &sliceTemporalMvpEnabledFlag, false)
        }
        try visitor.required("slice_pic_order_cnt_lsb", &references, HEVCSliceReferencePictureSet())
        try references?.visit(&visitor, sps: sps)
        if sps.spsTemporalMvpEnabledFlag {
            try visitor.flag("slice_temporal_mvp_enabled_flag", &sliceTemporalMvpEnabledFlag)
        } else {
            try visitor.infer("slice_temporal_mvp_enabled_flag", &sliceTemporalMvpEnabledFlag, false)
        }
    }

    private mutating func visitOffset(
        _ visitor: inout some SyntaxVisitor,
        sps: HEVCSequenceParameterSet
    ) throws(BitstreamError) {
        if sps.sampleAdaptiveOffsetEnabledFlag {
            try visitor.flag("slice_sao_luma_flag", &sliceSaoLumaFlag)
        } else {
            try visitor.infer("slice_sao_luma_flag", &sliceSaoLumaFlag, false)
        }
        if sps.sampleAdaptiveOffsetEnabledFlag, sps.hasChromaPlanes {
            try visitor.flag("slice_sao_chroma_flag", &sliceSaoChromaFlag)
        } else {
            try visitor.infer("slice_sao_chroma_flag", &sliceSaoChromaFlag, false)
        }
    }

    private mutating func visitIntra(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.inferAbsent("num_ref_idx_active_override_flag", &activeReferences)
        try visitor.inferAbsent("ref_pic_list_modification_flag_l0", &listEntryL0)
        try visitor.inferAbsent("ref_pic_list_modification_flag_l1", &listEntryL1)
        try visitor.infer("mvd_l1_zero_flag", &mvdL1ZeroFlag, false)
        try visitor.infer("cabac_init_flag", &cabacInitFlag, false)
        try visitor.infer("collocated_from_l0_flag", &collocatedFromL0Flag, true)
        try visitor.infer("collocated_ref_idx", &collocatedRefIdx, 0)
        try visitor.inferAbsent("pred_weight_table()", &weights)
        try visitor.infer("five_minus_max_num_merge_cand", &fiveMinusMaxNumMergeCand, 0)
    }

    private mutating func visitPrediction(
        _ visitor: inout some SyntaxVisitor,
        sps: HEVCSequenceParameterSet,
        pps: HEVCPictureParameterSet
    ) throws(BitstreamError) {
        let isB = sliceType == .b
        try visitor.presence("num_ref_idx_active_override_flag", of: &activeReferences, ActiveReferences())
        if var active = activeReferences {
            try visitor.ue("num_ref_idx_l0_active_minus1", &active.numRefIdxL0ActiveMinus1, in: 0...14)
            if isB {
                try visitor.ue("num_ref_idx_l1_active_minus1", &active.numRefIdxL1ActiveMinus1, in: 0...14)
            } else {
                try visitor.infer("num_ref_idx_l1_active_minus1", &active.numRefIdxL1ActiveMinus1, 0)
            }
            activeReferences = active
        }
        let counts = activeCounts(pps)
        try visitLists(&visitor, counts: counts, total: references?.usedPictureCount(sps) ?? 0, pps: pps)
        if isB {
            try visitor.flag("mvd_l1_zero_flag", &mvdL1ZeroFlag)
        } else {
            try visitor.infer("mvd_l1_zero_flag", &mvdL1ZeroFlag, false)
        }
        if pps.cabacInitPresentFlag {
            try visitor.flag("cabac_init_flag", &cabacInitFlag)
        } else {
            try visitor.infer("cabac_init_flag", &cabacInitFlag, false)
        }
        try visitCollocated(&visitor, counts: counts)
        if isB ? pps.weightedBipredFlag : pps.weightedPredFlag {
            var table = weights ?? HEVCPredictionWeights()
            try table.visit(&visitor, hasChroma: sps.hasChromaPlanes, counts: counts)
            weights = table
        } else {
            try visitor.inferAbsent("pred_weight_table()", &weights)
        }
        try visitor.ue("five_minus_max_num_merge_cand", &fiveMinusMaxNumMergeCand, in: 0...4)
    }

    /// Returns the number of active references of each list; one number for a P slice.
    private func activeCounts(_ pps: HEVCPictureParameterSet) -> [Int] {
        let list0 = activeReferences?.numRefIdxL0ActiveMinus1 ?? pps.numRefIdxL0DefaultActiveMinus1
        let list1 = activeReferences?.numRefIdxL1ActiveMinus1 ?? pps.numRefIdxL1DefaultActiveMinus1
        return [Int(list0) + 1] + (sliceType == .b ? [Int(list1) + 1] : [])
    }

    // HEVC 7.3.6.2
    private mutating func visitLists(
        _ visitor: inout some SyntaxVisitor,
        counts: [Int],
        total: Int,
        pps: HEVCPictureParameterSet
    ) throws(BitstreamError) {
        guard pps.listsModificationPresentFlag, total > 1 else {
            try visitor.inferAbsent("ref_pic_list_modification_flag_l0", &listEntryL0)
            return try visitor.inferAbsent("ref_pic_list_modification_flag_l1", &listEntryL1)
        }
        try Self.visit(&listEntryL0, "l0", count: counts[0], total: total, &visitor)
        if counts.count > 1 {
            try Self.visit(&listEntryL1, "l1", count: counts[1], total: total, &visitor)
        } else {
            try visitor.inferAbsent("ref_pic_list_modification_flag_l1", &listEntryL1)
        }
    }

    private static func visit(
        _ entries: inout [UInt32]?,
        _ list: String,
        count: Int,
        total: Int,
        _ visitor: inout some SyntaxVisitor
    ) throws(BitstreamError) {
        try visitor.presence("ref_pic_list_modification_flag_\(list)", of: &entries, [])
        guard var given = entries else { return }
        try visitor.resize("list_entry_\(list)", &given, to: count, with: 0)
        for index in given.indices {
            let (bits, last) = (bitCount(forValuesBelow: total), UInt32(clamping: total - 1))
            try visitor.u("list_entry_\(list)[\(index)]", bits: bits, &given[index], in: 0...last)
        }
        entries = given
    }

    private mutating func visitCollocated(
        _ visitor: inout some SyntaxVisitor,
        counts: [Int]
    ) throws(BitstreamError) {
        if sliceTemporalMvpEnabledFlag, sliceType == .b {
            try visitor.flag("collocated_from_l0_flag", &collocatedFromL0Flag)
        } else {
            try visitor.infer("collocated_from_l0_flag", &collocatedFromL0Flag, true)
        }
        let count = collocatedFromL0Flag ? counts[0] : counts.last ?? 1
        if sliceTemporalMvpEnabledFlag, count > 1 {
            try visitor.ue("collocated_ref_idx", &collocatedRefIdx, in: 0...UInt32(clamping: count - 1))
        } else {
            try visitor.infer("collocated_ref_idx", &collocatedRefIdx, 0)
        }
    }

    private mutating func visitQuantizers(
        _ visitor: inout some SyntaxVisitor,
        sps: HEVCSequenceParameterSet,
        pps: HEVCPictureParameterSet
    ) throws(BitstreamError) {
        let initial = 26 + pps.initQpMinus26
        let lowest = -6 * Int32(clamping: sps.bitDepthLumaMinus8)
        try visitor.se("slice_qp_delta", &sliceQpDelta, in: (lowest - initial)...max(51 - initial, lowest - initial))
        if pps.ppsSliceChromaQpOffsetsPresentFlag {
            try visitor.se("slice_cb_qp_offset", &sliceCbQpOffset, in: -12...12)
            try visitor.se("slice_cr_qp_offset", &sliceCrQpOffset, in: -12...12)
        } else {
            try visitor.infer("slice_cb_qp_offset", &sliceCbQpOffset, 0)
            try visitor.infer("slice_cr_qp_offset", &sliceCrQpOffset, 0)
        }
        if pps.extensions?.range?.chromaQpOffsets != nil {
            try visitor.flag("cu_chroma_qp_offset_enabled_flag", &cuChromaQpOffsetEnabledFlag)
        } else {
            try visitor.infer("cu_chroma_qp_offset_enabled_flag", &cuChromaQpOffsetEnabledFlag, false)
        }
    }

    private mutating func visitFilters(
        _ visitor: inout some SyntaxVisitor,
        pps: HEVCPictureParameterSet
    ) throws(BitstreamError) {
        if pps.deblocking?.deblockingFilterOverrideEnabledFlag == true {
            try visitor.presence("deblocking_filter_override_flag", of: &deblocking, Deblocking())
        } else {
            try visitor.inferAbsent("deblocking_filter_override_flag", &deblocking)
        }
        try deblocking?.visit(&visitor)
        let isOff = deblocking?.sliceDeblockingFilterDisabledFlag ?? pps.deblocking.map { $0.offsets == nil } ?? false
        if pps.ppsLoopFilterAcrossSlicesEnabledFlag, sliceSaoLumaFlag || sliceSaoChromaFlag || !isOff {
            var isAcross = sliceLoopFilterAcrossSlicesEnabledFlag ?? true
            try visitor.flag("slice_loop_filter_across_slices_enabled_flag", &isAcross)
            sliceLoopFilterAcrossSlicesEnabledFlag = isAcross
        } else {
            let name = "slice_loop_filter_across_slices_enabled_flag"
            try visitor.inferAbsent(name, &sliceLoopFilterAcrossSlicesEnabledFlag)
        }
    }
}

extension HEVCSliceHeader.Deblocking {
    fileprivate mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        try visitor.flag("slice_deblocking_filter_disabled_flag", &sliceDeblockingFilterDisabledFlag)
        if sliceDeblockingFilterDisabledFlag {
            try visitor.infer("slice_beta_offset_div2", &sliceBetaOffsetDiv2, 0)
            try visitor.infer("slice_tc_offset_div2", &sliceTcOffsetDiv2, 0)
        } else {
            try visitor.se("slice_beta_offset_div2", &sliceBetaOffsetDiv2, in: -6...6)
            try visitor.se("slice_tc_offset_div2", &sliceTcOffsetDiv2, in: -6...6)
        }
    }
}

extension HEVCSequenceParameterSet {
    /// Whether `ChromaArrayType` is not zero.
    var hasChromaPlanes: Bool { chromaFormatIdc != .monochrome && !separateColourPlaneFlag }
}
