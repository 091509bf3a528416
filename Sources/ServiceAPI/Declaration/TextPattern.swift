// SPDX-License-Identifier: GPL-2.0-or-later

/// What a text must look like: a check, and the same as a regular expression of ECMA-262 for the schema.
package struct TextPattern: Sendable {
    /// The regular expression, which matches the whole text.
    let expression: String
    /// What is allowed, for people.
    let allowed: String
    /// Whether the text has the pattern.
    let matches: @Sendable (String) -> Bool

    func violation(of text: String, length: ClosedRange<Int>) -> Violation? {
        let count = text.unicodeScalars.count
        guard length.contains(count) else {
            return Violation(
                detail: "The text has \(count) characters",
                allowed: "\(length.lowerBound)...\(length.upperBound) characters"
            )
        }
        return matches(text) ? nil : Violation(detail: "The text is not allowed", allowed: allowed)
    }
}

extension TextPattern {
    /// Any text without control characters.
    package static let line = TextPattern(
        expression: #"^[^\u0000-\u001f\u007f]*$"#,
        allowed: "a text without control characters",
        matches: { !$0.utf8.contains(where: isControl) }
    )

    /// A name of a file without folder.
    package static let fileName = TextPattern(
        expression: #"^[^./\\\u0000-\u001f\u007f][^/\\\u0000-\u001f\u007f]*$"#,
        allowed: #"a file name without / and \, which does not begin with a dot"#,
        matches: { text in
            guard let first = text.utf8.first, first != UInt8(ascii: ".") else { return false }
            return !text.utf8.contains { isControl($0) || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        }
    )

    /// A name of the service's own resources: queues, presets, media roots.
    package static let name = TextPattern(
        expression: "^[a-z0-9_-]+$",
        allowed: "a-z, 0-9, - and _",
        matches: { $0.utf8.allSatisfy(isNameByte) && !$0.isEmpty }
    )

    /// The name of a preset, and perhaps one of its versions.
    package static let presetReference = TextPattern(
        expression: "^[a-z0-9_-]+(@[1-9][0-9]{0,8})?$",
        allowed: "a name (a-z, 0-9, - and _), or a name and a version such as web@3",
        matches: { text in
            let parts = text.split(separator: "@", omittingEmptySubsequences: false)
            guard parts.count <= 2, let name = parts.first, !name.isEmpty, name.utf8.allSatisfy(isNameByte) else {
                return false
            }
            return parts.count == 1 || isCount(parts[1])
        }
    )

    /// The key of a label.
    package static let labelKey = TextPattern(
        expression: "^[A-Za-z0-9._-]+$",
        allowed: "A-Z, a-z, 0-9, dot, - and _",
        matches: { text in
            !text.isEmpty && text.utf8.allSatisfy { isLetterOrDigit($0) || ".-_".utf8.contains($0) }
        }
    )

    /// A label to look for: `KEY:VALUE`.
    package static let labelFilter = TextPattern(
        expression: #"^[A-Za-z0-9._-]+:[^\u0000-\u001f\u007f]*$"#,
        allowed: "KEY:VALUE",
        matches: { text in
            guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
            return labelKey.matches(String(text[..<colon])) && !text.utf8[colon...].contains(where: isControl)
        }
    )

    /// An identifier of a job or an upload: 26 characters of Crockford's base 32 in lower case.
    package static let identifier = TextPattern(
        expression: "^[0-9a-hjkmnp-tv-z]{26}$",
        allowed: "26 characters of 0-9 and a-z without i, l, o and u",
        matches: { text in
            text.utf8.count == 26
                && text.utf8.allSatisfy { isDigit($0) || isLowerCase($0) && !"ilou".utf8.contains($0) }
        }
    )

    /// A path below a media root: `ROOT/relative/path`.
    package static let mediaPath = TextPattern(
        expression: #"^[a-z0-9_-]+(/(?!\.{1,2}(/|$))[^/\u0000-\u001f\u007f]+)+$"#,
        allowed: "ROOT/relative/path: the name of a media root, and a path below it without empty parts, . and ..",
        matches: { text in
            // By bytes: a slash and a combining character are one `Character`.
            let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            guard parts.count >= 2, !parts[0].isEmpty, parts[0].allSatisfy(isNameByte) else { return false }
            return areFileNames(parts.dropFirst())
        }
    )

    /// A path within the results of a job.
    package static let resultPath = TextPattern(
        expression: #"^(?!\.{1,2}(/|$))[^/\u0000-\u001f\u007f]+(/(?!\.{1,2}(/|$))[^/\u0000-\u001f\u007f]+)*$"#,
        allowed: "a relative path without empty parts, . and ..",
        matches: { areFileNames($0.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)) }
    )

    /// A bucket of a store.
    package static let bucket = TextPattern(
        expression: "^[a-z0-9][a-z0-9.-]*[a-z0-9]$",
        allowed: "a-z, 0-9, dot and -, beginning and ending with a letter or a digit",
        matches: { text in
            func isEnd(_ byte: UInt8?) -> Bool { byte.map { isLowerCase($0) || isDigit($0) } ?? false }
            return text.utf8.count > 1 && isEnd(text.utf8.first) && isEnd(text.utf8.last)
                && text.utf8.allSatisfy {
                    isLowerCase($0) || isDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
                }
        }
    )

