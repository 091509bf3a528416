// SPDX-License-Identifier: GPL-2.0-or-later

internal import CSRT
package import MediaTypes

/// Sends a transport stream to a receiver by SRT, in its live mode.
///
/// libsrt sends lost packets again as long as they are not later than the latency, and drops them then, which is
/// counted. `send` waits while the receiver has not acknowledged the stream for the latency and half a second.
package final class SRTConnection: LiveConnection {
    private let muxer: any StreamMuxer
    private let limits: ConnectionLimits
    private let stop: StopSignal
    private var socket: SRTSocket?
    private var packer = DatagramPacker()
    /// libsrt itself notices that a receiver is silent, but never before 5.1 seconds: it waits for 17 periods of 300 ms,
    /// whatever `SRTO_PEERIDLETIMEO` says.
    private var watch = ProgressWatch()
    private var latest = LinkMeasurements()
    /// The packets that were not acknowledged in time when the stream ended.
    private var lateAtEnd: Int64 = 0

    /// The stream that may be in the buffer of libsrt, besides what waits for an acknowledgement, in milliseconds.
    private static let buffer: Int32 = 500
    private static let askingPeriod: Int32 = 5

    /// Connects with the receiver. A listener waits for it here, and takes the first one that connects.
    ///
    /// - Parameters:
    ///   - address: The receiver.
    ///   - muxer: Makes the transport stream.
    ///   - waitsForReceiver: Whether a listener waits until the stop signal instead of ``ConnectionLimits/connecting``.
    ///   - stop: Ends all waits.
    /// - Throws: `deadlineExceeded` if the receiver, or the name server, does not answer, or if no receiver has
    ///   connected in time; `unavailable` if the receiver refuses the connection, with the reason and a remedy,
    ///   permanently if the passphrase or the stream identifier is wrong; `cancelled` after the stop signal;
    ///   `inputOutput` if the port is in use.
    package init(
        to address: SRTAddress,
        muxer: any StreamMuxer,
        limits: ConnectionLimits = ConnectionLimits(),
        waitsForReceiver: Bool = false,
        stop: StopSignal
    ) throws(MediaError) {
        (self.muxer, self.limits, self.stop) = (muxer, limits, stop)
        let deadline = Deadline(milliseconds: limits.connecting)
        socket = try SRTConnector(address: address, limits: limits, stop: stop)
            .connect(before: deadline, waitsForReceiver: waitsForReceiver)
    }

    package func send(_ unit: LiveUnit) throws(MediaError) {
        let socket = try openSocket
        for datagram in try packer.append(muxer.write(unit), of: unit) { try send(datagram.bytes, on: socket) }
        try wait(on: socket) { $0.bufferedTime <= max($0.latency, 0) + Self.buffer }
    }

    package func finish() throws(MediaError) {
        let socket = try openSocket
        defer {
            note(socket.statistics)
            latest.unsentBytes = 0
            self.socket = nil
        }
        for datagram in packer.finish(try muxer.finish()) { try send(datagram.bytes, on: socket) }
        try waitUntilAcknowledged(on: socket)
        try waitUntilPlayed(on: socket)
    }

    /// Waits until the receiver has everything, or acknowledges packets and the rest is too late for it: libsrt drops
    /// what is older than the latency, or a second, only when it is given another packet.
    private func waitUntilAcknowledged(on socket: SRTSocket) throws(MediaError) {
        guard let start = socket.statistics else { throw lost }
        let late = Deadline(milliseconds: max(start.latency, 1000) + Int32(start.roundTrip * 2000) + 20)
        try wait(on: socket, before: Deadline(milliseconds: limits.silence)) { now in
            now.bufferedBytes == 0 || (late.isOver && now.acknowledgements != start.acknowledgements)
        }
        lateAtEnd = socket.statistics?.bufferedPackets ?? 0
    }

    /// Waits for the latency: a receiver that is told the end of the connection discards what it has not played.
    private func waitUntilPlayed(on socket: SRTSocket) throws(MediaError) {
        guard let statistics = socket.statistics else { return }
        let time = min(max(statistics.latency, 0) + Int32(statistics.roundTrip * 1000) + 10, limits.silence)
        let deadline = Deadline(milliseconds: time)
        while !deadline.isOver, socket.state == SRTS_CONNECTED {
            try stop.wait(for: [], until: min(Self.askingPeriod, deadline.remaining))
        }
    }

    /// The round trip, the bytes that the receiver has not acknowledged, and all bytes that were sent, with the headers
    /// of SRT, UDP and IP.
    ///
    /// It has no estimated rate. libsrt estimates the rate of the slowest link by pairs of packets, not what is free
    /// there, and is far off where a link sends packets in groups, as Wi-Fi and mobile networks do. What the receiver
    /// drops because it arrives too late is not known either: where a link is too slow, packets that are sent again
    /// tell it.
    package var measurements: LinkMeasurements {
        note(socket?.statistics)
        return latest
    }

    private func note(_ statistics: SRTStatistics?) {
        guard let statistics else { return }
        latest.roundTrip = statistics.acknowledgements > 0 ? statistics.roundTrip : nil
        latest.unsentBytes = statistics.bufferedBytes + packer.pendingByteCount
        latest.sentBytes = statistics.sentBytes
        latest.retransmitted = statistics.retransmitted
        latest.droppedPackets = statistics.droppedPackets + lateAtEnd
    }

    private var openSocket: SRTSocket {
        get throws(MediaError) {
            guard !stop.isStopped else { throw StopSignal.stopped }
            guard let socket else { throw MediaError(.invalidState, "the connection is finished") }
            return socket
        }
    }

    private func send(_ message: [UInt8], on socket: SRTSocket) throws(MediaError) {
        while true {
            if try socket.send(message) { return }
            if let statistics = socket.statistics { try checkSilence(statistics) }
            try stop.wait(for: [], until: Self.askingPeriod)
        }
    }

    /// Waits until something is so, as long as the receiver acknowledges anything.
    private func wait(
        on socket: SRTSocket,
        before deadline: Deadline? = nil,
        until isSo: (SRTStatistics) -> Bool
    ) throws(MediaError) {
        while true {
            guard socket.state == SRTS_CONNECTED, let statistics = socket.statistics else { throw lost }
            try checkSilence(statistics)
            if isSo(statistics) { return }
            if let deadline, deadline.isOver { throw silence }
            try stop.wait(for: [], until: Self.askingPeriod)
        }
    }

    private func checkSilence(_ statistics: SRTStatistics) throws(MediaError) {
        watch.note(acknowledged: statistics.acknowledgements, isWaiting: statistics.bufferedBytes > 0)
        guard watch.remaining(of: limits.silence) > 0 else { throw silence }
    }

    private var lost: MediaError {
        MediaError(
            .inputOutput,
            "the connection to the receiver is lost: it has closed it, or does not answer",
            call: "srt_getsockstate"
        )
    }

    private var silence: MediaError {
        MediaError(
            .deadlineExceeded,
            "the receiver acknowledges nothing",
            given: "\(limits.silence) ms",
            call: "srt_bistats"
        )
    }
}
