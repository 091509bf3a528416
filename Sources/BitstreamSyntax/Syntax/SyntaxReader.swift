// SPDX-License-Identifier: GPL-2.0-or-later

/// Parses a syntax structure from bits.
struct SyntaxReader: SyntaxVisitor {
    private var reader: BitReader
    /// Whether the structure ends with `rbsp_trailing_bits()` rather than with the last bit.
    private let hasTrailingBits: Bool

    init(_ reader: BitReader, hasTrailingBits: Bool = true) {
        self.reader = reader
        self.hasTrailingBits = hasTrailingBits
    }

    var bitPosition: Int { reader.bitPosition }

    mutating func u(
        _ name: @autoclosure () -> String,
        bits: Int,
        _ value: inout UInt32,
        in range: ClosedRange<UInt32>
    ) throws(BitstreamError) {
        let start = bitPosition
        value = try Self.checked(try reader.readBits(bits, name()), name(), at: start, in: range)
    }

    mutating func ue(
        _ name: @autoclosure () -> String,
        _ value: inout UInt32,
        in range: ClosedRange<UInt32>
    ) throws(BitstreamError) {
        let start = bitPosition
        value = try Self.checked(try reader.readUnsignedExpGolomb(name()), name(), at: start, in: range)
    }

    mutating func se(
        _ name: @autoclosure () -> String,
        _ value: inout Int32,
        in range: ClosedRange<Int32>
    ) throws(BitstreamError) {
        let start = bitPosition
        value = try Self.checked(try reader.readSignedExpGolomb(name()), name(), at: start, in: range)
    }

    mutating func infer<Value: BinaryInteger>(
        _ name: @autoclosure () -> String,
        _ value: inout Value,
        _ inferred: Value
    ) {
        value = inferred
    }

    mutating func resize<Element>(
        _ name: @autoclosure () -> String,
        _ array: inout [Element],
        to count: Int,
        with element: Element
    ) {
        array = Array(repeating: element, count: max(count, 0))
    }

    mutating func grow<Element>(
        _ name: @autoclosure () -> String,
        _ array: inout [Element],
        to count: Int,
        with element: Element
    ) {
        while array.count < count { array.append(element) }
    }

    mutating func presentIfMoreData<Part>(_ part: inout Part?, _ initial: @autoclosure () -> Part) {
        part = hasMoreData ? initial() : nil
    }

    mutating func remainder(_ name: @autoclosure () -> String, _ bits: inout RawBits) throws(BitstreamError) {
        bits = RawBits()
        while hasMoreData {
            bits.append(try reader.readBits(1, name()) == 1)
        }
    }

    mutating func trailingBits() throws(BitstreamError) {
        guard let stop = reader.stopBitPosition, stop >= bitPosition else {
            throw BitstreamError(field: "rbsp_stop_one_bit", bitPosition: bitPosition, reason: .truncated)
        }
        let unread = stop - bitPosition
        guard unread == 0 else {
            throw .outOfRange("rbsp_trailing_bits", at: bitPosition, value: unread, allowed: 0...0)
        }
    }

    private var hasMoreData: Bool { hasTrailingBits ? reader.moreRBSPData : reader.bitsLeft > 0 }

    private static func checked<Value: BinaryInteger>(
        _ value: Value,
        _ name: @autoclosure () -> String,
        at position: Int,
        in range: ClosedRange<Value>
    ) throws(BitstreamError) -> Value {
        guard range.contains(value) else {
            throw .outOfRange(name(), at: position, value: value, allowed: range)
        }
        return value
    }
}
