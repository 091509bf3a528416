// SPDX-License-Identifier: GPL-2.0-or-later

/// What is allowed of the values of a type, for decoding and for the schema.
package struct Rule<Value: APIValue>: Sendable {
    /// Checks a value that was sent, and returns what is wrong.
    let check: @Sendable (Value) -> Violation?
    /// What the schema says in addition to that of the type.
    let keywords: JSONObject

    init(keywords: JSONObject, check: @escaping @Sendable (Value) -> Violation?) {
        self.keywords = keywords
        self.check = check
    }

    /// Everything is allowed.
    package static var any: Rule { Rule(keywords: [:]) { _ in nil } }

    /// Both rules.
    package func and(_ other: Rule) -> Rule {
        var keywords = keywords
        keywords.merge(other.keywords)
        return Rule(keywords: keywords) { check($0) ?? other.check($0) }
    }

    func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> Value {
        let value = try Value.decode(json, mode: mode)
        guard mode.isStrict, let violation = check(value) else { return value }
        let error = APIError(
            .invalidRequest,
            violation.detail,
            value: violation.value ?? json,
            allowed: violation.allowed
        )
        throw violation.place.map(error.within) ?? error
    }

    func schema(in registry: inout SchemaRegistry) -> JSONObject {
        var schema = Value.schema(in: &registry)
        schema.merge(keywords)
        return schema
    }
}

/// A rule that a value breaks.
struct Violation: Sendable, Hashable {
    /// What is wrong, as a sentence without period.
    var detail: String
    /// What is allowed.
    var allowed: String
    /// The key or index of the wrong part; `nil` for the whole.
    var place: String?
    /// The wrong part; `nil` for the whole.
    var value: JSONValue?
}

extension Rule where Value == Int {
    /// Integers of a range.
    package static func range(_ range: ClosedRange<Int>) -> Rule {
        let keywords: JSONObject = ["minimum": range.lowerBound.json, "maximum": range.upperBound.json]
        return Rule(keywords: keywords) {
            range.contains($0)
                ? nil
                : Violation(
                    detail: "The number is out of range",
                    allowed: "\(range.lowerBound)...\(range.upperBound)"
                )
        }
    }

    /// Integers from 0 on that a `Double` holds exactly: numbers and sizes.
    package static var count: Rule { range(0...(1 << 53)) }

    /// Even integers of a range.
    package static func even(_ range: ClosedRange<Int>) -> Rule {
        Rule.range(range).and(
            Rule(keywords: ["multipleOf": 2]) {
                $0.isMultiple(of: 2)
                    ? nil
                    : Violation(
                        detail: "The number is odd",
                        allowed: "even numbers of \(range.lowerBound)...\(range.upperBound)"
                    )
            }
        )
    }
}

extension Rule where Value == Double {
    /// Numbers of a range.
    package static func range(_ range: ClosedRange<Double>) -> Rule {
        let keywords: JSONObject = ["minimum": range.lowerBound.json, "maximum": range.upperBound.json]
        let allowed = "\(range.lowerBound.json.text)...\(range.upperBound.json.text)"
        return Rule(keywords: keywords) {
            range.contains($0) ? nil : Violation(detail: "The number is out of range", allowed: allowed)
        }
    }

    /// Numbers above 0, up to a limit.
    package static func positive(upTo limit: Double) -> Rule {
        let allowed = "above 0, up to \(limit.json.text)"
        return Rule(keywords: ["exclusiveMinimum": 0, "maximum": limit.json]) {
            $0 > 0 && $0 <= limit ? nil : Violation(detail: "The number is out of range", allowed: allowed)
        }
    }
}

extension Rule where Value == String {
    /// A text of one line: a number of characters (Unicode scalars) without control characters.
    package static func line(_ length: ClosedRange<Int>) -> Rule {
        text(length, TextPattern.line)
    }

    /// A text of a length in characters (Unicode scalars), with a pattern.
    package static func text(_ length: ClosedRange<Int>, _ pattern: TextPattern) -> Rule {
        let keywords: JSONObject = [
            "minLength": length.lowerBound.json, "maxLength": length.upperBound.json,
            "pattern": .string(pattern.expression),
        ]
        return Rule(keywords: keywords) { pattern.violation(of: $0, length: length) }
    }
}

/// Arrays and their elements.
extension Rule {
    /// Arrays with a number of elements, which have a rule themselves.
    package static func list<Element: APIValue>(
        _ count: ClosedRange<Int>,
        of rule: Rule<Element> = .any
    ) -> Rule where Value == [Element] {
        var keywords: JSONObject = ["minItems": count.lowerBound.json, "maxItems": count.upperBound.json]
        if !rule.keywords.members.isEmpty {
            var registry = SchemaRegistry()
            keywords["items"] = .object(rule.schema(in: &registry))
        }
        return Rule(keywords: keywords) { elements in
            guard count.contains(elements.count) else {
                return Violation(
                    detail: "The number of elements is out of range",
                    allowed: "\(count.lowerBound)...\(count.upperBound) elements",
                    value: .string("\(elements.count) elements")
                )
            }
            for (index, element) in elements.enumerated() {
                guard var violation = rule.check(element) else { continue }
                violation.place = "\(index)"
                violation.value = element.json
                return violation
            }
            return nil
        }
    }

    /// Objects with a number of keys, and rules for keys and values.
    package static func map<Element: APIValue>(
        _ count: ClosedRange<Int>,
        keys: Rule<String>,
        values: Rule<Element>
    ) -> Rule where Value == [String: Element] {
        var registry = SchemaRegistry()
        let keywords: JSONObject = [
            "minProperties": count.lowerBound.json, "maxProperties": count.upperBound.json,
            "propertyNames": .object(keys.keywords),
            "additionalProperties": .object(values.schema(in: &registry)),
        ]
        return Rule(keywords: keywords) { members in
            guard count.contains(members.count) else {
                return Violation(
                    detail: "The number of keys is out of range",
                    allowed: "\(count.lowerBound)...\(count.upperBound) keys",
                    value: .string("\(members.count) keys")
                )
            }
            for (key, value) in members.sorted(by: { $0.key.precedesByBytes($1.key) }) {
                if var violation = keys.check(key) {
                    violation.detail = "The key is not allowed: \(violation.detail)"
                    violation.place = key
                    violation.value = .string(key)
                    return violation
                }
                if var violation = values.check(value) {
                    violation.place = key
                    violation.value = value.json
                    return violation
                }
            }
            return nil
        }
    }
}
