// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension [BenchmarkReport.Warning] {
    /// Returns the banners for a terminal, between two rules; empty if there are none.
    ///
    /// - Parameter width: The width of the terminal in columns.
    func bannerText(width: Int) -> String {
        let banners = filter { $0.weight == .banner }
        let messages = banners.reduce(into: [String]()) { if !$0.contains($1.message) { $0.append($1.message) } }
            .map { message in
                let subjects = banners.filter { $0.message == message }.compactMap(\.subject)
                return "\(message.uppercased()) It concerns: \(subjects.joined(separator: ", "))"
            }
        guard !messages.isEmpty else { return "" }
        let width = Swift.min(width, 80)
        let rule = String(repeating: "!", count: width) + "\n"
        return rule + messages.map { wrapped($0, width: width) }.joined() + rule + "\n"
    }

    /// Returns the cautions for a terminal, each in lines of its own.
    ///
    /// - Parameter width: The width of the terminal in columns.
    func cautionText(width: Int) -> String {
        filter { $0.weight == .caution }.map { warning in
            let subject = warning.subject.map { "\($0): " } ?? ""
            return wrapped("caution: \(subject)\(warning.message)", width: width)
        }.joined()
    }
}

/// Returns words in lines of at most `width` columns, each with its newline.
///
/// - Parameter indentation: The number of blanks before each line after the first.
func wrapped(_ words: String, width: Int, indentation: Int = 0) -> String {
    let margin = String(repeating: " ", count: indentation)
    var text = ""
    var line = ""
    for word in Readable.oneLine(words).split(separator: " ") {
        if !line.isEmpty, line.count + 1 + word.count > width {
            text += line + "\n"
            line = margin + word
        } else {
            line += line.isEmpty ? String(word) : " " + word
        }
    }
    return text + line + "\n"
}
