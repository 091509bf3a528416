// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLibVA
internal import GOPPlanning
internal import MediaTypes

/// A planned and numbered HEVC picture, before surfaces are assigned.
struct HEVCPicture: NumberedPicture {
    var planned: PlannedPicture
    var numbers: HEVCPictureNumbers
    var quantizer: Int

    var keptReferences: [Int64] { numbers.references.map(\.number) }

    /// The slice type: P pictures consist of B slices if both lists have entries.
    var sliceKind: HEVCSliceSegmentHeader.Kind {
        switch planned.kind {
        case .idr, .recoveryPoint: .i
        case .p, .b: numbers.hasList1 ? .b : .p
        }
    }
}

// MARK: - Slice headers

extension HEVCSliceSegmentHeader {
    /// Creates the header of a slice that begins at a coding tree block.
    init(
        _ picture: HEVCPicture,
        firstBlock: Int,
        _ sequence: HEVCSequenceParameterSet,
        _ set: HEVCPictureParameterSet
    ) {
        self.init()
        let numbers = picture.numbers
        header = HEVCNALUnitHeader(
            nalUnitType: numbers.unitType,
            nuhTemporalIdPlus1: UInt32(clamping: numbers.temporalId + 1)
        )
        slicePicParameterSetId = set.ppsPicParameterSetId
        sliceSegmentAddress = UInt32(clamping: firstBlock)
        var slice = HEVCSliceHeader()
        slice.sliceType = picture.sliceKind
        slice.references = numbers.shortTermSet.map { shortTerm in
            var references = HEVCSliceReferencePictureSet()
            references.slicePicOrderCntLsb = UInt32(clamping: numbers.pictureOrderCountLsb)
            references.shortTerm = .own(shortTerm)
            references.longTermPictures = numbers.longTermPictures
            return references
        }
        // Also set without prediction: 0 in the lowest layer would forbid all later pictures to use motion from before
        // this picture (HEVC 7.4.7.1), as the leading pictures of a CRA picture do.
        slice.sliceTemporalMvpEnabledFlag = sequence.spsTemporalMvpEnabledFlag && !picture.isIDR
        slice.sliceSaoLumaFlag = sequence.sampleAdaptiveOffsetEnabledFlag
        slice.sliceSaoChromaFlag = sequence.sampleAdaptiveOffsetEnabledFlag
        slice.activeReferences = Self.activeReferences(picture, set)
        slice.listEntryL0 = numbers.list0Entries
        slice.listEntryL1 = numbers.list1Entries
        slice.sliceQpDelta = Int32(clamping: picture.quantizer) - 26 - set.initQpMinus26
        if set.ppsLoopFilterAcrossSlicesEnabledFlag { slice.sliceLoopFilterAcrossSlicesEnabledFlag = true }
        self.slice = slice
    }

    /// Returns the lengths of the lists if they differ from the picture parameter set.
    private static func activeReferences(
        _ picture: HEVCPicture,
        _ set: HEVCPictureParameterSet
    ) -> HEVCSliceHeader.ActiveReferences? {
        let (list0, list1) = (picture.numbers.list0, picture.numbers.list1)
        guard !list0.isEmpty else { return nil }
        var active = HEVCSliceHeader.ActiveReferences()
        active.numRefIdxL0ActiveMinus1 = UInt32(list0.count - 1)
        let differs0 = active.numRefIdxL0ActiveMinus1 != set.numRefIdxL0DefaultActiveMinus1
        guard picture.sliceKind == .b else { return differs0 ? active : nil }
        active.numRefIdxL1ActiveMinus1 = UInt32(clamping: list1.count - 1)
        return differs0 || active.numRefIdxL1ActiveMinus1 != set.numRefIdxL1DefaultActiveMinus1 ? active : nil
    }
}

// MARK: - Picture

