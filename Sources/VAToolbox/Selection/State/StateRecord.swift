// SPDX-License-Identifier: GPL-2.0-or-later

/// A few texts by name, as they are kept in a file of a ``SelectionState``: lines, the first of which names the format and
/// the last of which is a checksum, so that what another program wrote or what was cut short is known for that.
struct StateRecord: Sendable, Hashable {
    /// The texts, in any order.
    var values: [String: String]

    init(_ values: [String: String] = [:]) { self.values = values }

    subscript(name: String) -> String? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// Names the format; another version of it has another number.
    private static let heading = "vatoolbox-state 1"
    /// More bytes than any record has.
    static let largest = 1 << 16

    /// The record as it stands in a file.
    var text: String {
        var text = Self.heading + "\n"
        for (name, value) in values.sorted(by: { $0.key < $1.key }) { text += "\(name) \(Self.escaped(value))\n" }
        return text + "sum \(Self.sum(text))\n"
    }

    /// Reads what a file holds; `nil` if that is no record, or a damaged one.
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

/// A short name for a long text, the same in every process and version: FNV-1a of 64 bits. Not against attackers.
enum Fingerprint {
    /// 16 hexadecimal digits.
    static func of(_ text: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
