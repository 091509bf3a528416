// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@testable import SoftwareEncoder

/// Regions of interest: which macroblocks they touch, and what becomes of them.
@Suite struct RegionTests {
    private func offsets(_ regions: [RegionOfInterest], width: Int = 64, height: Int = 40) -> [Float] {
        let offsets = RegionOffsets(width: width, height: height)
        // What an earlier picture left.
        offsets.fill([RegionOfInterest(x: 0, y: 0, width: width, height: height, quantizerOffset: 7)])
        offsets.fill(regions)
        return offsets.values
    }

    @Test func everyMacroblockThatIsTouchedCounts() {
        let region = RegionOfInterest(x: 15, y: 16, width: 2, height: 17, quantizerOffset: -4)
        #expect(offsets([region]) == [0, 0, 0, 0, -4, -4, 0, 0, -4, -4, 0, 0])
        #expect(offsets([]) == Array(repeating: 0, count: 12))
    }

    @Test func theFirstOfTwoRegionsCounts() {
        let inner = RegionOfInterest(x: 16, y: 0, width: 16, height: 16, quantizerOffset: -6)
        let outer = RegionOfInterest(x: 0, y: 0, width: 64, height: 16, quantizerOffset: 3)
        #expect(offsets([inner, outer]).prefix(4) == [3, -6, 3, 3])
        #expect(offsets([outer, inner]).prefix(4) == [3, 3, 3, 3])
    }

    @Test func whatLiesOutsideIsLeftOutAndOffsetsAreLimited() {
        let nothing: [(Int, Int, Int, Int)] = [
            (-5, 0, 5, 9), (64, 0, 1, 1), (0, 48, 1, 1), (0, 0, 0, 9), (0, 0, -3, 9), (.min, .min, .max, .max),
            (.max, .max, .max, .max), (0, 0, .min, .min),
        ]
        for (x, y, width, height) in nothing {
            let region = RegionOfInterest(x: x, y: y, width: width, height: height, quantizerOffset: 1)
            #expect(offsets([region]) == Array(repeating: 0, count: 12), "\(region)")
        }
        let all = RegionOfInterest(x: -1, y: -1, width: .max, height: .max, quantizerOffset: .max)
        #expect(offsets([all]) == Array(repeating: 51, count: 12))
        let best = RegionOfInterest(x: 0, y: 0, width: 1, height: 1, quantizerOffset: .min)
        #expect(offsets([best]).first == -51)
    }

    /// The quantizer of each picture's first macroblock is that of its slice plus what adaptive quantization and the
    /// regions add, so quality tells.
    @Test(arguments: [8, 10]) func theRegionLooksBetterThanTheRest(bitDepth: Int) throws {
        let clip = TestClip(width: 160, height: 128, count: 12, hasSceneChange: false)
        let region = RegionOfInterest(x: 32, y: 16, width: 48, height: 64, quantizerOffset: -18)
        let scratch = try Scratch()
        func quality(_ regions: [RegionOfInterest]) throws -> (inside: Double, outside: Double) {
            var configuration = EncoderConfiguration(width: clip.width, height: clip.height)
            configuration.bitDepth = bitDepth
            configuration.rateControl = .constantQuality(34)
            configuration.software.preset = .veryfast
            configuration.software.threads = 1
            let recording = try Recording(configuration)
            #expect(recording.properties.supportedProperties.contains(.regionsOfInterest))
            for index in clip.frames.indices {
                let buffer = try clip.buffer(index, format: bitDepth == 10 ? .p010 : .nv12)
                buffer.attachments.regionsOfInterest = regions
                try recording.encode(buffer)
            }
            try recording.encoder.drain()
            return compare(try scratch.decode(recording.annexB), clip, region)
        }
        let plain = try quality([])
        let favoured = try quality([region])
        #expect(favoured.inside > plain.inside + 6, "\(favoured), \(plain)")
        #expect(abs(favoured.outside - plain.outside) < 2, "\(favoured), \(plain)")
    }

    /// Without adaptive quantization x264 takes no regions; the session reports it.
    @Test func whereTheyHaveNoEffectTheyAreNotSupported() throws {
        let changes: [(inout EncoderConfiguration) -> Void] = [
            { $0.rateControl = .constantQuantizer(30) },
            { $0.software.preset = .ultrafast },
            {
                $0.software.tuning = .psnr
                $0.software.preset = .ultrafast
            },
        ]
        for change in changes {
            var configuration = EncoderConfiguration(width: 64, height: 64)
            change(&configuration)
            let recording = try Recording(configuration)
            #expect(!recording.properties.supportedProperties.contains(.regionsOfInterest))
        }
    }
}

/// The quality of luma in a region and around it.
func compare(
    _ pictures: [UInt8],
    _ clip: TestClip,
    _ region: RegionOfInterest
) -> (inside: Double, outside: Double) {
    var samples: [Bool: (decoded: [UInt8], source: [UInt8])] = [true: ([], []), false: ([], [])]
    let size = clip.frames[0].count
    for (index, frame) in clip.frames.enumerated() where (index + 1) * size <= pictures.count {
        for y in 0..<clip.height {
            for x in 0..<clip.width {
                let isInside =
                    (region.x..<region.x + region.width).contains(x)
                    && (region.y..<region.y + region.height).contains(y)
                samples[isInside]?.decoded.append(pictures[index * size + y * clip.width + x])
                samples[isInside]?.source.append(frame[y * clip.width + x])
            }
        }
    }
    func quality(_ isInside: Bool) -> Double { samples[isInside].map { psnr($0.decoded, $0.source) } ?? 0 }
    return (quality(true), quality(false))
}
