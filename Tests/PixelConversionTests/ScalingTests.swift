// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import PixelConversion
import Testing

@Suite struct ScalingTests {
    /// Codes of a colour in the depth of a format.
    private func codes(_ format: PixelFormat, _ codes: (Int, Int, Int)) -> (Int, Int, Int) {
        let scale = 1 << (format.bitDepth - 8)
        return (codes.0 * scale, codes.1 * scale, codes.2 * scale)
    }

    @Test(arguments: [PixelFormat.nv12, .i420, .p010, .bgra, .yuy2], outputFormats)
    func oneColourStaysOneColourAtAnySize(source: PixelFormat, target: PixelFormat) throws {
        var generator = SeededGenerator(seed: 31)
        // Red, of which the codes in BT.601 are known.
        let red = source == .bgra ? (0, 0, 255) : codes(source, (81, 90, 240))
        for _ in 0..<12 {
            func side() -> Int { .random(in: 2...300, using: &generator) }
            let picture = Picture.solid(source, side(), side(), red)
            let output = PixelBuffer.Description(
                format: target,
                width: max(2, side() & ~1),
                height: max(2, side() & ~1),
                color: .bt601
            )
            let result = try PixelConverter(output: output, scaling: .stretch)
                .convert(picture.buffer(color: source == .bgra ? .sRGB : .bt601))
            let received = try Picture(result)
            guard source == .bgra, target == .p010 else {
                #expect(received == .solid(target, output.width, output.height, codes(target, (81, 90, 240))))
                continue
            }
            // Ten bits know red more exactly than four times eight.
            #expect(received == .solid(.p010, output.width, output.height, (326, 361, 960)))
        }
    }

    @Test(arguments: outputFormats, [ColorDescription.Range.unspecified, .limited, .full])
    func barsAreBlack(format: PixelFormat, range: ColorDescription.Range) throws {
        let white = Picture.solid(.nv12, 40, 20, (range == .full ? 255 : 235, 128, 128))
        let black = codes(format, (range == .full ? 0 : 16, 128, 128))
        let color = ColorDescription(matrix: .bt709, range: range)
        for (width, height, shown) in [(80, 80, 20..<60), (160, 40, 40..<120)] {
            let output = PixelBuffer.Description(format: format, width: width, height: height, color: color)
            let result = try Picture(PixelConverter(output: output).convert(white.buffer(color: color)))
            for y in 0..<height {
                for x in 0..<width {
                    let isShown = shown.contains(height > 40 ? y : x)
                    #expect((result.luma(x, y) == black.0) != isShown, "\(x) \(y)")
                    #expect(result.chroma(x / 2, y / 2) == (black.1, black.2))
                }
            }
        }
    }

    @Test func barsAreWrittenAgainIntoUsedMemory() throws {
        let output = PixelBuffer.Description(format: .nv12, width: 64, height: 64)
        let converter = try PixelConverter(output: output)
        let wide = try Picture.solid(.nv12, 64, 16, (200, 30, 40)).buffer()
        let first = try Picture(converter.convert(wide))
        _ = try converter.convert(Picture.solid(.bgra, 16, 64, (10, 20, 30)).buffer())
        _ = try converter.convert(Picture.solid(.p010, 300, 300, (10, 20, 30)).buffer())
        #expect(try Picture(converter.convert(wide)) == first)
    }

