// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import MediaTypes
import Testing

@testable import Streaming

@Suite(.blocks, .serialized)
struct UDPConnectionTests {
    private let stop: StopSignal

    init() throws { stop = try StopSignal() }

    @Test func datagramsAreInOrderAndWhole() throws {
        let receiver = try TestReceiver()
        let muxer = PassingMuxer(last: TransportUnit.packets(1, from: 39))
        let connection = try UDPConnection(to: UDPAddress("udp://127.0.0.1:\(receiver.port)"), muxer: muxer, stop: stop)
        try connection.send(TransportUnit.video(TransportUnit.packets(16), at: 0))
        try connection.send(TransportUnit.audio(TransportUnit.packets(3, from: 16), at: 0.02))
        #expect(connection.measurements.unsentBytes == 564)
        try connection.send(TransportUnit.video(TransportUnit.packets(20, from: 19), at: 0.04))
        try connection.finish()
        let datagrams = receiver.receive(8)
        #expect(datagrams.map { $0.count / 188 } == [7, 7, 2, 7, 7, 7, 2, 1])
        #expect(datagrams.flatMap { $0 } == TransportUnit.packets(40))
        #expect(receiver.receive(milliseconds: 0) == nil)
        #expect(connection.measurements.sentBytes == 40 * 188 + 8 * 28)
        #expect(connection.measurements.unsentBytes == 0)
        let later = mediaError { () throws(MediaError) in try connection.send(TransportUnit.video([], at: 1)) }
        #expect(later?.code == .invalidState)
    }

    @Test func smallDatagrams() throws {
        let receiver = try TestReceiver()
        let address = try UDPAddress("udp://127.0.0.1:\(receiver.port)?pktsize=376&ttl=3&interface=lo")
        let connection = try UDPConnection(to: address, muxer: PassingMuxer(), stop: stop)
        try connection.send(TransportUnit.video(TransportUnit.packets(5), at: 0))
        #expect(receiver.receive(3).map(\.count) == [376, 376, 188])
    }

    @Test func headersOfRTP() throws {
        let receiver = try TestReceiver()
        let address = try UDPAddress("rtp://127.0.0.1:\(receiver.port)")
        let connection = try UDPConnection(to: address, muxer: PassingMuxer(), stop: stop)
        try connection.send(TransportUnit.video(TransportUnit.packets(8), at: 0))
        try connection.send(TransportUnit.video(TransportUnit.packets(7, from: 8), at: 0.5))
        let datagrams = receiver.receive(3)
        #expect(datagrams.map(\.count) == [1328, 200, 1328])
        #expect(datagrams.flatMap { $0.dropFirst(12) } == TransportUnit.packets(15))
        #expect(datagrams.allSatisfy { $0[0] == 0x80 && $0[1] == 33 })
        func number(_ datagram: [UInt8], _ range: Range<Int>) -> UInt32 {
            datagram[range].reduce(0) { $0 << 8 | UInt32($1) }
        }
        let sequence = datagrams.map { UInt16(number($0, 2..<4)) }
        #expect(sequence == [sequence[0], sequence[0] &+ 1, sequence[0] &+ 2])
        let times = datagrams.map { number($0, 4..<8) &- number(datagrams[0], 4..<8) }
        #expect(times == [0, 0, 45_000])
        #expect(Set(datagrams.map { number($0, 8..<12) }).count == 1)
    }

    @Test(arguments: ["interface=lo", "interface=127.0.0.1"])
    func groups(interface: String) throws {
        let group = "239.77.12.\(Int.random(in: 1...250))"
        let receiver = try TestReceiver("0.0.0.0", group: group)
        let address = try UDPAddress("udp://\(group):\(receiver.port)?\(interface)&ttl=4")
        let connection = try UDPConnection(to: address, muxer: PassingMuxer(), stop: stop)
        try connection.send(TransportUnit.video(TransportUnit.packets(8), at: 0))
        #expect(receiver.receive(2).flatMap { $0 } == TransportUnit.packets(8))
    }

    @Test(.enabled(if: TestReceiver.otherInterface != nil, "the machine has no network"))
    func groupsWithoutThisMachine() throws {
        let interface = try #require(TestReceiver.otherInterface)
        let group = "239.77.13.\(Int.random(in: 1...250))"
        let receiver = try TestReceiver("0.0.0.0", group: group, on: interface)
        for loop in [0, 1] {
            let address = try UDPAddress("udp://\(group):\(receiver.port)?interface=\(interface)&loop=\(loop)")
            let connection = try UDPConnection(to: address, muxer: PassingMuxer(), stop: stop)
            try connection.send(TransportUnit.video(TransportUnit.packets(1, from: loop), at: 0))
        }
        #expect(receiver.receive() == TransportUnit.packets(1, from: 1))
    }

