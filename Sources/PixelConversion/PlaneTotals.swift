// SPDX-License-Identifier: GPL-2.0-or-later

/// The differences of the same plane of several pictures, added up.
package struct PlaneTotals: Sendable, Hashable {
    /// The sum of the squared differences of all samples.
    package private(set) var squaredError: UInt64 = 0
    /// The number of samples.
    package private(set) var sampleCount = 0
    /// The number of pictures.
    package private(set) var pictureCount = 0
    /// The sum of the similarities; `nil` once a picture has none.
    private var similarity: Double? = 0

    /// No pictures.
    package init() {}

    /// Adds a picture; all have the same size and bit depth.
    package mutating func add(_ difference: PictureDifference.Plane) {
        squaredError += difference.squaredError
        sampleCount += difference.sampleCount
        pictureCount += 1
        similarity = similarity.flatMap { sum in difference.similarity.map { sum + $0 } }
    }

    /// The mean similarity (SSIM) of the pictures; `nil` if there are none, or if they have no window of 8x8 samples.
    package var meanSimilarity: Double? { pictureCount > 0 ? similarity.map { $0 / Double(pictureCount) } : nil }

    /// Returns the PSNR in decibels from the mean squared error of all samples; infinity for equal samples, `nil` if
    /// there are none.
    package func psnr(bitDepth: Int) -> Double? {
        guard sampleCount > 0 else { return nil }
        return PictureDifference.Plane(squaredError: squaredError, sampleCount: sampleCount, similarity: nil)
            .psnr(bitDepth: bitDepth)
    }
}
