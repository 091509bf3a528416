// SPDX-License-Identifier: GPL-2.0-or-later

/// A JSON document (RFC 8259), written with keys in the order given.
///
/// Small on purpose: Foundation's encoder would double the time that the command takes to start.
enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSON])
    case object(KeyValuePairs)

    /// Members of an object, in order.
    struct KeyValuePairs: Sendable, Hashable, ExpressibleByDictionaryLiteral {
        var members: [Member]

        struct Member: Sendable, Hashable {
            var key: String
            var value: JSON
        }

        init(dictionaryLiteral elements: (String, JSON)...) { members = elements.map(Member.init) }

        mutating func append(_ key: String, _ value: JSON) { members.append(Member(key: key, value: value)) }
        mutating func append(_ others: KeyValuePairs) { members += others.members }
    }

    /// A text, or null.
    init(_ text: String?) { self = text.map(JSON.string) ?? .null }
    /// A whole number, or null.
    init(_ number: (some BinaryInteger)?) { self = number.map { .integer(Int(clamping: $0)) } ?? .null }
    /// A number, or null.
    init(_ number: Double?) { self = number.map(JSON.number) ?? .null }
    /// A list of texts.
    init(_ texts: [String]) { self = .array(texts.map(JSON.string)) }

    /// The document with two spaces of indentation, without newline at its end.
    var text: String {
        var text = ""
        write(to: &text, indentation: "")
        return text
    }

    private func write(to text: inout String, indentation: String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        // JSON has no infinity; the shortest text that gives the same number again is Swift's own.
        case .number(let value): text += value.isFinite ? "\(value)" : "null"
        case .string(let value): Self.write(value, to: &text)
        case .array(let elements):
            Self.write(elements, "[", "]", to: &text, indentation) { element, text, inner in
                element.write(to: &text, indentation: inner)
            }
        case .object(let pairs):
            Self.write(pairs.members, "{", "}", to: &text, indentation) { member, text, inner in
                Self.write(member.key, to: &text)
                text += ": "
                member.value.write(to: &text, indentation: inner)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element],
        _ open: String,
        _ close: String,
        to text: inout String,
        _ indentation: String,
        _ writeElement: (Element, inout String, String) -> Void
    ) {
        guard !elements.isEmpty else {
            text += open + close
            return
        }
        let inner = indentation + "  "
        text += open
        for (index, element) in elements.enumerated() {
            text += (index == 0 ? "\n" : ",\n") + inner
            writeElement(element, &text, inner)
        }
        text += "\n" + indentation + close
    }

    private static func write(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
