// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import BitstreamSyntax
import MediaIO
import MediaTypes
import Testing
import Transcoding
import VAToolbox

@testable import VAToolboxCommand

/// What the options mean to those who do the work.
@Suite struct RequestTests {
    private func request(_ arguments: String..., inputIsLive: Bool = false) throws -> TranscodeRequest {
        let command = try EncodeCommand.parse(["in.mkv", "-o", "out.mp4"] + arguments)
        return try command.request(inputIsLive: inputIsLive)
    }

    @Test func defaultsAreThoseOfTheSession() throws {
        let request = try request()
        #expect(request.video.base == EncoderConfiguration())
        #expect(request.video.size == nil && request.video.frameRate == nil)
        #expect(request.source == MediaSource.Options())
        #expect(request.sink.format == .mp4 && !request.sink.overwrite && !request.sink.isFragmented)
        #expect(request.session.isolation == .automatic)
        #expect(request.session.policy == .preferHardware && request.session.realTime == nil && !request.isPaced)
    }

    @Test func theTimeoutIsTheDeadlineOfFrames() throws {
        #expect(try request("--timeout", "1.5").session.limits.frameDeadline == .milliseconds(1500))
        let error = #expect(throws: MediaError.self) { try request("--timeout", "0") }
        #expect(error?.allowed == "0.1 to 3600 seconds")
    }

    @Test func isolation() throws {
        #expect(try request("--isolation", "process").session.isolation == .process)
        #expect(try request("--isolation", "in-process").session.isolation == .inProcess)
        let error = #expect(throws: MediaError.self) { try request("--isolation", "jail") }
        #expect(error?.allowed == "auto, in-process, process")
    }

