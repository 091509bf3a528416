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

    /// `CpbVclFactor` of table A.10.
    @Test func ratesGrowWithTheProfile() throws {
        let level = try #require(HEVCLevel(name: "4"))
        let factors: [VideoProfile: Int] = [
            .hevcMain: 1000, .hevcMain10: 1000, .hevcMain12: 1500, .hevcMain422Bits10: 1667, .hevcMain422Bits12: 2000,
            .hevcMain444: 2000, .hevcMain444Bits10: 2500, .hevcMain444Bits12: 3000,
        ]
        #expect(factors.count == VideoProfile.allCases.count { $0.codec == .hevc })
        for (profile, factor) in factors {
            let most = RateLimit(bitsPerSecond: 12000 * factor, bufferSize: 12000 * factor)
            #expect(level.maximumRate(in: profile) == most)
            #expect(level.reasonAgainst(most, in: profile) == nil)
            let more = RateLimit(bitsPerSecond: 12000 * factor + 1, bufferSize: 0)
            #expect(level.reasonAgainst(more, in: profile) != nil)
        }
    }

    /// Flags of table A.2, in its order: 12, 10 and 8 bits, 4:2:2, 4:2:0, monochrome, intra, one picture, lower rate.
    @Test(arguments: [
        (VideoProfile.hevcMain12, "100110001", "Main 12"), (.hevcMain422Bits10, "110100001", "Main 4:2:2 10"),
        (.hevcMain422Bits12, "100100001", "Main 4:2:2 12"), (.hevcMain444, "111000001", "Main 4:4:4"),
        (.hevcMain444Bits10, "110000001", "Main 4:4:4 10"), (.hevcMain444Bits12, "100000001", "Main 4:4:4 12"),
    ])
    func rangeExtensionsAreToldApartByTheirConstraints(profile: VideoProfile, flags: String, name: String) throws {
        let told = try #require(profile.hevcProfile)
        let constraints = told.constraints
        let found = [
            constraints.max12bit, constraints.max10bit, constraints.max8bit, constraints.max422chroma,
            constraints.max420chroma, constraints.maxMonochrome, constraints.intra, constraints.onePictureOnly,
            constraints.lowerBitRate,
        ]
        #expect(found.map { $0 ? "1" : "0" }.joined() == flags)
        #expect(told.profileIdc == 4 && told.profileCompatibilityFlags == 0x0800_0000 && told.name == name)
        #expect(profile.isRangeExtension)
    }

    @Test func theLeastProfileIsFound() {
        let found = [ChromaFormat.yuv420, .yuv422, .yuv444].flatMap { chroma in
            [8, 10, 12].map { VideoProfile.hevc(chroma, bitDepth: $0) }
        }
        let expected: [VideoProfile] = [
            .hevcMain, .hevcMain10, .hevcMain12, .hevcMain422Bits10, .hevcMain422Bits10, .hevcMain422Bits12,
            .hevcMain444, .hevcMain444Bits10, .hevcMain444Bits12,
        ]
        #expect(found == expected)
    }
}
