// SPDX-License-Identifier: GPL-2.0-or-later

import GOPPlanning
import MediaTypes
import Testing

/// Long-term references, and reports of receivers.
@Suite struct LossTests {
    private func makeLog(
        list0: Int = 4,
        longTerm: Int = 2,
        _ change: (inout GOPStructure) -> Void = { _ in }
    ) throws -> PlanLog {
        var structure = GOPStructure()
        structure.list0Limit = list0
        structure.longTermReferences = longTerm
        change(&structure)
        return try PlanLog(structure)
    }

    private func check(_ log: PlanLog) throws {
        #expect(PlanChecker.violations(of: log) == [])
        #expect(try Replay(log.structure, log.plan).violations() == [])
    }

    private func last(_ log: PlanLog, _ count: Int = 1) -> [String] { log.plan.suffix(count).map(\.text) }

    @Test func nothingRefersToLostPicturesOrWhatDependsOnThem() throws {
        var log = try makeLog()
        try log.add(0...5)
        log.lose(3...3)
        try log.add(6...7)
        #expect(last(log, 2) == ["6P[2,1,0]", "7P[6,2,1]"])
        try check(log)
    }

    @Test func whatDoesNotDependOnTheLostPictureStaysUsable() throws {
        var log = try makeLog(list0: 1, longTerm: 2)
        try log.add(InputPicture(number: 0, longTermIndex: 0))
        try log.add(1...3)
        log.lose(2...2)
        try log.add(4...5)
        log.lose(3...3)  // it was damaged before; what came after the first report does not depend on it
        try log.add(6...6)
        #expect(last(log, 3) == ["4P[0L0]", "5P[4]", "6P[5]"])
        try check(log)
    }

    @Test func anIDRPictureComesIfNothingIsLeft() throws {
        var log = try makeLog(list0: 2, longTerm: 0)
        try log.add(0...5)
        log.lose(from: 2)
        try log.add(6...7)
        #expect(last(log, 2) == ["6I", "7P[6]"])
        try check(log)
    }

    @Test func pendingPicturesBeginWithTheIDRPicture() throws {
        var log = try makeLog(list0: 1, longTerm: 0) { $0.consecutiveBFrames = 3 }
        try log.add(0...6)  // 5 and 6 wait
        log.lose(from: 0)
        try log.add(7...9)
        #expect(last(log, 5) == ["5I", "9P[5]", "6b[5|9]", "7b[5|9]", "8b[5|9]"])
        try check(log)
    }

    @Test func acknowledgedPicturesAreNotLost() throws {
        var log = try makeLog(longTerm: 0)
        try log.add(0...5)
        log.acknowledge(3)
        log.lose(from: 2)
        try log.add(6...6)
        #expect(last(log) == ["6P[3,2]"])  // 3 was decoded, so 2 was
        log.acknowledge(5)
        try log.add(7...7)
        #expect(last(log) == ["7P[6,3]"])  // a later report that 5 was decoded, which may be gone by now
        try check(log)
    }

    @Test func reportsOnOtherSequencesMeanNothing() throws {
        var log = try makeLog(longTerm: 0)
        try log.add(0...3)
        try log.add(InputPicture(number: 4, forceKeyFrame: true))
        log.lose(0...3)
        log.lose(5...9)  // not coded yet
        log.acknowledge(77)
        try log.add(5...5)
        #expect(last(log) == ["5P[4]"])
        try check(log)
    }

    @Test func longTermReferencesStayUntilTheyAreReplaced() throws {
        var log = try makeLog(list0: 2, longTerm: 2)
        try log.add(InputPicture(number: 0))
        try log.add(InputPicture(number: 1, longTermIndex: 1))
        try log.add(2...10)
        #expect(last(log) == ["10P[9,8]"])
        log.lose(from: 2)
        try log.add(11...11)
        #expect(last(log) == ["11P[1L1]"])
        try log.add(InputPicture(number: 12, longTermIndex: 1))
        #expect(log.plan.last?.dropped.contains(PictureReference(number: 1, longTermIndex: 1)) == true)
        #expect(log.plan.last?.retained.contains(PictureReference(number: 12, longTermIndex: 1)) == true)
        try check(log)
    }

    @Test func aMarkedPictureEndsItsGroup() throws {
        var log = try makeLog(list0: 1, longTerm: 1) { $0.consecutiveBFrames = 4 }
        try log.add(0...2)
        try log.add(InputPicture(number: 3, longTermIndex: 0))
        #expect(last(log, 3) == ["3PL0[0]", "1b[0|3L0]", "2b[0|3L0]"])
        // What the B-frames would refer to is given up for 6, so they come first.
        try log.add(4...5)
        try log.add(InputPicture(number: 6, longTermIndex: 0))
        #expect(last(log, 3) == ["5P[3L0]", "4b[3L0|5]", "6PL0[5]"])
        try check(log)
    }

