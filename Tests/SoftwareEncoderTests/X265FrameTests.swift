// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaIO
import MediaTypes
import SoftwareEncoder
import Testing

/// What becomes of single frames in x265: their kind, their quantizer, their number, what travels with them.
@Suite struct X265FrameTests {
    private static let calm = TestClip(width: 192, height: 128, count: 40, hasSceneChange: false)

    private func configuration(
        _ clip: TestClip = calm,
        _ change: (inout EncoderConfiguration) -> Void = { _ in }
    ) -> EncoderConfiguration {
        var configuration = EncoderConfiguration(width: clip.width, height: clip.height)
        configuration.rateControl = .constantQuality(30)
        configuration.software.preset = .ultrafast
        configuration.software.threads = 2
        change(&configuration)
        return configuration
    }

    private func recording(
        _ configuration: EncoderConfiguration,
        _ clip: TestClip = calm,
        format: PixelFormat = .i420,
        options: [Int: FrameOptions] = [:]
    ) throws -> Recording {
        try Recording(configuration, clip, format: format, options: options, factory: X265EncoderFactory())
    }

    // MARK: Key frames

    static let structures: [FrameTests.Structure] = FrameTests.structures.filter {
        !$0.testDescription.contains("ultrafast")
    }

    @Test(arguments: structures) func keyFramesAreWhereTheyWereAskedFor(structure: FrameTests.Structure) throws {
        let configuration = configuration {
            $0.keyFrameInterval = KeyFrameInterval()
            structure.change(&$0)
        }
        let types: Set<UInt8> = configuration.allowsOpenGOP ? [20, 21] : [19, 20]
        let asked: [Int64] = [7, 8, 19, 20, 33]
        let options = Dictionary(uniqueKeysWithValues: asked.map { (Int($0), FrameOptions(forceKeyFrame: true)) })
        let recording = try recording(configuration, options: options)
        #expect(recording.frames.filter(\.isKeyFrame).map(\.number) == [0] + asked)
        for frame in recording.frames {
            #expect(frame.units.contains { types.contains(hevcUnitType($0)) } == frame.isKeyFrame)
        }
        let pictures = try Scratch().decode(recording.annexB, codec: "hevc")
        #expect(pictures.count == Self.calm.frames.count * Self.calm.frames[0].count)
        #expect(psnr(pictures, Self.calm.frames.flatMap { $0 }) > 25)
    }

    @Test func anOpenGroupBeginsWithACRAPictureThatIsNoKeyFrame() throws {
        let recording = try recording(
            configuration {
                $0.keyFrameInterval = KeyFrameInterval(frames: 12)
                $0.bFrames = .maximum(3)
                $0.allowsOpenGOP = true
            }
        )
        #expect(recording.frames.filter(\.isKeyFrame).map(\.number) == [0])
        let groups = recording.frames.filter { $0.units.contains { hevcUnitType($0) == 21 } }
        #expect(groups.map(\.number) == [12, 24, 36])
    }

