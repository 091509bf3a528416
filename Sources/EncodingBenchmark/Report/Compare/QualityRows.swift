// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Comparison of rate-quality curves in two reports. Encoders produce the same output for the same pictures each time,
/// so there is no noise; only the tolerance counts.
extension ReportComparison {
    /// Returns a row with the rate for the same quality, by the most meaningful quality that both reports have. If the
    /// curves share too little of the quality range, as after a large loss, adds a row with the quality for the same
    /// rate.
    static func qualityRows(_ key: SeriesKey, _ before: [PointFigures], _ after: [PointFigures], _ rule: Rule) -> [Row]
    {
        let quality = Metric.qualities.last { !before.curve(by: $0).isEmpty && !after.curve(by: $0).isEmpty }
        guard let quality else { return [] }
        let (old, new) = (before.curve(by: quality), after.curve(by: quality))
        let rate = rateRow(key, quality, old, new, rule)
        return rate.verdict == .unclear ? [rate] + [gainRow(key, quality, old, new, rule)].compactMap(\.self) : [rate]
    }

    private static func rateRow(
        _ key: SeriesKey,
        _ quality: Metric,
        _ old: [RateQualityPoint],
        _ new: [RateQualityPoint],
        _ rule: Rule
    ) -> Row {
        let figure = "rate for the same \(quality.title), %"
        func row(_ before: String, _ after: String, _ verdict: Verdict, _ remark: String) -> Row {
            Row(
                subject: key.title,
                figure: figure,
                before: before,
                after: after,
                ratio: nil,
                verdict: verdict,
                remark: remark
            )
        }
        do throws(MediaError) {
            let delta = try BjontegaardDelta.rate(of: new, against: old)
            let text = Readable.signed(delta.value, places: 2)
            guard delta.isTelling else {
                return row("0", text, .unclear, "the curves share \(delta.share) of their range")
            }
            return row("0", text, judge(delta.value, .lower, within: rule.tolerance * 100), "")
        } catch {
            return row("-", "-", .unclear, error.message)
        }
    }

    /// Returns the row; `nil` if the curves also share too little of their rates.
    private static func gainRow(
        _ key: SeriesKey,
        _ quality: Metric,
        _ old: [RateQualityPoint],
        _ new: [RateQualityPoint],
        _ rule: Rule
    ) -> Row? {
        let delta = try? BjontegaardDelta.quality(of: new, against: old)
        guard let delta, delta.isTelling, let least = old.map(\.quality).min(), let most = old.map(\.quality).max()
        else { return nil }
        return Row(
            subject: key.title,
            figure: "\(quality.title) for the same rate\(quality.unit.isEmpty ? "" : ", \(quality.unit)")",
            before: "0",
            after: Readable.signed(delta.value, places: quality.places),
            ratio: nil,
            verdict: judge(delta.value, .higher, within: rule.tolerance * (most - least)),
            remark: "the tolerance is a share of the quality range"
        )
    }

    private static func judge(_ value: Double, _ better: Metric.Direction, within tolerance: Double) -> Verdict {
        guard abs(value) > tolerance else { return .same }
        return (value > 0) == (better == .higher) ? .better : .worse
    }
}
