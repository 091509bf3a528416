// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// The path of numbered files, as FFmpeg's `image2` has it: `%d` or `%05d` in the file name stands for the number, `%%`
/// for a percent sign.
package struct FileNamePattern: Sendable, Hashable {
    /// The path as the user specified it.
    package let text: String

    /// The path before the number, or the whole path.
    private let prefix: String
    /// The least number of digits; `nil` if the path has no number.
    private let digits: Int?
    /// The path after the number.
    private let suffix: String

    /// The numbers of digits that can be demanded.
    private static let allowedDigits = 1...20

    /// Reads a pattern.
    ///
    /// - Throws: `invalidArgument` if it has several numbers, one in the name of a folder, or another use of `%`.
    package init(_ text: String) throws(MediaError) {
        self.text = text
        var parts = [""]
        var digits: Int?
        var rest = text[...]
        while let character = rest.popFirst() {
            guard character == "%" else {
                parts[parts.count - 1].append(character)
                continue
            }
            let field = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(field.count)
            switch rest.popFirst() {
            case "%" where field.isEmpty: parts[parts.count - 1].append("%")
            case "d" where field.isEmpty:
                digits = 1
                parts.append("")
            case "d":
                guard field.hasPrefix("0"), let count = Int(field), Self.allowedDigits.contains(count) else {
                    throw Self.error("the number of digits is not valid", text)
                }
                digits = count
                parts.append("")
            default: throw Self.error("the path has a percent sign without a number", text)
            }
        }
        guard parts.count <= 2 else { throw Self.error("the path has more than one number", text) }
        (prefix, suffix) = (parts[0], parts.count > 1 ? parts[1] : "")
        self.digits = digits
        guard !suffix.contains("/") else { throw Self.error("the number is in the name of a folder", text) }
    }

    private static func error(_ message: String, _ text: String) -> MediaError {
        MediaError(
            .invalidArgument,
            message,
            given: text,
            allowed: "one %d, or %0Nd for at least N digits (up to \(allowedDigits.upperBound)), in the file name; "
                + "%% for a percent sign"
        )
    }

    /// Whether it has a number, and so stands for many files.
    package var hasNumber: Bool { digits != nil }

    /// Returns the path of a file.
    package func path(_ number: Int) -> String {
        guard let digits else { return prefix }
        let text = String(number)
        return prefix + String(repeating: "0", count: max(digits - text.count, 0)) + text + suffix
    }

    /// The folder of the files.
    package var folder: String { prefix.lastIndex(of: "/").map { String(prefix[...$0]) } ?? "." }

    /// Returns the number of a file in the folder, from 1 on; `nil` if the pattern does not give this name.
    package func number(ofName name: String) -> Int? {
        let start = prefix.lastIndex(of: "/").map { String(prefix[prefix.index(after: $0)...]) } ?? prefix
        guard hasNumber, name.hasPrefix(start), name.hasSuffix(suffix), name.count > start.count + suffix.count,
            let number = Int(name.dropFirst(start.count).dropLast(suffix.count)), number > 0
        else { return nil }
        let whole = path(number)
        return whole.hasSuffix("/" + name) || whole == name ? number : nil
    }
}
