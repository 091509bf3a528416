// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import SoftwareEncoder
import Testing

/// The same settings give the same stream as the `x265` command line.
@Suite struct X265CommandLineTests {
    struct Options: Sendable, CustomTestStringConvertible {
        let arguments: String
        let change: @Sendable (inout EncoderConfiguration) -> Void
        var testDescription: String { arguments.isEmpty ? "defaults" : arguments }

        init(_ arguments: String, _ change: @escaping @Sendable (inout EncoderConfiguration) -> Void) {
            self.arguments = arguments
            self.change = change
        }

        /// Rates are counted on what frame threads have done so far, so that two runs of x265 may differ; a limit even
        /// looks at the rows that other threads have coded.
        var isReproducible: Bool { !arguments.contains("--bitrate") && !arguments.contains("--vbv") }
    }

    static let rates = [
        Options("--crf 24.5") { $0.rateControl = .constantQuality(24.5) },
        Options("--qp 28") { $0.rateControl = .constantQuantizer(28) },
        Options("--qp 0") { $0.rateControl = .constantQuantizer(0) },
    ]
    static let presets: [SoftwareEncoderOptions.Preset] = [.ultrafast, .veryfast, .medium]

    private func configuration(_ change: (inout EncoderConfiguration) -> Void) -> EncoderConfiguration {
        var configuration = EncoderConfiguration()
        configuration.rateControl = .constantQuality(28)
        configuration.keyFrameInterval = KeyFrameInterval(frames: 250)
        configuration.software.threads = 2
        configuration.software.preset = .ultrafast
        change(&configuration)
        return configuration
    }

    private func arguments(_ options: Options, _ more: [String] = []) -> [String] {
        var arguments = options.arguments.split(separator: " ").map(String.init)
        // The command line's own are open groups, the default of this package closed ones.
        if !arguments.contains("--open-gop") { arguments.append("--no-open-gop") }
        if !arguments.contains("--preset") { arguments += ["--preset", "ultrafast"] }
        if !arguments.contains("--pools") { arguments += ["--pools", "2"] }
        if !arguments.contains(where: { ["--bitrate", "--qp", "--crf"].contains($0) }) {
            arguments += ["--crf", "28"]
        }
        return arguments + more
    }

    /// Without what every key frame repeats: parameter sets and, but for the first, x265's settings.
    private func kept(_ stream: [UInt8]) -> [[UInt8]] {
        var hasSettings = false
        return annexBUnits(stream).filter { unit in
            if (32...34).contains(hevcUnitType(unit)) { return false }
            guard hevcUnitType(unit) == 39, unit.count > 2, unit[2] == 5 else { return true }
            defer { hasSettings = true }
            return !hasSettings
        }
    }

    @Test(arguments: rates, presets)
    func decodesToTheSamePictures(rate: Options, preset: SoftwareEncoderOptions.Preset) throws {
        let clip = TestClip.small
        let scratch = try Scratch()
        let options = Options(rate.arguments + " --preset \(preset.rawValue) --keyint 25", rate.change)
        let reference = try scratch.x265CommandLine(clip.y4m, arguments(options))
        let expected = try scratch.decode(Data(reference), codec: "hevc")
        #expect(expected.count == clip.frames.count * clip.frames[0].count)
        let configuration = configuration {
            $0.keyFrameInterval = KeyFrameInterval(frames: 25)
            $0.software.preset = preset
            rate.change(&$0)
        }
        for format in [PixelFormat.i420, .nv12] {
            let recording = try Recording(configuration, clip, format: format, factory: X265EncoderFactory())
            #expect(try scratch.decode(recording.annexB, codec: "hevc") == expected, "\(format)")
            #expect(recording.units == kept(reference), "\(format)")
        }
    }

