// SPDX-License-Identifier: GPL-2.0-or-later

import CSRT
import Glibc
import MediaTypes
import Testing

@testable import Streaming

@Suite(.blocks, .serialized)
struct SRTConnectionTests {
    private let stop: StopSignal
    private let scratch = TransportScratch()

    init() throws { stop = try StopSignal() }

    /// A receiver of libsrt's that writes what it plays to its output, and ends with the connection.
    private func receiver(_ address: String) throws -> TransportProgram {
        try TransportProgram("srt-live-transmit -q -a:no \(address) file://con", in: scratch)
    }

    private func caller(
        _ port: UInt16,
        _ query: String = "",
        limits: ConnectionLimits = ConnectionLimits()
    ) throws(MediaError) -> SRTConnection {
        let address = try SRTAddress("srt://127.0.0.1:\(port)?\(query)")
        var attempts = 5
        while true {
            do throws(MediaError) {
                return try SRTConnection(to: address, muxer: PassingMuxer(), limits: limits, stop: stop)
            } catch {
                // A receiver that has just begun may refuse the first one.
                attempts -= 1
                guard error.code == .unavailable, !error.isPermanent, attempts > 0 else { throw error }
                try stop.wait(for: [], until: 200)
            }
        }
    }

    /// Sends units as a live stream does, faster.
    private func sendClip(on connection: SRTConnection) throws {
        for (index, part) in TransportClip.parts.enumerated() {
            try connection.send(TransportUnit.video(part, at: Double(index) * 0.03))
            try stop.wait(for: [], until: 5)
        }
    }

    private func expectClip(_ program: TransportProgram) throws {
        _ = program.end()
        let (received, sent) = (program.output, TransportClip.bytes)
        try #require(sent.count > 100_000)
        #expect(received.count == sent.count, "\(program.errors)")
        // Not in the expectation, which would compute the difference of long arrays.
        let isSame = received == sent
        #expect(isSame, "\(TransportClip.firstDifference(received) ?? 0)")
    }

    @Test(arguments: ["", "passphrase=correct-horse", "passphrase=correct-horse&pbkeylen=32"])
    func callers(query: String) throws {
        let port = try TestReceiver.freePort()
        let program = try receiver("srt://127.0.0.1:\(port)?mode=listener&\(query)")
        let connection = try caller(port, query.split(separator: "-").joined(separator: "%2D"))
        try sendClip(on: connection)
        let during = connection.measurements
        #expect(during.sentBytes > 0)
        try connection.finish()
        try expectClip(program)
        let after = connection.measurements
        #expect(try #require(after.roundTrip) < 5)
        #expect(after.sentBytes > Int64(TransportClip.bytes.count))
        #expect(after.unsentBytes == 0)
        #expect(after.droppedPackets == 0)
        #expect(after.estimatedRate == nil)
        let late = mediaError { () throws(MediaError) in try connection.finish() }
        #expect(late?.code == .invalidState)
    }

    @Test(arguments: ["127.0.0.1", "", "[::1]"])
    func listeners(host: String) throws {
        let port = try TestReceiver.freePort()
        let remote = host.isEmpty ? "127.0.0.1" : host
        let program = try receiver("srt://\(remote):\(port)?mode=caller&conntimeo=30000")
        let connection = try SRTConnection(
            to: SRTAddress("srt://\(host):\(port)?mode=listener"),
            muxer: PassingMuxer(),
            waitsForReceiver: true,
            stop: stop
        )
        try sendClip(on: connection)
        try connection.finish()
        try expectClip(program)
    }

    @Test func aListenerFollowsAnother() throws {
        let port = try TestReceiver.freePort()
        for _ in 0..<3 {
            let program = try receiver("srt://127.0.0.1:\(port)?mode=caller&conntimeo=30000")
            let connection = try SRTConnection(
                to: SRTAddress("srt://:\(port)"),
                muxer: PassingMuxer(),
                waitsForReceiver: true,
                stop: stop
            )
            try connection.send(TransportUnit.video(TransportUnit.packets(10), at: 0))
            try connection.finish()
            _ = program.end()
            #expect(program.output == TransportUnit.packets(10))
        }
    }

