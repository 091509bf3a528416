// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CLibVA
import GOPPlanning
import MediaTypes
import Testing

@testable import HardwareEncoder
@testable import VAAPI

/// What becomes of HEVC on drivers that say of it what the distribution's say.
@Suite struct HEVCSetupTests {
    /// iHD 23.1.1 on a Tiger Lake, as `probe --json` shows it.
    private static let intel: [ConfigAttribute: UInt32] = [
        .renderTargetFormat: 2_230_023, .rateControl: 5278, .packedHeaders: 31, .maximumReferences: 196_611,
        .maximumSlices: 70, .sliceStructure: 61, .predictionDirection: 7, .hevcFeatures: 26_215_524,
        .hevcBlockSizes: 35023, .intraRefresh: 3, .regionsOfInterest: 528,
    ]
    /// radeonsi 22.3.6 on a Renoir.
    private static let amd: [ConfigAttribute: UInt32] = [
        .renderTargetFormat: 257, .rateControl: 22, .packedHeaders: 1, .maximumReferences: 1, .maximumSlices: 128,
        .sliceStructure: 37, .hevcFeatures: 268_701_776, .hevcBlockSizes: 207,
    ]
    private static let mesa = "Mesa Gallium driver 22.3.6 for AMD Radeon Graphics (renoir, LLVM 15.0.6)"

    private func setup(
        _ attributes: [ConfigAttribute: UInt32] = intel,
        _ entrypoint: VAEntrypoint = VAEntrypointEncSliceLP,
        vendor: String = "Intel iHD driver for Intel(R) Gen Graphics - 23.1.1 ()",
        _ change: (inout EncoderConfiguration) -> Void = { _ in }
    ) throws -> HEVCSetup {
        var configuration = EncoderConfiguration(width: 642, height: 358)
        configuration.codec = .hevc
        (configuration.bFrames, configuration.rateControl) = (.off, .constantQuantizer(26))
        change(&configuration)
        return try HEVCSetup(
            configuration.validated(for: .hevc).configuration,
            capabilities: [VAProfileHEVCMain, VAProfileHEVCMain10].map { profile in
                DriverNumbers.capabilities(profile, entrypoint, attributes)
            },
            vendor: vendor,
            maximumReorderDepth: nil
        )
    }

    @Test func blocksAndToolsAreThoseOfTheDriver() throws {
        let stream = try setup().stream
        let sequence = stream.sequence
        #expect((sequence.ctbLog2Size, sequence.minCbLog2Size) == (6, 3))
        #expect(stream.codedSize == PictureSize(width: 648, height: 360))
        #expect(sequence.displaySize == PictureSize(width: 642, height: 358))
        #expect(sequence.ampEnabledFlag && sequence.sampleAdaptiveOffsetEnabledFlag)
        #expect(sequence.spsTemporalMvpEnabledFlag && !sequence.strongIntraSmoothingEnabledFlag)
        // The driver demands it, whether anything changes or not.
        #expect(stream.picture.diffCuQpDeltaDepth == 0)
        let silent = try setup([.packedHeaders: 31]).stream
        #expect((silent.sequence.ctbLog2Size, silent.sequence.minCbLog2Size) == (5, 4))
        #expect(silent.codedSize == PictureSize(width: 656, height: 368))
        #expect(!silent.sequence.sampleAdaptiveOffsetEnabledFlag && silent.picture.diffCuQpDeltaDepth == nil)
    }

    @Test func setsComeBackAsTheyAre() throws {
        for bits in [8, 10] {
            let stream = try setup { ($0.bitDepth, $0.temporalLayers, $0.longTermReferences) = (bits, 2, 1) }.stream
            let sets = try stream.parameterSets()
            #expect(try HEVCVideoParameterSet(nalUnit: sets[0]) == stream.video)
            #expect(try HEVCSequenceParameterSet(nalUnit: sets[1]) == stream.sequence)
            #expect(try HEVCPictureParameterSet(nalUnit: sets[2]) == stream.picture)
            #expect(stream.sequence.lumaBitDepth == bits && stream.profileName == (bits == 8 ? "Main" : "Main 10"))
            #expect(try stream.completed(sets[1]) == sets[1])
        }
    }

