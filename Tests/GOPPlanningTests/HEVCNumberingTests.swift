// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import Testing

@testable import GOPPlanning

/// Types, order counts, reference picture sets and lists as HEVC has them.
@Suite(.timeLimit(.minutes(60))) struct HEVCNumberingTests {
    private func numbers(
        generalized: Int = 0,
        _ change: (inout GOPStructure) -> Void,
        _ body: (inout PlanLog) throws -> Void
    ) throws -> [Int64: HEVCPictureNumbers] {
        var structure = GOPStructure()
        change(&structure)
        var log = try PlanLog(structure)
        try body(&log)
        log.finish()
        let replay = try HEVCReplay(structure, log.plan, generalizedList1Limit: generalized)
        #expect(replay.violations() == [])
        return Dictionary(uniqueKeysWithValues: replay.pictures.map { ($0.number, $0.numbers) })
    }

    private typealias Set = HEVCShortTermReferencePictureSet

    private func set(_ negative: [(UInt32, Bool)], _ positive: [(UInt32, Bool)] = []) -> Set {
        func pictures(_ list: [(UInt32, Bool)]) -> [Set.Picture] {
            list.map { Set.Picture(deltaPocMinus1: $0.0, usedByCurrPicFlag: $0.1) }
        }
        return Set(coding: .explicit(negative: pictures(negative), positive: pictures(positive)))
    }

    @Test func aPyramidOfThree() throws {
        let pictures = try numbers({ ($0.consecutiveBFrames, $0.pyramidDepth) = (3, 1) }) { try $0.add(0...8) }
        let order: [Int64] = [0, 4, 2, 1, 3, 8, 6, 5, 7]
        #expect(order.map { pictures[$0]?.unitType.rawValue } == [20, 1, 1, 0, 0, 1, 1, 0, 0])
        #expect(order.map { pictures[$0]?.pictureOrderCount } == order.map { Int($0) })
        #expect(pictures[0]?.shortTermSet == nil && pictures[0]?.references == [])
        #expect(pictures[4]?.shortTermSet == set([(3, true)]))
        #expect(pictures[2]?.shortTermSet == set([(1, true)], [(1, true)]))
        #expect(pictures[1]?.shortTermSet == set([(0, true)], [(0, true), (1, false)]))
        #expect(pictures[3]?.shortTermSet == set([(0, true), (1, false)], [(0, true)]))
        // 0 slides out for 8, and 2 for 6, before they are coded.
        #expect(pictures[8]?.shortTermSet == set([(3, true), (1, false)]))
        #expect(pictures[6]?.shortTermSet == set([(1, true)], [(1, true)]))
        #expect(pictures[5]?.references.map(\.number) == [4, 8, 6])
        #expect(pictures[5]?.list0.map(\.number) == [4] && pictures[5]?.list1.map(\.number) == [6])
        #expect(pictures.values.allSatisfy { $0.list0Entries == nil && $0.list1Entries == nil })
    }

    @Test func openGroupsHaveSkippedPictures() throws {
        let pictures = try numbers({ ($0.consecutiveBFrames, $0.randomAccess) = (2, .open(interval: 6)) }) {
            try $0.add(0...9)
        }
        let order: [Int64] = [0, 3, 1, 2, 6, 4, 5, 9, 7, 8]
        #expect(order.map { pictures[$0]?.unitType.rawValue } == [20, 1, 0, 0, 21, 8, 8, 1, 0, 0])
        // What the leading pictures need is in the set of the CRA picture, and used by none of its own slices.
        #expect(pictures[6]?.shortTermSet == set([(2, false)]))
        #expect(pictures[4]?.shortTermSet == set([(0, true)], [(1, true)]))
        // The first trailing picture has nothing of before.
        #expect(pictures[9]?.shortTermSet == set([(2, true)]))
    }

    @Test func numbersWrap() throws {
        var log = try PlanLog(GOPStructure())
        try log.add(0...40)
        let replay = try HEVCReplay(GOPStructure(), log.plan, log2MaxLsb: 4)
        #expect(replay.pictures.map(\.numbers.pictureOrderCountLsb) == (0...40).map { $0 % 16 })
        #expect(replay.violations() == [])
    }

    @Test func upperLayersCanBeEntered() throws {
        let pictures = try numbers({ $0.temporalLayers = 3 }) { try $0.add(0...8) }
        #expect((0...8).map { pictures[$0]?.temporalId } == [0, 2, 1, 2, 0, 2, 1, 2, 0])
        #expect((0...8).map { pictures[$0]?.unitType.rawValue } == [20, 2, 2, 2, 1, 2, 2, 2, 1])
    }

    @Test func longTermReferences() throws {
        let pictures = try numbers({ ($0.longTermReferences, $0.list0Limit) = (2, 2) }) { log in
            try log.add(0...0)
            try log.add(InputPicture(number: 1, longTermIndex: 1))
            try log.add(InputPicture(number: 2, longTermIndex: 0))
            try log.add(3...24)
        }
        #expect(pictures[2]?.longTermPictures == [.init(pocLsbLt: 1, deltaPocMsbCycleLt: 0)])
        // 2 is the nearest, but long-term references stand behind the others.
        #expect(pictures[3]?.list0.map(\.number) == [2, 1] && pictures[3]?.list0Entries == nil)
        #expect(pictures[4]?.list0.map(\.number) == [3, 2] && pictures[4]?.list0Entries == nil)
        #expect(
            pictures[20]?.longTermPictures == [
                .init(pocLsbLt: 2, usedByCurrPicLtFlag: false, deltaPocMsbCycleLt: 1),
                .init(pocLsbLt: 1, usedByCurrPicLtFlag: false, deltaPocMsbCycleLt: 0),
            ]
        )
    }

    /// A marked picture is a short-term reference of the pictures that are shown before it.
    @Test func marksHoldFromTheNextPictureOn() throws {
        let pictures = try numbers({ ($0.consecutiveBFrames, $0.longTermReferences) = (2, 1) }) { log in
            try log.add(0...2)
            try log.add(InputPicture(number: 3, longTermIndex: 0))
            try log.add(4...6)
        }
        #expect(pictures[1]?.longTermPictures == [] && pictures[1]?.list1.map(\.isLongTerm) == [false])
        #expect(pictures[6]?.longTermPictures.count == 1 && pictures[6]?.list0.map(\.isLongTerm) == [true])
    }

    @Test func pPicturesCanHaveTwoLists() throws {
        let pictures = try numbers(generalized: 2, { $0.list0Limit = 3 }) { try $0.add(0...5) }
        #expect(pictures[5]?.list0.map(\.number) == [4, 3, 2] && pictures[5]?.list1.map(\.number) == [4, 3])
        #expect(pictures[1]?.hasList1 == true && pictures[0]?.hasList1 == false)
    }

    @Test func widthsThatAreTooSmallAreRefused() throws {
        var structure = GOPStructure()
        structure.consecutiveBFrames = 7
        structure.pyramidDepth = 3
        let least = try HEVCPictureNumbering(structure)
        // 15 pictures to both sides.
        #expect(least.log2MaxPictureOrderCountLsb == 5 && least.maxKeptPictures == 4)
        #expect(throws: MediaError.self) { try HEVCPictureNumbering(structure, log2MaxPictureOrderCountLsb: 4) }
        #expect(throws: MediaError.self) { try HEVCPictureNumbering(structure, log2MaxPictureOrderCountLsb: 17) }
    }

    /// As `RandomPlanTests`, whose variables choose what is played here, too.
    @Test func noScenarioBreaksTheStandard() throws {
        let environment = ProcessInfo.processInfo.environment
        func play(_ seed: UInt64) throws {
            let scenario = try Scenario(seed: seed)
            for generalized in [0, 1 + Int(seed % 3)] {
                let replay = try HEVCReplay(
                    scenario.structure,
                    scenario.log.plan,
                    generalizedList1Limit: generalized,
                    log2MaxLsb: scenario.log2MaxLsb
                )
                if let first = replay.violations().first { Issue.record("\(first) (VATOOLBOX_SEED=\(seed))") }
            }
        }
        if let seed = environment["VATOOLBOX_SEED"].flatMap(UInt64.init) { return try play(seed) }
        for seed in 0..<(environment["VATOOLBOX_SEQUENCES"].flatMap(UInt64.init) ?? 1000) { try play(seed) }
    }

    // MARK: - Mistakes

    /// Expects violations after a change of one picture, and none before.
    private func expectFinding(
        _ replay: HEVCReplay,
        _ number: Int64,
        _ change: (inout HEVCPictureNumbers) -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(replay.violations() == [], sourceLocation: sourceLocation)
        var replay = replay
        let index = try #require(replay.pictures.firstIndex { $0.number == number })
        change(&replay.pictures[index].numbers)
        #expect(replay.violations() != [], sourceLocation: sourceLocation)
    }

    private func replay(
        _ change: (inout GOPStructure) -> Void,
        _ body: (inout PlanLog) throws -> Void = { try $0.add(0...20) }
    ) throws -> HEVCReplay {
        var structure = GOPStructure()
        change(&structure)
        var log = try PlanLog(structure)
        try body(&log)
        log.finish()
        return try HEVCReplay(structure, log.plan)
    }

    @Test func mistakesAreFound() throws {
        let pyramid = try replay { ($0.consecutiveBFrames, $0.pyramidDepth, $0.list0Limit) = (3, 1, 2) }
        try expectFinding(pyramid, 2) { $0.unitType = .trailing }
        try expectFinding(pyramid, 5) { $0.unitType = .skippedLeading }
        try expectFinding(pyramid, 8) { $0.pictureOrderCountLsb += 1 }
        try expectFinding(pyramid, 8) { $0.shortTermSet = set([(3, true), (0, true)]) }
        try expectFinding(pyramid, 8) { $0.shortTermSet = set([(3, true)]) }
        try expectFinding(pyramid, 8) { $0.list0Entries = [1, 0] }
        try expectFinding(pyramid, 3) { $0.shortTermSet = nil }
        let open = try replay { ($0.consecutiveBFrames, $0.randomAccess) = (2, .open(interval: 6)) }
        try expectFinding(open, 6) { $0.unitType = .idrWithoutLeadingPictures }
        try expectFinding(open, 6) { $0.unitType = .trailingReference }
        try expectFinding(open, 6) { $0.shortTermSet = set([(2, true)]) }
        try expectFinding(open, 4) { $0.unitType = .trailing }
        try expectFinding(open, 9) { $0.shortTermSet = set([(2, true), (2, false)]) }
        let layers = try replay { $0.temporalLayers = 3 }
        try expectFinding(layers, 2) { $0.temporalId = 0 }
        try expectFinding(layers, 4) { $0.unitType = .temporalSubLayerAccessReference }
        let marked = try replay({ ($0.longTermReferences, $0.list0Limit) = (1, 2) }) { log in
            try log.add(InputPicture(number: 0, longTermIndex: 0))
            try log.add(1...40)
        }
        try expectFinding(marked, 1) { $0.longTermPictures[0].pocLsbLt += 1 }
        try expectFinding(marked, 1) { $0.longTermPictures[0].usedByCurrPicLtFlag = false }
        try expectFinding(marked, 1) { $0.longTermPictures = [] }
        var small = pyramid
        small.parameters.size -= 1
        #expect(small.violations() != [])
        small = pyramid
        small.parameters.reorderDepth -= 1
        #expect(small.violations() != [])
    }
}
