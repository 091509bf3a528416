// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A series: one encoder on one clip in one mode.
struct SeriesKey: Hashable, Sendable {
    let clip: String
    let encoder: String
    let mode: BenchmarkMode
}

/// The figures of a series at one point, over all repetitions.
struct PointFigures: Sendable {
    let series: SeriesKey
    let point: BenchmarkPoint
    let context: RunContext
    /// The valid repetitions, by ``BenchmarkReport/Run/repetition``.
    let measurements: [(repetition: Int, run: BenchmarkReport.Measurement)]
    /// The reasons for failed repetitions, without duplicates.
    let failures: [String]
    /// The number of failed repetitions.
    let failedRuns: Int

    /// The number of repetitions.
    var runs: Int { measurements.count + failedRuns }

    /// Returns the values of a metric, in the order of repetition, for the repetitions that have one.
    func values(of metric: Metric) -> [(repetition: Int, value: Double)] {
        measurements.compactMap { repetition, run in
            metric.value(run, context).flatMap { $0.isFinite ? (repetition, $0) : nil }
        }
    }

    /// Returns the median of the repetitions with its interval; `nil` if none has a value.
    subscript(metric: Metric) -> MedianInterval? {
        (try? Distribution(values(of: metric).map(\.value)))?.medianInterval()
    }

    /// Returns the position of the point on a rate-quality curve, by medians.
    func position(by quality: Metric) -> RateQualityPoint? {
        guard let rate = self[.bitRate]?.median, let value = self[quality]?.median, rate > 0 else { return nil }
        return RateQualityPoint(rate: rate, quality: value)
    }
}

extension BenchmarkReport {
    /// The figures over repetitions, in the order of the points' first runs, without warm-ups.
    var pointFigures: [PointFigures] {
        struct Key: Hashable {
            let series: SeriesKey
            let point: BenchmarkPoint
        }
        let clips = Dictionary(clips.map { ($0.id, $0) }) { first, _ in first }
        var order: [Key] = []
        var groups: [Key: [Run]] = [:]
        for run in runs where !run.isWarmUp {
            let series = SeriesKey(clip: run.clip, encoder: run.encoder, mode: run.mode)
            let key = Key(series: series, point: run.point)
            if groups[key] == nil { order.append(key) }
            groups[key, default: []].append(run)
        }
        return order.compactMap { key in
            guard let clip = clips[key.series.clip], let runs = groups[key] else { return nil }
            var failures: [String] = []
            for failure in runs.compactMap(\.result.absence) where !failures.contains(failure) {
                failures.append(failure)
            }
            return PointFigures(
                series: key.series,
                point: key.point,
                context: RunContext(clip: clip, point: key.point),
                measurements: runs.compactMap { run in run.result.value.map { (run.repetition, $0) } }
                    .sorted { $0.repetition < $1.repetition },
                failures: failures,
                failedRuns: runs.count { $0.result.absence != nil }
            )
        }
    }
}
