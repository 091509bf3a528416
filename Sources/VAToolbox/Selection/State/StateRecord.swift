// SPDX-License-Identifier: GPL-2.0-or-later

/// Named texts in a file of a ``SelectionState``. The first line identifies the format and the last line is a checksum,
/// so that files of other programs and truncated files are detected.
struct StateRecord: Sendable, Hashable {
    /// The texts, in any order.
    var values: [String: String]

    init(_ values: [String: String] = [:]) { self.values = values }

    subscript(name: String) -> String? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// Identifies the format and its version.
    private static let heading = "vatoolbox-state 1"
    /// An upper bound for the size of a record in bytes.
    static let largest = 1 << 16

    /// The contents of the record's file.
    var text: String {
        var text = Self.heading + "\n"
        for (name, value) in values.sorted(by: { $0.key < $1.key }) { text += "\(name) \(Self.escaped(value))\n" }
        return text + "sum \(Self.sum(text))\n"
    }

    /// Parses the contents of a file. Returns `nil` if they are not a record, or are damaged.
    init?(text: String) {
        guard text.hasSuffix("\n"), text.hasPrefix(Self.heading + "\n") else { return nil }
        var lines = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
        guard let last = lines.popLast() else { return nil }
        let body = lines.joined(separator: "\n") + "\n"
        guard last == "sum \(Self.sum(body))" else { return nil }
        values = [:]
        for line in lines.dropFirst() {
            guard let space = line.firstIndex(of: " ") else { return nil }
            values[String(line[..<space])] = Self.unescaped(line[line.index(after: space)...])
        }
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func unescaped(_ text: Substring) -> String {
        var result = ""
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if isEscaped {
                result.unicodeScalars.append(scalar == "n" ? "\n" : scalar == "r" ? "\r" : scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func sum(_ text: String) -> String { Fingerprint.of(text) }
}

/// A short name for a long text, the same in every process and version: 64-bit FNV-1a. It does not resist attacks.
enum Fingerprint {
    /// 16 hexadecimal digits.
    static func of(_ text: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
