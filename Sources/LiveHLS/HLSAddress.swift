// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Where a live stream of HTTP Live Streaming goes: a folder, another server, or players that connect to this program.
///
/// `hls:FOLDER` writes playlists and segments into a folder, which any web server can deliver.
/// `hls:put:https://host/path/` sends them to a server by HTTP PUT. `hls:http://host:port/` and
/// `hls:https://host:port/?cert=FILE&key=FILE` listen on an address of this machine and deliver low-latency HLS.
/// Parameters follow a question mark and are separated by `&`:
///
/// - `segment`: The target duration of a segment in seconds, 1...30. By default 4. Key frames must not be further
///   apart.
/// - `part`: The target duration of a part in seconds, 0.2...2, or `none`. By default 1 for a server of this program,
///   else `none`, because a plain web server cannot hold requests until a part exists.
/// - `window`: How many of the newest seconds are listed, 6 segments to 86400. By default 60 or 6 segments.
/// - `dvr`: How many seconds viewers can go back, at least as `window`; `all` keeps everything, but not in this program.
/// - `cert`, `key`: The files of the certificate chain and of its private key, PEM, for `https`.
/// - `overwrite`: Whether the stream that is in the folder may be replaced, 1 or 0. By default 0.
public struct HLSAddress: Sendable, Hashable, CustomStringConvertible {
    /// Where players get the stream.
    public enum Place: Sendable, Hashable {
        /// A folder of this machine.
        case folder(String, replacesOlder: Bool)
        /// Another server, to which files are sent by HTTP PUT.
        case upload(HLSUploadAddress)
        /// A server in this program.
        case server(host: String, port: UInt16, tls: TLS?)

        /// Whether it is a folder, which needs no network.
        var isFolder: Bool { if case .folder = self { true } else { false } }
    }

    /// The files for TLS.
    public struct TLS: Sendable, Hashable {
        /// The path of the certificate chain, PEM.
        public var certificate: String
        /// The path of the private key, PEM.
        public var key: String
    }

    /// Where players get the stream.
    public let place: Place
    /// How the stream is cut and listed.
    public let options: HLSOptions

    private static let names = ["segment", "part", "window", "dvr", "cert", "key", "overwrite"]
    private static let form =
        "hls:FOLDER, hls:put:https://host/path/, hls:http://host:port/, hls:https://host:port/?cert=FILE&key=FILE"

    /// Whether a text is meant to be such an address.
    public static func isOne(_ text: String) -> Bool { text.prefix(4).lowercased() == "hls:" }

    /// Reads an address.
    ///
    /// - Parameters:
    ///   - text: The address.
    ///   - authorization: The value of the header `Authorization` for a server that gets the files, which should not be
    ///     on a command line.
    /// - Throws: `invalidArgument` with what is wrong, and what is allowed.
    public init(_ text: String, authorization: String? = nil) throws(MediaError) {
        guard Self.isOne(text) else {
            throw MediaError(.invalidArgument, "the address has another scheme", given: text, allowed: Self.form)
        }
        let sections = text.dropFirst(4).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let parameters = try Self.parameters(sections.count > 1 ? sections[1] : "")
        let target = sections.first ?? ""
        let isUpload = HLSUploadAddress.isOne(target)
        let isServer = target.contains("://") && !isUpload
        if isUpload {
            let message = "a server that gets files has no such parameter"
            try Self.refuse(["cert", "key", "overwrite"], of: parameters, message)
            place = .upload(try HLSUploadAddress(target, authorization: authorization))
        } else if isServer {
            place = try Self.server(target, parameters)
        } else {
            guard !target.isEmpty, !target.hasPrefix("//"), !target.contains("\0") else {
                throw MediaError(.invalidArgument, "the address has no folder", given: text, allowed: Self.form)
            }
            try Self.refuse(["cert", "key"], of: parameters, "the files of TLS belong to hls:https://")
            place = .folder(String(target), replacesOlder: try parameters.flag("overwrite"))
        }
        options = try HLSOptions(parameters, isServer: isServer)
    }

