// SPDX-License-Identifier: GPL-2.0-or-later

/// An error of a request: what is wrong, where, what was given, what is allowed, and what to do.
public struct APIError: Error, Sendable, Hashable {
    /// The kind.
    public var code: ErrorCode
    /// What is wrong in this request, as a sentence.
    public var detail: String
    /// The place in the body as a JSON pointer (RFC 6901) such as `/outputs/0/video/bitRate`, or the name of a
    /// parameter.
    public var field: String?
    /// The value given, shortened if it is long.
    public var value: JSONValue?
    /// What is allowed, as text.
    public var allowed: String?
    /// What helps, the best first.
    public var remedies: [String]
    /// The cause in terms of `docs/causes.md`.
    public var cause: String?
    /// The seconds after which a request can succeed, for the header `Retry-After`; not in the body.
    public var retryAfter: Int?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - detail: A sentence without its period.
    ///   - remedies: By default those of the code.
    package init(
        _ code: ErrorCode,
        _ detail: String,
        field: String? = nil,
        value: JSONValue? = nil,
        allowed: String? = nil,
        remedies: [String] = [],
        cause: String? = nil,
        retryAfter: Int? = nil
    ) {
        self.code = code
        self.detail = detail + "."
        self.field = field
        self.value = value?.excerpt
        self.allowed = allowed
        self.remedies = remedies.isEmpty ? code.remedies : remedies
        self.cause = cause
        self.retryAfter = retryAfter
    }

    /// The HTTP status of the answer.
    public var status: Int { code.status }
    /// What the code means.
    public var title: String { code.title }

    /// The same error, seen from the value that contains the wrong one under a key or index. Of a key with more than 64
    /// characters, which no field and no label has, the pointer has the first ones.
    package func within(_ key: String) -> APIError {
        var error = self
        var pointer = "/"
        for scalar in key.unicodeScalars.prefix(64) {
            switch scalar {
            case "~": pointer += "~0"
            case "/": pointer += "~1"
            default: pointer.unicodeScalars.append(scalar)
            }
        }
        error.field = pointer + (field ?? "")
        return error
    }
}

extension APIError: CustomStringConvertible {
    /// For example `/priority: The number is out of range. Given 101, allowed 0...100.`
    public var description: String {
        let place = field.map { "\($0): " } ?? ""
        let facts = [value.map { "given \($0.text)" }, allowed.map { "allowed \($0)" }].compactMap(\.self)
        guard let first = facts.first else { return place + detail }
        let sentence = ([first.prefix(1).uppercased() + first.dropFirst()] + facts.dropFirst()).joined(separator: ", ")
        return "\(place)\(detail) \(sentence)."
    }
}

extension APIError {
    static func wrongType(_ value: JSONValue, expected: String) -> APIError {
        guard value == .null else {
            return APIError(
                .invalidRequest,
                "The value is \(value.typeName) instead of \(expected)",
                value: value,
                allowed: expected
            )
        }
        return APIError(
            .invalidRequest,
            "The value is null instead of \(expected)",
            value: .null,
            allowed: expected,
            remedies: ["Leave the key out if you have no value."]
        )
    }

    static func unknownField(_ key: String, allowed keys: [String]) -> APIError {
        let nearest = NearestWord.of(key, in: keys)
        return APIError(
            .unknownField,
            "There is no such key",
            value: .string(key),
            allowed: keys.joined(separator: ", "),
            remedies: nearest.map { ["Did you mean `\($0)`?"] } ?? []
        )
        .within(key)
    }
}

extension JSONValue {
    /// The value itself, or a shortened text of it if its JSON has more than 200 bytes.
    var excerpt: JSONValue {
        let most = 200
        switch self {
        case .null, .bool, .integer, .number: return self
        case .string(let text):
            return text.utf8.count <= most ? self : .string(Self.shortened(text.utf8.prefix(most)))
        case .array, .object:
            let bytes = self.bytes
            return bytes.count <= most ? self : .string(Self.shortened(bytes.prefix(most)))
        }
    }

    /// A text of the first bytes of another one, without half a character at the end.
    private static func shortened(_ bytes: some BidirectionalCollection<UInt8>) -> String {
        var start = Array(bytes)
        while let last = start.last, last & 0xC0 == 0x80 { start.removeLast() }
        if let last = start.last, last >= 0xC0 { start.removeLast() }
        return String(decoding: start, as: UTF8.self) + "…"
    }
}

/// The word that someone probably meant.
enum NearestWord {
    /// The word with the fewest changes to a given one; `nil` if that would be more than a third of its letters.
    static func of(_ given: String, in words: [String]) -> String? {
        guard given.utf8.count <= 64 else { return nil }
        let letters = Array(given.lowercased().utf8)
        let distances = words.map { (word: $0, distance: distance(letters, Array($0.lowercased().utf8))) }
        guard let nearest = distances.min(by: { $0.distance < $1.distance }) else { return nil }
        return nearest.distance <= max(1, nearest.word.utf8.count / 3) ? nearest.word : nil
    }

    /// The number of letters to insert, delete or replace (Levenshtein).
    private static func distance(_ first: [UInt8], _ second: [UInt8]) -> Int {
        var row = Array(0...second.count)
        for (index, letter) in first.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in second.enumerated() {
                let replaced = diagonal + (letter == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[second.count]
    }
}
