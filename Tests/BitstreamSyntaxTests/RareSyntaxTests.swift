// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import BitstreamSyntax

/// What the encoders of the other tests never write, but a stream may have: it comes back, and takes as many bits as
/// its clause says.
@Suite struct RareSyntaxTests {
    private typealias Change<Value> = (inout Value) -> Void

    // MARK: - H.264

    /// Writes a slice header with and without a change of its parameter sets and itself, reads the changed one back,
    /// and returns how many bits more it takes.
    private func bitsOfH264(
        _ kind: H264SliceHeaderStart.Kind = .p,
        sps changeSPS: Change<H264SequenceParameterSet> = { _ in },
        pps changePPS: Change<H264PictureParameterSet> = { _ in },
        slice changeSlice: Change<H264SliceHeader> = { _ in }
    ) throws -> Int {
        var (sps, pps, slice) = (H264SequenceParameterSet(), H264PictureParameterSet(), H264SliceHeader())
        slice.start.header = H264NALUnitHeader(nalRefIdc: 0, nalUnitType: .slice)
        slice.start.sliceType = kind.rawValue
        slice.start.picOrderCntLsb = 0
        let before = try slice.written(sps: sps, pps: pps).bitCount
        changeSPS(&sps)
        changePPS(&pps)
        changeSlice(&slice)
        let (bytes, count) = try slice.written(sps: sps, pps: pps)
        let unit = EmulationPrevention.added(to: bytes + [0x80])
        #expect(try H264SliceHeader(nalUnit: unit, sps: sps, pps: pps) == slice)
        return count - before
    }

    @Test func aPlaneOfItsOwnHasANumber() throws {
        let bits = try bitsOfH264(sps: { $0.separateColourPlaneFlag = true }, slice: { $0.start.colourPlaneId = 2 })
        #expect(bits == 2)
    }

    @Test func aRedundantPictureSaysSo() throws {
        // ue(v) of 127.
        let bits = try bitsOfH264(pps: { $0.redundantPicCntPresentFlag = true }, slice: { $0.redundantPicCnt = 127 })
        #expect(bits == 15)
    }

    /// The order of type 1 has one difference for a frame, two where the bottom field may have its own, and none where
    /// they are always zero.
    @Test func anOrderThatIsACycleHasDifferences() throws {
        let lsb = -4
        for (hasBottom, isZero, bits) in [(false, false, 3), (true, false, 3 + 5), (true, true, 0)] {
            let found = try bitsOfH264(
                sps: {
                    $0.picOrderCntType = 1
                    $0.picOrderCntCycle.deltaPicOrderAlwaysZeroFlag = isZero
                },
                pps: { $0.bottomFieldPicOrderInFramePresentFlag = hasBottom },
                slice: {
                    $0.start.picOrderCntLsb = nil
                    $0.deltaPicOrderCnt = isZero ? [0, 0] : hasBottom ? [1, -2] : [1, 0]
                }
            )
            #expect(found == bits + lsb, "\(hasBottom), \(isZero)")
        }
    }

