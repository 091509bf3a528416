// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Streaming

/// Where the files of a live stream are sent by HTTP PUT: `put:http[s]://[user:password@]host[:port]/path/`.
///
/// The credentials are secrets. No description and no error contains them.
public struct HLSUploadAddress: Sendable, Hashable {
    /// How the server knows who sends.
    enum Credentials: Sendable, Hashable {
        /// RFC 7617.
        case basic(user: String, password: String)
        /// The value of the header `Authorization`.
        case header(String)
    }

    /// Whether the connection uses TLS.
    public let isSecure: Bool
    /// The host: a name, an IPv4 address, or an IPv6 address without brackets.
    public let host: String
    /// The TCP port; `nil` for that of the scheme.
    public let port: UInt16?
    /// The path of the folder, percent-encoded, with a slash at both ends.
    public let path: String
    let credentials: Credentials?

    private static let prefix = "put:"
    private static let form = "hls:put:http[s]://[user:password@]host[:port]/path/"

    /// Whether the text behind `hls:` is meant to be such an address.
    static func isOne(_ text: Substring) -> Bool { text.prefix(prefix.count).lowercased() == prefix }

    /// - Parameters:
    ///   - text: What is behind `hls:`, without parameters.
    ///   - authorization: The value of the header `Authorization`; `nil` for none.
    /// - Throws: `invalidArgument`, without the address, which may contain a password.
    init(_ text: Substring, authorization: String?) throws(MediaError) {
        let address = text.dropFirst(Self.prefix.count)
        guard let separator = address.firstRange(of: "://") else {
            throw Self.invalid("the address of the server has no scheme")
        }
        switch address[..<separator.lowerBound].lowercased() {
        case "http": isSecure = false
        case "https": isSecure = true
        default: throw Self.invalid("the address of the server has another scheme than http or https")
        }
        let rest = address[separator.upperBound...]
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let at = rest[..<slash].lastIndex(of: "@")
        let server = rest[(at.map { rest.index(after: $0) } ?? rest.startIndex)..<slash]
        let place = try HostAndPort(server, isSecret: true)
        (host, port) = (place.host, place.port)
        guard !host.isEmpty else { throw Self.invalid("the address of the server has no host") }
        path = try Self.folder(rest[slash...])
        credentials = try Self.credentials(at.map { rest[..<$0] }, authorization)
    }

    private static func folder(_ text: Substring) throws(MediaError) -> String {
        let isValid = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"#<>?[\\]^`{|}".utf8.contains($0) }
        guard isValid, PercentEncoding.decoded(text) != nil else {
            throw invalid("the path on the server has characters that must be percent-encoded")
        }
        return text.isEmpty ? "/" : text + (text.hasSuffix("/") ? "" : "/")
    }

    private static func credentials(
        _ user: Substring?,
        _ authorization: String?
    ) throws(MediaError) -> Credentials? {
        guard let user else {
            guard let authorization else { return nil }
            guard !authorization.isEmpty, authorization.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                throw invalid("the authorization has characters that a header cannot have")
            }
            return .header(authorization)
        }
        guard authorization == nil else {
            throw invalid("there is an authorization, so the address must not have a user")
        }
        let fields = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = fields.map { PercentEncoding.decoded($0, keepsOthers: true) }
        guard let name = decoded.first ?? nil, let password = decoded.count > 1 ? decoded[1] : "", !name.isEmpty,
            !name.contains(":")
        else { throw invalid("the user or the password of the server is not valid") }
        return .basic(user: name, password: password)
    }

    private static func invalid(_ message: String) -> MediaError {
        MediaError(.invalidArgument, message, allowed: form)
    }
}

extension HLSUploadAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The address of the folder for HTTP, without credentials.
    var url: String {
        "\(isSecure ? "https" : "http")://\(HostAndPort.text(of: host))\(port.map { ":\($0)" } ?? "")\(path)"
    }

    /// The address without credentials.
    public var description: String { Self.prefix + url }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Shows nothing but ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["address": description]) }
}
