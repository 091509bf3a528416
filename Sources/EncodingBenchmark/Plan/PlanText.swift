// SPDX-License-Identifier: GPL-2.0-or-later

/// A value of a plan that is written as one word, in the same way on the command line, in a plan's file and in reports.
public protocol PlanText: Codable, Sendable, Hashable, CustomStringConvertible {
    /// Parses the text; `nil` if it is invalid.
    init?(text: String)

    /// The text that ``init(text:)`` parses to this value.
    var text: String { get }

    /// The allowed values, for the "allowed" part of an error.
    static var allowedText: String { get }
}

extension PlanText {
    /// The text.
    public var description: String { text }

    /// Encodes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    /// Decodes the text.
    ///
    /// - Throws: `DecodingError` with the allowed values.
    public init(from decoder: any Decoder) throws { self = try Self.word(from: decoder) }

    fileprivate static func word(from decoder: any Decoder) throws -> Self {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        if let value = Self(text: text) { return value }
        throw DecodingError.dataCorruptedError(
            in: container,
            debugDescription: "\(text) is not \(Self.allowedText)"
        )
    }
}

extension PlanText where Self: CaseIterable & RawRepresentable<String> {
    /// Parses the text; `nil` if it is invalid.
    public init?(text: String) { self.init(rawValue: text) }

    /// The text that ``init(text:)`` parses to this value.
    public var text: String { rawValue }

    /// The allowed values.
    public static var allowedText: String { allCases.map(\.rawValue).joined(separator: ", ") }

    // Enumerations with raw values have their own coding, so it is implemented again here.

    /// Encodes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    /// Decodes the text.
    ///
    /// - Throws: `DecodingError` with the allowed values.
    public init(from decoder: any Decoder) throws { self = try Self.word(from: decoder) }
}