    /// The cycle takes Ceil(Log2(PicSizeInMapUnits / SliceGroupChangeRate + 1)) bits, formula 7-35.
    @Test func sliceGroupsThatChangeHaveACycle() throws {
        let sps: Change<H264SequenceParameterSet> = {
            ($0.picWidthInMbsMinus1, $0.picHeightInMapUnitsMinus1) = (9, 9)
        }
        for (rate, bits, last) in [(UInt32(1), 7, UInt32(100)), (3, 6, 34), (100, 1, 1)] {
            let map = H264SliceGroups.Map.changing(type: 4, directionFlag: true, rateMinus1: rate - 1)
            let pps: Change<H264PictureParameterSet> = {
                $0.sliceGroups = H264SliceGroups(numSliceGroupsMinus1: 1, map: map)
            }
            #expect(try bitsOfH264(sps: sps, pps: pps, slice: { $0.sliceGroupChangeCycle = last }) == bits)
            #expect(throws: BitstreamError.self) {
                try bitsOfH264(sps: sps, pps: pps, slice: { $0.sliceGroupChangeCycle = last + 1 })
            }
        }
    }

    @Test func weightsOfMonochromePicturesAreOfLuma() throws {
        var weights = H264PredictionWeights()
        weights.lists = [[.init()]]
        weights.lists[0][0].luma = .init()
        // The denominator, a flag, a weight and an offset of zero each.
        let change: Change<H264SliceHeader> = { $0.weights = weights }
        let monochrome: Change<H264SequenceParameterSet> = { $0.chromaFormatIdc = .monochrome }
        #expect(try bitsOfH264(sps: monochrome, pps: { $0.weightedPredFlag = true }, slice: change) == 4)
        // A denominator and a flag for chroma.
        #expect(try bitsOfH264(pps: { $0.weightedPredFlag = true }, slice: change) == 6)
        weights.chromaLog2WeightDenom = 1
        #expect(throws: BitstreamError.self) {
            try bitsOfH264(sps: monochrome, pps: { $0.weightedPredFlag = true }, slice: { $0.weights = weights })
        }
    }

    /// Slices that switch between streams have a quantizer of their own, and those of SP pictures a flag.
    @Test func slicesThatSwitchHaveAQuantizer() throws {
        let change: Change<H264SliceHeader> = { $0.sliceQsDelta = -26 }
        // se(v) of -26.
        #expect(try bitsOfH264(.si, slice: change) - bitsOfH264(.si) == 11 - 1)
        #expect(try bitsOfH264(.sp, slice: { $0.spForSwitchFlag = true }) == bitsOfH264(.sp))
        #expect(throws: BitstreamError.self) { try bitsOfH264(.p, slice: { $0.spForSwitchFlag = true }) }
    }

    // MARK: - HEVC

    private func bitsOfHEVC(
        sps changeSPS: Change<HEVCSequenceParameterSet> = { _ in },
        pps changePPS: Change<HEVCPictureParameterSet> = { _ in },
        slice change: Change<HEVCSliceSegmentHeader> = { _ in }
    ) throws -> Int {
        var (sps, pps, slice) = (HEVCSequenceParameterSet(), HEVCPictureParameterSet(), HEVCSliceSegmentHeader())
        (sps.picWidthInLumaSamples, sps.picHeightInLumaSamples) = (640, 360)
        sps.shortTermReferencePictureSets = [.init(coding: .explicit(negative: [.init()], positive: []))]
        slice.header.nalUnitType = .trailingReference
        slice.slice?.sliceType = .p
        slice.slice?.references?.shortTerm = .index(0)
        changeSPS(&sps)
        changePPS(&pps)
        change(&slice)
        let (bytes, _) = try slice.written(sps: sps, pps: pps)
        let unit = EmulationPrevention.added(to: bytes + [0x80])
        #expect(try HEVCSliceSegmentHeader(nalUnit: unit, sps: sps, pps: pps) == slice)
        // Headers end on a byte: what the elements take is counted by reading them.
        var tracer = SyntaxTracer(SyntaxReader(BitReader(bytes)))
        var read = HEVCSliceSegmentHeader()
        try read.visit(&tracer, sps: sps, pps: pps)
        return tracer.elements.filter { !$0.name.contains("alignment") }.reduce(0) { $0 + $1.bitCount }
    }

    @Test func aPlaneOfItsOwnHasANumberInHEVC() throws {
        let bits = try bitsOfHEVC(
            sps: { $0.separateColourPlaneFlag = true },
            slice: { $0.slice?.colourPlaneId = 1 }
        )
        #expect(try bits - bitsOfHEVC() == 2)
    }

    @Test func weightsOfMonochromePicturesAreOfLumaInHEVC() throws {
        var weights = HEVCPredictionWeights()
        weights.list0 = [.init()]
        let change: Change<HEVCSliceSegmentHeader> = { $0.slice?.weights = weights }
        let pps: Change<HEVCPictureParameterSet> = { $0.weightedPredFlag = true }
        let plain = try bitsOfHEVC()
        #expect(try bitsOfHEVC(sps: { $0.chromaFormatIdc = .monochrome }, pps: pps, slice: change) - plain == 2)
        #expect(try bitsOfHEVC(pps: pps, slice: change) - plain == 4)
        weights.list0[0].chroma = [.init(), .init()]
        #expect(throws: BitstreamError.self) {
            try bitsOfHEVC(sps: { $0.chromaFormatIdc = .monochrome }, pps: pps, slice: { $0.slice?.weights = weights })
        }
    }

    /// One set of long-term pictures needs no index, none needs no count.
    @Test(arguments: 0...2) func longTermPicturesOfTheSequence(known: Int) throws {
        let found = try bitsOfHEVC(
            sps: { $0.longTermReferencePictures = Array(repeating: .init(), count: known) },
            // A count of one takes three bits, of at least none one; each picture has a flag for its cycle.
            slice: { $0.slice?.references?.longTermIndices = known > 1 ? [.init()] : [] }
        )
        #expect(try found - bitsOfHEVC() == (known > 1 ? 1 + 3 + 1 + 1 : known == 1 ? 1 + 1 : 1))
        if known == 1 {
            let single = try bitsOfHEVC(
                sps: { $0.longTermReferencePictures = [.init()] },
                slice: { $0.slice?.references?.longTermIndices = [.init()] }
            )
            #expect(single - found == 2 + 1)
        }
    }

    /// What `hvcC` says of tiles and wavefronts where the stream promises a least segment: ISO/IEC 14496-15, 8.3.3.1.
    @Test(arguments: [(true, true, UInt32(0)), (false, false, 1), (true, false, 2), (false, true, 3)])
    func parallelDecodingIsToldByItsKind(tiles: Bool, wavefronts: Bool, type: UInt32) throws {
        var (sps, pps) = (HEVCSequenceParameterSet(), HEVCPictureParameterSet())
        (sps.picWidthInLumaSamples, sps.picHeightInLumaSamples) = (640, 360)
        sps.vui = HEVCVideoUsability()
        sps.vui?.bitstreamRestriction = .init()
        sps.vui?.bitstreamRestriction?.minSpatialSegmentationIdc = 12
        if tiles {
            pps.tiles = HEVCTiles()
            pps.tiles?.numTileColumnsMinus1 = 1
        }
        pps.entropyCodingSyncEnabledFlag = wavefronts
        let units = [try sps.nalUnit(), try pps.nalUnit()]
        let record = try HEVCDecoderConfigurationRecord(nalUnits: units, isComplete: true)
        #expect(record.parallelismType == type && record.minSpatialSegmentationIdc == 12)
        #expect(try HEVCDecoderConfigurationRecord(bytes: record.bytes()) == record)
        // Without the promise nothing is known of it.
        sps.vui?.bitstreamRestriction?.minSpatialSegmentationIdc = 0
        let silent = [try sps.nalUnit(), try pps.nalUnit()]
        #expect(try HEVCDecoderConfigurationRecord(nalUnits: silent, isComplete: true).parallelismType == 0)
    }

    /// Blocks without a transform have no size where the set does not allow them.
    @Test func aSizeNeedsWhatItIsOf() throws {
        var pps = HEVCPictureParameterSet()
        pps.extensions = .init()
        pps.extensions?.range = .init()
        #expect(try HEVCPictureParameterSet(nalUnit: pps.nalUnit()) == pps)
        pps.extensions?.range?.log2MaxTransformSkipBlockSizeMinus2 = 1
        #expect(throws: BitstreamError.self) { try pps.nalUnit() }
        pps.transformSkipEnabledFlag = true
        #expect(try HEVCPictureParameterSet(nalUnit: pps.nalUnit()) == pps)
    }
}
