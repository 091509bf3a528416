// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import PixelConversion
import Testing

@testable import EncodingBenchmark

@Suite struct QualityTotalsTests {
    /// A picture of 16x16 samples with errors of luma, Cb and Cr, and one similarity for all planes.
    private func difference(_ luma: UInt64, _ cb: UInt64, _ cr: UInt64, similarity: Double? = 0.5) -> PictureDifference
    {
        PictureDifference(
            luma: .init(squaredError: luma, sampleCount: 256, similarity: similarity),
            cb: .init(squaredError: cb, sampleCount: 64, similarity: similarity.map { $0 / 2 }),
            cr: .init(squaredError: cr, sampleCount: 64, similarity: similarity)
        )
    }

    private func decibels(_ meanSquaredError: Double, peak: Double = 255) -> Double {
        10 * log10(peak * peak / meanSquaredError)
    }

    @Test func errorsAreAveragedAndNotDecibels() throws {
        var totals = QualityTotals(bitDepth: 8)
        totals.add(difference(256, 64, 64))
        totals.add(difference(2560 * 3, 64, 192, similarity: 0.75))
        let psnr = try #require(totals.psnr.value)
        #expect(abs(psnr.y - decibels(15.5)) < 1e-9)
        #expect(abs(psnr.u - decibels(1)) < 1e-9 && abs(psnr.v - decibels(2)) < 1e-9)
        #expect(abs(psnr.all - decibels((256 + 7680 + 128 + 256) / 768)) < 1e-9)
        let ssim = try #require(totals.ssim.value)
        #expect(ssim.y == 0.625 && ssim.u == 0.3125 && ssim.v == 0.625)
        #expect(abs(ssim.all - (4 * 0.625 + 0.3125 + 0.625) / 6) < 1e-9)
        #expect(totals.frames == 2)
    }

    @Test func tenBitsHaveAHigherPeak() throws {
        var totals = QualityTotals(bitDepth: 10)
        totals.add(difference(256, 64, 64))
        #expect(abs(try #require(totals.psnr.value).all - decibels(1, peak: 1023)) < 1e-9)
    }

    @Test func aPlaneWithoutErrorsHasTheRatioOfOne() throws {
        var totals = QualityTotals(bitDepth: 8)
        for _ in 0..<10 { totals.add(difference(256, 0, 64)) }
        let psnr = try #require(totals.psnr.value)
        #expect(abs(psnr.u - decibels(1.0 / 640)) < 1e-9)
        #expect(abs(psnr.all - decibels(3200.0 / 3840)) < 1e-9)
    }

    @Test func noNumberIsMadeUp() {
        var totals = QualityTotals(bitDepth: 8)
        #expect(totals.psnr.absence == "no picture was compared" && totals.ssim.absence == "no picture was compared")
        totals.add(difference(0, 0, 0, similarity: nil))
        #expect(totals.psnr.absence?.contains("infinite") == true)
        #expect(totals.ssim.absence?.contains("8x8") == true)
    }
}
