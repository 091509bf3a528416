// SPDX-License-Identifier: GPL-2.0-or-later

/// An H.264 slice header: clause 7.3.3.
///
/// Property names are those of the specification; properties hold the coded values. Values that are out of range, or
/// contradict another element, are rejected when the header is written.
public struct H264SliceHeader: Hashable, Sendable {
    /// The elements up to `pic_order_cnt_lsb`.
    public var start = H264SliceHeaderStart()
    /// `delta_pic_order_cnt_bottom`, for frames, coded if the PPS requires it.
    public var deltaPicOrderCntBottom: Int32 = 0
    /// `delta_pic_order_cnt`: two numbers, coded with `pic_order_cnt_type` 1 only.
    public var deltaPicOrderCnt: [Int32] = [0, 0]
    /// `redundant_pic_cnt`, 0...127, coded if the PPS requires it.
    public var redundantPicCnt: UInt32 = 0
    /// `direct_spatial_mv_pred_flag`, for B slices.
    public var directSpatialMvPredFlag = true
    /// `num_ref_idx_l0_active_minus1` and `num_ref_idx_l1_active_minus1`, 0...31, if `num_ref_idx_active_override_flag`
    /// is one; otherwise the numbers are those of the PPS.
    public var activeReferences: H264ActiveReferences?
    /// The modifications of list 0; nil for the initial order. P, SP and B slices.
    public var list0Modification: [H264ReferenceListModification]?
    /// The modifications of list 1; nil for the initial order. B slices.
    public var list1Modification: [H264ReferenceListModification]?
    /// The explicit weights, if the PPS requires them.
    public var weights: H264PredictionWeights?
    /// `dec_ref_pic_marking()`, for reference pictures.
    public var marking: H264ReferenceMarking?
    /// `cabac_init_idc`, 0...2, with CABAC, for slices other than I and SI.
    public var cabacInitIdc: UInt32 = 0
    /// `slice_qp_delta`: added to `26 + pic_init_qp_minus26` of the PPS.
    public var sliceQpDelta: Int32 = 0
    /// `sp_for_switch_flag`, for SP slices.
    public var spForSwitchFlag = false
    /// `slice_qs_delta`, for SP and SI slices.
    public var sliceQsDelta: Int32 = 0
    /// `disable_deblocking_filter_idc`, 0...2: filtered, not filtered, filtered within the slice.
    public var disableDeblockingFilterIdc: UInt32 = 0
    /// `slice_alpha_c0_offset_div2`, -6...6, if the deblocking filter is enabled.
    public var sliceAlphaC0OffsetDiv2: Int32 = 0
    /// `slice_beta_offset_div2`, -6...6, if the deblocking filter is enabled.
    public var sliceBetaOffsetDiv2: Int32 = 0
    /// `slice_group_change_cycle`, with slice groups of types 3 to 5.
    public var sliceGroupChangeCycle: UInt32 = 0

    /// Makes the header of an I slice of a non-reference picture.
    public init() {}

    /// Parses a header; the data after it is ignored.
    ///
    /// - Parameters:
    ///   - nalUnit: A slice (NAL unit type 1 or 5) or the first partition of one (2), without start code or length.
    ///   - sps: The SPS that the PPS refers to.
    ///   - pps: The PPS that the slice refers to.
    /// - Throws: `BitstreamError` at the first element that is out of range or missing.
    public init(
        nalUnit: some Collection<UInt8>,
        sps: H264SequenceParameterSet,
        pps: H264PictureParameterSet
    ) throws(BitstreamError) {
        // More than the longest header: two lists of 32 modifications, 64 explicit weights, 64 marking operations.
        let start = EmulationPrevention.removed(from: nalUnit.prefix(4096))
        var reader = SyntaxReader(BitReader(start))
        try visit(&reader, sps: sps, pps: pps)
    }

    /// Serializes the header, for a driver that appends the slice data.
    ///
    /// - Returns: The NAL unit header and the slice header without emulation prevention, and the number of bits that
    ///   they occupy in these bytes; the remaining bits are zero.
    /// - Throws: `BitstreamError` at the first element that is out of range or contradicts another.
    public func written(
        sps: H264SequenceParameterSet,
        pps: H264PictureParameterSet
    ) throws(BitstreamError) -> (bytes: [UInt8], bitCount: Int) {
        var writer = SyntaxWriter()
        var copy = self
        try copy.visit(&writer, sps: sps, pps: pps)
        return (writer.writer.bytes, writer.bitPosition)
    }

