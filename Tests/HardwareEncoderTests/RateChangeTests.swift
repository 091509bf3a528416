// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing
import VAAPI

@testable import HardwareEncoder

/// Which changes an encoder at work can take, and with which numbers.
@Suite struct RateChangeTests {
    private func change(
        _ driver: DriverNumbers = .intel,
        from before: (inout EncoderConfiguration) -> Void,
        to after: (inout EncoderConfiguration) -> Void
    ) throws -> RatePlan? {
        var configuration = EncoderConfiguration(width: 640, height: 360)
        before(&configuration)
        let setup = try H264Setup(
            configuration,
            capabilities: driver.capabilities,
            vendor: driver.vendor,
            maximumReorderDepth: nil
        )
        after(&configuration)
        return setup.rate(changedTo: configuration)
    }

    @Test func averagesAndPeaks() throws {
        let limited = RateControl.averageBitRate(1_000_000, peak: .limit(1_500_000))
        let lower = try change(from: { $0.rateControl = limited }) {
            $0.rateControl = .averageBitRate(500_000, peak: .limit(750_000, window: 2))
        }
        #expect(lower?.mode == .vbr && lower?.target?.bufferSize == 1_500_000 && lower?.target?.percentage == 67)
        let without = try change(from: { $0.rateControl = limited }) {
            $0.rateControl = .averageBitRate(1_000_000, peak: .unlimited)
        }
        #expect(without == nil)
        let with = try change(from: { $0.rateControl = .averageBitRate(1_000_000) }) { $0.rateControl = limited }
        #expect(with?.target?.bufferSize == 1_500_000)
        let free = try change(from: { $0.rateControl = .averageBitRate(1_000_000, peak: .unlimited) }) {
            $0.rateControl = .averageBitRate(2_000_000, peak: .unlimited)
        }
        #expect(free?.mode == .avbr && free?.target?.peak == 2_000_000)
    }

    @Test func theLevelStays() throws {
        // Level 3 takes 12.5 Mbit/s in High profile.
        func raised(to rate: Int) throws -> RatePlan? {
            try change(from: { $0.rateControl = .averageBitRate(1_000_000, peak: .unlimited) }) {
                $0.rateControl = .averageBitRate(rate, peak: .unlimited)
            }
        }
        #expect(try raised(to: 12_500_000) != nil && raised(to: 12_500_001) == nil)
    }

    @Test func whatTheStreamTellsOfARateStays() throws {
        func lowered(_ driver: DriverNumbers, isLowLatency: Bool = false) throws -> RatePlan? {
            let before = { (configuration: inout EncoderConfiguration) in
                (configuration.rateControl, configuration.isLowLatency) = (.constantBitRate(1_000_000), isLowLatency)
            }
            return try change(driver, from: before) {
                $0.rateControl = .constantBitRate(512_000)
            }
        }
        #expect(try lowered(.intel) == nil)
        #expect(try lowered(.intel, isLowLatency: true)?.target?.peak == 512_000)
        #expect(try lowered(.amd)?.target?.peak == 512_000)
    }

    @Test func whatCanChangeIsTold() throws {
        func canChange(_ driver: DriverNumbers, _ control: RateControl) throws -> Bool {
            var configuration = EncoderConfiguration(width: 640, height: 360)
            configuration.rateControl = control
            let setup = try H264Setup(
                configuration,
                capabilities: driver.capabilities,
                vendor: driver.vendor,
                maximumReorderDepth: nil
            )
            return setup.device.supportedProperties.contains(.bitRateUpdate)
        }
        #expect(try canChange(.intel, .averageBitRate(1_000_000)))
        #expect(try !canChange(.intel, .constantBitRate(1_000_000)) && canChange(.amd, .constantBitRate(1_000_000)))
        #expect(try !canChange(.intel, .constantQuantizer(20)))
    }

    @Test func qualitiesAndQuantizers() throws {
        let quality = try change(from: { $0.rateControl = .constantQuality(25) }) {
            $0.rateControl = .constantQuality(30)
        }
        #expect(quality?.mode == .icq && quality?.quality == 30)
        // iHD would take it and go on as before.
        let unfollowed = try change(.dg2, from: { $0.rateControl = .constantQuality(25) }) {
            $0.rateControl = .constantQuality(30)
        }
        #expect(unfollowed == nil)
        let quantizer = try change(.lowPower, from: { $0.rateControl = .constantQuantizer(25) }) {
            $0.rateControl = .constantQuantizer(0)
        }
        #expect(quantizer?.quantizer == 1 && quantizer?.adjustments.map(\.property) == ["quantizer"])
    }

    @Test func frameRates() throws {
        let constant = try change(from: { _ in }) { $0.frameRate = Rational(25) }
        #expect(constant == nil)
        let variable = try change(from: { $0.isFrameRateVariable = true }) { $0.frameRate = Rational(25) }
        #expect(variable != nil)
        let beyond = try change(from: { $0.isFrameRateVariable = true }) { $0.frameRate = Rational(1000) }
        #expect(beyond == nil)
    }

    @Test func nothingElseChanges() throws {
        #expect(try change(from: { _ in }) { $0.slices = 2 } == nil)
        #expect(try change(from: { _ in }) { $0.rateControl = .constantQuantizer(20) } == nil)
        #expect(try change(from: { _ in }) { _ in } != nil)
    }
}
