// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
public import MediaTypes

/// Assigns the numbers of H.264 to planned pictures: `frame_num`, picture order counts of type 0, `idr_pic_id`,
/// reference lists and marking.
///
/// It must receive all pictures of one ``GOPPlanner``, in the order in which the planner returned them.
public struct H264PictureNumbering: Sendable {
    /// The base-2 logarithm of MaxFrameNum, for the sequence parameter set.
    public let log2MaxFrameNum: Int
    /// The base-2 logarithm of MaxPicOrderCntLsb, for the sequence parameter set.
    public let log2MaxPictureOrderCountLsb: Int
    /// `max_num_ref_frames`, for the sequence parameter set.
    public let maxNumRefFrames: Int

    private let longTermReferences: Int
    /// The references, in coding order.
    private var references: [H264ReferencePicture] = []
    private var previousReferenceFrameNum = 0
    private var lastIDRPicId = 1
    /// The number of the last recovery point since the last IDR picture.
    private var recoveryPoint: Int64?
    /// The LongTermFrameIdx of each long-term index of the plan, since the last IDR picture. They differ because an IDR
    /// picture that becomes a long-term reference always has the index 0 (H.264 8.2.5.1).
    private var longTermFrameIndices: [Int: Int] = [:]
    /// Whether receivers were reported to lack a long-term reference, since the last IDR picture. They then have other
    /// short-term references than the plan, one more of them, and may not know the limit of long-term indices.
    private var lacksLongTerm = false
    /// MaxLongTermFrameIdx + 1; 0 for "no long-term frame indices".
    private var longTermFrameIndexLimit = 0

    /// Makes a numbering for the pictures of a planner with the given structure.
    ///
    /// - Parameters:
    ///   - structure: The structure of the planner.
    ///   - log2MaxFrameNum: 4...16; `nil` for the minimum that distinguishes the references.
    ///   - log2MaxPictureOrderCountLsb: 4...16; `nil` for the minimum that distinguishes the picture order counts.
    /// - Throws: `invalidArgument` if the structure's values are inconsistent, or a bit width is too small for it or
    ///   out of range.
    public init(
        _ structure: GOPStructure,
        log2MaxFrameNum: Int? = nil,
        log2MaxPictureOrderCountLsb: Int? = nil
    ) throws(MediaError) {
        try structure.validate()
        // The current picture and all short-term references must have different values of frame_num. A reference beyond
        // the age limit is dropped at the end of its group, in which every B-frame may be a reference.
        let span = structure.referenceAgeLimit + structure.consecutiveBFrames + 2
        let leastFrameNum = max(Self.bits(for: span), 4)
        // H.264 8.2.1.1: every difference must be less than half of MaxPicOrderCntLsb.
        let leastOrderCount = max(Self.bits(for: 2 * 2 * structure.maximumDisplayDistance + 1), 4)
        self.log2MaxFrameNum = log2MaxFrameNum ?? leastFrameNum
        self.log2MaxPictureOrderCountLsb = log2MaxPictureOrderCountLsb ?? leastOrderCount
        try GOPStructure.check("log2 of MaxFrameNum", self.log2MaxFrameNum, in: leastFrameNum...16)
        try GOPStructure.check(
            "log2 of MaxPicOrderCntLsb",
            self.log2MaxPictureOrderCountLsb,
            in: leastOrderCount...16
        )
        maxNumRefFrames = structure.referenceCount
        longTermReferences = structure.longTermReferences
    }

    /// Returns the minimum number of bits for `count` different values.
    private static func bits(for count: Int) -> Int { Int.bitWidth - (count - 1).leadingZeroBitCount }

    /// Assigns the numbers of the next picture in coding order.
    public mutating func number(_ picture: PlannedPicture) -> H264PictureNumbers {
        let isIDR = picture.kind == .idr
        if isIDR {
            references = []
            recoveryPoint = nil
            lacksLongTerm = false
            lastIDRPicId = 1 - lastIDRPicId
        }
        lacksLongTerm =
            lacksLongTerm
            || references.contains { $0.longTermFrameIndex != nil && picture.abandoned.contains($0.number) }
        // H.264 7.4.3, frame_num
        let frameNum = isIDR ? 0 : (previousReferenceFrameNum + 1) & (1 << log2MaxFrameNum - 1)
        let orderCount = Int(2 &* picture.displayOrder)
        let lists = H264ReferenceLists(
            references: references,
            recoveryPoint: recoveryPoint.flatMap { picture.number > $0 ? $0 : nil },
            frameNum: frameNum,
            pictureOrderCount: orderCount,
            maxFrameNum: 1 << log2MaxFrameNum,
            isExplicit: lacksLongTerm
        )
        let list0 = picture.list0.compactMap { find($0.number) }
        let list1 = picture.list1.compactMap { find($0.number) }
        var numbers = H264PictureNumbers(
            frameNum: frameNum,
            idrPicId: isIDR ? lastIDRPicId : nil,
            pictureOrderCount: orderCount,
            pictureOrderCountLsb: orderCount & (1 << log2MaxPictureOrderCountLsb - 1),
            nalRefIdc: Self.nalRefIdc(picture),
            references: references,
            list0: list0,
            list1: list1,
            list0Modification: lists.modification(ofList: 0, isB: picture.kind == .b, to: list0),
            list1Modification: lists.modification(ofList: 1, isB: picture.kind == .b, to: list1),
            marking: nil
        )
        if picture.isReference {
            numbers.marking = mark(picture, frameNum: frameNum)
            keep(picture, frameNum: frameNum, pictureOrderCount: orderCount)
        }
        if picture.kind == .recoveryPoint { recoveryPoint = picture.number }
        return numbers
    }

