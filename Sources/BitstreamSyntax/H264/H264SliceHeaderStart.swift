// SPDX-License-Identifier: GPL-2.0-or-later

/// The first elements of an H.264 slice header, which identify the picture, its kind and its order: clause 7.3.3.
///
/// Parsing stops after `pic_order_cnt_lsb`; the elements after it depend on the PPS: see ``H264SliceHeader``.
public struct H264SliceHeaderStart: Hashable, Sendable {
    /// `slice_type` modulo 5: H.264 table 7-6.
    public enum Kind: UInt32, Sendable, Hashable, CaseIterable {
        /// Predicted from one picture.
        case p = 0
        /// Predicted from one or two pictures.
        case b = 1
        /// Not predicted from other pictures.
        case i = 2
        /// Switching P.
        case sp = 3
        /// Switching I.
        case si = 4
    }

    /// The header of the NAL unit.
    public var header = H264NALUnitHeader(nalRefIdc: 0, nalUnitType: .slice)
    /// `first_mb_in_slice`: zero starts a picture, unless arbitrary slice order is used.
    public var firstMbInSlice: UInt32 = 0
    /// `slice_type`, 0...9: values above 4 state that all slices of the picture are of this kind.
    public var sliceType: UInt32 = 0
    /// `pic_parameter_set_id`, 0...255.
    public var picParameterSetId: UInt32 = 0
    /// `colour_plane_id`, 0...2, if the planes are coded separately.
    public var colourPlaneId: UInt32 = 0
    /// `frame_num`.
    public var frameNum: UInt32 = 0
    /// `field_pic_flag`.
    public var fieldPicFlag = false
    /// `bottom_field_flag`.
    public var bottomFieldFlag = false
    /// `idr_pic_id`, 0...65535; nil unless the picture is IDR.
    public var idrPicId: UInt32?
    /// `pic_order_cnt_lsb`; nil unless `pic_order_cnt_type` is zero.
    public var picOrderCntLsb: UInt32?

    /// The kind of the slice, without the statement about the other slices.
    public var kind: Kind { Kind(rawValue: sliceType % 5) ?? .i }

    /// Makes the start of a non-IDR I slice with all numbers zero.
    public init() {}

    /// Parses the start of a slice.
    ///
    /// - Parameters:
    ///   - nalUnit: A NAL unit without start code or length: a slice, or the first partition of one (types 1, 2, 5).
    ///   - sps: The SPS to which the slice refers through its PPS.
    /// - Throws: `BitstreamError` at the first element that is out of range or missing.
    public init(nalUnit: some Collection<UInt8>, sps: H264SequenceParameterSet) throws(BitstreamError) {
        // Enough for the longest codes with emulation prevention; the slice data is ignored.
        let start = EmulationPrevention.removed(from: nalUnit.prefix(64))
        var reader = SyntaxReader(BitReader(start))
        try visit(&reader, sps: sps)
    }

    // H.264 7.3.3
    mutating func visit(
        _ visitor: inout some SyntaxVisitor,
        sps: H264SequenceParameterSet
    ) throws(BitstreamError) {
        try header.visit(&visitor, types: 1...5)
        // Partitions B and C start with the number of their slice.
        try visitor.check("nal_unit_type", [3, 4].contains(header.nalUnitType.rawValue) ? 1 : 0, in: 0...0)
        try visitor.ue("first_mb_in_slice", &firstMbInSlice)
        try visitor.ue("slice_type", &sliceType, in: 0...9)
        try visitor.ue("pic_parameter_set_id", &picParameterSetId, in: 0...255)
        if sps.separateColourPlaneFlag {
            try visitor.u("colour_plane_id", bits: 2, &colourPlaneId, in: 0...2)
        }
        try visitor.u("frame_num", bits: Int(min(sps.log2MaxFrameNumMinus4, 12)) + 4, &frameNum)
        if !sps.frameMbsOnlyFlag {
            try visitor.flag("field_pic_flag", &fieldPicFlag)
            if fieldPicFlag { try visitor.flag("bottom_field_flag", &bottomFieldFlag) }
        }
        if header.isKeyFrame {
            var id = idrPicId ?? 0
            try visitor.ue("idr_pic_id", &id, in: 0...65535)
            idrPicId = id
        } else {
            try visitor.inferAbsent("idr_pic_id", &idrPicId)
        }
        if sps.picOrderCntType == 0 {
            var lsb = picOrderCntLsb ?? 0
            try visitor.u("pic_order_cnt_lsb", bits: Int(min(sps.log2MaxPicOrderCntLsbMinus4, 12)) + 4, &lsb)
            picOrderCntLsb = lsb
        } else {
            try visitor.inferAbsent("pic_order_cnt_lsb", &picOrderCntLsb)
        }
    }
}
