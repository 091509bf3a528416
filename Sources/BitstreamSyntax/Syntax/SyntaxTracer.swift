// SPDX-License-Identifier: GPL-2.0-or-later

/// One coded element of a syntax structure, for debugging.
public struct SyntaxElement: Hashable, Sendable {
    /// The name in the specification, with indices.
    public var name: String
    /// The position of the first bit, counted from the start of the NAL unit without emulation prevention bytes.
    public var bitPosition: Int
    /// The number of bits of the element.
    public var bitCount: Int
    /// The value; 0 or 1 for a flag.
    public var value: Int64
}

extension SyntaxElement: CustomStringConvertible {
    /// `position name = value (bits)`.
    public var description: String { "\(bitPosition) \(name) = \(value) (\(bitCount) bits)" }
}

/// Records the elements that another visitor reads or writes.
struct SyntaxTracer<Base: SyntaxVisitor>: SyntaxVisitor {
    private var base: Base
    private(set) var elements: [SyntaxElement] = []

    init(_ base: Base) { self.base = base }

    var bitPosition: Int { base.bitPosition }

    mutating func u(
        _ name: @autoclosure () -> String,
        bits: Int,
        _ value: inout UInt32,
        in range: ClosedRange<UInt32>
    ) throws(BitstreamError) {
        let start = bitPosition
        try base.u(name(), bits: bits, &value, in: range)
        record(name(), Int64(value), from: start)
    }

    mutating func ue(
        _ name: @autoclosure () -> String,
        _ value: inout UInt32,
        in range: ClosedRange<UInt32>
    ) throws(BitstreamError) {
        let start = bitPosition
        try base.ue(name(), &value, in: range)
        record(name(), Int64(value), from: start)
    }

    mutating func se(
        _ name: @autoclosure () -> String,
        _ value: inout Int32,
        in range: ClosedRange<Int32>
    ) throws(BitstreamError) {
        let start = bitPosition
        try base.se(name(), &value, in: range)
        record(name(), Int64(value), from: start)
    }

    mutating func infer<Value: BinaryInteger>(
        _ name: @autoclosure () -> String,
        _ value: inout Value,
        _ inferred: Value
    ) throws(BitstreamError) {
        try base.infer(name(), &value, inferred)
    }

    mutating func resize<Element>(
        _ name: @autoclosure () -> String,
        _ array: inout [Element],
        to count: Int,
        with element: Element
    ) throws(BitstreamError) {
        try base.resize(name(), &array, to: count, with: element)
    }

    mutating func grow<Element>(
        _ name: @autoclosure () -> String,
        _ array: inout [Element],
        to count: Int,
        with element: Element
    ) throws(BitstreamError) {
        try base.grow(name(), &array, to: count, with: element)
    }

    mutating func presentIfMoreData<Part>(_ part: inout Part?, _ initial: @autoclosure () -> Part) {
        base.presentIfMoreData(&part, initial())
    }

    mutating func remainder(_ name: @autoclosure () -> String, _ bits: inout RawBits) throws(BitstreamError) {
        let start = bitPosition
        try base.remainder(name(), &bits)
        for index in 0..<bits.count {
            elements.append(
                SyntaxElement(name: name(), bitPosition: start + index, bitCount: 1, value: bits[index] ? 1 : 0)
            )
        }
    }

    mutating func trailingBits() throws(BitstreamError) {
        let start = bitPosition
        try base.trailingBits()
        elements.append(SyntaxElement(name: "rbsp_stop_one_bit", bitPosition: start, bitCount: 1, value: 1))
    }

    private mutating func record(_ name: String, _ value: Int64, from start: Int) {
        elements.append(
            SyntaxElement(name: name, bitPosition: start, bitCount: bitPosition - start, value: value)
        )
    }
}
