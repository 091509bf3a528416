// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// A reference picture with its identifiers in H.264 and VA-API.
public struct H264ReferencePicture: Sendable, Hashable {
    /// ``InputPicture/number``.
    public var number: Int64
    /// The `frame_num` of its slices.
    public var frameNum: Int
    /// Its PicOrderCnt, for both fields.
    public var pictureOrderCount: Int
    /// Its LongTermFrameIdx; `nil` for a short-term reference.
    public var longTermFrameIndex: Int?
}

/// The numbers of one planned picture for H.264: the elements of its slice headers and of VA-API's parameters that
/// identify pictures. They describe frames; fields are not used.
public struct H264PictureNumbers: Sendable, Hashable {
    /// `frame_num`.
    public var frameNum: Int
    /// `idr_pic_id`, which differs between successive IDR pictures; `nil` for other pictures.
    public var idrPicId: Int?
    /// The PicOrderCnt of the picture, for both fields: twice its position in presentation order.
    public var pictureOrderCount: Int
    /// `pic_order_cnt_lsb`.
    public var pictureOrderCountLsb: Int
    /// `nal_ref_idc`: 0 for a non-reference picture.
    public var nalRefIdc: Int
    /// The references in the decoded picture buffer while the picture is coded, in coding order: VA-API's
    /// `ReferenceFrames`. Empty for an IDR picture.
    public var references: [H264ReferencePicture]
    /// The active entries of list 0, `num_ref_idx_l0_active_minus1` + 1 of them.
    public var list0: [H264ReferencePicture]
    /// The active entries of list 1, `num_ref_idx_l1_active_minus1` + 1 of them.
    public var list1: [H264ReferencePicture]
    /// The modification of the initial list 0; `nil` if list 0 is the initial one.
    public var list0Modification: [H264ReferenceListModification]?
    /// The modification of the initial list 1; `nil` if list 1 is the initial one.
    public var list1Modification: [H264ReferenceListModification]?
    /// The marking of the references after the picture; `nil` for a non-reference picture.
    ///
    /// Only the operations 1, 2, 4 and 6 are used. A picture becomes a long-term reference when it is coded or never
    /// (no 3), and an IDR picture removes all references (no 5).
    public var marking: H264ReferenceMarking?
}
