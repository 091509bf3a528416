// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// The figures that follow from the raw data of a report, as a pure function of it.
struct DerivedFigures: Sendable {
    /// The medians of the repetitions.
    let points: [PointFigures]
    /// The comparisons of encoders with x264 and x265.
    let comparisons: [CurveComparison]
    /// The number of streams and the cost per stream.
    let density: [DensityFigures]
    /// The warnings for the reader, most important first.
    let warnings: [BenchmarkReport.Warning]

    /// Computes the figures.
    init(_ report: BenchmarkReport) {
        points = report.pointFigures
        comparisons = report.curveComparisons(of: points)
        density = report.density.map { DensityFigures($0, price: report.plan.price) }
        warnings = report.warnings(points: points)
    }

    /// Returns the series of a clip, in the order of their first runs.
    func series(of clip: String) -> [SeriesKey] {
        var keys: [SeriesKey] = []
        for point in points where point.series.clip == clip && !keys.contains(point.series) {
            keys.append(point.series)
        }
        return keys
    }

    /// Returns the points of a series by ascending output bitrate, with points without one last.
    func points(of series: SeriesKey) -> [PointFigures] {
        points.filter { $0.series == series }
            .map { ($0, $0[.bitRate]?.median ?? .infinity) }
            .sorted { $0.1 < $1.1 }
            .map(\.0)
    }

    /// Returns the speed of a series in frames per second: the geometric mean of its points' medians.
    func speed(of series: SeriesKey) -> Double? {
        let speeds = points(of: series).compactMap { $0[.speed]?.median }.filter { $0 > 0 }
        return speeds.isEmpty ? nil : speeds.geometricMean
    }
}

extension [Double] {
    /// The geometric mean of positive numbers; not a number if there are none.
    var geometricMean: Double { exp(reduce(0) { $0 + log($1) } / Double(count)) }
}
