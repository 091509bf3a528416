// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import SoftwareEncoder
import Testing

/// The same settings give the same stream as the `x264` command line.
@Suite struct CommandLineTests {
    struct Rate: Sendable, CustomTestStringConvertible {
        let control: RateControl
        let options: [String]
        var testDescription: String { options.joined(separator: " ") }
    }

    static let rates = [
        Rate(control: .averageBitRate(400_000, peak: .unlimited), options: ["--bitrate", "400"]),
        Rate(control: .constantQuality(24.5), options: ["--crf", "24.5"]),
        Rate(control: .constantQuantizer(28), options: ["--qp", "28"]),
    ]
    static let presets: [SoftwareEncoderOptions.Preset] = [.ultrafast, .veryfast, .medium]

    @Test(arguments: rates, presets)
    func decodesToTheSamePictures(rate: Rate, preset: SoftwareEncoderOptions.Preset) throws {
        let clip = TestClip.small
        let scratch = try Scratch()
        let reference = try scratch.commandLine(
            clip.y4m,
            ["--preset", preset.rawValue, "--threads", "2", "--keyint", "25"] + rate.options
        )
        let expected = try scratch.decode(Data(reference))
        #expect(expected.count == clip.frames.count * clip.frames[0].count)

        var configuration = EncoderConfiguration()
        configuration.rateControl = rate.control
        configuration.keyFrameInterval = KeyFrameInterval(frames: 25)
        configuration.software.preset = preset
        configuration.software.threads = 2
        configuration.software.instructionSet = Scratch.reproducible
        for format in [PixelFormat.i420, .nv12] {
            let recording = try Recording(configuration, clip, format: format)
            #expect(try scratch.decode(recording.annexB) == expected, "\(format)")
            let kept = annexBUnits(reference).filter { ![7, 8].contains(unitType($0)) }
            #expect(recording.units == kept, "\(format)")
        }
    }

    struct Options: Sendable, CustomTestStringConvertible {
        let arguments: String
        let change: @Sendable (inout EncoderConfiguration) -> Void
        var testDescription: String { arguments.isEmpty ? "defaults" : arguments }

        init(_ arguments: String, _ change: @escaping @Sendable (inout EncoderConfiguration) -> Void) {
            self.arguments = arguments
            self.change = change
        }
    }

    static let table: [Options] = [
        Options("") { _ in },
        Options("--bitrate 300 --vbv-maxrate 450 --vbv-bufsize 900") {
            $0.rateControl = .averageBitRate(300_000, peak: .limit(450_000, window: 2))
        },
        Options("--bitrate 300 --vbv-maxrate 450 --vbv-bufsize 450 --bframes 0") {
            $0.rateControl = .averageBitRate(300_000)
            $0.bFrames = .off
        },
        Options("--bitrate 300 --vbv-maxrate 450 --vbv-bufsize 450 --tune zerolatency") {
            $0.rateControl = .averageBitRate(300_000)
            $0.isLowLatency = true
        },
        Options("--bitrate 300 --vbv-maxrate 450 --vbv-bufsize 450 --profile baseline") {
            $0.rateControl = .averageBitRate(300_000)
            $0.profile = .h264Baseline
        },
        Options("--bitrate 500 --vbv-maxrate 500 --vbv-bufsize 250 --nal-hrd cbr") {
            $0.rateControl = .constantBitRate(500_000, window: 0.5)
        },
        Options("--crf 30 --vbv-maxrate 400 --vbv-bufsize 400") {
            $0.rateControl = .constantQuality(30, peak: .limit(400_000))
        },
        Options("--qp 0") { $0.rateControl = .constantQuantizer(0) },
        Options("--keyint 10") { $0.keyFrameInterval = KeyFrameInterval(frames: 10) },
        Options("--keyint 15") { $0.keyFrameInterval = KeyFrameInterval(duration: MediaTime(value: 1, timescale: 2)) },
        Options("--keyint 12") {
            $0.keyFrameInterval = KeyFrameInterval(frames: 12, duration: MediaTime(value: 1, timescale: 2))
        },
        Options("--keyint infinite") { $0.keyFrameInterval = KeyFrameInterval() },
        Options("--keyint 1") { $0.keyFrameInterval = KeyFrameInterval(frames: 1) },
        Options("--open-gop --keyint 12") {
            $0.allowsOpenGOP = true
            $0.keyFrameInterval = KeyFrameInterval(frames: 12)
        },
        Options("--bframes 0") { $0.bFrames = .off },
        Options("--bframes 1") { $0.bFrames = .maximum(1) },
        Options("--bframes 7") { $0.bFrames = .maximum(7) },
        Options("--bframes 5 --b-pyramid none") {
            $0.bFrames = .maximum(5)
            $0.allowsBPyramid = false
        },
        Options("--preset ultrafast --bframes 4") {
            $0.software.preset = .ultrafast
            $0.bFrames = .maximum(4)
        },
        Options("--profile baseline") { $0.profile = .h264Baseline },
        Options("--profile main") { $0.profile = .h264Main },
        Options("--profile high") { $0.profile = .h264High },
        Options("--level 1.2 --preset slower") {
            $0.h264Level = H264Level(name: "1.2")
            $0.software.preset = .slower
        },
        Options("--level 1b") { $0.h264Level = H264Level(name: "1b") },
        Options("--level 4.1") { $0.h264Level = H264Level(name: "4.1") },
        Options("--no-cabac") { $0.entropyMode = .cavlc },
        Options("--aud") { $0.accessUnitDelimiters = true },
        Options("--aud --nal-hrd cbr --bitrate 500 --vbv-maxrate 500 --vbv-bufsize 500") {
            $0.accessUnitDelimiters = true
            $0.rateControl = .constantBitRate(500_000)
        },
        Options("--sar 4:3") { $0.pixelAspectRatio = Rational(4, 3) },
        Options("--colorprim bt709 --transfer bt709 --colormatrix bt709 --range tv") { $0.color = .bt709 },
        Options("--colorprim bt2020 --transfer smpte2084 --colormatrix bt2020nc --chromaloc 2") {
            $0.color = .hdr10
            $0.color?.chromaLocation = .topLeft
        },
        Options("--colorprim smpte170m --transfer smpte170m --colormatrix smpte170m") { $0.color = .bt601 },
        Options(
            "--mastering-display G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50) --cll 1000,400"
        ) {
            $0.masteringDisplay = MasteringDisplay(
                red: .init(x: 34000, y: 16000),
                green: .init(x: 13250, y: 34500),
                blue: .init(x: 7500, y: 3000),
                whitePoint: .init(x: 15635, y: 16450),
                maximumLuminance: 10_000_000,
                minimumLuminance: 50
            )
            $0.contentLight = ContentLightLevel(maximumContentLightLevel: 1000, maximumFrameAverageLightLevel: 400)
        },
        Options("--tune zerolatency") { $0.isLowLatency = true },
        Options("--tune zerolatency") { $0.software.tuning = .zerolatency },
        Options("--tune film,zerolatency --threads 1") {
            $0.software.tuning = .film
            $0.isLowLatency = true
            $0.software.threads = 1
        },
        Options("--threads 1") { $0.software.threads = 1 },
        Options("--threads 5") { $0.software.threads = 5 },
    ]

