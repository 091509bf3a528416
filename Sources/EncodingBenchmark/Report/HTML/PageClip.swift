// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The results for one clip, as charts.
extension ReportPage {
    func section(_ clip: BenchmarkReport.Clip) -> Markup {
        guard let index = report.clips.firstIndex(of: clip) else { return "" }
        let source = clip.source == "generated" ? "generated" : clip.source
        let facts = [
            clip.content, source, "\(clip.width)×\(clip.height)", "\(clip.frameRate) fps",
            Readable.count(clip.frameCount, "frame"), clip.pixelFormat, "\(clip.bitDepth) bits", clip.color,
        ].compactMap(\.self)
        let modes = modes(of: clip.id)
        let figures = modes.first.map { curveFigures(clip, index, $0) } ?? []
        let times = modes.flatMap { mode in [latencyFigure(clip, index, mode)].compactMap(\.self) }
        let rates = modes.first.flatMap { bitRateFigure(clip, index, $0) }
        return """
            <section id="clip-\(index)"><h2>\(clip.id)</h2><p>\(facts.joined(separator: " · "))</p>
            <div class="charts">\(figures + times + [rates].compactMap(\.self))</div>
            \(modes.compactMap { clipTable(clip, $0) })</section>
            """
    }

    /// Returns a chart with its legend and its table.
    func figure(_ title: String, _ words: String, _ svg: Markup, series: [String], table: PageTable) -> Markup {
        """
        <figure><figcaption><h3>\(title)</h3><p>\(words)</p></figcaption>\(svg)
        <ul class="legend">\(series.map { encoder in
            "<li data-series=\"\(style(of: encoder).index)\">\(tag(encoder))</li>" as Markup
        })</ul>
        <details><summary>Show as table</summary>\(table.html)</details></figure>
        """
    }

    // MARK: - Quality over rate, and speed

    private func curveFigures(_ clip: BenchmarkReport.Clip, _ index: Int, _ mode: BenchmarkMode) -> [Markup] {
        let series = figures.series(of: clip.id).filter { $0.mode == mode }
        let curves = Metric.qualities.reversed().compactMap { curveFigure(clip, index, series, $0) }
        return curves + [speedFigure(index, series)].compactMap(\.self)
    }

    private func curveFigure(
        _ clip: BenchmarkReport.Clip,
        _ index: Int,
        _ series: [SeriesKey],
        _ quality: Metric
    ) -> Markup? {
        let curves = series.map { ($0, figures.points(of: $0).filter { $0.position(by: quality) != nil }) }
            .filter { !$0.1.isEmpty }
        guard !curves.isEmpty else { return nil }
        let drawn = curves.map { key, points in
            LineChart.Series(
                style: style(of: key.encoder),
                name: key.encoder,
                points: points.compactMap { point in
                    point.position(by: quality).map { position in
                        let rate = Readable.number(position.rate / 1e3, places: 0)
                        let value = Readable.number(position.quality, places: quality.places)
                        return LineChart.Point(
                            x: position.rate / 1e3,
                            y: position.quality,
                            note: "\(value) \(quality.unit) at \(rate) kbit/s (requested: \(point.point.text))"
                        )
                    }
                }
            )
        }
        let chart = LineChart(
            id: "q-\(index)-\(quality.id)",
            title: "\(quality.title) over bit rate",
            summary: "A curve for each of \(Readable.count(drawn.count, "encoder")); the table below has the values.",
            x: ChartAxis("kbit/s delivered", drawn.flatMap { $0.points.map(\.x) }, scale: .logarithmic),
            y: ChartAxis(quality.heading, drawn.flatMap { $0.points.map(\.y) }),
            series: drawn
        )
        let table = PageTable(
            caption: "\(quality.title) over bit rate, \(clip.id)",
            columns: [PageTable.Column("Encoder", isNumber: false), PageTable.Column("Asked", isNumber: false)]
                + [Metric.bitRate, quality].map(PageTable.Column.init),
            rows: curves.flatMap { key, points in
                points.map { point in
                    [PageTable.Cell(tag(key.encoder)), PageTable.Cell(text: point.point.text)]
                        + [Metric.bitRate, quality].map { PageTable.Cell(point[$0], of: $0) }
                }
            }
        )
        return figure(
            chart.title,
            "Higher and further left is better: more quality for fewer bits.",
            chart.svg,
            series: curves.map(\.0.encoder),
            table: table
        )
    }

