// SPDX-License-Identifier: GPL-2.0-or-later

/// A value of a plan that is written as one word, on the command line, in a plan's file and in reports alike.
public protocol PlanText: Codable, Sendable, Hashable, CustomStringConvertible {
    /// Reads the word; `nil` if it means nothing of this kind.
    init?(text: String)

    /// The word that gives the value again.
    var text: String { get }

    /// What may be written, for an error's "allowed".
    static var allowedText: String { get }
}

extension PlanText {
    /// The word.
    public var description: String { text }

    /// Writes the word.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    /// Reads the word.
    ///
    /// - Throws: `DecodingError` with what is allowed.
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
    /// Reads the word; `nil` if it means nothing of this kind.
    public init?(text: String) { self.init(rawValue: text) }

    /// The word that gives the value again.
    public var text: String { rawValue }

    /// What may be written.
    public static var allowedText: String { allCases.map(\.rawValue).joined(separator: ", ") }

    // Enumerations with raw values have a coding of their own, so the word is said again here.

    /// Writes the word.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    /// Reads the word.
    ///
    /// - Throws: `DecodingError` with what is allowed.
    public init(from decoder: any Decoder) throws { self = try Self.word(from: decoder) }
}
