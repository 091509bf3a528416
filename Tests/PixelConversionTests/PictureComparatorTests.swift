// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import PixelConversion
import Testing

@Suite struct PictureComparatorTests {
    /// The definition, sample by sample and window by window.
    private func expected(
        _ width: Int,
        _ height: Int,
        peak: Double,
        _ first: (Int, Int) -> Int,
        _ second: (Int, Int) -> Int
    ) -> PictureDifference.Plane {
        var error: UInt64 = 0
        for y in 0..<height {
            for x in 0..<width {
                error += UInt64((first(x, y) - second(x, y)).magnitude * (first(x, y) - second(x, y)).magnitude)
            }
        }
        var (total, count) = (0.0, 0.0)
        for top in stride(from: 0, through: height - 8, by: 4) {
            for left in stride(from: 0, through: width - 8, by: 4) {
                var (a, b, aa, bb, ab) = (0.0, 0.0, 0.0, 0.0, 0.0)
                for y in top..<top + 8 {
                    for x in left..<left + 8 {
                        let (p, q) = (Double(first(x, y)), Double(second(x, y)))
                        (a, b, aa, bb, ab) = (a + p, b + q, aa + p * p, bb + q * q, ab + p * q)
                    }
                }
                let (meanA, meanB) = (a / 64, b / 64)
                let varianceA = (aa - 64 * meanA * meanA) / 63
                let varianceB = (bb - 64 * meanB * meanB) / 63
                let covariance = (ab - 64 * meanA * meanB) / 63
                let (c1, c2) = (0.0001 * peak * peak, 0.0009 * peak * peak)
                total +=
                    (2 * meanA * meanB + c1) * (2 * covariance + c2)
                    / ((meanA * meanA + meanB * meanB + c1) * (varianceA + varianceB + c2))
                count += 1
            }
        }
        return .init(
            squaredError: error,
            sampleCount: width * height,
            similarity: count > 0 ? total / count : nil
        )
    }

    private func check(_ plane: PictureDifference.Plane, _ expected: PictureDifference.Plane) throws {
        #expect(plane.squaredError == expected.squaredError && plane.sampleCount == expected.sampleCount)
        if let similarity = expected.similarity {
            #expect(abs(try #require(plane.similarity) - similarity) < 1e-6)
        } else {
            #expect(plane.similarity == nil)
        }
    }

    @Test(
        arguments: [
            (PixelFormat.i420, PixelFormat.i420), (.nv12, .nv12), (.nv12, .i420), (.i420, .nv12), (.p010, .p010),
        ],
        [(64, 48), (70, 34), (15, 17), (12, 12), (1, 1), (38, 22)]
    )
    func agreesWithTheDefinition(formats: (PixelFormat, PixelFormat), size: (Int, Int)) throws {
        var generator = SeededGenerator(seed: UInt64(size.0 * 131 + size.1))
        let first = Picture.random(formats.0, size.0, size.1, &generator)
        var second = Picture(formats.1, size.0, size.1)
        let peak = 1 << formats.0.bitDepth
        // As decoded pictures are: mostly near, sometimes anything.
        func near(_ code: Int) -> Int {
            Int.random(in: 0..<10, using: &generator) == 0
                ? .random(in: 0..<peak, using: &generator)
                : min(max(code + .random(in: -9...9, using: &generator), 0), peak - 1)
        }
        for y in 0..<size.1 { for x in 0..<size.0 { second.setLuma(x, y, near(first.luma(x, y))) } }
        for y in 0..<first.chromaHeight {
            for x in 0..<first.chromaWidth {
                let codes = first.chroma(x, y)
                second.setChroma(x, y, near(codes.cb), near(codes.cr))
            }
        }
        let difference = try PictureComparator()
            .difference(of: second.buffer(padding: 14), from: first.buffer(padding: 2, poison: 3))
        let (left, right, top) = (second, first, Double(peak - 1))
        let (width, height) = (first.chromaWidth, first.chromaHeight)
        try check(difference.luma, expected(size.0, size.1, peak: top, left.luma, right.luma))
        try check(
            difference.cb,
            expected(width, height, peak: top, { left.chroma($0, $1).cb }, { right.chroma($0, $1).cb })
        )
        try check(
            difference.cr,
            expected(width, height, peak: top, { left.chroma($0, $1).cr }, { right.chroma($0, $1).cr })
        )
    }

    @Test(arguments: [PixelFormat.i420, .nv12, .p010])
    func equalPicturesDoNotDiffer(format: PixelFormat) throws {
        var generator = SeededGenerator(seed: 5)
        let picture = Picture.random(format, 96, 64, &generator)
        let difference = try PictureComparator().difference(of: picture.buffer(padding: 6), from: picture.buffer())
        for plane in [difference.luma, difference.cb, difference.cr] {
            #expect(plane.squaredError == 0)
            #expect(plane.similarity == 1)
        }
    }

    /// The largest differences there can be, in rows longer than what is summed up in 32 bits.
    @Test(arguments: [PixelFormat.i420, .p010])
    func nothingOverflows(format: PixelFormat) throws {
        let black = Picture.solid(format, 9000, 16, (0, 0, 0))
        let peak = (1 << format.bitDepth) - 1
        let white = Picture.solid(format, 9000, 16, (peak, peak, peak))
        let difference = try PictureComparator().difference(of: black.buffer(), from: white.buffer())
        #expect(difference.luma.squaredError == UInt64(9000 * 16 * peak * peak))
        #expect(difference.cr.squaredError == UInt64(4500 * 8 * peak * peak))
        #expect(try #require(difference.luma.similarity) < 0.001)
    }

    @Test func oneComparatorTakesPicturesOfAnySize() throws {
        let comparator = PictureComparator()
        for side in [64, 16, 128, 32] {
            var generator = SeededGenerator(seed: UInt64(side))
            let first = Picture.random(.nv12, side, side, &generator)
            let second = Picture.random(.nv12, side, side, &generator)
            let difference = try comparator.difference(of: first.buffer(), from: second.buffer())
            #expect(try difference == PictureComparator().difference(of: first.buffer(), from: second.buffer()))
        }
    }

    @Test func refusesWhatCannotBeCompared() throws {
        func error(_ first: Picture, _ second: Picture) -> String? {
            do throws(MediaError) {
                guard let buffers = try? (first.buffer(), second.buffer()) else { return nil }
                _ = try PictureComparator().difference(of: buffers.0, from: buffers.1)
                return nil
            } catch {
                return error.description
            }
        }
        let sizes = try #require(error(Picture(.i420, 64, 32), Picture(.nv12, 64, 34)))
        #expect(sizes.contains("64x32 with 8 bits") && sizes.contains("64x34 with 8 bits"))
        let depths = try #require(error(Picture(.i420, 64, 32), Picture(.p010, 64, 32)))
        #expect(depths.contains("64x32 with 8 bits") && depths.contains("64x32 with 10 bits"))
        #expect(try #require(error(Picture(.bgra, 64, 32), Picture(.bgra, 64, 32))).contains("bgra"))
        #expect(try #require(error(Picture(.i420, 64, 32), Picture(.yuy2, 64, 32))).contains("yuy2"))
    }
}
