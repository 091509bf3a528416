// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import Streaming

@Suite(.blocks) struct SocketValueTests {
    @Test func familiesAlternate() throws {
        let six = try (0..<3).map { try #require(HostResolver.address("2001:db8::\($0)", port: 1)) }
        let four = try (0..<2).map { try #require(HostResolver.address("192.0.2.\($0)", port: 1)) }
        #expect(SocketAddress.alternating(six + four) == [six[0], four[0], six[1], four[1], six[2]])
        #expect(SocketAddress.alternating(four + six) == [four[0], six[0], four[1], six[1], six[2]])
        #expect(SocketAddress.alternating(four) == four)
        #expect(SocketAddress.alternating([]) == [])
    }

    @Test func progressIsWatched() {
        let start = ContinuousClock.now
        var watch = ProgressWatch()
        watch.note(acknowledged: 100, isWaiting: true, now: start)
        #expect(watch.remaining(of: 1000, now: start) == 1000)
        #expect(watch.remaining(of: 1000, now: start + .milliseconds(400)) == 600)
        watch.note(acknowledged: 100, isWaiting: true, now: start + .milliseconds(400))
        #expect(watch.remaining(of: 1000, now: start + .milliseconds(999)) == 1, "no progress")
        #expect(watch.remaining(of: 1000, now: start + .milliseconds(1001)) == 0)
        watch.note(acknowledged: 101, isWaiting: true, now: start + .milliseconds(1001))
        #expect(watch.remaining(of: 1000, now: start + .milliseconds(1001)) == 1000)
        watch.note(acknowledged: 50, isWaiting: false, now: start + .milliseconds(5000))
        #expect(watch.remaining(of: 1000, now: start + .milliseconds(5000)) == 1000, "nothing waits")
    }

    @Test func outputKeepsItsOrder() throws {
        var output = OutputBuffer()
        output.append([1, 2, 3])
        output.remove(2)
        output.append([4, 5])
        #expect(try output.withBytes { Array($0) } == [3, 4, 5])
        output.remove(3)
        #expect(output.isEmpty && output.removedBytes == 5)
        output.append([6])
        #expect(try output.withBytes { Array($0) } == [6])
    }

    @Test func fieldsOfTheKernel() {
        var bytes = [UInt8](repeating: 0, count: 232)
        bytes.replaceSubrange(68..<72, with: [0x10, 0x27, 0, 0])
        bytes.replaceSubrange(100..<104, with: [7, 0, 0, 0])
        bytes.replaceSubrange(160..<168, with: [0x40, 0x0D, 3, 0, 0, 0, 0, 0])
        let information = TCPInformation(bytes: bytes[...])
        #expect(information.roundTrip == 0.01)
        #expect(information.retransmitted == 7)
        #expect(information.deliveryRate == 1_600_000)
        bytes[7] = 1
        #expect(TCPInformation(bytes: bytes[...]).deliveryRate == nil, "limited by the sender")
        #expect(TCPInformation(bytes: bytes[..<104]).deliveryRate == nil, "an old kernel")
        #expect(TCPInformation(bytes: []) == TCPInformation(bytes: [UInt8](repeating: 0, count: 232)[...]))
    }
}
