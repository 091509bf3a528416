// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FuzzSupport

// Where NAL units are, and emulation prevention: whatever is found lies in the data, is found again in every other
// framing, and what was escaped is the same again without its escapes.
//
// Input: a byte that says which framing, and the data.

private let framings = [NALUnitFraming.annexB] + NALUnitFraming.LengthSize.allCases.map { .lengthPrefixed($0) }

/// What libFuzzer calls before anything else.
@c(LLVMFuzzerInitialize) public func initialize(_: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) -> CInt {
    FuzzProgram.start {
        try framings.indices.flatMap { index in
            try SeedStream.all.map { stream in [UInt8(index)] + (try framings[index].join(stream.units)) }
        }
    }
}

/// What libFuzzer calls for every input.
@c(LLVMFuzzerTestOneInput) public func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(bytes, count)
    let framing = framings[Int(input.byte()) % framings.count]
    let data = input.remainder()
    escape(data)
    guard let units = try? framing.nalUnits(in: data) else { return 0 }
    var end = 0
    for unit in units {
        precondition(unit.lowerBound >= end && !unit.isEmpty && unit.upperBound <= data.count)
        end = unit.upperBound
        readHeaders(data[unit])
    }
    reframe(units.map { Array(data[$0]) }, from: framing, data)
    return 0
}

private func escape(_ data: [UInt8]) {
    let escaped = EmulationPrevention.added(to: data)
    // An RBSP ends with an even number of zeros, if any: those of `cabac_zero_word`s.
    if data.reversed().prefix(while: { $0 == 0 }).count.isMultiple(of: 2) {
        precondition(EmulationPrevention.removed(from: escaped) == data, "an escape cannot be taken back")
    }
    for index in escaped.indices.dropLast(2) where escaped[index] == 0 && escaped[index + 1] == 0 {
        precondition(escaped[index + 2] >= 3, "a start code was let through")
    }
    precondition(escaped.last != 0, "escaped bytes end with a zero")
}

private func readHeaders(_ unit: ArraySlice<UInt8>) {
    for codec in VideoCodec.allCases {
        guard let header = try? codec.nalUnitHeader(of: unit) else { continue }
        precondition(header.byteCount <= unit.count)
        _ = (header.isKeyFrame, header.isParameterSet, header.isAccessUnitDelimiter)
    }
}

/// The same units in every framing that can hold them.
private func reframe(_ units: [[UInt8]], from framing: NALUnitFraming, _ data: [UInt8]) {
    for other in framings {
        guard let converted = try? framing.convert(data, to: other) else { continue }
        // Bytes behind a length may look like start codes, so that other units come out of them.
        if framing != .annexB, other == .annexB { continue }
        guard let again = try? other.nalUnits(in: converted) else { fatalError("\(other) does not read what it wrote") }
        precondition(again.map { Array(converted[$0]) } == units, "units are lost between \(framing) and \(other)")
    }
}