    @Test func rendezvous() throws {
        let port = try TestReceiver.freePort()
        let program = try receiver("srt://127.0.0.1:\(port)?mode=rendezvous&adapter=127.0.0.2")
        var limits = ConnectionLimits()
        limits.connecting = 60_000
        let connection = try SRTConnection(
            to: SRTAddress("srt://127.0.0.2:\(port)?mode=rendezvous"),
            muxer: PassingMuxer(),
            limits: limits,
            stop: stop
        )
        try sendClip(on: connection)
        try connection.finish()
        try expectClip(program)
    }

    @Test func ffmpegReceives() throws {
        let port = try TestReceiver.freePort()
        let program = try TransportProgram(
            "ffmpeg -v fatal -f data -i srt://127.0.0.1:\(port)?mode=listener -map 0 -c copy -f data -",
            in: scratch
        )
        let connection = try caller(port, "latency=300")
        try sendClip(on: connection)
        try connection.finish()
        try expectClip(program)
    }

    @Test func lostPacketsAreSentAgain() throws {
        let port = try TestReceiver.freePort()
        let program = try receiver("srt://127.0.0.1:\(port)?mode=listener&latency=2000")
        let relay = try LossyRelay(to: port, losing: { $0.isMultiple(of: 20) })
        let connection = try caller(relay.port, "latency=2000")
        try sendClip(on: connection)
        try connection.finish()
        try expectClip(program)
        #expect(relay.lost > 20)
        #expect(connection.measurements.retransmitted >= Int64(relay.lost))
        #expect(connection.measurements.droppedPackets == 0)
    }

    /// The receiver lives, and its keepalives arrive, but no data arrives there.
    @Test func dataThatIsAlwaysLost() throws {
        let port = try TestReceiver.freePort()
        let program = try receiver("srt://127.0.0.1:\(port)?mode=listener")
        let relay = try LossyRelay(to: port, losing: { _ in true })
        var limits = ConnectionLimits()
        limits.silence = 1500
        let connection = try caller(relay.port, limits: limits)
        let begin = ContinuousClock.now
        var error: MediaError?
        var count = 0
        while error == nil, ContinuousClock.now - begin < TransportWait.limit {
            let unit = TransportUnit.video(TransportUnit.packets(50), at: Double(count) / 25)
            error = mediaError { () throws(MediaError) in try connection.send(unit) }
            count += 1
            try stop.wait(for: [], until: 20)
        }
        #expect(error?.code == .deadlineExceeded, "\(String(describing: error)) after \(ContinuousClock.now - begin)")
        withExtendedLifetime(program) {}
    }

    /// A name has two addresses, and the receiver listens at one of them.
    @Test(arguments: [[0, 1], [1, 0]])
    func severalAddresses(order: [Int]) throws {
        let hole = try TestReceiver()
        let listener = try SRTListener(refusing: 0)
        let remotes = [try SocketAddress(localPort: hole.port), try SocketAddress(localPort: listener.port)]
        let limits = ConnectionLimits()
        let connector = SRTConnector(address: try SRTAddress("srt://a.test:1"), limits: limits, stop: stop)
        let socket = try connector.connect(to: order.map { remotes[$0] }, before: Deadline(milliseconds: 60_000))
        #expect(socket.state == SRTS_CONNECTED)
    }

    @Test(arguments: [
        ("passphrase=correct-horse", "passphrase=wrong-horse", "passphrase is wrong"),
        ("passphrase=correct-horse", "", "only one side has a passphrase"),
        ("", "passphrase=correct-horse", "only one side has a passphrase"),
    ])
    func wrongPassphrases(theirs: String, ours: String, message: String) throws {
        let port = try TestReceiver.freePort()
        let program = try receiver("srt://127.0.0.1:\(port)?mode=listener&\(theirs)")
        try #require(TransportWait.until { TransportWait.isBound(port) })
        let error = mediaError { () throws(MediaError) in _ = try caller(port, ours) }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
        #expect(error?.isPermanent == true)
        #expect(error?.remedies.isEmpty == false)
        #expect(error?.description.contains("horse") == false)
        withExtendedLifetime(program) {}
    }

