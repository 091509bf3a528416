// SPDX-License-Identifier: GPL-2.0-or-later

internal import FoundationEssentials

/// The host and port of a URL, which an HTTP client may be given. AsyncHTTPClient traps for ports above 65535 and for
/// hosts of which nothing is left without brackets.
struct WebHost: Sendable, Hashable {
    /// Decoded, and an IPv6 address without brackets.
    let name: String
    /// 1…65535; `nil` for that of the scheme.
    let port: Int?

    /// - Parameters:
    ///   - host: The host as a URL has it, decoded.
    ///   - port: The port that the URL names.
    /// - Throws: `Malformed` for a host that is empty or has characters that hosts do not have (WHATWG URL 3.2), and for
    ///   a port out of range.
    init(host: String?, port: Int?) throws(Malformed) {
        guard let host else { throw Malformed(description: "the URL has no host") }
        var name = host.utf8[...]
        if name.first == UInt8(ascii: "["), name.last == UInt8(ascii: "]"), name.count > 1 {
            name = name.dropFirst().dropLast()
        }
        guard !name.isEmpty else { throw Malformed(description: "the URL has no host") }
        guard name.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !Self.forbidden.contains($0) }) else {
            throw Malformed(description: "the URL has a malformed host (allowed: a name or an address)")
        }
        if let port, !(1...65535).contains(port) {
            throw Malformed(description: "the URL has the port \(port) (allowed: 1…65535)")
        }
        self.name = String(Substring(name))
        self.port = port
    }

    /// - Throws: `Malformed`, also for text that is no URL.
    init(of url: URL?) throws(Malformed) {
        try self.init(host: url?.host, port: url.flatMap { $0.port ?? (Self.hasPort($0) ? .max : nil) })
    }

    /// Whether a URL ends its authority with a colon and digits. Foundation tells no port that `Int` cannot hold.
    private static func hasPort(_ url: URL) -> Bool {
        let text = url.absoluteString.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst(2)
        let authority = text.prefix { !"/?#".utf8.contains($0) }.reversed()
        let rest = authority.drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return rest.count < authority.count && rest.first == UInt8(ascii: ":")
    }

    private static let forbidden = Set("#%/<>?@[\\]^|\"".utf8)

    /// Why a URL names no host to connect to.
    struct Malformed: Error, Hashable, CustomStringConvertible {
        var description: String
    }
}
