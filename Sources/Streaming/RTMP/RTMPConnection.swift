// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import Glibc
internal import HostSystem
package import MediaTypes

/// A connection to an RTMP server to which a stream is published.
package final class RTMPConnection: LiveConnection {
    private let hasVideo: Bool
    private let limits: ConnectionLimits
    private let stop: StopSignal
    private var stream: any ByteStream
    private var publisher: RTMPPublisher
    private var output = OutputBuffer()
    private var watch = ProgressWatch()
    private var isAccepted = false
    private var isOpen = true
    private var serverEnded = false
    private var reconnection: MediaError?
    private var nextQuery: String?
    private var memory = [UInt8](repeating: 0, count: 64 << 10)

    /// Connects to a server, and publishes a stream that it accepts.
    ///
    /// - Parameters:
    ///   - address: The server, the application and the stream key.
    ///   - tracks: What is sent: H.264 or HEVC (by Enhanced RTMP), and one track of AAC.
    ///   - authorities: A file in PEM with the certificates to trust for `rtmps` instead of those of the system.
    ///   - stop: Ends every wait of the connection.
    /// - Throws: `unsupported` for tracks that RTMP cannot carry; `unavailable` with the server's text if it refuses
    ///   the stream, or, not permanently, if the host name is unknown; `deadlineExceeded` after
    ///   ``ConnectionLimits/connecting``; `inputOutput` if there is no connection, permanently if the certificate is
    ///   not trusted; `malformedData` if the server speaks another protocol; `invalidArgument` if the file has no
    ///   certificates; `cancelled` after the stop signal.
    package init(
        to address: RTMPAddress,
        tracks: LiveTracks,
        limits: ConnectionLimits = .init(),
        authorities: String? = nil,
        stop: StopSignal
    ) throws(MediaError) {
        (hasVideo, self.limits, self.stop) = (tracks.video != nil, limits, stop)
        var random = SystemRandomNumberGenerator()
        publisher = try RTMPPublisher(address, tracks: tracks, random: &random)
        let deadline = Deadline(milliseconds: limits.connecting)
        let target = Target(
            address: address,
            unsentLimit: Self.unsentLimit(for: tracks),
            authorities: authorities,
            addresses: limits.addresses
        )
        stream = try target.open(stop: stop, deadline: deadline)
        while true {
            output.append(publisher.opening)
            try run(until: deadline) { $0.nextQuery != nil || $0.isAccepted && $0.output.isEmpty }
            guard let query = nextQuery else { break }
            publisher = try RTMPPublisher(address, tracks: tracks, query: query, random: &random)
            stream = try target.open(stop: stop, deadline: deadline)
            (output, watch, nextQuery, serverEnded) = (OutputBuffer(), ProgressWatch(), nil, false)
        }
        noteProgress()
    }

    package func send(_ unit: LiveUnit) throws(MediaError) {
        guard isOpen else { throw MediaError(.invalidState, "the RTMP connection is closed") }
        if let reconnection, unit.isKeyFrame || !hasVideo {
            try? finish()
            try stop.wait(for: [], until: 0)
            throw reconnection
        }
        do throws(MediaError) {
            try stop.wait(for: [], until: 0)
            noteProgress()
            output.append(try publisher.send(unit))
            try run(until: nil) { $0.output.isEmpty }
        } catch {
            isOpen = false
            // A server that takes nothing learns at once that the stream has ended.
            stream.socket.dropUnsentAtClosing()
            throw error
        }
    }

    package func finish() throws(MediaError) {
        guard isOpen else { throw MediaError(.invalidState, "the RTMP connection is closed") }
        isOpen = false
        let deadline = Deadline(milliseconds: limits.silence)
        output.append(publisher.finish())
        do throws(MediaError) {
            try run(until: deadline) { $0.isTaken }
        } catch {
            guard error.code == .inputOutput, isTaken else { throw error }
        }
        stream.endWriting()
        closeGracefully(Deadline(milliseconds: min(deadline.remaining, Self.closingWait)))
    }

    package var measurements: LinkMeasurements {
        let information = stream.socket.information
        let outstanding = stream.socket.outstandingBytes
        var result = LinkMeasurements()
        result.roundTrip = information.roundTrip
        result.unsentBytes = output.count + outstanding
        result.sentBytes = output.removedBytes
        result.retransmitted = information.retransmitted
        result.estimatedRate = information.deliveryRate
        return result
    }
}

extension RTMPConnection {
    /// Where connections are made to.
    private struct Target {
        var address: RTMPAddress
        var unsentLimit: Int32
        var authorities: String?
        var addresses: AddressPolicy?

        func open(stop: StopSignal, deadline: Deadline) throws(MediaError) -> any ByteStream {
            let socket = try SocketConnector(resolver: HostResolver(policy: addresses), unsentLimit: unsentLimit)
                .connect(host: address.host, port: address.port, stop: stop, deadline: deadline)
            guard address.isSecure else { return TCPStream(socket) }
            return try TLSStream(
                socket,
                host: address.host,
                authorities: authorities,
                stop: stop,
                deadline: deadline
            )
        }
    }
}

