// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The changes from one report to another, beyond noise.
public struct ReportComparison: Sendable {
    /// The reasons to refuse a comparison of two reports, unless they are accepted explicitly.
    public enum Obstacle: String, Sendable, Hashable, CaseIterable {
        /// Clips with the same name have different pictures.
        case clips
        /// The requested repetitions, points or modes differ.
        case plan
        /// The CPU or the GPUs differ.
        case machine
        /// An encoder with the same name has other settings or another picture transfer.
        case settings
    }

    /// The verdict on a figure.
    public enum Verdict: String, Sendable, Hashable {
        /// Worse beyond noise and tolerance.
        case worse
        /// Better beyond noise and tolerance.
        case better
        /// Changed beyond noise and tolerance, for a figure without a better direction.
        case changed
        /// No change beyond noise, or less than the tolerance.
        case same
        /// Undecided: too few repetitions, too few points of a curve, or curves that share too little.
        case unclear
    }

    /// One figure of an encoder in both reports.
    public struct Row: Sendable, Hashable {
        /// The clip, the encoder and the mode.
        public let subject: String
        /// The figure with its unit.
        public let figure: String
        /// The values in both reports, formatted for people.
        public let before: String, after: String
        /// The later value divided by the earlier one, with its interval; `nil` for figures without a ratio.
        public let ratio: MedianInterval?
        /// The verdict on the change.
        public let verdict: Verdict
        /// The reason for an undecided verdict, or how the figure was judged; empty if it is obvious.
        public let remark: String
    }

    /// The differences that prevent a comparison.
    public let obstacles: [(obstacle: Obstacle, difference: String)]
    /// The differences that may be the subject of the comparison: versions of programs and drivers.
    public let differences: [String]
    /// All figures in both reports, and those that the later report should contain; empty if an obstacle prevents the
    /// comparison.
    public let rows: [Row]
    /// The items in only one report that are neither better nor worse.
    public let unmatched: [String]

    /// The rule for distinguishing a change from noise.
    public struct Rule: Sendable, Hashable {
        /// The relative change below which a figure counts as the same, 0...: 0.02 is 2 %.
        public var tolerance = 0.02
        /// The confidence of an interval that is required for a verdict. It is high because many figures are compared
        /// at once; it requires eight pairs of repetitions.
        public var confidence = 0.99

        /// Creates the default rule.
        public init() {}
    }

    /// Compares two reports.
    ///
    /// - Parameters:
    ///   - before: The earlier report.
    ///   - after: The later report, which is judged.
    ///   - rule: The rule for changes.
    ///   - accepted: The obstacles to ignore.
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

    /// Returns whether the comparison was refused.
    public func isRefused(accepting accepted: Set<Obstacle>) -> Bool {
        obstacles.contains { !accepted.contains($0.obstacle) }
    }

    /// The expected number of figures outside their intervals by chance alone, among the figures with noise.
    public var expectedByChance: Double {
        rows.compactMap(\.ratio).filter { $0.low < $0.high }.reduce(0) { $0 + 1 - $1.confidence }
    }

    /// Whether any figure is worse.
    public var hasRegressions: Bool { rows.contains { $0.verdict == .worse } }

    /// The figures that are compared by repetitions.
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

    /// Returns a row for one figure over all points and repetitions in both reports: the ratio of each pair, and the
    /// interval of their median.
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
    /// The title for people.
    var title: String { "\(clip), \(encoder), \(mode.title)" }
}
