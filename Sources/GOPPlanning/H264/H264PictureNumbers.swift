// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// A reference picture as H.264 and VA-API name it.
public struct H264ReferencePicture: Sendable, Hashable {
    /// ``InputPicture/number``.
    public var number: Int64
    /// `frame_num` that it was coded with.
    public var frameNum: Int
    /// PicOrderCnt of it, for both fields.
    public var pictureOrderCount: Int
    /// LongTermFrameIdx; `nil` for a short-term reference.
    public var longTermFrameIndex: Int?
}

/// What H.264 needs to know of one planned picture: the elements of its slice headers and of VA-API's parameters that
/// tell pictures apart. All of it concerns frames; there are no fields.
public struct H264PictureNumbers: Sendable, Hashable {
    /// `frame_num`.
    public var frameNum: Int
    /// `idr_pic_id`, which differs between neighbouring IDR pictures; `nil` for other pictures.
    public var idrPicId: Int?
    /// PicOrderCnt of the picture, for both fields: twice its place in presentation order.
    public var pictureOrderCount: Int
    /// `pic_order_cnt_lsb`.
    public var pictureOrderCountLsb: Int
    /// `nal_ref_idc`: 0 for a picture that is no reference.
    public var nalRefIdc: Int
    /// The references in the decoded picture buffer while the picture is coded, in coding order: VA-API's
    /// `ReferenceFrames`. Empty for an IDR picture.
    public var references: [H264ReferencePicture]
    /// List 0 as it is used: its count is `num_ref_idx_l0_active_minus1` + 1.
    public var list0: [H264ReferencePicture]
    /// List 1 as it is used: its count is `num_ref_idx_l1_active_minus1` + 1.
    public var list1: [H264ReferencePicture]
    /// What makes list 0 of the initial list; `nil` if they are the same.
    public var list0Modification: [H264ReferenceListModification]?
    /// What makes list 1 of the initial list; `nil` if they are the same.
    public var list1Modification: [H264ReferenceListModification]?
    /// What becomes of the references afterwards; `nil` for a picture that is no reference.
    ///
    /// Of the operations there are 1, 2, 4 and 6. A picture becomes a long-term reference when it is coded or not at all
    /// (3), and what forgets everything is an IDR picture (5).
    public var marking: H264ReferenceMarking?
}
