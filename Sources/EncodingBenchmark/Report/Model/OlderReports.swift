// SPDX-License-Identifier: GPL-2.0-or-later

// Reports are kept for years, and a key that is added to them does not change their format: so whatever has a default has it
// also where a report of before does not have the key. Synthesized decoding does that for optional values alone.

/// A value of a report that is nothing where the report does not have it. It is written as if it stood alone.
@propertyWrapper
public struct NothingIfAbsent<Value: Emptiable & Codable & Sendable & Hashable>: Codable, Sendable, Hashable {
    /// The value.
    public var wrappedValue: Value

    /// Takes a value.
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    /// Reads the value alone.
    public init(from decoder: any Decoder) throws {
        wrappedValue = try decoder.singleValueContainer().decode(Value.self)
    }

    /// Writes the value alone.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

/// What has a value that says nothing.
public protocol Emptiable {
    /// That value.
    static var nothing: Self { get }
}

extension Array: Emptiable {
    /// No elements.
    public static var nothing: [Element] { [] }
}

extension Dictionary: Emptiable {
    /// No values.
    public static var nothing: [Key: Value] { [:] }
}

extension Bool: Emptiable {
    /// Not so.
    public static var nothing: Bool { false }
}

extension KeyedDecodingContainer {
    /// What synthesized decoding calls for such a value.
    func decode<Value>(_: NothingIfAbsent<Value>.Type, forKey key: Key) throws -> NothingIfAbsent<Value> {
        NothingIfAbsent(wrappedValue: try decodeIfPresent(Value.self, forKey: key) ?? .nothing)
    }

    /// Takes a value over into a property, which keeps its own where there is none.
    func take<Root, Value: Decodable>(
        _ key: Key,
        into property: WritableKeyPath<Root, Value>,
        of root: inout Root
    ) throws {
        if let value = try decodeIfPresent(Value.self, forKey: key) { root[keyPath: property] = value }
    }
}