    @Test func rateControl() throws {
        #expect(try request("--bitrate", "2M").video.base.rateControl == .averageBitRate(2_000_000))
        #expect(
            try request("--bitrate", "2M", "--peak-bitrate", "3M", "--peak-window", "2").video.base.rateControl
                == .averageBitRate(2_000_000, peak: .limit(3_000_000, window: 2))
        )
        #expect(
            try request("--bitrate", "2M", "--cbr", "--peak-window", "0.5").video.base.rateControl
                == .constantBitRate(2_000_000, window: 0.5)
        )
        #expect(try request("--cbr").video.base.rateControl == .constantBitRate(5000 * 1024))
        #expect(try request("--crf", "22.5").video.base.rateControl == .constantQuality(22.5))
        #expect(
            try request("--crf", "22", "--peak-bitrate", "3M").video.base.rateControl
                == .constantQuality(22, peak: .limit(3_000_000))
        )
        #expect(try request("--qp", "30").video.base.rateControl == .constantQuantizer(30))
    }

    static let modes: [([String], RateControl)] = [
        (["cqp"], .constantQuantizer(23)), (["cqp", "--qp", "30"], .constantQuantizer(30)),
        (["cbr"], .constantBitRate(5_120_000)),
        (["cbr", "--cbr", "--bitrate", "2M", "--peak-window", "2"], .constantBitRate(2_000_000, window: 2)),
        (["vbr"], .averageBitRate(5_120_000, peak: .limit(7_680_000))),
        (
            ["vbr", "--bitrate", "2M", "--peak-window", "0.5"],
            .averageBitRate(2_000_000, peak: .limit(3_000_000, window: 0.5))
        ),
        (["vbr", "--bitrate", "2M", "--peak-bitrate", "5M"], .averageBitRate(2_000_000, peak: .limit(5_000_000))),
        (["avbr", "--bitrate", "2M"], .averageBitRate(2_000_000, peak: .unlimited)),
        (["icq"], .constantQuality(23)), (["icq", "--crf", "18.5"], .constantQuality(18.5)),
        (["qvbr"], .constantQuality(23, peak: .limit(7_680_000))),
        (["qvbr", "--crf", "20", "--peak-bitrate", "4M"], .constantQuality(20, peak: .limit(4_000_000))),
    ]

    @Test(arguments: modes) func rateControlByName(arguments: [String], expected: RateControl) throws {
        let command = try EncodeCommand.parse(["in.mkv", "-o", "out.mp4", "--rate-control"] + arguments)
        #expect(try command.request(inputIsLive: false).video.base.rateControl == expected)
    }

    static let contradictions: [[String]] = [
        ["cqp", "--crf", "20"], ["cqp", "--bitrate", "2M"], ["cqp", "--cbr"], ["cqp", "--peak-bitrate", "2M"],
        ["cqp", "--peak-window", "2"], ["cbr", "--crf", "20"], ["cbr", "--qp", "20"], ["cbr", "--peak-bitrate", "9M"],
        ["vbr", "--cbr"], ["vbr", "--crf", "20"], ["vbr", "--qp", "20"], ["avbr", "--peak-bitrate", "9M"],
        ["avbr", "--peak-window", "2"], ["avbr", "--cbr"], ["icq", "--qp", "20"], ["icq", "--bitrate", "2M"],
        ["icq", "--peak-bitrate", "9M"], ["icq", "--peak-window", "2"], ["qvbr", "--bitrate", "2M"],
        ["qvbr", "--qp", "20"], ["qvbr", "--cbr"],
    ]

    @Test(arguments: contradictions) func whatDoesNotFitTheKindIsRefused(arguments: [String]) throws {
        let command = try EncodeCommand.parse(["in.mkv", "-o", "out.mp4", "--rate-control"] + arguments)
        let error = try #require(throws: MediaError.self) { try command.request(inputIsLive: false) }
        let given = "--rate-control \(arguments[0]) and \(arguments.dropFirst().joined(separator: " "))"
        #expect(error.code == .invalidArgument && error.given == given)
        #expect(error.allowed?.hasPrefix("\(arguments[0]) with --") == true)
    }

    @Test func limitsOfTheRateControl() throws {
        #expect(try request("--min-qp", "12").video.base.quantizerRange == 12...51)
        #expect(try request("--max-qp", "40").video.base.quantizerRange == 0...40)
        #expect(try request("--min-qp", "30", "--max-qp", "30").video.base.quantizerRange == 30...30)
        #expect(try request("--max-frame-size", "1.5M").video.base.maximumFrameSize == 1_500_000)
    }

    @Test func whatNotEveryEncoderHas() throws {
        let request = try request(
            "--slices",
            "8",
            "--temporal-layers",
            "3",
            "--intra-refresh",
            "--quality-level",
            "7",
            "--low-power",
            "on",
            "--async-depth",
            "6",
            "--roi",
            "1,2,3,4,-5",
            "--roi",
            "0,0,64,32,+6"
        )
        var expected = EncoderConfiguration()
        expected.slices = 8
        expected.temporalLayers = 3
        expected.usesIntraRefresh = true
        expected.hardware.qualityLevel = 7
        expected.hardware.lowPower = .required
        expected.hardware.framesInFlight = 6
        #expect(request.video.base == expected)
        #expect(
            request.video.regionsOfInterest == [
                RegionOfInterest(x: 1, y: 2, width: 3, height: 4, quantizerOffset: -5),
                RegionOfInterest(x: 0, y: 0, width: 64, height: 32, quantizerOffset: 6),
            ]
        )
    }

    @Test func everyOtherOptionOfTheStream() throws {
        let request = try request(
            "--size",
            "640x360",
            "--fit",
            "stretch",
            "--fps",
            "24",
            "--keyframe-interval",
            "48",
            "--b-frames",
            "2",
            "--no-b-pyramid",
            "--open-gop",
            "--profile",
            "high10",
            "--level",
            "3.1",
            "--entropy",
            "cabac",
            "--preset",
            "slow",
            "--tune",
            "film",
            "--threads",
            "3",
            "--asm",
            "avx2",
            "--low-latency",
            "--aud"
        )
        var expected = EncoderConfiguration()
        expected.scaling = .stretch
        expected.keyFrameInterval = KeyFrameInterval(frames: 48)
        expected.bFrames = .maximum(2)
        expected.allowsBPyramid = false
        expected.allowsOpenGOP = true
        expected.profile = .h264High10
        expected.bitDepth = 10
        expected.h264Level = H264Level(name: "3.1")
        expected.entropyMode = .cabac
        expected.software.preset = .slow
        expected.software.tuning = .film
        expected.software.threads = 3
        expected.software.instructionSet = .avx2
        expected.isLowLatency = true
        expected.accessUnitDelimiters = true
        #expect(request.video.base == expected)
        #expect(request.video.size?.width == 640 && request.video.size?.height == 360)
        #expect(request.video.frameRate == Rational(24))
    }

    @Test func inputAndOutput() throws {
        let request = try request(
            "--start",
            "1:00",
            "--duration",
            "2.5",
            "--deinterlace",
            "off",
            "--overwrite",
            "--fragmented",
            "--format",
            "mov",
            "--input-format",
            "rawvideo",
            "--input-size",
            "64x32",
            "--input-fps",
            "30000/1001",
            "--input-pixel-format",
            "nv12"
        )
        let raw = MediaSource.RawVideo(pixelFormat: "nv12", width: 64, height: 32, frameRate: Rational(30000, 1001))
        #expect(
            request.source
                == MediaSource.Options(
                    format: "rawvideo",
                    rawVideo: raw,
                    start: MediaTime(value: 60, timescale: 1),
                    duration: MediaTime(value: 5, timescale: 2),
                    deinterlacing: .off
                )
        )
        #expect(request.sink.format == .mov && request.sink.overwrite && request.sink.isFragmented)
    }

    @Test func outputFixesTheCodec() throws {
        let command = try EncodeCommand.parse(["in.mkv", "-o", "out.h264"])
        #expect(try command.request(inputIsLive: false).video.base.codec == .h264)
        let hevc = try EncodeCommand.parse(["in.mkv", "-o", "out.h265", "--profile", "main", "--level", "4.1-high"])
        let configuration = try hevc.request(inputIsLive: false).video.base
        #expect(configuration.codec == .hevc && configuration.profile == .hevcMain && configuration.h264Level == nil)
        #expect(configuration.hevcLevel == HEVCLevel(name: "4.1-high"))
        let contradiction = try EncodeCommand.parse(["in.mkv", "-o", "out.h264", "--codec", "hevc"])
        #expect(throws: MediaError.self) { try contradiction.request(inputIsLive: false) }
    }

    @Test func namesOfBothCodecsMeanThoseOfTheOneThatIsUsed() throws {
        let open = try request("--level", "4.1").video.base
        #expect(open.h264Level == H264Level(name: "4.1") && open.hevcLevel == HEVCLevel(name: "4.1"))
        #expect(open.fixedCodec == nil)
        let old = try request("--level", "1b").video.base
        #expect(old.h264Level == H264Level(name: "1b") && old.hevcLevel == nil && old.fixedCodec == .h264)
        #expect(try request("--codec", "h264", "--level", "4.1").video.base.hevcLevel == nil)
        #expect(try request("--level", "4.1-high").video.base.hevcLevel == HEVCLevel(name: "4.1-high"))
        let main10 = try request("--profile", "main10", "--level", "4").video.base
        #expect(main10.profile == .hevcMain10 && main10.bitDepth == 10 && main10.hevcLevel == HEVCLevel(name: "4"))
        #expect(try request("--profile", "main").video.base.profile == .h264Main)
        #expect(try request("--codec", "hevc", "--profile", "main").video.base.profile == .hevcMain)
        #expect(throws: MediaError.self) { try request("--codec", "h264", "--level", "4-high") }
    }

    @Test func chromaAndDepth() throws {
        let settings = try request("--chroma", "4:2:2", "--bit-depth", "12").video
        #expect(settings.base.chromaFormat == .yuv422 && settings.base.bitDepth == 12 && !settings.keepsBitDepth)
        #expect(settings.base.fixedCodec == .hevc && !settings.keepsChromaFormat)
        let kept = try request("--chroma", "source", "--bit-depth", "source").video
        #expect(kept.keepsChromaFormat && kept.keepsBitDepth && kept.mostKeptBits == 12 && kept.base.fixedCodec == nil)
        let profile = try request("--profile", "main444-10").video.base
        #expect(profile.profile == .hevcMain444Bits10 && profile.chromaFormat == .yuv444 && profile.bitDepth == 10)
        let usual = try request().video
        #expect(usual.base.chromaFormat == .yuv420 && usual.mostKeptBits == 10 && !usual.keepsChromaFormat)
    }

    @Test func devices() throws {
        #expect(try request("--device", "software").session.policy == .requireSoftware)
        #expect(try request("--require-hardware").session.policy == .requireHardware)
        let path = "/dev/dri/renderD129"
        #expect(try request("--device", path).session.policy == .devices([path], software: true))
        #expect(try request("--device", path, "--require-hardware").session.policy == .devices([path], software: false))
    }

    @Test func onlyFilesArePaced() throws {
        #expect(try request("--realtime").isPaced && request("--realtime").session.realTime == RealTimeMode())
        let live = try request("--realtime", inputIsLive: true)
        #expect(!live.isPaced && live.session.realTime != nil)
    }
}
