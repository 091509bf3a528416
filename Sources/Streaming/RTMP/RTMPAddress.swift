// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Where a stream is published by RTMP: `rtmp://[user:password@]host[:port]/app[/instance]/key[?query]`.
///
/// The key, its query and the password are secrets. No description and no error contains them; `redacted(_:)` removes
/// them from the texts of a server.
public struct RTMPAddress: Sendable, Hashable {
    /// Whether the connection uses TLS (`rtmps`).
    public let isSecure: Bool
    /// The host: a name, an IPv4 address, or an IPv6 address without brackets.
    public let host: String
    /// The TCP port: 1935, or 443 with TLS, unless the address states another one.
    public let port: UInt16
    /// The application on the server, with its instance if there is one.
    public let application: String
    /// The user for servers that ask for one; `nil` if the address names none.
    public let user: String?
    /// The password of the user.
    package let password: String?
    /// The name of the stream on the server, with its query: the stream key.
    package let key: String

    /// Parses an address.
    ///
    /// The last component of the path, with the query, is the key; the components before it are the application.
    ///
    /// - Throws: `invalidArgument` for anything else, without the address itself, which may contain a secret.
    public init(_ text: String) throws(MediaError) {
        guard !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            throw Self.invalid("the RTMP address contains spaces or control characters")
        }
        guard let separator = text.firstRange(of: "://") else {
            throw Self.invalid("the RTMP address has no scheme")
        }
        switch text[..<separator.lowerBound].lowercased() {
        case "rtmp": isSecure = false
        case "rtmps": isSecure = true
        default: throw Self.invalid("the address has another scheme than rtmp or rtmps")
        }
        let rest = text[separator.upperBound...]
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let authority = try Authority(rest[..<slash])
        (host, port) = (authority.host, authority.port ?? (isSecure ? 443 : 1935))
        (user, password) = (authority.user, authority.password)
        let path = rest[slash...].dropFirst()
        let query = path.firstIndex(of: "?") ?? path.endIndex
        var components = path[..<query].split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let name = components.popLast() ?? ""
        guard !name.isEmpty, !components.isEmpty, components.allSatisfy({ !$0.isEmpty }) else {
            throw Self.invalid("the RTMP address must name an application and a stream key")
        }
        application = components.joined(separator: "/")
        key = name + path[query...]
        guard application.utf8.count <= Self.longestName, key.utf8.count <= Self.longestName else {
            throw Self.invalid("the RTMP address is too long")
        }
    }

    /// `tcUrl`: the address of the application, with the port if it is not the usual one.
    package var applicationAddress: String {
        let usual: UInt16 = isSecure ? 443 : 1935
        let server = HostAndPort.text(of: host) + (port == usual ? "" : ":\(port)")
        return "\(isSecure ? "rtmps" : "rtmp")://\(server)/\(application)"
    }

    /// Returns the text with the key and the password replaced by `***`, on one line of limited length.
    package func redacted(_ text: String) -> String {
        let name = key.prefix { $0 != "?" }
        var result = text
        for secret in [key, String(name), password ?? ""] where secret.utf8.count > 1 {
            result.replace(secret, with: "***")
        }
        return Readable.shortened(Readable.oneLine(result))
    }

    /// The longest string of AMF0 with a 16-bit length is 65535 bytes; no service has names that come near this.
    private static let longestName = 4096

    private static func invalid(_ message: String) -> MediaError {
        MediaError(
            .invalidArgument,
            message,
            allowed: "rtmp[s]://[user:password@]host[:port]/app[/instance]/key[?query]"
        )
    }
}

extension RTMPAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The address with `***` in place of the key, without user and password.
    public var description: String { "\(applicationAddress)/***" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Shows nothing but ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["address": description]) }
}

extension RTMPAddress {
    /// `[user:password@]host[:port]`.
    private struct Authority {
        var host: String
        var port: UInt16?
        var user: String?
        var password: String?

        init(_ text: Substring) throws(MediaError) {
            var server = text
            if let at = text.lastIndex(of: "@") {
                server = text[text.index(after: at)...]
                let credentials = text[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                user = credentials.first.flatMap { PercentEncoding.decoded($0, keepsOthers: true) }
                password = credentials.count > 1 ? PercentEncoding.decoded(credentials[1], keepsOthers: true) : nil
                guard user != nil, credentials.count < 2 || password != nil else {
                    throw RTMPAddress.invalid("the user or the password in the RTMP address is not UTF-8")
                }
            }
            let place = try HostAndPort(server, isSecret: true)
            (host, port) = (place.host, place.port)
            guard !host.isEmpty else { throw RTMPAddress.invalid("the RTMP address names no host") }
        }
    }
}
