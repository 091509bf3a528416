// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Frames that an encoder is too slow for, in two reports.
///
/// Most runs drop none, which has no ratio to others; so the differences of the shares are judged. Encoders that fall behind
/// often do so at the highest rate alone, where a median over all points does not see it; so each point counts as well.
extension ReportComparison {
    /// The point whose share of dropped frames changed most, and what all of them mean; `nil` if there is no pair of
    /// repeats, or if the mode drops nothing.
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

/// Shares of dropped frames at a point, of the repeats that both reports have.
private struct DroppedShares {
    let point: String
    let old: Distribution
    let new: Distribution
    /// Later minus earlier, of each repeat.
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

    /// Of the medians.
    var change: Double { new.median - old.median }

    /// How far all repeats of one report lie above or below all of the other, if there are three or more; else 0.
    var gap: Double {
        guard differences.count >= 3 else { return 0 }
        if new.minimum > old.maximum { return new.minimum - old.maximum }
        return min(0, new.maximum - old.minimum)
    }
}
