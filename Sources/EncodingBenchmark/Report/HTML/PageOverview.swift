// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// What a reader wants to know first.
extension ReportPage {
    var overview: Markup {
        """
        <section id="overview"><h2>At a glance</h2>
        <p>Medians of repeats, over all points of an encoder. Small figures below are where the true median lies \
        (<a href="#reading">how to read it</a>).</p>
        \(report.clips.flatMap { clip in modes(of: clip.id).map { overviewTable(clip, $0) } })</section>
        """
    }

    /// The modes that a clip was encoded in, throughput first.
    func modes(of clip: String) -> [BenchmarkMode] {
        let used = Set(figures.series(of: clip).map(\.mode))
        return BenchmarkMode.allCases.filter(used.contains)
    }

    private func overviewTable(_ clip: BenchmarkReport.Clip, _ mode: BenchmarkMode) -> Markup {
        let series = figures.series(of: clip.id).filter { $0.mode == mode }
        let metrics: [Metric] =
            [mode == .throughput ? .speed : nil, mode == .throughput ? .timesRealTime : nil, .latencyP50, .latencyP99]
            .compactMap(\.self) + [.processorShare, .processorPerFrame, .peakMemory, .copiesPerFrame, .power, .gpuBusy]
        let shown = metrics.filter { metric in
            figures.points.contains { series.contains($0.series) && $0[metric] != nil }
        }
        let anchors = report.encoders.filter { anchor in
            figures.comparisons.contains { $0.anchor == anchor.id && series.contains($0.series) }
        }
        let columns =
            [PageTable.Column("Encoder", isNumber: false), PageTable.Column("Pictures", isNumber: false)]
            + shown.map(PageTable.Column.init)
            + anchors.map { anchor in
                PageTable.Column(
                    "Rate against \(anchor.id), %",
                    explanation: "How much more rate it needs for the same quality (BD-rate); below 0 is better"
                )
            }
        let rows = series.map { key -> [PageTable.Cell] in
            let points = figures.points(of: key)
            return [
                PageTable.Cell(tag(key.encoder)),
                PageTable.Cell(text: encoders[key.encoder]?.transfer.title ?? ""),
            ] + shown.map { PageTable.Cell(pooled($0, points), of: $0) }
                + anchors.map { rateCell(key, against: $0.id) }
        }
        let table = PageTable(
            caption: "\(clip.id), \(mode.title)",
            columns: columns,
            rows: rows
        )
        return table.html
    }

    /// One interval for all points of a series: the point whose median is in the middle.
    private func pooled(_ metric: Metric, _ points: [PointFigures]) -> MedianInterval? {
        let intervals = points.compactMap { $0[metric] }.sorted { $0.median < $1.median }
        return intervals.isEmpty ? nil : intervals[(intervals.count - 1) / 2]
    }

    /// BD-rate by the most telling quality that gives one.
    private func rateCell(_ series: SeriesKey, against anchor: String) -> PageTable.Cell {
        guard series.encoder != anchor else { return PageTable.Cell("<span class=\"muted\">anchor</span>", key: 0) }
        guard let comparison = figures.comparisons.first(where: { $0.series == series && $0.anchor == anchor }),
            let best = comparison.bestRate
        else { return PageTable.Cell("–") }
        return PageTable.Cell(
            "\(Readable.signed(best.delta.value, places: 1))<small>\(best.quality.title)</small>",
            key: best.delta.value
        )
    }
}

extension CurveComparison {
    /// The BD-rate by the most telling quality that gives one over a sufficient range.
    var bestRate: (quality: Metric, delta: BjontegaardDelta)? {
        let all = curves.compactMap { curve in curve.rate.value.map { (curve.quality, $0) } }
        return all.last { $0.1.overlap >= BjontegaardDelta.sufficientOverlap } ?? all.last
    }
}

extension Readable {
    /// A number with its sign.
    static func signed(_ value: Double, places: Int) -> String {
        let text = number(value, places: places)
        return value > 0 && text.contains { ("1"..."9").contains($0) } ? "+" + text : text
    }
}
