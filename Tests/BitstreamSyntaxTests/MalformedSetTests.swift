// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import BitstreamSyntax

/// Damaged parameter sets give a typed error or a set that can be written again; nothing traps or runs away.
@Suite struct MalformedSetTests {
    @Test(arguments: [
        "-pix_fmt yuv444p -x264-params cqm=jvt:sps-id=3",
        "-vf setparams=color_primaries=bt2020,setsar=9/7 -b:v 500k -x264-params nal-hrd=cbr:vbv-maxrate=500:vbv-bufsize=500",
        "-flags +ildct+ilme -x264-params tff=1 -profile:v main",
    ]) func h264(options: String) throws {
        let stream = try EncodedStream(
            codec: .h264,
            EncodedStream.encoding("libx264", size: "102x52", frames: 1, options),
            in: TemporaryFolder()
        )
        for unit in stream.nalUnits where try H264NALUnitHeader(nalUnit: unit).isParameterSet {
            try damage(unit) { unit throws(BitstreamError) in try H264SequenceParameterSet(nalUnit: unit) }
            try damage(unit) { unit throws(BitstreamError) in
                try H264PictureParameterSet(nalUnit: unit, chromaFormat: .yuv444)
            }
        }
    }

    @Test(arguments: [
        "-pix_fmt yuv420p -x265-params hrd=1:vbv-maxrate=500:vbv-bufsize=500:temporal-layers=1:b-adapt=0:bframes=3",
        "-pix_fmt yuv444p12le -x265-params display-window=2,2,4,4:sar=117\\:113:videoformat=1:chromaloc=2",
    ]) func hevc(options: String) throws {
        let stream = try EncodedStream(
            codec: .hevc,
            EncodedStream.encoding("libx265", size: "102x52", frames: 1, options),
            in: TemporaryFolder()
        )
        for unit in stream.nalUnits where try HEVCNALUnitHeader(nalUnit: unit).isParameterSet {
            try damage(unit) { unit throws(BitstreamError) in try HEVCVideoParameterSet(nalUnit: unit) }
            try damage(unit) { unit throws(BitstreamError) in try HEVCSequenceParameterSet(nalUnit: unit) }
            try damage(unit) { unit throws(BitstreamError) in try HEVCPictureParameterSet(nalUnit: unit) }
        }
    }

    @Test(arguments: 0..<8) func noise(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let noise = random.zeroHeavyBytes(upTo: 80) + [0x80]
            try survive([0x67] + noise) { unit throws(BitstreamError) in try H264SequenceParameterSet(nalUnit: unit) }
            try survive([0x68] + noise) { unit throws(BitstreamError) in try H264PictureParameterSet(nalUnit: unit) }
            try survive([0x40, 1] + noise) { unit throws(BitstreamError) in try HEVCVideoParameterSet(nalUnit: unit) }
            try survive([0x42, 1] + noise) { unit throws(BitstreamError) in try HEVCSequenceParameterSet(nalUnit: unit)
            }
            try survive([0x44, 1] + noise) { unit throws(BitstreamError) in try HEVCPictureParameterSet(nalUnit: unit) }
        }
    }

    @Test func aTruncatedSetSaysWhere() throws {
        let stream = try EncodedStream(
            codec: .h264,
            EncodedStream.encoding("libx264", frames: 1, ""),
            in: TemporaryFolder()
        )
        let sps = try #require(try stream.nalUnits.first { try H264NALUnitHeader(nalUnit: $0).isParameterSet })
        #expect(throws: BitstreamError(field: "level_idc", bitPosition: 24, reason: .truncated)) {
            try H264SequenceParameterSet(nalUnit: sps.prefix(3))
        }
        for count in sps.indices {
            #expect(throws: BitstreamError.self) { try H264SequenceParameterSet(nalUnit: sps.prefix(count)) }
        }
    }

    /// Cuts `unit` at every byte and turns every bit of it.
    private func damage(
        _ unit: [UInt8],
        _ parse: ([UInt8]) throws(BitstreamError) -> some SyntaxStructure & Equatable
    ) throws {
        for count in unit.indices { try survive(Array(unit.prefix(count)), parse) }
        for bit in 0..<unit.count * 8 {
            var damaged = unit
            damaged[bit / 8] ^= 0x80 >> UInt8(bit % 8)
            try survive(damaged, parse)
        }
    }

    /// What can be read is written as it was, but for what no writer writes: zeros after the end and emulation
    /// prevention that prevents nothing.
    private func survive<Structure: SyntaxStructure & Equatable>(
        _ unit: [UInt8],
        _ parse: ([UInt8]) throws(BitstreamError) -> Structure
    ) throws {
        let structure: Structure
        do {
            structure = try parse(unit)
        } catch {
            #expect(!error.field.isEmpty && (0...unit.count * 8).contains(error.bitPosition))
            return
        }
        var expected = EmulationPrevention.removed(from: unit)
        while expected.last == 0 { expected.removeLast() }
        let written = try structure.written()
        #expect(EmulationPrevention.removed(from: written) == expected)
        #expect(try parse(written) == structure)
        #expect(try structure.traced().last?.name == "rbsp_stop_one_bit")
    }
}
