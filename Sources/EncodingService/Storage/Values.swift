// SPDX-License-Identifier: GPL-2.0-or-later

internal import Crypto
internal import JobStore
internal import ServiceAPI

/// Identifiers like those of jobs: 26 digits of Crockford's base 32, a time and a random part that cannot be guessed.
enum Identifier {
    static func make(at time: Double) -> String {
        var value = UInt64(max(time * 1000, 0))
        var text: [UInt8] = []
        for _ in 0..<10 {
            text.append(digits[Int(value & 31)])
            value >>= 5
        }
        text.reverse()
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<16 { text.append(digits[Int.random(in: 0..<32, using: &generator)]) }
        return String(decoding: text, as: UTF8.self)
    }

    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
}

/// Digests as text.
enum Digest {
    /// In hexadecimal digits.
    static func text(_ digest: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in digest {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The SHA-256 of some bytes, in hexadecimal digits.
    static func sha256(_ bytes: some Sequence<UInt8>) -> String {
        var hash = SHA256()
        hash.update(data: Array(bytes))
        return text(hash.finalize())
    }

    /// The bytes of hexadecimal digits; `nil` if the text is none.
    static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }

    private static let digits = Array("0123456789abcdef".utf8)
}

extension Int {
    /// The whole number next to zero, limited to the range of the type; 0 for NaN. Numbers that processes and other
    /// servers tell can be anything.
    init(limiting value: Double) {
        if value.isNaN {
            self = 0
        } else {
            self = value >= 0x1p63 ? .max : value < -0x1p63 ? .min : Int(value)
        }
    }
}

extension Timestamp {
    /// Makes a time of seconds since 1970.
    init(seconds: Double) { self.init(milliseconds: Int64(Int(limiting: seconds * 1000))) }

    init(_ time: StoreTime) { self.init(milliseconds: time.milliseconds) }
}

extension JSONValue {
    /// The text of a string; `nil` of other values.
    var string: String? { if case .string(let text) = self { text } else { nil } }
    /// The whole number; `nil` of other values.
    var integer: Int? { if case .integer(let number) = self { Int(number) } else { nil } }
    /// The number; `nil` of other values.
    var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }
    /// The elements; empty for other values.
    var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }
}
