// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import PixelConversion
import Testing

/// 4:2:2, 4:4:4 and twelve bits.
@Suite struct ChromaFormatTests {
    static let planar: [PixelFormat] = [.i012, .i422, .i210, .i212, .i444, .i410, .i412]
    /// Sources and results of which one is not 4:2:0 of 8 or 10 bits.
    static let pairs: [(PixelFormat, PixelFormat)] =
        PixelFormat.allCases.flatMap { source in planar.map { (source, $0) } }
        + planar.flatMap { source in outputFormats.map { (source, $0) } }

    private func codes(_ format: PixelFormat, _ codes: (Int, Int, Int)) -> (Int, Int, Int) {
        let scale = 1 << (format.bitDepth - 8)
        return (codes.0 * scale, codes.1 * scale, codes.2 * scale)
    }

    /// libyuv's box filter multiplies by a reciprocal of 16 bits, and may come out one code lower; of 12 bits, a few.
    @Test(arguments: pairs) func oneColourStaysOneColourAtAnySize(source: PixelFormat, target: PixelFormat) throws {
        var generator = SeededGenerator(seed: 41)
        for _ in 0..<6 {
            func side() -> Int { .random(in: 2...200, using: &generator) }
            // Red, of which the codes in BT.601 are known; ten and twelve bits know those of BGRA more exactly.
            let red = source == .bgra ? (0, 0, 255) : codes(source, (81, 90, 240))
            let picture = Picture.solid(source, side(), side(), red)
            let (width, height) = (max(2, side() & ~1), max(2, side() & ~1))
            let output = PixelBuffer.Description(format: target, width: width, height: height, color: .bt601)
            let result = try PixelConverter(output: output, scaling: .stretch)
                .convert(picture.buffer(color: source == .bgra ? .sRGB : .bt601))
            let exact = [8: (81, 90, 240), 10: (326, 361, 960), 12: (1304, 1443, 3840)]
            let expected = try #require(source == .bgra ? exact[target.bitDepth] : codes(target, (81, 90, 240)))
            let received = try Picture(result)
            func isNear(_ found: Int, _ code: Int) -> Bool { abs(found - code) <= (target.bitDepth > 10 ? 4 : 1) }
            var wrong = 0
            for y in 0..<height { for x in 0..<width where !isNear(received.luma(x, y), expected.0) { wrong += 1 } }
            for y in 0..<received.chromaHeight {
                for x in 0..<received.chromaWidth {
                    let (cb, cr) = received.chroma(x, y)
                    if !isNear(cb, expected.1) || !isNear(cr, expected.2) { wrong += 1 }
                }
            }
            #expect(wrong == 0, "\(picture.width)x\(picture.height) to \(width)x\(height)")
        }
    }

    /// Words hold samples in their lower bits; what producers leave in the others plays no part.
    @Test(arguments: [PixelFormat.i210, .i410, .i012, .i212], [PixelFormat.i422, .i444, .i210, .i412])
    func bitsAboveTheSamplesAreIgnored(source: PixelFormat, target: PixelFormat) throws {
        var generator = SeededGenerator(seed: 43)
        let picture = Picture.random(source, 32, 16, &generator)
        // To full range, so that codes change.
        let output = PixelBuffer.Description(format: target, width: 32, height: 16, color: .init(range: .full))
        let clean = try picture.buffer(color: .init(range: .limited))
        let soiled = try picture.buffer(color: .init(range: .limited))
        try soiled.withPlanes { planes in
            for (plane, extent) in zip(planes, soiled.planeExtents) {
                for row in 0..<extent.rows {
                    let words = (plane.baseAddress + row * plane.bytesPerRow).assumingMemoryBound(to: UInt16.self)
                    for index in 0..<extent.bytesPerRow / 2 { words[index] |= 0xffff << UInt16(source.bitDepth) }
                }
            }
        }
        let converter = try PixelConverter(output: output, scaling: .stretch)
        #expect(try Picture(converter.convert(clean)) == Picture(converter.convert(soiled)))
    }

    @Test func chromaOfFourSamplesIsInTheirCentre() throws {
        for (source, location) in [(PixelFormat.i444, ColorDescription.ChromaLocation.center), (.i422, nil)] {
            let picture = Picture.solid(source, 16, 16, (90, 100, 110))
            let output = PixelBuffer.Description(format: .i420, width: 16, height: 16)
            let result = try PixelConverter(output: output).convert(picture.buffer(color: .bt709))
            #expect(result.color.chromaLocation == location)
        }
    }

    /// What has the chroma format and the depth already keeps every code.
    @Test func layoutsKeepEveryCode() throws {
        var generator = SeededGenerator(seed: 42)
        for (width, height) in [(2, 2), (16, 2), (30, 18), (130, 34)] {
            for (source, target) in [(PixelFormat.yuy2, PixelFormat.i422)] + Self.planar.map({ ($0, $0) }) {
                let picture = Picture.random(source, width, height, &generator)
                var expected = Picture(target, width, height)
                for y in 0..<height {
                    for x in 0..<width { expected.setLuma(x, y, picture.luma(x, y)) }
                }
                for y in 0..<picture.chromaHeight {
                    for x in 0..<picture.chromaWidth {
                        let (cb, cr) = picture.chroma(x, y)
                        expected.setChroma(x, y, cb, cr)
                    }
                }
                let converter = try PixelConverter(
                    output: .init(format: target, width: width, height: height),
                    scaling: .stretch
                )
                let result = try converter.convert(picture.buffer(pixelAspectRatio: Rational(2)))
                #expect(try Picture(result) == expected, "\(source) to \(target)")
            }
        }
    }

