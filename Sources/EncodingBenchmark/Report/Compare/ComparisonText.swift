// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension ReportComparison {
    /// Returns the comparison for a terminal: the changes, the undecided figures, and the number of unchanged figures.
    ///
    /// - Parameters:
    ///   - width: The width of the terminal in columns.
    ///   - all: Whether unchanged figures are listed as well.
    public func text(width: Int, all: Bool = false) -> String {
        var text = differences.map { Readable.oneLine($0) + "\n" }.joined()
        text += obstacles.map { Readable.oneLine("different \($0.obstacle.rawValue): \($0.difference)") + "\n" }
            .joined()
        text += unmatched.map { Readable.oneLine($0) + "\n" }.joined()
        if !text.isEmpty { text += "\n" }
        for verdict in [Verdict.worse, .better, .changed] + (all ? [.same, .unclear] : []) {
            let group = rows.filter { $0.verdict == verdict }
            guard !group.isEmpty else { continue }
            text += "\(verdict.rawValue)\n" + Self.table(group, width: width) + "\n"
        }
        let counts = [Verdict.worse, .better, .changed, .same, .unclear].map { verdict in
            "\(rows.count { $0.verdict == verdict }) \(verdict.rawValue)"
        }
        text += counts.joined(separator: ", ") + "\n"
        if !all, rows.contains(where: { $0.verdict == .unclear }) {
            text +=
                "unclear: fewer than eight pairs of repeats, or curves that hardly overlap; --all lists these figures\n"
        }
        if rows.contains(where: { [.worse, .better, .changed].contains($0.verdict) }) {
            text += "expected changes by chance alone: \(Readable.number(expectedByChance, places: 1))\n"
        }
        return text
    }

    /// Returns a table of the rows. If there is no room for their subjects, these are placed above them.
    private static func table(_ rows: [Row], width: Int) -> String {
        let words = rows.contains { !$0.remark.isEmpty } ? ["of", ""] : ["of"]
        let table = figures(of: rows, words, width: width, indentation: 2)
        guard !table.omitted.isEmpty else { return table.text }
        let subjects = rows.map(\.subject).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        return subjects.map { subject in
            let own = rows.filter { $0.subject == subject }
            let remarks = own.filter { !$0.remark.isEmpty }.map { "    \($0.figure): \($0.remark)\n" }
            return "  \(Readable.oneLine(subject))\n" + figures(of: own, [], width: width, indentation: 4).text
                + remarks.joined()
        }.joined()
    }

    /// - Parameter words: The headings of text columns: "of" for the subject, an empty one for the remark.
    private static func figures(of rows: [Row], _ words: [String], width: Int, indentation: Int) -> TextTable {
        let numbers = ["before", "after", "ratio", "from…to"].map { TextTable.Column(title: $0) }
        let columns =
            [TextTable.Column(title: "figure", isNumber: false)] + numbers
            + words.map { TextTable.Column(title: $0, isNumber: false) }
        let cells = rows.map { row in
            [
                row.figure, row.before, row.after, row.ratio.map { Readable.number($0.median, places: 3) } ?? "",
                row.ratio.map { "\(Readable.number($0.low, places: 3))…\(Readable.number($0.high, places: 3))" } ?? "",
            ] + words.map { $0.isEmpty ? row.remark : Readable.oneLine(row.subject) }
        }
        return TextTable(columns, cells, width: width, indentation: indentation)
    }
}