// MARK: - Transfers

extension RTMPConnection {
    /// The time for the server to close the connection after it has everything, in milliseconds.
    private static let closingWait: Int32 = 1000
    /// The interval at which acknowledgements, of which no event tells, are looked for, in milliseconds.
    private static let acknowledgementInterval: Int32 = 10

    /// A quarter of a second of the stream, within limits.
    private static func unsentLimit(for tracks: LiveTracks) -> Int32 {
        let bitRate = (tracks.videoBitRate ?? 4_000_000) + tracks.audio.reduce(0) { $0 + max($1.bitRate, 0) }
        return Int32(min(max(bitRate / 32, 16 << 10), 1 << 20))
    }

    /// Whether the receiver has everything.
    private var isTaken: Bool { output.isEmpty && stream.socket.outstandingBytes == 0 }

    private func noteProgress() {
        let outstanding = stream.socket.outstandingBytes
        watch.note(
            acknowledged: output.removedBytes - Int64(outstanding),
            isWaiting: outstanding > 0 || !output.isEmpty
        )
    }

    /// Receives and sends until something is so.
    ///
    /// - Parameter deadline: The end of the wait; without it, the wait ends when there was no progress for
    ///   ``ConnectionLimits/silence``.
    private func run(until deadline: Deadline?, _ isDone: (RTMPConnection) -> Bool) throws(MediaError) {
        while true {
            let reading = try receive()
            let writing = try transmit()
            noteProgress()
            let rest = deadline?.remaining ?? watch.remaining(of: limits.silence)
            if deadline == nil, rest == 0 { throw publisher.timedOut(afterMilliseconds: limits.silence) }
            if isDone(self) { return }
            guard rest > 0 else {
                throw publisher.timedOut(afterMilliseconds: deadline?.limit ?? limits.silence)
            }
            guard !serverEnded || output.isEmpty && !isOpen else { throw publisher.closed }
            // The socket of a server that has ended is always readable.
            let wanted = serverEnded ? [] : [(stream.socket.descriptor, reading | writing)]
            let pause = output.isEmpty && !isOpen ? min(rest, Self.acknowledgementInterval) : rest
            try stop.wait(for: wanted, until: reading == 0 ? 0 : pause)
        }
    }

    /// Takes what has arrived, a limited amount at a time.
    ///
    /// - Returns: The events for which the next call has to wait; 0 if there may be more at once.
    private func receive() throws(MediaError) -> Int16 {
        for _ in 0..<16 {
            guard !serverEnded, nextQuery == nil else { return Int16(POLLIN) }
            switch try read() {
            case .bytes(let count):
                for action in try publisher.receive(memory[..<count]) { try perform(action) }
            case .waits(let events): return events
            case .ended: serverEnded = true
            }
        }
        return 0
    }

    private func read() throws(MediaError) -> Transfer {
        do throws(MediaError) {
            return try rawRead()
        } catch {
            guard !isAccepted, error.status == Int(ECONNRESET) else { throw error }
            var closed = publisher.closed
            (closed.call, closed.status) = (error.call, error.status)
            throw closed
        }
    }

    private func rawRead() throws(MediaError) -> Transfer {
        let stream = stream
        return try memory.withUnsafeMutableBytes { memory in
            Result { () throws(MediaError) in try stream.read(into: memory) }
        }.get()
    }

    private func perform(_ action: RTMPPublisher.Action) throws(MediaError) {
        switch action {
        case .send(let bytes): try output.append(reply: bytes)
        case .accepted: isAccepted = true
        case .refused(let error): throw error
        case .authenticate(let query): nextQuery = query
        case .reconnect(let error):
            guard isAccepted else { throw error }
            reconnection = error
        }
    }

    /// Sends as much as the network takes.
    ///
    /// - Returns: The events for which the rest has to wait; 0 if there is none.
    private func transmit() throws(MediaError) -> Int16 {
        while !output.isEmpty {
            let transfer: Transfer
            do throws(MediaError) {
                transfer = try output.withBytes { bytes throws(MediaError) in try stream.write(bytes) }
            } catch {
                // The server may have said why before it closed the connection.
                while !serverEnded, try receive() == 0 {}
                throw serverEnded && !isAccepted ? publisher.closed : error
            }
            switch transfer {
            case .bytes(let count): output.remove(count)
            case .waits(let events): return events
            case .ended: throw publisher.closed
            }
        }
        return 0
    }

    /// Waits for the server to close the connection, so that nothing that it has not read yet is lost by a reset.
    private func closeGracefully(_ deadline: Deadline) {
        while !serverEnded, !deadline.isOver {
            switch try? rawRead() {
            case .bytes: continue
            case .waits(let events):
                guard (try? stop.wait(for: [(stream.socket.descriptor, events)], until: deadline.remaining)) != nil
                else { return }
            case .ended, nil: return
            }
        }
    }
}
