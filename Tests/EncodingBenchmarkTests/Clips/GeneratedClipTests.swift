// SPDX-License-Identifier: GPL-2.0-or-later

import EncodingBenchmark
import MediaTypes
import Testing

@Suite struct GeneratedClipTests {
    private func clip(
        _ content: ClipContent,
        _ width: Int = 192,
        _ height: Int = 108,
        rate: Rational = Rational(25, 1),
        depth: Int = 8
    ) throws -> GeneratedClip {
        try GeneratedClip(content, size: .init(width: width, height: height), frameRate: rate, bitDepth: depth)
    }

    /// The samples without padding, plane after plane.
    private func bytes(_ picture: PixelBuffer) throws -> [UInt8] {
        try picture.withPlanes { planes in
            planes.enumerated().flatMap { index, plane in
                let extent = picture.format.planeExtent(index, width: picture.width, height: picture.height)
                return (0..<(extent?.rows ?? 0)).flatMap { row in
                    UnsafeRawBufferPointer(
                        start: plane.baseAddress + row * plane.bytesPerRow,
                        count: extent?.bytesPerRow ?? 0
                    )
                }
            }
        }
    }

    private func digest(_ clip: GeneratedClip, frames: [Int]) throws -> String {
        var digest = Digest()
        for frame in frames { try bytes(clip.picture(frame)).withUnsafeBytes { digest.add($0) } }
        return digest.text
    }

    /// What these pictures have always been. If one changes, figures of different versions can no longer be compared:
    /// it is a new kind of clip then.
    @Test(arguments: [
        (ClipContent.chart, "2cfd0324c002e9b5", "d46096f8841c8ac8"),
        (.noise, "93407305f16d7c2a", "e082b56614366458"),
        (.gradient, "88dc5a80c569eb8d", "1803be3b19b5ad58"),
        (.text, "2ab6563fa78672f9", "12fedea15f9667c7"),
        (.mixed, "cbb913098f441b79", "45dd73ed4fa4e04c"),
    ])
    func picturesAreTheSameEverywhere(content: ClipContent, digest8: String, digest10: String) throws {
        let eight = try digest(clip(content), frames: [0, 1, 60])
        let ten = try digest(clip(content, 194, 110, depth: 10), frames: [0, 1, 60])
        #expect(eight == "fnv1a64:" + digest8)
        #expect(ten == "fnv1a64:" + digest10)
    }

    @Test(arguments: ClipContent.allCases)
    func eightBitsAreTenWithoutTheLowerTwo(content: ClipContent) throws {
        let eight = try clip(content).picture(7)
        let ten = try clip(content, depth: 10).picture(7)
        #expect(eight.format == .i420 && ten.format == .p010)
        #expect(eight.color == .bt709 && ten.color == .bt709)
        let (short, long) = (try bytes(eight), try bytes(ten))
        let luma = 192 * 108
        let words = stride(from: 0, to: long.count, by: 2).map { Int(long[$0]) | Int(long[$0 + 1]) << 8 }
        #expect(words.allSatisfy { $0 & 0x3F == 0 })
        #expect(words[..<luma].map { $0 >> 8 } == short[..<luma].map(Int.init))
        let chroma = Array(words[luma...])
        let cb = stride(from: 0, to: chroma.count, by: 2).map { chroma[$0] >> 8 }
        let cr = stride(from: 1, to: chroma.count, by: 2).map { chroma[$0] >> 8 }
        #expect(cb + cr == short[luma...].map(Int.init))
        // Limited range.
        #expect(words[..<luma].allSatisfy { (64...940).contains($0 >> 6) })
        #expect(chroma.allSatisfy { (64...960).contains($0 >> 6) })
    }

    @Test(arguments: ClipContent.allCases)
    func picturesMove(content: ClipContent) throws {
        let clip = try clip(content)
        // Text moves by whole rows, here about one in each frame.
        let pictures = try (0..<4).map { try bytes(clip.picture(2 * $0)) }
        #expect(Set(pictures).count == 4)
        #expect(try bytes(clip.picture(4)) == pictures[2])
    }

    @Test(arguments: [ClipContent.chart, .gradient, .text])
    func movementIsOfSecondsNotOfFrames(content: ClipContent) throws {
        let slow = try bytes(clip(content, rate: Rational(25, 1)).picture(12))
        #expect(try bytes(clip(content, rate: Rational(50, 1)).picture(24)) == slow)
        #expect(try bytes(clip(content, rate: Rational(25000, 1000)).picture(12)) == slow)
        #expect(try bytes(clip(content, rate: Rational(30000, 1001)).picture(12)) != slow)
    }

    @Test func mixedPicturesAreCutAndHaveFourDifferentQuarters() throws {
        let clip = try clip(.mixed, rate: Rational(10, 1))
        func changed(_ first: Int, _ second: Int) throws -> Double {
            let luma = 192 * 108
            let pairs = zip(try bytes(clip.picture(first)).prefix(luma), try bytes(clip.picture(second)).prefix(luma))
            return Double(pairs.count { abs(Int($0) - Int($1)) > 8 }) / Double(luma)
        }
        #expect(try changed(19, 20) > 0.5)
        #expect(try changed(18, 19) < 0.4)
        #expect(try changed(20, 21) < 0.4)
    }

    @Test func noiseUsesAllCodesAlike() throws {
        let picture = try bytes(clip(.noise, 640, 360).picture(3))
        var counts = [Int](repeating: 0, count: 256)
        for code in picture[..<(640 * 360)] { counts[Int(code)] += 1 }
        #expect(counts[..<16].allSatisfy { $0 == 0 } && counts[236...].allSatisfy { $0 == 0 })
        let expected = 640 * 360 / 219
        #expect(counts[17...234].allSatisfy { (expected * 8 / 10...expected * 12 / 10).contains($0) })
    }

    @Test(arguments: [(16, 16), (18, 34), (1918, 1078)])
    func anyEvenSizeWillDo(width: Int, height: Int) throws {
        for content in ClipContent.allCases {
            let picture = try clip(content, width, height, depth: width == 18 ? 10 : 8).picture(1)
            #expect(picture.width == width && picture.height == height)
        }
    }

    @Test func refusesWhatItCannotMake() {
        #expect(throws: MediaError.self) { try clip(.chart, 15, 16) }
        #expect(throws: MediaError.self) { try clip(.chart, 64, 33) }
        #expect(throws: MediaError.self) { try clip(.chart, depth: 12) }
        #expect(throws: MediaError.self) { try clip(.chart, rate: Rational(0, 1)) }
    }
}
