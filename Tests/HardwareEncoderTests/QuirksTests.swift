// SPDX-License-Identifier: GPL-2.0-or-later

import CLibVA
import GOPPlanning
import MediaTypes
import Testing

@testable import HardwareEncoder
@testable import VAAPI

@Suite struct QuirksTests {
    @Test func aDriverThatNobodyKnowsHasNone() {
        #expect(Quirks(vendor: "VAToolbox reference driver (intel)") == Quirks())
        #expect(Quirks(vendor: "") == Quirks())
        #expect(Quirks().statusMask == .max && Quirks().refusal == nil)
    }

    @Test func driversAreKnownByWhatTheyCallThemselves() {
        let intel = Quirks(vendor: DriverNumbers.skylake.vendor)
        #expect(intel.statusMask == 0xFFFF && intel.fullBufferIsUnused && intel.averageWindow == 150)
        #expect(intel.frameRateDenominatorLimit == 4095 && intel.qualityValues == nil && intel.refusal == nil)
        let amd = Quirks(vendor: DriverNumbers.navi21.vendor)
        #expect(amd.statusMask == 0 && !amd.fullBufferIsUnused && amd.qualityValues == [5, 3, 0])
        #expect(amd.ignoresSliceQuantizers && !intel.ignoresSliceQuantizers && amd.fullnessLimit == 67_108_863)
        #expect(intel.unchangeableModes == [.avbr, .icq] && amd.unchangeableModes == [])
    }

    /// Mesa's driver of the chips before VCN loses pictures when two of them are at it.
    @Test func chipsThatLosePicturesGetThemOneByOne() throws {
        func setup(_ vendor: String, frames: Int?) throws -> DeviceSetup {
            var configuration = EncoderConfiguration(width: 640, height: 360)
            configuration.hardware.framesInFlight = frames
            return try H264Setup(
                configuration,
                capabilities: DriverNumbers.navi21.capabilities,
                vendor: vendor,
                maximumReorderDepth: nil
            ).device
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
            try H264Setup(
                EncoderConfiguration(width: 640, height: 360),
                capabilities: DriverNumbers.intel.capabilities,
                vendor: "Intel i965 driver for Intel(R) Kaby Lake - 2.4.1",
                maximumReorderDepth: nil
            )
        }
        #expect(error?.code == .unsupported && error?.message.contains("aborts") == true)
    }

    /// Mesa takes the quantizer of a picture from its parameters, and writes the headers itself.
    @Test func aDriverThatIgnoresSlicesIsToldTheQuantizerOfThePicture() throws {
        for (driver, expected) in [(DriverNumbers.navi21, (30, 0)), (.skylake, (26, 4))] {
            var configuration = EncoderConfiguration(width: 64, height: 64)
            configuration.rateControl = .constantQuantizer(26)
            let setup = try H264Setup(
                configuration,
                capabilities: driver.capabilities,
                vendor: driver.vendor,
                maximumReorderDepth: nil
            )
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

    @Test func versionsAreRead() {
        #expect(Quirk.version(in: DriverNumbers.skylake.vendor) == [23, 1, 1])
        #expect(Quirk.version(in: DriverNumbers.navi21.vendor) == [22, 3, 6])
        #expect(Quirk.version(in: "Intel i965 driver for Intel(R) Kaby Lake - 2.4.1") == [2, 4, 1])
        #expect(Quirk.version(in: "no number") == nil)
        let old = Quirk("Gallium", before: [24], what: "", why: "", source: "") { _ in }
        #expect(old.concerns(DriverNumbers.navi21.vendor) && old.concerns("Gallium of no version"))
        #expect(!old.concerns("Mesa Gallium driver 24.0.1") && !old.concerns(DriverNumbers.skylake.vendor))
    }

    /// Level 1 is the best preset, and what is beyond the presets becomes the fastest.
    @Test func qualityLevelsOfRadeonsiArePresets() throws {
        func value(_ level: Int) throws -> H264Setup {
            var configuration = EncoderConfiguration(width: 640, height: 360)
            configuration.hardware.qualityLevel = level
            let driver = DriverNumbers.navi21
            return try H264Setup(
                configuration,
                capabilities: driver.capabilities,
                vendor: driver.vendor,
                maximumReorderDepth: nil
            )
        }
        #expect(try value(1).device.qualityLevel == 5 && value(2).device.qualityLevel == 3)
        #expect(try value(3).device.qualityLevel == 0 && value(3).device.adjustments.isEmpty)
        #expect(try value(7).device.adjustments.map(\.used) == ["3"])
    }

    @Test func everyQuirkSaysWhatWhyAndWhence() {
        for quirk in Quirks.table {
            #expect(quirk.what.hasSuffix(".") && quirk.why.hasSuffix(".") && !quirk.source.isEmpty)
        }
    }
}