extension VAEncPictureParameterBufferHEVC {
    /// Creates the parameters of va_enc_hevc.h for a picture.
    ///
    /// - Parameter header: The header of one of its slices; the values used here are the same in all of them.
    init(
        _ picture: HEVCPicture,
        _ header: HEVCSliceSegmentHeader,
        _ sequence: HEVCSequenceParameterSet,
        _ set: HEVCPictureParameterSet,
        _ surfaces: PictureSurfaces
    ) {
        self.init()
        decoded_curr_pic = VAPictureHEVC()
        decoded_curr_pic.picture_id = surfaces.reconstruction
        decoded_curr_pic.pic_order_cnt = Int32(clamping: picture.numbers.pictureOrderCount)
        VAPictureHEVC.fill(&reference_frames, picture.numbers.references, of: picture, surfaces)
        coded_buf = surfaces.output
        collocated_ref_pic_index = Self.collocatedIndex(picture, header)
        pic_init_qp = UInt8(clamping: 26 + set.initQpMinus26)
        diff_cu_qp_delta_depth = UInt8(clamping: set.diffCuQpDeltaDepth ?? 0)
        pps_cb_qp_offset = Int8(clamping: set.ppsCbQpOffset)
        pps_cr_qp_offset = Int8(clamping: set.ppsCrQpOffset)
        log2_parallel_merge_level_minus2 = UInt8(clamping: set.log2ParallelMergeLevelMinus2)
        num_ref_idx_l0_default_active_minus1 = UInt8(clamping: set.numRefIdxL0DefaultActiveMinus1)
        num_ref_idx_l1_default_active_minus1 = UInt8(clamping: set.numRefIdxL1DefaultActiveMinus1)
        slice_pic_parameter_set_id = UInt8(clamping: set.ppsPicParameterSetId)
        nal_unit_type = UInt8(clamping: picture.numbers.unitType.rawValue)
        pic_fields.bits.idr_pic_flag = picture.isIDR ? 1 : 0
        pic_fields.bits.coding_type = Self.codingType(picture.planned.kind)
        pic_fields.bits.reference_pic_flag = picture.planned.isReference ? 1 : 0
        pic_fields.bits.dependent_slice_segments_enabled_flag = set.dependentSliceSegmentsEnabledFlag ? 1 : 0
        pic_fields.bits.sign_data_hiding_enabled_flag = set.signDataHidingEnabledFlag ? 1 : 0
        pic_fields.bits.constrained_intra_pred_flag = set.constrainedIntraPredFlag ? 1 : 0
        pic_fields.bits.transform_skip_enabled_flag = set.transformSkipEnabledFlag ? 1 : 0
        pic_fields.bits.cu_qp_delta_enabled_flag = set.diffCuQpDeltaDepth == nil ? 0 : 1
        pic_fields.bits.weighted_pred_flag = set.weightedPredFlag ? 1 : 0
        pic_fields.bits.weighted_bipred_flag = set.weightedBipredFlag ? 1 : 0
        pic_fields.bits.transquant_bypass_enabled_flag = set.transquantBypassEnabledFlag ? 1 : 0
        pic_fields.bits.entropy_coding_sync_enabled_flag = set.entropyCodingSyncEnabledFlag ? 1 : 0
        let filtersAcross: UInt32 = set.ppsLoopFilterAcrossSlicesEnabledFlag ? 1 : 0
        pic_fields.bits.pps_loop_filter_across_slices_enabled_flag = filtersAcross
        pic_fields.bits.no_output_of_prior_pics_flag = header.noOutputOfPriorPicsFlag ? 1 : 0
    }

    /// The numbers of va_enc_hevc.h. Flags distinguish B pictures that are references.
    private static func codingType(_ kind: PlannedPicture.Kind) -> UInt32 {
        switch kind {
        case .idr, .recoveryPoint: 1
        case .p: 2
        case .b: 3
        }
    }

    /// Returns the index in `reference_frames` of the picture for motion prediction; 0xFF for none.
    private static func collocatedIndex(_ picture: HEVCPicture, _ header: HEVCSliceSegmentHeader) -> UInt8 {
        guard let slice = header.slice, slice.sliceTemporalMvpEnabledFlag, picture.sliceKind != .i else { return 0xFF }
        let list = slice.collocatedFromL0Flag ? picture.numbers.list0 : picture.numbers.list1
        let number = list[Int(slice.collocatedRefIdx)].number
        return picture.numbers.references.firstIndex { $0.number == number }.map { UInt8(clamping: $0) } ?? 0xFF
    }
}

// MARK: - Slice

