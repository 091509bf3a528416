// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import PixelConversion
import Testing

let outputFormats: [PixelFormat] = [.nv12, .i420, .p010]
private let matrices: [ColorDescription.Matrix] = [.bt601Lines525, .bt709, .bt2020]
private let ranges: [ColorDescription.Range] = [.limited, .full]

/// Converts one picture.
func convert(
    _ picture: Picture,
    color: ColorDescription = .unspecified,
    to format: PixelFormat,
    wanted outputColor: ColorDescription = .unspecified
) throws -> (picture: Picture, color: ColorDescription) {
    let output = PixelBuffer.Description(
        format: format,
        width: picture.width,
        height: picture.height,
        color: outputColor
    )
    let result = try PixelConverter(output: output).convert(picture.buffer(color: color))
    return (try Picture(result), result.color)
}

@Suite struct ColorConversionTests {
    /// Half a code is rounding; the rest is what 18 fractional bits of coefficients cost.
    private static let tolerance = [8: 0.502, 10: 0.508]

    /// Formats with a plane of denser chroma are converted in two steps: see ``ChromaFormatTests``.
    @Test(arguments: PixelFormat.allCases.filter { $0.is420 || [.yuy2, .bgra].contains($0) }, outputFormats)
    func everyMatrixAndRangeAgreesWithFloatingPoint(source: PixelFormat, target: PixelFormat) throws {
        var generator = SeededGenerator(seed: 1)
        let picture = Picture.random(source, 46, 18, &generator)
        let tolerance = try #require(Self.tolerance[target.bitDepth])
        for (fromMatrix, toMatrix) in matrices.flatMap({ from in matrices.map { (from, $0) } }) {
            for (fromRange, toRange) in ranges.flatMap({ from in ranges.map { (from, $0) } }) {
                let color = ColorDescription(matrix: fromMatrix, range: fromRange)
                let wanted = ColorDescription(matrix: toMatrix, range: toRange)
                let result = try convert(picture, color: color, to: target, wanted: wanted)
                let expected = ColorReference.convert(
                    picture,
                    from: .init(fromMatrix, fromRange, bitDepth: source.bitDepth),
                    to: .init(toMatrix, toRange, bitDepth: target.bitDepth)
                )
                let difference = expected.largestDifference(to: result.picture)
                #expect(difference <= tolerance, "\(color) to \(wanted)")
                #expect(result.color.matrix == toMatrix)
                #expect(result.color.range == toRange)
            }
        }
    }

    /// The codes of 100 % colour bars in limited range, as test equipment states them.
    private static let bars: [(red: Int, green: Int, blue: Int, bt601: [Int], bt709: [Int])] = [
        (255, 255, 255, [235, 128, 128], [235, 128, 128]),
        (255, 255, 0, [210, 16, 146], [219, 16, 138]),
        (0, 255, 255, [170, 166, 16], [188, 154, 16]),
        (0, 255, 0, [145, 54, 34], [173, 42, 26]),
        (255, 0, 255, [106, 202, 222], [78, 214, 230]),
        (255, 0, 0, [81, 90, 240], [63, 102, 240]),
        (0, 0, 255, [41, 240, 110], [32, 240, 118]),
        (0, 0, 0, [16, 128, 128], [16, 128, 128]),
    ]

    @Test func colorBarsHaveTheirKnownCodes() throws {
        for bar in Self.bars {
            let picture = Picture.solid(.bgra, 20, 4, (bar.blue, bar.green, bar.red))
            for (codes, color) in [(bar.bt601, ColorDescription.bt601), (bar.bt709, .bt709)] {
                let result = try convert(picture, color: .sRGB, to: .i420, wanted: color).picture
                #expect(result == .solid(.i420, 20, 4, (codes[0], codes[1], codes[2])))
            }
        }
    }

    @Test func colorBarsOf601BecomeThoseOf709() throws {
        for bar in Self.bars {
            let picture = Picture.solid(.nv12, 20, 4, (bar.bt601[0], bar.bt601[1], bar.bt601[2]))
            let result = try convert(picture, color: .bt601, to: .nv12, wanted: .bt709).picture
            let chroma = result.chroma(3, 1)
            for (code, known) in zip([result.luma(5, 2), chroma.cb, chroma.cr], bar.bt709) {
                #expect(abs(code - known) <= 1)
            }
        }
    }

    @Test(arguments: ranges)
    func greyStaysGreyUnderEveryMatrix(range: ColorDescription.Range) throws {
        for matrix in matrices {
            for level in 0...255 {
                let picture = Picture.solid(.nv12, 2, 2, (level, 128, 128))
                let color = ColorDescription(matrix: .bt709, range: range)
                let wanted = ColorDescription(matrix: matrix, range: range)
                #expect(try convert(picture, color: color, to: .nv12, wanted: wanted).picture == picture)
            }
        }
    }

    @Test(arguments: [ColorDescription.Range.unspecified, .limited, .full], [PixelFormat.nv12, .i420])
    func eightBitsSurviveTenBits(range: ColorDescription.Range, format: PixelFormat) throws {
        var picture = Picture(format, 256, 2)
        for x in 0..<256 {
            picture.setLuma(x, 0, x)
            picture.setLuma(x, 1, 255 - x)
        }
        for x in 0..<128 { picture.setChroma(x, 0, 2 * x, 255 - 2 * x) }
        let color = ColorDescription(range: range)
        let ten = try convert(picture, color: color, to: .p010)
        #expect(ten.color.range == range)
        for x in 0..<256 {
            let expected = range == .full ? Int((Double(x) * 1023 / 255).rounded()) : 4 * x
            #expect(ten.picture.luma(x, 0) == expected)
        }
        #expect(try convert(ten.picture, color: color, to: format).picture == picture)
    }

