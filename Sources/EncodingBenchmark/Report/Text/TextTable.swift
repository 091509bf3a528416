// SPDX-License-Identifier: GPL-2.0-or-later

/// A table for terminals. Columns are as wide as their widest cell, and numbers are right-aligned.
///
/// Columns that do not fit are dropped from the right; ``omitted`` lists them.
struct TextTable: Sendable {
    struct Column: Sendable {
        let title: String
        var isNumber = true
    }

    /// The lines, each with its newline.
    let text: String
    /// The titles of the columns that were dropped.
    let omitted: [String]

    /// Lays out a table.
    ///
    /// - Parameters:
    ///   - rows: The rows, with one cell per column; missing cells are empty.
    ///   - width: The width of the terminal in columns.
    init(_ columns: [Column], _ rows: [[String]], width: Int, indentation: Int = 0) {
        let widths = columns.indices.map { index in
            max(columns[index].title.count, rows.map { index < $0.count ? $0[index].count : 0 }.max() ?? 0)
        }
        var used = indentation
        var shown = 0
        for wide in widths {
            let needed = wide + (shown == 0 ? 0 : Self.gap.count)
            guard shown == 0 || used + needed <= width else { break }
            used += needed
            shown += 1
        }
        omitted = columns.dropFirst(shown).map(\.title)
        let margin = String(repeating: " ", count: indentation)
        let lines = ([columns.map(\.title)] + rows).map { row in
            let cells = (0..<shown).map { index in
                Self.padded(index < row.count ? row[index] : "", to: widths[index], atRight: columns[index].isNumber)
            }
            var line = margin + cells.joined(separator: Self.gap)
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }
        text = lines.joined()
    }

    private static let gap = "  "

    private static func padded(_ text: String, to width: Int, atRight: Bool) -> String {
        let blank = String(repeating: " ", count: max(width - text.count, 0))
        return atRight ? blank + text : text + blank
    }
}
