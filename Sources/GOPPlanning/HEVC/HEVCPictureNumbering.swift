// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
public import MediaTypes

/// Assigns the numbers of HEVC to planned pictures: NAL unit types, picture order counts, reference picture sets and
/// lists.
///
/// It must receive all pictures of one ``GOPPlanner``, in the order in which the planner returned them.
///
/// - A recovery point is a CRA picture. Pictures that are shown before it and coded after it are skipped leading
///   pictures (RASL), because B-frames have references on both sides. No picture is shown before an IDR picture and
///   coded after it.
/// - Pictures above temporal layer 0, which are never references, are TSA pictures: a decoder can switch up at each of
///   them.
/// - Reference picture sets are coded explicitly in slice headers. A set of a parameter set would be selected by an
///   index that takes about as many bits as an explicit set with few pictures; and after losses and at the ends of
///   groups, sets occur that a parameter set could not foresee.
public struct HEVCPictureNumbering: Sendable {
    /// The base-2 logarithm of MaxPicOrderCntLsb, for the sequence parameter set.
    public let log2MaxPictureOrderCountLsb: Int
    /// `sps_max_dec_pic_buffering_minus1`: the maximum number of pictures that are kept besides the current one.
    public let maxKeptPictures: Int
    /// The maximum number of entries in list 1 of P pictures, whose slices are then B slices; 0 for P slices.
    public let generalizedList1Limit: Int
    /// Whether lists may differ from their initial order (`lists_modification_present_flag`).
    public let modifiesLists: Bool

    /// A picture in the decoded picture buffer.
    private struct Kept {
        var number: Int64
        var pictureOrderCount: Int
        var isMarked: Bool
    }

    /// The contents of the decoded picture buffer, in coding order.
    private var kept: [Kept] = []
    /// The number of the last recovery point since the last IDR picture.
    private var recoveryPoint: Int64?

    /// Makes a numbering for the pictures of a planner with the given structure.
    ///
    /// - Parameters:
    ///   - structure: The structure of the planner.
    ///   - generalizedList1Limit: For drivers without P slices, the maximum number of entries in list 1 of P pictures:
    ///     it repeats the first entries of list 0, in B slices. 0 for P slices.
    ///   - log2MaxPictureOrderCountLsb: 4...16; `nil` for the minimum that distinguishes the picture order counts.
    /// - Throws: `invalidArgument` if the structure's values are inconsistent, or the bit width is too small for it or
    ///   out of range.
    public init(
        _ structure: GOPStructure,
        generalizedList1Limit: Int = 0,
        log2MaxPictureOrderCountLsb: Int? = nil
    ) throws(MediaError) {
        try structure.validate()
        // HEVC 8.3.1: every difference must be less than half of MaxPicOrderCntLsb. Non-reference pictures do not count
        // as the previous picture, so that two groups may lie between.
        let least = max(Self.bits(for: 2 * structure.maximumDisplayDistance + 1), 4)
        self.log2MaxPictureOrderCountLsb = log2MaxPictureOrderCountLsb ?? least
        try GOPStructure.check("log2 of MaxPicOrderCntLsb", self.log2MaxPictureOrderCountLsb, in: least...16)
        maxKeptPictures = structure.referenceCount
        self.generalizedList1Limit = generalizedList1Limit
        modifiesLists = structure.longTermReferences > 0
    }

    /// Returns the minimum number of bits for `count` different values.
    private static func bits(for count: Int) -> Int { Int.bitWidth - (count - 1).leadingZeroBitCount }

    /// Assigns the numbers of the next picture in coding order.
    public mutating func number(_ picture: PlannedPicture) -> HEVCPictureNumbers {
        if picture.kind == .idr {
            kept = []
            recoveryPoint = nil
        }
        let orderCount = Int(picture.displayOrder)
        let references = referenceSet(of: picture, orderCount)
        func find(_ reference: PictureReference) -> HEVCReferencePicture? {
            references.first { $0.number == reference.number }
        }
        let list0 = picture.list0.compactMap(find)
        let list1 = picture.kind == .p ? Array(list0.prefix(generalizedList1Limit)) : picture.list1.compactMap(find)
        let initial = InitialLists(references, pictureOrderCount: orderCount)
        let numbers = HEVCPictureNumbers(
            unitType: unitType(of: picture),
            temporalId: picture.temporalLayer,
            pictureOrderCount: orderCount,
            pictureOrderCountLsb: orderCount & (1 << log2MaxPictureOrderCountLsb - 1),
            references: references,
            list0: list0,
            list1: list1,
            shortTermSet: picture.kind == .idr ? nil : shortTermSet(references, orderCount),
            longTermPictures: longTermPictures(references, orderCount),
            list0Entries: initial.entries(ofList: 0, for: list0),
            list1Entries: initial.entries(ofList: 1, for: list1)
        )
        if picture.isReference {
            kept.removeAll { old in picture.dropped.contains { $0.number == old.number } }
            kept.append(
                Kept(
                    number: picture.number,
                    pictureOrderCount: orderCount,
                    isMarked: picture.longTermIndex != nil
                )
            )
        }
        if picture.kind == .recoveryPoint { recoveryPoint = picture.number }
        return numbers
    }

