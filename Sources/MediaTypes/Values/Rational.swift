// SPDX-License-Identifier: GPL-2.0-or-later

/// A positive ratio of two integers: a frame rate in frames per second, or a pixel aspect ratio (width to height).
public struct Rational: Sendable, CustomStringConvertible {
    /// The numerator.
    public let numerator: Int32
    /// The denominator.
    public let denominator: Int32

    /// Makes a ratio. It is valid (``isPositive``) only if both parts are positive.
    public init(_ numerator: Int32, _ denominator: Int32 = 1) {
        self.numerator = numerator
        self.denominator = denominator
    }

    /// 1:1, for example square pixels.
    public static let one = Rational(1)

    /// Whether both parts are positive, as every use in this package requires.
    public var isPositive: Bool { numerator > 0 && denominator > 0 }

    /// The nearest `Double`.
    public var doubleValue: Double { Double(numerator) / Double(denominator) }

    /// The ratio in lowest terms, for example 30/1 for 60/2.
    public var reduced: Rational {
        guard isPositive else { return self }
        let divisor = Int32(greatestCommonDivisor(numerator.magnitude, denominator.magnitude))
        return Rational(numerator / divisor, denominator / divisor)
    }

    /// `30`, or `30000/1001` if it is not an integer.
    public var description: String { denominator == 1 ? "\(numerator)" : "\(numerator)/\(denominator)" }
}

extension Rational: ExpressibleByIntegerLiteral {
    /// Makes a ratio of an integer to one, so that a frame rate can be written as `30`.
    public init(integerLiteral value: Int32) { self.init(value) }
}

extension Rational: Hashable {
    /// Returns whether both are the same ratio: 60/2 equals 30/1.
    public static func == (left: Rational, right: Rational) -> Bool {
        guard left.isPositive, right.isPositive else {
            return (left.numerator, left.denominator) == (right.numerator, right.denominator)
        }
        return Int64(left.numerator) * Int64(right.denominator) == Int64(right.numerator) * Int64(left.denominator)
    }

    /// Hashes the reduced ratio, so that equal ratios have equal hashes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(reduced.numerator)
        hasher.combine(reduced.denominator)
    }
}
