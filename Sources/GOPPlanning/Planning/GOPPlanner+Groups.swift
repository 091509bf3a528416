// SPDX-License-Identifier: GPL-2.0-or-later

extension GOPPlanner {
    /// Plans a group: a picture, and the B-frames that are shown before it.
    mutating func planGroup(
        between pictures: [Picture],
        _ last: Picture,
        _ kind: PlannedPicture.Kind
    ) -> [PlannedPicture] {
        // The earliest B-frames refer to the picture that is shown before the group.
        let before = pictures.first.flatMap { past(of: $0.number).first }
        var planned = [planAnchor(last, kind, needed: before)]
        for node in BFrameTree.order(count: pictures.count, depth: structure.pyramidDepth) {
            planned.append(planBFrame(pictures[node.position - 1], node))
        }
        if kind == .recoveryPoint { recoveryPoint = last.number }
        return planned
    }

    private mutating func planAnchor(
        _ picture: Picture,
        _ kind: PlannedPicture.Kind,
        needed: PictureReference?
    ) -> PlannedPicture {
        let isMarked = picture.input.longTermIndex != nil
        // Random access points and long-term references belong to the base layer.
        if isMarked || kind == .recoveryPoint { layerPlace = 0 }
        let layer = structure.consecutiveBFrames == 0 ? structure.layer(ofPFrame: layerPlace) : 0
        layerPlace += 1
        if kind == .recoveryPoint { keyPosition = picture.position }
        let list0 = kind == .p ? Array(past(of: picture.number).prefix(list0Limit)) : []
        var plan = DraftPicture(list0: list0, layer: layer)
        plan.refreshPosition = nextRefreshPosition(list0)
        guard layer == 0 else { return emit(picture, kind, plan) }
        let reference = PictureReference(number: picture.number, longTermIndex: picture.input.longTermIndex)
        let dropped = store.keep(reference, endsLongTerm: kind == .recoveryPoint, abandoned: abandoned) { $0 == needed }
        return emit(picture, kind, plan, dropped: dropped)
    }

    private mutating func planBFrame(_ picture: Picture, _ node: BFrameTree.Node) -> PlannedPicture {
        let past = past(of: picture.number)
        var plan = DraftPicture(
            list0: Array(past.prefix(list0Limit)),
            list1: Array(future(of: picture.number).prefix(structure.list1Limit)),
            layer: structure.layer(ofBFrame: node.position)
        )
        guard node.isReference else { return emit(picture, .b, plan) }
        plan.layer = 0
        let nearest = node.hasEarlierChildren ? past.first : nil
        let dropped = store.keep(PictureReference(number: picture.number)) { reference in
            reference == nearest || reference.number > picture.number
        }
        return emit(picture, .b, plan, dropped: dropped)
    }

    /// The properties of a planned picture besides its kind.
    struct DraftPicture {
        var list0: [PictureReference] = []
        var list1: [PictureReference] = []
        var layer = 0
        var refreshPosition: Int?
    }

    /// Completes a picture.
    ///
    /// - Parameter dropped: The references that were dropped for it; `nil` for a non-reference picture.
    mutating func emit(
        _ picture: Picture,
        _ kind: PlannedPicture.Kind,
        _ draft: DraftPicture = DraftPicture(),
        dropped: [PictureReference]? = nil
    ) -> PlannedPicture {
        let planned = PlannedPicture(
            number: picture.number,
            codingOrder: nextCodingOrder,
            displayOrder: picture.position - idrPosition,
            kind: kind,
            isReference: dropped != nil,
            temporalLayer: draft.layer,
            list0: draft.list0,
            list1: draft.list1,
            longTermIndex: picture.input.longTermIndex,
            retained: store.references,
            dropped: dropped ?? [],
            abandoned: abandoned,
            refreshPosition: draft.refreshPosition
        )
        nextCodingOrder += 1
        if planned.isReference { lastReference = planned.number }
        abandoned.formIntersection(store.references.map(\.number))
        losses.record(planned.number, references: draft.list0 + draft.list1, inUse: store.references)
        return planned
    }

    // MARK: - References

    private var list0Limit: Int {
        if case .intraRefresh = structure.randomAccess { return 1 }
        return structure.list0Limit
    }

    /// Returns the references available to the picture with the given number.
    func candidates(for number: Int64) -> [PictureReference] {
        let barrier = recoveryPoint.flatMap { number > $0 ? $0 : nil }
        return store.references.filter { reference in
            !abandoned.contains(reference.number) && reference.number >= barrier ?? .min
        }
    }

    /// Returns the references that are shown before the picture with the given number, the nearest first.
    func past(of number: Int64) -> [PictureReference] {
        candidates(for: number).filter { $0.number < number }.sorted { $0.number > $1.number }
    }

    /// Returns the references that are shown after the picture with the given number, the nearest first.
    private func future(of number: Int64) -> [PictureReference] {
        candidates(for: number).filter { $0.number > number }.sorted { $0.number < $1.number }
    }

    // MARK: - Intra refresh

    /// Returns the part of the wave that the next picture contains. A picture that does not refer to the previous one
    /// starts a new wave, because its reference may be older than the wave.
    private mutating func nextRefreshPosition(_ list0: [PictureReference]) -> Int? {
        guard case .intraRefresh(let period) = structure.randomAccess else { return nil }
        if list0.first?.number != lastReference { refreshPosition = 0 }
        defer { refreshPosition = (refreshPosition + 1) % period }
        return refreshPosition
    }
}
