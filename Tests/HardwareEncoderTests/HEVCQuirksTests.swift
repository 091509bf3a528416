// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CLibVA
import GOPPlanning
import MediaTypes
import Testing

@testable import HardwareEncoder
@testable import VAAPI

/// What is made of HEVC by drivers that do not do all that they list.
@Suite struct HEVCQuirksTests {
    private static let intel = "Intel iHD driver for Intel(R) Gen Graphics - 25.2.3 ()"
    private static let mesa = "Mesa Gallium driver 25.0.7 for AMD Radeon RX 6800 XT (radeonsi, navi21, LLVM 19.1.7)"
    private static let none = "one without quirks"

    /// On an encoder that lists everything.
    private func setup(
        _ vendor: String,
        _ entrypoint: VAEntrypoint = VAEntrypointEncSliceLP,
        slices: UInt32 = 16,
        _ change: (inout EncoderConfiguration) -> Void
    ) throws -> HEVCSetup {
        var configuration = EncoderConfiguration(width: 1280, height: 720)
        (configuration.codec, configuration.bFrames) = (.hevc, .off)
        change(&configuration)
        return try HEVCSetup(
            configuration.validated(for: .hevc).configuration,
            capabilities: [
                DriverNumbers.capabilities(
                    VAProfileHEVCMain,
                    entrypoint,
                    [
                        .rateControl: 5278, .packedHeaders: 31, .maximumReferences: 0x10003, .intraRefresh: 3,
                        .qualityRange: 7, .hevcFeatures: 26_215_524, .hevcBlockSizes: 35023, .maximumSlices: slices,
                    ]
                )
            ],
            vendor: vendor,
            maximumReorderDepth: nil
        )
    }

    @Test func qualityLevelsThatWouldFailThePictureAreNotSent() throws {
        let refused = try setup(Self.intel) { $0.hardware.qualityLevel = 4 }.device
        #expect(refused.qualityLevel == nil)
        #expect(refused.adjustments.map(\.property) == ["quality level"] && refused.adjustments.map(\.used) == ["none"])
        #expect(try setup(Self.none) { $0.hardware.qualityLevel = 4 }.device.qualityLevel == 4)
    }

    /// Those of Meteor Lake, of a full build on an older GPU, and of VDEnc on one.
    @Test func qualityLevelsOfVDEncFromMeteorLakeOnAreSent() throws {
        func level(_ entrypoint: VAEntrypoint, _ slices: UInt32) throws -> Int? {
            try setup(Self.intel, entrypoint, slices: slices) { $0.hardware.qualityLevel = 6 }.device.qualityLevel
        }
        #expect(try level(VAEntrypointEncSlice, 70) == 6)
        #expect(try level(VAEntrypointEncSlice, 200) == nil)
        #expect(try level(VAEntrypointEncSliceLP, 70) == nil)
    }

    @Test func layersThatSlicesWouldNotTellAreNotMade() throws {
        let device = try setup(Self.mesa) { $0.temporalLayers = 3 }.device
        #expect(device.structure.temporalLayers == 1 && !device.supportedProperties.contains(.temporalLayers))
        #expect(device.adjustments.map(\.property) == ["temporal layers"])
        #expect(try setup(Self.intel) { $0.temporalLayers = 3 }.device.structure.temporalLayers == 3)
        #expect(try setup(Self.mesa) { _ in }.device.adjustments.isEmpty)
    }

    @Test(arguments: [(none, 16), (intel, 32), (mesa, 64)]) func wavesAreCountedAsTheDriverDoes(
        vendor: String,
        side: Int
    ) throws {
        let setup = try setup(vendor) { ($0.usesIntraRefresh, $0.keyFrameInterval.frames) = (true, 300) }
        let wave = try #require(setup.device.intraRefresh)
        #expect(wave.length == 1280 / side && wave.period == wave.length)
        var parameters = MiscellaneousParameters(setup.device, setup.stream.configuration)
        var end = 0
        for position in 0..<wave.period {
            var list = ParameterList()
            parameters.append(to: &list, .init(isIDR: false, refreshPosition: position))
            let entry = try #require(list.entries.last)
            let sent = list.bytes[entry.range].withUnsafeBytes {
                $0.loadUnaligned(fromByteOffset: 4, as: VAEncMiscParameterRIR.self)
            }
            end = Int(sent.intra_insertion_location) + Int(sent.intra_insert_size)
        }
        #expect(end == 1280 / side)
    }

    @Test func quantizerRangesAreSaidForEveryPictureWhereTheyAreForgotten() throws {
        func sent(_ vendor: String, range: ClosedRange<Int>?, isIDR: Bool) throws -> [UInt32] {
            let setup = try setup(vendor) {
                ($0.rateControl, $0.quantizerRange) = (.averageBitRate(1_000_000), range)
            }
            var parameters = MiscellaneousParameters(setup.device, setup.stream.configuration)
            var (first, next) = (ParameterList(), ParameterList())
            parameters.append(to: &first, .init(isIDR: true))
            parameters.append(to: &next, .init(isIDR: false))
            let list = isIDR ? first : next
            return list.entries.map { entry in
                list.bytes[entry.range].withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
            }
        }
        let rate = VAEncMiscParameterTypeRateControl.rawValue
        #expect(try sent(Self.intel, range: 12...40, isIDR: false) == [rate])
        #expect(try sent(Self.intel, range: nil, isIDR: false) == [])
        #expect(try sent(Self.none, range: 12...40, isIDR: false) == [])
        #expect(try sent(Self.intel, range: 12...40, isIDR: true).filter { $0 == rate }.count == 1)
    }

