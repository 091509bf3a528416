// SPDX-License-Identifier: GPL-2.0-or-later

/// Splits the output of a process into lines of bounded length.
struct LogLines {
    static let longestLine = 4096
    static let keptLines = 20

    /// What happens with the part of a line that is too long.
    enum Excess { case split, dropped }

    /// The last lines.
    private(set) var last: [String] = []
    private var rest: [UInt8] = []
    private var isDropping = false
    private let excess: Excess
    private let limit: Int

    init(excess: Excess = .split, limit: Int = longestLine) { (self.excess, self.limit) = (excess, limit) }

    /// Adds bytes.
    ///
    /// - Returns: The lines that are complete. A line that is too long comes in pieces, or is empty if its excess is
    ///   dropped.
    mutating func split(_ bytes: some Sequence<UInt8>) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                lines.append(isDropping ? [] : rest)
                (rest, isDropping) = ([], false)
            } else if isDropping {
                continue
            } else if rest.count == limit {
                switch excess {
                case .split:
                    lines.append(rest)
                    rest = [byte]
                case .dropped: (rest, isDropping) = ([], true)
                }
            } else {
                rest.append(byte)
            }
        }
        return lines
    }

    /// Returns the last line, which has no line feed.
    mutating func finish() -> [UInt8]? {
        defer { (rest, isDropping) = ([], false) }
        return rest.isEmpty ? nil : rest
    }

    /// Adds bytes to a log.
    ///
    /// - Returns: The complete lines as text for people.
    mutating func log(_ bytes: some Sequence<UInt8>) -> [String] { keep(split(bytes)) }

    /// Ends a log.
    mutating func finishLog() -> [String] { keep(finish().map { [$0] } ?? []) }

    private mutating func keep(_ lines: [[UInt8]]) -> [String] {
        let texts = lines.map { Self.shown(String(decoding: $0, as: UTF8.self)) }
        last = Array((last + texts.suffix(Self.keptLines)).suffix(Self.keptLines))
        return texts
    }

    /// Returns text with control characters, and those that change the direction of text, as `\u{…}`, so that a
    /// terminal or page shows it and does not obey it.
    static func shown(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
                shown.append(contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars)
            } else {
                shown.append(scalar)
            }
        }
        return String(shown)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar != "\t" else { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}
