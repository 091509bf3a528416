// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// What changed from one report to another, beyond noise.
public struct ReportComparison: Sendable {
    /// Reasons for which two reports are not compared, unless somebody insists.
    public enum Obstacle: String, Sendable, Hashable, CaseIterable {
        /// Clips of one name are other pictures.
        case clips
        /// Other repeats, points or modes were asked for.
        case plan
        /// The CPU or the GPUs are others.
        case machine
        /// An encoder of one name has other settings or gets pictures in another way.
        case settings
    }

    /// What can be said of a figure.
    public enum Verdict: String, Sendable, Hashable {
        /// Worse beyond noise and tolerance.
        case worse
        /// Better beyond noise and tolerance.
        case better
        /// Changed beyond noise and tolerance, where neither way is better.
        case changed
        /// No change beyond noise, or less than the tolerance.
        case same
        /// Too few repeats, or too few points of a curve, or curves that share too little, to tell.
        case unclear
    }

    /// One figure of an encoder in both reports.
    public struct Row: Sendable, Hashable {
        /// The clip, the encoder and the mode.
        public let subject: String
        /// The figure with its unit.
        public let figure: String
        /// The value in each report, as people read it.
        public let before: String, after: String
        /// The later value divided by the earlier one, with its interval; `nil` for what has no ratio.
        public let ratio: MedianInterval?
        /// What that means.
        public let verdict: Verdict
        /// Why nothing can be said, or how the figure was judged; empty if it goes without saying.
        public let remark: String
    }

    /// What differs that forbids a comparison.
    public let obstacles: [(obstacle: Obstacle, difference: String)]
    /// What differs that may be the very thing that is compared: versions of programs and drivers.
    public let differences: [String]
    /// All figures that both have, and those that the later report ought to have; empty if an obstacle stands in the way.
    public let rows: [Row]
    /// What only one report has, where that is neither better nor worse.
    public let unmatched: [String]

    /// How a change is told from noise.
    public struct Rule: Sendable, Hashable {
        /// Changes below this part of the value are none, 0...: 0.02 is 2 %.
        public var tolerance = 0.02
        /// The confidence that an interval must have for a verdict. High, for many figures are compared at once; it takes
        /// eight pairs of repeats.
        public var confidence = 0.99

        /// The usual rule.
        public init() {}
    }

    /// Compares two reports.
    ///
    /// - Parameters:
    ///   - before: The report that changes are counted from.
    ///   - after: The report that is judged.
    ///   - rule: What counts as a change.
    ///   - accepted: Obstacles that somebody insists on ignoring.
    public init(
        _ before: BenchmarkReport,
        _ after: BenchmarkReport,
        rule: Rule = Rule(),
        accepting accepted: Set<Obstacle> = []
    ) {
        obstacles = Self.obstacles(before, after)
        differences = Self.differences(before.environment, after.environment, before.program, after.program)
        let (first, second) = (DerivedFigures(before), DerivedFigures(after))
        let keys = first.points.reduce(into: [SeriesKey]()) { if !$0.contains($1.series) { $0.append($1.series) } }
        let others = Set(second.points.map(\.series))
        unmatched = Self.unmatched((before, first), (after, second))
        guard obstacles.allSatisfy({ accepted.contains($0.obstacle) }) else {
            rows = []
            return
        }
        let measured = keys.filter(others.contains).flatMap { key in
            Self.rows(key, first.points(of: key), second.points(of: key), rule)
        }
        rows = measured + Self.densityRows(before, after)
    }

    /// Whether the comparison was refused.
    public func isRefused(accepting accepted: Set<Obstacle>) -> Bool {
        obstacles.contains { !accepted.contains($0.obstacle) }
    }

    /// How many figures chance alone is expected to put outside of their intervals, of those that noise was told from.
    public var expectedByChance: Double {
        rows.compactMap(\.ratio).filter { $0.low < $0.high }.reduce(0) { $0 + 1 - $1.confidence }
    }

    /// Whether anything got worse.
    public var hasRegressions: Bool { rows.contains { $0.verdict == .worse } }

    /// Figures that are compared, by repeats.
    private static let metrics: [Metric] = [
        .speed, .latencyP50, .latencyP99, .dropped, .timeToFirstSample, .processorPerFrame, .peakMemory,
        .copiesPerFrame,
        .bitRate,
        .energyPerFrame,
    ]

    private static func rows(
        _ key: SeriesKey,
        _ before: [PointFigures],
        _ after: [PointFigures],
        _ rule: Rule
    ) -> [Row] {
        // A paced run is as fast as its clip.
        let metrics = metrics.filter { key.mode == .throughput || $0.id != Metric.speed.id }
        let measured = metrics.compactMap { metric in
            metric.id == Metric.dropped.id
                ? droppedRow(key, before, after, rule) : row(key, metric, before, after, rule)
        }
        let lost = [lostQualityRow(key, before, after)].compactMap(\.self)
        return failureRows(key, before, after) + measured + lost + qualityRows(key, before, after, rule)
    }

    /// One figure over all points and repeats that both have: the ratio of each pair, and the interval of their median.
    private static func row(
        _ key: SeriesKey,
        _ metric: Metric,
        _ before: [PointFigures],
        _ after: [PointFigures],
        _ rule: Rule
    ) -> Row? {
        let pairs = after.pairs(with: before, of: metric)
        let (old, new) = (pairs.map(\.second), pairs.map(\.first))
        guard let oldMedian = try? Distribution(old).median, let newMedian = try? Distribution(new).median,
            let paired = try? PairedRatio(pairs, confidence: rule.confidence)
        else { return nil }
        let interval = paired.interval
        let (verdict, remark) = judge(interval, metric.better, rule)
        func text(_ value: Double) -> String { Readable.number(value * metric.scale, places: metric.places) }
        return Row(
            subject: key.title,
            figure: metric.heading,
            before: text(oldMedian),
            after: text(newMedian),
            ratio: interval,
            verdict: verdict,
            remark: remark
        )
    }

    private static func judge(
        _ interval: MedianInterval,
        _ better: Metric.Direction?,
        _ rule: Rule
    ) -> (Verdict, String) {
        guard !interval.contains(1) else { return (.same, "") }
        guard interval.confidence >= rule.confidence else {
            let confidence = Readable.number(interval.confidence * 100, places: 0)
            let pairs = Readable.count(interval.count, "pair")
            return (.unclear, "\(pairs) of repeats allow only \(confidence) % confidence")
        }
        guard abs(interval.median - 1) > rule.tolerance else { return (.same, "less than the tolerance") }
        return switch better {
        case .higher?: (interval.median > 1 ? .better : .worse, "")
        case .lower?: (interval.median < 1 ? .better : .worse, "")
        case nil: (.changed, "")
        }
    }
}

extension SeriesKey {
    /// For people.
    var title: String { "\(clip), \(encoder), \(mode.title)" }
}
