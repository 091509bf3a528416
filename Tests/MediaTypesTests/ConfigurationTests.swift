// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@Suite struct ConfigurationTests {
    @Test func theDefaultsAreThoseOfTheCameraApp() throws {
        let configuration = EncoderConfiguration()
        #expect(configuration.width == 1080)
        #expect(configuration.height == 1920)
        #expect(configuration.rateControl.bitsPerSecond == 5000 * 1024)
        #expect(configuration.frameRate == Rational(30) && configuration.frameRate == 30)
        #expect(configuration.keyFrameInterval.frameCount(at: configuration.frameRate) == 150)
        #expect(configuration.bFrames == .automatic)
        #expect(configuration.profile == nil)
        let (validated, adjustments) = try configuration.validated(for: .h264)
        #expect(validated == configuration)
        #expect(adjustments.isEmpty)
    }

    @Test func oddSizesAreRoundedDownAndReported() throws {
        let (validated, adjustments) = try EncoderConfiguration(width: 641, height: 359).validated(for: .h264)
        #expect(validated.width == 640)
        #expect(validated.height == 358)
        #expect(adjustments.map(\.requested) == ["641x359"])
        #expect(adjustments.map(\.used) == ["640x358"])
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var given: String
        var allowed: String
        var change: @Sendable (inout EncoderConfiguration) -> Void
    }

    static let refusals: [Refusal] = [
        Refusal(testDescription: "no width", given: "0x1920", allowed: "2x2") { $0.width = 0 },
        Refusal(testDescription: "one line", given: "1080x1", allowed: "2x2") { $0.height = 1 },
        Refusal(testDescription: "huge", given: "40000x1920", allowed: "32768") { $0.width = 40000 },
        Refusal(testDescription: "no rate", given: "0", allowed: "0.01...1000") { $0.frameRate = Rational(0) },
        Refusal(testDescription: "rate over zero", given: "1/0", allowed: "0.01") { $0.frameRate = Rational(1, 0) },
        Refusal(testDescription: "absurd rate", given: "100000", allowed: "1000") { $0.frameRate = Rational(100_000) },
        Refusal(testDescription: "no bits", given: "0 bit/s", allowed: "1000...") {
            $0.rateControl = .averageBitRate(0)
        },
        Refusal(testDescription: "negative bits", given: "-5 bit/s", allowed: "1000...") {
            $0.rateControl = .constantBitRate(-5)
        },
        Refusal(testDescription: "peak below average", given: "1000000 bit/s", allowed: "at least 2000000") {
            $0.rateControl = .averageBitRate(2_000_000, peak: .limit(1_000_000))
        },
        Refusal(testDescription: "endless window", given: "1e+30 s", allowed: "60") {
            $0.rateControl = .averageBitRate(2_000_000, peak: .limit(3_000_000, window: 1e30))
        },
        Refusal(testDescription: "window that is no number", given: "nan s", allowed: "60") {
            $0.rateControl = .constantBitRate(2_000_000, window: .nan)
        },
        Refusal(testDescription: "quality", given: "52.0", allowed: "0...51") { $0.rateControl = .constantQuality(52) },
        Refusal(testDescription: "quantizer", given: "-1", allowed: "0...51") {
            $0.rateControl = .constantQuantizer(-1)
        },
        Refusal(testDescription: "interval", given: "0 frames", allowed: "1...") { $0.keyFrameInterval.frames = 0 },
        Refusal(testDescription: "interval in no time", given: "0.0 s", allowed: "above 0") {
            $0.keyFrameInterval.duration = .zero
        },
        Refusal(testDescription: "HEVC's profile", given: "hevc-main", allowed: "baseline, main, high") {
            $0.profile = .hevcMain
        },
        Refusal(testDescription: "twelve bits", given: "12", allowed: "8, 10 for H.264") { $0.bitDepth = 12 },
        Refusal(testDescription: "4:2:2", given: "4:2:2", allowed: "4:2:0; HEVC has it") { $0.chromaFormat = .yuv422 },
        Refusal(testDescription: "no chroma", given: "4:0:0", allowed: "4:2:0") { $0.chromaFormat = .monochrome },
        Refusal(testDescription: "ten bits in high", given: "10 bits", allowed: "8 bits") {
            $0.bitDepth = 10
            $0.profile = .h264High
        },
        Refusal(testDescription: "B-frames in baseline", given: "2", allowed: "off") {
            $0.profile = .h264Baseline
            $0.bFrames = .maximum(2)
        },
        Refusal(testDescription: "CABAC in baseline", given: "cabac", allowed: "cavlc") {
            $0.profile = .h264Baseline
            $0.entropyMode = .cabac
        },
        Refusal(testDescription: "B-frames without delay", given: "2", allowed: "off") {
            $0.isLowLatency = true
            $0.bFrames = .maximum(2)
        },
        Refusal(testDescription: "B-frames with the tuning for no delay", given: "2", allowed: "off") {
            $0.software.tuning = .zerolatency
            $0.bFrames = .maximum(2)
        },
        Refusal(testDescription: "level", given: "8160 macroblocks", allowed: "level 4") {
            $0.h264Level = H264Level(name: "3.1")
        },
        Refusal(testDescription: "rate beyond main's level", given: "20000001 bit/s", allowed: "level 4.1") {
            $0.h264Level = H264Level(name: "4")
            $0.profile = .h264Main
            $0.rateControl = .averageBitRate(20_000_001)
        },
        Refusal(testDescription: "rate beyond high's level", given: "25000001 bit/s", allowed: "level 4.1") {
            $0.h264Level = H264Level(name: "4")
            $0.rateControl = .averageBitRate(25_000_001)
        },
        Refusal(testDescription: "rate beyond high10's level", given: "60000001 bit/s", allowed: "level 4.1") {
            $0.h264Level = H264Level(name: "4")
            $0.bitDepth = 10
            $0.rateControl = .averageBitRate(60_000_001)
        },
        Refusal(testDescription: "peak beyond the level", given: "30000000 bit/s", allowed: "level 4.1") {
            $0.h264Level = H264Level(name: "4")
            $0.bFrames = .off
            $0.rateControl = .averageBitRate(20_000_000, peak: .limit(30_000_000))
        },
        Refusal(testDescription: "average beyond the level", given: "26000000 bit/s", allowed: "level 4.1") {
            $0.h264Level = H264Level(name: "4")
            $0.bFrames = .off
            $0.rateControl = .averageBitRate(26_000_000)
        },
        Refusal(testDescription: "buffer beyond the level", given: "buffer of 40000000 bits", allowed: "level 4.1") {
            $0.h264Level = H264Level(name: "4")
            $0.rateControl = .constantBitRate(20_000_000, window: 2)
        },
        Refusal(testDescription: "buffer beyond all levels", given: "60000000000 bits", allowed: "within level 6.2") {
            $0.h264Level = H264Level(name: "6.2")
            $0.rateControl = .constantQuality(20, peak: .limit(1_000_000_000, window: 60))
        },
        Refusal(testDescription: "beyond all levels", given: "macroblocks", allowed: "6.2") {
            $0.width = 32768
            $0.height = 32768
        },
        Refusal(testDescription: "seventeen B-frames", given: "17", allowed: "1...16") { $0.bFrames = .maximum(17) },
        Refusal(testDescription: "B-frames with intra refresh", given: "2", allowed: "off") {
            $0.usesIntraRefresh = true
            $0.bFrames = .maximum(2)
        },
        Refusal(testDescription: "layers with intra refresh", given: "2 temporal layers", allowed: "1") {
            $0.usesIntraRefresh = true
            $0.temporalLayers = 2
        },
        Refusal(testDescription: "open groups with intra refresh", given: "open", allowed: "closed") {
            $0.usesIntraRefresh = true
            $0.allowsOpenGOP = true
        },
        Refusal(testDescription: "intra refresh without an interval", given: "no limit", allowed: "at least 2 frames") {
            $0.usesIntraRefresh = true
            $0.keyFrameInterval = KeyFrameInterval()
        },
        Refusal(testDescription: "intra refresh of one frame", given: "1 frame", allowed: "at least 2 frames") {
            $0.usesIntraRefresh = true
            $0.keyFrameInterval = KeyFrameInterval(frames: 1)
        },
        Refusal(testDescription: "no slices", given: "0", allowed: "1...256") { $0.slices = 0 },
        Refusal(testDescription: "too many slices", given: "257", allowed: "1...256") { $0.slices = 257 },
        Refusal(testDescription: "no layers", given: "0", allowed: "1...3") { $0.temporalLayers = 0 },
        Refusal(testDescription: "four layers", given: "4", allowed: "1...3") { $0.temporalLayers = 4 },
        Refusal(testDescription: "fewer than no references", given: "-1", allowed: "0...15") {
            $0.longTermReferences = -1
        },
        Refusal(testDescription: "sixteen references", given: "16", allowed: "0...15") { $0.longTermReferences = 16 },
        Refusal(testDescription: "empty frames", given: "0 bytes", allowed: "1...536870911 bytes") {
            $0.maximumFrameSize = 0
        },
        Refusal(testDescription: "endless frames", given: "536870912 bytes", allowed: "1...536870911 bytes") {
            $0.maximumFrameSize = 536_870_912
        },
        Refusal(testDescription: "quantizers below all", given: "-1...30", allowed: "0...51") {
            $0.quantizerRange = -1...30
        },
        Refusal(testDescription: "quantizers above all", given: "10...52", allowed: "0...51") {
            $0.quantizerRange = 10...52
        },
        Refusal(testDescription: "constant quantizer beyond the range", given: "20", allowed: "24...30") {
            $0.rateControl = .constantQuantizer(20)
            $0.quantizerRange = 24...30
        },
        Refusal(testDescription: "more than full", given: "1.01", allowed: "0...1") { $0.initialBufferFullness = 1.01 },
        Refusal(testDescription: "full by no number", given: "nan", allowed: "0...1") {
            $0.initialBufferFullness = .nan
        },
        Refusal(testDescription: "quality level", given: "0", allowed: "at least 1") { $0.hardware.qualityLevel = 0 },
        Refusal(testDescription: "no frames in flight", given: "0", allowed: "1...16") {
            $0.hardware.framesInFlight = 0
        },
        Refusal(testDescription: "a fleet in flight", given: "17", allowed: "1...16") {
            $0.hardware.framesInFlight = 17
        },
        Refusal(testDescription: "frames in flight without delay", given: "2", allowed: "1") {
            $0.isLowLatency = true
            $0.hardware.framesInFlight = 2
        },
        Refusal(testDescription: "threads", given: "-1", allowed: "0...128") { $0.software.threads = -1 },
        Refusal(testDescription: "pixel aspect", given: "0:1", allowed: "above 0") {
            $0.pixelAspectRatio = Rational(0)
        },
    ]

    @Test(arguments: refusals)
    func badValuesAreRefusedWithWhatWasGivenAndWhatIsAllowed(refusal: Refusal) throws {
        var configuration = EncoderConfiguration()
        refusal.change(&configuration)
        let error = #expect(throws: MediaError.self) { try configuration.validated(for: .h264) }
        let found = try #require(error)
        #expect(found.code == .invalidArgument)
        #expect(found.given?.contains(refusal.given) == true, "\(found)")
        #expect(found.allowed?.contains(refusal.allowed) == true, "\(found)")
        #expect(!found.description.contains("\n"))
    }

    @Test func everythingElseThatFitsTogetherIsTakenAsItIs() throws {
        let changes: [(inout EncoderConfiguration) -> Void] = [
            { $0.usesIntraRefresh = true },
            {
                $0.usesIntraRefresh = true
                $0.keyFrameInterval = KeyFrameInterval(frames: 2)
                $0.longTermReferences = 15
            },
            {
                $0.slices = 256
                $0.temporalLayers = 3
                $0.bFrames = .maximum(3)
                $0.maximumFrameSize = 1
            },
            {
                $0.rateControl = .constantQuantizer(24)
                $0.quantizerRange = 24...24
                $0.initialBufferFullness = 1
            },
            {
                $0.quantizerRange = 0...51
                $0.initialBufferFullness = 0
                $0.hardware.qualityLevel = 7
                $0.hardware.framesInFlight = 16
                $0.hardware.lowPower = .required
                $0.hardware.controlsMacroblocks = true
            },
            {
                $0.isLowLatency = true
                $0.hardware.framesInFlight = 1
                $0.temporalLayers = 3
            },
        ]
        for change in changes {
            var configuration = EncoderConfiguration()
            change(&configuration)
            let (validated, adjustments) = try configuration.validated(for: .h264)
            #expect(validated == configuration)
            #expect(adjustments.isEmpty)
        }
    }

    @Test func automaticBFramesGiveWay() {
        var configuration = EncoderConfiguration()
        #expect(configuration.allowsReordering)
        configuration.usesIntraRefresh = true
        #expect(!configuration.allowsReordering)
    }

    @Test func theWaveTakesTheKeyFrameInterval() {
        var configuration = EncoderConfiguration()
        #expect(configuration.intraRefreshPeriod == nil)
        configuration.usesIntraRefresh = true
        #expect(configuration.intraRefreshPeriod == 150)
        configuration.keyFrameInterval.frames = 40
        configuration.isFrameRateVariable = true
        #expect(configuration.intraRefreshPeriod == 40)
    }

    /// Level 4 takes 25 Mbit/s and a buffer of 31.25 Mbit in high profile, 20 and 25 in main (H.264 table A-1).
    @Test(arguments: [(VideoProfile?.none, 25_000_000), (.h264High, 25_000_000), (.h264Main, 20_000_000)])
    func automaticPeakKeepsToTheLevel(profile: VideoProfile?, peak: Int) throws {
        var configuration = EncoderConfiguration()
        configuration.h264Level = H264Level(name: "4")
        configuration.profile = profile
        configuration.bFrames = .off
        configuration.rateControl = .averageBitRate(20_000_000)
        #expect(configuration.rateLimit(codec: .h264) == RateLimit(bitsPerSecond: peak, bufferSize: peak))
        _ = try configuration.validated(for: .h264)
        configuration.rateControl = .averageBitRate(2_000_000)
        #expect(configuration.rateLimit(codec: .h264)?.bitsPerSecond == 3_000_000)
    }

    @Test func peakIsOneAndAHalfTimesTheAverageWithoutBFramesOnly() {
        var automatic = EncoderConfiguration()
        automatic.rateControl = .averageBitRate(1_000_001)
        #expect(automatic.rateLimit(codec: .h264) == nil)
        let withoutBFrames: [(inout EncoderConfiguration) -> Void] = [
            { $0.bFrames = .off }, { $0.isLowLatency = true }, { $0.software.tuning = .zerolatency },
            { $0.profile = .h264Baseline }, { $0.usesIntraRefresh = true },
        ]
        for change in withoutBFrames {
            var configuration = automatic
            change(&configuration)
            #expect(configuration.rateLimit(codec: .h264)?.bitsPerSecond == 1_500_001)
            #expect(configuration.rateLimit(codec: .h264)?.bufferSize == 1_500_001)
            #expect(configuration.rateLimit(codec: .hevc) == nil)
        }
        var limited = EncoderConfiguration()
        limited.rateControl = .averageBitRate(1_000_000, peak: .limit(2_000_000, window: 0.5))
        #expect(limited.rateLimit(codec: .h264)?.bufferSize == 1_000_000)
    }

    @Test func keyFrameIntervalsTakeTheLimitThatIsMetFirst() {
        let rate = Rational(30000, 1001)
        #expect(KeyFrameInterval(frames: 10, duration: MediaTime(value: 5, timescale: 1)).frameCount(at: rate) == 10)
        #expect(KeyFrameInterval(duration: MediaTime(value: 5, timescale: 1)).frameCount(at: rate) == 149)
        #expect(KeyFrameInterval(duration: MediaTime(value: 1, timescale: 1000)).frameCount(at: rate) == 1)
        #expect(KeyFrameInterval().frameCount(at: rate) == nil)
    }

    @Test func keyFrameIntervalsAreExact() {
        let interval = KeyFrameInterval(duration: MediaTime(value: 116, timescale: 100))
        #expect(interval.frameCount(at: Rational(25)) == 29)
    }

    @Test func nonsenseThatNobodyValidatedDoesNotTrap() {
        let endless = KeyFrameInterval(duration: MediaTime(value: .max, timescale: 1))
        #expect(endless.frameCount(at: Rational(.max)) == .max)
        #expect(endless.frameCount(at: Rational(1, 0)) == nil)
        #expect(KeyFrameInterval(duration: .invalid).frameCount(at: Rational(25)) == nil)
        #expect(KeyFrameInterval(frames: 7, duration: .invalid).frameCount(at: Rational(25)) == 7)
        #expect(KeyFrameInterval(duration: MediaTime(value: .min, timescale: 1)).frameCount(at: Rational(25)) == 1)
        var configuration = EncoderConfiguration()
        for (window, size) in [(Double.infinity, Int.max), (1e300, .max), (-1, 0), (-.infinity, 0), (.nan, 0)] {
            configuration.rateControl = .constantBitRate(1_000_000, window: window)
            #expect(configuration.rateLimit(codec: .h264)?.bufferSize == size)
        }
        configuration.bFrames = .off
        configuration.rateControl = .averageBitRate(.max)
        #expect(configuration.rateLimit(codec: .h264)?.bitsPerSecond == .max)
        #expect(configuration.rateLimit(codec: .h264)?.bufferSize == .max)
        for size in [Int.min, -1, 0, 16, .max] {
            for rate in [Rational(1, 0), Rational(0, 0), Rational(.max), Rational(-1, .min), Rational(25)] {
                let level = H264Level.lowest(width: .max, height: size, frameRate: rate)
                #expect(level == nil)
            }
        }
        #expect(H264Level.lowest(width: 16, height: 16, frameRate: Rational(1, 0)) == nil)
    }

    /// H.264 A.3.3 with tables.
    @Test(
        arguments: [
            ("2.2", 352, 288, 25, nil), ("3", 640, 360, 25, 41), ("3", 640, 360, 60, 30), ("3.1", 256, 320, 60, 10),
            ("4.1", 1920, 1080, 30, 340), ("5.2", 128, 128, 60, 502), ("6", 128, 128, 60, 580),
            ("3", 720, 576, 2000, 1),
        ] as [(String, Int, Int, Int32, Int?)]
    )
    func levelsLimitSlices(name: String, width: Int, height: Int, rate: Int32, slices: Int?) throws {
        let level = try #require(H264Level(name: name))
        func limit(_ profile: VideoProfile) -> Int? {
            level.maximumSlices(width: width, height: height, frameRate: Rational(rate), in: profile)
        }
        #expect(limit(.h264High) == slices)
        #expect(limit(.h264Baseline) == nil)
    }

    @Test func aRateUpToThatOfTheLevelIsTaken() throws {
        let rates: [(VideoProfile, Int)] = [
            (.h264Baseline, 20_000_000), (.h264Main, 20_000_000), (.h264High, 25_000_000), (.h264High10, 60_000_000),
        ]
        for (profile, rate) in rates {
            var configuration = EncoderConfiguration()
            configuration.h264Level = H264Level(name: "4")
            configuration.profile = profile
            configuration.rateControl = .constantBitRate(rate)
            #expect(try configuration.validated(for: .h264).configuration == configuration)
        }
    }

    @Test func levelsAreFoundByNameAndBySize() {
        #expect(H264Level(name: "4.0")?.levelIDC == 40)
        #expect(H264Level(name: "1b")?.levelIDC == 9)
        #expect(H264Level(name: "7") == nil)
        #expect(H264Level(levelIDC: 51)?.name == "5.1")
        #expect(H264Level.lowest(width: 1920, height: 1080, frameRate: Rational(30))?.name == "4")
        #expect(H264Level.lowest(width: 1920, height: 1080, frameRate: Rational(60))?.name == "4.2")
        #expect(H264Level.lowest(width: 176, height: 144, frameRate: Rational(15))?.name == "1")
        #expect(H264Level.lowest(width: 16000, height: 16, frameRate: Rational(1))?.name == "6")
        #expect(H264Level(name: "4")?.decodedPictures(width: 1920, height: 1080) == 4)
        #expect(H264Level(name: "4")?.decodedPictures(width: 16, height: 16) == 16)
        #expect(H264Level(name: "4")?.decodedPictures(width: .max, height: .max) == 0)
        #expect(H264Level(name: "4")?.decodedPictures(width: 0, height: .min) == 0)
    }
}

