// SPDX-License-Identifier: GPL-2.0-or-later

/// A picture parameter set of H.264: clause 7.3.2.2.
///
/// Property names are those of the specification; properties hold the coded values. Values out of range are rejected
/// when the set is written.
public struct H264PictureParameterSet: Hashable, Sendable {
    /// The elements of the high profiles, present if data follows `redundant_pic_cnt_present_flag`.
    public struct HighProfileElements: Hashable, Sendable {
        /// `transform_8x8_mode_flag`.
        public var transform8x8ModeFlag = false
        /// The scaling lists, if `pic_scaling_matrix_present_flag` is one: 6, plus 2 with the 8x8 transform, or 6 for
        /// 4:4:4.
        public var scalingMatrix: H264ScalingMatrix?
        /// `second_chroma_qp_index_offset`, -12...12.
        public var secondChromaQpIndexOffset: Int32 = 0

        /// Makes the elements that are inferred if none are coded, without an offset.
        public init() {}

        mutating func visit(
            _ visitor: inout some SyntaxVisitor,
            chromaFormat: ChromaFormat
        ) throws(BitstreamError) {
            try visitor.flag("transform_8x8_mode_flag", &transform8x8ModeFlag)
            let lists8x8 = transform8x8ModeFlag ? (chromaFormat == .yuv444 ? 6 : 2) : 0
            try visitor.presence("pic_scaling_matrix_present_flag", of: &scalingMatrix, H264ScalingMatrix(lists: []))
            try scalingMatrix?.visit(&visitor, prefix: "pic", count: 6 + lists8x8)
            try visitor.se("second_chroma_qp_index_offset", &secondChromaQpIndexOffset, in: -12...12)
        }
    }

    /// The chroma format of the SPS that this set refers to; it is not coded here, but determines the number of scaling
    /// lists.
    public var chromaFormat: ChromaFormat
    /// `nal_ref_idc`, 1...3.
    public var nalRefIdc: UInt32 = 3
    /// `pic_parameter_set_id`, 0...255.
    public var picParameterSetId: UInt32 = 0
    /// `seq_parameter_set_id`, 0...31.
    public var seqParameterSetId: UInt32 = 0
    /// `entropy_coding_mode_flag`: CABAC rather than CAVLC.
    public var entropyCodingModeFlag = false
    /// `bottom_field_pic_order_in_frame_present_flag`.
    public var bottomFieldPicOrderInFramePresentFlag = false
    /// The slice groups, if `num_slice_groups_minus1` is not zero.
    public var sliceGroups: H264SliceGroups?
    /// `num_ref_idx_l0_default_active_minus1`, 0...31.
    public var numRefIdxL0DefaultActiveMinus1: UInt32 = 0
    /// `num_ref_idx_l1_default_active_minus1`, 0...31.
    public var numRefIdxL1DefaultActiveMinus1: UInt32 = 0
    /// `weighted_pred_flag`.
    public var weightedPredFlag = false
    /// `weighted_bipred_idc`, 0...2: none, explicit, implicit.
    public var weightedBipredIdc: UInt32 = 0
    /// `pic_init_qp_minus26`, -62...25; the lower bound is that of 14-bit video.
    public var picInitQpMinus26: Int32 = 0
    /// `pic_init_qs_minus26`, -26...25.
    public var picInitQsMinus26: Int32 = 0
    /// `chroma_qp_index_offset`, -12...12.
    public var chromaQpIndexOffset: Int32 = 0
    /// `deblocking_filter_control_present_flag`.
    public var deblockingFilterControlPresentFlag = false
    /// `constrained_intra_pred_flag`.
    public var constrainedIntraPredFlag = false
    /// `redundant_pic_cnt_present_flag`.
    public var redundantPicCntPresentFlag = false
    /// The elements of the high profiles.
    public var high: HighProfileElements?
    /// The bits between the last element and the trailing bits, which this edition of the specification does not
    /// define.
    public var unknownData = RawBits()

    /// Makes a CAVLC set that refers to an SPS with the given chroma format.
    public init(chromaFormat: ChromaFormat = .yuv420) { self.chromaFormat = chromaFormat }

    /// Parses a parameter set.
    ///
    /// - Parameters:
    ///   - nalUnit: A complete NAL unit without start code or length; zero bytes after its end are ignored.
    ///   - chromaFormat: The chroma format of the SPS that the set refers to.
    /// - Throws: `BitstreamError` at the first element that is out of range or missing.
    public init(
        nalUnit: some Collection<UInt8>,
        chromaFormat: ChromaFormat = .yuv420
    ) throws(BitstreamError) {
        self.init(chromaFormat: chromaFormat)
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

extension H264PictureParameterSet: SyntaxStructure {
    // H.264 7.3.2.2
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError) {
        let type = H264NALUnitHeader.UnitType.pictureParameterSet
        var header = H264NALUnitHeader(nalRefIdc: nalRefIdc, nalUnitType: type)
        try header.visit(&visitor, types: type.rawValue...type.rawValue)
        nalRefIdc = header.nalRefIdc
        try visitor.ue("pic_parameter_set_id", &picParameterSetId, in: 0...255)
        try visitor.ue("seq_parameter_set_id", &seqParameterSetId, in: 0...31)
        try visitor.flag("entropy_coding_mode_flag", &entropyCodingModeFlag)
        try visitor.flag(
            "bottom_field_pic_order_in_frame_present_flag",
            &bottomFieldPicOrderInFramePresentFlag
        )
        try H264SliceGroups.visit(&sliceGroups, &visitor)
        try visitor.ue("num_ref_idx_l0_default_active_minus1", &numRefIdxL0DefaultActiveMinus1, in: 0...31)
        try visitor.ue("num_ref_idx_l1_default_active_minus1", &numRefIdxL1DefaultActiveMinus1, in: 0...31)
        try visitor.flag("weighted_pred_flag", &weightedPredFlag)
        try visitor.u("weighted_bipred_idc", bits: 2, &weightedBipredIdc, in: 0...2)
        try visitor.se("pic_init_qp_minus26", &picInitQpMinus26, in: -62...25)
        try visitor.se("pic_init_qs_minus26", &picInitQsMinus26, in: -26...25)
        try visitor.se("chroma_qp_index_offset", &chromaQpIndexOffset, in: -12...12)
        try visitor.flag("deblocking_filter_control_present_flag", &deblockingFilterControlPresentFlag)
        try visitor.flag("constrained_intra_pred_flag", &constrainedIntraPredFlag)
        try visitor.flag("redundant_pic_cnt_present_flag", &redundantPicCntPresentFlag)
        visitor.presentIfMoreData(&high, HighProfileElements())
        try high?.visit(&visitor, chromaFormat: chromaFormat)
        try visitor.remainder("unknown_data_flag", &unknownData)
        try visitor.trailingBits()
    }
}
