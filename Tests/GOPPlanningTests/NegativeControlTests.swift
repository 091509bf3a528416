// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import GOPPlanning
import MediaTypes
import Testing

/// Plans and streams with one mistake each: checker and decoder have to find it, or they would not find it in a plan
/// that is wrong.
@Suite struct NegativeControlTests {
    // MARK: - Plans

    private static func log(_ change: (inout GOPStructure) -> Void) throws -> PlanLog {
        var structure = GOPStructure()
        structure.list0Limit = 3
        change(&structure)
        return try PlanLog(structure)
    }

    private static func pyramid() throws -> PlanLog {
        var log = try log { ($0.consecutiveBFrames, $0.pyramidDepth) = (3, 2) }
        try log.add(0...5)
        try log.add(InputPicture(number: 6, forceKeyFrame: true))
        try log.add(7...20)
        log.finish()
        return log
    }

    private static func open() throws -> PlanLog {
        var log = try log { ($0.consecutiveBFrames, $0.randomAccess) = (2, .open(interval: 6)) }
        try log.add(0...20)
        log.finish()
        return log
    }

    private static func lossy() throws -> PlanLog {
        var log = try log { $0.longTermReferences = 1 }
        try log.add(0...3)
        try log.add(InputPicture(number: 4, longTermIndex: 0))
        try log.add(5...8)
        log.lose(6...6)
        try log.add(9...12)
        log.finish()
        return log
    }

    private static func layered() throws -> PlanLog {
        var log = try log { $0.temporalLayers = 3 }
        try log.add(0...12)
        log.finish()
        return log
    }

    /// Expects violations after a change of one planned picture, and none before.
    private func expectFinding(
        _ log: PlanLog,
        _ number: Int64,
        _ change: (inout PlannedPicture) -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(PlanChecker.violations(of: log) == [], sourceLocation: sourceLocation)
        var log = log
        for (index, event) in log.events.enumerated() {
            guard case .planned(var picture) = event, picture.number == number else { continue }
            change(&picture)
            log.events[index] = .planned(picture)
        }
        #expect(PlanChecker.violations(of: log) != [], sourceLocation: sourceLocation)
    }

    @Test func wrongKindsAreFound() throws {
        try expectFinding(Self.pyramid(), 6) { $0.kind = .recoveryPoint }
        try expectFinding(Self.pyramid(), 10) { ($0.kind, $0.list0) = (.idr, []) }
        try expectFinding(Self.pyramid(), 10) { ($0.kind, $0.list0) = (.recoveryPoint, []) }
        try expectFinding(Self.open(), 6) { ($0.kind, $0.list0) = (.p, [PictureReference(number: 3)]) }
        try expectFinding(Self.lossy(), 4) { $0.longTermIndex = nil }
    }

    @Test func wrongReferencesAreFound() throws {
        try expectFinding(Self.pyramid(), 7) { $0.list1 = [] }
        try expectFinding(Self.pyramid(), 7) { $0.list0 = $0.list1 }
        try expectFinding(Self.pyramid(), 10) { $0.list0 = [PictureReference(number: 5)] }
        try expectFinding(Self.pyramid(), 10) { $0.list0 += $0.list0 }
        try expectFinding(Self.open(), 9) { $0.list0 = [PictureReference(number: 3)] }
        try expectFinding(Self.lossy(), 9) { $0.list0 = [PictureReference(number: 8)] }
        try expectFinding(Self.layered(), 5) { $0.list0 = [PictureReference(number: 3)] }
        try expectFinding(Self.layered(), 8) { $0.temporalLayer = 3 }
    }

    @Test func wrongBuffersAreFound() throws {
        try expectFinding(Self.lossy(), 8) { $0.retained.removeAll { $0.longTermIndex != nil } }
        try expectFinding(Self.lossy(), 8) { picture in
            let longTerm = picture.retained.filter { $0.longTermIndex != nil }
            picture.retained.removeAll { $0.longTermIndex != nil }
            picture.dropped += longTerm
        }
        try expectFinding(Self.pyramid(), 10) { $0.retained.append(PictureReference(number: 3)) }
        try expectFinding(Self.pyramid(), 18) { $0.retained += $0.dropped }
        try expectFinding(Self.pyramid(), 10) { $0.isReference = false }
    }

    @Test func wrongCountsAreFound() throws {
        try expectFinding(Self.pyramid(), 10) { $0.displayOrder += 1 }
        try expectFinding(Self.pyramid(), 10) { $0.codingOrder += 1 }
        try expectFinding(Self.pyramid(), 10) { $0.number = 9 }
    }

    @Test func wrongOrdersAreFound() throws {
        var log = try Self.pyramid()
        let planned = log.events.indices.filter { if case .planned = log.events[$0] { true } else { false } }
        log.events.swapAt(planned[1], planned[2])
        #expect(PlanChecker.violations(of: log) != [])
        log = try Self.pyramid()
        log.events.remove(at: planned[3])
        #expect(PlanChecker.violations(of: log) != [])
    }

