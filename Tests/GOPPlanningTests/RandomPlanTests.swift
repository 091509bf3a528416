// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

@testable import GOPPlanning

/// Random structures, pictures and reports: every plan keeps its promises, and a decoder that does as H.264 says gets
/// the lists that the plan names, shows every picture in order and never runs out of room.
///
/// `VATOOLBOX_SEED` plays one scenario again; `VATOOLBOX_SEQUENCES` sets how many are played.
@Suite(.timeLimit(.minutes(60))) struct RandomPlanTests {
    @Test func noScenarioBreaksAPromise() throws {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["VATOOLBOX_SEED"].flatMap(UInt64.init) { return try play(seed) }
        for seed in 0..<(environment["VATOOLBOX_SEQUENCES"].flatMap(UInt64.init) ?? 1000) { try play(seed) }
    }

    private func play(_ seed: UInt64) throws {
        let scenario = try Scenario(seed: seed)
        let replay = try Replay(
            scenario.structure,
            scenario.log.plan,
            log2MaxFrameNum: scenario.log2MaxFrameNum,
            log2MaxLsb: scenario.log2MaxLsb
        )
        let violations = PlanChecker.violations(of: scenario.log) + replay.violations()
        if let first = violations.first { Issue.record("\(first) (VATOOLBOX_SEED=\(seed))") }
    }
}
