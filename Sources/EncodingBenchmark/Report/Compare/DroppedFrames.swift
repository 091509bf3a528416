// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Comparison of dropped frames in two reports, which occur when an encoder is too slow.
///
/// Most runs drop none, so ratios are not possible; the differences of the shares are compared instead. Encoders that
/// fall behind often do so only at the highest bitrate, which a median over all points would not show, so each point
/// counts.
extension ReportComparison {
    /// Returns a row for the point whose share of dropped frames changed most, with the verdict for all points; `nil`
    /// if there is no pair of repetitions, or if the mode drops no frames.
    static func droppedRow(_ key: SeriesKey, _ before: [PointFigures], _ after: [PointFigures], _ rule: Rule) -> Row? {
        let points = common(before, after).compactMap { DroppedShares($0.old, $0.new) }
        let differences = points.flatMap(\.differences)
        let dropsNone = points.allSatisfy { $0.old.maximum == 0 && $0.new.maximum == 0 }
        guard key.mode != .throughput || !dropsNone,
            let interval = (try? Distribution(differences))?.medianInterval(confidence: rule.confidence)
        else { return nil }
        let verdict = judge(interval, points, rule)
        let direction = verdict == .better ? -1.0 : 1
        let isOneWay = verdict == .better || verdict == .worse
        func weight(_ point: DroppedShares) -> Double { isOneWay ? direction * point.change : abs(point.change) }
        guard let most = points.max(by: { weight($0) < weight($1) }) else { return nil }
        let metric = Metric.dropped
        func text(_ value: Double) -> String { Readable.number(value * metric.scale, places: metric.places) }
        return Row(
            subject: key.title,
            figure: metric.heading,
            before: text(most.old.median),
            after: text(most.new.median),
            ratio: nil,
            verdict: verdict,
            remark: verdict == .same
                ? "" : "at \(most.point)" + (isOneWay ? "" : ", where too few repeats agree")
        )
    }

    private static func judge(_ interval: MedianInterval, _ points: [DroppedShares], _ rule: Rule) -> Verdict {
        let isSure = !interval.contains(0) && interval.confidence >= rule.confidence
        let general = isSure && abs(interval.median) > rule.tolerance ? interval.median : 0
        if general > 0 || points.contains(where: { $0.gap > rule.tolerance }) { return .worse }
        if general < 0 || points.contains(where: { $0.gap < -rule.tolerance }) { return .better }
        return points.contains { abs($0.change) > rule.tolerance } ? .unclear : .same
    }
}

/// The shares of dropped frames at a point, for the repetitions in both reports.
private struct DroppedShares {
    let point: String
    let old: Distribution
    let new: Distribution
    /// The later share minus the earlier one, for each repetition.
    let differences: [Double]

    init?(_ before: PointFigures, _ after: PointFigures) {
        let values = Dictionary(before.values(of: .dropped).map { ($0.repetition, $0.value) }) { first, _ in first }
        let pairs = after.values(of: .dropped).compactMap { repetition, value in values[repetition].map { ($0, value) }
        }
        guard let old = try? Distribution(pairs.map(\.0)), let new = try? Distribution(pairs.map(\.1)) else {
            return nil
        }
        (point, self.old, self.new) = (after.point.text, old, new)
        differences = pairs.map { $0.1 - $0.0 }
    }

    /// The difference of the medians.
    var change: Double { new.median - old.median }

    /// The gap between the reports if all repetitions of one are above or below all of the other, with at least three
    /// repetitions; otherwise 0.
    var gap: Double {
        guard differences.count >= 3 else { return 0 }
        if new.minimum > old.maximum { return new.minimum - old.maximum }
        return min(0, new.maximum - old.minimum)
    }
}