    // HEVC table 7-1
    private func unitType(of picture: PlannedPicture) -> HEVCNALUnitHeader.UnitType {
        switch picture.kind {
        case .idr: return .idrWithoutLeadingPictures
        case .recoveryPoint: return .cleanRandomAccess
        case .p, .b: break
        }
        if let recoveryPoint, picture.number < recoveryPoint {
            return picture.isReference ? .skippedLeadingReference : .skippedLeading
        }
        if picture.temporalLayer > 0 {
            return picture.isReference ? .temporalSubLayerAccessReference : .temporalSubLayerAccess
        }
        return picture.isReference ? .trailingReference : .trailing
    }

    // MARK: - Reference picture sets

    /// Returns the pictures that are kept while the picture is coded: its references, and those of the other pictures
    /// that are kept after it as well. References that a picture drops are dropped before it is coded, unless it refers
    /// to them; those that receivers lack are dropped with the first picture after the report, because a decoder
    /// searches for every picture of a set.
    ///
    /// A marked picture becomes a long-term reference with the first picture that is shown after it. Until then it is a
    /// short-term one, because long-term references are identified as pictures before the current one.
    // HEVC 8.3.2: the set of a trailing picture contains no picture from before its random access point.
    private mutating func referenceSet(of picture: PlannedPicture, _ orderCount: Int) -> [HEVCReferencePicture] {
        let used = Set((picture.list0 + picture.list1).map(\.number))
        let dropped = Set(picture.dropped.map(\.number)).union(picture.abandoned)
        let barrier = recoveryPoint.flatMap { picture.number > $0 ? $0 : nil } ?? .min
        kept.removeAll { old in
            old.number < barrier || dropped.contains(old.number) && !used.contains(old.number)
        }
        return kept.map { old in
            HEVCReferencePicture(
                number: old.number,
                pictureOrderCount: old.pictureOrderCount,
                isLongTerm: old.isMarked && old.pictureOrderCount < orderCount,
                isUsed: used.contains(old.number)
            )
        }
    }

    // HEVC 7.4.8
    private func shortTermSet(
        _ references: [HEVCReferencePicture],
        _ orderCount: Int
    ) -> HEVCShortTermReferencePictureSet {
        let shortTerm = references.filter { !$0.isLongTerm }
        func pictures(_ references: [HEVCReferencePicture]) -> [HEVCShortTermReferencePictureSet.Picture] {
            var last = orderCount
            return references.map { reference in
                defer { last = reference.pictureOrderCount }
                return HEVCShortTermReferencePictureSet.Picture(
                    deltaPocMinus1: UInt32(clamping: abs(reference.pictureOrderCount - last) - 1),
                    usedByCurrPicFlag: reference.isUsed
                )
            }
        }
        let before = shortTerm.filter { $0.pictureOrderCount < orderCount }
            .sorted { $0.pictureOrderCount > $1.pictureOrderCount }
        let after = shortTerm.filter { $0.pictureOrderCount > orderCount }
            .sorted { $0.pictureOrderCount < $1.pictureOrderCount }
        return HEVCShortTermReferencePictureSet(
            coding: .explicit(negative: pictures(before), positive: pictures(after))
        )
    }

    /// Returns the long-term pictures, the latest first, because the upper bits of the picture order counts are coded
    /// as non-negative differences. They are always coded: the lower bits may equal those of any picture that a decoder
    /// still stores.
    // HEVC 7.4.7.1
    private func longTermPictures(
        _ references: [HEVCReferencePicture],
        _ orderCount: Int
    ) -> [HEVCSliceLongTermPicture] {
        let size = 1 << log2MaxPictureOrderCountLsb
        var last = 0
        return Self.longTerm(references).map { reference in
            let cycle = (orderCount & ~(size - 1) - reference.pictureOrderCount & ~(size - 1)) / size
            defer { last = cycle }
            return HEVCSliceLongTermPicture(
                pocLsbLt: UInt32(clamping: reference.pictureOrderCount & (size - 1)),
                usedByCurrPicLtFlag: reference.isUsed,
                deltaPocMsbCycleLt: UInt32(clamping: cycle - last)
            )
        }
    }

    fileprivate static func longTerm(_ references: [HEVCReferencePicture]) -> [HEVCReferencePicture] {
        references.filter(\.isLongTerm).sorted { $0.pictureOrderCount > $1.pictureOrderCount }
    }
}

/// RefPicListTemp0 and RefPicListTemp1 of one picture.
private struct InitialLists {
    private let list0: [HEVCReferencePicture]
    private let list1: [HEVCReferencePicture]

    // HEVC 8.3.4
    init(_ references: [HEVCReferencePicture], pictureOrderCount: Int) {
        let shortTerm = references.filter { $0.isUsed && !$0.isLongTerm }
        let before = shortTerm.filter { $0.pictureOrderCount < pictureOrderCount }
            .sorted { $0.pictureOrderCount > $1.pictureOrderCount }
        let after = shortTerm.filter { $0.pictureOrderCount > pictureOrderCount }
            .sorted { $0.pictureOrderCount < $1.pictureOrderCount }
        let longTerm = HEVCPictureNumbering.longTerm(references).filter(\.isUsed)
        list0 = before + after + longTerm
        list1 = after + before + longTerm
    }

    /// Returns the positions of the wanted pictures in the initial list; nil if the list begins with them.
    func entries(ofList list: Int, for wanted: [HEVCReferencePicture]) -> [UInt32]? {
        let initial = list == 0 ? list0 : list1
        if initial.starts(with: wanted) { return nil }
        return wanted.compactMap { picture in initial.firstIndex(of: picture).map { UInt32($0) } }
    }
}
