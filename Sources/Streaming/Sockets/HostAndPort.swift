// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// The text `host[:port]` of a URL. RFC 3986, 3.2.
package struct HostAndPort: Sendable, Hashable {
    /// A name, an IPv4 address, or an IPv6 address without brackets; empty if there is none.
    package let host: String
    /// The port, 1...65535.
    package let port: UInt16?

    /// Parses the text.
    ///
    /// - Parameter isSecret: Whether errors must not show the text, because it may be a part of a secret.
    /// - Throws: `invalidArgument`.
    package init(_ text: Substring, isSecret: Bool = false) throws(MediaError) {
        let colon = text.last == "]" ? nil : text.lastIndex(of: ":")
        port = try colon.map { colon throws(MediaError) in try Self.port(text[text.index(after: colon)...], isSecret) }
        host = try Self.host(text[..<(colon ?? text.endIndex)], isSecret)
    }

    /// Returns a host as URLs have it: IPv6 addresses in brackets.
    package static func text(of host: String) -> String { host.contains(":") ? "[\(host)]" : host }

    private static func port(_ digits: Substring, _ isSecret: Bool) throws(MediaError) -> UInt16 {
        let isNumber = !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isNumber, let port = UInt16(digits), port > 0 else {
            throw MediaError(
                .invalidArgument,
                "the address has a wrong port",
                given: isSecret ? nil : String(digits),
                allowed: "1...65535"
            )
        }
        return port
    }

    private static func host(_ text: Substring, _ isSecret: Bool) throws(MediaError) -> String {
        let isBracketed = text.first == "[" && text.last == "]"
        let name = isBracketed ? text.dropFirst().dropLast() : text
        let isAllowed = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: ":"), UInt8(ascii: "%"): isBracketed
            case 0x21...0x7E: !"[]#\"<>\\^`{|}".utf8.contains(byte)
            default: byte >= 0x80
            }
        }
        guard isAllowed, !isBracketed || name.contains(":") else {
            throw MediaError(
                .invalidArgument,
                "the address has a wrong host",
                given: isSecret ? nil : String(text),
                allowed: "a name, an IPv4 address, or an IPv6 address in brackets"
            )
        }
        return isBracketed ? name.split(separator: "%25").joined(separator: "%") : String(name)
    }
}
