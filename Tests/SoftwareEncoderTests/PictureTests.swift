// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import SoftwareEncoder
import Testing

/// What goes in: sizes, formats, pitches, ten bits, and values that make no sense.
@Suite struct PictureTests {
    @Test(arguments: [(2, 2), (16, 16), (18, 34), (66, 2)])
    func smallAndCroppedSizesDecodeToTheirSize(width: Int, height: Int) throws {
        let clip = TestClip(width: width, height: height, count: 12)
        var configuration = EncoderConfiguration()
        configuration.rateControl = .constantQuality(15)
        for format in [PixelFormat.i420, .nv12] {
            let recording = try Recording(configuration, clip, format: format)
            let description = recording.properties.formatDescription
            #expect(description.width == width && description.height == height)
            let pictures = try Scratch().decode(recording.annexB)
            #expect(pictures.count == clip.frames.count * clip.frames[0].count)
            #expect(psnr(pictures, clip.frames.flatMap { $0 }) > 28)
        }
    }

    @Test(arguments: [PixelFormat.i420, .nv12, .p010])
    func rowsMayHaveAnyPitch(format: PixelFormat) throws {
        var configuration = EncoderConfiguration()
        configuration.bitDepth = format.bitDepth
        configuration.software.threads = 1
        configuration.software.instructionSet = Scratch.reproducible
        let clip = TestClip(width: 70, height: 38, count: 5)
        let tight = try Recording(configuration, clip, format: format)
        let odd = try Recording(configuration, clip, format: format, padding: format == .p010 ? 14 : 13)
        #expect(odd.units == tight.units)
    }

    @Test func qualityFollowsTheQuantizer() throws {
        let clip = TestClip.small
        var configuration = EncoderConfiguration()
        let source = clip.frames.flatMap { $0 }
        var last = Double.infinity
        for quantizer in [0, 12, 24, 36] {
            configuration.rateControl = .constantQuantizer(quantizer)
            let recording = try Recording(configuration, clip)
            let value = psnr(try Scratch().decode(recording.annexB), source)
            #expect(quantizer == 0 ? value == .infinity : value < last)
            #expect(value > 22)
            #expect((recording.properties.profile == "High 4:4:4 Predictive") == (quantizer == 0))
            last = value
        }
    }

    @Test func tenBitsAreTheSameAsTheCommandLine() throws {
        let clip = TestClip.small
        var configuration = EncoderConfiguration()
        configuration.bitDepth = 10
        configuration.rateControl = .constantQuality(24)
        configuration.keyFrameInterval = KeyFrameInterval(frames: 250)
        configuration.software.threads = 2
        configuration.software.instructionSet = Scratch.reproducible
        let recording = try Recording(configuration, clip, format: .p010)
        let scratch = try Scratch()
        let reference = annexBUnits(
            try scratch.commandLine(
                clip.tenBitY4M,
                ["--input-depth", "10", "--output-depth", "10", "--crf", "24", "--threads", "2"]
            )
        )
        #expect(recording.properties.profile == "High 10")
        #expect(recording.properties.pixelFormats == [.p010])
        #expect(recording.units == reference.filter { ![7, 8].contains(unitType($0)) })
    }

    @Test func tenBitsKeepTheirValues() throws {
        let clip = TestClip.small
        var configuration = EncoderConfiguration()
        configuration.bitDepth = 10
        configuration.rateControl = .constantQuantizer(1)
        let recording = try Recording(configuration, clip, format: .p010)
        let bytes = try Scratch().decode(recording.annexB, pixelFormat: "yuv420p10le")
        let words = stride(from: 0, to: bytes.count - 1, by: 2).map { Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8 }
        let source = clip.frames.flatMap { $0.map { Int(TestClip.tenBit($0)) } }
        #expect(words.count == source.count)
        #expect(zip(words, source).allSatisfy { abs($0 - $1) <= 16 })
        #expect(words.contains { $0 & 3 != 0 })
    }