    @Test func tenBitsAreRoundedToTheNearestHalvesUp() throws {
        var picture = Picture(.p010, 1024, 2)
        for x in 0..<1024 { picture.setLuma(x, 0, x) }
        for x in 0..<512 { picture.setChroma(x, 0, 2 * x, 2 * x + 1) }
        let result = try convert(picture, to: .nv12).picture
        for x in 0..<1024 { #expect(result.luma(x, 0) == min(255, (x + 2) / 4)) }
        for x in 0..<512 {
            #expect(result.chroma(x, 0) == (min(255, (2 * x + 2) / 4), min(255, (2 * x + 3) / 4)))
        }
    }

    @Test func unusedBitsOfP010PlayNoPart() throws {
        var generator = SeededGenerator(seed: 2)
        let clean = Picture.random(.p010, 40, 8, &generator)
        var dirty = clean
        for plane in 0..<2 {
            for index in stride(from: 0, to: dirty.planes[plane].count, by: 2) { dirty.planes[plane][index] |= 0x3F }
        }
        #expect(try convert(dirty, to: .i420).picture == convert(clean, to: .i420).picture)
    }
}

@Suite struct ColorRuleTests {
    private func color(
        _ matrix: ColorDescription.Matrix,
        _ range: ColorDescription.Range
    ) -> ColorDescription {
        ColorDescription(primaries: .bt2020, transfer: .pq, matrix: matrix, range: range, chromaLocation: .topLeft)
    }

    @Test(arguments: [
        (ColorDescription.Matrix.unspecified, ColorDescription.Matrix.bt709), (.bt709, .unspecified),
        (.unspecified, .unspecified),
    ])
    func anUnspecifiedMatrixIsNotConverted(source: ColorDescription.Matrix, output: ColorDescription.Matrix) throws {
        var generator = SeededGenerator(seed: 3)
        let picture = Picture.random(.nv12, 16, 16, &generator)
        let result = try convert(
            picture,
            color: color(source, .limited),
            to: .i420,
            wanted: ColorDescription(primaries: .bt709, transfer: .bt709, matrix: output, range: .limited)
        )
        #expect(result.color == color(source, .limited))
        #expect(result.picture.planes[0] == picture.planes[0])
    }

    @Test func anUnspecifiedRangeIsNotConverted() throws {
        var generator = SeededGenerator(seed: 4)
        let picture = Picture.random(.nv12, 16, 16, &generator)
        for (source, output) in [
            (ColorDescription.Range.unspecified, ColorDescription.Range.full), (.full, .unspecified),
        ] {
            let wanted = ColorDescription(range: output)
            let result = try convert(picture, color: color(.bt709, source), to: .i420, wanted: wanted)
            #expect(result.color == color(.bt709, source))
            #expect(result.picture.planes[0] == picture.planes[0])
        }
    }

    @Test func matricesOfTheSameNumbersNeedNoConversion() throws {
        var generator = SeededGenerator(seed: 5)
        let picture = Picture.random(.nv12, 16, 16, &generator)
        let result = try convert(
            picture,
            color: color(.bt601Lines625, .limited),
            to: .i420,
            wanted: color(.bt601Lines525, .limited)
        )
        #expect(result.color.matrix == .bt601Lines525)
        #expect(result.picture.planes[0] == picture.planes[0])
    }

    @Test(arguments: [
        (640, 480, ColorDescription.Matrix.bt601Lines525), (960, 720, .bt709), (1280, 536, .bt709),
        (1278, 718, .bt601Lines525),
    ])
    func screensWithoutAWishBecomeVideoOfTheirSize(
        width: Int,
        height: Int,
        matrix: ColorDescription.Matrix
    ) throws {
        let picture = Picture.solid(.bgra, width, height, (0, 0, 255))
        let result = try convert(picture, color: .sRGB, to: .nv12)
        #expect(
            result.color
                == ColorDescription(
                    primaries: .bt709,
                    transfer: .sRGB,
                    matrix: matrix,
                    range: .limited,
                    chromaLocation: .center
                )
        )
        #expect(result.picture.luma(0, 0) == (matrix == .bt709 ? 63 : 81))
    }

    @Test func aMatrixThatIsUnknownIsRefusedOnlyIfItHasToBeConverted() throws {
        let iCtCp = ColorDescription(matrix: .init(rawValue: 14), range: .limited)
        let picture = Picture.solid(.nv12, 16, 16, (100, 100, 100))
        #expect(try convert(picture, color: iCtCp, to: .i420, wanted: iCtCp).color == iCtCp)
        func refusal(_ source: ColorDescription, _ output: ColorDescription) -> MediaError? {
            PixelConverter.refusal(
                of: .init(format: .nv12, width: 16, height: 16, color: source),
                for: .init(format: .i420, width: 16, height: 16, color: output)
            )
        }
        #expect(refusal(iCtCp, iCtCp) == nil)
        #expect(refusal(iCtCp, .unspecified) == nil)
        for (source, output) in [(iCtCp, ColorDescription.bt709), (.bt709, iCtCp)] {
            #expect(refusal(source, output)?.code == .unsupported)
            let error = #expect(throws: MediaError.self) {
                try convert(picture, color: source, to: .i420, wanted: output)
            }
            #expect(error?.code == .unsupported)
            #expect(error?.given == "matrix coefficients 14")
            #expect(error?.allowed != nil)
        }
        let screen = Picture.solid(.bgra, 16, 16, (1, 2, 3))
        let error = #expect(throws: MediaError.self) { try convert(screen, to: .nv12, wanted: iCtCp) }
        #expect(error?.code == .unsupported)
    }
}
