// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The overview at the beginning of the page.
extension ReportPage {
    var overview: Markup {
        let columns = overviewColumns.filter { column in report.encoders.contains { column.cell($0).key != nil } }
        let table = PageTable(
            caption: "The worst case of each encoder over all clips and points",
            columns: [PageTable.Column("Encoder", isNumber: false), PageTable.Column("Pictures", isNumber: false)]
                + columns.map { PageTable.Column($0.title, explanation: $0.explanation) },
            rows: report.encoders.map { encoder in
                [PageTable.Cell(tag(encoder.id)), PageTable.Cell(text: encoder.transfer.title)]
                    + columns.map { $0.cell(encoder) }
            }
        )
        return "<section id=\"overview\"><h2>At a glance</h2>\(table.html)</section>"
    }

    private struct OverviewColumn {
        let title: String
        let explanation: String
        let cell: (BenchmarkReport.Encoder) -> PageTable.Cell
    }

    private var overviewColumns: [OverviewColumn] {
        let anchor = commonAnchor(of: figures.points.map(\.series))
        return [
            OverviewColumn(title: Metric.timesRealTime.heading, explanation: "at full speed, on the slowest clip") {
                worst(.timesRealTime, of: $0, in: [.throughput])
            },
            OverviewColumn(title: Metric.latencyP99.heading, explanation: Metric.latencyP99.explanation) {
                worst(.latencyP99, of: $0, in: [.lowLatency, .realTime, .throughput], namesMode: true)
            },
            OverviewColumn(title: Metric.dropped.heading, explanation: Metric.dropped.explanation) { encoder in
                let cells = [BenchmarkMode.realTime, .lowLatency].map { mode in
                    worst(.dropped, of: encoder, in: [mode], namesMode: true)
                }
                return cells.max { ($0.key ?? -1) < ($1.key ?? -1) } ?? PageTable.Cell("–")
            },
            OverviewColumn(title: Metric.processorPerFrame.heading, explanation: Metric.processorPerFrame.explanation) {
                worst(.processorPerFrame, of: $0, in: [.throughput, .realTime, .lowLatency])
            },
            OverviewColumn(title: Metric.peakMemory.heading, explanation: Metric.peakMemory.explanation) {
                worst(.peakMemory, of: $0, in: [.throughput, .realTime, .lowLatency])
            },
            OverviewColumn(
                title: "Rate against \(anchor ?? "others"), %",
                explanation: "bitrate change for the same quality (BD-rate), mean over clips; below 0 is better"
            ) { rateCell($0, anchor) },
            OverviewColumn(title: "Streams", explanation: "the largest number of simultaneous streams in real time") {
                encoder in
                let least = densities(of: encoder).min { $0.density.streams < $1.density.streams }
                return least.map { PageTable.Cell("\($0.text)", key: Double($0.density.streams)) }
                    ?? PageTable.Cell("–")
            },
            OverviewColumn(title: "Streams per watt", explanation: "at that number of streams") { encoder in
                PageTable.Cell(densities(of: encoder).compactMap(\.streamsPerWatt.value).min(), places: 2)
            },
            OverviewColumn(
                title: "Cost per stream-hour",
                explanation: "at that number of streams, in the currency of the price"
            ) {
                PageTable.Cell(densities(of: $0).compactMap(\.costPerStreamHour.value).max(), places: 4)
            },
        ]
    }

    private func densities(of encoder: BenchmarkReport.Encoder) -> [DensityFigures] {
        figures.density.filter { $0.density.encoder == encoder.id }
    }