    /// An absolute URL of HTTP.
    package static let webAddress = TextPattern(
        // RFC 3986 appendix A: unreserved and reserved characters, and percent-encodings.
        expression: #"^[Hh][Tt][Tt][Pp][Ss]?://[A-Za-z0-9._~!$&'()*+,;=%:@\[-][A-Za-z0-9._~!$&'()*+,;=%:@\[\]/?#-]*$"#,
        allowed: "an absolute URL that begins with http:// or https://, with other characters percent-encoded",
        matches: { text in
            let bytes = Array(text.utf8)
            guard let separator = bytes.firstIndex(of: UInt8(ascii: ":")) else { return false }
            let scheme = String(decoding: bytes[..<separator], as: UTF8.self).lowercased()
            let rest = bytes[(separator + 1)...]
            guard scheme == "http" || scheme == "https", rest.starts(with: "//".utf8) else { return false }
            let authority = rest.dropFirst(2)
            guard let first = authority.first, !"/?#]".utf8.contains(first) else { return false }
            return authority.allSatisfy { isLetterOrDigit($0) || "._~!$&'()*+,;=%:@[]/?#-".utf8.contains($0) }
        }
    )

    /// A URL that a live job reads.
    package static let liveInput = url(of: ["rtmp", "rtsp", "srt", "udp", "rtp"])
    /// A URL that a live job sends to.
    package static let liveOutput = url(of: ["rtmp", "rtmps", "srt", "udp", "rtp"])

    private static func url(of schemes: [String]) -> TextPattern {
        TextPattern(
            expression: "^(\(schemes.joined(separator: "|")))://[!-\\[\\]-~]+$",
            allowed: "a URL of \(schemes.joined(separator: ", ")): ASCII without spaces and \\",
            matches: { text in
                guard let scheme = schemes.first(where: { text.utf8.starts(with: "\($0)://".utf8) }) else {
                    return false
                }
                let rest = text.utf8.dropFirst(scheme.utf8.count + 3)
                return !rest.isEmpty && rest.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
            }
        )
    }

    /// A path of the API.
    package static let servicePath = TextPattern(
        expression: #"^/v1/[^?#\\\u0000-\u001f\u007f]+$"#,
        allowed: "a path that begins with /v1/, without query",
        matches: { text in
            let start = "/v1/".utf8
            return text.utf8.starts(with: start) && text.utf8.count > start.count
                && !text.utf8.contains { isControl($0) || #"?#\"#.utf8.contains($0) }
        }
    )

    /// A rate of pictures as a number or a fraction.
    package static let frameRate = TextPattern(
        expression: #"^[0-9]{1,9}(\.[0-9]{1,6})?(/[1-9][0-9]{0,8})?$"#,
        allowed: "a number such as 25 or 23.976, or a fraction such as 30000/1001",
        matches: { FrameRate.parts(of: $0) != nil }
    )

    /// FFmpeg's name of a format.
    package static let formatName = TextPattern(
        expression: "^[a-z0-9_,]+$",
        allowed: "FFmpeg's name of a format, such as matroska or h264",
        matches: { text in
            !text.isEmpty && text.utf8.allSatisfy { isLowerCase($0) || isDigit($0) || "_,".utf8.contains($0) }
        }
    )

    /// Where to encode: a word, a render node, or a PCI address.
    package static let device = TextPattern(
        expression:
            #"^(auto|software|/dev/dri/[A-Za-z0-9._:/-]+|[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])$"#,
        allowed: "auto, software, a render node such as /dev/dri/renderD128, or a PCI address such as 0000:03:00.0",
        matches: { text in
            if text == "auto" || text == "software" { return true }
            let folder = "/dev/dri/"
            if text.utf8.starts(with: folder.utf8) {
                let rest = text.utf8.dropFirst(folder.utf8.count)
                return !rest.isEmpty && rest.allSatisfy { isLetterOrDigit($0) || "._:/-".utf8.contains($0) }
            }
            return isPCIAddress(Array(text.utf8))
        }
    )

    /// Whether the parts of a path name files and folders below the present one.
    private static func areFileNames(_ parts: some Collection<String.UTF8View.SubSequence>) -> Bool {
        parts.allSatisfy { part in
            !part.isEmpty && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8)
                && !part.contains(where: isControl)
        }
    }

    private static func isPCIAddress(_ bytes: [UInt8]) -> Bool {
        guard bytes.count == 12 else { return false }
        return bytes.enumerated().allSatisfy { index, byte in
            switch index {
            case 4, 7: byte == UInt8(ascii: ":")
            case 10: byte == UInt8(ascii: ".")
            case 11: (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(byte)
            default: isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
            }
        }
    }

    private static func isCount(_ text: Substring) -> Bool {
        (1...9).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: "0") && text.utf8.allSatisfy(isDigit)
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    private static func isLowerCase(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || isLowerCase(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
    private static func isNameByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || isLowerCase(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}

/// The parts of a rate such as `30000/1001`.
enum FrameRate {
    /// The number before the slash and that after it, or `nil` if the text is not a rate.
    static func parts(of text: String) -> (numerator: Double, denominator: Double)? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let numerator = decimal(parts[0]) else { return nil }
        guard parts.count == 2 else { return (numerator, 1) }
        let digits = parts[1].utf8
        guard (1...9).contains(digits.count), digits.first != UInt8(ascii: "0"), digits.allSatisfy(isDigit),
            let denominator = Double(parts[1])
        else { return nil }
        return (numerator, denominator)
    }

    /// Checks that a rate is 0.01...1000, as the command requires.
    static func violation(of text: String) -> String? {
        guard let rate = parts(of: text) else { return TextPattern.frameRate.allowed }
        return (0.01...1000).contains(rate.numerator / rate.denominator) ? nil : "0.01...1000 pictures per second"
    }

    private static func decimal(_ text: Substring) -> Double? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), (1...9).contains(parts[0].utf8.count) else { return nil }
        guard parts.count == 1 || (1...6).contains(parts[1].utf8.count) else { return nil }
        return parts.allSatisfy { $0.utf8.allSatisfy(isDigit) } ? Double(text) : nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
