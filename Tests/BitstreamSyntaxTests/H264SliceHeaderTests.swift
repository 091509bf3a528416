// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import BitstreamSyntax

@Suite struct H264SliceHeaderTests {
    @Test(arguments: [
        "-g 5 -bf 2",
        "-flags +ildct+ilme -x264-params tff=1 -g 4",
        "-profile:v baseline -x264-params slices=3",
    ]) func elementsAreThoseOfFFmpeg(options: String) throws {
        let arguments = EncodedStream.encoding("libx264", frames: 12, options)
        let stream = try EncodedStream(codec: .h264, arguments, in: TemporaryFolder())
        var sps = H264SequenceParameterSet()
        var slices: [H264SliceHeaderStart] = []
        for unit in stream.nalUnits {
            let header = try H264NALUnitHeader(nalUnit: unit)
            if header.nalUnitType == .sequenceParameterSet { sps = try H264SequenceParameterSet(nalUnit: unit) }
            guard header.isVideoCodingLayer else { continue }
            try #require(stream.tracedSlices.indices.contains(slices.count))
            var slice = try H264SliceHeaderStart(nalUnit: unit, sps: sps)
            var tracer = SyntaxTracer(SyntaxReader(BitReader(EmulationPrevention.removed(from: unit))))
            try slice.visit(&tracer, sps: sps)
            let missing = Set(tracer.elements.map(EncodedStream.line)).subtracting(stream.tracedSlices[slices.count])
            #expect(missing == [])
            slices.append(slice)
        }
        #expect(slices.count == stream.tracedSlices.count)
        #expect(slices.first?.idrPicId != nil && slices.first?.kind == .i)
        #expect(slices.contains { $0.kind == .p && $0.idrPicId == nil })
    }

    @Test func refusesWhatIsNoSlice() {
        let sps = H264SequenceParameterSet()
        #expect(throws: BitstreamError.self) { try H264SliceHeaderStart(nalUnit: [0x67, 0x80], sps: sps) }
        #expect(throws: BitstreamError.self) { try H264SliceHeaderStart(nalUnit: [0x63, 0x80], sps: sps) }
        #expect(throws: BitstreamError(field: "slice_type", bitPosition: 9, reason: .truncated)) {
            try H264SliceHeaderStart(nalUnit: [0x65, 0x80], sps: sps)
        }
    }
}
