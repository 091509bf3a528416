// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes
import PixelConversion

/// What all pictures of a measurement have in common.
package struct JudgedPictures: Sendable, Hashable {
    /// Width in pixels.
    package var width: Int
    /// Height in pixels.
    package var height: Int
    /// Bit depth of the samples: 8 (I420) or 10 (P010).
    package var bitDepth: Int
    /// Frames per second, on average.
    package var frameRate: Rational
}

/// Measures coded pictures against those that were encoded. Used by one thread at a time.
package protocol QualityJudge: AnyObject {
    /// Adds a picture, in presentation order.
    func add(_ decoded: PixelBuffer, reference: PixelBuffer) throws(MediaError)
    /// Returns the score of all pictures; called once.
    func score() throws(MediaError) -> Double
}

/// Makes a judge for a measurement.
package typealias QualityJudgeFactory = @Sendable (JudgedPictures) throws(MediaError) -> any QualityJudge

/// Measures SSIM and PSNR with ``PictureComparator``.
final class LumaJudge: QualityJudge {
    private let comparator = PictureComparator()
    private let metric: QualityMetric
    private let pictures: JudgedPictures
    private var totals = PlaneTotals()

    init(_ metric: QualityMetric, _ pictures: JudgedPictures) { (self.metric, self.pictures) = (metric, pictures) }

    func add(_ decoded: PixelBuffer, reference: PixelBuffer) throws(MediaError) {
        totals.add(try comparator.difference(of: decoded, from: reference).luma)
    }

    func score() throws(MediaError) -> Double {
        if let score = totals.score(metric, bitDepth: pictures.bitDepth) { return score }
        throw MediaError(
            .unsupported,
            "\(metric.name) cannot be measured",
            given: "\(totals.pictureCount) pictures of \(pictures.width)x\(pictures.height)",
            allowed: metric == .ssim ? "pictures of at least 8x8" : "at least one picture"
        )
    }
}

extension PlaneTotals {
    /// The score of luma; `nil` if there is none. The PSNR of equal pictures is ``OutputVerification/PSNR/highest``.
    func score(_ metric: QualityMetric, bitDepth: Int) -> Double? {
        switch metric {
        case .ssim: meanSimilarity
        case .psnr: psnr(bitDepth: bitDepth).map { min($0, OutputVerification.PSNR.highest) }
        case .vmaf: nil
        }
    }
}
