// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// HTML or SVG. Literals are used unchanged; interpolated values are escaped, unless they are markup themselves.
///
/// A text from a report, such as a file name, can therefore not become an element or end an attribute.
struct Markup: ExpressibleByStringInterpolation, Sendable, Hashable {
    /// The text of the document.
    private(set) var text: String

    init(stringLiteral value: String) { text = value }

    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    /// Concatenates markup.
    init(_ pieces: some Sequence<Markup>) {
        text = ""
        for piece in pieces { text += piece.text }
    }

    static func + (left: Markup, right: Markup) -> Markup { Markup([left, right]) }

    static func += (left: inout Markup, right: Markup) { left.text += right.text }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }

        mutating func appendLiteral(_ literal: String) { text += literal }

        mutating func appendInterpolation(_ words: String) { Markup.escape(words, into: &text) }

        mutating func appendInterpolation(_ markup: Markup) { text += markup.text }

        mutating func appendInterpolation(_ pieces: [Markup]) { for piece in pieces { text += piece.text } }

        mutating func appendInterpolation(_ number: Int) { text += String(number) }

        /// Appends a coordinate, rounded to hundredths.
        mutating func appendInterpolation(_ coordinate: Double) {
            let places = coordinate == coordinate.rounded() ? 0 : 2
            text += Readable.number(coordinate, places: places)
        }
    }

    /// Escapes text between tags and in attributes with double quotes. Control characters, which documents must not
    /// contain, become spaces.
    private static func escape(_ words: String, into text: inout String) {
        for scalar in Readable.oneLine(words).unicodeScalars {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

extension Sequence<Markup> {
    /// Concatenates the elements with a separator.
    func joined(separator: Markup) -> Markup {
        var result: Markup = ""
        for (index, piece) in enumerated() {
            if index > 0 { result += separator }
            result += piece
        }
        return result
    }
}
