// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@testable import HardwareEncoder

/// Profile, level and parameter sets from what was asked for.
@Suite struct H264StreamTests {
    private static let all: [VideoProfile] = [.h264Baseline, .h264Main, .h264High]

    private func stream(
        _ width: Int = 1280,
        _ height: Int = 720,
        traits: StreamTraits = .init(profiles: all),
        tools: H264Tools = .init(),
        _ change: (inout EncoderConfiguration) -> Void = { _ in }
    ) throws(MediaError) -> H264Stream {
        var configuration = EncoderConfiguration(width: width, height: height)
        configuration.bFrames = .off
        change(&configuration)
        return try H264Stream(configuration.validated(for: .h264).configuration, traits, tools)
    }

    @Test func theSetsComeBackAsTheyAre() throws {
        for size in [(64, 64), (176, 144), (642, 358), (1920, 1080), (4096, 2304)] {
            let stream = try stream(size.0, size.1) { $0.rateControl = .constantQuantizer(30) }
            let sets = try stream.parameterSets()
            let sequence = try H264SequenceParameterSet(nalUnit: sets[0])
            #expect(sequence == stream.sequence)
            #expect(sequence.displaySize == PictureSize(width: size.0, height: size.1))
            #expect(try H264PictureParameterSet(nalUnit: sets[1]) == stream.picture)
        }
    }

