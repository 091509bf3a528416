// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A position in the text of a plan, with functions to read YAML scalars from it.
struct PlanCursor {
    private let bytes: [UInt8]
    private let name: String
    private var index = 0
    private var lineStart = 0
    /// The line of the position, from 1.
    private(set) var line = 1

    init(_ text: String, name: String) {
        bytes = Array((text.first == "\u{FEFF}" ? text.dropFirst() : text[...]).utf8)
        self.name = name
    }

    // MARK: - Position

    /// The number of bytes from the beginning of the line to the position.
    var column: Int { index - lineStart }
    var isAtEnd: Bool { index >= bytes.count }
    var next: UInt8? { byte(0) }
    var isAtFlowCollection: Bool { next == UInt8(ascii: "[") || next == UInt8(ascii: "{") }
    var isAtDocumentMarker: Bool { isAtMarker("---") || isAtMarker("...") }
    /// Whether the rest of the line is empty or a comment.
    var isAtEndOfLine: Bool {
        isAtEnd || next == newline || next == UInt8(ascii: "#") && (index == 0 || Self.isSpace(bytes[index - 1]))
    }

    /// Returns whether the position has a character that is an indicator only if white space follows.
    func isAtIndicator(_ character: UnicodeScalar) -> Bool {
        next == UInt8(ascii: character) && (byte(1).map(Self.isSpace) ?? true)
    }

    func wrong(_ what: String, given: String? = nil, allowed: String) -> MediaError {
        MediaError(.invalidArgument, "\(name), line \(line): \(what)", given: given, allowed: allowed)
    }

    private let newline = UInt8(ascii: "\n")

    private func byte(_ offset: Int) -> UInt8? {
        index + offset < bytes.count ? bytes[index + offset] : nil
    }

    private func isAtMarker(_ marker: StaticString) -> Bool {
        guard column == 0, byte(3).map(Self.isSpace) ?? true else { return false }
        return (0..<3).allSatisfy { byte($0) == marker.utf8Start[$0] }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { " \t\r\n".utf8.contains(byte) }

    // MARK: - Advancing

    mutating func advance() {
        guard !isAtEnd else { return }
        index += 1
        if bytes[index - 1] == newline {
            line += 1
            lineStart = index
        }
    }

    /// Skips a document marker.
    mutating func skipMarker(_ marker: StaticString) -> Bool {
        guard isAtMarker(marker) else { return false }
        for _ in 0..<3 { advance() }
        return true
    }

    /// Skips white space in the line.
    mutating func skipSpaces() {
        while let next, next != newline, Self.isSpace(next) { advance() }
    }

    /// Skips white space, comments and line ends.
    mutating func skipBlanks() throws(MediaError) {
        while true {
            skipSpaces()
            guard !isAtEnd else { return }
            if isAtEndOfLine {
                while let next, next != newline { advance() }
                advance()
            } else {
                return
            }
        }
    }

    /// Skips blank lines up to the beginning of a block line, whose indentation must consist of spaces.
    mutating func skipBlankLines() throws(MediaError) {
        try skipBlanks()
        guard !isAtEnd else { return }
        if bytes[lineStart..<index].contains(UInt8(ascii: "\t")) {
            throw wrong("a tab before a key or an item", allowed: "spaces")
        }
    }

    /// Skips the rest of a line, which must be empty.
    mutating func endLine() throws(MediaError) {
        skipSpaces()
        guard isAtEndOfLine else { throw wrong("a value is not terminated", allowed: "one value per line") }
    }

    // MARK: - Scalars

    /// Reads an unquoted scalar up to its end.
    mutating func plain(inFlow: Bool) throws(MediaError) -> String {
        guard let first = next else { throw wrong("the text ends inside a collection", allowed: "] or }") }
        let isIndicator = "-?:".unicodeScalars.contains { isAtIndicator($0) }
        guard !isIndicator, !",[]{}#&*!|>%@`".utf8.contains(first) else {
            throw wrong(
                "a value begins with a reserved character",
                given: String(decoding: [first], as: UTF8.self),
                allowed: "words, \"quoted text\", lists and keys with values; no other parts of YAML"
            )
        }
        let begin = index
        while let next, next != newline, next != UInt8(ascii: "\r"), !isAtEndOfLine {
            if inFlow, ",[]{}".utf8.contains(next) { break }
            if next == UInt8(ascii: ":"), isAtIndicator(":") || inFlow && byte(1).map(",[]{}".utf8.contains) == true {
                break
            }
            advance()
        }
        var text = bytes[begin..<index]
        while let last = text.last, Self.isSpace(last) { text.removeLast() }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads a scalar in single quotes, in which two quotes represent one.
    mutating func singleQuoted() throws(MediaError) -> String {
        var text: [UInt8] = []
        advance()
        while true {
            let taken = try quotedByte()
            guard taken == UInt8(ascii: "'") else {
                text.append(taken)
                continue
            }
            guard next == UInt8(ascii: "'") else { return String(decoding: text, as: UTF8.self) }
            text.append(taken)
            advance()
        }
    }

    /// Reads a scalar in double quotes, with the escapes of JSON.
    mutating func doubleQuoted() throws(MediaError) -> String {
        var text: [UInt8] = []
        advance()
        while true {
            let taken = try quotedByte()
            switch taken {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text += Array(String(Character(try escape())).utf8)
            default: text.append(taken)
            }
        }
    }

    private mutating func quotedByte() throws(MediaError) -> UInt8 {
        guard let next, next != newline else {
            throw wrong("a quoted string is not terminated", allowed: "the closing quote on the same line")
        }
        advance()
        return next
    }

    private mutating func escape() throws(MediaError) -> UnicodeScalar {
        let letter = try quotedByte()
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return UnicodeScalar(letter)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try escapedScalar()
        default:
            throw wrong(
                "unknown escape sequence",
                given: "\\" + String(decoding: [letter], as: UTF8.self),
                allowed: #"\" \\ \/ \b \f \n \r \t \uXXXX"#
            )
        }
    }

    /// Reads a scalar after `\u`, with a second escape if it is a surrogate pair.
    private mutating func escapedScalar() throws(MediaError) -> UnicodeScalar {
        var units = [try hexadecimal()]
        if UTF16.isLeadSurrogate(units[0]), next == UInt8(ascii: "\\"), byte(1) == UInt8(ascii: "u") {
            advance()
            advance()
            units.append(try hexadecimal())
        }
        var decoder = UTF16()
        var source = units.makeIterator()
        guard case .scalarValue(let scalar) = decoder.decode(&source), case .emptyInput = decoder.decode(&source) else {
            throw wrong("an escape sequence is an unpaired surrogate", allowed: "a pair of surrogates")
        }
        return scalar
    }

    private mutating func hexadecimal() throws(MediaError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Character(UnicodeScalar(try quotedByte())).hexDigitValue else {
                throw wrong("an escape sequence is incomplete", allowed: "four hexadecimal digits")
            }
            value = value << 4 | UInt16(digit)
        }
        return value
    }
}
