// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Where a live stream goes: a server or a receiver, with its protocol.
///
/// Its description has no secrets: neither stream keys nor passphrases.
public struct LiveDestination: Sendable, Hashable, CustomStringConvertible {
    /// A protocol of live streams.
    public enum Transport: String, Sendable, Hashable, CaseIterable {
        /// RTMP of Adobe and, for HEVC, Enhanced RTMP; also over TLS.
        case rtmp
        /// SRT with an MPEG transport stream.
        case srt
        /// An MPEG transport stream in UDP datagrams.
        case udp
        /// An MPEG transport stream in RTP: RFC 2250.
        case rtp
    }

    enum Address: Sendable, Hashable {
        case rtmp(RTMPAddress)
        case srt(SRTAddress)
        case datagrams(UDPAddress)
    }

    let address: Address
    /// A file in PEM with the certificates of the authorities that `rtmps` trusts; `nil` for those of the system.
    public var authorities: String?

    /// Parses an address such as `rtmp://host/app/key`, `srt://host:9000?latency=200`, `udp://239.0.0.1:5000?ttl=4` or
    /// `rtp://host:5004`.
    ///
    /// - Parameters:
    ///   - text: The address.
    ///   - secrets: What need not be in the address.
    /// - Throws: `invalidArgument` with what is allowed.
    public init(_ text: String, secrets: LiveSecrets = LiveSecrets()) throws(MediaError) {
        let scheme = text.prefix { $0 != ":" }.lowercased()
        switch scheme {
        case "rtmp", "rtmps": address = .rtmp(try RTMPAddress(secrets.complete(text)))
        case "srt":
            address = .srt(try SRTAddress(text, passphrase: secrets.passphrase, streamID: secrets.streamID))
        case "udp", "rtp": address = .datagrams(try UDPAddress(text))
        default:
            throw MediaError(
                .invalidArgument,
                "no live stream goes to such an address",
                given: text.contains("://") ? "\(scheme)://" : "an address without a protocol",
                allowed: "rtmp://, rtmps://, srt://, udp://, rtp://"
            )
        }
    }

    /// The protocol.
    public var transport: Transport {
        switch address {
        case .rtmp: .rtmp
        case .srt: .srt
        case .datagrams(let address): address.encapsulation == .rtp ? .rtp : .udp
        }
    }

    /// The address without secrets.
    public var description: String {
        switch address {
        case .rtmp(let address): address.description
        case .srt(let address): address.description
        case .datagrams(let address): address.description
        }
    }

    /// Whether it waits until a receiver connects.
    public var isListener: Bool {
        if case .srt(let address) = address { address.mode == .listener } else { false }
    }

    /// Opens a connection.
    func connect(
        _ tracks: LiveTracks,
        _ limits: ConnectionLimits,
        _ stop: StopSignal
    ) throws(MediaError) -> any LiveConnection {
        switch address {
        case .rtmp(let address):
            return try RTMPConnection(
                to: address,
                tracks: tracks,
                limits: limits,
                authorities: authorities,
                stop: stop
            )
        case .srt(let address):
            return try SRTConnection(
                to: address,
                muxer: TransportStream(tracks),
                limits: limits,
                waitsForReceiver: true,
                stop: stop
            )
        case .datagrams(let address):
            return try UDPConnection(to: address, muxer: TransportStream(tracks), limits: limits, stop: stop)
        }
    }

    /// Makes the output that sends to this destination.
    package func makeOutput(_ options: LiveOutput.Options = .init()) throws(MediaError) -> LiveOutput {
        var options = options
        options.restartsTimes = transport == .rtmp
        options.isListener = isListener
        if isListener { options.policy.patienceAtStart = nil }
        return try LiveOutput(address: description, options: options) { tracks, limits, stop throws(MediaError) in
            try connect(tracks, limits, stop)
        }
    }
}

/// What a destination needs and should not be on a command line, where every user of the machine can read it.
public struct LiveSecrets: Sendable, Hashable, CustomStringConvertible {
    /// The stream key of RTMP, which is added to the path of the address.
    public var streamKey: String?
    /// The passphrase of SRT.
    public var passphrase: String?
    /// The stream identifier of SRT.
    public var streamID: String?

    /// Makes secrets.
    public init(streamKey: String? = nil, passphrase: String? = nil, streamID: String? = nil) {
        (self.streamKey, self.passphrase, self.streamID) = (streamKey, passphrase, streamID)
    }

    /// Tells nothing.
    public var description: String { "secrets" }

    fileprivate func complete(_ address: String) -> String {
        guard let streamKey else { return address }
        return address + (address.hasSuffix("/") ? "" : "/") + streamKey
    }
}
