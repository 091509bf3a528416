// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing
import VAAPI

@testable import HardwareEncoder

/// Which mode of a driver does what was asked for, and with which numbers.
@Suite struct RatePlanTests {
    private static let everything: RateControlModes = [.cqp, .cbr, .vbr, .icq, .qvbr, .avbr, .perMacroblock]

    private func plan(
        _ control: RateControl,
        _ modes: RateControlModes = everything,
        allowsReordering: Bool = false
    ) throws(MediaError) -> RatePlan {
        var configuration = EncoderConfiguration(width: 640, height: 360)
        configuration.rateControl = control
        configuration.bFrames = allowsReordering ? .automatic : .off
        return try RatePlan(configuration, limit: configuration.rateLimit(codec: .h264), modes: modes)
    }

    /// The average is met to the bit per percent, and the peak is as near to what was asked as that lets it.
    @Test(arguments: [100_000, 1_000_000, 1_234_567, 5_120_000, 999_999_999])
    func averagesAreMetAndPeaksNotExceeded(average: Int) throws {
        for peak in [average, average * 5 / 4, average * 3 / 2, average * 7 / 3, average * 90] {
            let target = try #require(try plan(.averageBitRate(average, peak: .limit(peak, window: 2))).target)
            let met = target.peak * target.percentage / 100
            #expect((average - 100...average).contains(met), "\(target)")
            #expect(target.peak <= peak && target.peak >= average && (1...100).contains(target.percentage))
            #expect(target.peak > peak - peak / target.percentage - 100, "\(target) of \(peak)")
            #expect(target.window == 2000 && target.bufferSize == peak * 2)
        }
    }

    @Test func theOriginalsPeakIsTheDefault() throws {
        let target = try #require(try plan(.averageBitRate(3_000_000)).target)
        #expect(target == .init(peak: 4_477_611, percentage: 67, window: 1000, bufferSize: 4_500_000))
        let free = try #require(try plan(.averageBitRate(3_000_000), allowsReordering: true).target)
        #expect(free == .init(peak: 6_000_000, percentage: 50, window: 1000, bufferSize: nil))
    }

    @Test func thatThereIsALimitAfterAllIsTold() throws {
        let without = try plan(.averageBitRate(1_000_000, peak: .unlimited), [.cqp, .vbr])
        #expect(without.mode == .vbr && without.adjustments.map(\.property) == ["peak bitrate"])
        let with = try plan(.averageBitRate(1_000_000, peak: .unlimited), [.cqp, .vbr, .avbr])
        #expect(with.mode == .avbr && with.adjustments.isEmpty)
    }

    @Test func aFullnessNeedsABuffer() throws {
        var configuration = EncoderConfiguration(width: 640, height: 360)
        configuration.initialBufferFullness = 0.5
        configuration.rateControl = .averageBitRate(1_000_000, peak: .limit(2_000_000))
        let limit = configuration.rateLimit(codec: .h264)
        let limited = try RatePlan(configuration, limit: limit, modes: Self.everything)
        #expect(limited.initialFullness == 1_000_000 && limited.adjustments.isEmpty)
        configuration.rateControl = .averageBitRate(1_000_000, peak: .unlimited)
        let free = try RatePlan(configuration, limit: nil, modes: Self.everything)
        #expect(free.initialFullness == nil && free.adjustments.map(\.property) == ["initial buffer fullness"])
    }

    /// A level limits the peak that drivers want and nobody has asked for, never one that was asked for.
    @Test func peaksThatNobodyAskedForKeepToTheLevel() throws {
        let free = try plan(.averageBitRate(3_000_000), [.vbr], allowsReordering: true)
        #expect(free.keepingPeak(below: 7_000_000) == free)
        for limit in [3_000_000, 4_000_000, 5_999_999] {
            let target = try #require(free.keepingPeak(below: limit).target)
            #expect(target.peak <= limit && target.bufferSize == nil, "\(target)")
            #expect((2_999_900...3_000_000).contains(target.peak * target.percentage / 100), "\(target)")
        }
        let asked = try plan(.averageBitRate(3_000_000, peak: .limit(6_000_000)))
        #expect(asked.keepingPeak(below: 4_000_000) == asked)
    }