    @Test func aRecoveryPointEndsLongTermReferences() throws {
        var log = try makeLog(list0: 2, longTerm: 2) { $0.randomAccess = .open(interval: 4) }
        try log.add(InputPicture(number: 0, longTermIndex: 1))
        try log.add(1...3)
        try log.add(InputPicture(number: 4, longTermIndex: 0))
        #expect(log.plan.last?.text == "4RL0")
        #expect(log.plan.last?.retained.filter { $0.longTermIndex != nil }.map(\.number) == [4])
        try log.add(5...8)
        #expect(log.plan.last?.retained.contains { $0.longTermIndex != nil } == false)
        try check(log)
    }

    @Test func aLossBeginsANewWaveOfIntraRefresh() throws {
        var log = try makeLog(list0: 3, longTerm: 0) { $0.randomAccess = .intraRefresh(period: 5) }
        try log.add(0...4)
        log.lose(4...4)
        try log.add(5...6)
        #expect(last(log, 2) == ["5P[3]", "6P[5]"])
        #expect(log.plan.map(\.refreshPosition) == [nil, 0, 1, 2, 3, 0, 1])
        try check(log)
    }

    @Test func reportsOnWhatIsForgottenConcernEverything() throws {
        var structure = GOPStructure()
        structure.longTermReferences = 1
        var planner = try GOPPlanner(structure)
        _ = try planner.add(InputPicture(number: 0, longTermIndex: 0))
        var last: [PlannedPicture] = []
        for number: Int64 in 1...5000 { last = try planner.add(InputPicture(number: number)) }
        #expect(last.map(\.text) == ["5000P[4999]"])
        planner.acknowledge(0)
        planner.invalidate(1...1)
        #expect(try planner.add(InputPicture(number: 5001)).map(\.text) == ["5001P[0L0]"])
        planner.invalidate(5000...5000)
        #expect(try planner.add(InputPicture(number: 5002)).map(\.text) == ["5002P[5001]"])
        planner.invalidate(-9 ... -1)  // before the IDR picture
        #expect(try planner.add(InputPicture(number: 5003)).map(\.text) == ["5003P[5002]"])
    }

    /// What a receiver really lacks: the lost pictures, and what depends on them up to the report.
    private func lacking(_ log: PlanLog, _ lost: Set<Int64>, reportedAfter count: Int) -> Set<Int64> {
        var damaged = lost
        for picture in log.plan.prefix(count)
        where (picture.list0 + picture.list1).contains(where: { damaged.contains($0.number) }) {
            damaged.insert(picture.number)
        }
        return damaged
    }

    @Test(arguments: [0, 2], [1, 3]) func receiversDecodeOnWithoutLostPictures(lost: Int, places: Int) throws {
        for (first, told, marks) in [(12, 17, []), (12, 24, [8]), (12, 18, [8, 12, 20]), (9, 60, [8, 10, 61, 70])] {
            var log = try makeLog(list0: places, longTerm: 3)
            let range = Int64(first)...Int64(first + lost)
            var missing: Set<Int64> = []
            for number in 0..<Int64(90) {
                if number == told {
                    missing = lacking(log, Set(range), reportedAfter: log.plan.count)
                    log.lose(range)
                }
                let index = marks.firstIndex(of: Int(number)).map { min($0, 1) }
                try log.add(InputPicture(number: number, longTermIndex: index))
            }
            try check(log)
            #expect(missing.count > lost && missing.allSatisfy { $0 < told })
            #expect(
                try Replay(log.structure, log.plan, log2MaxFrameNum: 12, log2MaxLsb: 12).violations(without: missing)
                    == []
            )
            let hevc = try HEVCReplay(log.structure, log.plan, log2MaxLsb: 12)
            #expect(hevc.violations() == [])
            #expect(hevc.violations(without: missing) == [])
        }
    }

    @Test func damageOutlivesThePictureThatCausedIt() throws {
        var structure = GOPStructure()
        structure.list0Limit = 2
        structure.longTermReferences = 1
        var planner = try GOPPlanner(structure)
        for number: Int64 in 0...1 { _ = try planner.add(InputPicture(number: number)) }
        let marked = try planner.add(InputPicture(number: 2, longTermIndex: 0))
        #expect(marked.map(\.text) == ["2PL0[1,0]"])
        planner.invalidate(1...1)
        for number: Int64 in 3...5000 { _ = try planner.add(InputPicture(number: number)) }
        planner.invalidate(4000...5000)
        #expect(try planner.add(InputPicture(number: 5001)).map(\.text) == ["5001I"])
    }
}
