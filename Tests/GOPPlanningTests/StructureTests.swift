// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import GOPPlanning

@Suite struct StructureTests {
    /// What a tree has to be: every position once, and each half within its bounds.
    @Test(arguments: 0...16) func theTreeIsBalanced(count: Int) {
        for depth in 0...4 {
            let nodes = BFrameTree.order(count: count, depth: depth)
            #expect(nodes.map(\.position).sorted() == Array(1..<(count + 1)))
            #expect(levels(nodes[...], in: 1..<(count + 1)) == min(depth, count < 2 ? 0 : fullDepth(count)))
            var decoded: Set<Int> = [0, count + 1]
            for node in nodes {
                let isShownNext = (0..<node.position).allSatisfy(decoded.contains)
                #expect(node.isReference || isShownNext, "a picture that nobody keeps has to wait")
                #expect(node.hasEarlierChildren == !isShownNext)
                decoded.insert(node.position)
            }
        }
    }

    /// How many levels of references a part of the tree has. Its halves differ by one picture at most.
    private func levels(_ nodes: ArraySlice<BFrameTree.Node>, in positions: Range<Int>) -> Int {
        guard let root = nodes.first, root.isReference else {
            #expect(nodes.allSatisfy { !$0.isReference })
            return 0
        }
        let (before, after) = (root.position - positions.lowerBound, positions.upperBound - root.position - 1)
        #expect((0...1).contains(after - before))
        let rest = nodes.dropFirst()
        return 1
            + max(
                levels(rest.prefix(before), in: positions.lowerBound..<root.position),
                levels(rest.dropFirst(before), in: (root.position + 1)..<positions.upperBound)
            )
    }

    /// Levels of a tree whose last level has rows of at most one picture.
    private func fullDepth(_ count: Int) -> Int { count < 2 ? 0 : 1 + fullDepth(count / 2) }

    @Test func reorderDepths() {
        func depth(_ bFrames: Int, _ pyramid: Int) -> Int {
            var structure = GOPStructure()
            structure.consecutiveBFrames = bFrames
            structure.pyramidDepth = pyramid
            return structure.reorderDepth
        }
        #expect((0...4).map { depth(0, $0) } == [0, 0, 0, 0, 0])
        #expect((0...4).map { depth(1, $0) } == [1, 1, 1, 1, 1])
        #expect((0...4).map { depth(2, $0) } == [1, 1, 1, 1, 1])
        #expect((0...4).map { depth(3, $0) } == [1, 2, 2, 2, 2])
        #expect((0...4).map { depth(7, $0) } == [1, 2, 3, 3, 3])
        #expect((0...4).map { depth(15, $0) } == [1, 2, 3, 4, 4])
        #expect((0...4).map { depth(16, $0) } == [1, 2, 3, 4, 4])
    }

    @Test func limitsTakeWhatDoesNotFit() {
        var structure = GOPStructure()
        structure.consecutiveBFrames = 7
        structure.pyramidDepth = 3
        structure.longTermReferences = 2
        #expect(structure.minimumPictureCount == 6)
        #expect(structure.limited(toReorderDepth: 3, pictures: 6).pyramidDepth == 3)
        #expect(structure.limited(toReorderDepth: 2, pictures: 6).pyramidDepth == 1)
        #expect(structure.limited(toReorderDepth: 3, pictures: 5).pyramidDepth == 1)
        let flat = structure.limited(toReorderDepth: 3, pictures: 4)
        #expect((flat.consecutiveBFrames, flat.pyramidDepth) == (7, 0))
        let none = structure.limited(toReorderDepth: 0, pictures: 16)
        #expect((none.consecutiveBFrames, none.longTermReferences) == (0, 2))
        let least = structure.limited(toReorderDepth: -3, pictures: 0)
        #expect((least.consecutiveBFrames, least.longTermReferences, least.pictureLimit) == (0, 0, 1))
    }

    @Test func referencesAreWhatTheListsCanUse() {
        var structure = GOPStructure()
        #expect(structure.referenceCount == 1)
        structure.list0Limit = 3
        structure.longTermReferences = 2
        #expect(structure.referenceCount == 5)
        structure.consecutiveBFrames = 3
        structure.pyramidDepth = 1
        #expect(structure.referenceCount == 7)
        structure.pictureLimit = 6
        #expect(structure.referenceCount == 6)
    }

