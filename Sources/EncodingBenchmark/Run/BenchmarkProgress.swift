// SPDX-License-Identifier: GPL-2.0-or-later

/// How far a benchmark has come.
package struct BenchmarkProgress: Sendable, Hashable {
    /// What goes on, in words.
    package var activity: String
    /// Runs and searches that are over.
    package var done: Int
    /// All of them.
    package var total: Int
    /// Seconds that the rest takes, about; `nil` before there is something to judge by.
    package var remaining: Double?
}

/// Estimates how long the rest of a plan takes, by how long runs have taken so far.
struct RunClock {
    private var known: [BenchmarkRun: [Double]] = [:]
    private var ofEncoders: [BenchmarkEncoder: [Double]] = [:]
    private var all: [Double] = []

    /// Takes what a run has taken in seconds, all that belongs to it included.
    mutating func note(_ run: BenchmarkRun, _ seconds: Double) {
        known[Self.combination(run), default: []].append(seconds)
        ofEncoders[run.encoder, default: []].append(seconds)
        all.append(seconds)
    }

    /// Seconds that runs will take; `nil` if nothing is known.
    ///
    /// Each takes what the same combination has taken, else what its encoder, else what any run has taken on average.
    func remaining(_ runs: some Sequence<BenchmarkRun>) -> Double? {
        guard let any = Self.mean(all) else { return nil }
        return runs.reduce(0) { sum, run in
            let same = known[Self.combination(run)].flatMap(Self.mean)
            return sum + (same ?? ofEncoders[run.encoder].flatMap(Self.mean) ?? any)
        }
    }

    private static func combination(_ run: BenchmarkRun) -> BenchmarkRun {
        var run = run
        run.repetition = 0
        return run
    }

    private static func mean(_ values: [Double]) -> Double? {
        values.isEmpty ? nil : values.reduce(0, +) / Double(values.count)
    }
}
