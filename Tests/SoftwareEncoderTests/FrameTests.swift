// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import SoftwareEncoder
import Testing

/// What becomes of single frames: their kind, their quantizer, their number.
@Suite struct FrameTests {
    struct Structure: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let change: @Sendable (inout EncoderConfiguration) -> Void
    }

    static let structures = [
        Structure(testDescription: "closed, no B") { $0.bFrames = .off },
        Structure(testDescription: "closed, B-pyramid") { $0.bFrames = .maximum(5) },
        Structure(testDescription: "open, B-pyramid") {
            $0.bFrames = .maximum(5)
            $0.allowsOpenGOP = true
        },
        Structure(testDescription: "low latency") { $0.isLowLatency = true },
        Structure(testDescription: "ultrafast, fixed B") {
            $0.software.preset = .ultrafast
            $0.bFrames = .maximum(3)
        },
    ]

    /// One scene without changes, so that x264 has no reason for key frames of its own.
    static let calm = TestClip(width: 96, height: 64, count: 48, hasSceneChange: false)

    @Test(arguments: structures)
    func keyFramesAreWhereTheyWereAskedFor(structure: Structure) throws {
        var configuration = EncoderConfiguration()
        configuration.keyFrameInterval = KeyFrameInterval()
        configuration.rateControl = .constantQuality(28)
        structure.change(&configuration)
        let asked: [Int64] = [7, 8, 19, 20, 33, 46]
        let options = Dictionary(uniqueKeysWithValues: asked.map { (Int($0), FrameOptions(forceKeyFrame: true)) })
        let recording = try Recording(configuration, Self.calm, options: options)
        let keyFrames = recording.frames.filter(\.isKeyFrame)
        #expect(keyFrames.map(\.number) == [0] + asked)
        for frame in recording.frames {
            #expect(frame.units.contains { unitType($0) == 5 } == frame.isKeyFrame)
        }
        let pictures = try Scratch().decode(recording.annexB)
        #expect(pictures.count == Self.calm.frames.count * Self.calm.frames[0].count)
    }

    @Test func anOpenGroupBeginsWithARecoveryPointThatIsNoKeyFrame() throws {
        var configuration = EncoderConfiguration()
        configuration.keyFrameInterval = KeyFrameInterval(frames: 12)
        configuration.bFrames = .maximum(3)
        configuration.allowsOpenGOP = true
        let recording = try Recording(configuration, Self.calm)
        #expect(recording.frames.filter(\.isKeyFrame).map(\.number) == [0])
        // The SEI message of payload type 6 is the recovery point, H.264 D.1.8.
        let recoveries = recording.frames.filter {
            $0.units.contains { unitType($0) == 6 && $0.count > 1 && $0[1] == 6 }
        }
        #expect(recoveries.map(\.number) == [12, 24, 36])
    }

    @Test(arguments: [8, 10])
    func aQuantizerAppliesToItsFrameOnly(bitDepth: Int) throws {
        var configuration = EncoderConfiguration()
        configuration.bitDepth = bitDepth
        configuration.isLowLatency = true
        configuration.software.threads = 1
        // Without adaptive quantization, which would move the first macroblock and with it the slice's value.
        configuration.software.tuning = .psnr
        configuration.rateControl = .constantQuality(30)
        let asked = [5: 11, 6: 51, 20: 0, 21: 1, 22: 50]
        let recording = try Recording(
            configuration,
            Self.calm,
            format: bitDepth == 10 ? .p010 : .nv12,
            options: asked.mapValues { FrameOptions(quantizer: $0) }
        )
        let quantizers = try recording.sliceQuantizers()
        #expect(quantizers.count == Self.calm.frames.count)
        for (index, quantizer) in quantizers.enumerated() {
            if let asked = asked[index] {
                #expect(quantizer == asked, "frame \(index)")
            } else {
                #expect((15...45).contains(quantizer), "frame \(index)")
            }
        }
    }

    @Test func aConstantQuantizerBoundsThatOfSingleFrames() throws {
        var configuration = EncoderConfiguration(width: Self.calm.width, height: Self.calm.height)
        configuration.isLowLatency = true
        configuration.rateControl = .constantQuantizer(30)
        let recording = try Recording(configuration)
        #expect(!recording.properties.supportedProperties.contains(.frameQuantizer))
        let asked: [Int?] = [nil, nil, 27, 33, 28]
        for (index, quantizer) in asked.enumerated() {
            try recording.encode(Self.calm.buffer(index, format: .nv12), options: .init(quantizer: quantizer))
        }
        #expect(try recording.sliceQuantizers() == [27, 30, 27, 33, 28])
        let error = #expect(throws: MediaError.self) {
            try recording.encode(Self.calm.buffer(0, format: .nv12), options: .init(quantizer: 26))
        }
        #expect(error?.allowed == "27...33")
    }

    @Test func everyFrameComesOutOnceForRandomStructures() throws {
        var random = SplitMix(state: 2026)
        for _ in 0..<25 {
            var configuration = EncoderConfiguration(width: 48, height: 32)
            configuration.rateControl = .constantQuality(30)
            configuration.bFrames =
                [.off, .automatic, .maximum(.random(in: 1...16, using: &random))]
                .randomElement(using: &random) ?? .off
            configuration.allowsBPyramid = .random(using: &random)
            configuration.allowsOpenGOP = .random(using: &random)
            configuration.keyFrameInterval.frames = .random(in: 1...40, using: &random)
            configuration.software.preset = [.ultrafast, .veryfast, .medium].randomElement(using: &random) ?? .medium
            configuration.software.threads = .random(in: 1...4, using: &random)
            configuration.isFrameRateVariable = .random(using: &random)
            let recording = try Recording(configuration)
            var time: Int64 = 0
            var restarts: Set<Int64> = [0]
            let count = Int64.random(in: 1...60, using: &random)
            for number in 0..<count {
                let options = FrameOptions(
                    forceKeyFrame: .random(in: 0..<10, using: &random) == 0,
                    quantizer: .random(in: 0..<10, using: &random) == 0 ? .random(in: 0...51, using: &random) : nil
                )
                time += .random(in: 1...200, using: &random)
                try recording.encode(
                    TestClip.tiny.buffer(Int(number), format: .nv12),
                    at: MediaTime(value: time, timescale: 1000),
                    options: options
                )
                if Int.random(in: 0..<15, using: &random) == 0 {
                    if recording.frames.count <= number { restarts.insert(number + 1) }
                    try recording.encoder.drain()
                    #expect(recording.frames.count == Int(number + 1), "\(configuration)")
                }
            }
            try recording.encoder.drain()
            let frames = recording.frames
            #expect(frames.map(\.number).sorted() == Array(0..<count), "\(configuration)")
            #expect(restarts.filter { $0 < count }.isSubset(of: Set(frames.filter(\.isKeyFrame).map(\.number))))
            #expect(Self.reorderDepth(frames.map(\.number)) <= recording.properties.reorderDepth, "\(configuration)")
        }
    }

    /// The most frames that come out before a frame which is shown before them.
    static func reorderDepth(_ numbers: [Int64]) -> Int {
        numbers.indices.map { index in numbers[..<index].count { $0 > numbers[index] } }.max() ?? 0
    }

    @Test func referencesAreMarkedAsTheirUnitsSay() throws {
        var configuration = EncoderConfiguration()
        configuration.bFrames = .maximum(4)
        let frames = try Recording(configuration, Self.calm).frames
        for frame in frames {
            let slice = frame.units.first { [1, 5].contains(unitType($0)) }
            #expect(frame.isReference == ((slice?.first ?? 0) & 0x60 != 0))
        }
        #expect(Set(frames.map(\.isReference)) == [true, false])
    }

    @Test func samplesHoldUnitsBehindLengthsWithoutParameterSets() throws {
        var configuration = EncoderConfiguration()
        configuration.accessUnitDelimiters = true
        configuration.keyFrameInterval = KeyFrameInterval(frames: 10)
        let recording = try Recording(configuration, TestClip.small)
        for frame in recording.frames {
            let units = frame.units
            #expect(units.reduce(0) { $0 + 4 + $1.count } == frame.data.count)
            #expect(units.first.map(unitType) == 9)
            for unit in units {
                #expect(![0, 7, 8].contains(unitType(unit)))
                #expect(unit.last != 0)
                let codes = unit.indices.dropLast(2).filter { unit[$0] == 0 && unit[$0 + 1] == 0 && unit[$0 + 2] <= 2 }
                #expect(codes.isEmpty, "a start code inside of a unit")
            }
            #expect(frame.formatDescription == nil)
        }
        #expect(recording.properties.formatDescription.parameterSets.map(unitType) == [7, 8])
    }
}
