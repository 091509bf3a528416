// SPDX-License-Identifier: GPL-2.0-or-later

/// Everything that a benchmark found out: where it ran, what was asked, and the raw data of every run.
///
/// Its JSON form is described in `docs/bench-report.md`; the names of keys are those of the properties. Units are
/// seconds, bytes, bits per second, joules and decibels throughout. What follows from raw data, as medians, intervals and
/// Bjøntegaard differences, is not stored: `DerivedFigures` makes it anew wherever it is shown. The JSON file repeats it
/// under `derived` for other programs, and a reader here passes over that.
public struct BenchmarkReport: Codable, Sendable, Hashable {
    /// The version of the form. A key that is added does not change it; a key that changes its meaning does.
    public var format = Self.currentFormat
    /// The program that measured, with its version: `vatoolbox 0.5.0`.
    public var program: String
    /// When it began, in UTC as RFC 3339 writes it: `2026-03-01T09:30:00Z`.
    public var startedAt: String
    /// From the beginning to the end, in seconds, without interruptions.
    public var duration: Double
    /// Whether every run of the plan was carried out, including those that failed.
    public var isComplete: Bool
    /// The machine and what is installed on it.
    public var environment: Environment
    /// What was asked, in full.
    public var plan: BenchmarkPlan
    /// What was encoded.
    public var clips: [Clip]
    /// What encoded it.
    public var encoders: [Encoder]
    /// Every run, in the order of execution, warm-ups included.
    public var runs: [Run]
    /// How many streams fit, if that was searched for.
    @NothingIfAbsent public var density: [Density] = []
    /// What was noticed while measuring that may have spoiled figures. `warnings` adds what the data itself shows.
    @NothingIfAbsent public var remarks: [Warning] = []

    /// The form that is written here, and the only one that is read.
    public static let currentFormat = 1
}

/// A figure, or the reason why there is none: `{"value": 38.2}` or `{"absent": "no ffmpeg with libvmaf was found"}`.
public enum Measured<Value: Sendable & Hashable>: Sendable, Hashable {
    /// The figure.
    case value(Value)
    /// Why it was not measured, for a person; without a full stop.
    case absent(String)

    /// The figure, if there is one.
    public var value: Value? {
        guard case .value(let value) = self else { return nil }
        return value
    }

    /// Why there is none; `nil` if there is one.
    public var absence: String? {
        guard case .absent(let reason) = self else { return nil }
        return reason
    }

    /// The same about what is made of the figure.
    func map<Other>(_ transform: (Value) -> Other) -> Measured<Other> {
        switch self {
        case .value(let value): .value(transform(value))
        case .absent(let reason): .absent(reason)
        }
    }

    private enum CodingKeys: CodingKey { case value, absent }
}

extension Measured: Decodable where Value: Decodable {
    /// Reads either key; `value` counts if both are there.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let value = try container.decodeIfPresent(Value.self, forKey: .value) {
            self = .value(value)
        } else {
            self = .absent(try container.decode(String.self, forKey: .absent))
        }
    }
}

extension Measured: Encodable where Value: Encodable {
    /// Writes one key.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .value(let value): try container.encode(value, forKey: .value)
        case .absent(let reason): try container.encode(reason, forKey: .absent)
        }
    }
}

extension BenchmarkReport {
    /// Something that a reader of figures must know.
    public struct Warning: Codable, Sendable, Hashable {
        /// How much it weighs.
        public enum Weight: String, Codable, Sendable, Hashable, CaseIterable {
            /// The figures say nothing about any hardware: to be told in big letters.
            case banner
            /// Some figure is spoiled or cannot be compared.
            case caution
            /// Good to know.
            case note
        }

        /// How much it weighs.
        public var weight: Weight
        /// What is the matter, in words for a person.
        public var message: String
        /// The ``Encoder/id`` or ``Clip/id`` that it is about; `nil` for all of them.
        public var subject: String?

        /// Makes a warning; without a subject it is about everything.
        public init(_ weight: Weight, _ message: String, subject: String? = nil) {
            (self.weight, self.message, self.subject) = (weight, message, subject)
        }
    }
}
