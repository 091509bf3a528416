// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CLibVA
internal import GOPPlanning
internal import MediaTypes

/// A planned and numbered H.264 picture, before surfaces are assigned.
struct H264Picture: NumberedPicture {
    var planned: PlannedPicture
    var numbers: H264PictureNumbers
    var quantizer: Int

    var keptReferences: [Int64] { numbers.references.map(\.number) }

    var sliceKind: H264SliceHeaderStart.Kind {
        switch planned.kind {
        case .idr, .recoveryPoint: .i
        case .p: .p
        case .b: .b
        }
    }
}

// MARK: - Sequence

extension VAEncSequenceParameterBufferH264 {
    /// Creates the parameters of va_enc_h264.h from a sequence parameter set and the periods of the plan.
    ///
    /// - Parameter bitsPerSecond: The bitrate of the stream; 0 if there is none.
    init(_ set: H264SequenceParameterSet, _ structure: GOPStructure, bitsPerSecond: Int) {
        self.init()
        seq_parameter_set_id = UInt8(clamping: set.seqParameterSetId)
        level_idc = UInt8(clamping: set.levelIdc)
        let periods = SequencePeriods(structure)
        (intra_period, intra_idr_period, ip_period) = (periods.intra, periods.idr, periods.anchor)
        bits_per_second = UInt32(clamping: bitsPerSecond)
        max_num_ref_frames = set.maxNumRefFrames
        picture_width_in_mbs = UInt16(clamping: set.picWidthInMbsMinus1 + 1)
        picture_height_in_mbs = UInt16(clamping: set.picHeightInMapUnitsMinus1 + 1)
        seq_fields.bits.chroma_format_idc = set.chromaFormatIdc.rawValue
        seq_fields.bits.frame_mbs_only_flag = set.frameMbsOnlyFlag ? 1 : 0
        seq_fields.bits.direct_8x8_inference_flag = set.direct8x8InferenceFlag ? 1 : 0
        seq_fields.bits.log2_max_frame_num_minus4 = set.log2MaxFrameNumMinus4
        seq_fields.bits.pic_order_cnt_type = set.picOrderCntType
        seq_fields.bits.log2_max_pic_order_cnt_lsb_minus4 = set.log2MaxPicOrderCntLsbMinus4
        if let cropping = set.frameCropping {
            frame_cropping_flag = 1
            frame_crop_left_offset = cropping.left
            frame_crop_right_offset = cropping.right
            frame_crop_top_offset = cropping.top
            frame_crop_bottom_offset = cropping.bottom
        }
        if let vui = set.vui { setUsability(vui) }
    }

    private mutating func setUsability(_ vui: H264VideoUsability) {
        vui_parameters_present_flag = 1
        if let ratio = vui.signal.aspectRatio {
            vui_fields.bits.aspect_ratio_info_present_flag = 1
            aspect_ratio_idc = UInt8(clamping: ratio.aspectRatioIdc)
            sar_width = ratio.sarWidth
            sar_height = ratio.sarHeight
        }
        if let timing = vui.timing {
            vui_fields.bits.timing_info_present_flag = 1
            vui_fields.bits.fixed_frame_rate_flag = timing.fixedFrameRateFlag ? 1 : 0
            num_units_in_tick = timing.numUnitsInTick
            time_scale = timing.timeScale
        }
        if vui.nalHRD != nil || vui.vclHRD != nil { vui_fields.bits.low_delay_hrd_flag = vui.lowDelayHrdFlag ? 1 : 0 }
        if let restriction = vui.bitstreamRestriction {
            vui_fields.bits.bitstream_restriction_flag = 1
            vui_fields.bits.log2_max_mv_length_horizontal = restriction.log2MaxMvLengthHorizontal
            vui_fields.bits.log2_max_mv_length_vertical = restriction.log2MaxMvLengthVertical
            vui_fields.bits.motion_vectors_over_pic_boundaries_flag =
                restriction.motionVectorsOverPicBoundariesFlag ? 1 : 0
        }
    }
}

// MARK: - Picture

