// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A table of the page. With scripts, its columns can be sorted.
struct PageTable: Sendable {
    struct Column: Sendable {
        let title: String
        /// Whether the cells are numbers, which are right-aligned.
        var isNumber = true
        /// The tooltip of the heading.
        var explanation: String?

        init(_ title: String, isNumber: Bool = true, explanation: String? = nil) {
            (self.title, self.isNumber, self.explanation) = (title, isNumber, explanation)
        }

        /// The class attribute of its cells.
        var alignment: Markup { isNumber ? " class=\"n\"" : "" }

        /// Creates a column for a metric.
        init(_ metric: Metric) { self.init(metric.heading, explanation: metric.explanation) }
    }

    struct Cell: Sendable {
        let content: Markup
        /// The sort key of a number; texts are sorted by their content.
        var key: Double?

        init(_ content: Markup, key: Double? = nil) { (self.content, self.key) = (content, key) }

        /// Creates a cell with text.
        init(text words: String) { self.init("\(words)") }

        /// Creates a cell with a number rounded to decimal places, or a dash if there is none.
        init(_ number: Double?, places: Int, unit: String = "") {
            let text = number.map { Readable.number($0, places: places) + unit } ?? "–"
            self.init("\(text)", key: number)
        }

        /// Creates a cell with a median in the displayed unit, with its interval below.
        init(_ interval: MedianInterval?, of metric: Metric) {
            guard let interval else {
                self.init("–")
                return
            }
            func text(_ value: Double) -> String { Readable.number(value * metric.scale, places: metric.places) }
            let (median, low, high) = (text(interval.median), text(interval.low), text(interval.high))
            let range: Markup = low == high ? "" : "<small>\(low)…\(high)</small>"
            self.init("\(median)\(range)", key: interval.median)
        }
    }

    let caption: String
    let columns: [Column]
    let rows: [[Cell]]
    /// Whether the table has so many rows that it scrolls separately.
    var isTall = false

    /// The table, in a frame that scrolls if the table is too wide.
    var html: Markup {
        let heads = columns.map { column -> Markup in
            let hint: Markup = column.explanation.map { " title=\"\($0)\"" } ?? ""
            return "<th scope=\"col\"\(column.alignment)\(hint)>\(column.title)</th>"
        }
        let body = rows.map { row -> Markup in
            let cells = zip(columns, row).enumerated().map { index, pair -> Markup in
                let (column, cell) = pair
                let key: Markup = cell.key.map { " data-v=\"\(Self.exact($0))\"" } ?? ""
                guard index > 0 else { return "<th scope=\"row\"\(key)>\(cell.content)</th>" }
                return "<td\(column.alignment)\(key)>\(cell.content)</td>"
            }
            return "<tr>\(cells)</tr>"
        }
        return """
            <div class="scroll\(isTall ? " tall" : "")" tabindex="0" role="region" aria-label="\(caption)">\
            <table class="sortable"><caption><span>\(caption)</span></caption>\
            <thead><tr>\(heads)</tr></thead><tbody>\(body)</tbody></table></div>
            """
    }

    private static func exact(_ value: Double) -> String { "\(value)" }
}
