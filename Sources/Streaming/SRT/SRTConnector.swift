// SPDX-License-Identifier: GPL-2.0-or-later

internal import CSRT
internal import Glibc
internal import MediaTypes

/// Makes the connection that an address describes.
///
/// libsrt's own `srt_epoll_wait` asks the descriptors of the system every 10 ms, so it would not be faster than asking
/// the state of a socket in the same way, between waits for the stop signal.
struct SRTConnector {
    let address: SRTAddress
    let limits: ConnectionLimits
    let stop: StopSignal

    private static let askingPeriod: Int32 = 5
    private static let lead: Int32 = 300
    private static let listeningPeriod: Int32 = 20

    /// - Parameters:
    ///   - deadline: The end of all waits.
    ///   - waitsForReceiver: Whether a listener waits without an end until a receiver connects.
    func connect(before deadline: Deadline, waitsForReceiver: Bool) throws(MediaError) -> SRTSocket {
        switch address.mode {
        case .listener: try accept(before: deadline, waitsForReceiver: waitsForReceiver)
        case .caller, .rendezvous: try connectToHost(before: deadline)
        }
    }

    private func connectToHost(before deadline: Deadline) throws(MediaError) -> SRTSocket {
        let remotes = try HostResolver(policy: limits.addresses)
            .addresses(of: address.host, port: address.port, stop: stop, deadline: deadline)
        return try connect(to: remotes, before: deadline)
    }

    /// Connects with the address that answers first. Each has a lead of 300 ms, as with TCP (RFC 8305, 5), because
    /// nothing tells that nobody receives at an address.
    func connect(to remotes: [SocketAddress], before deadline: Deadline) throws(MediaError) -> SRTSocket {
        var remotes = remotes[...]
        var attempts: [SRTSocket] = []
        var lead = Deadline(milliseconds: 0)
        var failure = SRTRejection.timeout(address.description)
        while !deadline.isOver, !(remotes.isEmpty && attempts.isEmpty) {
            if attempts.isEmpty || lead.isOver, let remote = remotes.popFirst() {
                lead = Deadline(milliseconds: Self.lead)
                do throws(MediaError) {
                    attempts.append(try begin(remote, before: deadline))
                } catch {
                    failure = error
                }
            }
            if let socket = attempts.first(where: { $0.state == SRTS_CONNECTED }) { return socket }
            // Once: libsrt changes states at any time.
            let failed = attempts.filter(Self.hasFailed)
            for socket in failed {
                failure = socket.rejection.error(address.description)
                if failure.isPermanent { throw failure }
            }
            attempts.removeAll { attempt in failed.contains { $0 === attempt } }
            try stop.wait(for: [], until: Self.askingPeriod)
        }
        throw failure
    }

    private static func hasFailed(_ socket: SRTSocket) -> Bool {
        ![SRTS_INIT, SRTS_OPENED, SRTS_CONNECTING, SRTS_CONNECTED].contains(socket.state)
    }

    private func begin(_ remote: SocketAddress, before deadline: Deadline) throws(MediaError) -> SRTSocket {
        let socket = try SRTSocket()
        try configure(socket)
        try socket.set(SRTO_CONNTIMEO, connectTime(deadline))
        if address.mode == .rendezvous {
            try socket.set(SRTO_RENDEZVOUS, true)
            try socket.bind(Self.source(to: remote))
        }
        try socket.connect(remote)
        return socket
    }

    /// The limit of libsrt, a little later than that of this connector. Rendezvous has ten times of it.
    private func connectTime(_ deadline: Deadline) -> Int32 {
        let time = min(deadline.remaining, Int32.max - 1000) + 1000
        return address.mode == .rendezvous ? max(time / 10, 1) : time
    }

    private func accept(before deadline: Deadline, waitsForReceiver: Bool) throws(MediaError) -> SRTSocket {
        let listener = try listeningSocket(before: deadline)
        while true {
            if let socket = try listener.accept() { return socket }
            guard waitsForReceiver || !deadline.isOver else {
                throw MediaError(
                    .deadlineExceeded,
                    "no receiver has connected",
                    given: address.description,
                    call: "srt_accept"
                )
            }
            try stop.wait(for: [], until: Self.listeningPeriod)
        }
    }

    /// Without a host it listens at all addresses of IPv6 and IPv4, or of IPv4 if there is no IPv6.
    private func listeningSocket(before deadline: Deadline) throws(MediaError) -> SRTSocket {
        let hosts = address.host.isEmpty ? ["::", "0.0.0.0"] : [address.host]
        var failure = MediaError(.unavailable, "the host has no address", given: address.host, isPermanent: false)
        for host in hosts {
            let locals: [SocketAddress]
            do throws(MediaError) {
                locals = try HostResolver(policy: limits.addresses)
                    .addresses(of: host, port: address.port, stop: stop, deadline: deadline)
            } catch {
                guard error.code == .invalidArgument else { throw error }
                failure = error
                continue
            }
            for local in locals {
                do throws(MediaError) {
                    let socket = try SRTSocket()
                    try configure(socket)
                    if local.isIPv6 { try socket.set(SRTO_IPV6ONLY, Int32(local.isWildcard ? 0 : 1)) }
                    try socket.bind(local)
                    try socket.listen()
                    return socket
                } catch {
                    failure = error
                }
            }
        }
        throw failure
    }

    private func configure(_ socket: SRTSocket) throws(MediaError) {
        try socket.set(SRTO_TRANSTYPE, SRTT_LIVE)
        try socket.set(SRTO_SNDSYN, false)
        try socket.set(SRTO_RCVSYN, false)
        try socket.set(SRTO_LINGER, linger(l_onoff: 0, l_linger: 0))
        try socket.set(SRTO_SENDER, true)
        try socket.set(SRTO_PAYLOADSIZE, Int32(DatagramPacker.usualCapacity))
        try socket.set(SRTO_TLPKTDROP, true)
        try socket.set(SRTO_LATENCY, Int32(clamping: address.latency))
        // 0 and 0: libsrt measures the rate of the stream, and sends at most a quarter more, for what was lost.
        try socket.set(SRTO_MAXBW, Int64(0))
        try socket.set(SRTO_INPUTBW, Int64(0))
        try socket.set(SRTO_OHEADBW, Int32(25))
        try socket.set(SRTO_PEERIDLETIMEO, limits.silence)
        if let passphrase = address.passphrase {
            try socket.set(SRTO_ENFORCEDENCRYPTION, true)
            if let length = address.keyLength { try socket.set(SRTO_PBKEYLEN, Int32(clamping: length)) }
            try socket.set(SRTO_PASSPHRASE, text: passphrase)
        }
        if let streamID = address.streamID { try socket.set(SRTO_STREAMID, text: streamID) }
    }

    /// The own address on the route to another one, with the same port.
    private static func source(to remote: SocketAddress) throws(MediaError) -> SocketAddress {
        let descriptor = Glibc.socket(remote.family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        let isConnected = remote.withPointer { Glibc.connect(descriptor, $0, $1) == 0 }
        guard isConnected, let local = SocketAddress(reading: { getsockname(descriptor, $0, $1) }) else {
            throw MediaError(
                .inputOutput,
                "there is no route to the receiver",
                given: remote.description,
                call: "connect",
                status: Int(errno)
            )
        }
        return local.with(port: remote.port)
    }
}
