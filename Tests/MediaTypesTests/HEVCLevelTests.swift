// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

/// Levels of HEVC, by hand from tables A.8 and A.9.
@Suite struct HEVCLevelTests {
    @Test func namesAreThoseOfTheSpecification() {
        #expect(HEVCLevel(name: "4.0")?.levelIDC == 120)
        #expect(HEVCLevel(name: "4.0-high")?.isHighTier == true)
        #expect(HEVCLevel(name: "4.1-high")?.name == "4.1-high")
        #expect(HEVCLevel(name: "3.1-high") == nil && HEVCLevel(name: "1.1") == nil)
        #expect(HEVCLevel(levelIDC: 186, isHighTier: false)?.name == "6.2")
        for level in HEVCLevel.all {
            #expect(HEVCLevel(name: level.name) == level)
            #expect(HEVCLevel(levelIDC: level.levelIDC, isHighTier: level.isHighTier) == level)
        }
        #expect(HEVCLevel.all.count == 13 + 8)
    }

    @Test func theLowestTakesSizeAndRate() {
        func lowest(_ width: Int, _ height: Int, _ rate: Int32) -> String? {
            HEVCLevel.lowest(width: width, height: height, frameRate: Rational(rate))?.name
        }
        #expect(lowest(176, 144, 15) == "1")
        #expect(lowest(1280, 720, 30) == "3.1")
        #expect(lowest(1920, 1080, 30) == "4" && lowest(1920, 1080, 60) == "4.1")
        #expect(lowest(3840, 2160, 30) == "5" && lowest(3840, 2160, 60) == "5.1")
        #expect(lowest(7680, 4320, 120) == "6.2" && lowest(7680, 4320, 130) == nil)
        // A side has at most the square root of eight pictures.
        #expect(lowest(4222, 64, 1) == "4" && lowest(4224, 64, 1) == "5")
        #expect(lowest(.max, 2, 30) == nil && lowest(.max, .max, .max) == nil)
    }

    @Test func theBufferHoldsMoreOfSmallPictures() throws {
        let level = try #require(HEVCLevel(name: "4"))
        // A quarter, a half and three quarters of 2228224 samples.
        #expect(level.decodedPictures(width: 1024, height: 544) == 15)
        #expect(level.decodedPictures(width: 1024, height: 545) == 11)
        #expect(level.decodedPictures(width: 2048, height: 544) == 11)
        #expect(level.decodedPictures(width: 2048, height: 816) == 7)
        #expect(level.decodedPictures(width: 2048, height: 817) == 5)
        #expect(level.decodedPictures(width: 2048, height: 1088) == 5)
        #expect(level.decodedPictures(width: 2048, height: 1089) == 0)
        #expect(level.decodedPictures(width: .max, height: .max) == 0)
    }

    @Test func tiersDifferInRates() throws {
        let (main, high) = try (#require(HEVCLevel(name: "5.1")), #require(HEVCLevel(name: "5.1-high")))
        #expect(main.maximumRate == RateLimit(bitsPerSecond: 40_000_000, bufferSize: 40_000_000))
        #expect(high.maximumRate == RateLimit(bitsPerSecond: 160_000_000, bufferSize: 160_000_000))
        #expect(main.reasonAgainst(high.maximumRate) != nil && high.reasonAgainst(main.maximumRate) == nil)
    }

    @Test func configurationsAreHeldAgainstTheirs() throws {
        var configuration = EncoderConfiguration(width: 1920, height: 1080)
        configuration.hevcLevel = HEVCLevel(name: "4")
        #expect(throws: Never.self) { try configuration.validated(for: .hevc) }
        configuration.frameRate = Rational(60)
        let tooFast = #expect(throws: MediaError.self) { try configuration.validated(for: .hevc) }
        #expect(tooFast?.allowed == "level 4.1 or higher")
        configuration.frameRate = Rational(30)
        configuration.rateControl = .averageBitRate(20_000_000)
        let tooMuch = #expect(throws: MediaError.self) { try configuration.validated(for: .hevc) }
        #expect(tooMuch?.allowed == "level 4.1 or higher")
        // H.264 has levels of its own.
        #expect(throws: Never.self) { try configuration.validated(for: .h264) }
    }
}
