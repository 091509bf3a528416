// SPDX-License-Identifier: GPL-2.0-or-later

/// All results of a benchmark: the machine, the plan, and the raw data of every run.
///
/// `docs/bench-report.md` describes its JSON form; the keys are the names of the properties. Units are seconds, bytes,
/// bits per second, joules and decibels throughout. Figures that follow from the raw data, such as medians, intervals
/// and Bjøntegaard differences, are not stored: `DerivedFigures` computes them when they are displayed. The JSON file
/// repeats them under `derived` for other programs; the decoder here ignores that key.
public struct BenchmarkReport: Codable, Sendable, Hashable {
    /// The version of the format. A new key does not change it; a new meaning of a key does.
    public var format = Self.currentFormat
    /// The program that measured, with its version, such as `vatoolbox 0.5.0`.
    public var program: String
    /// The start time in UTC, in RFC 3339 format: `2026-03-01T09:30:00Z`.
    public var startedAt: String
    /// The duration in seconds, without interruptions.
    public var duration: Double
    /// Whether every run of the plan was executed, including failed ones.
    public var isComplete: Bool
    /// The machine and its installed software.
    public var environment: Environment
    /// The complete plan.
    public var plan: BenchmarkPlan
    /// The clips.
    public var clips: [Clip]
    /// The encoders.
    public var encoders: [Encoder]
    /// Every run, in the order of execution, warm-ups included.
    public var runs: [Run]
    /// The stream counts, if they were searched for.
    @NothingIfAbsent public var density: [Density] = []
    /// The observations during the measurement that may affect figures. `warnings` adds findings in the data.
    @NothingIfAbsent public var remarks: [Warning] = []

    /// The format that is written, and the only one that is read.
    public static let currentFormat = 1
}

/// A figure, or the reason why there is none: `{"value": 38.2}` or `{"absent": "no ffmpeg with libvmaf was found"}`.
public enum Measured<Value: Sendable & Hashable>: Sendable, Hashable {
    /// The figure.
    case value(Value)
    /// The reason why it was not measured, as text for users, without a full stop.
    case absent(String)

    /// The figure, if there is one.
    public var value: Value? {
        guard case .value(let value) = self else { return nil }
        return value
    }

    /// The reason why there is no figure; `nil` if there is one.
    public var absence: String? {
        guard case .absent(let reason) = self else { return nil }
        return reason
    }

    /// Transforms the figure, if there is one.
    func map<Other>(_ transform: (Value) -> Other) -> Measured<Other> {
        switch self {
        case .value(let value): .value(transform(value))
        case .absent(let reason): .absent(reason)
        }
    }

    private enum CodingKeys: CodingKey { case value, absent }
}

extension Measured: Decodable where Value: Decodable {
    /// Decodes either key; `value` takes precedence.
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
    /// Encodes one key.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .value(let value): try container.encode(value, forKey: .value)
        case .absent(let reason): try container.encode(reason, forKey: .absent)
        }
    }
}

extension BenchmarkReport {
    /// A warning for the reader of figures.
    public struct Warning: Codable, Sendable, Hashable {
        /// The severity of a warning.
        public enum Weight: String, Codable, Sendable, Hashable, CaseIterable {
            /// The figures are not valid for any hardware; shown prominently.
            case banner
            /// Some figures are affected or cannot be compared.
            case caution
            /// Additional information.
            case note
        }

        /// The severity.
        public var weight: Weight
        /// The message, as text for users.
        public var message: String
        /// The ``Encoder/id`` or ``Clip/id`` that it concerns; `nil` for all.
        public var subject: String?

        /// Creates a warning; without a subject, it concerns everything.
        public init(_ weight: Weight, _ message: String, subject: String? = nil) {
            (self.weight, self.message, self.subject) = (weight, message, subject)
        }
    }
}
