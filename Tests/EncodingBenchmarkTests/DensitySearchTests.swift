// SPDX-License-Identifier: GPL-2.0-or-later

import EncodingBenchmark
import Testing

@Suite struct DensitySearchTests {
    /// Searches on a machine that keeps so many streams, and on which single trials may be disturbed.
    ///
    /// - Parameter isDisturbed: Whether a trial says the opposite of the truth: the count, and how often it was tried before.
    private func search(
        limit: Int,
        maximum: Int = 64,
        confirmations: Int = 3,
        isDisturbed: (Int, Int) -> Bool = { _, _ in false }
    ) -> (result: Int, isAtMaximum: Bool, trials: [Int]) {
        var search = DensitySearch(maximum: maximum, confirmations: confirmations)
        var trials: [Int] = []
        while let streams = search.next, trials.count < 1000 {
            let isKept = (streams <= limit) != isDisturbed(streams, trials.count { $0 == streams })
            search.record(streams, isKept: isKept)
            trials.append(streams)
        }
        return (search.result, search.isAtMaximum, trials)
    }

    @Test(arguments: 0...64)
    func findsTheLimit(_ limit: Int) {
        let found = search(limit: limit)
        #expect(found.result == limit)
        #expect(found.isAtMaximum == (limit == 64))
    }

    @Test func doublesThenHalves() {
        #expect(search(limit: 11, confirmations: 1).trials == [1, 2, 4, 8, 16, 12, 10, 11])
    }

    @Test func countsThatDecideAreConfirmed() {
        let trials = search(limit: 11).trials
        #expect(trials.count { $0 == 11 } == 2 && trials.count { $0 == 12 } == 2)
    }

    @Test(arguments: 1...40)
    func oneDisturbedTrialMovesTheResultByOneAtMost(_ limit: Int) {
        // The trial next to the limit, on either side, is wrong the first time.
        for disturbed in [limit, limit + 1] {
            let found = search(limit: limit, isDisturbed: { $0 == disturbed && $1 == 0 })
            #expect(abs(found.result - limit) <= 1, "\(limit) with \(disturbed) disturbed: \(found.trials)")
        }
    }

    @Test(arguments: [0, 1, 5, 100])
    func neverTriesMoreThanAllowed(_ limit: Int) {
        let found = search(limit: limit, maximum: 5)
        #expect(found.trials.allSatisfy { (1...5).contains($0) })
        #expect(found.result == min(limit, 5))
    }

    @Test func endsWhateverTrialsSay() {
        var state: UInt64 = 1
        for _ in 0..<200 {
            let found = search(limit: 7) { _, _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return state >> 62 == 0
            }
            #expect(found.trials.count < 1000)
        }
    }
}
