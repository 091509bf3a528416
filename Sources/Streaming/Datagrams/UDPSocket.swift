// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// A socket that sends datagrams to one address.
final class UDPSocket {
    /// What became of a datagram.
    enum Outcome: Equatable {
        case sent
        /// An earlier datagram was refused, and this one was not sent: nothing is bound to the port.
        case refused
        /// This machine has no room for it at present.
        case full
    }

    private let descriptor: Int32
    let remote: SocketAddress

    /// - Throws: `outOfMemory` without a descriptor; `unavailable`, not permanently, without the interface;
    ///   `inputOutput` if an option cannot be set, or there is no route.
    init(to remote: SocketAddress, as address: UDPAddress) throws(MediaError) {
        self.remote = remote
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        descriptor = socket(remote.family, type, 0)
        guard descriptor >= 0 else {
            throw MediaError(.outOfMemory, "no descriptor for a socket", call: "socket", status: Int(errno))
        }
        if let timeToLive = address.timeToLive { try set(timeToLive: Int32(timeToLive)) }
        if let interface = address.interface { try select(NetworkInterface(interface)) }
        if remote.isMulticast { try set(loop: address.reachesThisMachine) }
        guard remote.withPointer({ connect(descriptor, $0, $1) }) == 0 else {
            throw Self.failure("the address cannot be reached", remote, call: "connect")
        }
    }

    deinit { close(descriptor) }

    /// Sends a datagram, without waiting.
    ///
    /// - Throws: `inputOutput`, for example if the network is down.
    func send(_ datagram: [UInt8]) throws(MediaError) -> Outcome {
        while true {
            let count = datagram.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count < 0 else { return .sent }
            switch errno {
            case EINTR: continue
            case EAGAIN, ENOBUFS, ENOMEM: return .full
            case ECONNREFUSED: return .refused
            default: throw Self.failure("a datagram cannot be sent", remote, call: "send")
            }
        }
    }

    private func set(timeToLive: Int32) throws(MediaError) {
        switch (remote.isIPv6, remote.isMulticast) {
        case (false, true): try set(Int32(IPPROTO_IP), IP_MULTICAST_TTL, timeToLive)
        case (false, false): try set(Int32(IPPROTO_IP), IP_TTL, timeToLive)
        case (true, true): try set(Int32(IPPROTO_IPV6), IPV6_MULTICAST_HOPS, timeToLive)
        case (true, false): try set(Int32(IPPROTO_IPV6), IPV6_UNICAST_HOPS, timeToLive)
        }
    }

    private func set(loop: Bool) throws(MediaError) {
        let value: Int32 = loop ? 1 : 0
        if remote.isIPv6 {
            try set(Int32(IPPROTO_IPV6), IPV6_MULTICAST_LOOP, value)
        } else {
            try set(Int32(IPPROTO_IP), IP_MULTICAST_LOOP, value)
        }
    }

    private func select(_ interface: NetworkInterface) throws(MediaError) {
        switch (remote.isIPv6, remote.isMulticast) {
        case (false, true):
            var request = ip_mreqn()
            request.imr_ifindex = Int32(bitPattern: interface.index)
            try set(Int32(IPPROTO_IP), IP_MULTICAST_IF, request)
        case (true, true): try set(Int32(IPPROTO_IPV6), IPV6_MULTICAST_IF, interface.index)
        case (_, false):
            let status = interface.name.withCString {
                setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, $0, socklen_t(interface.name.utf8.count))
            }
            guard status == 0 else { throw Self.failure("the interface cannot be used", remote, call: "setsockopt") }
        }
    }

    private func set<Value>(_ level: Int32, _ option: Int32, _ value: Value) throws(MediaError) {
        let status = withUnsafeBytes(of: value) {
            setsockopt(descriptor, level, option, $0.baseAddress, socklen_t($0.count))
        }
        guard status == 0 else { throw Self.failure("an option of a socket cannot be set", remote, call: "setsockopt") }
    }

    private static func failure(_ message: String, _ remote: SocketAddress, call: String) -> MediaError {
        let code = errno
        return MediaError(
            .inputOutput,
            "\(message) (\(String(cString: strerror(code))))",
            given: remote.description,
            call: call,
            status: Int(code),
            remedies: code == ENETUNREACH ? ["check the network and its routes: ip route get ADDRESS"] : []
        )
    }
}
