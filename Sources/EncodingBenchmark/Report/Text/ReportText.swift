// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension BenchmarkReport {
    /// Returns the report for a terminal: warnings, followed by tables for each clip and mode, for curves and for
    /// streams.
    ///
    /// - Parameter width: The width of the terminal in columns.
    public func text(width: Int) -> String {
        let figures = DerivedFigures(self)
        var text = figures.warnings.bannerText(width: width)
        for clip in clips {
            var keys: [BenchmarkMode] = []
            for key in figures.series(of: clip.id) where !keys.contains(key.mode) { keys.append(key.mode) }
            for mode in keys {
                text += "\(Readable.oneLine(clip.id)), \(mode.title)\n"
                text += Self.table(of: figures, clip, mode, width: width) + "\n"
            }
        }
        text += Self.curves(figures, width: width)
        text += Self.streams(figures, width: width)
        text += figures.warnings.cautionText(width: width)
        return text.isEmpty ? "The report contains no results.\n" : text
    }

    private static func table(
        of figures: DerivedFigures,
        _ clip: Clip,
        _ mode: BenchmarkMode,
        width: Int
    ) -> String {
        let points = figures.series(of: clip.id).filter { $0.mode == mode }.flatMap(figures.points)
        let speeds: [Metric] = mode == .throughput ? [.speed, .timesRealTime] : []
        let times: [Metric] = [.latencyP50, .latencyP99] + mode.pacedMetrics
        let costs: [Metric] = [.processorPerFrame, .bitRate, .psnr, .vmaf, .ssim]
        let rest: [Metric] = [.rateError, .windowDeviation, .peakMemory, .copiesPerFrame, .gpuBusy, .power]
        let metrics = (speeds + times + costs + rest).filter { metric in points.contains { $0[metric] != nil } }
        // A single repetition has no spread.
        let spreads = points.contains { ($0[.speed]?.count ?? 0) > 1 } ? [Metric.speed.id] : []
        let columns =
            [TextTable.Column(title: "encoder", isNumber: false), TextTable.Column(title: "asked")]
            + metrics.flatMap { metric in
                let spread = spreads.contains(metric.id) ? [TextTable.Column(title: "from…to")] : []
                return [TextTable.Column(title: metric.short)] + spread
            }
        let rows = points.map { point in
            [Readable.oneLine(point.series.encoder), point.point.text]
                + metrics.flatMap { metric -> [String] in
                    let interval = point[metric]
                    let spread =
                        interval.flatMap {
                            $0.count > 1 ? "\(number($0.low, metric))…\(number($0.high, metric))" : nil
                        } ?? "-"
                    return [interval.map { number($0.median, metric) } ?? "-"]
                        + (spreads.contains(metric.id) ? [spread] : [])
                }
        }
        let table = TextTable(columns, rows, width: width, indentation: 2)
        return table.text + note(of: [table])
    }

    private static func curves(_ figures: DerivedFigures, width: Int) -> String {
        let qualities = Metric.qualities.filter { quality in
            figures.comparisons.contains { $0.curves.contains { $0.quality.id == quality.id && $0.rate.value != nil } }
        }
        let rows = figures.comparisons.compactMap { comparison -> [String]? in
            let rates = qualities.map { quality in
                comparison.curves.first { $0.quality.id == quality.id }?.rate.value
                    .map { Readable.signed($0.value, places: 1) + ($0.isTelling ? "" : " (\($0.share))") } ?? "-"
            }
            guard rates.contains(where: { $0 != "-" }) else { return nil }
            return [
                Readable.oneLine(comparison.series.encoder), comparison.anchor,
                comparison.speed.value.map { "\(Readable.number($0.median, places: 2))x" } ?? "-",
            ] + rates + [comparison.series.mode.title, Readable.oneLine(comparison.series.clip)]
        }
        guard !rows.isEmpty else { return "" }
        let columns =
            [
                TextTable.Column(title: "encoder", isNumber: false),
                TextTable.Column(title: "against", isNumber: false),
                TextTable.Column(title: "speed"),
            ] + qualities.map { TextTable.Column(title: "by \($0.title)") } + [
                TextTable.Column(title: "mode", isNumber: false), TextTable.Column(title: "clip", isNumber: false),
            ]
        let table = TextTable(columns, rows, width: width, indentation: 2)
        // A column without room needs no explanation.
        let mark =
            table.text.contains(" %)")
            ? wrapped("(n %): the curves share only n % of their range, so the number is not reliable", width: width)
            : ""
        return "BD-rate in % for the same quality (below 0 is better)\n" + table.text
            + note(of: [table]) + mark + "\n"
    }

    private static func streams(_ figures: DerivedFigures, width: Int) -> String {
        guard !figures.density.isEmpty else { return "" }
        let titles = ["encoder", "streams", "CPU %", "W", "per W", "cost per hour", "clip", "limited by"]
        let words: Set = ["encoder", "clip", "limited by"]
        let columns = titles.map { TextTable.Column(title: $0, isNumber: !words.contains($0)) }
        func text(_ value: Double?, _ places: Int) -> String {
            value.map { Readable.number($0, places: places) } ?? "-"
        }
        let rows = figures.density.map { figures in
            [
                Readable.oneLine(figures.density.encoder), figures.text,
                text(figures.processorShare.map { $0 * 100 }, 0), text(figures.power.value, 1),
                text(figures.streamsPerWatt.value, 2), text(figures.costPerStreamHour.value, 4),
                Readable.oneLine(figures.density.clip), Readable.oneLine(figures.density.limit ?? "-"),
            ]
        }
        let table = TextTable(columns, rows, width: width, indentation: 2)
        return "simultaneous streams in real time\n" + table.text + note(of: [table]) + "\n"
    }

    private static func note(of tables: [TextTable]) -> String {
        let omitted = tables.flatMap(\.omitted)
        return omitted.isEmpty ? "" : "  omitted columns: \(omitted.joined(separator: ", "))\n"
    }

    private static func number(_ value: Double, _ metric: Metric) -> String {
        Readable.number(value * metric.scale, places: metric.places)
    }
}

extension Metric {
    /// The short heading for narrow columns.
    var short: String {
        switch id {
        case Metric.speed.id: "fps"
        case Metric.timesRealTime.id: "x real time"
        case Metric.latencyP50.id: "p50 ms"
        case Metric.latencyP99.id: "p99 ms"
        case Metric.processorPerFrame.id: "CPU ms"
        case Metric.bitRate.id: "kbit/s"
        default: unit.isEmpty ? title : "\(title) \(unit)"
        }
    }
}