    /// Returns the anchor of most series.
    func commonAnchor(of series: [SeriesKey]) -> String? {
        let anchors = figures.comparisons.filter { series.contains($0.series) }.map(\.anchor)
        let counts = Dictionary(anchors.map { ($0, 1) }, uniquingKeysWith: +)
        // In case of a tie, the first anchor for H.264.
        func weight(_ encoder: BenchmarkReport.Encoder) -> (Int, Int) {
            (counts[encoder.id, default: 0], -(encoder.anchorRank(for: "h264") ?? .max))
        }
        return report.encoders.filter { counts[$0.id] != nil }.max { weight($0) < weight($1) }?.id
    }

    private func speedFigure(_ index: Int, _ series: [SeriesKey]) -> Markup? {
        guard let anchor = commonAnchor(of: series) else { return nil }
        var apart: [String] = []
        let places = series.compactMap { key -> (SeriesKey, speed: Double, rate: Double, quality: String)? in
            guard let speed = figures.speed(of: key) else { return nil }
            if key.encoder == anchor { return (key, speed, 0, "anchor") }
            let comparison = figures.comparisons.first { $0.series == key && $0.anchor == anchor }
            guard let best = comparison?.bestRate else { return nil }
            guard best.delta.isTelling else {
                apart.append(key.encoder)
                return nil
            }
            return (key, speed, best.delta.value, best.quality.title)
        }
        guard places.count > 1 else { return nil }
        let drawn = places.map { key, speed, rate, quality in
            let speeds = figures.points(of: key).compactMap { $0[.speed]?.median }
            let words =
                "\(Readable.number(speed, places: 1)) fps, \(Readable.signed(rate, places: 1)) % rate (\(quality))"
            return LineChart.Series(
                style: style(of: key.encoder),
                name: key.encoder,
                points: [
                    LineChart.Point(
                        x: speed,
                        y: rate,
                        spread: (speeds.min() ?? speed)...(speeds.max() ?? speed),
                        note: words
                    )
                ],
                drawing: .points
            )
        }
        // The axis also has room for the bars.
        let speeds = drawn.flatMap(\.points).compactMap(\.spread).flatMap { [$0.lowerBound, $0.upperBound] }
        let chart = LineChart(
            id: "s-\(index)",
            title: "Speed against bit rate for the same quality",
            summary: "A point for each of \(Readable.count(drawn.count, "encoder")); the table below has the values.",
            x: ChartAxis("frames per second", speeds, scale: .logarithmic),
            y: ChartAxis("% rate against \(anchor)", places.map(\.rate), includes: 0),
            series: drawn,
            rule: (0, anchor),
            hint: "better: right and down"
        )
        let table = PageTable(
            caption: chart.title,
            columns: [
                PageTable.Column("Encoder", isNumber: false), PageTable.Column("Speed, fps"),
                PageTable.Column("Rate against \(anchor), %"), PageTable.Column("By", isNumber: false),
            ],
            rows: places.map { key, speed, rate, quality in
                [
                    PageTable.Cell(tag(key.encoder)), PageTable.Cell(speed, places: 1),
                    PageTable.Cell("\(Readable.signed(rate, places: 1))", key: rate), PageTable.Cell(text: quality),
                ]
            }
        )
        let omitted =
            apart.isEmpty ? "" : " Omitted because their curves hardly overlap: \(apart.joined(separator: ", "))."
        let words =
            "Geometric mean of the speeds at all points; the bar spans the slowest to the fastest point.\(omitted)"
        return figure(chart.title, words, chart.svg, series: places.map(\.0.encoder), table: table)
    }
}
