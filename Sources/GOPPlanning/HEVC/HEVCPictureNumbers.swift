// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// A reference picture with its identifiers in HEVC and VA-API.
public struct HEVCReferencePicture: Sendable, Hashable {
    /// ``InputPicture/number``.
    public var number: Int64
    /// Its PicOrderCntVal.
    public var pictureOrderCount: Int
    /// Whether it is a long-term reference of the current picture.
    public var isLongTerm: Bool
    /// Whether the current picture may refer to it; if not, it is kept for later pictures.
    public var isUsed: Bool
}

/// The numbers of one planned picture for HEVC: the elements of its slice headers and of VA-API's parameters that
/// identify pictures.
public struct HEVCPictureNumbers: Sendable, Hashable {
    /// `nal_unit_type`.
    public var unitType: HEVCNALUnitHeader.UnitType
    /// TemporalId.
    public var temporalId: Int
    /// PicOrderCntVal: its position in presentation order since the last IDR picture.
    public var pictureOrderCount: Int
    /// `slice_pic_order_cnt_lsb`.
    public var pictureOrderCountLsb: Int
    /// The reference picture set: the contents of the decoded picture buffer while the picture is coded, in coding
    /// order. Empty for an IDR picture. A picture that is not in it is no longer available.
    public var references: [HEVCReferencePicture]
    /// The active entries of RefPicList0, `num_ref_idx_l0_active_minus1` + 1 of them. Empty for intra pictures.
    public var list0: [HEVCReferencePicture]
    /// The active entries of RefPicList1; empty unless the slices are B slices.
    public var list1: [HEVCReferencePicture]
    /// The short-term part of the reference picture set, as coded in slice headers; nil for an IDR picture.
    public var shortTermSet: HEVCShortTermReferencePictureSet?
    /// The long-term part of the reference picture set, as coded in slice headers.
    public var longTermPictures: [HEVCSliceLongTermPicture]
    /// `list_entry_l0`; nil if list 0 is the initial one.
    public var list0Entries: [UInt32]?
    /// `list_entry_l1`; nil if list 1 is the initial one.
    public var list1Entries: [UInt32]?

    /// Whether its slices are B slices: those of B pictures, and those of P pictures if the driver has no P slices.
    public var hasList1: Bool { !list1.isEmpty }
}