    @Test func picturesOfAnotherKindAreRefused() throws {
        let clip = TestClip.small
        var configuration = EncoderConfiguration(width: clip.width, height: clip.height)
        let recording = try Recording(configuration)
        #expect(recording.properties.pixelFormats == [.nv12, .i420])
        let bgra = try PixelBuffer(.init(format: .bgra, width: clip.width, height: clip.height))
        var error = #expect(throws: MediaError.self) { try recording.encode(bgra) }
        #expect(error?.given == "bgra" && error?.allowed == "nv12, i420")
        let p010 = try clip.buffer(0, format: .p010)
        #expect(throws: MediaError.self) { try recording.encode(p010) }
        let other = try PixelBuffer(.init(format: .nv12, width: clip.width + 2, height: clip.height))
        error = #expect(throws: MediaError.self) { try recording.encode(other) }
        #expect(error?.given == "146x80" && error?.allowed == "144x80")
        for quantizer in [-1, 52, .max, .min] {
            error = #expect(throws: MediaError.self) {
                try recording.encode(clip.buffer(0, format: .nv12), options: .init(quantizer: quantizer))
            }
            #expect(error?.allowed == "0...51")
        }
        configuration.bitDepth = 10
        #expect(throws: MediaError.self) { try Recording(configuration).encode(clip.buffer(0, format: .nv12)) }
        // Nothing of it has harmed the encoder.
        try recording.encode(clip.buffer(0, format: .nv12))
        try recording.encoder.drain()
        #expect(recording.frames.count == 1)
    }

    @Test func contradictionsAreRefused() {
        func expectRefusal(_ change: (inout EncoderConfiguration) -> Void) {
            var configuration = EncoderConfiguration()
            change(&configuration)
            let error = #expect(throws: MediaError.self) { try Recording(configuration) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.given != nil && error?.allowed != nil)
            #expect(error?.isPermanent == true)
        }
        expectRefusal { $0.codec = .hevc }
        expectRefusal { $0.width = 0 }
        expectRefusal { $0.width = .max }
        expectRefusal { $0.frameRate = Rational(0) }
        expectRefusal { $0.rateControl = .averageBitRate(.max) }
        expectRefusal { $0.rateControl = .constantQuality(.nan) }
        expectRefusal { $0.rateControl = .constantQuantizer(-1) }
        expectRefusal { $0.software.threads = 1000 }
        expectRefusal { $0.bitDepth = 12 }
        expectRefusal { $0.color = .sRGB }
        expectRefusal { $0.color = ColorDescription(chromaLocation: .init(rawValue: 6)) }
        expectRefusal {
            $0.rateControl = .constantQuantizer(0)
            $0.profile = .h264High
        }
    }

    @Test func whatIsNotHonouredToTheLetterIsReported() throws {
        func adjustments(_ change: (inout EncoderConfiguration) -> Void) throws -> [String] {
            var configuration = EncoderConfiguration(width: 64, height: 64)
            change(&configuration)
            return try Recording(configuration).properties.adjustments.map {
                "\($0.property): \($0.requested) -> \($0.used)"
            }
        }
        #expect(try adjustments { _ in } == [])
        #expect(try adjustments { $0.width = 65 } == ["size: 65x64 -> 64x64"])
        #expect(
            try adjustments { $0.rateControl = .averageBitRate(123_456) } == ["bitrate: 123456 bit/s -> 123000 bit/s"]
        )
        #expect(
            try adjustments {
                $0.profile = .h264High
                $0.software.preset = .ultrafast
            } == ["profile: high -> Constrained Baseline"]
        )
        #expect(
            try adjustments { $0.color = ColorDescription(primaries: .init(rawValue: 22)) }
                == ["colour primaries: 22 -> unspecified"]
        )
        #expect(
            try adjustments { $0.rateControl = .constantBitRate(900_000_000, window: 60) }
                == ["rate buffer: 54000000 kbit -> 2000000 kbit"]
        )
        #expect(
            try adjustments {
                $0.bFrames = .maximum(3); $0.keyFrameInterval.frames = 1
            } == ["b-frames: 3 -> 0"]
        )
        #expect(
            try adjustments { $0.pixelAspectRatio = Rational(100_001, 100_000) }
                == ["pixel aspect ratio: 100001/100000 -> 1"]
        )
        // Level 1.1 holds two frames of this size.
        #expect(
            try adjustments {
                ($0.width, $0.height, $0.frameRate) = (352, 288, Rational(7))
                $0.h264Level = H264Level(name: "1.1")
                $0.rateControl = .averageBitRate(150_000)
            } == ["b-pyramid: on -> off"]
        )
    }

    @Test func propertiesTellWhatTheStreamTells() throws {
        var configuration = EncoderConfiguration(width: 64, height: 64)
        configuration.color = .hdr10
        configuration.pixelAspectRatio = Rational(4, 3)
        configuration.contentLight = ContentLightLevel(maximumContentLightLevel: 1000, maximumFrameAverageLightLevel: 1)
        configuration.h264Level = H264Level(name: "1b")
        configuration.frameRate = Rational(15)
        configuration.rateControl = .constantQuality(30)
        var properties = try Recording(configuration).properties
        #expect(properties.name == "x264 core 164")
        #expect(properties.profile == "High" && properties.level == "1b")
        #expect(properties.reorderDepth == 2)
        #expect(properties.formatDescription.color == .hdr10)
        #expect(properties.formatDescription.pixelAspectRatio == Rational(4, 3))
        #expect(properties.formatDescription.attachments.contentLight == configuration.contentLight)
        #expect(!properties.supportedProperties.contains(.bitRateUpdate))
        #expect(properties.supportedProperties.contains(.tenBit))
        configuration.profile = .h264Main
        properties = try Recording(configuration).properties
        #expect(properties.profile == "Main" && properties.level == "1b")
        configuration.rateControl = .averageBitRate(100_000, peak: .limit(100_000))
        #expect(try Recording(configuration).properties.supportedProperties.contains(.bitRateUpdate))
    }
}

