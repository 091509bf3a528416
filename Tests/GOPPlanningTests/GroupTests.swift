// SPDX-License-Identifier: GPL-2.0-or-later

import GOPPlanning
import MediaTypes
import Testing

/// The common shapes, written out. ``PlannedPicture/text`` explains the notation.
@Suite struct GroupTests {
    private func structure(bFrames: Int = 0, depth: Int = 0, _ change: (inout GOPStructure) -> Void = { _ in })
        -> GOPStructure
    {
        var structure = GOPStructure()
        structure.consecutiveBFrames = bFrames
        structure.pyramidDepth = depth
        change(&structure)
        return structure
    }

    private func text(
        _ structure: GOPStructure,
        _ body: (inout PlanLog) throws -> Void
    ) throws -> String {
        var log = try PlanLog(structure)
        try body(&log)
        #expect(PlanChecker.violations(of: log) == [])
        return log.plan.map(\.text).joined(separator: " ")
    }

    @Test func pFramesReferToThePicturesBeforeThem() throws {
        let two = structure { $0.list0Limit = 2 }
        #expect(try text(two) { try $0.add(0...4) } == "0I 1P[0] 2P[1,0] 3P[2,1] 4P[3,2]")
    }

    @Test func bFramesStandBetweenPFrames() throws {
        let flat = structure(bFrames: 2)
        let shape = "0I 3P[0] 1b[0|3] 2b[0|3] 6P[3] 4b[3|6] 5b[3|6]"
        #expect(try text(flat) { try $0.add(0...6) } == shape)
        let wide = structure(bFrames: 2) {
            $0.list0Limit = 2
            $0.list1Limit = 2
        }
        let wideShape = "0I 3P[0] 1b[0|3] 2b[0|3] 6P[3,0] 4b[3,0|6] 5b[3,0|6]"
        #expect(try text(wide) { try $0.add(0...6) } == wideShape)
    }

    @Test func thePyramidIsBalanced() throws {
        let three = "0I 4P[0] 2B[0|4] 1b[0|2] 3b[2|4]"
        #expect(try text(structure(bFrames: 3, depth: 4)) { try $0.add(0...4) } == three)
        let seven = "0I 8P[0] 4B[0|8] 2B[0|4] 1b[0|2] 3b[2|4] 6B[4|8] 5b[4|6] 7b[6|8]"
        #expect(try text(structure(bFrames: 7, depth: 4)) { try $0.add(0...8) } == seven)
        let shallow = "0I 8P[0] 4B[0|8] 1b[0|4] 2b[0|4] 3b[0|4] 5b[4|8] 6b[4|8] 7b[4|8]"
        #expect(try text(structure(bFrames: 7, depth: 1)) { try $0.add(0...8) } == shallow)
        let four = "0I 5P[0] 2B[0|5] 1b[0|2] 3B[2|5] 4b[3|5]"
        #expect(try text(structure(bFrames: 4, depth: 4)) { try $0.add(0...5) } == four)
    }

    @Test func referencesOfAFormerPyramidServeTheNextPFrame() throws {
        let wide = structure(bFrames: 3, depth: 1) { $0.list0Limit = 3 }
        let shape = "0I 4P[0] 2B[0|4] 1b[0|2] 3b[2,0|4] 8P[4,2,0] 6B[4,2,0|8] 5b[4,2,0|6] 7b[6,4,2|8]"
        #expect(try text(wide) { try $0.add(0...8) } == shape)
    }

    @Test func closedGroupsEndWithAPFrame() throws {
        let closed = structure(bFrames: 2) { $0.randomAccess = .closed(interval: 6) }
        #expect(try text(closed) { try $0.add(0...6) } == "0I 3P[0] 1b[0|3] 2b[0|3] 5P[3] 4b[3|5] 6I")
        let keysOnly = structure(bFrames: 2) { $0.randomAccess = .closed(interval: 1) }
        #expect(try text(keysOnly) { try $0.add(0...2) } == "0I 1I 2I")
    }

    @Test func whatComesBeforeAKnownKeyFrameDoesNotWaitForIt() throws {
        var log = try PlanLog(structure(bFrames: 3) { $0.randomAccess = .closed(interval: 3) })
        try log.add(0...2)
        #expect(log.plan.map(\.text) == ["0I", "2P[0]", "1b[0|2]"])
    }

