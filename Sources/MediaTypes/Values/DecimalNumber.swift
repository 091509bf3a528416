// SPDX-License-Identifier: GPL-2.0-or-later

/// An exact decimal number, written as digits with at most one decimal point, without sign and exponent.
package struct DecimalNumber: Hashable {
    /// All digits, without the decimal point.
    package let digits: Int64
    /// The divisor of ``digits``: a power of ten.
    package let scale: Int64

    /// Parses up to fifteen digits, nine of them after the decimal point.
    package init?(_ text: some StringProtocol) {
        var digits: Int64 = 0
        var scale: Int64 = 1
        var count = 0
        var isBehindPoint = false
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                count += 1
                guard count <= 15 else { return nil }
                digits = digits * 10 + Int64(byte - UInt8(ascii: "0"))
                if isBehindPoint { scale *= 10 }
            case UInt8(ascii: ".") where !isBehindPoint: isBehindPoint = true
            default: return nil
            }
        }
        guard count > 0, scale <= 1_000_000_000 else { return nil }
        self.digits = digits
        self.scale = scale
    }

    /// The number as an integer, if it was written without a decimal point.
    package var wholeValue: Int? { scale == 1 ? Int(digits) : nil }

    /// The nearest `Double`.
    package var doubleValue: Double { Double(digits) / Double(scale) }

    /// The number of seconds as an exact time.
    package var time: MediaTime { MediaTime(value: digits, timescale: Int32(scale)) }

    /// Parses a number with an optional suffix k, M or G (powers of 1000) and rounds it to an integer; `nil` if it is
    /// invalid.
    package static func multiple(_ text: String) -> Int? {
        let factors: [Character: Double] = ["k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9]
        let factor = text.last.flatMap { factors[$0] }
        guard let number = DecimalNumber(factor == nil ? text[...] : text.dropLast()) else { return nil }
        return Int(exactly: (number.doubleValue * (factor ?? 1)).rounded())
    }
}

extension Rational {
    /// Parses a rate: an integer, a decimal number, or two integers separated by a slash.
    package init?(text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let first = DecimalNumber(parts[0]) else { return nil }
        let denominator: Int64
        if parts.count == 2 {
            guard let second = DecimalNumber(parts[1])?.wholeValue, first.scale == 1 else { return nil }
            denominator = Int64(second)
        } else {
            denominator = first.scale
        }
        guard let top = Int32(exactly: first.digits), let bottom = Int32(exactly: denominator), bottom > 0 else {
            return nil
        }
        self = Rational(top, bottom).reduced
    }
}