    /// Two and one are what VDEnc codes two lists that differ for. It is listed as either entry point.
    @Test func bFramesReferToNoMoreThanThree() throws {
        func limits(_ vendor: String, _ entrypoint: VAEntrypoint, _ bFrames: BFrames) throws -> [Int] {
            let structure = try setup(vendor, entrypoint) { $0.bFrames = bFrames }.device.structure
            return [structure.list0Limit, structure.list1Limit]
        }
        #expect(try limits(Self.intel, VAEntrypointEncSliceLP, .automatic) == [2, 1])
        #expect(try limits(Self.intel, VAEntrypointEncSlice, .automatic) == [2, 1])
        #expect(try limits(Self.intel, VAEntrypointEncSliceLP, .off) == [3, 1])
        #expect(try limits(Self.none, VAEntrypointEncSliceLP, .automatic) == [3, 1])
    }

    /// H.265 D.3.2: initial delay and offset have one sum in a coded video sequence, whichever CRA picture they are of.
    @Test func delaysAndOffsetsHaveOneSum() throws {
        let stream = try setup(Self.none) { $0.rateControl = .constantBitRate(1_000_000) }.stream
        let longest = try #require(stream.decoderSchedule).longestDelay
        for delay in [1, 4_321, longest - 1, longest] {
            let message = try stream.bufferingPeriod(initialDelay: delay)
            let period = try HEVCBufferingPeriod(payload: message.payload, for: stream.sequence)
            let first = try #require(period.nal.first)
            #expect(first.delay == delay && first.delay + first.offset == longest)
        }
    }

    /// Mesa reads an HRD only where order counts are said to go with time.
    @Test func orderCountsGoWithTimeWhereRatesAreTold() throws {
        func timing(_ rateControl: RateControl) throws -> HEVCTiming? {
            try setup(Self.none) { $0.rateControl = rateControl }.stream.sequence.vui?.timing
        }
        #expect(try timing(.constantBitRate(1_000_000))?.numTicksPocDiffOneMinus1 == 0)
        #expect(try timing(.averageBitRate(1_000_000))?.numTicksPocDiffOneMinus1 == nil)
    }

    /// Mesa infers none of an HRD's flags (H.265 E.3.2), and writes the set anew from what it has read.
    @Test func noFlagOfAnHRDIsInferred() throws {
        let set = try setup(Self.mesa) { $0.rateControl = .constantBitRate(1_000_000) }.stream.sequence
        let layer = try #require(set.vui?.hrd?.subLayers.first)
        #expect(!layer.fixedPicRateGeneralFlag && layer.fixedPicRateWithinCvsFlag)
        #expect(layer.nalSchedules.count == 1 && layer.nalSchedules[0].cbrFlag)
        #expect(try HEVCSequenceParameterSet(nalUnit: set.nalUnit()) == set)
    }

    /// H.265 7.4.7.1: where a picture of the lowest layer says no, none of those after it may use motion from before it,
    /// which those that lead a CRA picture do.
    @Test func everyPictureButIDRAllowsTemporalMotion() throws {
        let setup = try setup(Self.intel) {
            ($0.bFrames, $0.allowsOpenGOP, $0.keyFrameInterval.frames) = (.automatic, true, 8)
        }
        #expect(setup.stream.sequence.spsTemporalMvpEnabledFlag)
        var coder = try HEVCCoder(setup)
        var planner = try GOPPlanner(setup.device.structure)
        let planned = try (0..<24).flatMap { try planner.add(InputPicture(number: $0)) } + planner.finish()
        var kinds: Set<HEVCNALUnitHeader.UnitType> = []
        for picture in planned.map({ coder.picture($0, quantizer: 26) }) {
            kinds.insert(picture.numbers.unitType)
            let (header, _) = try coder.sliceHeader(picture, setup.device.slices[0])
            let read = try HEVCSliceSegmentHeader(
                nalUnit: EmulationPrevention.added(to: header + [0x80]),
                sps: setup.stream.sequence,
                pps: setup.stream.picture
            )
            #expect(read.slice?.sliceTemporalMvpEnabledFlag == !picture.isIDR)
            let references = Dictionary(uniqueKeysWithValues: picture.keptReferences.map { ($0, UInt32(100 + $0)) })
            let surfaces = PictureSurfaces(reconstruction: 9, references: references, output: 7)
            let (sequence, set) = (setup.stream.sequence, setup.stream.picture)
            let parameters = VAEncPictureParameterBufferHEVC(picture, read, sequence, set, surfaces)
            #expect((parameters.collocated_ref_pic_index == 0xFF) == (picture.sliceKind == .i))
        }
        #expect(kinds.isSuperset(of: [.cleanRandomAccess, .skippedLeading]), "\(kinds)")
    }
}
