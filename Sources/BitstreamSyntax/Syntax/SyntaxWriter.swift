// SPDX-License-Identifier: GPL-2.0-or-later

/// Serializes a syntax structure.
struct SyntaxWriter: SyntaxVisitor {
    private(set) var writer = BitWriter()

    var bitPosition: Int { writer.bitPosition }

    mutating func u(
        _ name: @autoclosure () -> String,
        bits: Int,
        _ value: inout UInt32,
        in range: ClosedRange<UInt32>
    ) throws(BitstreamError) {
        try check(name(), value, in: range)
        try writer.writeBits(value, bits, name())
    }

    mutating func ue(
        _ name: @autoclosure () -> String,
        _ value: inout UInt32,
        in range: ClosedRange<UInt32>
    ) throws(BitstreamError) {
        try check(name(), value, in: range)
        try writer.writeUnsignedExpGolomb(value, name())
    }

    mutating func se(
        _ name: @autoclosure () -> String,
        _ value: inout Int32,
        in range: ClosedRange<Int32>
    ) throws(BitstreamError) {
        try check(name(), value, in: range)
        try writer.writeSignedExpGolomb(value, name())
    }

    mutating func infer<Value: BinaryInteger>(
        _ name: @autoclosure () -> String,
        _ value: inout Value,
        _ inferred: Value
    ) throws(BitstreamError) {
        try check(name(), value, in: inferred...inferred)
    }

    mutating func resize<Element>(
        _ name: @autoclosure () -> String,
        _ array: inout [Element],
        to count: Int,
        with element: Element
    ) throws(BitstreamError) {
        try check("count of \(name())", array.count, in: count...count)
    }

    mutating func grow<Element>(
        _ name: @autoclosure () -> String,
        _ array: inout [Element],
        to count: Int,
        with element: Element
    ) throws(BitstreamError) {
        try check("count of \(name())", array.count, in: count...(.max))
    }

    mutating func presentIfMoreData<Part>(_ part: inout Part?, _ initial: @autoclosure () -> Part) {}

    mutating func remainder(_ name: @autoclosure () -> String, _ bits: inout RawBits) throws(BitstreamError) {
        for index in 0..<bits.count {
            try writer.writeBits(bits[index] ? 1 : 0, 1, name())
        }
    }

    mutating func trailingBits() throws(BitstreamError) {
        try writer.writeBits(1, 1, "rbsp_stop_one_bit")
        while !writer.isByteAligned {
            try writer.writeBits(0, 1, "rbsp_alignment_zero_bit")
        }
    }
}