    @Test(arguments: planar, [ColorDescription.Range.limited, .full])
    func barsAreBlack(format: PixelFormat, range: ColorDescription.Range) throws {
        let white = Picture.solid(.nv12, 40, 20, (range == .full ? 255 : 235, 128, 128))
        let black = codes(format, (range == .full ? 0 : 16, 128, 128))
        let color = ColorDescription(matrix: .bt709, range: range)
        let output = PixelBuffer.Description(format: format, width: 80, height: 80, color: color)
        let result = try Picture(PixelConverter(output: output).convert(white.buffer(color: color)))
        for y in 0..<80 {
            for x in 0..<80 {
                #expect((result.luma(x, y) == black.0) != (20..<60).contains(y), "\(x) \(y)")
                #expect(result.chroma(x / result.across, y / result.down) == (black.1, black.2))
            }
        }
    }

    /// Depth, matrix and range against the arithmetic of H.273, in numbers of double precision. Where chroma becomes
    /// less dense, its codes are the mean of converted ones, and libyuv may be one lower.
    @Test(arguments: [
        (PixelFormat.i444, PixelFormat.i412), (.i412, .i444), (.i410, .i412), (.i422, .i212), (.i012, .i012),
        (.i444, .i420), (.i444, .nv12), (.i410, .p010), (.i412, .i422), (.i422, .nv12), (.i212, .p010),
    ])
    func coloursAreThoseOfTheFormulas(source: PixelFormat, target: PixelFormat) throws {
        var generator = SeededGenerator(seed: 43)
        let picture = Picture.random(source, 64, 32, &generator)
        let from = ColorDescription(matrix: .bt601Lines525, range: .limited)
        let to = ColorDescription(matrix: .bt709, range: .full)
        let output = PixelBuffer.Description(format: target, width: 64, height: 32, color: to)
        let result = try Picture(PixelConverter(output: output).convert(picture.buffer(color: from)))
        let formula = Formula(picture: picture, target: target)
        for y in 0..<32 {
            for x in 0..<64 {
                let expected = formula.codes(lumaAt: (x, y), chromaAt: (x / picture.across, y / picture.down))
                #expect(abs(Double(result.luma(x, y)) - expected.luma) <= 1, "\(x) \(y)")
            }
        }
        let (across, down) = (result.across / picture.across, result.down / picture.down)
        let tolerance = across * down > 1 ? 2.0 : 1
        for y in 0..<result.chromaHeight {
            for x in 0..<result.chromaWidth {
                let block = (0..<across * down).map { index in
                    let place = (across * x + index % across, down * y + index / across)
                    return formula.codes(lumaAt: (place.0 * picture.across, place.1 * picture.down), chromaAt: place)
                }
                let found = result.chroma(x, y)
                let (cb, cr) = (block.map(\.cb).reduce(0, +), block.map(\.cr).reduce(0, +))
                #expect(abs(Double(found.cb) - cb / Double(block.count)) <= tolerance, "\(x) \(y)")
                #expect(abs(Double(found.cr) - cr / Double(block.count)) <= tolerance, "\(x) \(y)")
            }
        }
    }

    /// BT.601 in limited range becomes BT.709 in full range, by way of red, green and blue.
    private struct Formula {
        let picture: Picture
        let target: PixelFormat

        func codes(lumaAt place: (x: Int, y: Int), chromaAt sample: (x: Int, y: Int)) -> (
            luma: Double, cb: Double, cr: Double
        ) {
            let (unit, peak) = (Double(1 << (picture.format.bitDepth - 8)), Double((1 << target.bitDepth) - 1))
            let (cbCode, crCode) = picture.chroma(sample.x, sample.y)
            let luma = (Double(picture.luma(place.x, place.y)) / unit - 16) / 219
            let (cb, cr) = ((Double(cbCode) / unit - 128) / 224, (Double(crCode) / unit - 128) / 224)
            let (red, blue) = (luma + 2 * (1 - 0.299) * cr, luma + 2 * (1 - 0.114) * cb)
            let green = (luma - 0.299 * red - 0.114 * blue) / 0.587
            let newLuma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
            let middle = Double(1 << (target.bitDepth - 1))
            func clamped(_ value: Double) -> Double { min(max(value.rounded(), 0), peak) }
            return (
                clamped(newLuma * peak), clamped((blue - newLuma) / (2 * (1 - 0.0722)) * peak + middle),
                clamped((red - newLuma) / (2 * (1 - 0.2126)) * peak + middle)
            )
        }
    }

    /// The widest picture becomes the narrowest chroma.
    @Test func theLargestRatioIsScaled() throws {
        let wide = Picture.solid(.i444, PixelBuffer.maximumDimension, 2, (81, 90, 240))
        let converter = try PixelConverter(output: .init(format: .i422, width: 2, height: 2), scaling: .stretch)
        let result = try Picture(converter.convert(wide.buffer()))
        #expect(abs(result.chroma(0, 0).cb - 90) <= 1 && abs(result.chroma(0, 1).cr - 240) <= 1)
    }

    @Test func formatsAreFoundByChromaAndDepth() {
        let all = [ChromaFormat.yuv420, .yuv422, .yuv444].flatMap { chroma in
            [8, 10, 12].map { PixelFormat.preferred(chroma, bitDepth: $0) }
        }
        #expect(all == [.i420, .p010, .i012, .i422, .i210, .i212, .i444, .i410, .i412])
        #expect(PixelFormat.preferred(.monochrome, bitDepth: 8) == nil)
        #expect(PixelFormat.preferred(.yuv444, bitDepth: 9) == nil)
    }
}
