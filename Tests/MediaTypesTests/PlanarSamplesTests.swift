// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

/// The samples of a picture, whatever its format.
@Suite struct PlanarSamplesTests {
    private static let (width, height) = (6, 4)

    /// A picture of 4:2:0 whose samples count from 1 on: luma, then Cb, then Cr.
    private func picture(_ format: PixelFormat, last: Int? = nil) throws -> PixelBuffer {
        let buffer = try PixelBuffer(.init(format: format, width: Self.width, height: Self.height))
        try buffer.withPlanes { planes throws(MediaError) in
            let picture = PictureComponents(format.arrangement, width: Self.width, height: Self.height, planes: planes)
            var code = 0
            for plane in picture.planes {
                for row in 0..<plane.height {
                    for column in 0..<plane.width {
                        code += 1
                        let isLast = code == Self.width * Self.height * 3 / 2
                        plane.part(x: column, y: row, width: 1, height: 1)
                            .fill(isLast ? last ?? code : code, bitDepth: format.bitDepth)
                    }
                }
            }
        }
        return buffer
    }

    @Test func formatsWithTheSameSamplesHaveTheSameBytes() throws {
        let expected = (1...36).map { UInt8($0) }
        #expect(try picture(.i420).planarSamples() == expected)
        #expect(try picture(.nv12).planarSamples() == expected)
        #expect(try picture(.nv12, last: 40).planarSamples() == expected.dropLast() + [40])
    }

    @Test func tenBitsAreInTheLowerBitsOfWords() throws {
        #expect(try picture(.p010).planarSamples() == (1...36).flatMap { [UInt8($0), 0] })
    }
}
