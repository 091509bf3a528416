// SPDX-License-Identifier: GPL-2.0-or-later

/// A time in UTC with milliseconds, as `2026-11-27T09:15:15.123Z` (RFC 3339).
public struct Timestamp: Sendable, Hashable, Comparable {
    /// The milliseconds since 1970-01-01T00:00:00Z.
    public var milliseconds: Int64

    /// Makes a time. Times outside of the years 0000...9999, which RFC 3339 cannot express, become the nearest one.
    public init(milliseconds: Int64 = 0) {
        self.milliseconds = min(max(milliseconds, Self.range.lowerBound), Self.range.upperBound)
    }

    /// Whether a time is earlier than another one.
    public static func < (first: Timestamp, second: Timestamp) -> Bool { first.milliseconds < second.milliseconds }

    /// 0000-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z.
    private static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999
}

extension Timestamp: CustomStringConvertible {
    /// The time in RFC 3339.
    public var description: String {
        let (day, rest) = Self.divide(milliseconds, by: 86_400_000)
        let date = Self.date(ofDay: day)
        let time = Int(rest)
        let fields = [(date.year, 4), (date.month, 2), (date.day, 2)].map { Self.padded($0, $1) }
        let clock = [time / 3_600_000, time / 60_000 % 60, time / 1000 % 60].map { Self.padded($0, 2) }
        return "\(fields.joined(separator: "-"))T\(clock.joined(separator: ":")).\(Self.padded(time % 1000, 3))Z"
    }

    /// Reads a time of RFC 3339 with any offset. Fractions below a millisecond are cut off.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] | 0x20 == UInt8(ascii: "t"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = Self.number(bytes[0..<4]), let month = Self.number(bytes[5..<7]),
            let day = Self.number(bytes[8..<10]), let hour = Self.number(bytes[11..<13]),
            let minute = Self.number(bytes[14..<16]), let second = Self.number(bytes[17..<19]),
            (1...12).contains(month), day >= 1, day <= Self.days(inMonth: month, of: year),
            hour <= 23, minute <= 59, second <= 59
        else { return nil }
        var rest = bytes[19...]
        var fraction: Int64 = 0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard (1...9).contains(digits.count) else { return nil }
            for place in 0..<3 {
                let digit = place < digits.count ? digits[digits.startIndex + place] - UInt8(ascii: "0") : 0
                fraction = fraction * 10 + Int64(digit)
            }
            rest = rest.dropFirst(1 + digits.count)
        }
        guard let offset = Self.offset(Array(rest)) else { return nil }
        let seconds = Self.day(ofYear: year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
        let milliseconds = Int64(seconds) * 1000 + fraction
        guard Self.range.contains(milliseconds) else { return nil }
        self.milliseconds = milliseconds
    }

    /// The seconds by which local time is ahead of UTC: `Z`, `+01:00`.
    private static func offset(_ bytes: [UInt8]) -> Int? {
        if bytes.count == 1 { return bytes[0] | 0x20 == UInt8(ascii: "z") ? 0 : nil }
        guard bytes.count == 6, bytes[3] == UInt8(ascii: ":"), let hour = number(bytes[1..<3]),
            let minute = number(bytes[4..<6]), hour <= 23, minute <= 59
        else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "+"): return hour * 3600 + minute * 60
        case UInt8(ascii: "-"): return -(hour * 3600 + minute * 60)
        default: return nil
        }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return value
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    // MARK: The Gregorian calendar

    private static func isLeap(_ year: Int) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }

    private static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The days from 0000-01-01 to the first day of a year.
    private static func days(beforeYear year: Int) -> Int {
        guard year > 0 else { return 0 }
        let last = year - 1
        return 365 * year + last / 4 - last / 100 + last / 400 + 1
    }

    private static let dayOf1970 = days(beforeYear: 1970)

    /// The days from 1970-01-01 to a date.
    private static func day(ofYear year: Int, _ month: Int, _ day: Int) -> Int {
        let earlierMonths = (1..<month).reduce(0) { $0 + days(inMonth: $1, of: year) }
        return days(beforeYear: year) - dayOf1970 + earlierMonths + day - 1
    }

    private static func date(ofDay day: Int64) -> (year: Int, month: Int, day: Int) {
        var rest = Int(day) + dayOf1970
        var year = rest * 400 / 146_097
        if days(beforeYear: year) > rest { year -= 1 }
        if days(beforeYear: year + 1) <= rest { year += 1 }
        rest -= days(beforeYear: year)
        var month = 1
        while rest >= days(inMonth: month, of: year) {
            rest -= days(inMonth: month, of: year)
            month += 1
        }
        return (year, month, rest + 1)
    }

    private static func divide(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let remainder = value % divisor
        return remainder < 0 ? (value / divisor - 1, remainder + divisor) : (value / divisor, remainder)
    }
}

extension Timestamp: APIValue {
    package static func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> Timestamp {
        guard case .string(let text) = json else { throw .wrongType(json, expected: "a time") }
        guard let time = Timestamp(text) else {
            throw APIError(
                .invalidRequest,
                "The text is not a time",
                value: json,
                allowed: "RFC 3339, such as 2026-11-27T09:15:15.123Z"
            )
        }
        return time
    }
    package var json: JSONValue { .string(description) }
    package static func schema(in registry: inout SchemaRegistry) -> JSONObject {
        ["type": "string", "format": "date-time"]
    }
}
