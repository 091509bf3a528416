// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FuzzSupport

// Slice headers of both codecs, with parameter sets that are damaged, too: what is read is written as the bits that it was
// read from.
//
// Input: a byte that says which codec, two lengths of two bytes, an SPS, a PPS and a slice.

/// What libFuzzer calls before anything else.
@c(LLVMFuzzerInitialize) public func initialize(_: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) -> CInt {
    FuzzProgram.start {
        SeedStream.all.flatMap { stream in
            var sets: [[UInt8]] = [[], []]
            return stream.units.compactMap { unit -> [UInt8]? in
                switch UnitKind(stream.codec, unit) {
                case .sequenceSet: sets[0] = unit
                case .pictureSet: sets[1] = unit
                default: break
                }
                guard UnitKind(stream.codec, unit) == .slice else { return nil }
                var output = FuzzOutput()
                output.byte(stream.codec == .h264 ? 0 : 1)
                for set in sets { output.short(set.count) }
                (sets + [unit]).forEach { output.append($0) }
                return output.bytes
            }
        }
    }
}

/// What libFuzzer calls for every input.
@c(LLVMFuzzerTestOneInput) public func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(bytes, count)
    let isHEVC = input.byte() & 1 == 1
    let lengths = (input.short(), input.short())
    let (sequence, picture) = (input.bytes(lengths.0), input.bytes(lengths.1))
    let slice = input.remainder()
    if isHEVC {
        guard let sps = try? HEVCSequenceParameterSet(nalUnit: sequence),
            let pps = try? HEVCPictureParameterSet(nalUnit: picture),
            let header = try? HEVCSliceSegmentHeader(nalUnit: slice, sps: sps, pps: pps)
        else { return 0 }
        same(slice, try? header.written(sps: sps, pps: pps))
        if let references = header.slice?.references {
            precondition(references.usedPictureCount(sps) >= 0 && references.shortTermReferences(sps).count <= 64)
        }
    } else {
        guard let sps = try? H264SequenceParameterSet(nalUnit: sequence) else { return 0 }
        let start = try? H264SliceHeaderStart(nalUnit: slice, sps: sps)
        guard let pps = try? H264PictureParameterSet(nalUnit: picture, chromaFormat: sps.chromaFormatIdc),
            let header = try? H264SliceHeader(nalUnit: slice, sps: sps, pps: pps)
        else { return 0 }
        precondition(header.start == start, "a header begins otherwise than its start")
        same(slice, try? header.written(sps: sps, pps: pps))
    }
    return 0
}

/// Fails unless the bits are those at the beginning of the unit.
private func same(_ unit: [UInt8], _ written: (bytes: [UInt8], bitCount: Int)?) {
    guard let written else { fatalError("a header was read and cannot be written") }
    let content = EmulationPrevention.removed(from: unit)
    precondition(written.bitCount <= written.bytes.count * 8 && written.bitCount <= content.count * 8)
    for bit in 0..<written.bitCount {
        let mask: UInt8 = 0x80 >> UInt8(bit % 8)
        precondition(written.bytes[bit / 8] & mask == content[bit / 8] & mask, "bit \(bit) of a header changed")
    }
}
