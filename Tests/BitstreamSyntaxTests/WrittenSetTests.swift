// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import BitstreamSyntax

/// Sets with elements that no encoder at hand writes: FFmpeg must read in them what was put in.
@Suite struct WrittenSetTests {
    @Test func h264() throws {
        var sps = H264SequenceParameterSet()
        sps.profileIdc = 88
        sps.levelIdc = 30
        sps.picWidthInMbsMinus1 = 3
        sps.picHeightInMapUnitsMinus1 = 2
        sps.picOrderCntType = 1
        sps.picOrderCntCycle.offsetForNonRefPic = -3
        sps.picOrderCntCycle.offsetForRefFrame = [2, -1, 70000]
        try sps.setDisplaySize(PictureSize(width: 50, height: 46))
        sps.vui = H264VideoUsability()
        sps.vui?.timing = .init(numUnitsInTick: 1, timeScale: 60, fixedFrameRateFlag: true)
        sps.vui?.vclHRD = H264ReferenceDecoder()
        sps.vui?.vclHRD?.schedules = Array(repeating: .init(), count: 3)
        sps.vui?.vclHRD?.schedules[1].bitRateValueMinus1 = .max - 1
        sps.vui?.signal.chromaLocation = .init()
        sps.vui?.signal.overscanAppropriateFlag = true
        #expect(sps.displaySize == PictureSize(width: 50, height: 46))
        #expect(sps.vui?.vclHRD?.bitRate(ofSchedule: 1) == Int(UInt32.max) << 6)
        let maps: [H264SliceGroups.Map] = [
            .interleaved(runLengthMinus1: [3, 1, 0]), .dispersed, .foreground([.init(), .init()]),
            .changing(type: 4, directionFlag: true, rateMinus1: 2), .explicit([0, 1, 2, 2, 1, 0, 0, 0, 1, 1, 2, 2]),
        ]
        let sets = try maps.enumerated().map { index, map in
            var pps = H264PictureParameterSet()
            pps.picParameterSetId = UInt32(index)
            pps.sliceGroups = H264SliceGroups(numSliceGroupsMinus1: 2, map: map)
            pps.picInitQpMinus26 = -20
            #expect(try H264PictureParameterSet(nalUnit: pps.nalUnit()) == pps)
            return (try pps.nalUnit(), try pps.trace())
        }
        #expect(try H264SequenceParameterSet(nalUnit: sps.nalUnit()) == sps)
        try check([(sps.nalUnit(), sps.trace())] + sets, codec: .h264)
    }

    @Test func hevc() throws {
        let vps = try layeredVPS()
        let sps = try richSPS()
        let pps = try richPPS()
        #expect(try HEVCVideoParameterSet(nalUnit: vps.nalUnit()) == vps)
        #expect(try HEVCSequenceParameterSet(nalUnit: sps.nalUnit()) == sps)
        #expect(try HEVCPictureParameterSet(nalUnit: pps.nalUnit()) == pps)
        let plain = HEVCVideoParameterSet()
        // FFmpeg takes no VPS without an SPS after it.
        try check([(vps.nalUnit(), vps.trace())], codec: .hevc, before: [sps.nalUnit(), pps.nalUnit()])
        try check(
            [(plain.nalUnit(), plain.trace()), (sps.nalUnit(), sps.trace()), (pps.nalUnit(), pps.trace())],
            codec: .hevc
        )
    }

    /// FFmpeg 5.1 does not take the common part over, so only what is written can tell.
    @Test func decodersTakeOverTheCommonPart() throws {
        var vps = try layeredVPS()
        let full = try vps.nalUnit()
        vps.decoders[1].decoder.common = nil
        let short = try vps.nalUnit()
        #expect(short.count < full.count)
        #expect(try HEVCVideoParameterSet(nalUnit: short) == vps)
        vps.decoders[0].decoder.common = nil
        #expect(throws: BitstreamError.self) { try vps.nalUnit() }
    }

