// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// Sends a transport stream in datagrams of UDP, with or without headers of RTP.
///
/// UDP has no connection: nobody tells whether anyone receives, what was lost, and how long the way is. The datagrams
/// of a large unit are spread over time, at 2.5 times the rate of the stream and within half a second, because
/// receivers lose what their socket buffer does not hold. RTP is without RTCP: receivers get no reports, and send none.
///
/// A host whose port is not open answers with ICMP. Its answers are counted in ``refusedCount`` and are no error,
/// because a receiver may start later than the stream.
package final class UDPConnection: LiveConnection {
    /// The number of datagrams that were answered with "port unreachable": nobody receives there.
    package private(set) var refusedCount: Int64 = 0
    package private(set) var measurements = LinkMeasurements()

    private let muxer: any StreamMuxer
    private let limits: ConnectionLimits
    private let stop: StopSignal
    private let overhead: Int
    private var socket: UDPSocket?
    private var packer: DatagramPacker
    private var pace = SendingPace()
    private var header: RTPHeader?

    /// Finds the address and opens a socket.
    ///
    /// - Throws: `unavailable`, not permanently, if the host or the interface does not exist; `deadlineExceeded` if the
    ///   name server does not answer within ``ConnectionLimits/connecting``; `cancelled` after the stop signal;
    ///   `inputOutput` without a route.
    package init(
        to address: UDPAddress,
        muxer: any StreamMuxer,
        limits: ConnectionLimits = ConnectionLimits(),
        stop: StopSignal
    ) throws(MediaError) {
        (self.muxer, self.limits, self.stop) = (muxer, limits, stop)
        packer = DatagramPacker(capacity: address.packetSize)
        header = address.encapsulation == .rtp ? RTPHeader() : nil
        let deadline = Deadline(milliseconds: limits.connecting)
        let addresses = try HostResolver(policy: limits.addresses)
            .addresses(of: address.host, port: address.port, stop: stop, deadline: deadline)
        let socket = try Self.socket(addresses, address)
        overhead = (socket.remote.isIPv6 ? 40 : 20) + 8 + (header == nil ? 0 : RTPHeader.size)
        self.socket = socket
    }

    private static func socket(_ remotes: [SocketAddress], _ address: UDPAddress) throws(MediaError) -> UDPSocket {
        var failure = MediaError(.unavailable, "the host has no address", given: address.host, isPermanent: false)
        for remote in remotes {
            do throws(MediaError) {
                return try UDPSocket(to: remote, as: address)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    package func send(_ unit: LiveUnit) throws(MediaError) {
        let socket = try openSocket
        let packets = try muxer.write(unit)
        pace.begin(packets.count, decodeTime: unit.decodeTime)
        try send(packer.append(packets, of: unit), on: socket)
    }

    package func finish() throws(MediaError) {
        let socket = try openSocket
        defer { self.socket = nil }
        try send(packer.finish(muxer.finish()), on: socket)
    }

    private var openSocket: UDPSocket {
        get throws(MediaError) {
            guard !stop.isStopped else { throw StopSignal.stopped }
            guard let socket else { throw MediaError(.invalidState, "the connection is finished") }
            return socket
        }
    }

    private func send(_ datagrams: [DatagramPacker.Datagram], on socket: UDPSocket) throws(MediaError) {
        defer { measurements.unsentBytes = packer.pendingByteCount }
        for datagram in datagrams {
            let delay = pace.delay(before: datagram.bytes.count, now: MonotonicClock.now.seconds)
            if delay > 0 { try stop.wait(for: [], until: Int32((delay * 1000).rounded(.up))) }
            let head = header?.next(time: datagram.time) ?? []
            try send(head + datagram.bytes, on: socket)
            measurements.sentBytes += Int64(datagram.bytes.count + overhead)
        }
    }

    private func send(_ datagram: [UInt8], on socket: UDPSocket) throws(MediaError) {
        let deadline = Deadline(milliseconds: limits.silence)
        var refusals = 0
        while true {
            switch try socket.send(datagram) {
            case .sent: return
            case .refused:
                refusals += 1
                refusedCount += 1
                if refusals > Self.mostRefusals { return }
            case .full:
                guard !deadline.isOver else { throw timeout }
                // Not POLLOUT: a socket is writable although the queue of the interface is full.
                try stop.wait(for: [], until: 1)
            }
        }
    }

    private var timeout: MediaError {
        MediaError(
            .deadlineExceeded,
            "the network interface takes no datagrams",
            given: "\(limits.silence) ms",
            call: "send",
            remedies: ["check the interface: ip -s link"]
        )
    }

    /// Each refusal belongs to a datagram before, so a datagram has few of them.
    private static let mostRefusals = 3
}
