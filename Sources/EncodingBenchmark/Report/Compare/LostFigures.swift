// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Figures that the earlier report contains and the later one lacks.
extension ReportComparison {
    /// Returns the points in both reports, in the order of the earlier report.
    static func common(_ before: [PointFigures], _ after: [PointFigures]) -> [(old: PointFigures, new: PointFigures)] {
        before.compactMap { old in after.first { $0.point == old.point }.map { (old, $0) } }
    }

    /// Returns rows for points whose share of failed repetitions changed. There is no tolerance, because there are no
    /// partial failures.
    static func failureRows(_ key: SeriesKey, _ before: [PointFigures], _ after: [PointFigures]) -> [Row] {
        common(before, after).compactMap { old, new in
            // The later report may have another number of repetitions.
            let change = new.failedRuns * old.runs - old.failedRuns * new.runs
            guard change != 0 else { return nil }
            return Row(
                subject: "\(key.title) at \(old.point.text)",
                figure: "runs that failed",
                before: "\(old.failedRuns) of \(old.runs)",
                after: "\(new.failedRuns) of \(new.runs)",
                ratio: nil,
                verdict: change > 0 ? .worse : .better,
                remark: change > 0 ? reason(new.failures.first) : ""
            )
        }
    }

    /// Returns a row for the number of measured points that lost their quality; `nil` if there are none.
    ///
    /// A point with dropped frames has no quality either. This may happen by chance at some points, and has its own
    /// figure.
    static func lostQualityRow(_ key: SeriesKey, _ before: [PointFigures], _ after: [PointFigures]) -> Row? {
        let known = common(before, after).filter { $0.old.hasQuality && !$0.new.measurements.isEmpty }
        let lost = known.map(\.new).filter { !$0.hasQuality }
        guard let example = lost.first(where: { !$0.dropsFrames }) ?? lost.first else { return nil }
        return Row(
            subject: key.title,
            figure: "points with a quality figure",
            before: "\(known.count)",
            after: "\(known.count - lost.count)",
            ratio: nil,
            verdict: example.dropsFrames && lost.count < known.count ? .unclear : .worse,
            remark: reason(example.qualityAbsence)
        )
    }

    /// Returns rows for stream counts. One more or less is within the precision of a search, unless it is the only
    /// stream.
    static func densityRows(_ before: BenchmarkReport, _ after: BenchmarkReport) -> [Row] {
        before.density.compactMap { old in
            let new = after.counterpart(of: old)
            guard new != nil || after.owes(old, to: before) else { return nil }
            let (verdict, remark) = judge(old.streams, new?.streams)
            return Row(
                subject: "\(old.clip), \(old.encoder), density",
                figure: "streams",
                before: "\(old.streams)",
                after: new.map { "\($0.streams)" } ?? "-",
                ratio: nil,
                verdict: verdict,
                remark: remark
            )
        }
    }

    private static func judge(_ old: Int, _ new: Int?) -> (Verdict, String) {
        guard let new else { return (.worse, "not measured any more") }
        return switch new - old {
        case 0: (.same, "")
        case _ where new == 0: (.worse, "no stream in real time any more")
        case _ where old == 0: (.better, "no stream in real time before")
        case -1, 1: (.same, "one more or less is within noise")
        case let change: (change < 0 ? .worse : .better, "")
        }
    }

    /// Returns the items that only one of the reports contains: series, points, kinds of quality, and stream counts.
    static func unmatched(
        _ before: (report: BenchmarkReport, figures: DerivedFigures),
        _ after: (report: BenchmarkReport, figures: DerivedFigures)
    ) -> [String] {
        let lost = before.report.density.filter {
            after.report.counterpart(of: $0) == nil && !after.report.owes($0, to: before.report)
        }
        let new = after.report.density.filter { before.report.counterpart(of: $0) == nil }
        let kinds = after.figures.points.lostQualities(from: before.figures.points).map { quality in
            let why = after.figures.points.lazy.compactMap { $0.measurements.first?.run.quality.absence(of: quality) }
            return "\(quality.title)\(why.first.map { " (\($0))" } ?? "")"
        }
        return (before.figures.titles(missingIn: after.figures) + kinds + lost.map(\.title)).map {
            "only before: \($0)"
        }
            + (after.figures.titles(missingIn: before.figures)
            + before.figures.points.lostQualities(from: after.figures.points).map(\.title) + new.map(\.title))
            .map { "only after: \($0)" }
    }

    private static func reason(_ words: String?) -> String { Readable.shortened(Readable.oneLine(words ?? "")) }
}

extension BenchmarkReport {
    /// Returns the stream count for the same streams in this report.
    fileprivate func counterpart(of other: Density) -> Density? {
        density.first { $0.clip == other.clip && $0.encoder == other.encoder && $0.point == other.point }
    }

    /// Returns whether this report should contain a stream count of an earlier report: it has the encoder and the clip,
    /// the search was requested, and the benchmark was not stopped before it.
    fileprivate func owes(_ other: Density, to earlier: BenchmarkReport) -> Bool {
        isComplete && encoders.contains { $0.id == other.encoder } && clips.contains { $0.id == other.clip }
            && (plan.density != nil || earlier.plan.density == nil)
    }
}

extension BenchmarkReport.Density {
    fileprivate var title: String { "\(clip), \(encoder), density at \(point.text)" }
}

extension DerivedFigures {
    /// Returns the series, and the points of common series, that another report lacks.
    fileprivate func titles(missingIn other: DerivedFigures) -> [String] {
        let known = Set(other.points.map(\.series))
        var series: [SeriesKey] = []
        for point in points where !known.contains(point.series) && !series.contains(point.series) {
            series.append(point.series)
        }
        let single = points.filter { point in
            known.contains(point.series)
                && !other.points.contains { $0.series == point.series && $0.point == point.point }
        }
        return series.map(\.title) + single.map { "\($0.series.title) at \($0.point.text)" }
    }
}

extension [PointFigures] {
    /// Returns the kinds of quality that others have and these lack, although they have another kind.
    fileprivate func lostQualities(from others: [PointFigures]) -> [Metric] {
        guard contains(where: \.hasQuality) else { return [] }
        return Metric.qualities.filter { quality in
            others.contains { $0[quality] != nil } && !contains { $0[quality] != nil }
        }
    }
}

extension PointFigures {
    fileprivate var hasQuality: Bool { Metric.qualities.contains { self[$0] != nil } }

    fileprivate var dropsFrames: Bool { measurements.contains { $0.run.framesDropped > 0 } }

    /// The reason for the missing quality, from the first repetition.
    fileprivate var qualityAbsence: String {
        guard let quality = measurements.first?.run.quality else { return "" }
        if quality.frames != 0, quality.frames != context.clip.frameCount {
            return "\(quality.frames) of \(context.clip.frameCount) frames were compared"
        }
        return quality.psnr.absence ?? quality.ssim.absence ?? "no frame was compared"
    }
}

extension BenchmarkReport.Quality {
    /// Returns the reason for a missing kind of quality.
    fileprivate func absence(of quality: Metric) -> String? {
        switch quality.id {
        case Metric.psnr.id: psnr.absence
        case Metric.ssim.id: ssim.absence
        case Metric.vmaf.id: vmaf.absence
        case Metric.xpsnr.id: xpsnr.absence
        default: nil
        }
    }
}
