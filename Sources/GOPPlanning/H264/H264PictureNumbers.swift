// SPDX-License-Identifier: GPL-2.0-or-later

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

/// A `memory_management_control_operation` of a frame: H.264 7.4.3.3. Those that are missing here are never needed: a
/// picture becomes a long-term reference when it is coded or not at all (3), and an IDR picture empties the buffer (5).
public enum H264MarkingCommand: Sendable, Hashable {
    /// Operation 1: a short-term reference is not used any more.
    case unmarkShortTerm(differenceOfPicNumsMinus1: Int)
    /// Operation 2: a long-term reference is not used any more.
    case unmarkLongTerm(longTermPicNum: Int)
    /// Operation 4: how many long-term indices there are.
    case setMaxLongTermFrameIndex(plus1: Int)
    /// Operation 6: the current picture becomes a long-term reference, in place of the one with that index.
    case markCurrentLongTerm(longTermFrameIndex: Int)

    /// The number of the operation.
    public var operation: Int {
        switch self {
        case .unmarkShortTerm: 1
        case .unmarkLongTerm: 2
        case .setMaxLongTermFrameIndex: 4
        case .markCurrentLongTerm: 6
        }
    }
}

/// `dec_ref_pic_marking` of a reference picture: H.264 7.3.3.3.
public enum H264ReferenceMarking: Sendable, Hashable {
    /// An IDR picture, with `long_term_reference_flag`; `no_output_of_prior_pics_flag` is 0.
    case idr(isLongTerm: Bool)
    /// `adaptive_ref_pic_marking_mode_flag` is 0.
    case slidingWindow
    /// `adaptive_ref_pic_marking_mode_flag` is 1, with these operations.
    case commands([H264MarkingCommand])
}

/// A command of `ref_pic_list_modification`: H.264 7.4.3.1.
public enum H264ListModification: Sendable, Hashable {
    /// `modification_of_pic_nums_idc` 0: the picture number falls by so much.
    case subtract(absDiffPicNumMinus1: Int)
    /// `modification_of_pic_nums_idc` 1: the picture number rises by so much.
    case add(absDiffPicNumMinus1: Int)
    /// `modification_of_pic_nums_idc` 2: a long-term reference.
    case longTerm(longTermPicNum: Int)

    /// `modification_of_pic_nums_idc`.
    public var idc: Int {
        switch self {
        case .subtract: 0
        case .add: 1
        case .longTerm: 2
        }
    }
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
    /// What makes list 0 of the initial list, without the end mark; empty if they are the same
    /// (`ref_pic_list_modification_flag_l0` is 0).
    public var list0Modifications: [H264ListModification]
    /// What makes list 1 of the initial list.
    public var list1Modifications: [H264ListModification]
    /// What becomes of the references afterwards; `nil` for a picture that is no reference.
    public var marking: H264ReferenceMarking?
}