    /// Red, green and blue thirds: their centres tell where the picture went.
    @Test(arguments: PixelFormat.allCases)
    func contentIsWhereTheModeSays(format: PixelFormat) throws {
        let thirds = [(81, 90, 240), (145, 54, 34), (41, 240, 110)]
        let bgrThirds = [(0, 0, 255), (0, 255, 0), (255, 0, 0)]
        var picture = Picture.solid(format, 180, 60, (0, 0, 0))
        for third in 0..<3 {
            let color = format == .bgra ? bgrThirds[third] : codes(format, thirds[third])
            let part = Picture.solid(format, 180, 60, color)
            for plane in picture.planes.indices {
                let bytesPerRow = try #require(format.planeExtent(plane, width: 180, height: 60)).bytesPerRow
                for index in picture.planes[plane].indices where index % bytesPerRow * 3 / bytesPerRow == third {
                    picture.planes[plane][index] = part.planes[plane][index]
                }
            }
        }
        let source = try picture.buffer(color: format == .bgra ? .sRGB : .bt601)
        // Where the centres of the thirds are in an output of 90x90.
        for (mode, centers, row) in [
            (ScalingMode.letterbox, [(15, 0), (45, 1), (75, 2)], 45), (.stretch, [(15, 0), (45, 1), (75, 2)], 10),
            (.aspectFill, [(4, 1), (45, 1), (85, 1)], 10),
        ] {
            let output = PixelBuffer.Description(format: .i420, width: 90, height: 90, color: .bt601)
            let result = try Picture(PixelConverter(output: output, scaling: mode).convert(source))
            for (x, third) in centers {
                #expect(result.luma(x, row) == thirds[third].0, "\(mode)")
                #expect(result.chroma(x / 2, row / 2) == (thirds[third].1, thirds[third].2), "\(mode)")
            }
            #expect((result.luma(45, 4) == 16) == (mode == .letterbox))
        }
    }

    @Test func pixelAspectRatiosDecideAboutBars() throws {
        let picture = Picture.solid(.i420, 72, 58, (200, 128, 128))
        let output = PixelBuffer.Description(format: .i420, width: 128, height: 72)
        let converter = try PixelConverter(output: output)
        let wide = try Picture(converter.convert(picture.buffer(pixelAspectRatio: Rational(16 * 58, 9 * 72))))
        #expect(wide == .solid(.i420, 128, 72, (200, 128, 128)))
        let narrow = try Picture(converter.convert(picture.buffer()))
        #expect(narrow.luma(0, 36) == 16)
        #expect(narrow.luma(64, 36) == 200)
    }

    /// What libyuv makes of 2x2 blocks at half the size is their mean, in eight bits and in ten.
    @Test(arguments: [PixelFormat.i420, .nv12, .p010])
    func halfSizeIsTheMeanOfFour(format: PixelFormat) throws {
        var generator = SeededGenerator(seed: 32)
        let picture = Picture.random(format, 64, 32, &generator)
        let output = PixelBuffer.Description(format: format, width: 32, height: 16)
        let result = try Picture(PixelConverter(output: output, scaling: .stretch).convert(picture.buffer()))
        for y in 0..<16 {
            for x in 0..<32 {
                let sum = [(0, 0), (1, 0), (0, 1), (1, 1)].map { picture.luma(2 * x + $0.0, 2 * y + $0.1) }.reduce(0, +)
                #expect(abs(4 * result.luma(x, y) - sum) <= 4)
            }
        }
    }

    @Test func extremeSizesWork() throws {
        for format in PixelFormat.allCases {
            for (from, to) in [((32768, 2), (2, 64)), ((2, 32768), (64, 2)), ((1, 1), (4096, 2)), ((1, 3), (2, 4096))] {
                let picture = Picture.solid(format, from.0, from.1, codes(format, (90, 90, 90)))
                for mode in ScalingMode.allCases {
                    let output = PixelBuffer.Description(format: .p010, width: to.0, height: to.1)
                    let result = try PixelConverter(output: output, scaling: mode).convert(picture.buffer())
                    let expected = format == .bgra ? 90 * 219 * 4 / 255 + 64 : 360
                    let received = try Picture(result)
                    let brightest = (0..<to.0 * to.1).map { received.luma($0 % to.0, $0 / to.0) }.max() ?? 0
                    #expect(abs(brightest - expected) <= 1, "\(format) \(from) \(to) \(mode)")
                }
            }
        }
    }
}
