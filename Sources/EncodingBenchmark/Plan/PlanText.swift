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
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let value = Self(text: text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "\(text) is not \(Self.allowedText)"
            )
        }
        self = value
    }
}

extension PlanText where Self: CaseIterable & RawRepresentable<String> {
    /// Reads the word; `nil` if it means nothing of this kind.
    public init?(text: String) { self.init(rawValue: text) }

    /// The word that gives the value again.
    public var text: String { rawValue }

    /// What may be written.
    public static var allowedText: String { allCases.map(\.rawValue).joined(separator: ", ") }

    /// Writes the word. Said here as well, for the standard library says another way for raw values, and between the two
    /// the compiler takes neither but its own.
    public func encode(to encoder: any Encoder) throws { try rawValue.encode(to: encoder) }

    /// Reads the word.
    ///
    /// - Throws: `DecodingError` with what is allowed.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let value = Self(rawValue: text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "\(text) is not \(Self.allowedText)"
            )
        }
        self = value
    }
}
