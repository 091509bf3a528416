// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Charts of values over time.
extension ReportPage {
    /// Returns the point at which series are compared: the middle one of the points that most series have.
    func middlePoint(of series: [SeriesKey]) -> BenchmarkPoint? {
        var counts: [(point: BenchmarkPoint, rate: Double, series: Int)] = []
        for figure in figures.points where series.contains(figure.series) && !figure.measurements.isEmpty {
            if let index = counts.firstIndex(where: { $0.point == figure.point }) {
                counts[index].series += 1
            } else {
                counts.append((figure.point, figure[.bitRate]?.median ?? 0, 1))
            }
        }
        let most = counts.map(\.series).max()
        let candidates = counts.filter { $0.series == most }.sorted { $0.rate < $1.rate }
        return candidates.isEmpty ? nil : candidates[candidates.count / 2].point
    }

    /// Returns a table with a row of figures for each encoder.
    private func encoderTable(_ caption: String, _ points: [PointFigures], _ metrics: [Metric]) -> PageTable {
        PageTable(
            caption: caption,
            columns: [PageTable.Column("Encoder", isNumber: false)] + metrics.map(PageTable.Column.init),
            rows: points.map { point in
                [PageTable.Cell(tag(point.series.encoder))] + metrics.map { PageTable.Cell(point[$0], of: $0) }
            }
        )
    }

    // MARK: - Latency

    func latencyFigure(_ clip: BenchmarkReport.Clip, _ index: Int, _ mode: BenchmarkMode) -> Markup? {
        let series = figures.series(of: clip.id).filter { $0.mode == mode }
        guard let point = middlePoint(of: series) else { return nil }
        let measured = figures.points.filter { $0.point == point && series.contains($0.series) }
            .map { ($0, $0.measurements.map(\.run.latency.histogram).cumulative) }
            .filter { !$0.1.isEmpty }
        guard !measured.isEmpty else { return nil }
        let drawn = measured.map { figure, steps in
            let marked = [50, 90, 99].compactMap { share in steps.firstIndex { $0.share * 100 >= share } }
            return LineChart.Series(
                style: style(of: figure.series.encoder),
                name: figure.series.encoder,
                points: steps.map { step in
                    let (share, time) = (step.share * 100, step.value * 1e3)
                    let words = "\(Readable.number(share, places: 1)) % within \(Readable.number(time, places: 1)) ms"
                    return LineChart.Point(x: time, y: share, note: words)
                },
                marked: Set(marked),
                lettered: marked.first
            )
        }
        let chart = LineChart(
            id: "l-\(index)-\(mode.text)",
            title: "Latency, \(mode.title)",
            summary: "The share of frames that are done within a time; the table below has percentiles.",
            x: ChartAxis("ms from submission to sample", drawn.flatMap { $0.points.map(\.x) }, scale: .logarithmic),
            y: .percent("% of frames"),
            series: drawn,
            hint: "at \(point.text)"
        )
        let metrics: [Metric] =
            [.latencyP50, .latencyP90, .latencyP99] + mode.pacedMetrics + [.latencyMaximum, .timeToFirstSample]
        let table = encoderTable("\(chart.title), \(clip.id), \(point.text)", measured.map(\.0), metrics)
        return figure(
            chart.title,
            "Further left is better. Markers show 50, 90 and 99 % of the frames.",
            chart.svg,
            series: measured.map(\.0.series.encoder),
            table: table
        )
    }

    // MARK: - Bit rate

    func bitRateFigure(_ clip: BenchmarkReport.Clip, _ index: Int, _ mode: BenchmarkMode) -> Markup? {
        let series = figures.series(of: clip.id).filter { $0.mode == mode }
        guard let point = middlePoint(of: series) else { return nil }
        let measured = figures.points.filter { $0.point == point && series.contains($0.series) }
            .compactMap { figure in figure.measurements.first.map { (figure, $0.run.windows) } }
            .filter { !$0.1.isEmpty }
        guard !measured.isEmpty else { return nil }
        let drawn = measured.map { figure, windows in
            LineChart.Series(
                style: style(of: figure.series.encoder),
                name: figure.series.encoder,
                points: windows.enumerated().map { second, rate in
                    let words = "\(Readable.bitRate(rate)) in second \(second + 1)"
                    return LineChart.Point(x: Double(second) + 0.5, y: rate / 1e3, note: words)
                }
            )
        }
        let asked = point.bitsPerSecond.map { Double($0) / 1e3 }
        var chart = LineChart(
            id: "b-\(index)",
            title: "Bit rate over time",
            summary: "The bitrate of each second; the table below has averages and deviations.",
            x: ChartAxis("seconds of the clip", drawn.flatMap { $0.points.map(\.x) } + [0], includes: 0),
            y: ChartAxis("kbit/s in each second", drawn.flatMap { $0.points.map(\.y) } + [asked ?? 0], includes: 0),
            series: drawn
        )
        chart.rule = asked.map { ($0, "requested: \(point.text)") }
        let metrics: [Metric] = [.bitRate, .rateError, .windowDeviation, .largestFrame]
        let shown = metrics.filter { metric in measured.contains { $0.0[metric] != nil } }
        let table = encoderTable("\(chart.title), \(clip.id), \(point.text)", measured.map(\.0), shown)
        return figure(
            chart.title,
            "The first repeat at \(point.text), in windows of one second.",
            chart.svg,
            series: measured.map(\.0.series.encoder),
            table: table
        )
    }
}

extension [BenchmarkReport.Histogram] {
    /// The cumulative share of values, 0...1, below each edge, from the last edge with 0 to the first edge with 1.
    var cumulative: [(value: Double, share: Double)] {
        let total = Double(flatMap(\.counts).reduce(0, +))
        guard total > 0 else { return [] }
        let edges = Set(flatMap(\.edges)).sorted()
        let steps = edges.map { edge in
            (value: edge, share: reduce(0) { $0 + $1.count(below: edge) } / total)
        }
        let first = steps.lastIndex { $0.share <= 0 } ?? 0
        let last = steps.firstIndex { $0.share >= 1 - 1e-9 } ?? steps.count - 1
        return steps[Swift.min(first, last)...last].map { $0 }
    }
}

extension BenchmarkReport.Histogram {
    /// Returns the number of values below a value, with a uniform distribution between edges.
    fileprivate func count(below value: Double) -> Double {
        var sum = 0.0
        for (index, count) in counts.enumerated() where index + 1 < edges.count {
            let (low, high) = (edges[index], edges[index + 1])
            sum += Double(count) * min(max((value - low) / (high - low), 0), 1)
        }
        return sum
    }
}
