// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

@testable import BitstreamSyntax

/// Whole slice segment headers, against what FFmpeg's own parser of the syntax reads, and back to the same bits.
@Suite struct HEVCSliceHeaderTests {
    /// Light that comes and goes, for weights.
    private static let light = "-vf geq=lum='clip(lum(X,Y)*(0.6+0.4*sin(N/3)),16,235)':cb='cb(X,Y)':cr='cr(X,Y)'"

    private static let options = [
        "bframes=3:b-pyramid=1:ref=4:keyint=12:weightp=1:weightb=1",
        "bframes=4:open-gop=1:keyint=8:min-keyint=8:scenecut=0:radl=2",
        "bframes=0:ref=5:slices=2:ctu=16:deblock=-2,3:sao=0",
        "temporal-layers=1:bframes=3:b-adapt=0:multi-pass-opt-rps=1:pass=1:stats=FOLDER/x265.log",
        "opt-qp-pps=1:opt-ref-list-length-pps=1:ref=3:wpp=1:ctu=16",
        "no-deblock=1:tskip=1:constrained-intra=1:tmvp=0:max-merge=3:cbqpoffs=3",
    ]

    private static func stream(_ options: String) throws -> EncodedStream {
        let folder = try TemporaryFolder()
        let parameters = options.replacing("FOLDER", with: folder.url.path)
        let arguments = EncodedStream.encoding(
            "libx265",
            size: "128x72",
            frames: 30,
            "\(light) -x265-params \(parameters)"
        )
        return try EncodedStream(codec: .hevc, arguments, in: folder)
    }

    @Test(arguments: options) func elementsAndBitsAreThoseOfTheStream(options: String) throws {
        let stream = try Self.stream(options)
        var sps = HEVCSequenceParameterSet()
        var sets: [UInt32: HEVCPictureParameterSet] = [:]
        var count = 0
        for unit in stream.nalUnits {
            let header = try HEVCNALUnitHeader(nalUnit: unit)
            if header.nalUnitType == .sequenceParameterSet { sps = try HEVCSequenceParameterSet(nalUnit: unit) }
            if header.nalUnitType == .pictureParameterSet {
                let set = try HEVCPictureParameterSet(nalUnit: unit)
                sets[set.ppsPicParameterSetId] = set
            }
            guard header.isVideoCodingLayer else { continue }
            try #require(stream.tracedSlices.indices.contains(count))
            let bytes = EmulationPrevention.removed(from: unit)
            let pps = try #require(sets[0])
            var slice = HEVCSliceSegmentHeader()
            var tracer = SyntaxTracer(SyntaxReader(BitReader(bytes)))
            try slice.visit(&tracer, sps: sps, pps: pps)
            let lines = Set(tracer.elements.map(EncodedStream.line))
            #expect(lines.symmetricDifference(stream.tracedSlices[count]) == [])
            #expect(try HEVCSliceSegmentHeader(nalUnit: unit, sps: sps, pps: pps) == slice)

            let (written, bitCount) = try slice.written(sps: sps, pps: pps)
            #expect(bitCount == tracer.bitPosition && written.count * 8 == bitCount)
            #expect(written.elementsEqual(bytes.prefix(written.count)))
            count += 1
        }
        #expect(count == stream.tracedSlices.count && count >= 30)
    }

    /// The streams above have all of these, so that nothing is tested on nothing.
    @Test func theStreamsVary() throws {
        var names: Set<String> = []
        for options in Self.options {
            for line in try Self.stream(options).tracedSlices.flatMap({ $0 }) {
                names.formUnion(line.split(separator: " ").dropFirst().prefix(1).map { String($0) })
            }
        }
        for name in [
            "luma_offset_l0[0]", "slice_segment_address", "entry_point_offset_minus1[0]",
            "collocated_ref_idx", "used_by_curr_pic_s1_flag[0]", "slice_sao_chroma_flag",
            "short_term_ref_pic_set_sps_flag", "num_ref_idx_l1_active_minus1", "mvd_l1_zero_flag",
        ] {
            #expect(names.contains(name), "\(name)")
        }
    }

    private static let sps: HEVCSequenceParameterSet = {
        var sps = HEVCSequenceParameterSet()
        (sps.picWidthInLumaSamples, sps.picHeightInLumaSamples) = (640, 360)
        sps.log2MaxPicOrderCntLsbMinus4 = 4
        sps.longTermReferencePictures = [HEVCLongTermReferencePicture(), HEVCLongTermReferencePicture()]
        sps.shortTermReferencePictureSets = [
            HEVCShortTermReferencePictureSet(coding: .explicit(negative: [.init()], positive: [])),
            HEVCShortTermReferencePictureSet(coding: .explicit(negative: [.init(), .init()], positive: [.init()])),
        ]
        sps.sampleAdaptiveOffsetEnabledFlag = true
        sps.spsTemporalMvpEnabledFlag = true
        return sps
    }()

