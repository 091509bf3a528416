// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// A number as people write it, exactly: digits and at most one point; no sign, no exponent.
struct DecimalNumber: Hashable {
    /// All digits, as if there were no point.
    let digits: Int64
    /// What to divide ``digits`` by: a power of ten.
    let scale: Int64

    /// Reads up to fifteen digits, nine of them behind the point.
    init?(_ text: some StringProtocol) {
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

    /// The number if it was written without a point.
    var wholeValue: Int? { scale == 1 ? Int(digits) : nil }

    /// The nearest `Double`.
    var doubleValue: Double { Double(digits) / Double(scale) }

    /// That many seconds, exactly.
    var time: MediaTime { MediaTime(value: digits, timescale: Int32(scale)) }
}
