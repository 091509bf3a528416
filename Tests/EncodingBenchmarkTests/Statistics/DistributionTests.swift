// SPDX-License-Identifier: GPL-2.0-or-later

import EncodingBenchmark
import MediaTypes
import Testing

@Suite struct DistributionTests {
    @Test func quantilesAreThoseOfNumPy() throws {
        // numpy.quantile([15, 20, 35, 40, 50], [0.05, 0.3, 0.4, 0.9, 0.99])
        let values = try Distribution([35, 15, 50, 20, 40])
        for (part, expected) in [(0.05, 16), (0.3, 23), (0.4, 29), (0.9, 46), (0.99, 49.6)] {
            #expect(abs(values.quantile(part) - expected) < 1e-9)
        }
        #expect(values.quantile(0) == 15 && values.quantile(-1) == 15)
        #expect(values.quantile(1) == 50 && values.quantile(2) == 50)
        #expect(values.median == 35 && values.minimum == 15 && values.maximum == 50 && values.mean == 32)
        #expect(try Distribution([1, 2, 3, 10]).median == 2.5)
        #expect(try Distribution([7]).quantile(0.99) == 7)
    }

    @Test func nothingAndNoNumbersAreErrors() {
        for values in [[], [.nan], [1, .infinity]] {
            #expect(throws: MediaError.self) { try Distribution(values) }
        }
    }

    /// Ranks of the ends of 95 % intervals, and what they come to, from tables of the sign test.
    @Test(arguments: [
        (1, 1, 1, 0.0), (5, 1, 5, 0.9375), (6, 1, 6, 0.96875), (8, 1, 8, 0.9921875), (9, 2, 8, 0.9609375),
        (11, 2, 10, 0.98828125), (12, 3, 10, 0.961426), (20, 6, 15, 0.958611), (31, 10, 22, 0.970551),
        (50, 18, 33, 0.967161), (100, 40, 61, 0.964800),
    ])
    func intervalsAreThoseOfTheSignTest(count: Int, low: Int, high: Int, confidence: Double) throws {
        let interval = try Distribution((1...count).map(Double.init).shuffled()).medianInterval()
        #expect(interval.low == Double(low) && interval.high == Double(high))
        #expect(abs(interval.confidence - confidence) < 1e-6)
        #expect(interval.median == Double(count + 1) / 2 && interval.count == count)
    }

    @Test func manyValuesHaveAnInterval() throws {
        let interval = try Distribution((1...100_000).map(Double.init)).medianInterval()
        // Half of the count and 1.96 times half of its root.
        #expect(abs(interval.low - 49_690) < 3 && abs(interval.high - 50_311) < 3)
        #expect(interval.confidence >= 0.95 && interval.confidence < 0.951)
    }

    @Test func intervalsHoldTheMedianAsOftenAsTheySay() throws {
        var random = Numbers(state: 7)
        var held = 0
        for _ in 0..<4000 {
            // Skewed, as latencies are: squares of equally distributed numbers, whose median is a quarter.
            let values = (0..<15).map { _ in random.part() }.map { $0 * $0 }
            if try Distribution(values).medianInterval().contains(0.25) { held += 1 }
        }
        // 96.5 % are expected; the numbers are the same in every run.
        #expect((3810...3910).contains(held))
    }

    @Test func pairsTellWhatNoiseAllows() throws {
        let drift = (0..<31).map { 100 + Double($0) * 7 }
        let noise = (0..<31).map { 1 + (Double($0 * 13 % 31) - 15) / 1000 }
        let equal = try PairedRatio(zip(drift, noise).map { ($0 * $1, $0) })
        #expect(equal.verdict == .equalWithinNoise && equal.interval.contains(1) && equal.ratios.count == 31)
        let faster = try PairedRatio(zip(drift, noise).map { ($0 * $1 * 1.02, $0) })
        #expect(faster.verdict == .firstIsLarger && abs(faster.interval.median - 1.02) < 0.001)
        let slower = try PairedRatio(zip(drift, noise).map { ($0 * $1 * 0.98, $0) })
        #expect(slower.verdict == .secondIsLarger)
    }

    @Test func pairsWithoutARatioAreErrors() {
        for pairs in [[], [(1.0, 0.0)], [(-1.0, 1.0)], [(1.0, 2.0), (.nan, 1.0)]] {
            #expect(throws: MediaError.self) { try PairedRatio(pairs.map { (first: $0.0, second: $0.1) }) }
        }
    }
}

/// Reproducible numbers, by a linear congruential generator.
private struct Numbers {
    var state: UInt64

    /// From 0 to 1.
    mutating func part() -> Double {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Double(state >> 11) / Double(1 << 53)
    }
}
