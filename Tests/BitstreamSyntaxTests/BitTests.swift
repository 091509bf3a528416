// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import BitstreamSyntax

@Suite struct BitTests {
    /// Table 9-2 of H.264 and its continuation to the largest codes.
    @Test func expGolombCodesAreThoseOfTheSpecification() throws {
        let codes: [(UInt32, String)] = [
            (0, "1"), (1, "010"), (2, "011"), (3, "00100"), (6, "00111"), (7, "0001000"), (9, "0001010"),
        ]
        for (value, code) in codes {
            var writer = BitWriter()
            try writer.writeUnsignedExpGolomb(value)
            #expect(writer.bitPosition == code.count)
            let bits = (0..<code.count).map { writer.bytes[$0 / 8] & (0x80 >> UInt8($0 % 8)) == 0 ? "0" : "1" }
            #expect(bits.joined() == code)
        }
    }

    @Test(arguments: 0..<10) func whatIsWrittenIsRead(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let large = (0..<200).map { _ in UInt32.random(in: 0...(.max - 1), using: &random) }
        let unsigned: [UInt32] = [0, 1, .max - 1] + large.enumerated().map { $1 >> ($0 % 32) }
        let signed: [Int32] = [0, 1, -1, .max, .min + 1] + unsigned.map { Int32(bitPattern: $0) }.filter { $0 > .min }
        let fixed = unsigned.map { ($0, UInt32.bitWidth - $0.leadingZeroBitCount) }
        var writer = BitWriter()
        for value in unsigned { try writer.writeUnsignedExpGolomb(value) }
        for value in signed { try writer.writeSignedExpGolomb(value) }
        for (value, count) in fixed { try writer.writeBits(value, count) }
        try writer.writeBits(1, 1)
        var reader = BitReader(writer.bytes)
        for value in unsigned { #expect(try reader.readUnsignedExpGolomb() == value) }
        for value in signed { #expect(try reader.readSignedExpGolomb() == value) }
        for (value, count) in fixed {
            #expect(reader.moreRBSPData)
            #expect(try reader.readBits(count) == value)
        }
        #expect(!reader.moreRBSPData)
        #expect(reader.bitPosition + 1 == writer.bitPosition)
    }

    @Test func readersSayWhereTheDataEnd() throws {
        var reader = BitReader([0b1000_0001])
        _ = try reader.readBits(3)
        #expect(throws: BitstreamError(field: "level_idc", bitPosition: 3, reason: .truncated)) {
            try reader.readBits(6, "level_idc")
        }
        #expect(throws: BitstreamError(field: "ue(v)", bitPosition: 3, reason: .truncated)) {
            try reader.readUnsignedExpGolomb()
        }
        #expect(reader.bitPosition == 3)
        var zeros = BitReader([0, 0, 0, 0, 0x80, 0, 0, 0, 0])
        #expect(throws: BitstreamError(field: "ue(v)", bitPosition: 0, reason: .invalidCode)) {
            try zeros.readUnsignedExpGolomb()
        }
        #expect(!BitReader([]).moreRBSPData)
        #expect(!BitReader([0, 0]).moreRBSPData)
    }

    @Test func writersRefuseWhatHasNoCode() {
        var writer = BitWriter()
        #expect(throws: BitstreamError(field: "x", bitPosition: 0, reason: .outOfRange(value: 4, allowed: 0...3))) {
            try writer.writeBits(4, 2, "x")
        }
        #expect(throws: BitstreamError.self) { try writer.writeUnsignedExpGolomb(.max) }
        #expect(throws: BitstreamError.self) { try writer.writeSignedExpGolomb(.min) }
        #expect(writer.bytes.isEmpty)
    }

    @Test func errorsReadAsOneLine() {
        let error = BitstreamError(
            field: "cpb_cnt_minus1",
            bitPosition: 91,
            reason: .outOfRange(value: 40, allowed: 0...31)
        )
        #expect("\(error)" == "cpb_cnt_minus1 at bit 91 is 40, allowed: 0...31")
    }
}
