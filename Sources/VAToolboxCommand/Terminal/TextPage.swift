// SPDX-License-Identifier: GPL-2.0-or-later

/// Text for a screen of some width, built line by line.
struct TextPage {
    /// How many columns there are.
    let width: Int
    /// The lines so far, each with its newline.
    private(set) var text = ""

    init(width: Int) { self.width = width }

    /// A line that is not broken.
    mutating func line(_ line: String, indentation: Int = 0) {
        text += line.isEmpty ? "\n" : Self.blank(indentation) + line + "\n"
    }

    /// Words that flow into as many lines as they need.
    mutating func paragraph(_ words: String, indentation: Int) {
        flow(words, first: Self.blank(indentation), rest: Self.blank(indentation))
    }

    /// A name, and beside it words that flow in a column of their own.
    mutating func entry(_ name: String, _ words: String, indentation: Int = 0, nameWidth: Int = Self.usualNameWidth) {
        let column = indentation + nameWidth
        let start = Self.blank(indentation) + name
        flow(words, first: start + Self.blank(max(column - start.count, 1)), rest: Self.blank(column))
    }

    /// Things to do. Where one does not fit in its line, what follows its colon, a command, has a line to itself and is
    /// not broken, so that it can be copied.
    mutating func list(_ things: [String], indentation: Int) {
        for thing in things {
            if indentation + 2 + thing.count > width, let colon = thing.firstRange(of: ": ") {
                flow(
                    String(thing[..<colon.lowerBound]) + ":",
                    first: Self.blank(indentation) + "- ",
                    rest: Self.blank(indentation + 2)
                )
                line(String(thing[colon.upperBound...]), indentation: indentation + 4)
            } else {
                flow(thing, first: Self.blank(indentation) + "- ", rest: Self.blank(indentation + 2))
            }
        }
    }

    private mutating func flow(_ words: String, first: String, rest: String) {
        var line = first
        var isEmpty = true
        for word in words.split(separator: " ") {
            if !isEmpty, line.count + 1 + word.count > width {
                text += line + "\n"
                line = rest
                isEmpty = true
            }
            line += isEmpty ? String(word) : " " + word
            isEmpty = false
        }
        if !isEmpty { text += line + "\n" }
    }

    /// The column of names is mostly as wide as the widest of them, `encodes`, and a gap.
    static let usualNameWidth = 10

    private static func blank(_ count: Int) -> String { String(repeating: " ", count: count) }
}
