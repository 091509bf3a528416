// SPDX-License-Identifier: GPL-2.0-or-later

/// What can be done with a syntax structure whose elements are described in order: read it, write it, trace it.
///
/// A structure describes itself once, in its `visit` function, with each element's name in the specification, its coding
/// and its range. Elements that are conditional on others are visited under the same conditions as in the syntax table;
/// `infer` stands where the semantics give an absent element its value. Names are evaluated only where needed.
protocol SyntaxVisitor {
    /// The position of the next element, in bits.
    var bitPosition: Int { get }

    /// `u(n)`.
    mutating func u(
        _ name: @autoclosure () -> String,
        bits: Int,
        _ value: inout UInt32,
        in range: ClosedRange<UInt32>
    ) throws(BitstreamError)

    /// `ue(v)`.
    mutating func ue(
        _ name: @autoclosure () -> String,
        _ value: inout UInt32,
        in range: ClosedRange<UInt32>
    ) throws(BitstreamError)

    /// `se(v)`.
    mutating func se(
        _ name: @autoclosure () -> String,
        _ value: inout Int32,
        in range: ClosedRange<Int32>
    ) throws(BitstreamError)

    /// The element is absent here and has this value; a writer refuses any other, which would be lost.
    mutating func infer<Value: BinaryInteger>(
        _ name: @autoclosure () -> String,
        _ value: inout Value,
        _ inferred: Value
    ) throws(BitstreamError)

    /// Brings `array` to `count` elements when reading; when writing, refuses any other count.
    mutating func resize<Element>(
        _ name: @autoclosure () -> String,
        _ array: inout [Element],
        to count: Int,
        with element: Element
    ) throws(BitstreamError)

    /// Makes `array` hold at least `count` elements when reading; when writing, refuses a shorter one.
    mutating func grow<Element>(
        _ name: @autoclosure () -> String,
        _ array: inout [Element],
        to count: Int,
        with element: Element
    ) throws(BitstreamError)

    /// A part that is present when `more_rbsp_data()`, or in a structure without trailing bits when any bits are left.
    mutating func presentIfMoreData<Part>(_ part: inout Part?, _ initial: @autoclosure () -> Part)

    /// Everything up to the trailing bits or the end, not understood and kept.
    mutating func remainder(_ name: @autoclosure () -> String, _ bits: inout RawBits) throws(BitstreamError)

    /// `rbsp_trailing_bits()`, after which nothing follows.
    mutating func trailingBits() throws(BitstreamError)
}

extension SyntaxVisitor {
    /// `u(n)` with every value allowed.
    mutating func u(_ name: @autoclosure () -> String, bits: Int, _ value: inout UInt32) throws(BitstreamError) {
        try u(name(), bits: bits, &value, in: 0...(.max >> UInt32(32 - bits)))
    }

    /// `ue(v)` with every value that has a code allowed.
    mutating func ue(_ name: @autoclosure () -> String, _ value: inout UInt32) throws(BitstreamError) {
        try ue(name(), &value, in: 0...(.max - 1))
    }

    /// `se(v)` with every value that has a code allowed.
    mutating func se(_ name: @autoclosure () -> String, _ value: inout Int32) throws(BitstreamError) {
        try se(name(), &value, in: (.min + 1)...(.max))
    }

    /// `u(1)` for a truth value.
    mutating func flag(_ name: @autoclosure () -> String, _ value: inout Bool) throws(BitstreamError) {
        var bit: UInt32 = value ? 1 : 0
        try u(name(), bits: 1, &bit)
        value = bit == 1
    }

    /// A flag that says whether `part` follows.
    mutating func presence<Part>(
        _ name: @autoclosure () -> String,
        of part: inout Part?,
        _ initial: @autoclosure () -> Part
    ) throws(BitstreamError) {
        var isPresent = part != nil
        try flag(name(), &isPresent)
        part = isPresent ? part ?? initial() : nil
    }

    /// `u(n)` for a bit pattern that has one value only.
    mutating func fixed(_ name: @autoclosure () -> String, bits: Int, _ value: UInt32) throws(BitstreamError) {
        var value = value
        try u(name(), bits: bits, &value, in: value...value)
    }