    @Test func ipv6() throws {
        let port = try TestReceiver.freePort()
        let address = try UDPAddress("udp://[::1]:\(port)?ttl=2&interface=lo")
        let connection = try UDPConnection(to: address, muxer: PassingMuxer(), stop: stop)
        try connection.send(TransportUnit.video(TransportUnit.packets(1), at: 0))
        #expect(connection.measurements.sentBytes == 188 + 48)
    }

    @Test func namesAreFound() throws {
        let port = try TestReceiver.freePort()
        let connection = try UDPConnection(to: UDPAddress("udp://localhost:\(port)"), muxer: PassingMuxer(), stop: stop)
        try connection.finish()
    }

    @Test func closedPortsAreCounted() throws {
        let port = try TestReceiver.freePort()
        let connection = try UDPConnection(to: UDPAddress("udp://127.0.0.1:\(port)"), muxer: PassingMuxer(), stop: stop)
        for unit in 0..<20 { try connection.send(TransportUnit.video(TransportUnit.packets(7), at: Double(unit) / 25)) }
        #expect(connection.refusedCount > 0)
    }

    @Test func unknownInterfaces() throws {
        let address = try UDPAddress("udp://239.0.0.1:1?interface=nowhere0")
        let error = mediaError { () throws(MediaError) in
            _ = try UDPConnection(to: address, muxer: PassingMuxer(), stop: stop)
        }
        #expect(error?.code == .unavailable)
        #expect(error?.allowed?.contains("lo") == true)
    }

    /// A picture of 2 MB would leave in a few milliseconds.
    @Test func largePicturesAreSpread() throws {
        let receiver = try TestReceiver()
        let connection = try UDPConnection(
            to: UDPAddress("udp://127.0.0.1:\(receiver.port)"),
            muxer: PassingMuxer(),
            stop: stop
        )
        let packets = TransportUnit.packets(10_640)
        let begin = ContinuousClock.now
        try connection.send(TransportUnit.video(packets, at: 0))
        let duration = ContinuousClock.now - begin
        #expect(duration > .milliseconds(250))
        #expect(connection.measurements.sentBytes == 10_640 * 188 + 1520 * 28)
    }

    @Test func theStopSignalEndsThePace() throws {
        let receiver = try TestReceiver()
        let connection = try UDPConnection(
            to: UDPAddress("udp://127.0.0.1:\(receiver.port)"),
            muxer: PassingMuxer(),
            stop: stop
        )
        let stopper = try ThreadWork { [stop] in
            let first = receiver.receive()
            stop.stop()
            return first != nil
        }
        var error: MediaError?
        for unit in 0..<200 where error == nil {
            let unit = TransportUnit.video(TransportUnit.packets(10_640), at: Double(unit))
            error = mediaError { () throws(MediaError) in try connection.send(unit) }
        }
        #expect(try stopper.value())
        #expect(error?.code == .cancelled)
    }

    @Test(arguments: ["udp", "rtp"])
    func ffmpegReceives(scheme: String) throws {
        let port = try TestReceiver.freePort()
        let scratch = TransportScratch()
        let bytes = TransportClip.bytes
        try #require(bytes.count > 100_000)
        let ffmpeg =
            if scheme == "udp" {
                try TransportProgram(
                    "ffmpeg -v error -f data -i udp://127.0.0.1:\(port) -map 0 -c copy -f data -flush_packets 1 -",
                    in: scratch
                )
            } else {
                try TransportProgram(
                    "ffmpeg -v error -i rtp://127.0.0.1:\(port) -map 0 -c copy -f framemd5 -flush_packets 1 -",
                    in: scratch
                )
            }
        try #require(TransportWait.until { TransportWait.isBound(port) })
        let connection = try UDPConnection(
            to: UDPAddress("\(scheme)://127.0.0.1:\(port)"),
            muxer: PassingMuxer(),
            stop: stop
        )
        for (index, part) in TransportClip.parts.enumerated() {
            try connection.send(TransportUnit.video(part, at: Double(index) * 0.03))
            try stop.wait(for: [], until: 5)
        }
        try connection.finish()
        if scheme == "udp" {
            #expect(TransportWait.until { ffmpeg.output.count >= bytes.count })
            let isSame = ffmpeg.output == bytes
            #expect(isSame, "\(TransportClip.firstDifference(ffmpeg.output) ?? 0)")
        } else {
            let isThere = TransportWait.until { ffmpeg.output.split(separator: 10).count > 90 }
            #expect(isThere, "\(ffmpeg.errors)")
        }
    }

    @Test func descriptorsAreReturned() throws {
        let before = TransportWait.descriptorCount
        for _ in 0..<50 {
            let connection = try UDPConnection(to: UDPAddress("udp://localhost:9"), muxer: PassingMuxer(), stop: stop)
            try connection.finish()
            _ = try? UDPConnection(
                to: UDPAddress("udp://127.0.0.1:9?interface=none"),
                muxer: PassingMuxer(),
                stop: stop
            )
        }
        #expect(TransportWait.until { TransportWait.descriptorCount < before + 50 }, "one for each connection")
    }
}