extension VAEncPictureParameterBufferH264 {
    /// Creates the parameters of va_enc_h264.h for a picture.
    init(_ picture: H264Picture, _ set: H264PictureParameterSet, _ surfaces: PictureSurfaces) {
        self.init()
        let numbers = picture.numbers
        CurrPic = VAPictureH264()
        CurrPic.picture_id = surfaces.reconstruction
        CurrPic.frame_idx = UInt32(clamping: numbers.frameNum)
        CurrPic.TopFieldOrderCnt = Int32(clamping: numbers.pictureOrderCount)
        CurrPic.BottomFieldOrderCnt = Int32(clamping: numbers.pictureOrderCount)
        if picture.planned.isReference {
            let isLongTerm = picture.planned.longTermIndex != nil
            CurrPic.flags = UInt32(
                isLongTerm ? VA_PICTURE_H264_LONG_TERM_REFERENCE : VA_PICTURE_H264_SHORT_TERM_REFERENCE
            )
        }
        VAPictureH264.fill(&ReferenceFrames, numbers.references, surfaces)
        coded_buf = surfaces.output
        pic_parameter_set_id = UInt8(clamping: set.picParameterSetId)
        seq_parameter_set_id = UInt8(clamping: set.seqParameterSetId)
        frame_num = UInt16(clamping: numbers.frameNum)
        pic_init_qp = UInt8(clamping: 26 + set.picInitQpMinus26)
        num_ref_idx_l0_active_minus1 = UInt8(clamping: set.numRefIdxL0DefaultActiveMinus1)
        num_ref_idx_l1_active_minus1 = UInt8(clamping: set.numRefIdxL1DefaultActiveMinus1)
        chroma_qp_index_offset = Int8(clamping: set.chromaQpIndexOffset)
        second_chroma_qp_index_offset = Int8(
            clamping: set.high?.secondChromaQpIndexOffset ?? set.chromaQpIndexOffset
        )
        pic_fields.bits.idr_pic_flag = picture.isIDR ? 1 : 0
        pic_fields.bits.reference_pic_flag = picture.planned.isReference ? 1 : 0
        pic_fields.bits.entropy_coding_mode_flag = set.entropyCodingModeFlag ? 1 : 0
        pic_fields.bits.weighted_pred_flag = set.weightedPredFlag ? 1 : 0
        pic_fields.bits.weighted_bipred_idc = set.weightedBipredIdc
        pic_fields.bits.constrained_intra_pred_flag = set.constrainedIntraPredFlag ? 1 : 0
        pic_fields.bits.transform_8x8_mode_flag = set.high?.transform8x8ModeFlag == true ? 1 : 0
        pic_fields.bits.deblocking_filter_control_present_flag = set.deblockingFilterControlPresentFlag ? 1 : 0
    }
}

// MARK: - Slice

extension VAEncSliceParameterBufferH264 {
    /// Creates the parameters of va_enc_h264.h for a slice: the same as its header, with the surfaces of its lists.
    init(
        _ header: H264SliceHeader,
        _ picture: H264Picture,
        macroblocks: Range<Int>,
        _ surfaces: PictureSurfaces
    ) {
        self.init()
        macroblock_address = UInt32(clamping: macroblocks.lowerBound)
        num_macroblocks = UInt32(clamping: macroblocks.count)
        macroblock_info = VA_INVALID_ID
        slice_type = UInt8(clamping: header.start.kind.rawValue)
        pic_parameter_set_id = UInt8(clamping: header.start.picParameterSetId)
        idr_pic_id = UInt16(clamping: header.start.idrPicId ?? 0)
        pic_order_cnt_lsb = UInt16(clamping: header.start.picOrderCntLsb ?? 0)
        direct_spatial_mv_pred_flag = header.start.kind == .b && header.directSpatialMvPredFlag ? 1 : 0
        num_ref_idx_active_override_flag = header.activeReferences == nil ? 0 : 1
        // Always set: iHD's hardware uses this number regardless of the flag, and never that of the picture.
        num_ref_idx_l0_active_minus1 = UInt8(clamping: max(picture.numbers.list0.count - 1, 0))
        num_ref_idx_l1_active_minus1 = UInt8(clamping: max(picture.numbers.list1.count - 1, 0))
        VAPictureH264.fill(&RefPicList0, picture.numbers.list0, surfaces)
        VAPictureH264.fill(&RefPicList1, picture.numbers.list1, surfaces)
        cabac_init_idc = UInt8(clamping: header.cabacInitIdc)
        slice_qp_delta = Int8(clamping: header.sliceQpDelta)
        disable_deblocking_filter_idc = UInt8(clamping: header.disableDeblockingFilterIdc)
        slice_alpha_c0_offset_div2 = Int8(clamping: header.sliceAlphaC0OffsetDiv2)
        slice_beta_offset_div2 = Int8(clamping: header.sliceBetaOffsetDiv2)
    }
}

