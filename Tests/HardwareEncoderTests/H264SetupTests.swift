// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CLibVA
import GOPPlanning
import MediaTypes
import Testing
import VAAPI

@testable import HardwareEncoder

/// What is settled with the numbers of real drivers.
@Suite struct H264SetupTests {
    private func setup(
        _ driver: DriverNumbers,
        _ width: Int = 1280,
        _ height: Int = 720,
        depth: Int? = nil,
        _ change: (inout EncoderConfiguration) -> Void = { _ in }
    ) throws(MediaError) -> H264Setup {
        var configuration = EncoderConfiguration(width: width, height: height)
        change(&configuration)
        return try H264Setup(
            configuration.validated(for: .h264).configuration,
            capabilities: driver.capabilities,
            vendor: driver.vendor,
            maximumReorderDepth: depth
        )
    }

    @Test(arguments: DriverNumbers.allCases)
    func nothingReachesADriverThatItDoesNotList(driver: DriverNumbers) throws {
        let controls: [RateControl] = [
            .averageBitRate(2_000_000), .averageBitRate(2_000_000, peak: .unlimited), .constantBitRate(2_000_000),
            .constantQuality(23), .constantQuality(23, peak: .limit(3_000_000)), .constantQuantizer(26),
        ]
        var settled = 0
        for control in controls {
            for count in [1, 3, 7, 200] {
                let made = try? setup(driver) {
                    ($0.rateControl, $0.slices) = (control, count)
                    ($0.maximumFrameSize, $0.longTermReferences) = (100_000, 2)
                    ($0.hardware.qualityLevel, $0.hardware.controlsMacroblocks) = (9, true)
                    $0.bFrames = .maximum(7)
                }
                guard let made else { continue }
                settled += 1
                let listed = try #require(
                    driver.capabilities.first {
                        $0.profile == made.device.profile && $0.entrypoint == made.device.entrypoint
                    }
                )
                for value in made.device.attributes {
                    let offered = try #require(listed[value.attribute], "\(value)")
                    #expect(value.value & ~offered == 0, "\(value)")
                }
                let references = try #require(listed.references)
                #expect(made.device.structure.list0Limit <= references.list0)
                #expect(made.device.structure.consecutiveBFrames == 0 || references.list1 > 0)
                #expect(made.device.slices.count <= listed.maximumSlices ?? 1)
                #expect(made.device.qualityLevel ?? 1 <= listed.qualityLevels)
                #expect(made.device.maximumFrameSize == nil || listed.frameSizeLimit != nil)
                let hasMacroblocks = listed.rateControlModes.contains(.perMacroblock)
                #expect(made.device.rate.controlsMacroblocks != true || hasMacroblocks)
                try made.device.structure.validate()
            }
        }
        #expect(settled >= (driver == .lowPower ? 8 : 16))
    }

    @Test func aFullEncoderIsTakenIfBothDoTheSame() throws {
        #expect(try setup(.intel).device.entrypoint == .encSlice)
        #expect(try setup(.intel) { $0.hardware.lowPower = .required }.device.entrypoint == .encSliceLowPower)
        #expect(try setup(.skylake).device.entrypoint == .encSliceLowPower)
        let none = #expect(throws: MediaError.self) { try setup(.navi21) { $0.hardware.lowPower = .required } }
        #expect(none?.code == .unsupported && none?.allowed == "EncSlice")
        let only = #expect(throws: MediaError.self) { try setup(.dg2) { $0.hardware.lowPower = .avoided } }
        #expect(only?.code == .unsupported && only?.allowed == "EncSliceLP")
    }

    /// The full encoder of this driver has one slice and the low-power one several; only the low-power one has QVBR.
    @Test func theEncoderThatDoesMoreIsTaken() throws {
        let full: [ConfigAttribute: UInt32] = [
            .rateControl: UInt32(VA_RC_CQP | VA_RC_VBR), .maximumReferences: 0x20004, .maximumSlices: 1,
        ]
        var low = full
        low[.rateControl] = UInt32(VA_RC_CQP | VA_RC_VBR | VA_RC_QVBR)
        (low[.maximumReferences], low[.maximumSlices], low[.sliceStructure]) = (3, 64, 0x10)
        let both = [
            DriverNumbers.capabilities(VAProfileH264High, VAEntrypointEncSliceLP, low),
            DriverNumbers.capabilities(VAProfileH264High, VAEntrypointEncSlice, full),
        ]
        func chosen(_ change: (inout EncoderConfiguration) -> Void) throws -> Entrypoint {
            var configuration = EncoderConfiguration(width: 640, height: 360)
            change(&configuration)
            let setup = try H264Setup(configuration, capabilities: both, vendor: "", maximumReorderDepth: nil)
            return setup.device.entrypoint
        }
        #expect(try chosen { _ in } == .encSlice)
        #expect(try chosen { $0.slices = 4 } == .encSliceLowPower)
        #expect(try chosen { $0.bFrames = .maximum(2) } == .encSlice)
        #expect(try chosen { $0.rateControl = .constantQuality(20, peak: .limit(2_000_000)) } == .encSliceLowPower)
    }

    @Test func sizesBeyondTheLimitsAreRefused() throws {
        let large = #expect(throws: MediaError.self) { try setup(.navi21, 2304, 4096) }
        #expect(large?.code == .unsupported && large?.given == "2304x4096" && large?.allowed == "1x1 to 4096x2304")
        let small = #expect(throws: MediaError.self) { try setup(.skylake, 16, 64) }
        #expect(small?.allowed == "32x32 to 4096x4096")
        #expect(try setup(.amd, 16, 16).device.slices == [0..<1])
        #expect(throws: MediaError.self) { try setup(.intel) { $0.bitDepth = 10 } }
    }

    @Test func bFramesAreThoseThatTheReferencesAllow() throws {
        let full = try setup(.intel)
        #expect(full.device.structure.consecutiveBFrames == 3 && full.device.structure.pyramidDepth == 1)
        #expect(full.device.structure.list0Limit == 3 && full.device.structure.list1Limit == 1)
        #expect(full.stream.sequence.maxNumReorderFrames == 2 && full.device.adjustments.isEmpty)
        #expect(try setup(.skylake).device.structure.consecutiveBFrames == 0)
        #expect(try setup(.skylake).device.adjustments.isEmpty)
        let none = try setup(.navi21) { $0.bFrames = .maximum(2) }
        #expect(none.device.adjustments.map(\.property) == ["B-frames"])
        #expect(none.device.adjustments.first?.used == "0")
        #expect(try setup(.intel) { $0.bFrames = .off }.device.structure.consecutiveBFrames == 0)
        #expect(try setup(.intel) { $0.isLowLatency = true }.device.structure.consecutiveBFrames == 0)
        #expect(try setup(.intel) { $0.profile = .h264Baseline }.device.structure.consecutiveBFrames == 0)
        let plain = try setup(.intel) { $0.allowsBPyramid = false }
        #expect(plain.device.structure.consecutiveBFrames == 2 && plain.device.structure.pyramidDepth == 0)
        let deep = try setup(.intel) { $0.bFrames = .maximum(7) }
        #expect(deep.device.structure.pyramidDepth == 2 && deep.device.structure.consecutiveBFrames == 7)
    }

    @Test func theSessionsDepthLimitsReordering() throws {
        let flat = try setup(.intel, depth: 1)
        #expect(flat.device.structure.reorderDepth == 1 && flat.device.structure.consecutiveBFrames == 3)
        let none = try setup(.intel, depth: 0) { $0.bFrames = .maximum(3) }
        #expect(none.device.structure.consecutiveBFrames == 0)
        #expect(none.device.adjustments.map(\.property) == ["B-frames"])
    }

    /// Five pictures of 1080p are beyond level 4, which takes four; more are kept only if that was asked for.
    @Test func keptPicturesDoNotRaiseTheLevel() throws {
        let plain = try setup(.intel, 1920, 1080)
        #expect(plain.stream.level.name == "4" && plain.stream.sequence.maxNumRefFrames == 4)
        let demanded = try setup(.intel, 1920, 1080) { $0.longTermReferences = 4 }
        #expect(demanded.device.structure.longTermReferences == 4 && demanded.stream.level.name == "5")
        let held = try setup(.intel, 1920, 1080) {
            ($0.longTermReferences, $0.h264Level) = (4, H264Level(name: "4"))
        }
        #expect(held.device.structure.minimumPictureCount <= 4 && held.stream.level.name == "4")
        #expect(held.device.adjustments.map(\.property) == ["long-term references"])
    }

    @Test func headersGoTogetherOrNotAtAll() throws {
        #expect(try setup(.skylake).device.packedHeaders == [.sequence, .picture, .slice, .rawData])
        #expect(try setup(.navi21).device.packedHeaders.isEmpty)
        for taken in [0x1, 0x5, 0xD, 0x10] as [UInt32] {
            let one = DriverNumbers.capabilities(
                VAProfileH264High,
                VAEntrypointEncSlice,
                [.packedHeaders: taken, .rateControl: UInt32(VA_RC_VBR), .maximumReferences: 0x10003]
            )
            let setup = try H264Setup(
                EncoderConfiguration(width: 640, height: 360),
                capabilities: [one],
                vendor: "",
                maximumReorderDepth: nil
            )
            #expect(setup.device.packedHeaders.isEmpty && setup.device.structure.pyramidDepth == 0)
            #expect(setup.device.structure.list0Limit == 1 && setup.device.structure.consecutiveBFrames == 2)
            #expect(setup.device.attributes.contains(ConfigAttributeValue(.packedHeaders, 0)))
        }
    }

    @Test func keyFramesAndOpenGroups() throws {
        #expect(try setup(.intel).device.structure.randomAccess == .closed(interval: 150))
        #expect(try setup(.intel) { $0.allowsOpenGOP = true }.device.structure.randomAccess == .open(interval: 150))
        #expect(try setup(.amd) { $0.allowsOpenGOP = true }.device.structure.randomAccess == .closed(interval: 150))
        let variable = try setup(.intel) {
            ($0.isFrameRateVariable, $0.keyFrameInterval.frames) = (true, 400)
        }
        #expect(variable.device.structure.randomAccess == .closed(interval: 400))
        let intra = DriverNumbers.capabilities(
            VAProfileH264High,
            VAEntrypointEncSlice,
            [.rateControl: UInt32(VA_RC_CQP), .maximumReferences: 0]
        )
        var configuration = EncoderConfiguration(width: 640, height: 360)
        configuration.rateControl = .constantQuantizer(30)
        let only = try H264Setup(configuration, capabilities: [intra], vendor: "", maximumReorderDepth: nil)
        #expect(only.device.structure.randomAccess == .closed(interval: 1))
        #expect(only.device.adjustments.map(\.property) == ["key-frame interval"])
    }

    @Test func temporalLayers() throws {
        let three = try setup(.amd) { $0.temporalLayers = 3 }
        #expect(three.device.structure.temporalLayers == 3 && three.device.adjustments.isEmpty)
        let withBFrames = try setup(.intel) { $0.temporalLayers = 2 }
        #expect(withBFrames.device.structure.consecutiveBFrames == 1 && withBFrames.device.structure.pyramidDepth == 0)
    }

    @Test func intraRefresh() throws {
        let wave = try setup(.skylake) { ($0.usesIntraRefresh, $0.keyFrameInterval.frames) = (true, 30) }
        #expect(wave.device.intraRefresh == IntraRefreshWave(isColumn: true, length: 80, period: 30))
        #expect(wave.device.structure.randomAccess == .intraRefresh(period: 30))
        let blocks = (0..<30).map { wave.device.intraRefresh?.blocks(at: $0) ?? 0..<0 }
        #expect(blocks.first?.lowerBound == 0 && blocks.last?.upperBound == 80)
        // Each begins with the last column of the one before.
        for (one, next) in zip(blocks, blocks.dropFirst()) {
            #expect(next.lowerBound == one.upperBound - 1 && next.upperBound > one.upperBound)
        }
        let slow = try setup(.skylake) { ($0.usesIntraRefresh, $0.keyFrameInterval.frames) = (true, 100) }
        #expect(slow.device.intraRefresh?.period == 80)
        #expect(slow.device.adjustments.map(\.property) == ["intra refresh"])
        let without = try setup(.intel) { $0.usesIntraRefresh = true }
        #expect(without.device.intraRefresh == nil)
        #expect(without.device.structure.randomAccess == .closed(interval: 150))
        #expect(without.device.adjustments.map(\.property) == ["intra refresh"])
    }

    @Test func otherWishes() throws {
        let asked = try setup(.navi21) {
            ($0.hardware.qualityLevel, $0.maximumFrameSize, $0.isLowLatency) = (40, 50_000, true)
        }
        #expect(asked.device.maximumFrameSize == 50_000 && asked.device.framesInFlight == 1)
        #expect(asked.device.adjustments.map(\.property) == ["quality level"])
        let fewer = try setup(.amd) { ($0.hardware.qualityLevel, $0.maximumFrameSize) = (4, 50_000) }
        #expect(fewer.device.qualityLevel == nil && fewer.device.maximumFrameSize == nil)
        #expect(fewer.device.framesInFlight == 4)
        #expect(Set(fewer.device.adjustments.map(\.property)) == ["quality level", "maximum frame size"])
        #expect(try setup(.dg2).device.regions.count == 16 && setup(.navi21).device.regions.count == 0)
    }

    /// Hundreds of frames per second are 16 bits in iHD.
    @Test func frameRatesThatRateControlCannotCount() throws {
        func code(_ driver: DriverNumbers, _ frames: Int32, _ rate: RateControl) -> MediaError.Code? {
            do {
                _ = try setup(driver) { ($0.frameRate, $0.rateControl) = (Rational(frames), rate) }
                return nil
            } catch {
                return error.code
            }
        }
        let rate = RateControl.averageBitRate(1_000_000)
        #expect(code(.skylake, 655, rate) == nil && code(.skylake, 656, rate) == .unsupported)
        #expect(code(.skylake, 1000, .constantQuantizer(30)) == nil && code(.navi21, 1000, rate) == nil)
    }

    /// GPUs before Gen11 fail pictures with other regions while they control the rate.
    @Test func regionsOfOldIntelGPUs() throws {
        func regions(_ driver: DriverNumbers, _ rate: RateControl, controls: Bool? = nil) throws -> RegionLimits {
            try setup(driver) { ($0.rateControl, $0.hardware.controlsMacroblocks) = (rate, controls) }.device.regions
        }
        let rate = RateControl.averageBitRate(1_000_000)
        #expect(try regions(.skylake, rate).count == 0, "since 24.1.4 it controls no macroblocks by itself")
        #expect(try regions(.skylake, rate, controls: true) == RegionLimits(count: 3, offsets: -8...7))
        #expect(try regions(.skylake, rate, controls: false).count == 0)
        #expect(try regions(.skylake, .constantQuantizer(30)) == RegionLimits(count: 3, offsets: -51...51))
        #expect(try regions(.dg2, rate, controls: false) == RegionLimits(count: 16, offsets: -51...51))
    }

    @Test func aDriverWithoutH264IsRefused() throws {
        let hevc = DriverNumbers.capabilities(VAProfileHEVCMain, VAEntrypointEncSlice, [:])
        let error = #expect(throws: MediaError.self) {
            try H264Setup(EncoderConfiguration(), capabilities: [hevc], vendor: "x", maximumReorderDepth: nil)
        }
        #expect(error?.code == .unsupported && error?.allowed == "HEVCMain with EncSlice")
        #expect(throws: MediaError.self) { try setup(.lowPower) { $0.rateControl = .constantBitRate(1_000_000) } }
    }
}