    /// What is refused, and that the same value at its bound is not.
    @Test func valuesThatDoNotFitAreRefused() throws {
        func check(_ good: (inout GOPStructure) -> Void, _ bad: (inout GOPStructure) -> Void) throws {
            var structure = GOPStructure()
            good(&structure)
            _ = try GOPPlanner(structure)
            bad(&structure)
            #expect(throws: MediaError.self) { try GOPPlanner(structure) }
        }
        try check({ $0.consecutiveBFrames = 16 }, { $0.consecutiveBFrames = 17 })
        try check({ $0.consecutiveBFrames = 0 }, { $0.consecutiveBFrames = -1 })
        try check({ $0.pyramidDepth = 4 }, { $0.pyramidDepth = 5 })
        try check({ $0.list0Limit = 16 }, { $0.list0Limit = 17 })
        try check({ $0.list0Limit = 1 }, { $0.list0Limit = 0 })
        try check({ $0.list1Limit = 16 }, { $0.list1Limit = 17 })
        try check({ $0.list1Limit = 1 }, { $0.list1Limit = 0 })
        try check({ $0.pictureLimit = 1 }, { $0.pictureLimit = 0 })
        try check({ $0.pictureLimit = 16 }, { $0.pictureLimit = 17 })
        try check({ $0.temporalLayers = 3 }, { $0.temporalLayers = 4 })
        try check({ $0.temporalLayers = 1 }, { $0.temporalLayers = 0 })
        try check({ $0.longTermReferences = 15 }, { $0.longTermReferences = 16 })
        try check({ $0.randomAccess = .closed(interval: 1) }, { $0.randomAccess = .closed(interval: 0) })
        try check({ $0.randomAccess = .open(interval: 1) }, { $0.randomAccess = .open(interval: 0) })
        try check({ $0.randomAccess = .intraRefresh(period: 1) }, { $0.randomAccess = .intraRefresh(period: 0) })
        // Combinations.
        try check({ $0.isLowLatency = true }, { $0.consecutiveBFrames = 1 })
        try check({ $0.randomAccess = .intraRefresh(period: 9) }, { $0.consecutiveBFrames = 1 })
        try check({ $0.randomAccess = .intraRefresh(period: 9) }, { $0.temporalLayers = 2 })
        try check({ $0.temporalLayers = 2 }, { $0.pyramidDepth = 1 })
        try check({ ($0.longTermReferences, $0.pictureLimit) = (3, 4) }, { $0.pictureLimit = 3 })
        try check({ ($0.consecutiveBFrames, $0.pictureLimit) = (1, 2) }, { $0.pictureLimit = 1 })
    }

    @Test func valuesThatMakeNoSenseDoNotTrap() throws {
        for value in [Int.min, -1, 17, Int.max] {
            var structure = GOPStructure()
            structure.consecutiveBFrames = value
            structure.pyramidDepth = value
            structure.list0Limit = value
            structure.list1Limit = value
            structure.pictureLimit = value
            structure.temporalLayers = value
            structure.longTermReferences = value
            structure.randomAccess = .closed(interval: value)
            #expect(structure.reorderDepth <= 4)
            #expect((structure.minimumPictureCount...36).contains(structure.referenceCount))
            let limited = structure.limited(toReorderDepth: value, pictures: value)
            #expect(limited.pyramidDepth <= 4)
            #expect(throws: MediaError.self) { try H264PictureNumbering(structure) }
        }
        // Pictures that no planner would return in this order.
        var planner = try GOPPlanner(GOPStructure())
        let plan = try (0..<40).flatMap { try planner.add(InputPicture(number: $0)) }
        var numbering = try H264PictureNumbering(GOPStructure())
        for index in [5, 4, 9, 9, 0, 30, 2, 1, 3] + Array(repeating: 7, count: 40) { _ = numbering.number(plan[index]) }
        var strange = plan[3]
        strange.displayOrder = .max
        strange.longTermIndex = -7
        strange.dropped = strange.list0
        _ = numbering.number(strange)
    }

    @Test func errorsSayWhatIsAllowed() {
        var structure = GOPStructure()
        structure.consecutiveBFrames = 7
        structure.pyramidDepth = 3
        structure.pictureLimit = 3
        let error = #expect(throws: MediaError.self) { try structure.validate() }
        #expect(error?.given == "3")
        #expect(error?.allowed == "at least 4")
    }

    @Test func orderCountsStayWithin32Bits() throws {
        #expect(2 * (GOPPlanner.longestSequence + 16) < Int64(Int32.max))
        var structure = GOPStructure()
        structure.consecutiveBFrames = 2
        var planner = try GOPPlanner(structure, longestSequence: 8)
        let plan = try (0..<20).flatMap { try planner.add(InputPicture(number: $0)) }
        #expect(plan.filter { $0.kind == .idr }.map(\.number) == [0, 8, 16])
        #expect(plan.map(\.displayOrder).max() == 7)
    }
}