/// Peak signal to noise ratio of all samples, in decibels.
func psnr(_ left: [UInt8], _ right: [UInt8]) -> Double {
    guard left.count == right.count, !left.isEmpty else { return 0 }
    let error = zip(left, right).reduce(0) { $0 + (Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1)) }
    return 10 * log10(255 * 255 * Double(left.count) / Double(error))
}

/// Tests that need much memory, or watch it, one after the other.
@Suite(.serialized) struct MemoryTests {
    @Test func aPictureOfLevel5IsCoded() throws {
        let description = PixelBuffer.Description(format: .nv12, width: 4096, height: 2304)
        let buffer = try PixelBuffer(description)
        try buffer.withPlanes { planes in
            for (plane, rows) in zip(planes, [2304, 1152]) {
                memset(plane.baseAddress, 77, plane.bytesPerRow * rows)
            }
        }
        var configuration = EncoderConfiguration(width: 4096, height: 2304)
        configuration.software.preset = .ultrafast
        configuration.software.threads = 1
        configuration.rateControl = .constantQuantizer(20)
        let recording = try Recording(configuration)
        try recording.encode(buffer)
        try recording.encoder.drain()
        #expect(recording.properties.level == "5.2")
        let pictures = try Scratch().decode(recording.annexB)
        #expect(pictures.count == 4096 * 2304 * 3 / 2)
        #expect(pictures.allSatisfy { abs(Int($0) - 77) <= 1 })
    }

    /// An encoder of this size holds more than 10 MB, so that a leak of each would cost more than a gigabyte.
    @Test func encodersGiveTheirMemoryBack() throws {
        var configuration = EncoderConfiguration(width: 320, height: 240)
        configuration.bitDepth = 10
        configuration.software.threads = 1
        let buffer = try PixelBuffer(.init(format: .p010, width: 320, height: 240))
        func useOne() throws {
            let recording = try Recording(configuration)
            try recording.encode(buffer)
            try recording.encoder.drain()
            try recording.encode(buffer)
        }
        for _ in 0..<5 { try useOne() }
        let before = try residentBytes()
        for _ in 0..<100 { try useOne() }
        let grown = try residentBytes() - before
        #expect(grown < 300_000_000, "\(grown) bytes; others run beside, so the bound is wide")
    }

    /// x265 starts threads with each encoder.
    @Test func x265GivesMemoryAndThreadsBack() throws {
        var configuration = EncoderConfiguration(width: 320, height: 240)
        configuration.software.preset = .ultrafast
        configuration.software.threads = 3
        let buffer = try PixelBuffer(.init(format: .nv12, width: 320, height: 240))
        func useOne() throws {
            let recording = try Recording(configuration, factory: X265EncoderFactory())
            for _ in 0..<3 { try recording.encode(buffer) }
            try recording.encoder.drain()
            try recording.encode(buffer)
        }
        for _ in 0..<5 { try useOne() }
        let before = (try residentBytes(), try threads())
        for _ in 0..<50 { try useOne() }
        let grown = try residentBytes() - before.0
        #expect(grown < 300_000_000, "\(grown) bytes; others run beside, so the bound is wide")
        // At least four for each of a hundred encoders, had they stayed; others come and go meanwhile.
        #expect(try threads() < before.1 + 200)
    }

    private func threads() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
    }

    private func residentBytes() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return try #require(fields.count > 1 ? Int(fields[1]) : nil) * Int(getpagesize())
    }
}
