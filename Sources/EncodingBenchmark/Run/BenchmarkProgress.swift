// SPDX-License-Identifier: GPL-2.0-or-later

/// The progress of a benchmark.
package struct BenchmarkProgress: Sendable, Hashable {
    /// The current activity, as text.
    package var activity: String
    /// The number of completed runs and searches.
    package var done: Int
    /// The total number of runs and searches.
    package var total: Int
    /// The estimated remaining time in seconds; `nil` until it can be estimated.
    package var remaining: Double?
}

/// Estimates the remaining time of a plan from the durations of completed runs.
struct RunClock {
    private var known: [BenchmarkRun: [Double]] = [:]
    private var ofEncoders: [BenchmarkEncoder: [Double]] = [:]
    private var all: [Double] = []

    /// Records the duration of a run in seconds, including everything that belongs to it.
    mutating func note(_ run: BenchmarkRun, _ seconds: Double) {
        known[Self.combination(run), default: []].append(seconds)
        ofEncoders[run.encoder, default: []].append(seconds)
        all.append(seconds)
    }

    /// Returns the estimated duration of runs in seconds; `nil` if nothing is known.
    ///
    /// The estimate for a run is the duration of the same combination, otherwise the average of its encoder, otherwise
    /// that of all runs.
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
