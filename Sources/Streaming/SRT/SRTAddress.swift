// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// The address of a receiver that speaks SRT, and how to connect with it: `srt://host:port?name=value&...`.
///
/// - `mode`: `caller` connects to a receiver that listens; `listener` waits until a receiver connects; `rendezvous`
///   connects with a receiver that does the same at the same time, through the firewalls of both, and from the same
///   port. By default `caller`, and `listener` if there is no host.
/// - `latency`: The time between sending and playing, in which lost packets are sent again, in **milliseconds**,
///   0...60000, by default 120. The greater value of both sides counts. Three to four round trips are usual. **FFmpeg's
///   `latency` is in microseconds**: its `latency=200000` is `latency=200` here.
/// - `passphrase`: The secret that both sides know, 10...79 bytes. It encrypts the stream. Other users of this machine
///   see arguments of commands, so programs should pass it apart from the address.
/// - `pbkeylen`: The size of the key for AES in bytes: 16, 24 or 32, by default 16.
/// - `streamid`: The name of the stream for the receiver, at most 512 bytes, for example
///   `#!::r=live/studio,m=publish`, or whatever the operator of the receiver has given. Only a caller has one.
///
/// Characters may be percent-encoded; `%`, `&` and control characters must be. A `#` needs not be.
///
/// Its text shows neither the passphrase nor the stream identifier, which may have a password in it.
public struct SRTAddress: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Which side makes the connection.
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// The receiver listens, and this side connects.
        case caller
        /// This side waits until a receiver connects.
        case listener
        /// Both sides connect with each other.
        case rendezvous
    }

    /// Which side makes the connection.
    public let mode: Mode
    /// The name or address of the receiver, without the brackets of IPv6. For a listener, the own address at which it
    /// waits, or nothing for all of them.
    public let host: String
    /// The port, 1...65535.
    public let port: UInt16
    /// The time between sending and playing, in milliseconds.
    public let latency: Int
    /// The secret of both sides; `nil` without encryption.
    public let passphrase: String?
    /// The size of the key in bytes; `nil` for the default of the library, 16.
    public let keyLength: Int?
    /// The name of the stream for the receiver.
    public let streamID: String?

    private static let names = ["mode", "latency", "passphrase", "pbkeylen", "streamid"]
    private static let secrets = ["passphrase", "streamid"]
    private static let latencies = 0...60_000
    private static let usualLatency = 120
    private static let keyLengths = [16, 24, 32]
    private static let passphraseSizes = 10...79
    private static let mostStreamIDBytes = 512

    /// Reads an address.
    ///
    /// - Parameters:
    ///   - text: The address.
    ///   - passphrase: The passphrase, if it is not in the address.
    ///   - streamID: The stream identifier as it is, not encoded, if it is not in the address.
    /// - Throws: `invalidArgument` with what is wrong, and what is allowed, and without secrets.
    public init(_ text: String, passphrase: String? = nil, streamID: String? = nil) throws(MediaError) {
        let url = try TransportURL(text, schemes: ["srt"], parameters: Self.names, secrets: Self.secrets)
        (host, port) = (url.host, url.port)
        mode = try Self.mode(url)
        latency =
            try url.integer(
                "latency",
                in: Self.latencies,
                unit: "milliseconds",
                remedies: ["divide a latency for FFmpeg, which is in microseconds, by 1000"]
            ) ?? Self.usualLatency
        self.passphrase = try Self.only(passphrase, url.parameters["passphrase"], "passphrase")
        self.streamID = try Self.only(streamID, url.parameters["streamid"], "streamid")
        keyLength = try Self.keyLength(url)
        try checkSecrets()
    }

    private func checkSecrets() throws(MediaError) {
        if let passphrase, !Self.passphraseSizes.contains(passphrase.utf8.count) || passphrase.utf8.contains(0) {
            throw MediaError(
                .invalidArgument,
                "the passphrase has a wrong length",
                given: "\(passphrase.utf8.count) bytes",
                allowed: "10...79 bytes"
            )
        }
        guard keyLength == nil || passphrase != nil else {
            throw MediaError(.invalidArgument, "a pbkeylen has no effect without a passphrase")
        }
        guard let streamID else { return }
        guard mode == .caller else {
            throw MediaError(
                .invalidArgument,
                "only a caller has a streamid",
                given: "mode=\(mode.rawValue)",
                allowed: "mode=caller"
            )
        }
        guard (1...Self.mostStreamIDBytes).contains(streamID.utf8.count), !streamID.utf8.contains(0) else {
            throw MediaError(
                .invalidArgument,
                "the streamid has a wrong length",
                given: "\(streamID.utf8.count) bytes",
                allowed: "1...\(Self.mostStreamIDBytes) bytes"
            )
        }
    }

    private static func mode(_ url: TransportURL) throws(MediaError) -> Mode {
        let text = url.parameters["mode"] ?? (url.host.isEmpty ? Mode.listener : .caller).rawValue
        guard let mode = Mode(rawValue: text) else {
            throw MediaError(
                .invalidArgument,
                "the address has a wrong mode",
                given: text,
                allowed: Mode.allCases.map(\.rawValue).joined(separator: ", ")
            )
        }
        guard mode == .listener || !url.host.isEmpty else {
            throw MediaError(
                .invalidArgument,
                "the address has no host, which mode=\(mode.rawValue) needs",
                allowed: "srt://host:port?mode=\(mode.rawValue), srt://:port?mode=listener"
            )
        }
        return mode
    }

    private static func only(_ one: String?, _ other: String?, _ name: String) throws(MediaError) -> String? {
        guard one == nil || other == nil else {
            throw MediaError(.invalidArgument, "the \(name) is given twice: in the address and apart from it")
        }
        return one ?? other
    }

    private static func keyLength(_ url: TransportURL) throws(MediaError) -> Int? {
        guard let text = url.parameters["pbkeylen"] else { return nil }
        guard let length = keyLengths.first(where: { "\($0)" == text }) else {
            throw MediaError(
                .invalidArgument,
                "the address has a wrong pbkeylen",
                given: text,
                allowed: "16, 24, 32 bytes"
            )
        }
        return length
    }

    /// The address with `***` in place of secrets.
    public var description: String {
        var text = "srt://\(HostAndPort.text(of: host)):\(port)?mode=\(mode.rawValue)&latency=\(latency)"
        if passphrase != nil { text += "&passphrase=***" }
        if let keyLength { text += "&pbkeylen=\(keyLength)" }
        if streamID != nil { text += "&streamid=***" }
        return text
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// Nothing: `dump` must not show secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
