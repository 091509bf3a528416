// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import BitstreamSyntax

/// Whole slice headers, against what FFmpeg's own parser of the syntax reads, and back to the same bits.
@Suite struct H264WholeSliceHeaderTests {
    @Test(arguments: [
        "-g 12 -bf 3 -refs 4 -x264-params b-pyramid=normal:weightp=2",
        "-g 12 -bf 3 -refs 4 -x264-params b-pyramid=strict:weightb=1:slices=2:direct=temporal",
        "-g 30 -bf 0 -refs 1 -coder 0 -x264-params weightp=1:no-deblock=1:fake-interlaced=1",
        "-flags +ildct+ilme -bf 2 -x264-params tff=1:b-pyramid=normal -g 9",
        "-profile:v baseline -x264-params slices=3",
        "-x264-params deblock=-2,3:cabac=1:b-pyramid=normal:open-gop=1:bframes=5 -g 8",
    ]) func elementsAndBitsAreThoseOfTheStream(options: String) throws {
        // Light that comes and goes, for weights.
        let light = "-vf geq=lum='clip(lum(X,Y)*(0.6+0.4*sin(N/3)),16,235)':cb='cb(X,Y)':cr='cr(X,Y)'"
        let arguments = EncodedStream.encoding("libx264", frames: 30, "\(light) \(options)")
        let stream = try EncodedStream(codec: .h264, arguments, in: TemporaryFolder())
        var sps = H264SequenceParameterSet()
        var pps = H264PictureParameterSet()
        var count = 0
        for unit in stream.nalUnits {
            let header = try H264NALUnitHeader(nalUnit: unit)
            if header.nalUnitType == .sequenceParameterSet { sps = try H264SequenceParameterSet(nalUnit: unit) }
            if header.nalUnitType == .pictureParameterSet { pps = try H264PictureParameterSet(nalUnit: unit) }
            guard header.isVideoCodingLayer else { continue }
            try #require(stream.tracedSlices.indices.contains(count))
            let bytes = EmulationPrevention.removed(from: unit)
            var slice = H264SliceHeader()
            var tracer = SyntaxTracer(SyntaxReader(BitReader(bytes)))
            try slice.visit(&tracer, sps: sps, pps: pps)
            let expected = stream.tracedSlices[count].filter { !$0.contains("cabac_alignment") }
            #expect(Set(tracer.elements.map(EncodedStream.line)).symmetricDifference(expected) == [])
            #expect(try H264SliceHeader(nalUnit: unit, sps: sps, pps: pps) == slice)

            let (written, bitCount) = try slice.written(sps: sps, pps: pps)
            #expect(bitCount == tracer.bitPosition && written.count == (bitCount + 7) / 8)
            #expect(written.dropLast().elementsEqual(bytes.prefix(written.count - 1)))
            let mask = UInt8(truncatingIfNeeded: 0xFF00 >> ((bitCount - 1) % 8 + 1))
            #expect(written.last == bytes[written.count - 1] & mask)
            count += 1
        }
        #expect(count == stream.tracedSlices.count && count >= 30)
    }

    /// The streams above have all of these, so that nothing is tested on nothing.
    @Test func theStreamsVary() throws {
        let options = "-g 12 -bf 3 -refs 4 -x264-params b-pyramid=normal:weightp=2"
        let light = "-vf geq=lum='clip(lum(X,Y)*(0.6+0.4*sin(N/3)),16,235)':cb='cb(X,Y)':cr='cr(X,Y)'"
        let arguments = EncodedStream.encoding("libx264", frames: 30, "\(light) \(options)")
        let names = Set(
            try EncodedStream(codec: .h264, arguments, in: TemporaryFolder()).tracedSlices.flatMap { $0 }
                .compactMap { $0.split(separator: " ").dropFirst().first.map { String($0) } }
        )
        for name in ["abs_diff_pic_num_minus1", "difference_of_pic_nums_minus1", "luma_weight_l0[0]"] {
            #expect(names.contains(name), "\(name)")
        }
    }

    private let sps: H264SequenceParameterSet = {
        var sps = H264SequenceParameterSet()
        sps.log2MaxFrameNumMinus4 = 4
        sps.log2MaxPicOrderCntLsbMinus4 = 4
        return sps
    }()

    private let pps: H264PictureParameterSet = {
        var pps = H264PictureParameterSet()
        pps.entropyCodingModeFlag = true
        pps.deblockingFilterControlPresentFlag = true
        return pps
    }()

    private func roundTrip(_ header: H264SliceHeader) throws -> H264SliceHeader {
        let (bytes, _) = try header.written(sps: sps, pps: pps)
        return try H264SliceHeader(nalUnit: EmulationPrevention.added(to: bytes + [0x80]), sps: sps, pps: pps)
    }

