// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// The time of the system, in seconds since 1970-01-01 00:00 UTC. It is shown to people; what decides about jobs is the
/// time of the job store.
package enum Clock {
    package static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// A time that only advances, in seconds.
    package static var monotonic: Double {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Dates as in RFC 3339.
package enum UTCDate {
    /// Such as `2026-01-31T12:00:00Z`.
    package static func text(_ seconds: Double) -> String {
        var whole = time_t(seconds)
        var parts = tm()
        gmtime_r(&whole, &parts)
        var text = [CChar](repeating: 0, count: 32)
        strftime(&text, text.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// Dates of HTTP (RFC 9110, clause 5.6.7).
package enum HTTPDate {
    package static func text(_ seconds: Double) -> String {
        var whole = time_t(seconds)
        var parts = tm()
        gmtime_r(&whole, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let time = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
        return
            "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900) \(time) GMT"
    }
}
