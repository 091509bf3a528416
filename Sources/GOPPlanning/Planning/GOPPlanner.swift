// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Determines the coding order of pictures, their kinds, their references, and the references that are kept.
///
/// It is a value type that is independent of the codec. Every plan has these properties:
/// - A forced key frame is an IDR picture. Pictures that are shown before an IDR picture are coded before it, and no
///   picture refers across it.
/// - Decoding can start at a recovery point: no picture that is shown after it refers to a picture that was coded
///   before it.
/// - Every B-frame has references on both sides. Groups are shortened at key frames, at marked pictures and at the end;
///   the last picture of a shortened group is a P-frame.
/// - Pictures are planned as soon as the known pictures determine their plan.
/// - At most ``GOPStructure/reorderDepth`` pictures are coded before a picture and shown after it, and at most
///   ``GOPStructure/referenceCount`` are kept.
/// - Pictures above temporal layer 0 are never references.
/// - Long-term references are kept until their index is assigned to another picture, or until an IDR picture or a
///   recovery point, across which no picture may refer to them.
/// - After a loss report, no picture refers to a picture that the receiver lacks, or that depends on one. If no
///   reference remains, the next picture is an IDR picture.
public struct GOPPlanner: Sendable {
    /// The structure of the plan.
    public let structure: GOPStructure

    /// A picture that was added, with the number of pictures added before it.
    struct Picture {
        var input: InputPicture
        var position: Int64
        var number: Int64 { input.number }
    }

    /// After this number of pictures without an IDR picture, one is inserted, so that picture order counts, which are
    /// twice that, fit 32 bits.
    static let longestSequence: Int64 = 1 << 29

    var store: ReferenceStore
    var losses = LossTracker()
    /// The numbers of the references that receivers were reported to lack.
    var abandoned: Set<Int64> = []
    /// The number of the last recovery point since the last IDR picture: pictures that are shown after it do not refer
    /// to pictures that are shown before it.
    var recoveryPoint: Int64?
    /// The positions of the last IDR picture and of the last key frame of either kind.
    var idrPosition: Int64 = 0
    var keyPosition: Int64 = 0
    /// The number of the last IDR picture.
    private(set) var idrNumber: Int64 = 0
    var nextCodingOrder: Int64 = 0
    /// The position of the next P-frame in the pattern of temporal layers.
    var layerPlace = 0
    var refreshPosition = 0
    /// The reference that was planned last.
    var lastReference: Int64?

    private var nextPosition: Int64 = 0
    private var lastNumber: Int64?
    private var isAtStart = true
    /// The pictures that wait for the picture after the B-frames.
    private var pending: [Picture] = []
    private let longestSequence: Int64

    /// Makes a planner whose first picture will be an IDR picture.
    ///
    /// - Throws: `invalidArgument` if the structure's values are inconsistent: ``GOPStructure/validate()``.
    public init(_ structure: GOPStructure) throws(MediaError) {
        try self.init(structure, longestSequence: Self.longestSequence)
    }

    init(_ structure: GOPStructure, longestSequence: Int64) throws(MediaError) {
        try structure.validate()
        self.structure = structure
        self.longestSequence = longestSequence
        store = ReferenceStore(capacity: structure.referenceCount, ageLimit: structure.referenceAgeLimit)
    }

    /// Adds the next picture in presentation order.
    ///
    /// - Returns: The pictures that can be coded now, in coding order.
    /// - Throws: `invalidArgument` if the number does not increase or the long-term index is too high; the state does
    ///   not change.
    public mutating func add(_ input: InputPicture) throws(MediaError) -> [PlannedPicture] {
        try check(input)
        let picture = Picture(input: input, position: nextPosition)
        nextPosition += 1
        lastNumber = input.number
        if isIDR(picture) {
            var planned = planPending()
            planned.append(planIDR(picture))
            return planned
        }
        pending.append(picture)
        var planned = planIDRIfNothingIsLeft()
        guard let last = pending.last else { return planned }
        if isKeyFrameDue(last) {
            planned += planPending(lastIs: .recoveryPoint)
        } else if pending.count > structure.consecutiveBFrames || last.input.longTermIndex != nil
            || isLastBeforeKeyFrame(last)
        {
            planned += planPending()
        }
        return planned
    }

    /// Plans the waiting pictures as a complete group, so that a following change affects none of them. The sequence
    /// continues with the next picture.
    ///
    /// - Returns: The pictures that waited, in coding order.
    public mutating func endGroup() -> [PlannedPicture] { planPending() }

    /// Plans the remaining pictures. A picture that is added afterwards is an IDR picture.
    ///
    /// - Returns: The remaining pictures, in coding order.
    public mutating func finish() -> [PlannedPicture] {
        let planned = planPending()
        isAtStart = true
        return planned
    }

