// SPDX-License-Identifier: GPL-2.0-or-later

/// A JSON document (RFC 8259) with its keys in the given order.
///
/// It is deliberately small: Foundation's encoder would double the start time of the command.
package enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSON])
    case object(KeyValuePairs)

    /// Members of an object, in order.
    package struct KeyValuePairs: Sendable, Hashable, ExpressibleByDictionaryLiteral {
        package var members: [Member]

        package struct Member: Sendable, Hashable {
            package var key: String
            package var value: JSON

            package init(key: String, value: JSON) {
                self.key = key
                self.value = value
            }
        }

        package init(dictionaryLiteral elements: (String, JSON)...) { members = elements.map(Member.init) }

        package mutating func append(_ key: String, _ value: JSON) { members.append(Member(key: key, value: value)) }
        package mutating func append(_ others: KeyValuePairs) { members += others.members }
    }

    /// Creates a string, or null.
    package init(_ text: String?) { self = text.map(JSON.string) ?? .null }
    /// Creates an integer, or null.
    package init(_ number: (some BinaryInteger)?) { self = number.map { .integer(Int(clamping: $0)) } ?? .null }
    /// Creates a number, or null.
    package init(_ number: Double?) { self = number.map(JSON.number) ?? .null }
    /// Creates an array of strings.
    package init(_ texts: [String]) { self = .array(texts.map(JSON.string)) }

    /// The document, indented by two spaces, without a newline at its end.
    package var text: String {
        var text = ""
        write(to: &text, indentation: "")
        return text
    }

    /// The document on one line.
    package var line: String {
        switch self {
        case .array(let elements): "[" + elements.map(\.line).joined(separator: ",") + "]"
        case .object(let pairs):
            "{" + pairs.members.map { JSON.string($0.key).text + ":" + $0.value.line }.joined(separator: ",") + "}"
        case .null, .bool, .integer, .number, .string: text
        }
    }

    private func write(to text: inout String, indentation: String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        // JSON has no infinity. Swift's description is the shortest text that restores the same number.
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
