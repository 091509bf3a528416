// SPDX-License-Identifier: GPL-2.0-or-later

/// `%` and two hexadecimal digits in place of a byte. RFC 3986, 2.1.
package enum PercentEncoding {
    /// Returns the text without encoding; `nil` if it is no UTF-8, or has a `%` without two digits.
    ///
    /// - Parameter keepsOthers: Whether a `%` without two digits stands for itself instead.
    package static func decoded(_ text: Substring, keepsOthers: Bool = false) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
            if digits.count == 2 {
                bytes.append(UInt8(digits[0] << 4 | digits[1]))
                rest.removeFirst(2)
            } else if keepsOthers {
                bytes.append(byte)
            } else {
                return nil
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