    @Test func theProfileIsTheBestThatThereIs() throws {
        #expect(try stream().profile == .h264High)
        #expect(try stream(traits: .init(profiles: [.h264Main, .h264Baseline])).profile == .h264Main)
        #expect(try stream { $0.profile = .h264Baseline }.sequence.profileIdc == 66)
        let none = #expect(throws: MediaError.self) {
            try stream(traits: .init(profiles: [.h264Baseline])) { $0.profile = .h264High }
        }
        #expect(none?.code == .unsupported && none?.given == "high" && none?.allowed == "baseline")
        let cabac = #expect(throws: MediaError.self) {
            try stream(traits: .init(profiles: [.h264Baseline])) { $0.entropyMode = .cabac }
        }
        #expect(cabac?.code == .unsupported)
    }

    @Test func theLevelIsTheLowestThatTakesTheStream() throws {
        func level(
            _ width: Int,
            _ height: Int,
            _ pictures: Int = 1,
            _ change: (inout EncoderConfiguration) -> Void
        ) throws -> String {
            var traits = StreamTraits(profiles: Self.all)
            traits.referenceFrames = pictures
            return try stream(width, height, traits: traits, change).level.name
        }
        // Table A-1, by hand: macroblocks, macroblocks per second, MaxBR times 1250 in High.
        #expect(try level(176, 144) { ($0.frameRate, $0.rateControl) = (Rational(15), .averageBitRate(50_000)) } == "1")
        #expect(try level(1280, 720) { $0.rateControl = .constantQuantizer(20) } == "3.1")
        #expect(try level(1920, 1080) { $0.rateControl = .constantQuantizer(20) } == "4")
        #expect(
            try level(1920, 1080) { ($0.frameRate, $0.rateControl) = (Rational(60), .constantQuantizer(20)) } == "4.2"
        )
        // 20000 * 1250 bit/s is the end of level 4.
        #expect(try level(1920, 1080) { $0.rateControl = .averageBitRate(25_000_000, peak: .unlimited) } == "4")
        #expect(try level(1920, 1080) { $0.rateControl = .averageBitRate(25_000_001, peak: .unlimited) } == "4.1")
        // Four pictures of 8160 macroblocks fit into 32768, five do not.
        #expect(try level(1920, 1080, 4) { $0.rateControl = .constantQuantizer(20) } == "4")
        #expect(try level(1920, 1080, 5) { $0.rateControl = .constantQuantizer(20) } == "5")
        let beyond = #expect(throws: MediaError.self) {
            try level(1920, 1080, 5) { ($0.h264Level, $0.rateControl) = (H264Level(name: "4"), .constantQuantizer(20)) }
        }
        #expect(beyond?.message == "the stream exceeds level 4")
    }

    @Test func level1bIsToldByProfile() throws {
        let high = try stream(176, 144) {
            ($0.h264Level, $0.rateControl) = (H264Level(name: "1b"), .averageBitRate(100_000))
            $0.frameRate = Rational(15)
        }
        #expect(high.sequence.levelIdc == 9 && !high.sequence.constraintSet3Flag && high.sequence.level == "1b")
        let main = try stream(176, 144) {
            ($0.h264Level, $0.rateControl) = (H264Level(name: "1b"), .averageBitRate(80_000))
            ($0.profile, $0.frameRate) = (.h264Main, Rational(15))
        }
        #expect(main.sequence.levelIdc == 11 && main.sequence.constraintSet3Flag && main.sequence.level == "1b")
    }

    /// What the stream tells is what the encoder is told, to the bit.
    @Test(arguments: [64_000, 1_000_000, 5_120_000, 1_234_567, 100_000_001])
    func constantRatesAreToldExactly(rate: Int) throws {
        var traits = StreamTraits(profiles: Self.all)
        traits.sendsTiming = true
        let stream = try stream(traits: traits) { $0.rateControl = .constantBitRate(rate, window: 1.5) }
        let limit = try #require(stream.rateLimit)
        let decoder = try #require(stream.sequence.vui?.nalHRD)
        let schedule = decoder.schedules[0]
        #expect(schedule.cbrFlag)
        #expect((Int(schedule.bitRateValueMinus1) + 1) << (6 + Int(decoder.bitRateScale)) == limit.bitsPerSecond)
        #expect((Int(schedule.cpbSizeValueMinus1) + 1) << (4 + Int(decoder.cpbSizeScale)) == limit.bufferSize)
        #expect((rate - 63...rate).contains(limit.bitsPerSecond))
        #expect(stream.adjustments.map(\.property) == (rate % 64 == 0 ? [] : ["bitrate"]))
    }

    @Test func ratesAreNotToldWithoutTiming() throws {
        let stream = try stream { $0.rateControl = .constantBitRate(1_000_000) }
        #expect(stream.sequence.vui?.nalHRD == nil && stream.rateLimit != nil)
    }

    @Test func timeColourAndAspectAreTold() throws {
        let stream = try stream {
            $0.frameRate = Rational(30000, 1001)
            $0.color = .hdr10
            $0.color?.chromaLocation = .topLeft
            $0.pixelAspectRatio = Rational(64, 45)
        }
        let usability = try #require(stream.sequence.vui)
        #expect(usability.timing == .init(numUnitsInTick: 1001, timeScale: 60000, fixedFrameRateFlag: true))
        #expect(stream.sequence.frameRate == PositiveRatio(30000, 1001))
        #expect(
            stream.sequence.colourDescription
                == ColourCodePoints(colourPrimaries: 9, transferCharacteristics: 16, matrixCoefficients: 9)
        )
        #expect(usability.signal.chromaLocation?.topField == 2 && !stream.sequence.isFullRange)
        #expect(stream.sequence.sampleAspectRatio == PositiveRatio(64, 45))
        let variable = try self.stream { $0.isFrameRateVariable = true }
        #expect(variable.sequence.vui?.timing?.fixedFrameRateFlag == false)
        #expect(variable.sequence.vui?.signal.signalType == nil)
    }

    @Test func hugeAspectRatiosAreReported() throws {
        let stream = try stream { $0.pixelAspectRatio = Rational(1_000_003, 500_000) }
        #expect(stream.sequence.sampleAspectRatio == PositiveRatio(65535, 32767))
        #expect(stream.adjustments.map(\.property) == ["pixel aspect ratio"])
    }

    @Test func reorderingIsTold() throws {
        var traits = StreamTraits(profiles: Self.all)
        (traits.referenceFrames, traits.reorderDepth, traits.activeReferences) = (4, 2, [3, 2])
        let stream = try stream(traits: traits) { $0.bFrames = .automatic }
        #expect(stream.sequence.maxNumReorderFrames == 2)
        #expect(stream.sequence.vui?.bitstreamRestriction?.maxDecFrameBuffering == 4)
        #expect(
            stream.picture.numRefIdxL0DefaultActiveMinus1 == 2 && stream.picture.numRefIdxL1DefaultActiveMinus1 == 1
        )
        #expect(try self.stream().sequence.maxNumReorderFrames == 0)
    }

    @Test func theEncoderDecidesAboutCABACAndTheLargeTransform() throws {
        #expect(try stream().picture.entropyCodingModeFlag)
        #expect(try stream().picture.high?.transform8x8ModeFlag == true)
        var tools = H264Tools()
        (tools.hasCABAC, tools.has8x8Transform) = (false, false)
        let without = try stream(tools: tools) { $0.entropyMode = .cabac }
        #expect(!without.picture.entropyCodingModeFlag && without.picture.high?.transform8x8ModeFlag == false)
        #expect(without.adjustments.map(\.property) == ["entropy"])
        #expect(try !stream { $0.entropyMode = .cavlc }.picture.entropyCodingModeFlag)
        let main = try stream { $0.profile = .h264Main }
        #expect(main.picture.high == nil && main.picture.entropyCodingModeFlag)
    }
}
