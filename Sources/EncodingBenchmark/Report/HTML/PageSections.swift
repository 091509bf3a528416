// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The tables after the charts.
extension ReportPage {
    // MARK: - Streams

    var densitySection: Markup {
        guard !figures.density.isEmpty else { return "" }
        let clips = report.clips.map(\.id).filter { id in figures.density.contains { $0.density.clip == id } }
        return """
            <section id="density"><h2>Streams in real time</h2>
            <p>The most streams at the same time of which each keeps the rate and the latency.\(densityRule)</p>
            <div class="charts">\(clips.enumerated().map(densityFigure))</div></section>
            """
    }

    private var densityRule: Markup {
        guard let plan = report.plan.density else { return "" }
        let share = Readable.number(plan.rateShare * 100, places: 0)
        let bound = Readable.number(plan.latencyBound * 1e3, places: 0)
        return " Here that is \(share) % of the clip's rate, and at most \(bound) ms for 99 of 100 frames."
    }

    private func densityFigure(_ index: Int, _ clip: String) -> Markup {
        let measured = figures.density.filter { $0.density.clip == clip }
        let chart = BarChart(
            id: "d-\(index)",
            title: clip,
            summary: "A bar for each of \(Readable.count(measured.count, "encoder")); the table below has the values.",
            bars: measured.map { figures in
                BarChart.Bar(
                    style: style(of: figures.density.encoder),
                    name: "\(figures.density.encoder), \(figures.density.point.text)",
                    value: Double(figures.density.streams),
                    text: figures.text
                )
            }
        )
        let columns =
            [PageTable.Column("Encoder", isNumber: false), PageTable.Column("Point", isNumber: false)]
            + ["Streams", "CPU, %", "Power, W", "Streams per watt", "Cost per stream-hour"].map { PageTable.Column($0) }
            + [PageTable.Column("Limited by", isNumber: false)]
        let rows = measured.map { figures -> [PageTable.Cell] in
            [
                PageTable.Cell(tag(figures.density.encoder)),
                PageTable.Cell(text: figures.density.point.text),
                PageTable.Cell("\(figures.text)", key: Double(figures.density.streams)),
                PageTable.Cell(figures.processorShare.map { $0 * 100 }, places: 0),
                Self.cell(figures.power, places: 1),
                Self.cell(figures.streamsPerWatt, places: 2),
                Self.cell(figures.costPerStreamHour, places: 4),
                PageTable.Cell(text: figures.density.limit ?? "–"),
            ]
        }
        return figure(
            chart.title,
            "Longer is better.",
            chart.svg,
            series: [],
            table: PageTable(caption: "Streams in real time, \(clip)", columns: columns, rows: rows)
        )
    }

    private static func cell(_ value: Measured<Double>, places: Int) -> PageTable.Cell {
        switch value {
        case .value(let value): PageTable.Cell(value, places: places)
        case .absent(let reason): PageTable.Cell("<span class=\"muted\" title=\"\(reason)\">–</span>")
        }
    }

    // MARK: - Curves

    var comparisonSection: Markup {
        let tables = report.clips.compactMap { clip -> Markup? in
            let comparisons = figures.comparisons.filter { $0.series.clip == clip.id }
            return comparisons.isEmpty ? nil : comparisonTable(clip.id, comparisons)
        }
        let words: Markup =
            tables.isEmpty
            ? "<p>No clip was measured with x264 medium, x264 veryfast or x265 medium and with another encoder.</p>"
            : """
            <p>How much more rate the same quality takes (BD-rate: below 0 is better), how much more quality the same rate \
            gives (above 0 is better), and how much faster it is.</p>
            """
        return "<section id=\"curves\"><h2>Against x264 and x265</h2>\(words)\(tables)</section>"
    }