    /// The example of a set predicted from another: HEVC 7.4.8.
    @Test func predictedReferencePictures() {
        typealias Sets = HEVCShortTermReferencePictureSet
        let first = Sets(coding: .explicit(negative: [.init(), .init(deltaPocMinus1: 1)], positive: [.init()]))
        #expect(first.references().map(\.deltaPoc) == [-1, -3, 1])
        let second = Sets(
            coding: .predicted(
                deltaRpsSign: true,
                absDeltaRpsMinus1: 0,
                [
                    .init(), .init(usedByCurrPicFlag: false, useDeltaFlag: false), .init(),
                    .init(usedByCurrPicFlag: false),
                ]
            )
        )
        // -1, -3, 1 and the shift itself, moved by -1: -2, (-4 dropped), 0 is the picture itself, -1.
        #expect(second.references(after: first.references()).map(\.deltaPoc) == [-1, -2])
        #expect(second.references(after: first.references()).map(\.isUsed) == [false, true])
    }

    @Test func writersRefuseWhatWouldBeLost() throws {
        var sps = H264SequenceParameterSet()
        sps.profileIdc = 77
        sps.bitDepthLumaMinus8 = 2
        #expect(
            throws: BitstreamError(
                field: "bit_depth_luma_minus8",
                bitPosition: 33,
                reason: .outOfRange(value: 2, allowed: 0...0)
            )
        ) { try sps.nalUnit() }
        #expect(throws: BitstreamError.self) { try sps.setDisplaySize(PictureSize(width: 15, height: 16)) }
        #expect(throws: BitstreamError.self) { try sps.setDisplaySize(PictureSize(width: 32, height: 16)) }
        var hevc = HEVCSequenceParameterSet()
        hevc.conformanceWindow = WindowOffsets(left: 2, right: 2)
        #expect(
            throws: BitstreamError(
                field: "conf_win_right_offset",
                bitPosition: 142,
                reason: .outOfRange(value: 2, allowed: 0...1)
            )
        ) { try hevc.nalUnit() }
        hevc.conformanceWindow = nil
        hevc.profileTierLevel.subLayers = [.init()]
        #expect(throws: BitstreamError.self) { try hevc.nalUnit() }
    }

    @Test func scalingListsKeepTheirFactors() {
        let factors = (1...16).map { UInt8($0 < 10 ? $0 * 20 : 40) }
        let list = H264ScalingList(factors: factors)
        #expect(list.deltaScale.count == 11)
        #expect(list.factors(count: 16) == factors)
        #expect(H264ScalingList(deltaScale: [-8]).factors(count: 16) == nil)
        #expect(H264ScalingList(factors: [8, 8]).factors(count: 2) == [8, 8])
    }

    private func layeredVPS() throws -> HEVCVideoParameterSet {
        var vps = HEVCVideoParameterSet()
        vps.vpsMaxLayersMinus1 = 1
        vps.vpsMaxSubLayersMinus1 = 1
        vps.vpsTemporalIdNestingFlag = false
        vps.profileTierLevel.subLayers = [.init()]
        vps.profileTierLevel.subLayers[0].profile = HEVCProfile()
        vps.profileTierLevel.subLayers[0].levelIdc = 60
        vps.subLayerOrdering.isPresentForEachSubLayer = false
        vps.vpsMaxLayerId = 2
        vps.layerSets = [0b101]
        vps.timing = HEVCTiming(numUnitsInTick: 1001, timeScale: 60000, numTicksPocDiffOneMinus1: 0)
        vps.decoders = [.init(), .init()]
        vps.decoders[0].decoder = decoder(subLayers: 2)
        vps.decoders[1].decoder = decoder(subLayers: 2)
        vps.decoders[1].hrdLayerSetIdx = 1
        return vps
    }

    private func decoder(subLayers: Int) -> HEVCReferenceDecoder {
        var common = HEVCReferenceDecoder.Common()
        common.nalHrdParametersPresentFlag = true
        common.subPicture = .init()
        common.subPicture?.cpbSizeDuScale = 9
        common.bitRateScale = 5
        var layer = HEVCReferenceDecoder.SubLayer()
        layer.cpbCntMinus1 = 1
        layer.nalSchedules = [.init(), .init()]
        layer.nalSchedules[1].bitRateDuValueMinus1 = 77
        layer.nalSchedules[1].cbrFlag = true
        var fixed = layer
        fixed.fixedPicRateGeneralFlag = true
        fixed.fixedPicRateWithinCvsFlag = true
        fixed.elementalDurationInTcMinus1 = 2047
        var decoder = HEVCReferenceDecoder()
        decoder.common = common
        decoder.subLayers = Array([fixed, layer].prefix(subLayers))
        return decoder
    }

    private func richSPS() throws -> HEVCSequenceParameterSet {
        var sps = HEVCSequenceParameterSet()
        sps.profileTierLevel.general.profileIdc = 4
        sps.profileTierLevel.general.profileCompatibilityFlags = 0x0800_0000
        sps.profileTierLevel.general.constraints.max12bit = true
        sps.profileTierLevel.general.constraints.lowerBitRate = true
        sps.chromaFormatIdc = .yuv444
        sps.picWidthInLumaSamples = 64
        sps.picHeightInLumaSamples = 64
        sps.subLayerOrdering.subLayers[0].maxDecPicBufferingMinus1 = 5
        sps.subLayerOrdering.subLayers[0].maxNumReorderPics = 2
        sps.scalingListEnabledFlag = true
        var lists = HEVCScalingListData()
        lists.lists[0][1] = .predicted(matrixIdDelta: 1)
        lists.lists[0][2] = .explicit(dcCoefMinus8: 0, deltaCoefs: (0..<16).map { $0 - 8 })
        lists.lists[3][1] = .explicit(dcCoefMinus8: -7, deltaCoefs: Array(repeating: 1, count: 64))
        sps.scalingListData = lists
        sps.pcm = HEVCPCM()
        sps.shortTermReferencePictureSets = [
            .init(
                coding: .explicit(
                    negative: [.init(), .init(deltaPocMinus1: 3)],
                    positive: [.init(usedByCurrPicFlag: false)]
                )
            ),
            .init(
                coding: .predicted(
                    deltaRpsSign: true,
                    absDeltaRpsMinus1: 1,
                    [
                        .init(), .init(usedByCurrPicFlag: false), .init(usedByCurrPicFlag: false, useDeltaFlag: false),
                        .init(),
                    ]
                )
            ),
            .init(coding: .predicted(deltaRpsSign: false, absDeltaRpsMinus1: 0, [.init(), .init(), .init(), .init()])),
        ]
        sps.longTermReferencePictures = [.init(), .init()]
        sps.longTermReferencePictures?[1].ltRefPicPocLsbSps = 15
        sps.vui = HEVCVideoUsability()
        sps.vui?.defaultDisplayWindow = WindowOffsets(left: 1, right: 2, top: 3, bottom: 4)
        sps.vui?.timing = HEVCTiming(numUnitsInTick: 1, timeScale: 50)
        sps.vui?.hrd = decoder(subLayers: 1)
        sps.vui?.bitstreamRestriction = .init()
        sps.extensions = .init()
        sps.extensions?.range = .init()
        sps.extensions?.range?.implicitRdpcmEnabledFlag = true
        sps.extensions?.range?.cabacBypassAlignmentEnabledFlag = true
        return sps
    }

    private func richPPS() throws -> HEVCPictureParameterSet {
        var pps = HEVCPictureParameterSet()
        pps.transformSkipEnabledFlag = true
        pps.diffCuQpDeltaDepth = 1
        pps.tiles = HEVCTiles()
        pps.tiles?.numTileColumnsMinus1 = 2
        pps.tiles?.numTileRowsMinus1 = 1
        pps.tiles?.spacing = .init()
        pps.tiles?.spacing?.columnWidthMinus1 = [0, 1]
        pps.tiles?.spacing?.rowHeightMinus1 = [1]
        pps.deblocking = HEVCDeblocking()
        pps.deblocking?.offsets?.ppsTcOffsetDiv2 = -6
        pps.scalingListData = HEVCScalingListData()
        pps.extensions = .init()
        pps.extensions?.range = .init()
        pps.extensions?.range?.log2MaxTransformSkipBlockSizeMinus2 = 3
        pps.extensions?.range?.chromaQpOffsets = .init()
        pps.extensions?.range?.chromaQpOffsets?.entries = [.init(), .init()]
        pps.extensions?.range?.chromaQpOffsets?.entries[1].cr = -12
        return pps
    }

    /// Lets FFmpeg read the sets, with others after them, as a stream of nothing else.
    private func check(
        _ sets: [([UInt8], [SyntaxElement])],
        codec: VideoCodec,
        before others: [[UInt8]] = []
    ) throws {
        let stream = try EncodedStream(codec: codec, nalUnits: sets.map(\.0) + others, in: TemporaryFolder())
        for (_, trace) in sets { #expect(stream.differences(from: trace) == []) }
    }
}
