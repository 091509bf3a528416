// SPDX-License-Identifier: GPL-2.0-or-later

/// An attribute of a tag: RFC 8216 4.2.
struct PlaylistAttribute {
    let name: String
    let value: String

    /// Makes an attribute with a number or an enumerated string.
    init(_ name: String, _ value: some CustomStringConvertible) {
        self.name = name
        self.value = "\(value)"
    }

    /// Makes an attribute with a quoted string, which can contain neither quotes nor line breaks: they become
    /// apostrophes and spaces.
    init(_ name: String, quoted text: String) {
        self.name = name
        let plain = text.map { (character: Character) -> Character in
            if character == "\"" { return "'" }
            return character.isNewline || character == "\0" ? " " : character
        }
        value = "\"\(String(plain))\""
    }
}

/// How values are written in playlists.
enum PlaylistText {
    static func tag(_ name: String, _ attributes: [PlaylistAttribute]) -> String {
        "#\(name):" + attributes.map { "\($0.name)=\($0.value)" }.joined(separator: ",")
    }

    /// Returns `<length>@<offset>`.
    static func range(_ bytes: Range<Int>) -> String { "\(bytes.count)@\(bytes.lowerBound)" }

    /// Returns a number that is given in units of 10 to the power of minus `places`, without trailing zeros beyond the
    /// third place.
    static func decimal(_ value: Int64, places: Int) -> String {
        var digits = String(value.magnitude)
        if digits.count <= places { digits = String(repeating: "0", count: places + 1 - digits.count) + digits }
        var fraction = digits.suffix(places)
        while fraction.count > 3, fraction.last == "0" { fraction.removeLast() }
        return (value < 0 ? "-" : "") + digits.dropLast(places) + "." + fraction
    }

    /// Returns the relative reference to a path (RFC 3986 4.2), in which everything but unreserved characters and
    /// slashes is percent-encoded.
    static func reference(to path: String) -> String {
        var result = ""
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: "/"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return result
    }
}