    private func comparisonTable(_ clip: String, _ comparisons: [CurveComparison]) -> Markup {
        let qualities = Metric.qualities.filter { quality in
            comparisons.contains { $0.curves.contains { $0.quality.id == quality.id && $0.rate.value != nil } }
        }
        let columns =
            ["Encoder", "Against", "Mode"].map { PageTable.Column($0, isNumber: false) }
            + qualities.flatMap { quality in
                [
                    PageTable.Column("Rate by \(quality.title), %"),
                    PageTable.Column("\(quality.title) gained\(quality.unit.isEmpty ? "" : ", \(quality.unit)")"),
                ]
            } + [PageTable.Column("Times as fast")]
        let rows = comparisons.map { comparison -> [PageTable.Cell] in
            [
                PageTable.Cell(tag(comparison.series.encoder)), PageTable.Cell(text: comparison.anchor),
                PageTable.Cell(text: comparison.series.mode.title),
            ]
                + qualities.flatMap { quality -> [PageTable.Cell] in
                    guard let curve = comparison.curves.first(where: { $0.quality.id == quality.id }) else {
                        return [PageTable.Cell("–"), PageTable.Cell("–")]
                    }
                    return [Self.cell(curve.rate, 1), Self.cell(curve.gain, quality.places)]
                } + [Self.cell(comparison.speed)]
        }
        let reasons = comparisons.flatMap { comparison in
            comparison.curves.filter { curve in qualities.contains { $0.id == curve.quality.id } || qualities.isEmpty }
                .compactMap { curve in
                    curve.rate.absence.map { "\(comparison.series.encoder) against \(comparison.anchor): \($0)" }
                }
        }
        let missing = reasons.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        let notes: Markup =
            missing.isEmpty
            ? "" : "<details><summary>What is missing, and why</summary>\(Self.list(missing))</details>"
        return PageTable(caption: "\(clip) against x264 and x265", columns: columns, rows: rows).html + notes
    }

    private static func cell(_ delta: Measured<BjontegaardDelta>, _ places: Int) -> PageTable.Cell {
        switch delta {
        case .value(let delta):
            let overlap: Markup =
                delta.isTelling ? "" : "<small>shares \(delta.share)</small>"
            return PageTable.Cell("\(Readable.signed(delta.value, places: places))\(overlap)", key: delta.value)
        case .absent(let reason):
            return PageTable.Cell("<span class=\"muted\" title=\"\(reason)\">–</span>")
        }
    }

    private static func cell(_ ratio: Measured<MedianInterval>) -> PageTable.Cell {
        guard let ratio = ratio.value else {
            return PageTable.Cell("<span class=\"muted\" title=\"\(ratio.absence ?? "")\">–</span>")
        }
        func text(_ value: Double) -> String { Readable.number(value, places: 2) }
        return PageTable.Cell(
            "\(text(ratio.median))<small>\(text(ratio.low))…\(text(ratio.high))</small>",
            key: ratio.median
        )
    }

    // MARK: - Points

    var pointSection: Markup {
        let metrics = Metric.all.filter { metric in figures.points.contains { $0[metric] != nil } }
        let columns =
            ["Encoder", "Clip", "Mode", "Asked"].map { PageTable.Column($0, isNumber: false) }
            + [PageTable.Column("Repeats")] + metrics.map(PageTable.Column.init)
        let rows = figures.points.map { point in
            [
                PageTable.Cell(tag(point.series.encoder)), PageTable.Cell(text: point.series.clip),
                PageTable.Cell(text: point.series.mode.title), PageTable.Cell(text: point.point.text),
                PageTable.Cell(Double(point.measurements.count), places: 0),
            ] + metrics.map { PageTable.Cell(point[$0], of: $0) }
        }
        let note: Markup = absences.isEmpty ? "" : "<p>Not measured: \(absences.joined(separator: "; ")).</p>"
        return """
            <section id="points"><h2>All figures</h2>\(note)
            \(PageTable(caption: "Medians of every point", columns: columns, rows: rows, isTall: true).html)</section>
            """
    }

    /// The figures that no run has, with the reasons from the first repetitions.
    private var absences: [String] {
        let runs = report.runs.filter { $0.repetition == 1 }.compactMap(\.result.value)
        let reasons: [(Metric, (BenchmarkReport.Measurement) -> String?)] = [
            (.psnr, { $0.quality.psnr.absence }), (.ssim, { $0.quality.ssim.absence }),
            (.vmaf, { $0.quality.vmaf.absence }), (.xpsnr, { $0.quality.xpsnr.absence }),
            (.gpuBusy, { $0.gpuBusy.absence }), (.power, { $0.energy.absence }),
            (.peakMemory, { $0.peakMemory.absence }),
        ]
        return reasons.compactMap { metric, reason in
            guard figures.points.allSatisfy({ $0[metric] == nil }) else { return nil }
            return runs.lazy.compactMap(reason).first.map { "\(metric.title) (\($0))" }
        }
    }

    /// Returns a list of texts.
    static func list(_ items: [String]) -> Markup { "<ul>\(items.map { "<li>\($0)</li>" as Markup })</ul>" }
}
