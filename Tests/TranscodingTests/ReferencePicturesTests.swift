// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import MediaTypes
import Testing

@testable import Transcoding

@Suite struct ReferencePicturesTests {
    /// A picture of one luma code.
    private func picture(_ code: Int, width: Int = 16, height: Int = 16) throws -> PixelBuffer {
        let pool = try PixelBufferPool(PixelBuffer.Description(format: .i420, width: width, height: height))
        let buffer = try pool.make()
        try buffer.withPlanes { planes throws(MediaError) in
            for (plane, extent) in zip(planes, buffer.planeExtents) {
                memset(plane.baseAddress, Int32(code), extent.rows * plane.bytesPerRow)
            }
        }
        return buffer
    }

    private func time(_ number: Int) -> MediaTime { MediaTime(value: Int64(number), timescale: 25) }

    /// Whatever their number, the pictures that are kept have the same distance, and begin with the first one.
    @Test(arguments: [1, 31, 32, 33, 64, 65, 100, 1000]) func picturesAreSpreadEvenly(count: Int) throws {
        var references = ReferencePictures(EncoderConfiguration(width: 16, height: 16))
        for number in 0..<count { try references.add(picture(number % 200), at: time(number)) }
        let numbers = references.pictures.keys.map { Int($0.value) }.sorted()
        #expect(numbers.count == count || (16...32).contains(numbers.count))
        let distances = Set(zip(numbers, numbers.dropFirst()).map { $1 - $0 })
        #expect(numbers.first == 0 && distances.count <= 1, "\(numbers)")
        #expect((numbers.last ?? 0) + (distances.first ?? 1) >= count, "\(numbers)")
        for number in numbers {
            let own = try #require(try LumaPicture(picture(number % 200)))
            #expect(references.pictures[time(number)]?.psnr(with: own) == 100)
        }
    }

    /// Large pictures are few.
    @Test func theMemoryIsBounded() throws {
        var references = ReferencePictures(EncoderConfiguration(width: 4096, height: 2304))
        for number in 0..<6 { try references.add(picture(7), at: time(number)) }
        #expect(references.pictures.count <= 4)
        #expect(references.pictures.values.allSatisfy { $0.width == 4096 && $0.height == 2304 })
    }

    @Test func ratios() throws {
        let dark = try #require(try LumaPicture(picture(100)))
        let bright = try #require(try LumaPicture(picture(101)))
        let wide = try #require(try LumaPicture(picture(100, width: 18)))
        // 10 log10(255 squared), for a difference of 1 everywhere.
        #expect(abs((dark.psnr(with: bright) ?? 0) - 48.1308) < 0.0001)
        #expect(dark.psnr(with: wide) == nil)
        #expect(OutputVerification.PSNR([]) == nil)
        let psnr = try #require(OutputVerification.PSNR([30, 50]))
        #expect(psnr.lowest == 30 && psnr.mean == 40 && psnr.pictureCount == 2)
    }
}
