// SPDX-License-Identifier: GPL-2.0-or-later

/// A point in time or a duration: `value / timescale` seconds, as in `CMTime`.
///
/// Comparison and conversion are exact (128-bit intermediates). If a result cannot be represented, because of an
/// overflow or an invalid operand, it is ``invalid``; no operation traps.
public struct MediaTime: Sendable {
    /// The number of ticks.
    public let value: Int64
    /// The number of ticks per second. A time with a timescale below 1 is invalid.
    public let timescale: Int32

    /// Makes a time of `value / timescale` seconds. A `timescale` below 1 makes the time invalid.
    public init(value: Int64, timescale: Int32) {
        self.value = value
        self.timescale = max(timescale, 0)
    }

    /// Makes the time nearest to the given number of seconds, with halves rounded away from zero; invalid if it does
    /// not fit.
    public init(seconds: Double, preferredTimescale: Int32) {
        let ticks = (seconds * Double(preferredTimescale)).rounded(.toNearestOrAwayFromZero)
        guard preferredTimescale > 0, let value = Int64(exactly: ticks) else {
            self = .invalid
            return
        }
        self.init(value: value, timescale: preferredTimescale)
    }

    /// Zero seconds.
    public static let zero = MediaTime(value: 0, timescale: 1)
    /// The invalid time. It equals itself and sorts after every valid time.
    public static let invalid = MediaTime(value: 0, timescale: 0)

    /// Whether the time is valid.
    public var isValid: Bool { timescale > 0 }

    /// The time in seconds as the nearest `Double`; not a number if invalid.
    public var seconds: Double { isValid ? Double(value) / Double(timescale) : .nan }
}

// MARK: - Conversion

extension MediaTime {
    /// The rounding of a time that falls between two ticks.
    public enum Rounding: Sendable, Hashable {
        /// To the nearest tick, with halves rounded away from zero.
        case nearest
        /// To the previous tick (toward negative infinity).
        case down
        /// To the next tick (toward positive infinity).
        case up
    }

    /// Returns the same time in another timescale; invalid if the result does not fit.
    public func converted(to timescale: Int32, rounding: Rounding = .nearest) -> MediaTime {
        guard isValid, timescale > 0 else { return .invalid }
        if timescale == self.timescale { return self }
        let ticks = Self.divide(Int128(value) * Int128(timescale), by: Int128(self.timescale), rounding)
        return Self.make(ticks, timescale)
    }

    /// Makes a time from integers, such as a tick count in an FFmpeg time base: `ticks * numerator / denominator`.
    ///
    /// The result is exact if the reduced denominator fits 32 bits, otherwise rounded to the nearest microsecond. It is
    /// invalid if `denominator` is zero or the result does not fit.
    public static func rational(_ ticks: Int64, numerator: Int64, denominator: Int64) -> MediaTime {
        guard denominator != 0 else { return .invalid }
        var top = Int128(ticks) * Int128(numerator)
        var bottom = Int128(denominator)
        if bottom < 0 {
            top = -top
            bottom = -bottom
        }
        if bottom > Int128(Int32.max) {
            let divisor = greatestCommonDivisor(top.magnitude, bottom.magnitude)
            top /= Int128(divisor)
            bottom /= Int128(divisor)
        }
        if let timescale = Int32(exactly: bottom) { return make(top, timescale) }
        // A product that overflows 128 bits has a quotient that overflows 64.
        let (microseconds, overflow) = top.multipliedReportingOverflow(by: 1_000_000)
        return overflow ? .invalid : make(divide(microseconds, by: bottom, .nearest), 1_000_000)
    }

    private static func make(_ ticks: Int128, _ timescale: Int32) -> MediaTime {
        Int64(exactly: ticks).map { MediaTime(value: $0, timescale: timescale) } ?? .invalid
    }

    private static func divide(_ dividend: Int128, by divisor: Int128, _ rounding: Rounding) -> Int128 {
        let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
        guard remainder != 0 else { return quotient }
        switch rounding {
        case .down: return dividend < 0 ? quotient - 1 : quotient
        case .up: return dividend < 0 ? quotient : quotient + 1
        case .nearest:
            guard remainder.magnitude * 2 >= divisor.magnitude else { return quotient }
            return dividend < 0 ? quotient - 1 : quotient + 1
        }
    }
}

// MARK: - Arithmetic

extension MediaTime {
    /// Returns the sum. Its timescale is the least common multiple of both; if that does not fit 32 bits, it is the
    /// larger of both, and the sum is rounded to the nearest tick.
    public static func + (left: MediaTime, right: MediaTime) -> MediaTime { left.adding(Int128(right.value), right) }

    /// Returns the difference, with the timescale and rounding of the sum.
    public static func - (left: MediaTime, right: MediaTime) -> MediaTime { left.adding(-Int128(right.value), right) }

    /// Returns the time multiplied by an integer; invalid if the result does not fit.
    public static func * (left: MediaTime, count: Int64) -> MediaTime {
        left.isValid ? make(Int128(left.value) * Int128(count), left.timescale) : .invalid
    }

    private func adding(_ otherTicks: Int128, _ other: MediaTime) -> MediaTime {
        guard isValid, other.isValid else { return .invalid }
        if timescale == other.timescale { return Self.make(Int128(value) + otherTicks, timescale) }
        let divisor = Int64(greatestCommonDivisor(timescale.magnitude, other.timescale.magnitude))
        let (mine, theirs) = (Int128(timescale), Int128(other.timescale))
        let multiple = mine / Int128(divisor) * theirs
        let sum = Int128(value) * (multiple / mine) + otherTicks * (multiple / theirs)
        if let common = Int32(exactly: multiple) { return Self.make(sum, common) }
        let larger = max(timescale, other.timescale)
        return Self.make(Self.divide(sum * Int128(larger), by: multiple, .nearest), larger)
    }
}

// MARK: - Comparison

extension MediaTime: Hashable, Comparable {
    /// Returns whether both are the same time: 1/2 equals 2/4. Invalid times equal each other.
    public static func == (left: MediaTime, right: MediaTime) -> Bool {
        guard left.isValid, right.isValid else { return left.isValid == right.isValid }
        if left.timescale == right.timescale { return left.value == right.value }
        return Int128(left.value) * Int128(right.timescale) == Int128(right.value) * Int128(left.timescale)
    }

    /// Returns whether the left time is before the right one. Invalid times sort last.
    public static func < (left: MediaTime, right: MediaTime) -> Bool {
        guard left.isValid, right.isValid else { return left.isValid && !right.isValid }
        if left.timescale == right.timescale { return left.value < right.value }
        return Int128(left.value) * Int128(right.timescale) < Int128(right.value) * Int128(left.timescale)
    }

    /// Hashes the reduced fraction, so that equal times have equal hashes.
    public func hash(into hasher: inout Hasher) {
        let divisor = isValid ? greatestCommonDivisor(value.magnitude, UInt64(timescale)) : 1
        hasher.combine(isValid ? Int128(value) / Int128(divisor) : 0)
        hasher.combine(UInt64(timescale) / divisor)
    }
}

extension MediaTime: CustomStringConvertible {
    /// For example `1001/30000`; `invalid` for the invalid time.
    public var description: String { isValid ? "\(value)/\(timescale)" : "invalid" }
}

/// Returns the greatest common divisor by Euclid's algorithm; at least 1.
func greatestCommonDivisor<Value: FixedWidthInteger & UnsignedInteger>(_ left: Value, _ right: Value) -> Value {
    var (larger, smaller) = (left, right)
    while smaller != 0 { (larger, smaller) = (smaller, larger % smaller) }
    return max(larger, 1)
}
