// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import Testing

@testable import SoftwareEncoder

/// What not every encoder has: slices, intra refresh, limits of the rate control, regions of interest.
@Suite struct OptionTests {
    static let calm = TestClip(width: 160, height: 128, count: 30, hasSceneChange: false)
    static let changing = TestClip(width: 160, height: 128, count: 40)

    private func configuration(_ change: (inout EncoderConfiguration) -> Void) -> EncoderConfiguration {
        var configuration = EncoderConfiguration(width: Self.calm.width, height: Self.calm.height)
        configuration.rateControl = .constantQuality(26)
        configuration.software.preset = .veryfast
        configuration.software.threads = 1
        change(&configuration)
        return configuration
    }

    private func adjustments(_ recording: Recording) -> [String] {
        recording.properties.adjustments.map { "\($0.property): \($0.requested) -> \($0.used)" }
    }

    private func expectToDecode(_ recording: Recording, _ clip: TestClip, _ comment: Comment? = nil) throws {
        let pictures = try Scratch().decode(recording.annexB)
        let source = clip.frames.flatMap(\.self)
        #expect(pictures.count == source.count, comment)
        #expect(psnr(pictures, source) > 25, comment)
    }

    private func slices(_ recording: Recording) -> Set<Int> {
        Set(recording.frames.map { frame in frame.units.count { [1, 5].contains(unitType($0)) } })
    }

    // MARK: Slices