    @Test(arguments: rates) func tenBitsDecodeToTheSamePictures(rate: Options) throws {
        let clip = TestClip.small
        let scratch = try Scratch()
        let depth = ["--input-depth", "10", "--output-depth", "10", "--profile", "main10"]
        let reference = try scratch.x265CommandLine(clip.tenBitY4M, arguments(rate, depth))
        let configuration = configuration {
            $0.bitDepth = 10
            $0.profile = .hevcMain10
            rate.change(&$0)
        }
        let recording = try Recording(configuration, clip, format: .p010, factory: X265EncoderFactory())
        #expect(recording.properties.profile == "Main 10")
        #expect(recording.properties.pixelFormats == [.p010])
        let expected = try scratch.decode(Data(reference), pixelFormat: "yuv420p10le", codec: "hevc")
        #expect(expected.count == 2 * clip.frames.count * clip.frames[0].count)
        #expect(try scratch.decode(recording.annexB, pixelFormat: "yuv420p10le", codec: "hevc") == expected)
        #expect(recording.units == kept(reference))
    }

    /// Every other chroma format and depth, with the profile that is asked for and the one that comes of itself.
    static let formats: [(PixelFormat, VideoProfile, String)] = [
        (.i012, .hevcMain12, "Main 12"), (.i422, .hevcMain422Bits10, "Main 4:2:2 10"),
        (.i210, .hevcMain422Bits10, "Main 4:2:2 10"), (.i212, .hevcMain422Bits12, "Main 4:2:2 12"),
        (.i444, .hevcMain444, "Main 4:4:4"), (.i410, .hevcMain444Bits10, "Main 4:4:4 10"),
        (.i412, .hevcMain444Bits12, "Main 4:4:4 12"),
    ]

    @Test(arguments: formats, [true, false])
    func otherFormatsDecodeToTheSamePictures(
        format: (pixels: PixelFormat, profile: VideoProfile, name: String),
        isProfileAsked: Bool
    ) throws {
        let clip = TestClip(width: 144, height: 80, count: 12)
        let scratch = try Scratch()
        let depth = format.pixels.bitDepth
        let reference = try scratch.x265CommandLine(
            clip.y4m(format.pixels),
            arguments(Self.rates[0], ["--output-depth", "\(depth)"])
        )
        let configuration = configuration {
            $0.chromaFormat = format.pixels.chromaFormat
            $0.bitDepth = depth
            $0.profile = isProfileAsked ? format.profile : nil
            Self.rates[0].change(&$0)
        }
        let recording = try Recording(configuration, clip, format: format.pixels, factory: X265EncoderFactory())
        #expect(recording.properties.profile == format.name)
        #expect(recording.properties.pixelFormats.first == format.pixels)
        #expect(recording.properties.adjustments == [])
        let name = "yuv\(format.pixels.chromaFormat.name.filter(\.isNumber))p" + (depth > 8 ? "\(depth)le" : "")
        let expected = try scratch.decode(Data(reference), pixelFormat: name, codec: "hevc")
        #expect(expected.count == clip.frames.count * clip.bytes(0, format.pixels).joined().count)
        #expect(try scratch.decode(recording.annexB, pixelFormat: name, codec: "hevc") == expected)
        #expect(recording.units == kept(reference))
    }

    /// Pictures of a camera need no other planes.
    @Test func takesYUY2AsItIs() throws {
        let clip = TestClip(width: 144, height: 80, count: 6)
        let configuration = configuration { $0.chromaFormat = .yuv422 }
        let planar = try Recording(configuration, clip, format: .i422, factory: X265EncoderFactory())
        let packed = try Recording(configuration, clip, format: .yuy2, factory: X265EncoderFactory())
        #expect(planar.properties.pixelFormats == [.i422, .yuy2])
        #expect(packed.units == planar.units)
    }

