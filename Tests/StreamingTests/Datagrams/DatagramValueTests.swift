// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Streaming

struct DatagramValueTests {
    @Test(arguments: [
        ("udp://239.0.0.1:1234", "udp://239.0.0.1:1234"),
        ("UDP://Host.example:1/", "udp://Host.example:1"),
        (
            "rtp://[ff02::1%25eth0]:5004?ttl=7&interface=eth0&pktsize=188&loop=0",
            "rtp://[ff02::1%eth0]:5004?ttl=7&interface=eth0&pktsize=188&loop=0"
        ),
        ("udp://h:65535?pktsize=1316&loop=1", "udp://h:65535"),
        ("udp://h:5?interface=192.168.0.%31", "udp://h:5?interface=192.168.0.1"),
    ])
    func addresses(text: String, description: String) throws {
        #expect(try UDPAddress(text).description == description)
    }

    @Test(arguments: [
        ("", "has no scheme"), ("host:1", "has no scheme"), ("tcp://h:1", "allowed udp://, rtp://"),
        ("udp://h", "has no port: given h"), ("udp://[::1]", "has no port"), ("udp://:1", "has no host"),
        ("udp://h:0", "given 0, allowed 1...65535"), ("udp://h:65536", "allowed 1...65535"),
        ("udp://h:", "wrong port"), ("udp://h:+1", "wrong port"), ("udp://h:1x", "wrong port"),
        ("udp://::1:1", "IPv6 address in brackets"), ("udp://[h]:1", "IPv6 address in brackets"),
        ("udp://a b:1", "wrong host"), ("udp://h:1/path", "has a path"), ("udp://u:secret@h:1", "user name"),
        ("udp://h:1?ttl=0", "given 0, allowed 1...255"), ("udp://h:1?ttl=256", "allowed 1...255"),
        ("udp://h:1?ttl=-1", "allowed 1...255"), ("udp://h:1?ttl=99999999999999999999", "allowed 1...255"),
        ("udp://h:1?ttl=", "ttl of the address has no value"), ("udp://h:1?ttl", "has no value"),
        ("udp://h:1?ttl=1&ttl=1", "twice"), ("udp://h:1?pktsize=187", "188...1316"),
        ("udp://h:1?pktsize=1504", "188...1316"), ("udp://h:1?pktsize=200", "188, 376"),
        ("udp://h:1?buffer_size=1", "given buffer_size, allowed ttl, interface, pktsize, loop"),
        ("udp://h:1?loop=2", "0...1"), ("udp://h:1?interface=%", "not encoded"),
        ("udp://h:1?interface=%0a", "not encoded"), ("udp://h:1?interface=%ff", "not encoded"),
        ("udp://h:1?interface=%+1", "not encoded"),
    ])
    func wrongAddresses(text: String, message: String) {
        let error = mediaError { () throws(MediaError) in _ = try UDPAddress(text) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.description.contains(message) == true, "\(String(describing: error))")
        #expect(error?.description.contains("secret") == false)
    }

    @Test func picturesEndDatagrams() throws {
        var packer = DatagramPacker()
        let packets = TransportUnit.packets(17)
        var all: [DatagramPacker.Datagram] = []
        all += try packer.append(Array(packets[..<(3 * 188)]), of: TransportUnit.audio([], at: 1))
        #expect(all.isEmpty)
        #expect(packer.pendingByteCount == 3 * 188)
        all += try packer.append(Array(packets[(3 * 188)..<(14 * 188 + 188)]), of: TransportUnit.video([], at: 2))
        #expect(all.map(\.bytes.count) == [1316, 1316, 188])
        #expect(all.map(\.time.seconds) == [1, 2, 2])
        all += try packer.append(Array(packets[(15 * 188)...]), of: TransportUnit.audio([], at: 3))
        all += packer.finish(TransportUnit.packets(1, from: 17))
        #expect(all.map(\.bytes.count) == [1316, 1316, 188, 564])
        #expect(all.flatMap(\.bytes) == TransportUnit.packets(18))
        #expect(packer.finish([]).isEmpty)
    }

    @Test func partsOfPacketsAreRefused() {
        var packer = DatagramPacker()
        let error = mediaError { () throws(MediaError) in
            _ = try packer.append([0x47], of: TransportUnit.audio([], at: 0))
        }
        #expect(error?.code == .invalidState)
    }

    @Test func headersOfRTP() {
        var header = RTPHeader(sequence: 0xFFFF, timestampOffset: 0xFFFF_FFFF, source: 0x0102_0304)
        let time = MediaTime(seconds: 2, preferredTimescale: 1000)
        #expect(header.next(time: time) == [0x80, 33, 0xFF, 0xFF, 0, 2, 0xBF, 0x1F, 1, 2, 3, 4])
        #expect(header.next(time: .zero) == [0x80, 33, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4])
    }

    /// Sends a second of 25 pictures of 10 kB: the pace is then 2.5 times of 250 kB/s.
    @Test func paceFollowsTheMeasuredRate() {
        var pace = SendingPace()
        for picture in 0...25 { pace.begin(10_000, decodeTime: MediaTime(value: Int64(picture), timescale: 25)) }
        #expect(pace.measuredRate == 250_000)
        var now = 100.0
        var sent = 0
        while sent < 250_000 {
            now += pace.delay(before: 1316, now: now)
            sent += 1316
        }
        #expect(abs(now - 100 - (Double(sent) - SendingPace.burst) / 625_000) < 0.001)
    }

    @Test func aUnitTakesLessThanHalfASecond() {
        var pace = SendingPace()
        for picture in 0...50 { pace.begin(1000, decodeTime: MediaTime(value: Int64(picture), timescale: 25)) }
        pace.begin(4_000_000, decodeTime: MediaTime(value: 51, timescale: 25))
        var now = 0.0
        for _ in 0..<(4_000_000 / 1316) { now += pace.delay(before: 1316, now: now) }
        #expect(now > 0.3 && now <= SendingPace.longestUnit)
    }

    @Test func pausesDoNotFillTheBucketFurther() {
        var pace = SendingPace()
        _ = pace.delay(before: 1316, now: 0)
        var delays = 0
        for _ in 0..<20 where pace.delay(before: 1316, now: 1000) > 0 { delays += 1 }
        #expect(delays == 4)
    }
}