    private static let pps: HEVCPictureParameterSet = {
        var pps = HEVCPictureParameterSet()
        pps.dependentSliceSegmentsEnabledFlag = true
        pps.outputFlagPresentFlag = true
        pps.numExtraSliceHeaderBits = 2
        pps.cabacInitPresentFlag = true
        pps.ppsSliceChromaQpOffsetsPresentFlag = true
        pps.weightedPredFlag = true
        pps.ppsLoopFilterAcrossSlicesEnabledFlag = true
        pps.deblocking = HEVCDeblocking()
        pps.deblocking?.deblockingFilterOverrideEnabledFlag = true
        pps.listsModificationPresentFlag = true
        pps.sliceSegmentHeaderExtensionPresentFlag = true
        pps.extensions = HEVCPictureParameterSetExtensions()
        pps.extensions?.range = HEVCPictureParameterSetRangeExtension()
        pps.extensions?.range?.chromaQpOffsets = HEVCPictureParameterSetRangeExtension.ChromaQpOffsets()
        return pps
    }()

    private func roundTrip(_ header: HEVCSliceSegmentHeader) throws -> HEVCSliceSegmentHeader {
        let (bytes, _) = try header.written(sps: Self.sps, pps: Self.pps)
        let unit = EmulationPrevention.added(to: bytes + [0x80])
        return try HEVCSliceSegmentHeader(nalUnit: unit, sps: Self.sps, pps: Self.pps)
    }

    private func segment(
        _ kind: HEVCSliceSegmentHeader.Kind,
        _ type: HEVCNALUnitHeader.UnitType = .trailingReference
    ) -> HEVCSliceSegmentHeader {
        var header = HEVCSliceSegmentHeader()
        header.header.nalUnitType = type
        header.slice?.sliceType = kind
        header.slice?.sliceReservedFlags = [true, false]
        header.slice?.sliceLoopFilterAcrossSlicesEnabledFlag = false
        if header.header.isIDR { header.slice?.references = nil }
        if kind == .p {
            header.slice?.weights = HEVCPredictionWeights()
            header.slice?.weights?.list0 = [.init()]
            header.slice?.references?.shortTerm = .index(0)
        }
        return header
    }

    @Test func everythingThatEncodersSayComesBack() throws {
        var p = segment(.p)
        p.slice?.references?.slicePicOrderCntLsb = 77
        p.slice?.references?.shortTerm = .own(
            HEVCShortTermReferencePictureSet(
                coding: .predicted(
                    deltaRpsSign: true,
                    absDeltaRpsMinus1: 2,
                    [.init(), .init(usedByCurrPicFlag: false, useDeltaFlag: false)]
                )
            ),
            deltaIdxMinus1: 1
        )
        p.slice?.references?.longTermIndices = [.init()]
        p.slice?.references?.longTermIndices[0].ltIdxSps = 1
        p.slice?.references?.longTermPictures = [
            .init(pocLsbLt: 3, deltaPocMsbCycleLt: 5), .init(pocLsbLt: 255, usedByCurrPicLtFlag: false),
        ]
        p.slice?.activeReferences = .init()
        p.slice?.activeReferences?.numRefIdxL0ActiveMinus1 = 2
        p.slice?.listEntryL0 = [2, 0, 1]
        p.slice?.weights?.list0 = [.init(), .init(), .init()]
        p.slice?.weights?.list0[1].luma = .init()
        p.slice?.weights?.list0[1].luma?.deltaWeight = -128
        p.slice?.weights?.list0[2].chroma = [.init(), .init()]
        p.slice?.weights?.list0[2].chroma?[1].offset = 508
        p.slice?.sliceTemporalMvpEnabledFlag = true
        p.slice?.collocatedRefIdx = 2
        p.slice?.cabacInitFlag = true
        p.slice?.fiveMinusMaxNumMergeCand = 4
        p.slice?.sliceQpDelta = -26
        p.slice?.sliceCbQpOffset = -12
        p.slice?.sliceCrQpOffset = 12
        p.slice?.cuChromaQpOffsetEnabledFlag = true
        p.slice?.deblocking = .init()
        p.slice?.deblocking?.sliceTcOffsetDiv2 = 6
        p.extensionData = [0, 0, 3]
        #expect(try roundTrip(p) == p)

        var b = segment(.b, .skippedLeading)
        b.sliceSegmentAddress = 23
        b.slice?.references?.shortTerm = .index(1)
        b.slice?.listEntryL1 = [1]
        b.slice?.mvdL1ZeroFlag = true
        b.slice?.picOutputFlag = false
        b.slice?.sliceTemporalMvpEnabledFlag = true
        b.slice?.collocatedFromL0Flag = false
        b.slice?.deblocking = .init()
        b.slice?.deblocking?.sliceDeblockingFilterDisabledFlag = true
        b.slice?.sliceLoopFilterAcrossSlicesEnabledFlag = nil
        #expect(try roundTrip(b) == b)
        b.slice?.sliceSaoLumaFlag = true
        b.slice?.sliceLoopFilterAcrossSlicesEnabledFlag = true
        #expect(try roundTrip(b) == b)

        var idr = segment(.i, .idrWithoutLeadingPictures)
        idr.noOutputOfPriorPicsFlag = true
        #expect(try roundTrip(idr) == idr)

        var dependent = HEVCSliceSegmentHeader()
        dependent.slice = nil
        (dependent.dependentSliceSegmentFlag, dependent.sliceSegmentAddress) = (true, 1)
        #expect(try roundTrip(dependent) == dependent)
    }

