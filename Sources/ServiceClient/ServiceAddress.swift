// SPDX-License-Identifier: GPL-2.0-or-later

/// The URL of a service: `http` or `https`, a host, and perhaps a port and a path in front of `/v1`.
struct ServiceAddress: Sendable, Hashable {
    /// The URL without a slash at its end.
    let text: String

    /// - Throws: `invalidValue`.
    init(_ text: String) throws(ClientError) {
        let lower = text.lowercased()
        guard let scheme = ["http://", "https://"].first(where: lower.hasPrefix) else {
            throw Self.error("the URL of the service has no scheme", text)
        }
        var rest = text.dropFirst(scheme.count)
        guard rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !rest.contains("?"), !rest.contains("#") else {
            throw Self.error("the URL of the service has a query, a fragment, or characters that are not allowed", text)
        }
        while rest.last == "/" { rest.removeLast() }
        let authority = rest.prefix { $0 != "/" }
        guard !authority.contains("@") else {
            throw ClientError(
                .invalidValue,
                "the URL of the service has a user or a password",
                remedies: ["Give the key as such, and not in the URL."]
            )
        }
        guard !authority.isEmpty, !authority.hasPrefix(":") else {
            throw Self.error("the URL of the service has no host", text)
        }
        self.text = scheme + rest
    }

    private static func error(_ message: String, _ text: String) -> ClientError {
        ClientError(
            .invalidValue,
            "\(message) (given \(text); allowed: http or https, such as http://127.0.0.1:8080)"
        )
    }

    /// The URL of a path.
    func url(_ path: ServicePath) -> String { text + path.text }
}

/// A path of the API with its query.
struct ServicePath: Sendable, Hashable {
    private(set) var text: String
    private var hasQuery = false

    /// Makes the path of segments, which may contain any character, such as `["jobs", id]` for `/v1/jobs/ID`.
    init(_ segments: String...) {
        text = "/v1" + segments.map { "/" + Self.encoded($0) }.joined()
    }

    /// The path with a path of several segments at its end.
    func appending(path: String) -> ServicePath {
        var result = self
        result.text += path.split(separator: "/", omittingEmptySubsequences: false)
            .map { "/" + Self.encoded(String($0)) }.joined()
        return result
    }

    /// The path with another parameter in its query.
    func query(_ name: String, _ value: String?) -> ServicePath {
        guard let value else { return self }
        var result = self
        result.text += (hasQuery ? "&" : "?") + "\(name)=\(Self.encoded(value))"
        result.hasQuery = true
        return result
    }

    /// Text in which every byte but the unreserved ones of RFC 3986 is encoded.
    static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
