// SPDX-License-Identifier: GPL-2.0-or-later

/// An operation on a syntax structure whose elements are described in order: reading, writing or tracing.
///
/// A structure describes itself once, in its `visit` function, with each element's name in the specification, its
/// coding and its range. Conditional elements are visited under the same conditions as in the syntax table; `infer` is
/// called where the semantics define the value of an absent element. Names are evaluated only if needed.
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

    /// An element that is absent and has this value; a writer rejects any other value, which would be lost.
    mutating func infer<Value: BinaryInteger>(
        _ name: @autoclosure () -> String,
        _ value: inout Value,
        _ inferred: Value
    ) throws(BitstreamError)

    /// Resizes `array` to `count` elements when reading; when writing, rejects any other count.
    mutating func resize<Element>(
        _ name: @autoclosure () -> String,
        _ array: inout [Element],
        to count: Int,
        with element: Element
    ) throws(BitstreamError)

    /// Extends `array` to at least `count` elements when reading; when writing, rejects a shorter one.
    mutating func grow<Element>(
        _ name: @autoclosure () -> String,
        _ array: inout [Element],
        to count: Int,
        with element: Element
    ) throws(BitstreamError)

    /// A part that is present if `more_rbsp_data()`, or in a structure without trailing bits if any bits are left.
    mutating func presentIfMoreData<Part>(_ part: inout Part?, _ initial: @autoclosure () -> Part)

    /// All bits up to the trailing bits or the end, preserved without parsing.
    mutating func remainder(_ name: @autoclosure () -> String, _ bits: inout RawBits) throws(BitstreamError)

    /// `rbsp_trailing_bits()`, which must be the last element.
    mutating func trailingBits() throws(BitstreamError)
}

extension SyntaxVisitor {
    /// `u(n)` without a restriction of the value.
    mutating func u(_ name: @autoclosure () -> String, bits: Int, _ value: inout UInt32) throws(BitstreamError) {
        try u(name(), bits: bits, &value, in: 0...(.max >> UInt32(32 - bits)))
    }

    /// `ue(v)` without a restriction of the value.
    mutating func ue(_ name: @autoclosure () -> String, _ value: inout UInt32) throws(BitstreamError) {
        try ue(name(), &value, in: 0...(.max - 1))
    }

    /// `se(v)` without a restriction of the value.
    mutating func se(_ name: @autoclosure () -> String, _ value: inout Int32) throws(BitstreamError) {
        try se(name(), &value, in: (.min + 1)...(.max))
    }

    /// `u(1)` for a Boolean value.
    mutating func flag(_ name: @autoclosure () -> String, _ value: inout Bool) throws(BitstreamError) {
        var bit: UInt32 = value ? 1 : 0
        try u(name(), bits: 1, &bit)
        value = bit == 1
    }

    /// A flag for the presence of `part`.
    mutating func presence<Part>(
        _ name: @autoclosure () -> String,
        of part: inout Part?,
        _ initial: @autoclosure () -> Part
    ) throws(BitstreamError) {
        var isPresent = part != nil
        try flag(name(), &isPresent)
        part = isPresent ? part ?? initial() : nil
    }

    /// `u(n)` for a bit pattern with a single allowed value.
    mutating func fixed(_ name: @autoclosure () -> String, bits: Int, _ value: UInt32) throws(BitstreamError) {
        var value = value
        try u(name(), bits: bits, &value, in: value...value)
    }

    /// `ue(v)` for the number of elements of `array`, less `offset`; reading resizes the array.
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

    /// `u(1)` for each of `count` bits without a meaning; if all bits are zero, the bit string is empty.
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

    /// A flag that is absent and has this value.
    mutating func infer(
        _ name: @autoclosure () -> String,
        _ value: inout Bool,
        _ inferred: Bool
    ) throws(BitstreamError) {
        var bit: UInt32 = value ? 1 : 0
        try infer(name(), &bit, inferred ? 1 : 0)
        value = bit == 1
    }

    /// A part that is absent because its presence flag is absent.
    mutating func inferAbsent<Part>(
        _ name: @autoclosure () -> String,
        _ part: inout Part?
    ) throws(BitstreamError) {
        var isPresent = part != nil
        try infer(name(), &isPresent, false)
        part = nil
    }

    /// A part that is always present: reading creates it, and writing requires it.
    mutating func required<Part>(
        _ name: @autoclosure () -> String,
        _ part: inout Part?,
        _ initial: @autoclosure () -> Part
    ) throws(BitstreamError) {
        var parts = part.map { [$0] } ?? []
        try resize(name(), &parts, to: 1, with: initial())
        part = parts.first
    }

    /// Checks a value, such as a variable that is derived from earlier elements.
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

/// A NAL unit whose elements, including header and trailing bits, are described by `visit`.
protocol SyntaxStructure {
    /// Visits every element in the order of the syntax table.
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError)
}

extension SyntaxStructure {
    /// Parses the elements of a NAL unit without start code or length; zero bytes after its end are ignored.
    mutating func read(_ nalUnit: some Collection<UInt8>) throws(BitstreamError) {
        var reader = SyntaxReader(BitReader(EmulationPrevention.removed(from: nalUnit)))
        try visit(&reader)
    }

    /// Returns the NAL unit with these elements.
    func written() throws(BitstreamError) -> [UInt8] {
        var writer = SyntaxWriter()
        var copy = self
        try copy.visit(&writer)
        return EmulationPrevention.added(to: writer.writer.bytes)
    }

    /// Returns the elements as coded in the NAL unit.
    func traced() throws(BitstreamError) -> [SyntaxElement] {
        var tracer = SyntaxTracer(SyntaxWriter())
        var copy = self
        try copy.visit(&tracer)
        return tracer.elements
    }
}
