// SPDX-License-Identifier: GPL-2.0-or-later

// Reports are kept for years, and new keys do not change their format. Properties with a default therefore keep it when
// an older report lacks the key. Synthesized decoding only supports this for optional values.

/// A value of a report that has a default if the report lacks its key. It is encoded like the value itself.
@propertyWrapper
public struct NothingIfAbsent<Value: Emptiable & Codable & Sendable & Hashable>: Codable, Sendable, Hashable {
    /// The value.
    public var wrappedValue: Value

    /// Wraps a value.
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    /// Decodes the value itself.
    public init(from decoder: any Decoder) throws {
        wrappedValue = try decoder.singleValueContainer().decode(Value.self)
    }

    /// Encodes the value itself.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

/// A type with an empty value.
public protocol Emptiable {
    /// The empty value.
    static var nothing: Self { get }
}

extension Array: Emptiable {
    /// An empty array.
    public static var nothing: [Element] { [] }
}

extension Dictionary: Emptiable {
    /// An empty dictionary.
    public static var nothing: [Key: Value] { [:] }
}

extension Bool: Emptiable {
    /// False.
    public static var nothing: Bool { false }
}

extension KeyedDecodingContainer {
    /// Called by synthesized decoding for such a value.
    func decode<Value>(_: NothingIfAbsent<Value>.Type, forKey key: Key) throws -> NothingIfAbsent<Value> {
        NothingIfAbsent(wrappedValue: try decodeIfPresent(Value.self, forKey: key) ?? .nothing)
    }

    /// Decodes a value into a property, which keeps its default if the key is missing.
    func take<Root, Value: Decodable>(
        _ key: Key,
        into property: WritableKeyPath<Root, Value>,
        of root: inout Root
    ) throws {
        if let value = try decodeIfPresent(Value.self, forKey: key) { root[keyPath: property] = value }
    }
}