    @Test func whatContradictsIsRefused() throws {
        func refuses(
            _ what: String,
            _ base: HEVCSliceSegmentHeader,
            _ change: (inout HEVCSliceSegmentHeader) -> Void
        ) {
            #expect(throws: Never.self, "\(what)") { try base.written(sps: Self.sps, pps: Self.pps) }
            var header = base
            change(&header)
            #expect(throws: BitstreamError.self, "\(what)") { try header.written(sps: Self.sps, pps: Self.pps) }
        }
        let idr = segment(.i, .idrWithRADL)
        refuses("references of an IDR picture", idr) { $0.slice?.references = HEVCSliceReferencePictureSet() }
        refuses("no references of another", segment(.i)) { $0.slice?.references = nil }
        refuses("a P slice of a CRA picture", segment(.i, .cleanRandomAccess)) { $0.slice?.sliceType = .p }
        refuses("prior pictures of a trailing one", segment(.i)) { $0.noOutputOfPriorPicsFlag = true }
        refuses("list 1 of a P slice", segment(.p)) { $0.slice?.listEntryL1 = [0] }
        refuses("entries for one picture", segment(.p)) { $0.slice?.listEntryL0 = [0] }
        refuses("lists of an I slice", segment(.i)) { $0.slice?.activeReferences = .init() }
        refuses("weights of an I slice", segment(.i)) { $0.slice?.weights = HEVCPredictionWeights() }
        refuses("too few weights", segment(.p)) { $0.slice?.weights?.list0 = [] }
        refuses("a quantizer above 51", segment(.i)) { $0.slice?.sliceQpDelta = 26 }
        refuses("a quantizer below 0", segment(.i)) { $0.slice?.sliceQpDelta = -27 }
        refuses("a set that is not there", segment(.p)) { $0.slice?.references?.shortTerm = .index(2) }
        refuses("a count of nine bits", segment(.i)) { $0.slice?.references?.slicePicOrderCntLsb = 256 }
        refuses("an address behind the end", segment(.i)) { $0.sliceSegmentAddress = UInt32(Self.sps.ctbCount) }
        refuses("a first segment that depends", segment(.i)) { $0.dependentSliceSegmentFlag = true }
        refuses("a slice without its header", segment(.i)) { $0.slice = nil }
        refuses("entry points without wavefronts", segment(.i)) { $0.entryPoints.offsetsMinus1 = [1] }
        refuses("offsets without the filter", segment(.i)) {
            $0.slice?.deblocking = .init()
            $0.slice?.deblocking?.sliceDeblockingFilterDisabledFlag = true
            $0.slice?.sliceLoopFilterAcrossSlicesEnabledFlag = nil
            $0.slice?.deblocking?.sliceBetaOffsetDiv2 = 1
        }
    }

    /// Damaged headers are errors or other headers, never more.
    @Test func damageDoesNoHarm() throws {
        var random = SeededGenerator(seed: 12)
        let bytes = try segment(.p).written(sps: Self.sps, pps: Self.pps).bytes + Array(repeating: 0xA5, count: 40)
        for _ in 0..<20_000 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                damaged[Int.random(in: 0..<16, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            damaged = Array(damaged.prefix(Int.random(in: 0...damaged.count, using: &random)))
            let unit = EmulationPrevention.added(to: damaged)
            guard let read = try? HEVCSliceSegmentHeader(nalUnit: unit, sps: Self.sps, pps: Self.pps) else { continue }
            #expect(throws: Never.self) { try read.written(sps: Self.sps, pps: Self.pps) }
        }
    }
}
