// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// A date and time in UTC, to the millisecond.
public struct WallClockTime: Sendable, Hashable {
    /// The milliseconds since 1970-01-01T00:00:00Z, without leap seconds: from the year 0000 to 9999.
    public let milliseconds: Int64

    private static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    /// Makes a time; `nil` outside of the years 0000 to 9999.
    public init?(milliseconds: Int64) {
        guard Self.range.contains(milliseconds) else { return nil }
        self.milliseconds = milliseconds
    }

    /// Returns the time after a duration, limited to the year 9999.
    public func advanced(by duration: MediaTime) -> WallClockTime {
        let added = duration.converted(to: 1000).value
        let (sum, isTooLarge) = milliseconds.addingReportingOverflow(added)
        let limited = isTooLarge ? (added < 0 ? Int64.min : .max) : sum
        return WallClockTime(milliseconds: min(max(limited, Self.range.lowerBound), Self.range.upperBound)) ?? self
    }

    /// Parses `YYYY-MM-DDThh:mm:ss`, with a fraction of up to nine digits if there is one, and `Z` or an offset `+hh:mm`
    /// (RFC 3339 5.6). Leap seconds are the second after.
    public init?(_ text: String) {
        var rest = text[...]
        func number(_ digits: Int) -> Int64? {
            let part = rest.prefix(digits)
            guard part.utf8.count == digits, part.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            rest = rest.dropFirst(digits)
            return Int64(part)
        }
        func skip(_ characters: String) -> Character? {
            guard let first = rest.first, characters.contains(first) else { return nil }
            return rest.removeFirst()
        }
        guard let year = number(4), skip("-") != nil, let month = number(2), skip("-") != nil, let day = number(2),
            skip("Tt ") != nil, let hour = number(2), skip(":") != nil, let minute = number(2), skip(":") != nil,
            let second = number(2), (1...12).contains(month), (1...Self.days(in: month, year)).contains(day),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        var fraction: Int64 = 0
        if skip(".,") != nil {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            guard (1...9).contains(digits.count), let value = Int64(digits.prefix(3)) else { return nil }
            fraction = [100, 10, 1][min(digits.count, 3) - 1] * value
            rest = rest.dropFirst(digits.count)
        }
        var offset: Int64 = 0
        guard let sign = skip("Zz+-") else { return nil }
        if sign == "+" || sign == "-" {
            guard let hours = number(2), skip(":") != nil, let minutes = number(2), hours < 24, minutes < 60 else {
                return nil
            }
            offset = (hours * 60 + minutes) * (sign == "-" ? -60 : 60)
        }
        guard rest.isEmpty else { return nil }
        let seconds = Self.day(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
        self.init(milliseconds: seconds * 1000 + fraction)
    }

    private static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func days(in month: Int64, _ year: Int64) -> Int64 {
        [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][Int(month) - 1]
    }

    /// Returns the number of a day, counted from 1970-01-01 in the Gregorian calendar. Years begin in March here, so
    /// that the leap day is the last one.
    private static func day(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return 365 * shifted + floor(shifted, 4) - floor(shifted, 100) + floor(shifted, 400) + dayOfYear - 719_468
    }

    private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : -((divisor - 1 - value) / divisor)
    }
}

extension WallClockTime: CustomStringConvertible {
    /// The time in the form `2026-01-31T12:00:00.000Z`.
    public var description: String {
        let number = Self.floor(milliseconds, 86_400_000)
        let time = milliseconds - number * 86_400_000
        var year = Self.floor((number + 719_468) * 400, 146_097)
        if Self.day(year + 1, 3, 1) <= number { year += 1 }
        if Self.day(year, 3, 1) > number { year -= 1 }
        let dayOfYear = number - Self.day(year, 3, 1)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let date = [
            Self.padded(year + (month >= 10 ? 1 : 0), 4), Self.padded((month + 2) % 12 + 1, 2), Self.padded(day, 2),
        ]
        let clock = [time / 3_600_000, time / 60_000 % 60, time / 1000 % 60].map { Self.padded($0, 2) }
        return date.joined(separator: "-") + "T" + clock.joined(separator: ":") + "." + Self.padded(time % 1000, 3)
            + "Z"
    }

    private static func padded(_ value: Int64, _ digits: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(digits - text.count, 0)) + text
    }
}
