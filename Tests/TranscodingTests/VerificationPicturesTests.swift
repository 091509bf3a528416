// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import MediaTypes
import Testing

@testable import Transcoding

@Suite struct VerificationPicturesTests {
    /// A picture of one code.
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
        var kept = VerificationPictures(EncoderConfiguration(width: 16, height: 16))
        for number in 0..<count { try kept.add(picture(number % 200), at: time(number)) }
        let numbers = kept.pictures.keys.map { Int($0.value) }.sorted()
        #expect(numbers.count == count || (16...32).contains(numbers.count))
        let distances = Set(zip(numbers, numbers.dropFirst()).map { $1 - $0 })
        #expect(numbers.first == 0 && distances.count <= 1, "\(numbers)")
        #expect((numbers.last ?? 0) + (distances.first ?? 1) >= count, "\(numbers)")
        let meter = LumaMeter(kept.pictures)
        for number in numbers { #expect(try meter.measure(picture(number % 200), at: time(number)) == 100) }
        #expect(meter.ratios.count == numbers.count)
    }

    /// Large pictures are few.
    @Test func theMemoryIsBounded() throws {
        var kept = VerificationPictures(EncoderConfiguration(width: 4096, height: 2304))
        for number in 0..<10 { try kept.add(picture(7), at: time(number)) }
        #expect((2...4).contains(kept.pictures.count))
        #expect(kept.pictures.values.allSatisfy { $0.width == 4096 && $0.height == 2304 })
    }

    @Test func ratios() throws {
        let meter = LumaMeter([time(0): try picture(100)])
        // 10 log10(255 squared), for a difference of 1 everywhere.
        let ratio = try #require(try meter.measure(picture(101), at: time(0)))
        #expect(abs(ratio - 48.1308) < 0.0001)
        #expect(try meter.measure(picture(100, width: 18), at: time(0)) == nil)
        #expect(try meter.measure(picture(100), at: time(1)) == nil)
        #expect(meter.ratios == [ratio])
        #expect(OutputVerification.PSNR([]) == nil)
        let psnr = try #require(OutputVerification.PSNR([30, 50]))
        #expect(psnr.lowest == 30 && psnr.mean == 40 && psnr.pictureCount == 2)
    }
}
