// SPDX-License-Identifier: GPL-2.0-or-later

/// An SVG bar chart of amounts, each with its name and its number.
struct BarChart: Sendable {
    /// The identifier, unique in the page, for references to its parts.
    let id: String
    let title: String
    /// The summary for readers who cannot see the chart.
    let summary: String
    let bars: [Bar]

    struct Bar: Sendable {
        let style: SeriesStyle
        let name: String
        /// At least 0.
        let value: Double
        /// The formatted number.
        let text: String
    }

    private static let (width, rowHeight, barHeight) = (460.0, 44.0, 15.0)

    /// The drawing, which fills the available width.
    var svg: Markup {
        let height = Self.rowHeight * Double(bars.count) + 6
        return """
            <svg viewBox="0 0 \(Self.width) \(height)" role="img" aria-labelledby="\(id)-t \(id)-d">\
            <title id="\(id)-t">\(title)</title><desc id="\(id)-d">\(summary)</desc>\
            \(bars.enumerated().map(draw))</svg>
            """
    }

    private func draw(_ row: Int, _ bar: Bar) -> Markup {
        let top = Self.rowHeight * Double(row)
        let most = bars.map(\.value).max() ?? 0
        let room = Self.width - 90
        let width = most > 0 ? max(bar.value / most * room, 1) : 1
        return """
            <g class="s \(bar.style.colorClass)" data-series="\(bar.style.index)">\
            <text class="name" x="0" y="\(top + 16)"><tspan class="letter">\(bar.style.letter)</tspan> \(bar.name)</text>\
            <rect class="bar" x="0" y="\(top + 23)" width="\(width)" height="\(Self.barHeight)"/>\
            <text class="tick" x="\(width + 8)" y="\(top + 35)">\(bar.text)</text></g>
            """
    }
}
