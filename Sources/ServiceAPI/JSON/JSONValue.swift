// SPDX-License-Identifier: GPL-2.0-or-later

/// A value of JSON (RFC 8259). Integers that fit 64 bits are exact.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without fraction and exponent.
    case integer(Int64)
    /// Any other number. One that is not finite is written as `null`, because JSON has none.
    case number(Double)
    /// A text.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)

    /// The value of a key, or `nil` if this is not an object or does not have it.
    public subscript(key: String) -> JSONValue? {
        guard case .object(let object) = self else { return nil }
        return object[key]
    }

    /// The name of its type with an article, for messages.
    package var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The same value, with the keys of all objects in the order of their bytes.
    public var withSortedKeys: JSONValue {
        switch self {
        case .null, .bool, .integer, .number, .string: return self
        case .array(let elements): return .array(elements.map(\.withSortedKeys))
        case .object(let object):
            let members = object.members.map { JSONObject.Member($0.key, $0.value.withSortedKeys) }
            return .object(JSONObject(members: members.sorted { $0.key.precedesByBytes($1.key) }))
        }
    }
}

/// An object of JSON. It keeps the order of its keys, and two objects are equal if the order is, too.
public struct JSONObject: Sendable, Hashable {
    /// A key and its value.
    public struct Member: Sendable, Hashable {
        /// The key.
        public var key: String
        /// The value.
        public var value: JSONValue

        /// Makes a member.
        public init(_ key: String, _ value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// The members in their order. No key occurs twice.
    public private(set) var members: [Member]

    /// Makes an object of members with different keys.
    init(members: [Member] = []) {
        self.members = members
    }

    /// The value of a key. A new key comes last; `nil` removes the key. Takes time in proportion to the number of keys.
    public subscript(key: String) -> JSONValue? {
        get { members.first { $0.key == key }?.value }
        set {
            let index = members.firstIndex { $0.key == key }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(key, value))
            case (nil, nil): break
            }
        }
    }

    /// Adds members that this object does not have, and replaces the values of those that it has.
    mutating func merge(_ other: JSONObject) {
        for member in other.members { self[member.key] = member.value }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Makes an object. Of a key that occurs twice, the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init()
        for (key, value) in elements { self[key] = value }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    /// Makes a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Makes a number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Makes a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral {
    /// Makes an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Makes an object. Of a key that occurs twice, the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (key, value) in elements { object[key] = value }
        self = .object(object)
    }
    /// Makes `null`.
    public init(nilLiteral: ()) { self = .null }
}

extension String {
    /// Whether this text comes before another one in the order of their bytes in UTF-8, which no locale changes.
    func precedesByBytes(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}