    private func slice(_ kind: H264SliceHeaderStart.Kind, isReference: Bool = true) -> H264SliceHeader {
        var header = H264SliceHeader()
        header.start.header = H264NALUnitHeader(nalRefIdc: isReference ? 1 : 0, nalUnitType: .slice)
        header.start.sliceType = kind.rawValue + 5
        header.start.picOrderCntLsb = 4
        if isReference { header.marking = .slidingWindow }
        return header
    }

    @Test func everythingThatEncodersSayComesBack() throws {
        var p = slice(.p)
        p.start.frameNum = 7
        p.activeReferences = H264ActiveReferences()
        p.activeReferences?.numRefIdxL0ActiveMinus1 = 2
        p.list0Modification = [.longTerm(picNum: 3), .back(absDiffPicNumMinus1: 1), .forward(absDiffPicNumMinus1: 0)]
        p.marking = .adaptive([
            .forgetShortTerm(differenceOfPicNumsMinus1: 2), .forgetLongTerm(longTermPicNum: 1),
            .makeLongTerm(differenceOfPicNumsMinus1: 0, longTermFrameIdx: 2),
            .limitLongTerm(maxLongTermFrameIdxPlus1: 4), .makeCurrentLongTerm(longTermFrameIdx: 3),
        ])
        p.cabacInitIdc = 2
        p.sliceQpDelta = -26
        p.disableDeblockingFilterIdc = 2
        p.sliceAlphaC0OffsetDiv2 = -6
        #expect(try roundTrip(p) == p)

        var b = slice(.b, isReference: false)
        b.directSpatialMvPredFlag = false
        b.list1Modification = []
        b.sliceQpDelta = 25
        #expect(try roundTrip(b) == b)

        var idr = slice(.i)
        idr.start.header.nalUnitType = .idrSlice
        idr.start.idrPicId = 65535
        idr.marking = .idr(longTermReferenceFlag: true)
        #expect(try roundTrip(idr) == idr)
    }

    @Test func whatContradictsIsRefused() throws {
        func refuses(_ what: String, _ base: H264SliceHeader, _ change: (inout H264SliceHeader) -> Void) {
            var header = base
            change(&header)
            #expect(throws: BitstreamError.self, "\(what)") { try header.written(sps: sps, pps: pps) }
        }
        refuses("an IDR number of another picture", slice(.p)) { $0.start.idrPicId = 0 }
        refuses("the marking of an IDR picture", slice(.p)) { $0.marking = .idr() }
        refuses("marking without a reference", slice(.p, isReference: false)) { $0.marking = .slidingWindow }
        refuses("list 1 of a P slice", slice(.p)) { $0.list1Modification = [] }
        refuses("list 0 of an I slice", slice(.i)) { $0.list0Modification = [] }
        refuses("weights", slice(.p)) { $0.weights = H264PredictionWeights() }
        refuses("a quantizer above 51", slice(.p)) { $0.sliceQpDelta = 26 }
        refuses("a quantizer below 0", slice(.p)) { $0.sliceQpDelta = -27 }
        refuses("CABAC of an I slice", slice(.i)) { $0.cabacInitIdc = 1 }
        refuses("offsets without the filter", slice(.p)) {
            $0.disableDeblockingFilterIdc = 1
            $0.sliceBetaOffsetDiv2 = 1
        }
        refuses("a frame number of nine bits", slice(.p)) { $0.start.frameNum = 256 }
        refuses("endless modifications", slice(.p)) {
            $0.list0Modification = Array(repeating: .back(absDiffPicNumMinus1: 0), count: 67)
        }
    }

    /// Damaged headers are errors or other headers, never more.
    @Test func damageDoesNoHarm() throws {
        var random = SeededGenerator(seed: 11)
        var header = slice(.b)
        header.list0Modification = [.back(absDiffPicNumMinus1: 4)]
        header.marking = .adaptive([.forgetShortTerm(differenceOfPicNumsMinus1: 2)])
        let bytes = try header.written(sps: sps, pps: pps).bytes + Array(repeating: 0xA5, count: 40)
        for _ in 0..<20_000 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                damaged[Int.random(in: 0..<16, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            damaged = Array(damaged.prefix(Int.random(in: 0...damaged.count, using: &random)))
            guard let read = try? H264SliceHeader(nalUnit: EmulationPrevention.added(to: damaged), sps: sps, pps: pps)
            else { continue }
            #expect(throws: Never.self) { try read.written(sps: sps, pps: pps) }
        }
    }
}
