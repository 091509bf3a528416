// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import BitstreamSyntax

/// The slowest and plainest way to do what the framing does.
private enum Naive {
    static func annexBUnits(_ bytes: [UInt8]) -> [[UInt8]]? {
        func startCode(at index: Int) -> Bool { bytes[index...].starts(with: [0, 0, 1]) }
        guard let first = bytes.indices.first(where: startCode) else { return bytes.allSatisfy { $0 == 0 } ? [] : nil }
        guard bytes[..<first].allSatisfy({ $0 == 0 }) else { return nil }
        var units: [[UInt8]] = []
        var index = first
        while index < bytes.count {
            if startCode(at: index) {
                units.append([])
                index += 3
            } else {
                units[units.count - 1].append(bytes[index])
                index += 1
            }
        }
        return units.map { unit in Array(unit.reversed().drop { $0 == 0 }.reversed()) }.filter { !$0.isEmpty }
    }

    static func withPrevention(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var zeros = 0
        for byte in bytes {
            if zeros == 2, byte <= 3 {
                output.append(3)
                zeros = 0
            }
            output.append(byte)
            zeros = byte == 0 ? zeros + 1 : 0
        }
        return bytes.last == 0 ? output + [3] : output
    }

    static func withoutPrevention(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var zeros = 0
        for byte in bytes {
            if zeros >= 2, byte == 3 {
                zeros = 0
            } else {
                output.append(byte)
                zeros = byte == 0 ? zeros + 1 : 0
            }
        }
        return output
    }

    static func lengthPrefixed(_ units: [[UInt8]], _ size: Int) -> [UInt8] {
        units.flatMap { unit in (0..<size).reversed().map { UInt8(unit.count >> (8 * $0) & 255) } + unit }
    }
}

private func content(_ bytes: [UInt8], _ framing: NALUnitFraming) throws(BitstreamError) -> [[UInt8]] {
    try framing.nalUnits(in: bytes).map { Array(bytes[$0]) }
}

@Suite struct FramingTests {
    @Test(arguments: 0..<20) func agreesWithTheNaiveReference(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<400 {
            let bytes = random.zeroHeavyBytes(upTo: 120)
            #expect((try? content(bytes, .annexB)) == Naive.annexBUnits(bytes))
            #expect(EmulationPrevention.added(to: bytes) == Naive.withPrevention(bytes))
            #expect(EmulationPrevention.removed(from: bytes) == Naive.withoutPrevention(bytes))
        }
    }

    @Test(arguments: 0..<20) func everyFramingKeepsTheUnits(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            // An RBSP ends with its stop bit or with cabac_zero_words.
            let payloads = (0..<Int.random(in: 0...5, using: &random)).map { index in
                random.zeroHeavyBytes(upTo: 200) + [0x80] + [UInt8](repeating: 0, count: index / 2 * 2)
            }
            let units = payloads.map { EmulationPrevention.added(to: [0x65] + $0) }
            #expect(zip(units, payloads).allSatisfy { EmulationPrevention.removed(from: $0) == [0x65] + $1 })
            let annexB = try NALUnitFraming.annexB.join(units)
            #expect(try content(annexB, .annexB) == units)
            for size in NALUnitFraming.LengthSize.allCases where units.allSatisfy({ $0.count <= size.largestUnit }) {
                let prefixed = try NALUnitFraming.annexB.convert(annexB, to: .lengthPrefixed(size))
                #expect(prefixed == Naive.lengthPrefixed(units, size.rawValue))
                #expect(try NALUnitFraming.lengthPrefixed(size).convert(prefixed, to: .annexB) == annexB)
            }
        }
    }

    @Test func takesEveryFormOfStartCode() throws {
        let bytes: [UInt8] = [0, 0, 0, 0, 1, 9, 16, 0, 0, 1, 0, 0, 1, 0x67, 0, 1, 0, 0, 0, 0, 0, 1, 0x68, 0, 0]
        #expect(try content(bytes, .annexB) == [[9, 16], [0x67, 0, 1], [0x68]])
        #expect(try content([], .annexB) == [])
        #expect(try content([0, 0, 0], .annexB) == [])
        #expect(try content([0, 0, 1], .annexB) == [])
    }

    /// Units end where the search works on whole blocks and where it works on single bytes.
    @Test(arguments: 0..<140) func findsAStartCodeAtEveryOffset(offset: Int) throws {
        let first = [UInt8](repeating: 0xFF, count: offset + 1)
        let bytes = [0, 0, 1] + first + [0, 0, 1] + [UInt8](repeating: 0xFE, count: 70)
        #expect(try content(bytes, .annexB).map(\.count) == [offset + 1, 70])
    }

    @Test func takesUnitsOfManyMegabytes() throws {
        let large = [0x65] + [UInt8](repeating: 0xAB, count: 5_000_000)
        let zeros = EmulationPrevention.added(to: [0x65] + [UInt8](repeating: 0, count: 400_000) + [0x80])
        #expect(zeros.count == 600_001)
        let annexB = try NALUnitFraming.annexB.join([large, zeros])
        let prefixed = try NALUnitFraming.annexB.convert(annexB, to: .lengthPrefixed(.four))
        #expect(prefixed.count == annexB.count)
        #expect(try NALUnitFraming.lengthPrefixed(.four).nalUnits(in: prefixed).map(\.count) == [5_000_001, 600_001])
    }

    @Test func refusesWhatStartsWithoutAStartCode() {
        let expected = BitstreamError(
            field: "start_code_prefix_one_3bytes",
            bitPosition: 0,
            reason: .invalidCode
        )
        #expect(throws: expected) { try content([0x65, 0, 0, 1, 0x67], .annexB) }
        #expect(throws: expected) { try content([1, 2, 3], .annexB) }
    }

    @Test func refusesLengthsThatCannotBe() {
        func error(_ bit: Int, _ reason: BitstreamError.Reason) -> BitstreamError {
            BitstreamError(field: "NALUnitLength", bitPosition: bit, reason: reason)
        }
        let four = NALUnitFraming.lengthPrefixed(.four)
        #expect(throws: error(40, .truncated)) { try content([0, 0, 0, 1, 9, 0, 0], four) }
        #expect(throws: error(0, .outOfRange(value: 3, allowed: 1...2))) { try content([0, 0, 0, 3, 9, 9], four) }
        #expect(throws: error(0, .outOfRange(value: 0, allowed: 1...1))) { try content([0, 0, 0, 0, 9], four) }
        #expect(throws: error(0, .outOfRange(value: 0xFFFF_FFFF, allowed: 1...1))) {
            try content([255, 255, 255, 255, 9], four)
        }
        #expect(throws: error(16, .outOfRange(value: 256, allowed: 1...255))) {
            try NALUnitFraming.lengthPrefixed(.one).join([[9], [UInt8](repeating: 9, count: 256)])
        }
        #expect(throws: error(0, .outOfRange(value: 65536, allowed: 1...65535))) {
            try NALUnitFraming.lengthPrefixed(.two).join([[UInt8](repeating: 9, count: 65536)])
        }
    }
}
