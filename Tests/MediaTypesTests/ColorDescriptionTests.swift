// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@Suite struct ColorDescriptionTests {
    @Test(arguments: PixelFormat.allCases.filter(\.isYCbCr))
    func lumaAndChromaAreCodedAsTheyAre(format: PixelFormat) {
        for color in [ColorDescription.unspecified, .bt601, .bt709, .hdr10] {
            var expected = color
            // The mean of four chroma samples is in the centre of these.
            if format.chromaFormat == .yuv444 { expected.chromaLocation = .center }
            #expect(color.coded(from: format, width: 1920, height: 1080) == expected)
        }
    }

    @Test(arguments: [
        (2, 2, ColorDescription.Matrix.bt601Lines525), (1278, 718, .bt601Lines525), (1280, 2, .bt709), (2, 720, .bt709),
    ])
    func redGreenAndBlueAreCodedByTheSizeOfTheResult(width: Int, height: Int, matrix: ColorDescription.Matrix) {
        let coded = ColorDescription(
            primaries: .displayP3,
            transfer: .sRGB,
            matrix: matrix,
            range: .limited,
            chromaLocation: .center
        )
        let picture = ColorDescription(primaries: .displayP3, transfer: .sRGB, matrix: .rgb, range: .full)
        #expect(picture.coded(from: .bgra, width: width, height: height) == coded)
        #expect(picture.coded(from: .nv12, width: width, height: height) == coded)
        var unspecified = picture
        unspecified.matrix = .unspecified
        unspecified.range = .unspecified
        #expect(unspecified.coded(from: .bgra, width: width, height: height) == coded)
    }
}