    /// The picture has eight rows of macroblocks.
    @Test(arguments: [(1, 1), (2, 1), (4, 3), (8, 1)]) func everyPictureHasTheSlices(asked: Int, threads: Int) throws {
        let configuration = configuration {
            $0.slices = asked
            $0.software.threads = threads
        }
        let recording = try Recording(configuration, Self.calm)
        #expect(slices(recording) == [asked])
        #expect(adjustments(recording) == [])
        #expect(recording.properties.supportedProperties.contains(.slices))
        if asked > 1 { #expect(seiOptions(recording.units)["slices"] == "\(asked)") }
        try expectToDecode(recording, Self.calm)
    }

    @Test func aSliceHasAtLeastARow() throws {
        let recording = try Recording(configuration { $0.slices = 256 }, Self.calm)
        #expect(slices(recording) == [8])
        #expect(adjustments(recording) == ["slices: 256 -> 8"])
        try expectToDecode(recording, Self.calm)
    }

    /// Level 4 has a slice for each 60 of the macroblocks that a decoder does in 1/172 second.
    @Test func slicesAreAsManyAsTheLevelHas() throws {
        let clip = TestClip(width: 32, height: 1024, count: 3, hasSceneChange: false)
        let configuration = configuration {
            ($0.width, $0.height, $0.slices) = (clip.width, clip.height, 64)
            $0.h264Level = H264Level(name: "4")
        }
        let recording = try Recording(configuration, clip)
        #expect(slices(recording) == [23])
        #expect(adjustments(recording) == ["slices: 64 -> 23"])
        let reason = recording.properties.adjustments.first?.reason
        #expect(reason == "the level allows no more for this size and frame rate")
        try expectToDecode(recording, clip)
    }

    struct WithoutDelay: Sendable, CustomTestStringConvertible {
        var testDescription: String { "\(asked) slices, \(threads) threads" }
        var asked: Int
        var threads: Int
        var got: Int
        var report: [String] = []
    }

    /// A thread has at least four of the eight rows.
    static let withoutDelay = [
        WithoutDelay(asked: 1, threads: 1, got: 1), WithoutDelay(asked: 3, threads: 1, got: 3),
        WithoutDelay(asked: 2, threads: 0, got: 2), WithoutDelay(asked: 2, threads: 2, got: 2),
        WithoutDelay(asked: 3, threads: 0, got: 2, report: ["slices: 3 -> 2"]),
        WithoutDelay(asked: 1, threads: 2, got: 2, report: ["slices: 1 -> 2"]),
        WithoutDelay(asked: 4, threads: 2, got: 2, report: ["slices: 4 -> 2"]),
    ]

    @Test(arguments: withoutDelay) func withoutDelayThereAreAsManyAsThreads(_ play: WithoutDelay) throws {
        let configuration = configuration {
            $0.isLowLatency = true
            $0.slices = play.asked
            $0.software.threads = play.threads
        }
        let recording = try Recording(configuration, Self.calm)
        #expect(slices(recording) == [play.got])
        #expect(adjustments(recording) == play.report)
        try expectToDecode(recording, Self.calm)
    }

    // MARK: Intra refresh

    /// Waves begin at recovery points, and neither time nor scenes make key frames; forced ones stay what they are.
    @Test(arguments: [false, true]) func wavesTakeThePlaceOfKeyFrames(isVariable: Bool) throws {
        let configuration = configuration {
            $0.usesIntraRefresh = true
            $0.keyFrameInterval = KeyFrameInterval(duration: MediaTime(value: 10, timescale: 30))
            $0.isFrameRateVariable = isVariable
            $0.software.preset = .medium
        }
        let recording = try Recording(configuration, Self.changing, options: [25: .init(forceKeyFrame: true)])
        #expect(recording.frames.map(\.number) == Array(0..<40))
        #expect(recording.frames.filter(\.isKeyFrame).map(\.number) == [0, 25])
        var recoveries: [Int64: UInt32] = [:]
        for frame in recording.frames {
            for unit in frame.units where unitType(unit) == 6 {
                for message in try SEIMessage.messages(in: unit, codec: .h264) where message.type == .recoveryPoint {
                    recoveries[frame.number] = try H264RecoveryPoint(payload: message.payload).recoveryFrameCnt
                }
            }
        }
        #expect(recoveries.keys.sorted() == [10, 20, 35], "\(recoveries)")
        // The picture is ten macroblocks wide, and a wave moves on by at least one with each frame.
        #expect(recoveries.values.allSatisfy { (7...9).contains($0) }, "\(recoveries)")
        let options = seiOptions(recording.units)
        #expect(options["intra_refresh"] == "1" && options["keyint"] == "10" && options["bframes"] == "0")
        #expect(recording.properties.reorderDepth == 0)
        #expect(recording.properties.supportedProperties.contains(.intraRefresh))
        #expect(adjustments(recording) == [])
        try expectToDecode(recording, Self.changing)
    }

    /// After a wave a decoder that began at its first frame has every sample right.
    @Test func aDecoderCanBeginAtAWave() throws {
        let configuration = configuration {
            $0.usesIntraRefresh = true
            $0.keyFrameInterval = KeyFrameInterval(frames: 10)
        }
        let recording = try Recording(configuration, Self.calm)
        let scratch = try Scratch()
        let frameSize = Self.calm.frames[0].count
        let whole = try scratch.decode(recording.annexB)
        var late = Data()
        let sets = recording.properties.formatDescription.parameterSets
        for unit in sets + recording.frames[10...].flatMap(\.units) {
            late.append(contentsOf: [0, 0, 0, 1])
            late.append(contentsOf: unit)
        }
        let path = try scratch.write(late, to: "late.h264")
        // A decoder that is asked to show what is not complete yet, without an end at the first missing reference.
        try scratch.run([
            "ffmpeg", "-v", "fatal", "-flags", "+output_corrupt", "-flags2", "+showall", "-i", path, "-fps_mode",
            "passthrough", "-pix_fmt", "yuv420p", "-f", "rawvideo", scratch.path("late.raw"),
        ])
        let pictures = try scratch.read("late.raw")
        #expect(pictures.count == 20 * frameSize)
        #expect(pictures.suffix(10 * frameSize) == whole.suffix(10 * frameSize))
        #expect(pictures.prefix(frameSize) != whole[10 * frameSize..<11 * frameSize])
    }

    // MARK: Limits of the rate control

    @Test(arguments: [8, 10]) func quantizersKeepToTheirRange(bitDepth: Int) throws {
        for (rate, range) in [(2_000_000, 30...34), (20_000, 22...24)] {
            let configuration = configuration {
                $0.bitDepth = bitDepth
                $0.rateControl = .averageBitRate(rate, peak: .unlimited)
                $0.quantizerRange = range
                $0.software.preset = .medium
            }
            let recording = try Recording(configuration, Self.calm, format: bitDepth == 10 ? .p010 : .nv12)
            let options = seiOptions(recording.units)
            let offset = 6 * (bitDepth - 8)
            #expect(options["qpmin"] == "\(range.lowerBound + offset)")
            #expect(options["qpmax"] == "\(range.upperBound + offset)")
            #expect(adjustments(recording) == [])
            #expect(recording.properties.supportedProperties.contains(.quantizerRange))
            let quantizers = try recording.sliceQuantizers()
            #expect(quantizers.count == Self.calm.frames.count)
            #expect(quantizers.allSatisfy(range.contains), "\(quantizers)")
            try expectToDecode(recording, Self.calm)
        }
    }

    @Test func aConstantQuantizerIsNotBoundByTheRange() throws {
        var configuration = configuration {
            $0.rateControl = .constantQuantizer(30)
            $0.quantizerRange = 29...31
        }
        let recording = try Recording(configuration)
        #expect(adjustments(recording) == ["quantizer range: 29...31 -> 27...33"])
        #expect(!recording.properties.supportedProperties.contains(.quantizerRange))
        configuration.quantizerRange = 20...40
        #expect(try adjustments(Recording(configuration)) == [])
    }

    /// The buffering period tells after how long the first frame is taken from the buffer: H.264 D.2.2.
    @Test(arguments: [0.25, 1]) func theBufferIsAsFullAsAsked(fullness: Double) throws {
        let configuration = configuration {
            $0.rateControl = .constantBitRate(900_000, window: 1)
            $0.initialBufferFullness = fullness
        }
        let recording = try Recording(configuration, Self.calm)
        #expect(adjustments(recording) == [])
        let sets = recording.properties.formatDescription.parameterSets
        let sequence = try H264SequenceParameterSet(nalUnit: sets[0])
        let period = try #require(try recording.bufferingPeriod(sequence))
        let delay = Int(period.nal[0].delay)
        let expected = Int(90_000 * fullness)
        #expect(abs(delay - expected) <= expected / 50, "\(delay)")
        try expectToDecode(recording, Self.calm)
    }

    @Test func aFullnessThatHasNoEffectIsReported() throws {
        let unlimited = configuration { $0.initialBufferFullness = 0.5 }
        #expect(try adjustments(Recording(unlimited)) == ["initial buffer fullness: 0.5 -> none"])
        let empty = configuration {
            $0.rateControl = .constantBitRate(900_000, window: 1)
            $0.initialBufferFullness = 0
        }
        let report = try #require(try Recording(empty).properties.adjustments.first)
        #expect(report.property == "initial buffer fullness" && report.requested == "0.0")
        // A frame of thirty in a second.
        #expect(abs((Double(report.used) ?? 0) - 1.0 / 30) < 0.001, "\(report)")
    }

    // MARK: What x264 does not have

    @Test func whatIsMissingIsReported() throws {
        let configuration = configuration {
            $0.temporalLayers = 3
            $0.longTermReferences = 2
            $0.maximumFrameSize = 5000
            $0.hardware.framesInFlight = 2
            $0.hardware.lowPower = .required
            $0.hardware.qualityLevel = 4
        }
        let recording = try Recording(configuration, Self.calm)
        #expect(
            adjustments(recording) == [
                "temporal layers: 3 -> 1", "long-term references: 2 -> 0", "maximum frame size: 5000 bytes -> none",
            ]
        )
        let missing: Set<EncoderOption> = [
            .temporalLayers, .longTermReferences, .lossReports, .maximumFrameSize, .hardwareOptions,
        ]
        #expect(recording.properties.supportedProperties.isDisjoint(with: missing))
        try expectToDecode(recording, Self.calm)
    }
}

extension Recording {
    /// The first buffering period that came out.
    fileprivate func bufferingPeriod(_ sequence: H264SequenceParameterSet) throws -> H264BufferingPeriod? {
        for unit in units where unitType(unit) == 6 {
            for message in try SEIMessage.messages(in: unit, codec: .h264) where message.type == .bufferingPeriod {
                return try H264BufferingPeriod(payload: message.payload, for: sequence)
            }
        }
        return nil
    }
}