    @Test func constantRates() throws {
        let plan = try plan(.constantBitRate(2_000_000, window: 0.5))
        #expect(plan.mode == .cbr && plan.adjustments.isEmpty)
        #expect(plan.target == .init(peak: 2_000_000, percentage: 100, window: 500, bufferSize: 1_000_000))
        let error = #expect(throws: MediaError.self) { try self.plan(.constantBitRate(1_000_000), [.cqp]) }
        #expect(error?.code == .unsupported && error?.cause == .rateControlMissing)
    }

    @Test func anAverageBecomesConstantWhereThereIsNothingElse() throws {
        let plan = try plan(.averageBitRate(1_000_000), [.cqp, .cbr])
        #expect(plan.mode == .cbr && plan.target?.peak == 1_000_000)
        #expect(
            plan.adjustments.map(\.description) == [
                "rate control average becomes constant: the driver has no variable bitrate mode"
            ]
        )
    }

    @Test func qualities() throws {
        let plain = try plan(.constantQuality(23))
        #expect(plain.mode == .icq && plain.quality == 23 && plain.target == nil && plain.adjustments.isEmpty)
        let capped = try plan(.constantQuality(23, peak: .limit(4_000_000)))
        #expect(capped.mode == .qvbr && capped.quality == 23 && capped.target?.peak == 4_000_000)
        let uncapped = try plan(.constantQuality(23, peak: .limit(4_000_000)), [.cqp, .icq])
        #expect(uncapped.mode == .icq && uncapped.adjustments.map(\.property) == ["peak bitrate"])
        let quantizer = try plan(.constantQuality(22.6), [.cqp, .cbr, .vbr])
        #expect(quantizer.mode == .cqp && quantizer.quantizer == 23)
        #expect(quantizer.adjustments.map(\.property) == ["rate control", "quality"])
        #expect(try plan(.constantQuality(0)).quality == 1)
    }

    @Test func quantizersStayInTheirRange() throws {
        var configuration = EncoderConfiguration(width: 640, height: 360)
        (configuration.rateControl, configuration.quantizerRange) = (.constantQuantizer(30), 29...31)
        configuration.hardware.controlsMacroblocks = true
        let constant = try RatePlan(configuration, limit: nil, modes: Self.everything)
        #expect(constant.constantQuantizers == 29...31 && constant.quantizer == 30)
        #expect(constant.adjustments.map(\.property) == ["macroblock rate control"])
        (configuration.rateControl, configuration.quantizerRange) = (.averageBitRate(10_000), 0...20)
        let average = try RatePlan(configuration, limit: nil, modes: Self.everything)
        #expect(average.quantizerRange == 0...20 && average.quantizer == 20 && average.controlsMacroblocks == true)
        #expect(try plan(.constantQuantizer(30)).constantQuantizers == 1...51)
    }

    @Test func initialQuantizersFollowTheRate() {
        let configuration = EncoderConfiguration(width: 1000, height: 1000)
        // A tenth of a bit for each of 30 million samples in a second, and half and twice of that.
        #expect(RatePlan.estimatedQuantizer(3_000_000, configuration) == 26)
        #expect(RatePlan.estimatedQuantizer(1_500_000, configuration) == 32)
        #expect(RatePlan.estimatedQuantizer(6_000_000, configuration) == 20)
        #expect(RatePlan.estimatedQuantizer(1_000, configuration) == 40)
        #expect(RatePlan.estimatedQuantizer(1_000_000_000, configuration) == 18)
    }

    @Test func quantizers() throws {
        let plan = try plan(.constantQuantizer(30), [.cqp])
        #expect(plan.mode == .cqp && plan.quantizer == 30 && plan.target == nil && plan.adjustments.isEmpty)
        let lossless = try self.plan(.constantQuantizer(0))
        #expect(lossless.quantizer == 1 && lossless.adjustments.map(\.property) == ["quantizer"])
        #expect(throws: MediaError.self) { try self.plan(.constantQuantizer(30), [.cbr]) }
    }
}