    static let presetsAndTunings: [Options] =
        SoftwareEncoderOptions.Preset.allCases.map { preset in
            Options("--preset \(preset.rawValue)") { $0.software.preset = preset }
        }
        + SoftwareEncoderOptions.Tuning.allCases.map { tuning in
            Options("--preset veryfast --tune \(tuning.rawValue)") {
                $0.software.preset = .veryfast
                $0.software.tuning = tuning
            }
        }

    @Test(arguments: table + presetsAndTunings)
    func writesTheSameUnits(options: Options) throws {
        let clip = TestClip(width: 112, height: 64, count: 32)
        var arguments = options.arguments.split(separator: " ").map(String.init)
        // With a VBV x264's frame threads look at each other's progress: two runs differ.
        let threads = arguments.contains("--vbv-maxrate") ? 1 : 2
        if !arguments.contains("--threads") { arguments += ["--threads", "\(threads)"] }
        let reference = annexBUnits(try Scratch().commandLine(clip.y4m, arguments))

        var configuration = EncoderConfiguration()
        configuration.rateControl = .constantQuality(23)
        configuration.keyFrameInterval = KeyFrameInterval(frames: 250)
        configuration.software.threads = threads
        configuration.software.instructionSet = Scratch.reproducible
        options.change(&configuration)
        let recording = try Recording(configuration, clip)

        #expect(seiOptions(recording.units) == seiOptions(reference))
        #expect(!seiOptions(reference).isEmpty)
        let sets = recording.properties.formatDescription.parameterSets
        #expect(sets == [reference.first { unitType($0) == 7 }, reference.first { unitType($0) == 8 }])
        #expect(recording.units == reference.filter { ![7, 8].contains(unitType($0)) })
    }

    @Test(arguments: rates)
    func writesTheSameUnitsAtAVariableRate(rate: Rate) throws {
        let clip = TestClip.small
        var random = SplitMix(state: 5)
        var milliseconds: [Int64] = [0]
        for _ in 1..<clip.frames.count {
            milliseconds.append((milliseconds.last ?? 0) + 10 * .random(in: 1...20, using: &random))
        }
        let scratch = try Scratch()
        let times = "# timecode format v2\n" + milliseconds.map { "\($0)\n" }.joined()
        let timeFile = try scratch.write(Data(times.utf8), to: "times.txt")
        let options = ["--tcfile-in", timeFile, "--timebase", "1/90000", "--threads", "2", "--keyint", "infinite"]
        let reference = annexBUnits(try scratch.commandLine(clip.y4m, options + rate.options))

        var configuration = EncoderConfiguration(width: clip.width, height: clip.height)
        configuration.isFrameRateVariable = true
        configuration.rateControl = rate.control
        configuration.software.threads = 2
        configuration.software.instructionSet = Scratch.reproducible
        let recording = try Recording(configuration)
        for (index, time) in milliseconds.enumerated() {
            let presentationTime = MediaTime(value: 7000 + time, timescale: 1000)
            try recording.encode(clip.buffer(index, format: .i420), at: presentationTime)
        }
        try recording.encoder.drain()
        let sets = recording.properties.formatDescription.parameterSets
        #expect(sets == [reference.first { unitType($0) == 7 }, reference.first { unitType($0) == 8 }])
        #expect(recording.units == reference.filter { ![7, 8].contains(unitType($0)) })
    }
}
