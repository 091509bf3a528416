// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import TestSupport
import Testing

@testable import Streaming

@Suite(.blocks) struct AMF0Tests {
    @Test func knownBytes() {
        let values: [AMF0Value] = [
            .string("connect"), .number(1), .object([.init("app", .string("live")), .init("ok", .boolean(true))]),
            .null,
            .ecmaArray([.init("w", .number(2))]), .strictArray([.undefined]), .date(0),
        ]
        let expected: [UInt8] =
            [2, 0, 7] + Array("connect".utf8) + [0, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0]
            + [3, 0, 3] + Array("app".utf8) + [2, 0, 4] + Array("live".utf8) + [0, 2] + Array("ok".utf8) + [1, 1]
            + [0, 0, 9, 5]
            + [8, 0, 0, 0, 1, 0, 1, 0x77, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]
            + [10, 0, 0, 0, 1, 6] + [11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        #expect(AMF0Value.bytes(values) == expected)
    }

    @Test(arguments: 0..<200)
    func roundTrip(seed: UInt64) throws {
        var random = SplitMix(seed)
        let values = (0..<random.below(5)).map { _ in AMF0Value.random(&random, depth: 0) }
        #expect(try AMF0Value.values(in: AMF0Value.bytes(values)) == values)
    }

    @Test(arguments: 0..<60)
    func anyPrefixIsReadOrRefused(seed: UInt64) {
        var random = SplitMix(seed)
        let bytes = AMF0Value.bytes([.random(&random, depth: 0), .random(&random, depth: 0)])
        for count in 0..<bytes.count {
            do throws(MediaError) {
                let values = try AMF0Value.values(in: bytes.prefix(count))
                #expect(AMF0Value.bytes(values) == Array(bytes.prefix(count)))
            } catch {
                #expect(error.code == .malformedData)
            }
        }
    }

    @Test func longStringsAndOtherTypes() throws {
        let long = AMF0Value.string(String(repeating: "a", count: 70_000))
        #expect(AMF0Value.bytes([long]).prefix(5) == [12, 0, 1, 0x11, 0x70])
        #expect(try AMF0Value.values(in: AMF0Value.bytes([long])) == [long])
        // A typed object, a reference, an XML document, and a value in AMF3, whose length is not known.
        #expect(try AMF0Value.values(in: [16, 0, 1, 65, 0, 0, 9]) == [.object([])])
        #expect(try AMF0Value.values(in: [7, 0, 1, 5]) == [.other(7), .null])
        #expect(try AMF0Value.values(in: [15, 0, 0, 0, 1, 65, 5]) == [.other(15), .null])
        #expect(try AMF0Value.values(in: [5, 17, 1, 2, 3]) == [.null, .other(17)])
        #expect(throws: MediaError.self) { try AMF0Value.values(in: [10, 0, 0, 0, 1, 17, 0]) }
    }

    @Test func depthAndCountsAreLimited() {
        let nested = [UInt8](repeating: 10, count: 1) + Array(repeating: [0, 0, 0, 1, 10], count: 100_000).joined()
        #expect(throws: MediaError.self) { try AMF0Value.values(in: nested) }
        #expect(throws: MediaError.self) { try AMF0Value.values(in: [10, 255, 255, 255, 255, 5, 5]) }
    }
}

extension AMF0Value {
    static func random(_ random: inout SplitMix, depth: Int) -> AMF0Value {
        func text(_ random: inout SplitMix) -> String { String(repeating: "é", count: 1 + random.below(5)) }
        func properties(_ random: inout SplitMix) -> [Property] {
            (0..<random.below(4)).map { _ in Property(text(&random), .random(&random, depth: depth + 1)) }
        }
        switch random.below(depth > 3 ? 6 : 9) {
        case 0: return .number(Double(random.below(1000)) / 7)
        case 1: return .boolean(random.isOne(of: 2))
        case 2: return .string(random.isOne(of: 3) ? "" : text(&random))
        case 3: return .null
        case 4: return .undefined
        case 5: return .date(Double(random.below(1 << 40)))
        case 6: return .object(properties(&random))
        case 7: return .ecmaArray(properties(&random))
        default: return .strictArray((0..<random.below(4)).map { _ in .random(&random, depth: depth + 1) })
        }
    }
}

@Suite(.blocks) struct RTMPChunkTests {
    private let payload = (0..<300).map { UInt8(truncatingIfNeeded: $0) }

