// SPDX-License-Identifier: GPL-2.0-or-later

extension JSONValue {
    /// The JSON text in UTF-8, without white space. Equal values give equal bytes.
    package var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.bytes
    }

    /// The JSON text, without white space.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The JSON text in UTF-8 for people: two spaces for each level, and a line break at the end.
    package var indentedBytes: [UInt8] {
        var writer = JSONWriter(isIndented: true)
        writer.write(self)
        writer.bytes.append(UInt8(ascii: "\n"))
        return writer.bytes
    }
}

/// Writes values of JSON, such that the parser can read their texts. A text that it would refuse, such as the title of
/// a damaged file, is changed: U+FFFD replaces U+0000, and joiners divide long rows of combining characters.
struct JSONWriter {
    private(set) var isIndented = false
    var bytes: [UInt8] = []
    private var depth = 0

    init(isIndented: Bool = false) {
        self.isIndented = isIndented
    }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: append("null")
        case .bool(let bool): append(bool ? "true" : "false")
        case .integer(let integer): append("\(integer)")
        // Swift's description is the shortest text that gives the same number again, and valid JSON.
        case .number(let number): append(number.isFinite ? "\(number)" : "null")
        case .string(let string): write(string)
        case .array(let elements):
            writeList("[", "]", elements) { writer, element in writer.write(element) }
        case .object(let object):
            writeList("{", "}", object.members) { writer, member in
                writer.write(member.key)
                writer.append(writer.isIndented ? ": " : ":")
                writer.write(member.value)
            }
        }
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func writeList<Element>(
        _ opening: String,
        _ closing: String,
        _ elements: [Element],
        _ writeElement: (inout JSONWriter, Element) -> Void
    ) {
        append(opening)
        depth += 1
        for (index, element) in elements.enumerated() {
            if index > 0 { append(",") }
            breakLine()
            writeElement(&self, element)
        }
        depth -= 1
        if !elements.isEmpty { breakLine() }
        append(closing)
    }

    private mutating func breakLine() {
        guard isIndented else { return }
        append("\n")
        append(String(repeating: "  ", count: depth))
    }

    // RFC 8259 section 7
    private mutating func write(_ string: String) {
        append("\"")
        for byte in string.streamSafe.utf8 {
            switch byte {
            case 0: append("\u{FFFD}")
            case UInt8(ascii: "\""): append("\\\"")
            case UInt8(ascii: "\\"): append("\\\\")
            case 0x0A: append("\\n")
            case 0x0D: append("\\r")
            case 0x09: append("\\t")
            case 1..<0x20, 0x7F:
                append("\\u00")
                bytes.append(Self.hexadecimalDigits[Int(byte >> 4)])
                bytes.append(Self.hexadecimalDigits[Int(byte & 15)])
            default: bytes.append(byte)
            }
        }
        append("\"")
    }

    private static let hexadecimalDigits = Array("0123456789abcdef".utf8)
}
