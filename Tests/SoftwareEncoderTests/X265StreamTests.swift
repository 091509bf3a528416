// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import SoftwareEncoder
import Testing

/// What x265 is made with, and what its streams tell.
@Suite struct X265StreamTests {
    private func configuration(
        _ width: Int = 192,
        _ height: Int = 128,
        _ change: (inout EncoderConfiguration) -> Void = { _ in }
    ) -> EncoderConfiguration {
        var configuration = EncoderConfiguration(width: width, height: height)
        configuration.rateControl = .constantQuality(30)
        configuration.software.preset = .ultrafast
        configuration.software.threads = 2
        change(&configuration)
        return configuration
    }

    private func open(_ configuration: EncoderConfiguration) throws -> Recording {
        try Recording(configuration, factory: X265EncoderFactory())
    }

    @Test(arguments: [(16, 16), (18, 34), (66, 16), (130, 70)])
    func smallAndCroppedSizesDecodeToTheirSize(width: Int, height: Int) throws {
        let clip = TestClip(width: width, height: height, count: 12)
        for format in [PixelFormat.i420, .nv12, .p010] {
            let configuration = configuration(width, height) {
                $0.rateControl = .constantQuality(12)
                $0.bitDepth = format.bitDepth
                $0.software.preset = .veryfast
            }
            let recording = try Recording(
                configuration,
                clip,
                format: format,
                padding: 14,
                factory: X265EncoderFactory()
            )
            let description = recording.properties.formatDescription
            #expect(description.width == width && description.height == height)
            let pictures = try Scratch().decode(recording.annexB, codec: "hevc")
            #expect(pictures.count == clip.frames.count * clip.frames[0].count)
            #expect(psnr(pictures, clip.frames.flatMap { $0 }) > 28, "\(format)")
        }
    }

    @Test func tenBitsKeepTheirValues() throws {
        let clip = TestClip.small
        let configuration = configuration {
            $0.bitDepth = 10
            $0.rateControl = .constantQuantizer(1)
        }
        let recording = try Recording(configuration, clip, format: .p010, factory: X265EncoderFactory())
        let bytes = try Scratch().decode(recording.annexB, pixelFormat: "yuv420p10le", codec: "hevc")
        let words = stride(from: 0, to: bytes.count - 1, by: 2).map { Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8 }
        let source = clip.frames.flatMap { $0.map { Int(TestClip.tenBit($0)) } }
        #expect(words.count == source.count)
        let error = zip(words, source).reduce(0) { $0 + abs($1.0 - $1.1) }
        #expect(Double(error) / Double(source.count) < 4)
        #expect(words.contains { $0 & 3 != 0 })
    }

    @Test func contradictionsAreRefused() {
        func expectRefusal(_ code: MediaError.Code = .invalidArgument, _ change: (inout EncoderConfiguration) -> Void) {
            let error = #expect(throws: MediaError.self) { try open(configuration(192, 128, change)) }
            #expect(error?.code == code)
            #expect(error?.given != nil && error?.allowed != nil)
            #expect(error?.isPermanent == true)
        }
        expectRefusal { $0.codec = .h264 }
        expectRefusal { $0.profile = .h264High }
        expectRefusal { $0.bitDepth = 14 }
        expectRefusal { $0.color = .sRGB }
        expectRefusal { $0.hevcLevel = HEVCLevel(name: "1") }
        expectRefusal {
            $0.bitDepth = 10
            $0.profile = .hevcMain
        }
        expectRefusal(.unsupported) { $0.height = 14 }
    }