@Suite struct UpdateTests {
    @Test func theBitRateTakesTheExplicitPeakAlong() throws {
        var configuration = EncoderConfiguration()
        configuration.rateControl = .averageBitRate(2_000_000, peak: .limit(3_000_000, window: 2))
        let changed = try configuration.applying(EncoderUpdate(bitRate: 1_000_000))
        #expect(changed.isUpdate(of: configuration))
        #expect(changed.rateControl == .averageBitRate(1_000_000, peak: .limit(1_500_000, window: 2)))
    }

    /// A session fills in what the first picture says, also if that is nothing.
    @Test func whatIsLeftOpenIsNoChange() {
        var (open, filled) = (EncoderConfiguration(), EncoderConfiguration())
        (filled.color, filled.pixelAspectRatio, filled.frameRate) = (.unspecified, .one, Rational(25))
        #expect(filled.isUpdate(of: open) && open.isUpdate(of: filled))
        filled.color = .hdr10
        #expect(!filled.isUpdate(of: open))
        open.slices = 2
        #expect(!EncoderConfiguration().isUpdate(of: open))
    }

    @Test func anUpdateOfAnotherKindOfRateControlIsRefused() {
        var configuration = EncoderConfiguration()
        configuration.rateControl = .constantQuantizer(20)
        let fixed = configuration
        #expect(throws: MediaError.self) { try fixed.applying(EncoderUpdate(bitRate: 1_000_000)) }
        #expect(throws: MediaError.self) { try EncoderConfiguration().applying(EncoderUpdate(quantizer: 20)) }
        #expect(throws: MediaError.self) { try EncoderConfiguration().applying(EncoderUpdate(quality: 20)) }
    }
}