    private func find(_ number: Int64) -> H264ReferencePicture? { references.first { $0.number == number } }

    /// The importance of a picture for others; the standard defines only the meaning of 0.
    private static func nalRefIdc(_ picture: PlannedPicture) -> Int {
        switch picture.kind {
        case _ where !picture.isReference: 0
        case .idr, .recoveryPoint: 3
        case .p: 2
        case .b: 1
        }
    }

    // MARK: - Marking

    // H.264 8.2.5
    private mutating func mark(_ picture: PlannedPicture, frameNum: Int) -> H264ReferenceMarking {
        if picture.kind == .idr {
            longTermFrameIndices = picture.longTermIndex.map { [$0: 0] } ?? [:]
            longTermFrameIndexLimit = longTermFrameIndices.count
            return .idr(longTermReferenceFlag: picture.longTermIndex != nil)
        }
        let dropped = references.filter { reference in picture.dropped.contains { $0.number == reference.number } }
        let endsLongTerm = picture.kind == .recoveryPoint && longTermFrameIndexLimit > 0
        if picture.longTermIndex == nil && !endsLongTerm && dropped == slidingWindowVictims() { return .slidingWindow }
        let shortTerm = dropped.filter { $0.longTermFrameIndex == nil }
        return .adaptive(shortTerm.map { forget($0, frameNum) } + longTermOperations(picture, endsLongTerm, dropped))
    }

    /// Returns the marking operations on long-term references.
    ///
    /// At a recovery point they refer to no picture, because a decoder that starts there has none.
    private mutating func longTermOperations(
        _ picture: PlannedPicture,
        _ endsLongTerm: Bool,
        _ dropped: [H264ReferencePicture]
    ) -> [H264ReferenceMarking.Operation] {
        if endsLongTerm {
            longTermFrameIndices = picture.longTermIndex.map { [$0: 0] } ?? [:]
            longTermFrameIndexLimit = longTermFrameIndices.count
            let limit = H264ReferenceMarking.Operation.limitLongTerm(
                maxLongTermFrameIdxPlus1: UInt32(longTermFrameIndexLimit)
            )
            return [limit] + longTermFrameIndices.values.map { .makeCurrentLongTerm(longTermFrameIdx: UInt32($0)) }
        }
        let current = picture.longTermIndex.map { frameIndex(of: $0) }
        var operations = dropped.compactMap(\.longTermFrameIndex).filter { $0 != current }.map { index in
            H264ReferenceMarking.Operation.forgetLongTerm(longTermPicNum: UInt32(index))
        }
        guard let current else { return operations }
        if current >= longTermFrameIndexLimit || lacksLongTerm {
            longTermFrameIndexLimit = longTermReferences
            operations.append(.limitLongTerm(maxLongTermFrameIdxPlus1: UInt32(longTermFrameIndexLimit)))
        }
        return operations + [.makeCurrentLongTerm(longTermFrameIdx: UInt32(current))]
    }

    // H.264 8.2.5.3
    private func slidingWindowVictims() -> [H264ReferencePicture] {
        guard references.count >= maxNumRefFrames else { return [] }
        // Frame numbers increase in coding order.
        return references.first { $0.longTermFrameIndex == nil }.map { [$0] } ?? []
    }

    // H.264 8.2.5.4.1
    private func forget(_ reference: H264ReferencePicture, _ frameNum: Int) -> H264ReferenceMarking.Operation {
        let difference = (frameNum - reference.frameNum) & (1 << log2MaxFrameNum - 1)
        return .forgetShortTerm(differenceOfPicNumsMinus1: UInt32(clamping: difference - 1))
    }

    private mutating func frameIndex(of longTermIndex: Int) -> Int {
        if let known = longTermFrameIndices[longTermIndex] { return known }
        let free = (0...longTermReferences).first { !longTermFrameIndices.values.contains($0) } ?? 0
        longTermFrameIndices[longTermIndex] = free
        return free
    }

    private mutating func keep(_ picture: PlannedPicture, frameNum: Int, pictureOrderCount: Int) {
        previousReferenceFrameNum = frameNum
        references.removeAll { reference in picture.dropped.contains { $0.number == reference.number } }
        references.append(
            H264ReferencePicture(
                number: picture.number,
                frameNum: frameNum,
                pictureOrderCount: pictureOrderCount,
                longTermFrameIndex: picture.longTermIndex.flatMap { longTermFrameIndices[$0] }
            )
        )
    }
}
