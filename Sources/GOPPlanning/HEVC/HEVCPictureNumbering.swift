// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
public import MediaTypes

/// Numbers planned pictures as HEVC does: types of NAL units, order counts, reference picture sets and lists.
///
/// It takes the pictures of one ``GOPPlanner`` in the order in which that returned them, all of them.
///
/// - A recovery point is a CRA picture; what is shown before it and coded after it is a skipped leading picture (RASL),
///   since B-frames have references on both sides. Nothing is shown before an IDR picture and coded after it.
/// - Pictures above temporal layer 0, which are never references, are TSA pictures: layers can be entered at each.
/// - Reference picture sets are coded in slice headers as they are. A set of a parameter set would have to be chosen by
///   its index, which takes about the bits that one with few pictures has itself; and after losses and at the ends of
///   groups there are others than those that a parameter set could foresee.
public struct HEVCPictureNumbering: Sendable {
    /// log2 of MaxPicOrderCntLsb, for the sequence parameter set.
    public let log2MaxPictureOrderCountLsb: Int
    /// `sps_max_dec_pic_buffering_minus1`: how many pictures are kept beside the current one.
    public let maxKeptPictures: Int
    /// How many entries list 1 of P pictures has at most, which have B slices then; 0 for P slices.
    public let generalizedList1Limit: Int
    /// Whether lists may differ from their initial order (`lists_modification_present_flag`).
    public let modifiesLists: Bool

    /// A picture in the decoded picture buffer.
    private struct Kept {
        var number: Int64
        var pictureOrderCount: Int
        var isMarked: Bool
    }

    /// What is in the decoded picture buffer, in coding order.
    private var kept: [Kept] = []
    /// The number of the last recovery point since the last IDR picture.
    private var recoveryPoint: Int64?

    /// Makes a numbering for the pictures of a planner with this structure.
    ///
    /// - Parameters:
    ///   - structure: what the planner keeps to.
    ///   - generalizedList1Limit: for drivers without P slices, how many entries list 1 of P pictures has at most: the
    ///     first of list 0 once more, in B slices. 0 for P slices.
    ///   - log2MaxPictureOrderCountLsb: 4...16; `nil` for the least that tells the order counts apart.
    /// - Throws: `invalidArgument` if the structure's values do not fit together, or the width is too small for it or out
    ///   of range.
    public init(
        _ structure: GOPStructure,
        generalizedList1Limit: Int = 0,
        log2MaxPictureOrderCountLsb: Int? = nil
    ) throws(MediaError) {
        try structure.validate()
        // HEVC 8.3.1: half of MaxPicOrderCntLsb has to exceed every difference. Pictures that nothing refers to do not
        // count as the one before, so that two groups may lie between.
        let least = max(Self.bits(for: 2 * structure.maximumDisplayDistance + 1), 4)
        self.log2MaxPictureOrderCountLsb = log2MaxPictureOrderCountLsb ?? least
        try GOPStructure.check("log2 of MaxPicOrderCntLsb", self.log2MaxPictureOrderCountLsb, in: least...16)
        maxKeptPictures = structure.referenceCount
        self.generalizedList1Limit = generalizedList1Limit
        modifiesLists = structure.longTermReferences > 0
    }

    /// The least number of bits that has room for `count` values.
    private static func bits(for count: Int) -> Int { Int.bitWidth - (count - 1).leadingZeroBitCount }

    /// Numbers the next picture in coding order.
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

    /// What is kept while the picture is coded: what it refers to, and of the rest what is kept after it as well. What a
    /// picture drops is dropped before it is coded, unless it refers to that itself; what receivers lack is dropped with
    /// the first picture after the report, because a decoder looks for every picture of a set.
    ///
    /// A picture that is marked becomes a long-term reference with the first picture that is shown after it: until then
    /// it is a short-term one, since long-term references are named by what lies before the current picture.
    // HEVC 8.3.2: the set of a trailing picture has nothing from before its random access point.
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

    /// The latest first, since the upper bits of the order counts are coded as differences that cannot be negative. They
    /// are always coded: the lower ones may be those of any picture that a decoder still remembers.
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

    /// The places in the initial list of the pictures that are wanted; nil if the list begins with them.
    func entries(ofList list: Int, for wanted: [HEVCReferencePicture]) -> [UInt32]? {
        let initial = list == 0 ? list0 : list1
        if initial.starts(with: wanted) { return nil }
        return wanted.compactMap { picture in initial.firstIndex(of: picture).map { UInt32($0) } }
    }
}
