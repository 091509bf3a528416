// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// A reference picture as HEVC and VA-API name it.
public struct HEVCReferencePicture: Sendable, Hashable {
    /// ``InputPicture/number``.
    public var number: Int64
    /// PicOrderCntVal of it.
    public var pictureOrderCount: Int
    /// Whether it is a long-term reference of the current picture.
    public var isLongTerm: Bool
    /// Whether the current picture may refer to it; else it is kept for later ones.
    public var isUsed: Bool
}

/// What HEVC needs to know of one planned picture: the elements of its slice headers and of VA-API's parameters that
/// tell pictures apart.
public struct HEVCPictureNumbers: Sendable, Hashable {
    /// `nal_unit_type`.
    public var unitType: HEVCNALUnitHeader.UnitType
    /// TemporalId.
    public var temporalId: Int
    /// PicOrderCntVal: its place in presentation order since the last IDR picture.
    public var pictureOrderCount: Int
    /// `slice_pic_order_cnt_lsb`.
    public var pictureOrderCountLsb: Int
    /// The reference picture set: what is in the decoded picture buffer while the picture is coded, in coding order.
    /// Empty for an IDR picture. What is not in it is gone for good.
    public var references: [HEVCReferencePicture]
    /// RefPicList0 as it is used: its count is `num_ref_idx_l0_active_minus1` + 1. Empty for intra pictures.
    public var list0: [HEVCReferencePicture]
    /// RefPicList1 as it is used; empty for all but B slices.
    public var list1: [HEVCReferencePicture]
    /// The short-term part of the reference picture set, as slice headers code it; nil for an IDR picture.
    public var shortTermSet: HEVCShortTermReferencePictureSet?
    /// The long-term part of the reference picture set, as slice headers code it.
    public var longTermPictures: [HEVCSliceLongTermPicture]
    /// `list_entry_l0`; nil where list 0 is the initial one.
    public var list0Entries: [UInt32]?
    /// `list_entry_l1`; nil where list 1 is the initial one.
    public var list1Entries: [UInt32]?

    /// Whether its slices are B slices: those of B pictures, and of P pictures where drivers have no P slices.
    public var hasList1: Bool { !list1.isEmpty }
}
