// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// What follows from the raw data of a report: a pure function of it.
struct DerivedFigures: Sendable {
    /// Medians of repeats.
    let points: [PointFigures]
    /// Encoders against x264 and x265.
    let comparisons: [CurveComparison]
    /// How many streams fit, and what one costs.
    let density: [DensityFigures]
    /// What a reader must know, the weightiest first.
    let warnings: [BenchmarkReport.Warning]

    /// Works them out.
    init(_ report: BenchmarkReport) {
        points = report.pointFigures
        comparisons = report.curveComparisons(of: points)
        density = report.density.map { DensityFigures($0, price: report.plan.price) }
        warnings = report.warnings(points: points)
    }

    /// The series of a clip, in the order in which they were first run.
    func series(of clip: String) -> [SeriesKey] {
        var keys: [SeriesKey] = []
        for point in points where point.series.clip == clip && !keys.contains(point.series) {
            keys.append(point.series)
        }
        return keys
    }

    /// The points of a series by ascending delivered bit rate; those without one come last.
    func points(of series: SeriesKey) -> [PointFigures] {
        points.filter { $0.series == series }
            .map { ($0, $0[.bitRate]?.median ?? .infinity) }
            .sorted { $0.1 < $1.1 }
            .map(\.0)
    }

    /// Frames per second of a series: the geometric mean of its points' medians.
    func speed(of series: SeriesKey) -> Double? {
        let speeds = points(of: series).compactMap { $0[.speed]?.median }.filter { $0 > 0 }
        return speeds.isEmpty ? nil : speeds.geometricMean
    }
}

extension [Double] {
    /// Of positive numbers; not a number if there are none.
    var geometricMean: Double { exp(reduce(0) { $0 + log($1) } / Double(count)) }
}