    @Test(
        arguments: [
            (1404, "does not know the stream (1404)"), (1403, "forbidden (1403)"), (2042, "code 2042 of its own"),
        ] as [(Int32, String)]
    )
    func refusedStreamIdentifiers(code: Int32, message: String) throws {
        let listener = try SRTListener(refusing: code)
        let streamID = "#!::r=live/\(code),m=publish,u=secret"
        let error = mediaError { () throws(MediaError) in _ = try caller(listener.port, "streamid=\(streamID)") }
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
        #expect(error?.status == Int(code))
        #expect(error?.isPermanent == false)
        #expect(error?.description.contains("secret") == false)
        #expect(SRTListener.hasSeen(streamID))
    }

    @Test func messagesOfTheLibrary() throws {
        SRTLibrary.logger = LibraryLog.logger
        defer { SRTLibrary.logger = nil }
        let listener = try SRTListener(refusing: 1423)
        _ = mediaError { () throws(MediaError) in _ = try caller(listener.port) }
        #expect(LibraryLog.has("debug libsrt: processAsyncConnectRequest"))
        var limits = ConnectionLimits()
        limits.connecting = 100
        let address = try SRTAddress("srt://:\(TestReceiver.freePort())")
        _ = mediaError { () throws(MediaError) in
            _ = try SRTConnection(to: address, muxer: PassingMuxer(), limits: limits, stop: stop)
        }
        #expect(!LibraryLog.has("srt_accept"))
    }

    @Test func killedReceivers() throws {
        let port = try TestReceiver.freePort()
        let program = try receiver("srt://127.0.0.1:\(port)?mode=listener")
        var limits = ConnectionLimits()
        limits.silence = 1000
        let connection = try caller(port, limits: limits)
        try connection.send(TransportUnit.video(TransportUnit.packets(10), at: 0))
        #expect(TransportWait.until { connection.measurements.unsentBytes == 0 })
        kill(program.pid, SIGKILL)
        let begin = ContinuousClock.now
        var error: MediaError?
        var count = 1
        while error == nil, ContinuousClock.now - begin < TransportWait.limit {
            let unit = TransportUnit.video(TransportUnit.packets(10), at: Double(count) / 25)
            error = mediaError { () throws(MediaError) in try connection.send(unit) }
            count += 1
            try stop.wait(for: [], until: 20)
        }
        let duration = ContinuousClock.now - begin
        #expect(duration >= .seconds(1))
        // Where this thread stands still for five seconds, libsrt has ended the connection before.
        let codes: [MediaError.Code] = duration < .seconds(5) ? [.deadlineExceeded] : [.deadlineExceeded, .inputOutput]
        #expect(error.map { codes.contains($0.code) } == true, "\(String(describing: error)) after \(duration)")
    }

    @Test func receiversThatEnd() throws {
        let port = try TestReceiver.freePort()
        let program = try receiver("srt://127.0.0.1:\(port)?mode=listener")
        let connection = try caller(port)
        try connection.send(TransportUnit.video(TransportUnit.packets(10), at: 0))
        #expect(TransportWait.until { connection.measurements.unsentBytes == 0 })
        kill(program.pid, SIGTERM)
        _ = program.end()
        var error: MediaError?
        let isLost = TransportWait.until {
            error = mediaError { () throws(MediaError) in
                try connection.send(TransportUnit.video(TransportUnit.packets(1), at: 1))
            }
            return error != nil
        }
        #expect(isLost)
        #expect(error?.code == .inputOutput, "\(String(describing: error))")
    }

    @Test(arguments: ["caller", "rendezvous"])
    func receiversThatDoNotAnswer(mode: String) throws {
        // The port must be free at the own address, too, for rendezvous.
        let hole = try TestReceiver("127.0.0.2", port: TestReceiver.freePort())
        var limits = ConnectionLimits()
        limits.connecting = 700
        let address = try SRTAddress("srt://127.0.0.2:\(hole.port)?mode=\(mode)")
        let begin = ContinuousClock.now
        let error = mediaError { () throws(MediaError) in
            _ = try SRTConnection(to: address, muxer: PassingMuxer(), limits: limits, stop: stop)
        }
        let duration = ContinuousClock.now - begin
        #expect(error?.code == .deadlineExceeded, "\(String(describing: error))")
        #expect(error?.isPermanent == false)
        #expect(duration >= .milliseconds(700) && duration < .seconds(20))
    }

