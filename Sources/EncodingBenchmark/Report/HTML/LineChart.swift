// SPDX-License-Identifier: GPL-2.0-or-later

/// An SVG chart of values over values, as lines or points.
struct LineChart: Sendable {
    /// The identifier, unique in the page, for references to its parts.
    let id: String
    let title: String
    /// The summary for readers who cannot see the chart.
    let summary: String
    let x: ChartAxis
    let y: ChartAxis
    let series: [Series]
    /// A value of the vertical axis that is marked with a named line.
    var rule: (value: Double, name: String)?
    /// The better direction, for the corner of the plot.
    var hint: String?

    /// The values of one encoder.
    struct Series: Sendable {
        let style: SeriesStyle
        /// The encoder's name.
        let name: String
        /// The points by ascending x.
        let points: [Point]
        var drawing = Drawing.curve
        /// The points with markers; `nil` for all.
        var marked: Set<Int>?
        /// The point next to which the letter is placed; `nil` for the last one.
        var lettered: Int?
    }

    /// The way in which points are connected.
    enum Drawing: Sendable {
        /// With straight lines.
        case curve
        /// In steps: a value is valid until the next point.
        case steps
        /// Not connected.
        case points
    }

    struct Point: Sendable {
        let x: Double
        let y: Double
        /// The interval of x, drawn as a bar.
        var spread: ClosedRange<Double>?
        /// The tooltip.
        let note: String
    }

    private static let (width, height) = (460.0, 320.0)
    private static let (left, right, top, bottom) = (54.0, 26.0, 14.0, 46.0)
    private static var plotWidth: Double { width - left - right }
    private static var plotHeight: Double { height - top - bottom }

    /// The drawing, which fills the available width.
    var svg: Markup {
        """
        <svg viewBox="0 0 \(Self.width) \(Self.height)" role="img" aria-labelledby="\(id)-t \(id)-d">\
        <title id="\(id)-t">\(title)</title><desc id="\(id)-d">\(summary)</desc>\
        \(horizontalAxis)\(verticalAxis)\
        <rect class="frame" x="\(Self.left)" y="\(Self.top)" width="\(Self.plotWidth)" height="\(Self.plotHeight)"/>\
        \(series.map(draw))\(ruleLine)\(hintText)\(letters)</svg>
        """
    }

    private func place(_ point: Point) -> (x: Double, y: Double) { (horizontal(point.x), vertical(point.y)) }
    private func horizontal(_ value: Double) -> Double { Self.left + x.place(of: value) * Self.plotWidth }
    private func vertical(_ value: Double) -> Double { Self.top + (1 - y.place(of: value)) * Self.plotHeight }

    private var horizontalAxis: Markup {
        let end = Self.top + Self.plotHeight
        let ticks = x.ticks.map { tick -> Markup in
            let place = horizontal(tick)
            return """
                <line class="grid" x1="\(place)" x2="\(place)" y1="\(Self.top)" y2="\(end)"/>\
                <text class="tick" x="\(place)" y="\(end + 17)" text-anchor="middle">\(x.label(of: tick))</text>
                """
        }
        let middle = Self.left + Self.plotWidth / 2
        return
            "\(ticks)<text class=\"axis\" x=\"\(middle)\" y=\"\(Self.height - 8)\" text-anchor=\"middle\">\(x.title)</text>"
    }

    private var verticalAxis: Markup {
        let ticks = y.ticks.map { tick -> Markup in
            let place = vertical(tick)
            return """
                <line class="grid" x1="\(Self.left)" x2="\(Self.width - Self.right)" y1="\(place)" y2="\(place)"/>\
                <text class="tick" x="\(Self.left - 6)" y="\(place + 4)" text-anchor="end">\(y.label(of: tick))</text>
                """
        }
        let middle = Self.top + Self.plotHeight / 2
        return """
            \(ticks)<text class="axis" text-anchor="middle" transform="translate(13 \(middle)) rotate(-90)">\(y.title)</text>
            """
    }

    private var ruleLine: Markup {
        guard let rule, y.range.contains(rule.value) else { return "" }
        let place = vertical(rule.value)
        return """
            <line class="rule" x1="\(Self.left)" x2="\(Self.width - Self.right)" y1="\(place)" y2="\(place)"/>\
            <text class="note" x="\(Self.left + 5)" y="\(place - 4)">\(rule.name)</text>
            """
    }

    private var hintText: Markup {
        guard let hint else { return "" }
        return """
            <text class="note" x="\(Self.width - Self.right - 6)" y="\(Self.top + Self.plotHeight - 7)" \
            text-anchor="end">\(hint)</text>
            """
    }

    private func draw(_ series: Series) -> Markup {
        let marks = series.points.enumerated().map { index, point -> Markup in
            let (x, y) = place(point)
            let isMarked = series.marked?.contains(index) ?? true
            guard isMarked else { return "" }
            let bar: Markup =
                point.spread.map { spread in
                    let (low, high) = (horizontal(spread.lowerBound), horizontal(spread.upperBound))
                    return "<line class=\"spread\" x1=\"\(low)\" x2=\"\(high)\" y1=\"\(y)\" y2=\"\(y)\"/>"
                } ?? ""
            return "<g><title>\(series.name): \(point.note)</title>\(bar)\(series.style.marker(x: x, y: y))</g>"
        }
        return """
            <g class="s \(series.style.colorClass)" data-series="\(series.style.index)">\(line(of: series))\(marks)</g>
            """
    }

    private func line(of series: Series) -> Markup {
        guard series.points.count > 1, let first = series.points.first.map(place) else { return "" }
        var path: Markup = "M\(first.x) \(first.y)"
        for point in series.points.dropFirst() {
            let (x, y) = place(point)
            switch series.drawing {
            case .curve: path += "L\(x) \(y)"
            case .steps: path += "H\(x)V\(y)"
            case .points: return ""
            }
        }
        return "<path class=\"l\" d=\"\(path)\" stroke-dasharray=\"\(series.style.dashes)\"/>"
    }

    /// The letters of the series, to the right of their ends, moved apart where they would overlap.
    private var letters: Markup {
        var ends = series.compactMap { series -> (x: Double, y: Double, style: SeriesStyle)? in
            let point = series.lettered.flatMap { series.points.indices.contains($0) ? series.points[$0] : nil }
            return (point ?? series.points.last).map { (place($0).x + 8, place($0).y + 4, series.style) }
        }
        ends.sort { $0.y < $1.y }
        let distance = 13.0
        for index in ends.indices.dropFirst() where abs(ends[index].x - ends[index - 1].x) < 14 {
            ends[index].y = max(ends[index].y, ends[index - 1].y + distance)
        }
        let lowest = Self.top + Self.plotHeight + 4
        for index in ends.indices.reversed() {
            let limit =
                index + 1 < ends.count && abs(ends[index].x - ends[index + 1].x) < 14
                ? ends[index + 1].y - distance : lowest
            ends[index].y = min(ends[index].y, limit)
        }
        return Markup(
            ends.map { end in
                """
                <text class="letter \(end.style.colorClass)" data-series="\(end.style.index)" x="\(end.x)" y="\(end.y)">\
                \(end.style.letter)</text>
                """
            }
        )
    }
}
