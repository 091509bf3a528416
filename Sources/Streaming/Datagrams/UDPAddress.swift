// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// The address of a receiver, or of a group of receivers, of a transport stream in datagrams of UDP.
///
/// `udp://host:port` has the packets alone. `rtp://host:port` puts the header of RTP before them, RFC 2250 and RFC
/// 3550, by which receivers notice losses. Parameters follow a question mark and are separated by `&`:
///
/// - `ttl`: The greatest number of routers that a datagram passes, 1...255. By default 1 for groups, so that it does
///   not leave the local network, and that of the system for hosts.
/// - `interface`: The network interface that sends, by its name or by one of its addresses, for example `eth0`. By
///   default the one of the route to the host.
/// - `pktsize`: The greatest number of bytes of the stream in a datagram, a multiple of 188 up to the default, 1316.
/// - `loop`: Whether receivers on this machine have the datagrams to a group, 1 or 0. By default 1.
public struct UDPAddress: Sendable, Hashable, CustomStringConvertible {
    /// What is in the datagrams.
    public enum Encapsulation: String, Sendable, Hashable, CaseIterable {
        /// Packets of the transport stream.
        case udp
        /// A header of RTP, and packets of the transport stream.
        case rtp
    }

    /// What is in the datagrams: the scheme of the address.
    public let encapsulation: Encapsulation
    /// The name or address of the host or the group, without the brackets of IPv6.
    public let host: String
    /// The port, 1...65535.
    public let port: UInt16
    /// The greatest number of routers that a datagram passes, 1...255; `nil` for the default.
    public let timeToLive: Int?
    /// The name or an address of the network interface that sends; `nil` for the one of the route.
    public let interface: String?
    /// The greatest number of bytes of the transport stream in a datagram: a multiple of 188.
    public let packetSize: Int
    /// Whether receivers on this machine have the datagrams to a group.
    public let reachesThisMachine: Bool

    private static let schemes = Encapsulation.allCases.map(\.rawValue)
    private static let names = ["ttl", "interface", "pktsize", "loop"]

    /// Reads an address.
    ///
    /// - Throws: `invalidArgument` with what is wrong, and what is allowed.
    public init(_ text: String) throws(MediaError) {
        let url = try TransportURL(text, schemes: Self.schemes, parameters: Self.names)
        guard !url.host.isEmpty else {
            throw MediaError(.invalidArgument, "the address has no host", allowed: "\(url.scheme)://host:port")
        }
        encapsulation = Encapsulation(rawValue: url.scheme) ?? .udp
        (host, port) = (url.host, url.port)
        timeToLive = try url.integer("ttl", in: 1...255, unit: "routers")
        interface = url.parameters["interface"]
        let sizes = DatagramPacker.packetSize...DatagramPacker.usualCapacity
        packetSize = try url.integer("pktsize", in: sizes, unit: "bytes") ?? DatagramPacker.usualCapacity
        guard packetSize.isMultiple(of: DatagramPacker.packetSize) else {
            throw MediaError(
                .invalidArgument,
                "the address has a wrong pktsize",
                given: "\(packetSize)",
                allowed: "188, 376, 564, 752, 940, 1128, 1316 bytes"
            )
        }
        reachesThisMachine = try url.integer("loop", in: 0...1, unit: "") != 0
    }

    /// The address with the parameters that differ from their defaults.
    public var description: String {
        let values: [(String, String?)] = [
            ("ttl", timeToLive.map { "\($0)" }),
            ("interface", interface),
            ("pktsize", packetSize == DatagramPacker.usualCapacity ? nil : "\(packetSize)"),
            ("loop", reachesThisMachine ? nil : "0"),
        ]
        let query = values.compactMap { name, value in value.map { "\(name)=\($0)" } }.joined(separator: "&")
        return "\(encapsulation.rawValue)://\(HostAndPort.text(of: host)):\(port)" + (query.isEmpty ? "" : "?" + query)
    }
}