    /// Returns the worst median of an encoder in its first measured mode.
    private func worst(
        _ metric: Metric,
        of encoder: BenchmarkReport.Encoder,
        in modes: [BenchmarkMode],
        namesMode: Bool = false
    ) -> PageTable.Cell {
        for mode in modes {
            let medians = figures.points.filter { $0.series.encoder == encoder.id && $0.series.mode == mode }
                .compactMap { $0[metric]?.median }
            let worst = metric.better == .higher ? medians.min() : medians.max()
            guard let worst else { continue }
            let name: Markup = namesMode ? "<small>\(mode.title)</small>" : ""
            return PageTable.Cell("\(Readable.number(worst * metric.scale, places: metric.places))\(name)", key: worst)
        }
        return PageTable.Cell("–")
    }

    /// Returns the mean BD-rate over the clips, by the most meaningful quality.
    private func rateCell(_ encoder: BenchmarkReport.Encoder, _ anchor: String?) -> PageTable.Cell {
        guard encoder.id != anchor else { return PageTable.Cell("0.0<small>anchor</small>", key: 0) }
        let own = figures.comparisons.filter { $0.series.encoder == encoder.id && $0.anchor == anchor }
        let rates = own.filter { $0.series.mode == own.first?.series.mode }.compactMap(\.bestRate)
        guard let quality = rates.first?.quality else { return PageTable.Cell("–") }
        let deltas = rates.filter { $0.quality.id == quality.id }.map(\.delta)
        let mean = deltas.reduce(0) { $0 + $1.value } / Double(deltas.count)
        // A single clip whose curves share too little makes the mean doubtful.
        let doubtful = deltas.filter { !$0.isTelling }.min { $0.overlap < $1.overlap }
        let mark: Markup = doubtful.map { "<small>shares \($0.share)</small>" } ?? ""
        return PageTable.Cell("\(Readable.signed(mean, places: 1))<small>\(quality.title)</small>\(mark)", key: mean)
    }

    /// Returns the modes of a clip, throughput first.
    func modes(of clip: String) -> [BenchmarkMode] {
        let used = Set(figures.series(of: clip).map(\.mode))
        return BenchmarkMode.allCases.filter(used.contains)
    }

    /// Returns a table of all encoders on one clip at one point.
    func clipTable(_ clip: BenchmarkReport.Clip, _ mode: BenchmarkMode) -> Markup? {
        let series = figures.series(of: clip.id).filter { $0.mode == mode }
        guard let point = middlePoint(of: series) else { return nil }
        let points = figures.points.filter { series.contains($0.series) && $0.point == point }
        let speeds: [Metric] = mode == .throughput ? [.speed, .timesRealTime] : []
        let times: [Metric] = [.latencyP50, .latencyP99] + mode.pacedMetrics
        let others: [Metric] = [
            .processorShare, .processorPerFrame, .copiesPerFrame, .power, .gpuBusy, .psnr, .vmaf,
        ]
        let shown = (speeds + times + others).filter { metric in points.contains { $0[metric] != nil } }
        let table = PageTable(
            caption: "\(clip.id), \(mode.title), at \(point.text)",
            columns: [PageTable.Column("Encoder", isNumber: false), PageTable.Column("Pictures", isNumber: false)]
                + shown.map(PageTable.Column.init),
            rows: points.map { point in
                [
                    PageTable.Cell(tag(point.series.encoder)),
                    PageTable.Cell(text: encoders[point.series.encoder]?.transfer.title ?? ""),
                ] + shown.map { PageTable.Cell(point[$0], of: $0) }
            }
        )
        return table.html
    }
}

extension CurveComparison {
    /// The BD-rate by the most meaningful quality with a sufficient range; if there is none, with any range.
    var bestRate: (quality: Metric, delta: BjontegaardDelta)? {
        let all = curves.compactMap { curve in curve.rate.value.map { (curve.quality, $0) } }
        return all.last { $0.1.isTelling } ?? all.last
    }
}

extension Readable {
    /// Returns a number with its sign.
    static func signed(_ value: Double, places: Int) -> String {
        let text = number(value, places: places)
        return value > 0 && text.contains { ("1"..."9").contains($0) } ? "+" + text : text
    }
}
