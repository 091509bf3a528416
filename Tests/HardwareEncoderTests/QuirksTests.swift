// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CLibVA
import GOPPlanning
import MediaTypes
import Testing

@testable import HardwareEncoder
@testable import VAAPI

@Suite struct QuirksTests {
    /// What is settled with what one driver lists, by a driver of that name.
    private func setup(
        _ listed: DriverNumbers,
        _ vendor: String,
        _ configuration: EncoderConfiguration
    ) throws -> H264Setup {
        try H264Setup(configuration, capabilities: listed.capabilities, vendor: vendor, maximumReorderDepth: nil)
    }

    @Test func aDriverThatNobodyKnowsHasNone() {
        #expect(Quirks(vendor: "VAToolbox reference driver (intel)", codec: .h264) == Quirks())
        #expect(Quirks(vendor: "", codec: .h264) == Quirks())
        #expect(Quirks().statusMask == .max && Quirks().refusal == nil)
    }

    @Test func driversAreKnownByWhatTheyCallThemselves() {
        let intel = Quirks(vendor: DriverNumbers.skylake.vendor, codec: .h264)
        #expect(intel.statusMask == 0xFFFF && intel.fullBufferIsUnused && intel.averageWindow == 150)
        #expect(intel.frameRateDenominatorLimit == 4095 && intel.qualityValues == nil && intel.refusal == nil)
        let amd = Quirks(vendor: DriverNumbers.navi21.vendor, codec: .h264)
        #expect(amd.statusMask == 0 && !amd.fullBufferIsUnused && amd.qualityValues == [5, 3, 0])
        #expect(amd.ignoresSliceQuantizers && !intel.ignoresSliceQuantizers && amd.fullnessLimit == 67_108_863)
        #expect(intel.unchangeableModes == [.avbr, .icq] && amd.unchangeableModes == [])
    }