    @Test func tenBitsAreMain10InP010() throws {
        let device = try setup { $0.bitDepth = 10 }.device
        #expect(device.profile.rawValue == VAProfileHEVCMain10.rawValue)
        let format = device.attributes.first { $0.attribute == .renderTargetFormat }
        #expect(format?.value == UInt32(VA_RT_FORMAT_YUV420_10))
        let asked = try setup { $0.profile = .hevcMain10 }
        #expect(asked.device.adjustments.map(\.property) == ["bit depth"])
        #expect(HEVCStream.pixelFormat(asked.stream.profile, asked.stream.configuration) == .p010)
        var deep = EncoderConfiguration(width: 640, height: 360)
        deep.bitDepth = 10
        let lacking = #expect(throws: MediaError.self) {
            try HEVCSetup(
                deep,
                capabilities: [DriverNumbers.capabilities(VAProfileHEVCMain, VAEntrypointEncSlice, Self.amd)],
                vendor: Self.mesa,
                maximumReorderDepth: nil
            )
        }
        #expect(lacking?.cause == .profileMissing && lacking?.given == "hevc-main10")
    }

    @Test func mesaHasLargeAlignmentAndWritesHeaders() throws {
        let setup = try setup(Self.amd, VAEntrypointEncSlice, vendor: Self.mesa)
        #expect(setup.stream.codedSize == PictureSize(width: 704, height: 368))
        #expect(setup.device.packedHeaders.isEmpty)
        #expect(setup.stream.contextSize(hasPackedHeaders: false) == PictureSize(width: 642, height: 358))
        #expect(setup.device.structure.list0Limit == 1 && setup.stream.tools.generalizedList1Limit == 0)
    }

    /// H.265 7.4.2.2: delimiters and messages go with their pictures when upper layers are left out.
    @Test func unitsBesideSlicesAreOfTheirLayer() throws {
        let setup = try setup { ($0.temporalLayers, $0.accessUnitDelimiters) = (3, true) }
        var messages = PictureMessages(setup)
        var planner = try GOPPlanner(setup.device.structure)
        let planned = try (0..<9).flatMap { try planner.add(InputPicture(number: $0)) } + planner.finish()
        #expect(Set(planned.map(\.temporalLayer)) == [0, 1, 2])
        for picture in planned {
            let units = try messages.units(picture, PixelAttachments(captions: [0xFC, 0x94, 0x2C]))
            let all = try #require(units.delimiter.map { [$0] }) + units.messages
            #expect(all.count == 2)
            for unit in all { #expect(try HEVCNALUnitHeader(nalUnit: unit).temporalId == picture.temporalLayer) }
        }
    }

    /// H.265 D.3.8: recovery_poc_cnt is below half of MaxPicOrderCntLsb, which is 256.
    @Test func wavesAreNoLongerThanRecoveryPointsCanTell() throws {
        let setup = try setup(vendor: "one without quirks") {
            ($0.width, $0.height, $0.usesIntraRefresh, $0.keyFrameInterval.frames) = (3840, 2160, true, 300)
        }
        #expect(setup.device.intraRefresh == IntraRefreshWave(isColumn: true, length: 240, period: 128))
        var messages = PictureMessages(setup)
        var planner = try GOPPlanner(setup.device.structure)
        let planned = try (0..<260).flatMap { try planner.add(InputPicture(number: $0)) } + planner.finish()
        let points = try planned.flatMap { picture in
            try messages.units(picture, PixelAttachments()).messages.flatMap {
                try SEIMessage.messages(in: $0, codec: .hevc).filter { $0.type == .recoveryPoint }
            }
        }
        #expect(points.count >= 2)
        #expect(try points.allSatisfy { try HEVCRecoveryPoint(payload: $0.payload).recoveryPocCnt == 127 })
    }

    /// Slices cover the coded picture, which is wider than its blocks where drivers align it further.
    @Test func slicesCoverWhatIsCoded() throws {
        var attributes = Self.amd
        attributes[.hevcBlockSizes] = nil
        let setup = try setup(attributes, VAEntrypointEncSlice, vendor: Self.mesa) {
            ($0.width, $0.height, $0.slices) = (720, 480, 2)
        }
        #expect(setup.stream.codedSize == PictureSize(width: 768, height: 480))
        #expect(setup.stream.tools.blockSize == 32)
        let slices = setup.device.slices
        #expect(slices.count == 2 && slices.last?.upperBound == 24 * 15)
        #expect(slices.allSatisfy { $0.lowerBound % 24 == 0 && $0.upperBound % 24 == 0 })
    }

    /// Where both lists have to have entries P pictures have B slices, and they say so in both ways.
    @Test func pPicturesHaveTwoListsWhereDriversWantThem() throws {
        let setup = try setup()
        var coder = try HEVCCoder(setup)
        var planner = try GOPPlanner(setup.device.structure)
        let planned = try (0..<6).flatMap { try planner.add(InputPicture(number: $0)) } + planner.finish()
        let pictures = planned.map { coder.picture($0, quantizer: 26) }
        let last = try #require(pictures.last)
        #expect(last.sliceKind == .b && last.numbers.list0 == last.numbers.list1 && last.numbers.list0.count == 3)
        let surfaces = PictureSurfaces(
            reconstruction: 9,
            references: Dictionary(uniqueKeysWithValues: last.keptReferences.map { ($0, UInt32(100 + $0)) }),
            output: 7
        )
        let (header, bitCount) = try coder.sliceHeader(last, setup.device.slices[0])
        let read = try HEVCSliceSegmentHeader(
            nalUnit: EmulationPrevention.added(to: header + [0x80]),
            sps: setup.stream.sequence,
            pps: setup.stream.picture
        )
        #expect(bitCount == header.count * 8 && read.slice?.sliceType == .b)
        #expect(read.slice?.sliceTemporalMvpEnabledFlag == true)
        let slice = VAEncSliceParameterBufferHEVC(read, last, count: 66, isLast: true, surfaces)
        #expect(slice.slice_type == 0 && slice.num_ref_idx_l0_active_minus1 == 2)
        #expect(slice.num_ref_idx_l1_active_minus1 == 2 && slice.max_num_merge_cand == 5)
        #expect(slice.ref_pic_list0.0.picture_id == 104 && slice.ref_pic_list1.0.picture_id == 104)
        #expect(slice.ref_pic_list0.3.picture_id == VA_INVALID_ID)
        #expect(slice.slice_fields.bits.last_slice_of_pic_flag == 1)
        let parameters = VAEncPictureParameterBufferHEVC(
            last,
            read,
            setup.stream.sequence,
            setup.stream.picture,
            surfaces
        )
        #expect(parameters.decoded_curr_pic.pic_order_cnt == 5 && parameters.coded_buf == 7)
        #expect(parameters.nal_unit_type == 1 && parameters.pic_fields.bits.coding_type == 2)
        let index = Int(parameters.collocated_ref_pic_index)
        #expect(last.numbers.references[index].number == 4)
        let before = UInt32(VA_PICTURE_HEVC_RPS_ST_CURR_BEFORE)
        #expect(parameters.reference_frames.0.flags == before)
        #expect(parameters.reference_frames.14.flags == UInt32(VA_PICTURE_HEVC_INVALID))
    }

    @Test func levelsCountPicturesSlicesAndRates() throws {
        func level(_ change: (inout EncoderConfiguration) -> Void) throws -> String {
            try setup { change(&$0) }.stream.levelName
        }
        #expect(try level { _ in } == "2.1")
        #expect(try level { ($0.width, $0.height) = (1920, 1080) } == "4")
        // 12000 and 30000 thousand bits per second are the ends of the tiers of level 4.
        #expect(
            try level { ($0.width, $0.height, $0.rateControl) = (1920, 1080, .constantBitRate(12_000_064)) } == "4.1"
        )
        // 1024x576 samples are more than level 3 has, and nine rows of blocks nine slices.
        #expect(try level { ($0.width, $0.height, $0.slices) = (1024, 576, 9) } == "3.1")
        let beyond = #expect(throws: MediaError.self) {
            try setup {
                $0.hevcLevel = HEVCLevel(name: "3")
                $0.rateControl = .averageBitRate(6_000_001, peak: .unlimited)
            }
        }
        #expect(beyond?.code == .invalidArgument)
    }

    @Test func constantRatesAreToldWithTimes() throws {
        let setup = try setup { ($0.rateControl, $0.allowsOpenGOP) = (.constantBitRate(1_000_000), true) }
        let stream = setup.stream
        let schedule = try #require(stream.decoderSchedule)
        #expect(schedule.bitRate == 1_000_000 && schedule.bufferSize == 1_000_000 && schedule.ticksOfPicture == 1)
        let period = try HEVCBufferingPeriod(
            payload: stream.bufferingPeriod(initialDelay: 45_000).payload,
            for: stream.sequence
        )
        #expect(period.nal == [InitialRemovalDelay(45_000, offset: 45_000)])
        let timing = try HEVCPictureTiming(
            payload: stream.pictureTiming(removal: 3, output: 2).payload,
            for: stream.sequence
        )
        #expect((timing.auCpbRemovalDelayMinus1, timing.picDpbOutputDelay) == (2, 2))
        let point = try HEVCRecoveryPoint(payload: stream.recoveryPoint(after: 7, isExact: false).payload)
        #expect(point == HEVCRecoveryPoint(recoveryPocCnt: 7, exactMatchFlag: false))
        #expect(HEVCStream.isAccessPoint(.recoveryPoint) && !H264Stream.isAccessPoint(.recoveryPoint))
    }

    /// A delimiter names the kinds of slices behind it (HEVC 7.4.3.5): P pictures of B slices are of kind 2.
    @Test func delimitersNameTheSlices() throws {
        let (generalized, plain) = try (setup().stream, setup(Self.amd, VAEntrypointEncSlice, vendor: Self.mesa).stream)
        let kinds: [(PlannedPicture.Kind, UInt8, UInt8)] = [
            (.idr, 0, 0), (.recoveryPoint, 0, 0), (.p, 2, 1), (.b, 2, 2),
        ]
        var planner = try GOPPlanner(GOPStructure())
        var picture = try #require(try planner.add(InputPicture(number: 0)).first)
        for (kind, two, one) in kinds {
            picture.kind = kind
            for (stream, type) in [(generalized, two), (plain, one)] {
                let unit = stream.delimiter(picture)
                let header = try HEVCNALUnitHeader(nalUnit: unit)
                #expect(header.isAccessUnitDelimiter && header.temporalId == 0 && unit.count == 3)
                #expect(unit[2] == type << 5 | 0x10, "\(kind)")
            }
        }
    }

    @Test func whatIsBeyondEveryLevelIsRefused() {
        let error = #expect(throws: MediaError.self) { try setup { ($0.width, $0.height) = (16384, 16384) } }
        #expect(error?.code == .invalidArgument, "\(error as Any)")
    }

    @Test func pixelsThatTheDriverDoesNotTakeAreRefused() {
        var other = Self.intel
        other[.renderTargetFormat] = UInt32(VA_RT_FORMAT_YUV422)
        let error = #expect(throws: MediaError.self) { try setup(other) }
        #expect(error?.code == .unsupported && error?.cause == .formatMissing)
    }

    @Test func whatDriversDemandAndIsNotUsedIsRefused() {
        var demanding = Self.intel
        // pcm, bits 8 and 9: required.
        demanding[.hevcFeatures] = 26_215_524 | 2 << 8
        let error = #expect(throws: MediaError.self) { try setup(demanding) }
        #expect(error?.code == .unsupported && error?.given == "PCM blocks")
        // Coding blocks of 8 with transform blocks of 8.
        demanding[.hevcFeatures] = 26_215_524
        demanding[.hevcBlockSizes] = 35023 | 1 << 8
        #expect(throws: MediaError.self) { try setup(demanding) }
    }
}
