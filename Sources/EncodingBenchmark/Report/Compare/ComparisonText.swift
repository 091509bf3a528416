// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension ReportComparison {
    /// The comparison for a terminal: what changed, what cannot be told, and how much stayed as it was.
    ///
    /// - Parameters:
    ///   - width: How many columns the terminal has.
    ///   - all: Whether figures that stayed the same have lines as well.
    public func text(width: Int, all: Bool = false) -> String {
        var text = differences.map { Readable.oneLine($0) + "\n" }.joined()
        text += obstacles.map { Readable.oneLine("not the same \($0.obstacle.rawValue): \($0.difference)") + "\n" }
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
            text += "unclear: too few pairs of repeats (eight tell) or curves apart; --all shows which figures\n"
        }
        if rows.contains(where: { [.worse, .better, .changed].contains($0.verdict) }) {
            text += "of these figures, chance alone changes \(Readable.number(expectedByChance, places: 1))\n"
        }
        return text
    }

    private static func table(_ rows: [Row], width: Int) -> String {
        let columns = ["figure", "before", "after", "ratio", "from…to", "of", ""].map { title in
            TextTable.Column(title: title, isNumber: title != "figure" && title != "of" && !title.isEmpty)
        }
        let cells = rows.map { row in
            [
                row.figure, row.before, row.after, row.ratio.map { Readable.number($0.median, places: 3) } ?? "",
                row.ratio.map { "\(Readable.number($0.low, places: 3))…\(Readable.number($0.high, places: 3))" } ?? "",
                Readable.oneLine(row.subject), row.remark,
            ]
        }
        return TextTable(columns, cells, width: width, indentation: 2).text
    }
}