    /// Mesa's driver of the chips before VCN loses pictures when two of them are at it.
    @Test func chipsThatLosePicturesGetThemOneByOne() throws {
        func setup(_ vendor: String, frames: Int?) throws -> DeviceSetup {
            var configuration = EncoderConfiguration(width: 640, height: 360)
            configuration.hardware.framesInFlight = frames
            return try self.setup(.navi21, vendor, configuration).device
        }
        let old = "Mesa Gallium driver 22.3.6 for AMD Radeon RX 480 Graphics (polaris10, LLVM 15.0.6, DRM 3.49, 6.1.0)"
        #expect(try setup(old, frames: nil).framesInFlight == 1 && setup(old, frames: 1).framesInFlight == 1)
        let asked = try setup(old, frames: 3)
        #expect(asked.framesInFlight == 1)
        #expect(
            asked.adjustments.contains { $0.property == "frames in flight" && $0.used == "1" },
            "\(asked.adjustments)"
        )
        #expect(try !setup(old, frames: nil).adjustments.contains { $0.property == "frames in flight" })
        #expect(try setup(DriverNumbers.navi21.vendor, frames: 3).framesInFlight == 3)
    }

    @Test func aDriverThatAbortsIsRefusedWithTheReason() {
        let error = #expect(throws: MediaError.self) {
            try setup(.intel, "Intel i965 driver for Intel(R) Kaby Lake - 2.4.1", .init(width: 640, height: 360))
        }
        #expect(error?.code == .unsupported && error?.message.contains("aborts") == true)
    }

    /// Mesa takes the quantizer of a picture from its parameters, and writes the headers itself.
    @Test func aDriverThatIgnoresSlicesIsToldTheQuantizerOfThePicture() throws {
        for (driver, expected) in [(DriverNumbers.navi21, (30, 0)), (.skylake, (26, 4))] {
            var configuration = EncoderConfiguration(width: 64, height: 64)
            configuration.rateControl = .constantQuantizer(26)
            let setup = try setup(driver, driver.vendor, configuration)
            var coder = try H264Coder(setup)
            var planner = try GOPPlanner(setup.device.structure)
            let planned = try #require(try planner.add(InputPicture(number: 0)).first)
            let picture = coder.picture(planned, quantizer: 30)
            let surfaces = PictureSurfaces(reconstruction: 1, references: [:], output: 2)
            let list = try coder.parameters(picture, surfaces, PictureUnits(), ParameterList())
            func value<Value>(_ type: BufferType, _: Value.Type) throws -> Value {
                let entry = try #require(list.entries.first { $0.type == type })
                return list.bytes[entry.range].withUnsafeBytes { $0.loadUnaligned(as: Value.self) }
            }
            let parameters = try value(.pictureParameters, VAEncPictureParameterBufferH264.self)
            let slice = try value(.sliceParameters, VAEncSliceParameterBufferH264.self)
            #expect(Int(parameters.pic_init_qp) == expected.0 && Int(slice.slice_qp_delta) == expected.1)
        }
    }

    /// iHD has its hardware code for the number that the slice gives, and never asks whether that is to be used.
    @Test func slicesSayHowManyReferencesTheyHave() throws {
        var configuration = EncoderConfiguration(width: 64, height: 64)
        configuration.bFrames = .off
        let setup = try setup(.skylake, DriverNumbers.skylake.vendor, configuration)
        var coder = try H264Coder(setup)
        var planner = try GOPPlanner(setup.device.structure)
        var usual = 0
        for number in 0..<8 {
            for planned in try planner.add(InputPicture(number: Int64(number))) {
                let picture = coder.picture(planned, quantizer: 30)
                let before = Dictionary(uniqueKeysWithValues: (0..<Int64(8)).map { ($0, VASurfaceID(9)) })
                let surfaces = PictureSurfaces(reconstruction: 1, references: before, output: 2)
                let list = try coder.parameters(picture, surfaces, PictureUnits(), ParameterList())
                let entry = try #require(list.entries.first { $0.type == .sliceParameters })
                let slice = list.bytes[entry.range].withUnsafeBytes {
                    $0.loadUnaligned(as: VAEncSliceParameterBufferH264.self)
                }
                let count = picture.numbers.list0.count
                #expect(Int(slice.num_ref_idx_l0_active_minus1) == max(count - 1, 0))
                if slice.num_ref_idx_active_override_flag == 0, count > 1 { usual += 1 }
            }
        }
        #expect(usual > 0, "some lists are as long as the picture parameters say")
    }

    /// Level 1 is the best preset, and what is beyond the presets becomes the fastest.
    @Test func qualityLevelsOfRadeonsiArePresets() throws {
        func value(_ level: Int) throws -> H264Setup {
            var configuration = EncoderConfiguration(width: 640, height: 360)
            configuration.hardware.qualityLevel = level
            return try setup(.navi21, DriverNumbers.navi21.vendor, configuration)
        }
        #expect(try value(1).device.qualityLevel == 5 && value(2).device.qualityLevel == 3)
        #expect(try value(3).device.qualityLevel == 0 && value(3).device.adjustments.isEmpty)
        #expect(try value(7).device.adjustments.map(\.used) == ["3"])
    }

    /// A GPU that has B-frames, behind drivers that have and have not been known to refuse some.
    @Test(arguments: [("one without quirks", 3, 1, 3), ("Mesa Gallium driver 25.0.7 for AMD Radeon", 2, 0, 0)])
    func noBFrameRefersToABFrameWhereThatIsRefused(
        vendor: String,
        bFrames: Int,
        depth: Int,
        inThreeLayers: Int
    ) throws {
        func structure(layers: Int, _ bFrames: BFrames) throws -> GOPStructure {
            var configuration = EncoderConfiguration(width: 640, height: 360)
            (configuration.temporalLayers, configuration.bFrames) = (layers, bFrames)
            let device = try setup(.intel, vendor, configuration).device
            #expect(device.supportedProperties.contains(.bPyramid) == (depth > 0))
            return device.structure
        }
        let automatic = try structure(layers: 1, .automatic)
        #expect(automatic.consecutiveBFrames == bFrames && automatic.pyramidDepth == depth)
        #expect(try structure(layers: 1, .maximum(3)).pyramidDepth == depth)
        #expect(try structure(layers: 2, .automatic).consecutiveBFrames == 1)
        let three = try structure(layers: 3, .automatic)
        #expect(three.temporalLayers == 3 && three.consecutiveBFrames == inThreeLayers)
    }

    /// Mesa's firmware fails with constrained intra prediction unless quantizers are constant.
    @Test func wavesOfMesaAreConstrainedOnlyWithConstantQuantizers() throws {
        func isConstrained(_ vendor: String, _ rateControl: RateControl) throws -> Bool {
            var configuration = EncoderConfiguration(width: 640, height: 360)
            (configuration.usesIntraRefresh, configuration.rateControl) = (true, rateControl)
            let setup = try setup(.skylake, vendor, configuration)
            #expect(setup.device.intraRefresh != nil)
            return setup.stream.picture.constrainedIntraPredFlag
        }
        let mesa = "Mesa Gallium driver 25.0.7 for AMD Radeon"
        #expect(try isConstrained(mesa, .constantQuantizer(26)) && !isConstrained(mesa, .averageBitRate(1_000_000)))
        #expect(try isConstrained("one without quirks", .averageBitRate(1_000_000)))
    }

    /// iHD heeds the wish for single macroblocks only where the config has it as well.
    @Test func configsSayThatMacroblocksAreControlled() throws {
        func modes(_ asked: Bool?, _ rateControl: RateControl) throws -> RateControlModes {
            var configuration = EncoderConfiguration(width: 640, height: 360)
            (configuration.hardware.controlsMacroblocks, configuration.rateControl) = (asked, rateControl)
            let device = try setup(.skylake, DriverNumbers.skylake.vendor, configuration).device
            let value = try #require(device.attributes.first { $0.attribute == .rateControl }).value
            return RateControlModes(rawValue: value)
        }
        #expect(try modes(true, .averageBitRate(1_000_000)) == [.vbr, .perMacroblock])
        #expect(try modes(true, .constantBitRate(1_000_000)) == [.cbr, .perMacroblock])
        #expect(try modes(false, .averageBitRate(1_000_000)) == .vbr && modes(nil, .averageBitRate(1_000_000)) == .vbr)
        #expect(try modes(true, .constantQuantizer(26)) == .cqp)
    }

    /// Mesa divides pictures itself where slices but the last are not equal, although it lists any macroblocks.
    @Test func slicesOfMesaAreEqualButTheLast() throws {
        func slices(_ vendor: String, _ height: Int) throws -> [Int] {
            var configuration = EncoderConfiguration(width: 64, height: height)
            configuration.slices = 4
            let limits = DriverNumbers.capabilities(
                VAProfileH264High,
                VAEntrypointEncSlice,
                [
                    .rateControl: 0x416, .packedHeaders: 0x1F, .maximumReferences: 0x10001, .maximumSlices: 128,
                    .sliceStructure: 0x26,
                ]
            )
            let setup = try H264Setup(configuration, capabilities: [limits], vendor: vendor, maximumReorderDepth: nil)
            return setup.device.slices.map(\.count)
        }
        #expect(try slices("one without quirks", 16 * 7) == [4, 8, 8, 8])
        #expect(try slices(DriverVersionTests.mesa25, 16 * 7) == [8, 8, 8, 4])
        #expect(try slices(DriverVersionTests.mesa25, 16 * 8) == [8, 8, 8, 8])
    }

    @Test func everyQuirkSaysWhatWhyAndWhence() {
        for quirk in Quirks.table {
            #expect(quirk.what.hasSuffix(".") && quirk.why.hasSuffix(".") && !quirk.source.isEmpty)
        }
    }
}
