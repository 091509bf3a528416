// SPDX-License-Identifier: GPL-2.0-or-later

/// How strictly values are decoded.
package struct DecodingMode: Sendable, Hashable {
    /// Whether unknown keys and `null` are errors, and values must keep their rules.
    let isStrict: Bool
    /// Whether rules of several fields are checked, too.
    let validates: Bool

    /// What a client sends: unknown keys, `null`, and values that break a rule are errors.
    package static let request = DecodingMode(isStrict: true, validates: true)
    /// What a service sends, perhaps a newer one: unknown keys are ignored, `null` is an absent value, and only types
    /// and required keys are checked.
    package static let response = DecodingMode(isStrict: false, validates: false)
    /// What the schema says, apart from ``APIObject/furtherSchema``.
    static let fieldsOnly = DecodingMode(isStrict: true, validates: false)
}

/// A value that the API reads and writes.
package protocol APIValue: Sendable {
    /// Reads the value.
    ///
    /// - Throws: `invalid-request`, `unknown-field` or `missing-field`; the error's field is relative to this value.
    static func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> Self

    /// The value as JSON.
    var json: JSONValue { get }

    /// The JSON Schema (2020-12) of all values of the type.
    static func schema(in registry: inout SchemaRegistry) -> JSONObject
}

extension APIValue {
    /// Reads the value from JSON text in UTF-8.
    package static func decode(json bytes: [UInt8], mode: DecodingMode = .request) throws(APIError) -> Self {
        try decode(try JSONValue(parsing: bytes), mode: mode)
    }

    /// Reads the value from JSON.
    package static func decode(json: JSONValue, mode: DecodingMode = .request) throws(APIError) -> Self {
        try decode(json, mode: mode)
    }

    /// The JSON text in UTF-8, with the keys in the order of their declaration.
    package var jsonBytes: [UInt8] { json.bytes }

    /// Bytes that are equal for values that mean the same: defaults are written out, and the keys of all objects have
    /// one order. Comparing them, or their hash, tells whether an idempotency key was used for the same request.
    package var canonicalBytes: [UInt8] { json.withSortedKeys.bytes }
}

extension Bool: APIValue {
    package static func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> Bool {
        guard case .bool(let bool) = json else { throw .wrongType(json, expected: "a boolean") }
        return bool
    }
    package var json: JSONValue { .bool(self) }
    package static func schema(in registry: inout SchemaRegistry) -> JSONObject { ["type": "boolean"] }
}

extension Int: APIValue {
    package static func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> Int {
        switch json {
        case .integer(let integer): return Int(integer)
        case .number(let number):
            // JSON Schema counts 8.0 and 8e0 among the integers.
            guard let integer = Int(exactly: number) else { throw .wrongType(json, expected: "an integer") }
            return integer
        default: throw .wrongType(json, expected: "an integer")
        }
    }
    package var json: JSONValue { .integer(Int64(self)) }
    package static func schema(in registry: inout SchemaRegistry) -> JSONObject {
        ["type": "integer", "format": "int64"]
    }
}

extension Double: APIValue {
    package static func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> Double {
        switch json {
        case .integer(let integer): return Double(integer)
        case .number(let number): return number
        default: throw .wrongType(json, expected: "a number")
        }
    }
    /// A number without fraction is written as an integer, so that 6 and 6.0 give the same bytes.
    package var json: JSONValue {
        guard magnitude < 0x1p53, let integer = Int64(exactly: self) else { return .number(self) }
        return .integer(integer)
    }
    package static func schema(in registry: inout SchemaRegistry) -> JSONObject { ["type": "number"] }
}

extension String: APIValue {
    package static func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> String {
        guard case .string(let text) = json else { throw .wrongType(json, expected: "a string") }
        return text
    }
    package var json: JSONValue { .string(self) }
    package static func schema(in registry: inout SchemaRegistry) -> JSONObject { ["type": "string"] }
}

extension JSONValue: APIValue {
    package static func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> JSONValue { json }
    package var json: JSONValue { self }
    package static func schema(in registry: inout SchemaRegistry) -> JSONObject { [:] }
}

extension Array: APIValue where Element: APIValue {
    package static func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> [Element] {
        guard case .array(let elements) = json else { throw .wrongType(json, expected: "an array") }
        var values: [Element] = []
        values.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            do {
                values.append(try Element.decode(element, mode: mode))
            } catch {
                throw error.within("\(index)")
            }
        }
        return values
    }
    package var json: JSONValue { .array(map(\.json)) }
    package static func schema(in registry: inout SchemaRegistry) -> JSONObject {
        ["type": "array", "items": .object(Element.schema(in: &registry))]
    }
}

extension Dictionary: APIValue where Key == String, Value: APIValue {
    package static func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> [String: Value] {
        guard case .object(let object) = json else { throw .wrongType(json, expected: "an object") }
        var values: [String: Value] = [:]
        for member in object.members {
            do {
                values[member.key] = try Value.decode(member.value, mode: mode)
            } catch {
                throw error.within(member.key)
            }
        }
        return values
    }
    /// The keys have the order of their bytes.
    package var json: JSONValue {
        let sorted = sorted { $0.key.precedesByBytes($1.key) }
        return .object(JSONObject(members: sorted.map { JSONObject.Member($0.key, $0.value.json) }))
    }
    package static func schema(in registry: inout SchemaRegistry) -> JSONObject {
        ["type": "object", "additionalProperties": .object(Value.schema(in: &registry))]
    }
}

/// One of a few words, to which later versions of the same API add none in answers. What may grow is text there, such
/// as the type of an ``Event`` or the code of a ``FailureInfo``.
package protocol APIEnum: APIValue, CaseIterable, Hashable, RawRepresentable where RawValue == String {}

extension APIEnum {
    package static func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> Self {
        let words = allCases.map(\.rawValue)
        let allowed = words.joined(separator: ", ")
        guard case .string(let text) = json else { throw .wrongType(json, expected: "one of \(allowed)") }
        guard let value = Self(rawValue: text) else {
            throw APIError(
                .invalidRequest,
                "The word is not allowed",
                value: json,
                allowed: allowed,
                remedies: NearestWord.of(text, in: words).map { ["Did you mean `\($0)`?"] } ?? []
            )
        }
        return value
    }
    package var json: JSONValue { .string(rawValue) }
    package static func schema(in registry: inout SchemaRegistry) -> JSONObject {
        ["type": "string", "enum": .array(allCases.map(\.json))]
    }
}