    @Test func delayIsFound() throws {
        var log = try Self.lossy()
        let (planned, added) = (log.events[1], log.events[2])
        log.events[1] = added
        log.events[2] = planned
        #expect(PlanChecker.violations(of: log) != [])
    }

    // MARK: - Streams

    /// Expects violations after a change of a stream, and none before.
    private func expectFinding(
        _ log: PlanLog,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (inout Replay) throws -> Void
    ) throws {
        var replay = try Replay(log.structure, log.plan)
        #expect(replay.violations() == [], sourceLocation: sourceLocation)
        try change(&replay)
        #expect(replay.violations() != [], sourceLocation: sourceLocation)
    }

    private func change(
        _ replay: inout Replay,
        _ number: Int64,
        _ change: (inout H264PictureNumbers) -> Void
    ) throws {
        let index = try #require(replay.pictures.firstIndex { $0.number == number })
        change(&replay.pictures[index].numbers)
    }

    @Test func wrongNumbersAreFound() throws {
        try expectFinding(Self.pyramid()) { try change(&$0, 5) { $0.frameNum += 1 } }
        try expectFinding(Self.pyramid()) { try change(&$0, 6) { $0.idrPicId = 0 } }
        try expectFinding(Self.pyramid()) { try change(&$0, 9) { $0.pictureOrderCountLsb += 2 } }
        try expectFinding(Self.pyramid()) { try change(&$0, 9) { $0.pictureOrderCountLsb ^= 16 } }
    }

    @Test func wrongListsAreFound() throws {
        try expectFinding(Self.pyramid()) { try change(&$0, 14) { $0.list0Modification = nil } }
        try expectFinding(Self.pyramid()) { try change(&$0, 14) { $0.list0Modification?.removeLast() } }
        try expectFinding(Self.pyramid()) { replay in
            try change(&replay, 9) { $0.list0Modification = [.back(absDiffPicNumMinus1: 8)] }
        }
        try expectFinding(Self.pyramid()) { try change(&$0, 14) { $0.list0.removeLast() } }
        try expectFinding(Self.lossy()) { try change(&$0, 9) { $0.list0Modification = nil } }
        try expectFinding(Self.lossy()) { replay in
            try change(&replay, 9) { $0.list0Modification = [.longTerm(picNum: 1)] }
        }
    }

    @Test func wrongMarkingIsFound() throws {
        var tight = try Self.log { ($0.consecutiveBFrames, $0.pyramidDepth, $0.list0Limit) = (3, 2, 1) }
        try tight.add(0...20)
        tight.finish()
        try expectFinding(tight) { try change(&$0, 6) { $0.marking = .slidingWindow } }
        try expectFinding(tight) { replay in
            try change(&replay, 6) { $0.marking = .adaptive([.forgetShortTerm(differenceOfPicNumsMinus1: 2)]) }
        }
        try expectFinding(tight) { try change(&$0, 6) { $0.marking = .adaptive([]) } }
        try expectFinding(tight) { try change(&$0, 6) { $0.marking = nil } }
        try expectFinding(tight) { replay in
            try change(&replay, 8) { $0.marking = .adaptive([.forgetShortTerm(differenceOfPicNumsMinus1: 1)]) }
        }
        try expectFinding(Self.lossy()) { replay in
            try change(&replay, 4) { $0.marking = .adaptive([.makeCurrentLongTerm(longTermFrameIdx: 0)]) }
        }
        try expectFinding(Self.lossy()) { try change(&$0, 4) { $0.marking = .slidingWindow } }
    }

    @Test func buffersThatAreTooSmallAreFound() throws {
        try expectFinding(Self.pyramid()) { $0.parameters.size -= 1 }
        try expectFinding(Self.pyramid()) { $0.parameters.maxNumRefFrames -= 1 }
        try expectFinding(Self.pyramid()) { $0.parameters.reorderDepth -= 1 }
    }

    @Test func layersThatOthersNeedAreFound() throws {
        try expectFinding(Self.layered()) { replay in
            let index = try #require(replay.pictures.firstIndex { $0.number == 4 })
            replay.pictures[index].layer = 1
        }
        // A reference in the middle layer leaves a gap in frame_num when it is dropped.
        try expectFinding(Self.layered()) { replay in
            for index in replay.pictures.indices.dropFirst(3) {
                replay.pictures[index].numbers.frameNum = (replay.pictures[index].numbers.frameNum + 1) % 16
            }
            try change(&replay, 2) { ($0.nalRefIdc, $0.marking) = (1, .slidingWindow) }
        }
    }

    @Test func aBarrierThatIsCrossedIsFound() throws {
        try expectFinding(Self.open()) { replay in
            let index = try #require(replay.pictures.firstIndex { $0.number == 9 })
            replay.pictures[index].list0 = [6, 3]
            replay.pictures[index].numbers.list0 += replay.pictures[index].numbers.references.filter { $0.number == 3 }
        }
    }
}