    private static func parameters(_ query: Substring) throws(MediaError) -> HLSParameters {
        var values: [String: String] = [:]
        for field in query.split(separator: "&") {
            let pair = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, names.contains(String(pair[0])) else {
                throw MediaError(
                    .invalidArgument,
                    "the address has an unknown parameter",
                    given: String(field),
                    allowed: names.map { "\($0)=" }.joined(separator: ", ")
                )
            }
            guard values.updateValue(String(pair[1]), forKey: String(pair[0])) == nil else {
                throw MediaError(.invalidArgument, "the address has a parameter twice", given: String(field))
            }
        }
        return HLSParameters(values: values)
    }

    private static func refuse(_ names: [String], of given: HLSParameters, _ message: String) throws(MediaError) {
        for name in names where given.values[name] != nil {
            throw MediaError(.invalidArgument, message, given: name)
        }
    }

    private static func server(_ target: Substring, _ parameters: HLSParameters) throws(MediaError) -> Place {
        let parts = target.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        let scheme = parts[0].lowercased()
        guard scheme == "http" || scheme == "https", parts.count == 2 else {
            throw MediaError(.invalidArgument, "no server has this scheme", given: String(target), allowed: form)
        }
        let authority = parts[1].hasSuffix("/") ? parts[1].dropLast() : parts[1]
        guard !authority.contains("/"), !authority.contains("@"), let colon = authority.lastIndex(of: ":"),
            !authority.hasSuffix("]")
        else {
            throw MediaError(
                .invalidArgument,
                "the address is not a host and a port",
                given: String(target),
                allowed: "\(scheme)://host:port/"
            )
        }
        let digits = authority[authority.index(after: colon)...]
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits), port > 0 else {
            throw MediaError(
                .invalidArgument,
                "the address has a wrong port",
                given: String(digits),
                allowed: "1...65535"
            )
        }
        var host = authority[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else {
            throw MediaError(
                .invalidArgument,
                "the address has no host",
                given: String(target),
                allowed: "\(scheme)://host:port/, 0.0.0.0 for all interfaces"
            )
        }
        try refuse(["overwrite"], of: parameters, "only a folder is replaced")
        guard scheme == "https" else {
            try refuse(["cert", "key"], of: parameters, "the files of TLS belong to hls:https://")
            return .server(host: String(host), port: port, tls: nil)
        }
        guard let certificate = parameters.values["cert"], let key = parameters.values["key"], !certificate.isEmpty,
            !key.isEmpty
        else {
            throw MediaError(
                .invalidArgument,
                "a server with TLS needs a certificate and its key",
                given: String(target),
                allowed: "hls:https://host:port/?cert=FILE&key=FILE"
            )
        }
        return .server(host: String(host), port: port, tls: TLS(certificate: certificate, key: key))
    }

    /// The address without parameters.
    public var description: String {
        switch place {
        case .folder(let path, _): return "hls:\(path)"
        case .upload(let address): return "hls:\(address)"
        case .server(let host, let port, let tls):
            let name = host.contains(":") ? "[\(host)]" : host
            return "hls:\(tls == nil ? "http" : "https")://\(name):\(port)/"
        }
    }
}

/// The parameters of an address by their names.
struct HLSParameters {
    var values: [String: String]

    /// Returns a parameter as a decimal number with up to three places; `nil` if there is none.
    func seconds(_ name: String, in range: ClosedRange<Double>) throws(MediaError) -> MediaTime? {
        guard let text = values[name] else { return nil }
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
        guard isPlain, text.utf8.count <= 10, let number = Double(text), range.contains(number) else {
            throw MediaError(
                .invalidArgument,
                "the address has a wrong \(name)",
                given: text,
                allowed: "\(Self.plain(range.lowerBound)) to \(Self.plain(range.upperBound)) s"
            )
        }
        return MediaTime(value: Int64((number * 1000).rounded()), timescale: 1000)
    }

    func flag(_ name: String) throws(MediaError) -> Bool {
        guard let text = values[name] else { return false }
        guard text == "0" || text == "1" else {
            throw MediaError(.invalidArgument, "the address has a wrong \(name)", given: text, allowed: "0, 1")
        }
        return text == "1"
    }

    private static func plain(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))" : "\(number)"
    }
}