    @Test(arguments: [8, 10]) func aQuantizerAppliesToItsFrameOnly(bitDepth: Int) throws {
        let configuration = configuration {
            $0.bitDepth = bitDepth
            $0.isLowLatency = true
            $0.software.tuning = .psnr
        }
        let asked = [5: 11, 6: 51, 20: 0, 21: 1, 22: 50]
        let options = asked.mapValues { FrameOptions(quantizer: $0) }
        let recording = try recording(configuration, format: bitDepth == 10 ? .p010 : .nv12, options: options)
        #expect(recording.properties.supportedProperties.contains(.frameQuantizer))
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

    @Test func referencesAreMarkedAsTheirUnitsSay() throws {
        let frames = try recording(configuration { $0.bFrames = .maximum(4) }).frames
        for frame in frames {
            let type = try #require(frame.units.map(hevcUnitType).first { $0 < 32 })
            #expect(frame.isReference == (type >= 16 || type % 2 == 1))
        }
        #expect(Set(frames.map(\.isReference)) == [true, false])
    }

    @Test func samplesHoldUnitsBehindLengthsWithoutParameterSets() throws {
        let recording = try recording(
            configuration {
                $0.accessUnitDelimiters = true
                $0.keyFrameInterval = KeyFrameInterval(frames: 10)
            }
        )
        for frame in recording.frames {
            let units = frame.units
            #expect(units.reduce(0) { $0 + 4 + $1.count } == frame.data.count)
            #expect(units.first.map(hevcUnitType) == 35)
            for unit in units {
                #expect(!(32...34).contains(hevcUnitType(unit)))
                let codes = unit.indices.dropLast(2).filter { unit[$0] == 0 && unit[$0 + 1] == 0 && unit[$0 + 2] <= 2 }
                #expect(codes.isEmpty, "a start code inside of a unit")
            }
            #expect(frame.formatDescription == nil)
        }
    }

    @Test func everyFrameComesOutOnceForRandomStructures() throws {
        var random = SplitMix(state: 2027)
        for _ in 0..<12 {
            let clip = TestClip.tiny
            let configuration = configuration(clip) {
                $0.bFrames =
                    [.off, .automatic, .maximum(.random(in: 1...16, using: &random))]
                    .randomElement(using: &random) ?? .off
                $0.allowsBPyramid = .random(using: &random)
                $0.allowsOpenGOP = .random(using: &random)
                $0.keyFrameInterval.frames = .random(in: 1...40, using: &random)
                $0.software.preset = [.ultrafast, .veryfast, .medium].randomElement(using: &random) ?? .medium
                $0.software.threads = .random(in: 1...4, using: &random)
            }
            let recording = try Recording(configuration, factory: X265EncoderFactory())
            let count = Int64.random(in: 1...50, using: &random)
            for number in 0..<count {
                let options = FrameOptions(forceKeyFrame: .random(in: 0..<10, using: &random) == 0)
                try recording.encode(clip.buffer(Int(number), format: .nv12), options: options)
                #expect(Int(number) + 1 - recording.frames.count <= recording.properties.maximumDelay)
                if Int.random(in: 0..<15, using: &random) == 0 {
                    try recording.encoder.drain()
                    #expect(recording.frames.count == Int(number + 1), "\(configuration)")
                }
            }
            try recording.encoder.drain()
            let numbers = recording.frames.map(\.number)
            #expect(numbers.sorted() == Array(0..<count), "\(configuration)")
            #expect(FrameTests.reorderDepth(numbers) <= recording.properties.reorderDepth, "\(configuration)")
        }
    }

    @Test func lowLatencyGivesEveryFrameAtOnce() throws {
        let recording = try Recording(
            configuration {
                $0.isLowLatency = true
                $0.slices = 2
            },
            factory: X265EncoderFactory()
        )
        #expect(recording.properties.maximumDelay == 0 && recording.properties.reorderDepth == 0)
        #expect(recording.properties.adjustments.map(\.property) == ["slices"])
        for index in 0..<10 {
            try recording.encode(Self.calm.buffer(index, format: .nv12))
            #expect(recording.frames.count == index + 1)
        }
    }

    @Test(arguments: [0, 1, 2]) func reorderingStaysWithinItsLimit(depth: Int) throws {
        let recording = try Recording(
            configuration { $0.bFrames = .maximum(5) },
            maximumReorderDepth: depth,
            factory: X265EncoderFactory()
        )
        #expect(recording.properties.reorderDepth == depth)
        let expected = [["b-frames"], ["b-pyramid"], []]
        #expect(recording.properties.adjustments.map(\.property) == expected[depth])
        for index in Self.calm.frames.indices { try recording.encode(Self.calm.buffer(index, format: .nv12)) }
        try recording.encoder.drain()
        #expect(FrameTests.reorderDepth(recording.frames.map(\.number)) == depth)
    }

    // MARK: What travels with pictures

    /// x265's own way with messages writes beyond its memory when one is longer than an earlier one.
    @Test func captionsTravelWithTheirFrames() throws {
        let counts = [1, 2, 20, 31, 32, 0, 70, 1, 3, 3, 3, 3]
        let captions: [[UInt8]] = counts.enumerated().map { frame, count in
            (0..<UInt8(count)).flatMap { [0xFC, UInt8(frame), $0] }
        }
        let recording = try Recording(configuration { $0.bFrames = .maximum(3) }, factory: X265EncoderFactory())
        #expect(recording.properties.supportedProperties.contains(.captions))
        for (index, triplets) in captions.enumerated() {
            let buffer = try Self.calm.buffer(index, format: .nv12)
            buffer.attachments.captions = triplets
            try recording.encode(buffer)
        }
        try recording.encoder.drain()
        #expect(recording.frames.map(\.number) != Array(0..<Int64(counts.count)), "reordered")
        let scratch = try Scratch()
        let source = try MediaSource(path: scratch.write(recording.annexB, to: "captions.hevc"))
        var found: [[UInt8]] = []
        while let event = try source.next() {
            if case .frame(let frame) = event { found.append(frame.buffer.attachments.captions) }
        }
        #expect(found == captions)
    }

    @Test(arguments: [8, 10]) func theRegionLooksBetterThanTheRest(bitDepth: Int) throws {
        let clip = TestClip(width: 160, height: 128, count: 12, hasSceneChange: false)
        let region = RegionOfInterest(x: 32, y: 16, width: 48, height: 64, quantizerOffset: -18)
        func quality(_ pictures: ClosedRange<Int>?) throws -> (inside: Double, outside: Double) {
            let configuration = configuration(clip) {
                $0.bitDepth = bitDepth
                $0.rateControl = .constantQuality(36)
                $0.software.preset = .veryfast
            }
            let recording = try Recording(configuration, factory: X265EncoderFactory())
            #expect(recording.properties.supportedProperties.contains(.regionsOfInterest))
            for index in clip.frames.indices {
                let buffer = try clip.buffer(index, format: bitDepth == 10 ? .p010 : .nv12)
                if pictures?.contains(index) == true { buffer.attachments.regionsOfInterest = [region] }
                try recording.encode(buffer)
            }
            try recording.encoder.drain()
            return compare(try Scratch().decode(recording.annexB, codec: "hevc"), clip, region)
        }
        let plain = try quality(nil)
        let favoured = try quality(0...11)
        #expect(favoured.inside > plain.inside + 3, "\(favoured), \(plain)")
        #expect(abs(favoured.outside - plain.outside) < 3, "\(favoured), \(plain)")
        // Frames whose memory was made for one without regions.
        let late = try quality(6...11)
        #expect(late.inside > plain.inside && late.inside < favoured.inside, "\(late), \(plain), \(favoured)")
    }

    @Test func whereRegionsHaveNoEffectTheyAreNotSupported() throws {
        for change: (inout EncoderConfiguration) -> Void in [
            { $0.rateControl = .constantQuantizer(30) }, { $0.isLowLatency = true },
        ] {
            let recording = try Recording(configuration(Self.calm, change), factory: X265EncoderFactory())
            #expect(!recording.properties.supportedProperties.contains(.regionsOfInterest))
            let buffer = try Self.calm.buffer(0, format: .nv12)
            buffer.attachments.regionsOfInterest = [.init(x: 0, y: 0, width: 9, height: 9, quantizerOffset: -9)]
            try recording.encode(buffer)
            try recording.encoder.drain()
            #expect(recording.frames.count == 1)
        }
    }
}