extension VAEncSliceParameterBufferHEVC {
    /// Creates the parameters of va_enc_hevc.h for a slice: the same as its header, with the surfaces of its lists.
    init(
        _ segment: HEVCSliceSegmentHeader,
        _ picture: HEVCPicture,
        count: Int,
        isLast: Bool,
        _ surfaces: PictureSurfaces
    ) {
        self.init()
        let header = segment.slice ?? HEVCSliceHeader()
        slice_segment_address = segment.sliceSegmentAddress
        num_ctu_in_slice = UInt32(clamping: count)
        slice_type = UInt8(clamping: header.sliceType.rawValue)
        slice_pic_parameter_set_id = UInt8(clamping: segment.slicePicParameterSetId)
        let numbers = picture.numbers
        num_ref_idx_l0_active_minus1 = UInt8(clamping: max(numbers.list0.count - 1, 0))
        num_ref_idx_l1_active_minus1 = UInt8(clamping: max(numbers.list1.count - 1, 0))
        VAPictureHEVC.fill(&ref_pic_list0, numbers.list0, of: picture, surfaces)
        VAPictureHEVC.fill(&ref_pic_list1, numbers.list1, of: picture, surfaces)
        max_num_merge_cand = UInt8(clamping: 5 - header.fiveMinusMaxNumMergeCand)
        slice_qp_delta = Int8(clamping: header.sliceQpDelta)
        slice_cb_qp_offset = Int8(clamping: header.sliceCbQpOffset)
        slice_cr_qp_offset = Int8(clamping: header.sliceCrQpOffset)
        slice_beta_offset_div2 = Int8(clamping: header.deblocking?.sliceBetaOffsetDiv2 ?? 0)
        slice_tc_offset_div2 = Int8(clamping: header.deblocking?.sliceTcOffsetDiv2 ?? 0)
        slice_fields.bits.last_slice_of_pic_flag = isLast ? 1 : 0
        slice_fields.bits.slice_temporal_mvp_enabled_flag = header.sliceTemporalMvpEnabledFlag ? 1 : 0
        slice_fields.bits.slice_sao_luma_flag = header.sliceSaoLumaFlag ? 1 : 0
        slice_fields.bits.slice_sao_chroma_flag = header.sliceSaoChromaFlag ? 1 : 0
        slice_fields.bits.num_ref_idx_active_override_flag = header.activeReferences == nil ? 0 : 1
        slice_fields.bits.mvd_l1_zero_flag = header.mvdL1ZeroFlag ? 1 : 0
        slice_fields.bits.cabac_init_flag = header.cabacInitFlag ? 1 : 0
        let isUnfiltered = header.deblocking?.sliceDeblockingFilterDisabledFlag ?? false
        slice_fields.bits.slice_deblocking_filter_disabled_flag = isUnfiltered ? 1 : 0
        let filtersAcross = header.sliceLoopFilterAcrossSlicesEnabledFlag ?? false
        slice_fields.bits.slice_loop_filter_across_slices_enabled_flag = filtersAcross ? 1 : 0
        slice_fields.bits.collocated_from_l0_flag = header.collocatedFromL0Flag ? 1 : 0
    }
}

// MARK: - References

extension VAPictureHEVC {
    /// An entry without a picture.
    private static var none: VAPictureHEVC {
        var none = VAPictureHEVC()
        none.picture_id = VA_INVALID_ID
        none.flags = UInt32(VA_PICTURE_HEVC_INVALID)
        return none
    }

    private init(_ reference: HEVCReferencePicture, of picture: HEVCPicture, _ surface: VASurfaceID) {
        self.init()
        picture_id = surface
        pic_order_cnt = Int32(clamping: reference.pictureOrderCount)
        if reference.isLongTerm { flags |= UInt32(VA_PICTURE_HEVC_LONG_TERM_REFERENCE) }
        guard reference.isUsed else { return }
        if reference.isLongTerm {
            flags |= UInt32(VA_PICTURE_HEVC_RPS_LT_CURR)
        } else if reference.pictureOrderCount < picture.numbers.pictureOrderCount {
            flags |= UInt32(VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE)
        } else {
            flags |= UInt32(VA_PICTURE_HEVC_RPS_ST_CURR_AFTER)
        }
    }

    /// Fills an array of a C structure with the references, followed by entries without a picture.
    static func fill<List>(
        _ list: inout List,
        _ references: [HEVCReferencePicture],
        of picture: HEVCPicture,
        _ surfaces: PictureSurfaces
    ) {
        withUnsafeMutableBytes(of: &list) { bytes in
            let entries = bytes.bindMemory(to: VAPictureHEVC.self)
            entries.update(repeating: none)
            for (index, reference) in references.prefix(entries.count).enumerated() {
                guard let surface = surfaces.references[reference.number] else { continue }
                entries[index] = VAPictureHEVC(reference, of: picture, surface)
            }
        }
    }
}
