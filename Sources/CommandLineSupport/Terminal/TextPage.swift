// SPDX-License-Identifier: GPL-2.0-or-later

/// Text for a screen with a given width, built line by line.
package struct TextPage {
    /// The number of columns.
    package let width: Int
    /// The lines so far, each with its newline.
    package private(set) var text = ""

    package init(width: Int) { self.width = width }

    /// Adds a line that is not wrapped.
    package mutating func line(_ line: String, indentation: Int = 0) {
        text += line.isEmpty ? "\n" : Self.blank(indentation) + line + "\n"
    }

    /// Adds words that are wrapped to as many lines as necessary.
    package mutating func paragraph(_ words: String, indentation: Int) {
        flow(words, first: Self.blank(indentation), rest: Self.blank(indentation))
    }

    /// Adds a name with words that are wrapped in a separate column.
    package mutating func entry(
        _ name: String,
        _ words: String,
        indentation: Int = 0,
        nameWidth: Int = Self.usualNameWidth
    ) {
        let column = indentation + nameWidth
        let start = Self.blank(indentation) + name
        flow(words, first: start + Self.blank(max(column - start.count, 1)), rest: Self.blank(column))
    }

    /// Adds a list of actions. If one does not fit on its line, the command after its colon is moved to a separate line
    /// that is not wrapped, so that it can be copied.
    package mutating func list(_ things: [String], indentation: Int) {
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

    /// The default width of the name column: that of its usual longest name, `encodes`, and a gap.
    package static let usualNameWidth = 10

    private static func blank(_ count: Int) -> String { String(repeating: " ", count: count) }
}
