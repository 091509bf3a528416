// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import EncodingBenchmark

@Suite struct RunOrderTests {
    private var plan: BenchmarkPlan {
        var plan = BenchmarkPlan()
        plan.encoders = ["x264:fast", "x264:medium", "x265:fast"].compactMap(BenchmarkEncoder.init(text:))
        plan.points = ["1M", "2M"].compactMap(BenchmarkPoint.init(text:))
        plan.repeats = 3
        plan.warmups = 1
        return plan
    }

    @Test func everyRoundHasEveryCombinationOnce() {
        let runs = plan.runs()
        #expect(runs.count == 3 * 2 * 4)
        let rounds = stride(from: 0, to: runs.count, by: 6).map { Array(runs[$0..<$0 + 6]) }
        #expect(rounds.map { $0[0].repetition } == [0, 1, 2, 3])
        for round in rounds {
            #expect(Set(round.map(\.repetition)).count == 1)
            #expect(Set(round.map { "\($0.encoder) \($0.point)" }).count == 6)
        }
    }

    @Test func roundsBeginDifferently() {
        let runs = plan.runs()
        let firsts = stride(from: 0, to: runs.count, by: 6).map { "\(runs[$0].encoder) \(runs[$0].point)" }
        #expect(Set(firsts).count == firsts.count)
    }

    @Test func elementsRotateFromRoundToRound() {
        let rounds = (0..<4).map { [1, 2].rotated(inRound: $0, of: 4) }
        #expect(rounds == [[1, 2], [1, 2], [2, 1], [2, 1]])
        #expect([Int]().rotated(inRound: 1, of: 2).isEmpty)
    }

    @Test func comparedEncodersAreNeighbours() {
        #expect(plan.runs().prefix(3).map(\.encoder) == plan.encoders)
        #expect(Set(plan.runs().prefix(3).map(\.point)).count == 1)
    }

    @Test func warmupsDoNotCount() {
        #expect(plan.runs().filter(\.isWarmUp).count == 6)
    }

    @Test func usualRatesAreAnOctaveApart() {
        var plan = BenchmarkPlan()
        plan.points = []
        let rates = plan.points(for: BenchmarkSize(width: 1280, height: 720)).map(\.text)
        #expect(rates == ["1M", "2M", "4M", "8M"])
        let small = plan.points(for: BenchmarkSize(width: 320, height: 180)).compactMap(\.bitsPerSecond)
        #expect(small.count == 4 && zip(small, small.dropFirst()).allSatisfy { $0 < $1 })
    }
}