    @Test func openGroupsReferAcrossTheirKeyFrame() throws {
        let open = structure(bFrames: 2) {
            $0.randomAccess = .open(interval: 6)
            $0.list0Limit = 2
        }
        #expect(
            try text(open) { try $0.add(0...12) }
                == "0I 3P[0] 1b[0|3] 2b[0|3] 6R 4b[3,0|6] 5b[3,0|6] 9P[6] 7b[6|9] 8b[6|9] 12R 10b[9,6|12] 11b[9,6|12]"
        )
        // The key frame may come before the group is full.
        let uneven = structure(bFrames: 2) { $0.randomAccess = .open(interval: 5) }
        #expect(try text(uneven) { try $0.add(0...5) } == "0I 3P[0] 1b[0|3] 2b[0|3] 5R 4b[3|5]")
        let pFrames = structure { $0.randomAccess = .open(interval: 2) }
        #expect(try text(pFrames) { try $0.add(0...4) } == "0I 1P[0] 2R 3P[2] 4R")
    }

    @Test func aForcedKeyFrameCutsTheGroup() throws {
        for access in [GOPStructure.RandomAccess.closed(interval: nil), .open(interval: 30)] {
            let shape = try text(structure(bFrames: 3, depth: 2) { $0.randomAccess = access }) { log in
                try log.add(0...2)
                try log.add(InputPicture(number: 3, forceKeyFrame: true))
                try log.add(4...7)
            }
            #expect(shape == "0I 2P[0] 1b[0|2] 3I 7P[3] 5B[3|7] 4b[3|5] 6b[5|7]")
        }
    }

    @Test func aKeyFrameThatIsDueByTimeIsOneOfTheStructure() throws {
        let inputs = [
            InputPicture(number: 0), InputPicture(number: 1), InputPicture(number: 2, isKeyFrameDue: true),
            InputPicture(number: 3, isKeyFrameDue: true),
        ]
        let closed = structure(bFrames: 2)
        #expect(try text(closed) { for input in inputs { try $0.add(input) } } == "0I 1P[0] 2I 3I")
        let open = structure(bFrames: 2) { $0.randomAccess = .open(interval: nil) }
        #expect(try text(open) { for input in inputs { try $0.add(input) } } == "0I 2R 1b[0|2] 3R")
        let refresh = structure { $0.randomAccess = .intraRefresh(period: 3) }
        #expect(try text(refresh) { for input in inputs { try $0.add(input) } } == "0I 1P[0] 2P[1] 3P[2]")
    }

    @Test func theEndShortensTheGroup() throws {
        let expected = [
            "0I", "0I 1P[0]", "0I 2P[0] 1b[0|2]", "0I 3P[0] 1B[0|3] 2b[1|3]", "0I 4P[0] 2B[0|4] 1b[0|2] 3b[2|4]",
        ]
        for (last, shape) in expected.enumerated() {
            let found = try text(structure(bFrames: 7, depth: 4)) { log in
                try log.add(0...Int64(last))
                log.finish()
            }
            #expect(found == shape)
        }
    }

    @Test func aGroupThatIsEndedIsShortAndTheSequenceGoesOn() throws {
        let shape = try text(structure(bFrames: 3, depth: 1)) { log in
            log.endGroup()
            try log.add(0...2)
            log.endGroup()
            log.endGroup()
            try log.add(3...6)
        }
        #expect(shape == "0I 2P[0] 1b[0|2] 6P[2] 4B[2|6] 3b[2|4] 5b[4|6]")
        let open = structure(bFrames: 2) { $0.randomAccess = .open(interval: 4) }
        let recovery = try text(open) { log in
            try log.add(0...3)
            log.endGroup()
            try log.add(4...4)
        }
        #expect(recovery == "0I 3P[0] 1b[0|3] 2b[0|3] 4R")
    }

    @Test func afterTheEndComesAnIDRPicture() throws {
        let shape = try text(structure(bFrames: 2)) { log in
            log.finish()
            try log.add(0...1)
            log.finish()
            log.finish()
            try log.add(2...3)
            log.finish()
        }
        #expect(shape == "0I 1P[0] 2I 3P[2]")
    }

    @Test func intraRefreshGoesRoundWithoutIntraPictures() throws {
        var log = try PlanLog(structure { $0.randomAccess = .intraRefresh(period: 3) })
        try log.add(0...5)
        #expect(log.plan.map(\.text) == ["0I", "1P[0]", "2P[1]", "3P[2]", "4P[3]", "5P[4]"])
        #expect(log.plan.map(\.refreshPosition) == [nil, 0, 1, 2, 0, 1])
    }

    @Test func countsGoOnAcrossGapsInTheNumbers() throws {
        var log = try PlanLog(structure { $0.randomAccess = .closed(interval: 3) })
        for number: Int64 in [-5, -1, 7, 8, 100] { try log.add(InputPicture(number: number)) }
        #expect(log.plan.map(\.text) == ["-5I", "-1P[-5]", "7P[-1]", "8I", "100P[8]"])
        #expect(log.plan.map(\.displayOrder) == [0, 1, 2, 0, 1])
        #expect(log.plan.map(\.codingOrder) == [0, 1, 2, 3, 4])
    }

    @Test func picturesThatDoNotFitAreRefusedAndChangeNothing() throws {
        var planner = try GOPPlanner(structure { $0.longTermReferences = 2 })
        #expect(try planner.add(InputPicture(number: 5)).count == 1)
        for wrong in [InputPicture(number: 5), InputPicture(number: 4), InputPicture(number: 6, longTermIndex: 2)] {
            #expect(throws: MediaError.self) { try planner.add(wrong) }
        }
        let next = try planner.add(InputPicture(number: 6, longTermIndex: 1))
        #expect(next.map(\.text) == ["6PL1[5]"])
    }
}