    @Test func nobodyConnects() throws {
        let port = try TestReceiver.freePort()
        var limits = ConnectionLimits()
        limits.connecting = 100
        let error = mediaError { () throws(MediaError) in
            _ = try SRTConnection(to: SRTAddress("srt://:\(port)"), muxer: PassingMuxer(), limits: limits, stop: stop)
        }
        #expect(error?.code == .deadlineExceeded)
        #expect(error?.message.contains("no receiver") == true)
    }

    @Test func thePortIsInUse() throws {
        let other = try TestReceiver()
        let error = mediaError { () throws(MediaError) in
            let address = try SRTAddress("srt://127.0.0.1:\(other.port)?mode=listener")
            _ = try SRTConnection(to: address, muxer: PassingMuxer(), stop: stop)
        }
        #expect(error?.code == .inputOutput, "\(String(describing: error))")
        #expect(error?.remedies.first?.contains("\(other.port)") == true)
    }

    @Test func theStopSignalEndsACaller() throws {
        let hole = try TestReceiver()
        let work = try ThreadWork { [stop] in
            mediaError { () throws(MediaError) in
                var limits = ConnectionLimits()
                limits.connecting = 3_600_000
                let address = try SRTAddress("srt://127.0.0.1:\(hole.port)")
                _ = try SRTConnection(to: address, muxer: PassingMuxer(), limits: limits, stop: stop)
            }
        }
        #expect(hole.receive() != nil)
        stop.stop()
        #expect(try work.value()?.code == .cancelled)
    }

    @Test func theStopSignalEndsAListener() throws {
        let port = try TestReceiver.freePort()
        let work = try ThreadWork { [stop] in
            mediaError { () throws(MediaError) in
                let address = try SRTAddress("srt://:\(port)")
                _ = try SRTConnection(to: address, muxer: PassingMuxer(), waitsForReceiver: true, stop: stop)
            }
        }
        #expect(TransportWait.until { TransportWait.isBound(port) })
        stop.stop()
        #expect(try work.value()?.code == .cancelled)
    }

    @Test func theStopSignalEndsFinish() throws {
        let port = try TestReceiver.freePort()
        let program = try receiver("srt://127.0.0.1:\(port)?mode=listener")
        let connection = try caller(port)
        kill(program.pid, SIGSTOP)
        try connection.send(TransportUnit.video(TransportUnit.packets(10), at: 0))
        stop.stop()
        let finish = mediaError { () throws(MediaError) in try connection.finish() }
        let send = mediaError { () throws(MediaError) in try connection.send(TransportUnit.video([], at: 0)) }
        #expect(finish?.code == .cancelled)
        #expect(send?.code == .cancelled)
    }

    @Test func nothingIsLeftOver() throws {
        // The thread that removes closed sockets stays.
        #expect(TransportWait.until { TransportWait.networkThreads.count <= 1 }, "\(TransportWait.networkThreads)")
        let before = TransportWait.descriptorCount
        try connectOftenAndClose()
        #expect(TransportWait.until { TransportWait.networkThreads.count <= 1 }, "\(TransportWait.networkThreads)")
        #expect(TransportWait.until { TransportWait.descriptorCount < before + 25 }, "one for each connection")
    }

    private func connectOftenAndClose() throws {
        let listener = try SRTListener(refusing: 0)
        let hole = try TestReceiver()
        var limits = ConnectionLimits()
        limits.connecting = 30
        for _ in 0..<25 {
            let connection = try caller(listener.port)
            try connection.send(TransportUnit.video(TransportUnit.packets(7), at: 0))
            #expect(listener.acceptAndClose())
            let error = mediaError { () throws(MediaError) in _ = try caller(hole.port, limits: limits) }
            #expect(error?.code == .deadlineExceeded)
        }
    }
}
