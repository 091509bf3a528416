// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Decides in which order pictures are coded, of which kind they are, what they refer to and what is kept for others.
///
/// A pure value that knows no codec. Every plan keeps these promises:
/// - A forced key frame is an IDR picture. What is shown before an IDR picture is coded before it, and nothing refers
///   across it.
/// - At a recovery point decoding can begin: nothing that is shown after it refers to what was coded before it.
/// - Every B-frame has references on both sides. Groups are shortened at key frames, at marked pictures and at the end;
///   the last picture of a group is a P-frame then.
/// - Pictures are planned as soon as what is known allows it.
/// - At most ``GOPStructure/reorderDepth`` pictures are coded before a picture and shown after it, and at most
///   ``GOPStructure/referenceCount`` are kept.
/// - Pictures above temporal layer 0 are never references.
/// - Long-term references are kept until their index is given to another picture, or until an IDR picture or a recovery
///   point, across which nothing could refer to them.
/// - After a report of loss nothing refers to a picture that the receiver lacks, or that depends on one. If no reference
///   is left, the next picture is an IDR picture.
public struct GOPPlanner: Sendable {
    /// What the plan keeps to.
    public let structure: GOPStructure

    /// A picture that was added, and how many were added before it.
    struct Picture {
        var input: InputPicture
        var position: Int64
        var number: Int64 { input.number }
    }

    /// After so many pictures without one there is an IDR picture, so that order counts, twice that, stay within 32
    /// bits.
    static let longestSequence: Int64 = 1 << 29

    var store: ReferenceStore
    var losses = LossTracker()
    /// Numbers of the references that receivers were reported to lack.
    var abandoned: Set<Int64> = []
    /// The number of the last recovery point since the last IDR picture: what is shown after it refers to nothing that
    /// is shown before it.
    var recoveryPoint: Int64?
    /// Positions of the last IDR picture and the last key frame of either kind.
    var idrPosition: Int64 = 0
    var keyPosition: Int64 = 0
    /// The number of the last IDR picture.
    private(set) var idrNumber: Int64 = 0
    var nextCodingOrder: Int64 = 0
    /// The place of the next P-frame in the pattern of temporal layers.
    var layerPlace = 0
    var refreshPosition = 0
    /// The reference that was planned last.
    var lastReference: Int64?

    private var nextPosition: Int64 = 0
    private var lastNumber: Int64?
    private var isAtStart = true
    /// Pictures that wait for the one that follows the B-frames.
    private var pending: [Picture] = []
    private let longestSequence: Int64

    /// Makes a planner whose first picture will be an IDR picture.
    ///
    /// - Throws: `invalidArgument` if the structure's values do not fit together: ``GOPStructure/validate()``.
    public init(_ structure: GOPStructure) throws(MediaError) {
        try self.init(structure, longestSequence: Self.longestSequence)
    }

    init(_ structure: GOPStructure, longestSequence: Int64) throws(MediaError) {
        try structure.validate()
        self.structure = structure
        self.longestSequence = longestSequence
        store = ReferenceStore(capacity: structure.referenceCount, ageLimit: structure.referenceAgeLimit)
    }

    /// Adds the picture that is shown next.
    ///
    /// - Returns: the pictures that can be coded now, in coding order.
    /// - Throws: `invalidArgument` if the number does not rise or the long-term index is too high; nothing has changed.
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

    /// Plans the pictures that wait as a group that is complete: what changes now concerns none of them. The sequence goes
    /// on with the next picture.
    ///
    /// - Returns: the pictures that waited, in coding order.
    public mutating func endGroup() -> [PlannedPicture] { planPending() }

    /// Plans what is left. A picture that is added afterwards is an IDR picture.
    ///
    /// - Returns: the remaining pictures, in coding order.
    public mutating func finish() -> [PlannedPicture] {
        let planned = planPending()
        isAtStart = true
        return planned
    }

    /// Takes note that a receiver lacks pictures: no picture that is planned from now on refers to them or to what
    /// depends on them. It concerns pictures that were planned and not acknowledged; they are ``PlannedPicture/abandoned``
    /// for good, for a codec may drop them at once. Else they stay in the decoded picture buffer until there is no room for
    /// them, because a receiver cannot carry out commands on pictures that it lacks.
    public mutating func invalidate(_ numbers: ClosedRange<Int64>) {
        // Nothing depends on what was coded before the last IDR picture, which has the lowest number since then.
        guard numbers.upperBound >= idrNumber else { return }
        losses.lose(max(numbers.lowerBound, idrNumber)...numbers.upperBound)
        abandoned.formUnion(store.references.map(\.number).filter { !losses.isUsable($0) })
    }

    /// Takes note that a receiver lacks this picture and all later ones that were planned and not acknowledged.
    public mutating func invalidate(from number: Int64) { invalidate(number...Int64.max) }

    /// Takes note that a receiver has decoded a picture, and so all that it depends on.
    public mutating func acknowledge(_ number: Int64) { losses.acknowledge(number) }

    // MARK: - What a picture has to be

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

    /// Whether the next picture will be an IDR picture, so that there is nothing to wait for.
    private func isLastBeforeKeyFrame(_ picture: Picture) -> Bool {
        guard case .closed(let interval?) = structure.randomAccess else { return false }
        return picture.position - keyPosition >= Int64(interval) - 1
    }

    // MARK: - Groups

    /// Plans the pictures that wait as one group; the last one of them becomes of this kind.
    private mutating func planPending(lastIs kind: PlannedPicture.Kind = .p) -> [PlannedPicture] {
        var planned = planIDRIfNothingIsLeft()
        guard let last = pending.popLast() else { return planned }
        if isFoundationEnded(by: last, kind) { planned += planPending() }
        planned += planGroup(between: pending, last, kind)
        pending = []
        return planned
    }

    /// Whether the earliest B-frame that waits would refer to a reference that is given up for this picture: a long-term
    /// one, or the short-term one that goes with a long-term one that receivers lack. The B-frames have to be coded before
    /// it then.
    private func isFoundationEnded(by last: Picture, _ kind: PlannedPicture.Kind) -> Bool {
        let endsAbandoned = store.references.contains { reference in
            guard let index = reference.longTermIndex, abandoned.contains(reference.number) else { return false }
            return kind == .recoveryPoint || index == last.input.longTermIndex
        }
        if endsAbandoned && !pending.isEmpty { return true }
        guard let first = pending.first, let index = past(of: first.number).first?.longTermIndex else { return false }
        return kind == .recoveryPoint || index == last.input.longTermIndex
    }

    /// Makes the first picture that waits an IDR picture if it has nothing to refer to.
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
