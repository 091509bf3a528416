// SPDX-License-Identifier: GPL-2.0-or-later

import GOPPlanning
import MediaTypes
import Testing

/// Temporal layers: what is in which, what refers to what, and that the lower ones can do without the upper ones.
@Suite struct LayerTests {
    private func log(layers: Int, bFrames: Int = 0, _ numbers: ClosedRange<Int64>) throws -> PlanLog {
        var structure = GOPStructure()
        structure.temporalLayers = layers
        structure.consecutiveBFrames = bFrames
        structure.list0Limit = 2
        var log = try PlanLog(structure)
        try log.add(numbers)
        log.finish()
        #expect(PlanChecker.violations(of: log) == [])
        #expect(try Replay(structure, log.plan).violations() == [])
        return log
    }

    @Test func everySecondPictureIsInTheUpperOfTwoLayers() throws {
        let plan = try log(layers: 2, 0...5).plan
        #expect(plan.map(\.text) == ["0I", "1p[0]", "2P[0]", "3p[2,0]", "4P[2,0]", "5p[4,2]"])
        #expect(plan.map(\.temporalLayer) == [0, 1, 0, 1, 0, 1])
    }

    @Test func threeLayersHalveTheRateTwice() throws {
        let plan = try log(layers: 3, 0...8).plan
        #expect(
            plan.map(\.text)
                == ["0I", "1p[0]", "2p[0]", "3p[0]", "4P[0]", "5p[4,0]", "6p[4,0]", "7p[4,0]", "8P[4,0]"]
        )
        #expect(plan.map(\.temporalLayer) == [0, 2, 1, 2, 0, 2, 1, 2, 0])
    }

    @Test func bFramesAreTheUpperLayers() throws {
        let plan = try log(layers: 3, bFrames: 3, 0...4).plan
        #expect(plan.map(\.text) == ["0I", "4P[0]", "1b[0|4]", "2b[0|4]", "3b[0|4]"])
        #expect(plan.map(\.temporalLayer) == [0, 0, 2, 1, 2])
    }

    @Test func thePatternBeginsAnewAtMarksAndKeyFrames() throws {
        var structure = GOPStructure()
        structure.temporalLayers = 3
        structure.longTermReferences = 1
        structure.randomAccess = .open(interval: nil)
        var log = try PlanLog(structure)
        try log.add(0...1)
        try log.add(InputPicture(number: 2, longTermIndex: 0))
        try log.add(3...4)
        try log.add(InputPicture(number: 5, isKeyFrameDue: true))
        try log.add(6...8)
        try log.add(InputPicture(number: 9, forceKeyFrame: true))
        try log.add(10...11)
        log.finish()
        #expect(log.plan.map(\.temporalLayer) == [0, 2, 0, 2, 1, 0, 2, 1, 2, 0, 2, 1])
        #expect(PlanChecker.violations(of: log) == [])
        #expect(try Replay(structure, log.plan).violations() == [])
    }
}