    @Test func whatIsNotHonouredToTheLetterIsReported() throws {
        func adjustments(_ change: (inout EncoderConfiguration) -> Void) throws -> [String] {
            try open(configuration(192, 128, change)).properties.adjustments.map {
                "\($0.property): \($0.requested) -> \($0.used)"
            }
        }
        #expect(try adjustments { _ in } == [])
        #expect(try adjustments { $0.width = 193 } == ["size: 193x128 -> 192x128"])
        #expect(
            try adjustments { $0.rateControl = .averageBitRate(123_456) } == ["bitrate: 123456 bit/s -> 123000 bit/s"]
        )
        #expect(try adjustments { $0.software.tuning = .film } == ["tuning: film -> none"])
        #expect(try adjustments { $0.entropyMode = .cavlc } == ["entropy mode: cavlc -> cabac"])
        #expect(try adjustments { $0.isFrameRateVariable = true } == ["frame rate: variable -> nominal"])
        #expect(
            try adjustments { $0.color = ColorDescription(primaries: .init(rawValue: 3)) }
                == ["colour primaries: 3 -> unspecified"]
        )
        #expect(
            try adjustments {
                $0.bFrames = .maximum(3)
                $0.keyFrameInterval.frames = 1
            } == ["b-frames: 3 -> 0"]
        )
        #expect(
            try adjustments { $0.pixelAspectRatio = Rational(100_001, 100_000) }
                == ["pixel aspect ratio: 100001/100000 -> 1"]
        )
        #expect(
            try adjustments {
                $0.keyFrameInterval.frames = 1
                $0.profile = .hevcMain
            } == ["profile: hevc-main -> Main Intra"]
        )
        #expect(try adjustments { $0.profile = .hevcMain10 } == ["profile: hevc-main10 -> Main"])
        #expect(
            try adjustments {
                $0.rateControl = .constantQuantizer(30)
                $0.hevcLevel = HEVCLevel(name: "3")
            } == ["level: 3 -> automatic"]
        )
        #expect(
            try adjustments {
                $0.usesIntraRefresh = true
                $0.keyFrameInterval = KeyFrameInterval(frames: 12)
            } == ["intra refresh: recovery after each wave -> recovery at key frames"]
        )
        #expect(try adjustments { $0.hevcLevel = HEVCLevel(name: "3") } == ["peak bitrate: none -> 6000 kbit/s"])
        #expect(
            try adjustments {
                $0.temporalLayers = 3
                $0.longTermReferences = 2
                $0.maximumFrameSize = 5000
                $0.quantizerRange = 10...40
            } == [
                "temporal layers: 3 -> 1", "long-term references: 2 -> 0", "maximum frame size: 5000 bytes -> none",
            ]
        )
    }

    @Test func propertiesTellWhatTheStreamTells() throws {
        let recording = try open(
            configuration {
                $0.color = .hdr10
                $0.pixelAspectRatio = Rational(4, 3)
                $0.contentLight = ContentLightLevel(maximumContentLightLevel: 1000, maximumFrameAverageLightLevel: 1)
                $0.hevcLevel = HEVCLevel(name: "4.1-high")
                $0.rateControl = .averageBitRate(30_000_000)
                $0.bitDepth = 10
            }
        )
        let properties = recording.properties
        #expect(properties.name.hasPrefix("x265 ") && properties.name.contains("."))
        #expect(properties.profile == "Main 10" && properties.level == "4.1")
        #expect(properties.formatDescription.codec == .hevc)
        #expect(properties.formatDescription.color == .hdr10)
        #expect(properties.formatDescription.pixelAspectRatio == Rational(4, 3))
        #expect(properties.formatDescription.attachments.contentLight?.maximumContentLightLevel == 1000)
        #expect(properties.supportedProperties.isSuperset(of: [.tenBit, .hdrMetadata, .captions, .slices]))
        let missing: Set<EncoderOption> = [
            .bitRateUpdate, .entropyMode, .temporalLayers, .longTermReferences, .intraRefresh,
        ]
        #expect(properties.supportedProperties.isDisjoint(with: missing))
        let sequence = try HEVCSequenceParameterSet(nalUnit: properties.formatDescription.parameterSets[1])
        #expect(sequence.profileTierLevel.general.tierFlag)
    }

    /// Every key frame tells the display and the light, as FFmpeg reads them.
    @Test func metadataForHDRStandBeforeEveryKeyFrame() throws {
        let clip = TestClip.small
        let configuration = configuration {
            $0.bitDepth = 10
            $0.color = .hdr10
            $0.keyFrameInterval.frames = 20
            $0.masteringDisplay = MasteringDisplay(
                red: .init(x: 35400, y: 14600),
                green: .init(x: 8500, y: 39850),
                blue: .init(x: 6550, y: 2300),
                whitePoint: .init(x: 15635, y: 16450),
                maximumLuminance: 10_000_000,
                minimumLuminance: 1
            )
            $0.contentLight = ContentLightLevel(maximumContentLightLevel: 1234, maximumFrameAverageLightLevel: 321)
        }
        let recording = try Recording(configuration, clip, format: .p010, factory: X265EncoderFactory())
        for frame in recording.frames where frame.isKeyFrame {
            let types = try frame.units.filter { hevcUnitType($0) == 39 }
                .flatMap { try SEIMessage.messages(in: $0, codec: .hevc).map(\.type) }
            #expect(types.contains(.masteringDisplay) && types.contains(.contentLightLevel))
        }
        #expect(recording.frames.count(where: \.isKeyFrame) >= 3)
        let scratch = try Scratch()
        let path = try scratch.write(recording.annexB, to: "hdr.hevc")
        let text = try scratch.run(["ffprobe", "-v", "error", "-show_frames", "-show_streams", "-of", "compact", path])
        for expected in [
            "red_x=35400/50000", "green_y=39850/50000", "blue_x=6550/50000", "white_point_y=16450/50000",
            "max_luminance=10000000/10000", "min_luminance=1/10000", "max_content=1234", "max_average=321",
        ] {
            #expect(text.contains(expected), "\(expected) in \(text)")
        }
        let stream = try #require(text.split(separator: "\n").first { $0.hasPrefix("stream") })
        for expected in ["profile=Main 10", "color_primaries=bt2020", "color_transfer=smpte2084"] {
            #expect(stream.contains(expected), "\(expected) in \(stream)")
        }
    }

    // MARK: Life

    /// x265 3.5 takes a new rate and goes on with the old one, so that it is never asked.
    @Test func aChangeNeedsANewEncoder() throws {
        let before = configuration { $0.rateControl = .averageBitRate(400_000) }
        let recording = try open(before)
        #expect(try recording.encoder.update(before) == .done())
        var changed = before
        changed.rateControl = .averageBitRate(200_000)
        #expect(try recording.encoder.update(changed) == .needsNewEncoder)
        changed = before
        changed.frameRate = Rational(25)
        #expect(try recording.encoder.update(changed) == .needsNewEncoder)
        changed.rateControl = .constantQuality(99)
        #expect(throws: MediaError.self) { try recording.encoder.update(changed) }
    }

    @Test func encodingGoesOnAfterDrains() throws {
        let clip = TestClip(width: 192, height: 128, count: 30, hasSceneChange: false)
        let recording = try open(configuration())
        try recording.encoder.drain()
        for index in clip.frames.indices {
            try recording.encode(clip.buffer(index, format: .i420))
            if index % 13 == 12 {
                try recording.encoder.drain()
                try recording.encoder.drain()
                #expect(recording.frames.count == index + 1)
            }
        }
        try recording.encoder.drain()
        let pictures = try Scratch().decode(recording.annexB, codec: "hevc")
        #expect(pictures.count == clip.frames.count * clip.frames[0].count)
        #expect(recording.frames.filter(\.isKeyFrame).map(\.number) == [0, 13, 26])
        #expect(recording.frames.allSatisfy { $0.formatDescription == nil })
    }

    /// Opened at once from many threads, of both depths: x265 sets up tables of functions with the first.
    @Test func manyEncodersWorkAtTheSameTime() async throws {
        let clip = TestClip(width: 128, height: 96, count: 8)
        let streams = try await withThrowingTaskGroup(of: (Int, [[UInt8]]).self) { group in
            for index in 0..<12 {
                let depth = index % 2 == 0 ? 8 : 10
                let configuration = configuration(clip.width, clip.height) { $0.bitDepth = depth }
                group.addTask {
                    let format = depth == 8 ? PixelFormat.nv12 : .p010
                    let recording = try Recording(configuration, clip, format: format, factory: X265EncoderFactory())
                    return (depth, recording.units)
                }
            }
            var streams: [Int: Set<[[UInt8]]>] = [:]
            for try await (depth, units) in group { streams[depth, default: []].insert(units) }
            return streams
        }
        #expect(streams[8]?.count == 1 && streams[10]?.count == 1)
    }
}
