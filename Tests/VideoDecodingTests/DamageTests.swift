// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import TestSupport
import Testing
import VideoDecoding

/// Damaged samples.
@Suite struct DamageTests {
    private static let streams = [
        StreamCase(.h264, "slices", StreamCase.pyramid + ":slices=3"),
        StreamCase(.h264, "CAVLC", StreamCase.pyramid + ":cabac=0"),
        StreamCase(.hevc, "slices", StreamCase.x265 + ":slices=3:ctu=16", source: "testsrc2=size=192x192:rate=25"),
        StreamCase(.hevc, "pyramid", StreamCase.x265),
    ]

    enum Damage: CaseIterable { case overwritten, cutShort, removed, header }

    /// Every NAL unit of some samples is damaged in turn. No call fails, every other sample has a picture, and the
    /// number that is reported is that of the sample, however many threads decode.
    @Test(arguments: streams, Damage.allCases)
    func damageCostsNoOtherPicture(stream: StreamCase, damage: Damage) throws {
        let coded = try stream.make()
        var reported = 0
        for (isLowLatency, threads) in [(false, 4), (true, 2), (false, 1)] {
            for target in [5, 6, 8, 13] {
                for unit in try coded.samples[target].accessUnitLayout().units.indices {
                    var damaged = coded
                    damaged.samples[target].data = try damage.applied(to: coded.samples[target], unit: unit)
                    let recording = try Recording.decode(damaged, isLowLatency: isLowLatency, threads: threads)
                    let missing = Set(0..<Int64(coded.samples.count)).subtracting(recording.numbers)
                    let place = Comment(rawValue: "sample \(target), unit \(unit), \(threads) threads: \(missing)")
                    #expect(missing.isSubset(of: [Int64(target)]), place)
                    let first = recording.damaged.map(\.number).min()
                    #expect((missing.isEmpty ? first ?? Int64(target) : first) == Int64(target), place)
                    #expect(recording.damaged.allSatisfy { $0.error.code == .malformedData })
                    if first != nil { reported += 1 }
                }
            }
        }
        // libavcodec does not notice other damage within HEVC slices.
        #expect(reported > 0 || stream.codec == .hevc)
        if damage == .header { #expect(reported > 10) }
    }

    /// Whatever the bytes are, decoding goes on, no picture comes twice, and the decoder works again at the next IDR picture.
    @Test(arguments: streams) func randomDamageNeverEndsTheDecoder(stream: StreamCase) throws {
        let coded = try stream.make()
        var random = SplitMix(1)
        for round in 0..<40 {
            var damaged = coded
            for index in damaged.samples.indices where random.isOne(of: 3) {
                var bytes = damaged.samples[index].data.withUnsafeBytes { Array($0) }
                for _ in 0...random.below(8) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
                if random.isOne(of: 4) { bytes.removeLast(random.below(bytes.count)) }
                damaged.samples[index].data = CodedData(bytes)
            }
            let recording = Recording()
            let decoder = try recording.decoder(coded, isLowLatency: round % 4 == 0, threads: round % 5 + 1)
            try decoder.decode(damaged.samples)
            try decoder.drain()
            #expect(Set(recording.numbers).count == recording.numbers.count)
            let count = recording.numbers.count
            try decoder.decode(coded.samples, from: 100)
            try decoder.drain()
            #expect(recording.numbers.dropFirst(count).sorted() == (100..<130).map { $0 })
        }
    }

    /// Damage to a picture that others refer to is concealed, and the picture says so.
    @Test func concealedPicturesAreMarked() throws {
        var stream = try CodedStream(.h264, "-x264-params bframes=0:keyint=100")
        stream.samples[4].data = try Damage.cutShort.applied(to: stream.samples[4], unit: 0)
        let recording = try Recording.decode(stream, threads: 4)
        #expect(recording.damaged.map(\.number) == [4])
        #expect(recording.pictures.count == stream.samples.count)
        #expect(recording.pictures.filter(\.isDamaged).map(\.number) == [4])
    }
}

extension DamageTests.Damage {
    func applied(to sample: SampleBuffer, unit: Int) throws -> CodedData {
        let range = try sample.accessUnitLayout().units[unit]
        var bytes = sample.data.withUnsafeBytes { Array($0) }
        switch self {
        case .overwritten:
            for index in range.dropFirst(range.count / 2) { bytes[index] ^= UInt8(truncatingIfNeeded: index &* 37 | 1) }
        case .header:
            for index in range.dropFirst(2).prefix(4) { bytes[index] ^= 0x5A }
        case .cutShort:
            let kept = max(range.count / 2, 3)
            bytes.removeSubrange(range.lowerBound + kept..<range.upperBound)
            withUnsafeBytes(of: UInt32(kept).bigEndian) { length in
                bytes.replaceSubrange(range.lowerBound - 4..<range.lowerBound, with: length)
            }
        case .removed:
            bytes.removeSubrange(range.lowerBound - 4..<range.upperBound)
        }
        return CodedData(bytes)
    }
}