    /// Registers that a receiver lacks pictures: no picture that is planned from now on refers to them or to pictures
    /// that depend on them. This affects pictures that were planned and not acknowledged; they remain
    /// ``PlannedPicture/abandoned`` permanently, because a codec may drop them at once. Otherwise they stay in the
    /// decoded picture buffer until their space is needed, because a receiver cannot execute commands on pictures that
    /// it lacks.
    public mutating func invalidate(_ numbers: ClosedRange<Int64>) {
        // No picture depends on pictures before the last IDR picture, which has the lowest number since then.
        guard numbers.upperBound >= idrNumber else { return }
        losses.lose(max(numbers.lowerBound, idrNumber)...numbers.upperBound)
        abandoned.formUnion(store.references.map(\.number).filter { !losses.isUsable($0) })
    }

    /// Registers that a receiver lacks this picture and all later ones that were planned and not acknowledged.
    public mutating func invalidate(from number: Int64) { invalidate(number...Int64.max) }

    /// Registers that a receiver has decoded a picture, and thus all pictures on which it depends.
    public mutating func acknowledge(_ number: Int64) { losses.acknowledge(number) }

    // MARK: - Requirements of a picture

    private func check(_ input: InputPicture) throws(MediaError) {
        if let lastNumber, input.number <= lastNumber {
            throw MediaError(
                .invalidArgument,
                "picture numbers must increase",
                given: "\(input.number)",
                allowed: "above \(lastNumber)"
            )
        }
        guard let index = input.longTermIndex else { return }
        guard (0..<structure.longTermReferences).contains(index) else {
            throw MediaError(
                .invalidArgument,
                "index of a long-term reference is out of range",
                given: "\(index)",
                allowed: "0..<\(structure.longTermReferences)"
            )
        }
    }

    private func isIDR(_ picture: Picture) -> Bool {
        if picture.input.forceKeyFrame || isAtStart { return true }
        if picture.position - idrPosition >= longestSequence { return true }
        if case .closed = structure.randomAccess { return isKeyFrameDue(picture) }
        return false
    }

    private func isKeyFrameDue(_ picture: Picture) -> Bool {
        switch structure.randomAccess {
        case .intraRefresh:
            return false
        case .closed(let interval), .open(let interval):
            let distance = picture.position - keyPosition
            return picture.input.isKeyFrameDue || interval.map { distance >= Int64($0) } ?? false
        }
    }

    /// Returns whether the next picture will be an IDR picture, so that waiting for it is pointless.
    private func isLastBeforeKeyFrame(_ picture: Picture) -> Bool {
        guard case .closed(let interval?) = structure.randomAccess else { return false }
        return picture.position - keyPosition >= Int64(interval) - 1
    }

    // MARK: - Groups

    /// Plans the waiting pictures as one group whose last picture has the given kind.
    private mutating func planPending(lastIs kind: PlannedPicture.Kind = .p) -> [PlannedPicture] {
        var planned = planIDRIfNothingIsLeft()
        guard let last = pending.popLast() else { return planned }
        if isFoundationEnded(by: last, kind) { planned += planPending() }
        planned += planGroup(between: pending, last, kind)
        pending = []
        return planned
    }

    /// Returns whether the earliest waiting B-frame would refer to a reference that is dropped for this picture: a
    /// long-term one, or the short-term one that is dropped with a long-term one that receivers lack. The B-frames then
    /// have to be coded before this picture.
    private func isFoundationEnded(by last: Picture, _ kind: PlannedPicture.Kind) -> Bool {
        let endsAbandoned = store.references.contains { reference in
            guard let index = reference.longTermIndex, abandoned.contains(reference.number) else { return false }
            return kind == .recoveryPoint || index == last.input.longTermIndex
        }
        if endsAbandoned && !pending.isEmpty { return true }
        guard let first = pending.first, let index = past(of: first.number).first?.longTermIndex else { return false }
        return kind == .recoveryPoint || index == last.input.longTermIndex
    }

    /// Makes the first waiting picture an IDR picture if no reference is available.
    private mutating func planIDRIfNothingIsLeft() -> [PlannedPicture] {
        guard let first = pending.first, candidates(for: first.number).isEmpty else { return [] }
        return [planIDR(pending.removeFirst())]
    }

    private mutating func planIDR(_ picture: Picture) -> PlannedPicture {
        isAtStart = false
        idrNumber = picture.number
        idrPosition = picture.position
        keyPosition = picture.position
        recoveryPoint = nil
        layerPlace = 1
        refreshPosition = 0
        losses.restart()
        let reference = PictureReference(number: picture.number, longTermIndex: picture.input.longTermIndex)
        return emit(picture, .idr, dropped: store.restart(with: reference))
    }
}