    /// `ue(v)` for the number of elements of `array`, less `offset`; reading brings the array to that size.
    mutating func ueCount<Element>(
        _ name: @autoclosure () -> String,
        of array: inout [Element],
        minus offset: Int = 0,
        in range: ClosedRange<UInt32>,
        with element: Element
    ) throws(BitstreamError) {
        var number = UInt32(clamping: array.count - offset)
        try ue(name(), &number, in: range)
        try resize(name(), &array, to: Int(number) + offset, with: element)
    }

    /// `u(8)` for each of `count` bytes.
    mutating func bytes(
        _ name: @autoclosure () -> String,
        _ bytes: inout [UInt8],
        count: Int
    ) throws(BitstreamError) {
        try resize(name(), &bytes, to: count, with: 0)
        for index in bytes.indices {
            var byte = UInt32(bytes[index])
            try u("\(name())[\(index)]", bits: 8, &byte)
            bytes[index] = UInt8(truncatingIfNeeded: byte)
        }
    }

    /// `u(1)` for each of `count` bits without a meaning; bits that are all zero are an empty string.
    mutating func reservedBits(
        _ name: @autoclosure () -> String,
        _ bits: inout RawBits,
        count: Int
    ) throws(BitstreamError) {
        try check("count of \(name())", bits.count, in: 0...count)
        var visited = RawBits()
        for index in 0..<count {
            var bit = bits[index]
            try flag("\(name())[\(index)]", &bit)
            visited.append(bit)
        }
        bits = visited.bytes.allSatisfy { $0 == 0 } ? RawBits() : visited
    }

    /// `chroma_format_idc`, `ue(v)`.
    mutating func chromaFormat(_ value: inout ChromaFormat) throws(BitstreamError) {
        var number = value.rawValue
        try ue("chroma_format_idc", &number, in: 0...3)
        value = ChromaFormat(rawValue: number) ?? value
    }

    /// A flag that is absent here and has this value.
    mutating func infer(
        _ name: @autoclosure () -> String,
        _ value: inout Bool,
        _ inferred: Bool
    ) throws(BitstreamError) {
        var bit: UInt32 = value ? 1 : 0
        try infer(name(), &bit, inferred ? 1 : 0)
        value = bit == 1
    }

    /// A part whose presence flag is absent here, so that the part is too.
    mutating func inferAbsent<Part>(
        _ name: @autoclosure () -> String,
        _ part: inout Part?
    ) throws(BitstreamError) {
        var isPresent = part != nil
        try infer(name(), &isPresent, false)
        part = nil
    }

    /// A part that is always present here: reading makes it, a writer refuses to do without.
    mutating func required<Part>(
        _ name: @autoclosure () -> String,
        _ part: inout Part?,
        _ initial: @autoclosure () -> Part
    ) throws(BitstreamError) {
        var parts = part.map { [$0] } ?? []
        try resize(name(), &parts, to: 1, with: initial())
        part = parts.first
    }

    /// Checks a value, such as a variable that is derived from elements already visited.
    func check<Value: BinaryInteger>(
        _ name: @autoclosure () -> String,
        _ value: Value,
        in range: ClosedRange<Value>
    ) throws(BitstreamError) {
        guard range.contains(value) else {
            throw .outOfRange(name(), at: bitPosition, value: value, allowed: range)
        }
    }
}

/// A NAL unit whose elements, header and trailing bits included, are described by `visit`.
protocol SyntaxStructure {
    /// Visits every element in the order of the syntax table.
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError)
}

extension SyntaxStructure {
    /// Reads the elements from a NAL unit without start code or length; zero bytes after its end are ignored.
    mutating func read(_ nalUnit: some Collection<UInt8>) throws(BitstreamError) {
        var reader = SyntaxReader(BitReader(EmulationPrevention.removed(from: nalUnit)))
        try visit(&reader)
    }

    /// The NAL unit that these elements make.
    func written() throws(BitstreamError) -> [UInt8] {
        var writer = SyntaxWriter()
        var copy = self
        try copy.visit(&writer)
        return EmulationPrevention.added(to: writer.writer.bytes)
    }

    /// The elements as they stand in the NAL unit that they make.
    func traced() throws(BitstreamError) -> [SyntaxElement] {
        var tracer = SyntaxTracer(SyntaxWriter())
        var copy = self
        try copy.visit(&tracer)
        return tracer.elements
    }
}