    @Test func knownBytes() {
        var writer = RTMPChunkWriter()
        var bytes: [UInt8] = []
        writer.write(
            RTMPMessage(kind: .video, streamID: 1, timestamp: 1000, payload: payload),
            on: .video,
            to: &bytes
        )
        let first: [UInt8] = [6, 0, 3, 0xE8, 0, 1, 0x2C, 9, 1, 0, 0, 0]
        let pieces = [payload[..<128], [0xC6], payload[128..<256], [0xC6], payload[256...]]
        #expect(bytes == first + pieces.joined())

        bytes = []
        writer.write(RTMPMessage(kind: .video, streamID: 1, timestamp: 1040, payload: [1]), on: .video, to: &bytes)
        #expect(bytes == [0x46, 0, 0, 40, 0, 0, 1, 9, 1])

        bytes = []
        writer.write(RTMPMessage(kind: .video, streamID: 1, timestamp: 900, payload: [2]), on: .video, to: &bytes)
        #expect(bytes == [6, 0, 3, 0x84, 0, 0, 1, 9, 1, 0, 0, 0, 2], "a time before the last one is absolute")

        bytes = []
        writer.write(RTMPMessage(.setChunkSize, number: 4096), on: .control, to: &bytes)
        #expect(bytes == [2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0x10, 0])
    }

    @Test func extendedTimes() throws {
        var writer = RTMPChunkWriter()
        var bytes: [UInt8] = []
        let late = RTMPMessage(kind: .video, streamID: 1, timestamp: 0x0100_0001, payload: Array(payload[..<130]))
        writer.write(late, on: .video, to: &bytes)
        let header: [UInt8] = [6, 255, 255, 255, 0, 0, 130, 9, 1, 0, 0, 0, 1, 0, 0, 1]
        let pieces: [ArraySlice<UInt8>] = [payload[..<128], [0xC6, 1, 0, 0, 1], payload[128..<130]]
        #expect(bytes == header + pieces.joined())

        // Exactly 0xFFFFFF is extended, one less is not; a difference of that size is extended as well.
        let messages = [0xFFFFFE, 0xFFFFFF, 0x1FF_FFFE, 0x1FF_FFFF, 0xFFFF_FFFF, 5].map {
            RTMPMessage(kind: .audio, streamID: 1, timestamp: $0, payload: payload)
        }
        for message in messages { writer.write(message, on: .audio, to: &bytes) }
        var reader = RTMPChunkReader()
        #expect(try reader.receive(bytes[...]) == [late] + messages)
    }