    // H.264 7.3.3
    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        sps: H264SequenceParameterSet,
        pps: H264PictureParameterSet
    ) throws(BitstreamError) {
        try start.visit(&visitor, sps: sps)
        try visitPictureOrder(&visitor, sps: sps, pps: pps)
        if pps.redundantPicCntPresentFlag {
            try visitor.ue("redundant_pic_cnt", &redundantPicCnt, in: 0...127)
        } else {
            try visitor.infer("redundant_pic_cnt", &redundantPicCnt, 0)
        }
        try visitReferences(&visitor, sps: sps, pps: pps)
        try visitMarking(&visitor)
        if pps.entropyCodingModeFlag, !isIntra {
            try visitor.ue("cabac_init_idc", &cabacInitIdc, in: 0...2)
        } else {
            try visitor.infer("cabac_init_idc", &cabacInitIdc, 0)
        }
        try visitQuantizer(&visitor, sps: sps, pps: pps)
        try visitDeblocking(&visitor, pps: pps)
        try visitSliceGroups(&visitor, sps: sps, pps: pps)
    }

    private var isIntra: Bool { [.i, .si].contains(start.kind) }
    private var isSwitching: Bool { [.sp, .si].contains(start.kind) }

    private mutating func visitPictureOrder(
        _ visitor: inout some SyntaxVisitor,
        sps: H264SequenceParameterSet,
        pps: H264PictureParameterSet
    ) throws(BitstreamError) {
        let hasBottom = pps.bottomFieldPicOrderInFramePresentFlag && !start.fieldPicFlag
        if sps.picOrderCntType == 0, hasBottom {
            try visitor.se("delta_pic_order_cnt_bottom", &deltaPicOrderCntBottom)
        } else {
            try visitor.infer("delta_pic_order_cnt_bottom", &deltaPicOrderCntBottom, 0)
        }
        try visitor.resize("delta_pic_order_cnt", &deltaPicOrderCnt, to: 2, with: 0)
        let isCoded = sps.picOrderCntType == 1 && !sps.picOrderCntCycle.deltaPicOrderAlwaysZeroFlag
        for index in 0...1 {
            if isCoded, index == 0 || hasBottom {
                try visitor.se("delta_pic_order_cnt[\(index)]", &deltaPicOrderCnt[index])
            } else {
                try visitor.infer("delta_pic_order_cnt[\(index)]", &deltaPicOrderCnt[index], 0)
            }
        }
    }

    private mutating func visitReferences(
        _ visitor: inout some SyntaxVisitor,
        sps: H264SequenceParameterSet,
        pps: H264PictureParameterSet
    ) throws(BitstreamError) {
        let isB = start.kind == .b
        if isB {
            try visitor.flag("direct_spatial_mv_pred_flag", &directSpatialMvPredFlag)
        } else {
            directSpatialMvPredFlag = true
        }
        guard !isIntra else {
            try visitor.inferAbsent("num_ref_idx_active_override_flag", &activeReferences)
            try visitor.inferAbsent("ref_pic_list_modification_flag_l0", &list0Modification)
            try visitor.inferAbsent("ref_pic_list_modification_flag_l1", &list1Modification)
            return try visitor.inferAbsent("pred_weight_table()", &weights)
        }
        try visitor.presence("num_ref_idx_active_override_flag", of: &activeReferences, H264ActiveReferences())
        try activeReferences?.visit(&visitor, isB: isB)
        try H264ReferenceListModification.visit(&list0Modification, &visitor, list: 0)
        if isB {
            try H264ReferenceListModification.visit(&list1Modification, &visitor, list: 1)
        } else {
            try visitor.inferAbsent("ref_pic_list_modification_flag_l1", &list1Modification)
        }
        guard isB ? pps.weightedBipredIdc == 1 : pps.weightedPredFlag else {
            return try visitor.inferAbsent("pred_weight_table()", &weights)
        }
        var table = weights ?? H264PredictionWeights()
        try table.visit(
            &visitor,
            hasChroma: !sps.separateColourPlaneFlag && sps.chromaFormatIdc != .monochrome,
            counts: activeCounts(pps)
        )
        weights = table
    }

    /// Returns the number of active references of each list; the one of list 1 is zero for a P slice.
    private func activeCounts(_ pps: H264PictureParameterSet) -> [Int] {
        let list0 = activeReferences?.numRefIdxL0ActiveMinus1 ?? pps.numRefIdxL0DefaultActiveMinus1
        let list1 = activeReferences?.numRefIdxL1ActiveMinus1 ?? pps.numRefIdxL1DefaultActiveMinus1
        return [Int(list0) + 1] + (start.kind == .b ? [Int(list1) + 1] : [])
    }

    private mutating func visitMarking(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        guard start.header.nalRefIdc != 0 else { return try visitor.inferAbsent("dec_ref_pic_marking()", &marking) }
        var visited = marking ?? (start.header.isKeyFrame ? .idr() : .slidingWindow)
        try visited.visit(&visitor, isIDR: start.header.isKeyFrame)
        marking = visited
    }

    private mutating func visitQuantizer(
        _ visitor: inout some SyntaxVisitor,
        sps: H264SequenceParameterSet,
        pps: H264PictureParameterSet
    ) throws(BitstreamError) {
        let initial = 26 + pps.picInitQpMinus26
        let lowest = -6 * Int32(sps.bitDepthLumaMinus8)
        try visitor.se("slice_qp_delta", &sliceQpDelta, in: (lowest - initial)...max(51 - initial, lowest - initial))
        if start.kind == .sp {
            try visitor.flag("sp_for_switch_flag", &spForSwitchFlag)
        } else {
            try visitor.infer("sp_for_switch_flag", &spForSwitchFlag, false)
        }
        if isSwitching {
            let initial = 26 + pps.picInitQsMinus26
            try visitor.se("slice_qs_delta", &sliceQsDelta, in: -initial...(51 - initial))
        } else {
            try visitor.infer("slice_qs_delta", &sliceQsDelta, 0)
        }
    }

    private mutating func visitDeblocking(
        _ visitor: inout some SyntaxVisitor,
        pps: H264PictureParameterSet
    ) throws(BitstreamError) {
        if pps.deblockingFilterControlPresentFlag {
            try visitor.ue("disable_deblocking_filter_idc", &disableDeblockingFilterIdc, in: 0...2)
        } else {
            try visitor.infer("disable_deblocking_filter_idc", &disableDeblockingFilterIdc, 0)
        }
        if pps.deblockingFilterControlPresentFlag, disableDeblockingFilterIdc != 1 {
            try visitor.se("slice_alpha_c0_offset_div2", &sliceAlphaC0OffsetDiv2, in: -6...6)
            try visitor.se("slice_beta_offset_div2", &sliceBetaOffsetDiv2, in: -6...6)
        } else {
            try visitor.infer("slice_alpha_c0_offset_div2", &sliceAlphaC0OffsetDiv2, 0)
            try visitor.infer("slice_beta_offset_div2", &sliceBetaOffsetDiv2, 0)
        }
    }

    // H.264 7.4.3, formula 7-35
    private mutating func visitSliceGroups(
        _ visitor: inout some SyntaxVisitor,
        sps: H264SequenceParameterSet,
        pps: H264PictureParameterSet
    ) throws(BitstreamError) {
        guard case .changing(_, _, let rateMinus1) = pps.sliceGroups?.map else {
            return try visitor.infer("slice_group_change_cycle", &sliceGroupChangeCycle, 0)
        }
        let mapUnits = (Int(sps.picWidthInMbsMinus1) + 1) * (Int(sps.picHeightInMapUnitsMinus1) + 1)
        let rate = Int(rateMinus1) + 1
        let steps = (mapUnits + rate - 1) / rate
        // Ceil(Log2(steps + 1)), since steps is at least 1.
        let bits = Int.bitWidth - steps.leadingZeroBitCount
        try visitor.u("slice_group_change_cycle", bits: bits, &sliceGroupChangeCycle, in: 0...UInt32(clamping: steps))
    }
}