extension H264SliceHeader {
    /// Returns the header of a slice that begins at a macroblock.
    init(_ picture: H264Picture, firstMacroblock: Int, _ set: H264PictureParameterSet) {
        self.init()
        let numbers = picture.numbers
        start.header = H264NALUnitHeader(
            nalRefIdc: UInt32(clamping: numbers.nalRefIdc),
            nalUnitType: picture.isIDR ? .idrSlice : .slice
        )
        start.firstMbInSlice = UInt32(clamping: firstMacroblock)
        // All slices of a picture have the same type.
        start.sliceType = picture.sliceKind.rawValue + 5
        start.picParameterSetId = set.picParameterSetId
        start.frameNum = UInt32(clamping: numbers.frameNum)
        start.idrPicId = numbers.idrPicId.map { UInt32(clamping: $0) }
        start.picOrderCntLsb = UInt32(clamping: numbers.pictureOrderCountLsb)
        activeReferences = Self.activeReferences(picture, set)
        list0Modification = numbers.list0Modification
        list1Modification = numbers.list1Modification
        marking = numbers.marking
        sliceQpDelta = Int32(clamping: picture.quantizer) - 26 - set.picInitQpMinus26
    }

    /// Returns the lengths of the lists if they differ from the picture parameter set.
    private static func activeReferences(
        _ picture: H264Picture,
        _ set: H264PictureParameterSet
    ) -> H264ActiveReferences? {
        let (list0, list1) = (picture.numbers.list0, picture.numbers.list1)
        guard !list0.isEmpty else { return nil }
        var active = H264ActiveReferences()
        active.numRefIdxL0ActiveMinus1 = UInt32(list0.count - 1)
        let differs0 = active.numRefIdxL0ActiveMinus1 != set.numRefIdxL0DefaultActiveMinus1
        guard picture.sliceKind == .b else { return differs0 ? active : nil }
        active.numRefIdxL1ActiveMinus1 = UInt32(clamping: list1.count - 1)
        return differs0 || active.numRefIdxL1ActiveMinus1 != set.numRefIdxL1DefaultActiveMinus1 ? active : nil
    }
}

// MARK: - References

extension VAPictureH264 {
    /// An entry without a picture.
    private static var none: VAPictureH264 {
        var none = VAPictureH264()
        none.picture_id = VA_INVALID_ID
        none.flags = UInt32(VA_PICTURE_H264_INVALID)
        return none
    }

    private init(_ reference: H264ReferencePicture, _ surface: VASurfaceID) {
        self.init()
        picture_id = surface
        frame_idx = UInt32(clamping: reference.longTermFrameIndex ?? reference.frameNum)
        flags = UInt32(
            reference.longTermFrameIndex == nil
                ? VA_PICTURE_H264_SHORT_TERM_REFERENCE : VA_PICTURE_H264_LONG_TERM_REFERENCE
        )
        TopFieldOrderCnt = Int32(clamping: reference.pictureOrderCount)
        BottomFieldOrderCnt = Int32(clamping: reference.pictureOrderCount)
    }

    /// Fills an array of a C structure with the references, followed by entries without a picture.
    static func fill<List>(_ list: inout List, _ references: [H264ReferencePicture], _ surfaces: PictureSurfaces) {
        withUnsafeMutableBytes(of: &list) { bytes in
            let entries = bytes.bindMemory(to: VAPictureH264.self)
            entries.update(repeating: none)
            for (index, reference) in references.prefix(entries.count).enumerated() {
                guard let surface = surfaces.references[reference.number] else { continue }
                entries[index] = VAPictureH264(reference, surface)
            }
        }
    }
}