    @Test(arguments: 0..<100)
    func roundTripInPieces(seed: UInt64) throws {
        var random = SplitMix(seed)
        var writer = RTMPChunkWriter()
        var (bytes, messages): ([UInt8], [RTMPMessage]) = ([], [])
        for _ in 0..<20 {
            if random.isOne(of: 4) {
                let size = 1 + random.below(1000)
                writer.write(RTMPMessage(.setChunkSize, number: UInt32(size)), on: .control, to: &bytes)
                writer.chunkSize = size
            }
            let message = RTMPMessage(
                kind: .video,
                streamID: UInt32(random.below(3)),
                timestamp: random.isOne(of: 3) ? UInt32(truncatingIfNeeded: random.next()) : UInt32(random.below(9999)),
                payload: (0..<random.below(2000)).map { _ in UInt8(random.below(256)) }
            )
            messages.append(message)
            writer.write(message, on: random.isOne(of: 2) ? .video : .audio, to: &bytes)
        }
        var reader = RTMPChunkReader()
        var received: [RTMPMessage] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = seed == 0 ? 1 : 1 + random.below(700)
            received += try reader.receive(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        #expect(received == messages)
    }

    @Test func allHeaders() throws {
        var reader = RTMPChunkReader()
        func message(_ time: UInt32, _ byte: UInt8) -> RTMPMessage {
            RTMPMessage(kind: .audio, streamID: 7, timestamp: time, payload: [byte])
        }
        // Types 0 to 3, then type 3 again: the time of the last difference is added once more.
        let bytes: [UInt8] =
            [5, 0, 0, 100, 0, 0, 1, 8, 7, 0, 0, 0, 1] + [0x45, 0, 0, 10, 0, 0, 1, 8, 2] + [0x85, 0, 0, 5, 3]
            + [0xC5, 4] + [0xC5, 5]
        let expected = [message(100, 1), message(110, 2), message(115, 3), message(120, 4), message(125, 5)]
        #expect(try reader.receive(bytes[...]) == expected)
        // Chunk stream numbers in two and three bytes.
        #expect(try reader.receive([0, 10, 0, 0, 1, 0, 0, 1, 8, 7, 0, 0, 0, 9]) == [message(1, 9)])
        #expect(try reader.receive([1, 10, 2, 0, 0, 2, 0, 0, 1, 8, 7, 0, 0, 0, 9]) == [message(2, 9)])
        #expect(try reader.receive([0x80, 10, 0, 0, 1, 8]) == [message(2, 8)])
        #expect(try reader.receive([0x81, 10, 2, 0, 0, 1, 8]) == [message(3, 8)])
    }

    @Test func interleavingAndAbort() throws {
        var reader = RTMPChunkReader()
        let begin: [UInt8] = [5, 0, 0, 0, 0, 0, 200, 9, 1, 0, 0, 0] + payload[..<128]
        #expect(try reader.receive(begin[...]) == [])
        let other: [UInt8] = [4, 0, 0, 9, 0, 0, 1, 8, 1, 0, 0, 0, 77]
        #expect(try reader.receive(other[...]).map(\.payload) == [[77]])
        let end: [UInt8] = [0xC5] + payload[128..<200]
        #expect(try reader.receive(end[...]).map(\.payload) == [Array(payload[..<200])])

        #expect(try reader.receive(begin[...]) == [])
        #expect(try reader.receive([2, 0, 0, 0, 0, 0, 4, 2, 0, 0, 0, 0, 0, 0, 0, 5]) == [])
        let next: [UInt8] = [5, 0, 0, 0, 0, 0, 1, 9, 1, 0, 0, 0, 42]
        #expect(try reader.receive(next[...]).map(\.payload) == [[42]], "the aborted message is gone")
    }

    @Test func limits() {
        func refuses(_ bytes: [UInt8], _ comment: Comment) {
            var reader = RTMPChunkReader()
            let error = #expect(throws: MediaError.self, comment) { _ = try reader.receive(bytes[...]) }
            #expect(error?.code == .malformedData, comment)
        }
        refuses([5, 0, 0, 0, 0xFF, 0xFF, 0xFF, 9, 1, 0, 0, 0], "a message of 16 MB")
        refuses([0x85, 0, 0, 0], "a difference without a message before it")
        refuses([0xC5], "a continuation of nothing")
        refuses([2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0], "chunks without bytes")
        refuses([2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0x80, 0, 0, 1], "chunks with a reserved bit")
        refuses([2, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 1], "a chunk size that is cut off")
        let begin: [UInt8] = [5, 0, 0, 0, 0, 0, 200, 9, 1, 0, 0, 0] + payload[..<128]
        refuses(begin + begin, "a message inside of a message")
        refuses(
            (0..<100).flatMap { [0, UInt8($0), 0, 0, 0, 0, 0, 200, 9, 1, 0, 0, 0] + payload[..<128] },
            "many chunk streams"
        )
        let chunkSize: [UInt8] = [2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0x0F, 0xFF, 0xFF]
        func large(_ stream: UInt8, sent count: Int) -> [UInt8] {
            [stream, 0, 0, 0, 0x0F, 0xFF, 0xFF, 9, 1, 0, 0, 0] + [UInt8](repeating: 0, count: count)
        }
        var reader = RTMPChunkReader()
        #expect((try? reader.receive((chunkSize + large(5, sent: 0xFFFFF))[...]))?.count == 1, "nearly the limit")
        let halves: [UInt8] = chunkSize.dropLast(3) + [8, 0, 0]
        refuses(halves + large(5, sent: 0x80000) + large(6, sent: 0x80000) + [0xC5, 0], "two messages of a megabyte")
    }
}