    static let table: [Options] = [
        Options("") { _ in },
        Options("--bitrate 400") { $0.rateControl = .averageBitRate(400_000) },
        Options("--bitrate 300 --vbv-maxrate 450 --vbv-bufsize 900") {
            $0.rateControl = .averageBitRate(300_000, peak: .limit(450_000, window: 2))
        },
        Options("--bitrate 500 --vbv-maxrate 500 --vbv-bufsize 250 --strict-cbr --hrd") {
            $0.rateControl = .constantBitRate(500_000, window: 0.5)
        },
        Options("--crf 30 --vbv-maxrate 400 --vbv-bufsize 400 --vbv-init 0.5") {
            $0.rateControl = .constantQuality(30, peak: .limit(400_000))
            $0.initialBufferFullness = 0.5
        },
        Options("--qpmin 20 --qpmax 30") { $0.quantizerRange = 20...30 },
        Options("--keyint 10") { $0.keyFrameInterval = KeyFrameInterval(frames: 10) },
        Options("--keyint 15") { $0.keyFrameInterval = KeyFrameInterval(duration: MediaTime(value: 1, timescale: 2)) },
        Options("--keyint -1") { $0.keyFrameInterval = KeyFrameInterval() },
        Options("--keyint 1") { $0.keyFrameInterval = KeyFrameInterval(frames: 1) },
        Options("--open-gop --keyint 12") {
            $0.allowsOpenGOP = true
            $0.keyFrameInterval = KeyFrameInterval(frames: 12)
        },
        Options("--bframes 0") { $0.bFrames = .off },
        Options("--bframes 3 --no-b-pyramid") {
            $0.bFrames = .maximum(3)
            $0.allowsBPyramid = false
        },
        Options("--bframes 8 --rc-lookahead 9") { $0.bFrames = .maximum(8) },
        Options("--profile main") { $0.profile = .hevcMain },
        Options("--aud") { $0.accessUnitDelimiters = true },
        Options("--sar 4:3") { $0.pixelAspectRatio = Rational(4, 3) },
        Options("--sar 7:5") { $0.pixelAspectRatio = Rational(14, 10) },
        Options("--colorprim bt709 --transfer bt709 --colormatrix bt709 --range limited") { $0.color = .bt709 },
        Options("--colorprim bt2020 --transfer smpte2084 --colormatrix bt2020nc --chromaloc 2") {
            $0.color = .hdr10
            $0.color?.chromaLocation = .topLeft
        },
        Options("--range full --colorprim smpte170m --transfer smpte170m --colormatrix smpte170m") {
            $0.color = .bt601
            $0.color?.range = .full
        },
        Options(
            "--master-display G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50) --max-cll 1000,400"
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
        Options("--tune grain") { $0.software.tuning = .grain },
        Options("--tune psnr") { $0.software.tuning = .psnr },
        Options("--intra-refresh --keyint 12 --bframes 0 --no-scenecut --ref 1 --no-b-pyramid") {
            $0.usesIntraRefresh = true
            $0.keyFrameInterval = KeyFrameInterval(frames: 12)
        },
        Options("--slices 2") { $0.slices = 2 },
        Options("--pools 1 --frame-threads 1") { $0.software.threads = 1 },
        Options("--pools 3") { $0.software.threads = 3 },
    ]

    static let allPresets: [Options] = SoftwareEncoderOptions.Preset.allCases.map { preset in
        Options("--preset \(preset.rawValue)") { $0.software.preset = preset }
    }

    @Test(arguments: table + allPresets)
    func tellsTheSameSettingsAndWritesTheSameUnits(options: Options) throws {
        let clip = TestClip(width: 208, height: 136, count: 24)
        let scratch = try Scratch()
        let reference = try scratch.x265CommandLine(clip.y4m, arguments(options))
        let recording = try Recording(configuration(options.change), clip, factory: X265EncoderFactory())

        let told = seiOptions(annexBUnits(reference))
        #expect(told.count > 100)

        #expect(seiOptions(recording.units) == told)
        let sets = recording.properties.formatDescription.parameterSets
        #expect(sets.map(hevcUnitType) == [32, 33, 34])
        #expect(sets == Array(annexBUnits(reference).filter { (32...34).contains(hevcUnitType($0)) }.prefix(3)))
        let pictures = try scratch.decode(recording.annexB, codec: "hevc")
        #expect(pictures.count == clip.frames.count * clip.frames[0].count)
        if options.isReproducible, recording.units != kept(reference) {
            // Seen once with 4.1 on a busy machine; which of the two had changed was not known.
            let again = try scratch.x265CommandLine(clip.y4m, arguments(options))
            let repeated = try Recording(configuration(options.change), clip, factory: X265EncoderFactory())
            Issue.record(
                """
                the streams differ; a second time, the command's is \(again == reference ? "the same" : "another"), \
                ours \(repeated.units == recording.units ? "the same" : "another")
                """
            )
        }
    }
}
