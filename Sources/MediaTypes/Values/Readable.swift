// SPDX-License-Identifier: GPL-2.0-or-later

/// Formats quantities for display.
package enum Readable {
    /// Returns a number with the given number of decimal places.
    package static func number(_ value: Double, places: Int) -> String {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        guard value.isFinite, let scaled = Int64(exactly: (value.magnitude * scale).rounded()) else { return "-" }
        let sign = value < 0 && scaled != 0 ? "-" : ""
        guard places > 0 else { return sign + String(scaled) }
        let (whole, fraction) = scaled.quotientAndRemainder(dividingBy: Int64(scale))
        return "\(sign)\(whole).\(padded(fraction, to: places, with: "0"))"
    }

    /// Returns a bitrate in a suitable unit: `800 kbit/s`, `5.12 Mbit/s`.
    package static func bitRate(_ value: Double) -> String {
        switch value {
        case 0..<999.5: "\(number(value, places: 0)) bit/s"
        case 0..<999_500: "\(number(value / 1e3, places: 0)) kbit/s"
        default: "\(number(value / 1e6, places: 2)) Mbit/s"
        }
    }

    /// Returns a size in a suitable unit: `912 bytes`, `3.2 MB`; units are powers of 1000, as for bitrates.
    package static func byteCount(_ count: Int64) -> String {
        let value = Double(count)
        return switch value {
        case ..<1000: "\(count) bytes"
        case ..<999_950: "\(number(value / 1e3, places: 1)) kB"
        case ..<999_950_000: "\(number(value / 1e6, places: 1)) MB"
        default: "\(number(value / 1e9, places: 2)) GB"
        }
    }

    /// Returns a number of seconds in clock format: `0:07`, `12:34`, `1:02:03`.
    package static func clock(_ seconds: Double) -> String {
        guard seconds.isFinite, let total = Int64(exactly: max(seconds, 0).rounded(.down)) else { return "-" }
        let (hours, minutes, rest) = (total / 3600, total / 60 % 60, padded(total % 60, to: 2, with: "0"))
        return hours > 0 ? "\(hours):\(padded(minutes, to: 2, with: "0")):\(rest)" : "\(minutes):\(rest)"
    }

    /// Returns a duration in seconds: `10 seconds`, `0.5 seconds`.
    package static func seconds(_ duration: Duration) -> String {
        let value = duration / .seconds(1)
        let isWhole = value == value.rounded()
        return isWhole ? count(Int(value), "second") : "\(number(value, places: 1)) seconds"
    }

    /// Returns a count with its noun: `1 frame`, `2 frames`.
    package static func count(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }

    /// Returns a list of words: `8`, `8 and 10`, `8, 10 and 12`.
    package static func list(_ words: [String]) -> String {
        guard words.count > 1, let last = words.last else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " and " + last
    }

    /// Returns the beginning of a text of any length.
    package static func shortened(_ text: String) -> String { text.count > 200 ? text.prefix(199) + "…" : text }

    /// Returns the text on one line, with line breaks and other control characters replaced by spaces.
    package static func oneLine(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let isControl = scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value)
            scalars.append(isControl ? " " : scalar)
        }
        return String(scalars)
    }

    private static func padded(_ value: Int64, to width: Int, with character: Character) -> String {
        let digits = String(value)
        return String(repeating: character, count: max(width - digits.count, 0)) + digits
    }
}
