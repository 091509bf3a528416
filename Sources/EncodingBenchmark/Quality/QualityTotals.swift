// SPDX-License-Identifier: GPL-2.0-or-later

internal import PixelConversion

/// The accumulated differences of all pictures of a stream.
struct QualityTotals {
    private let bitDepth: Int
    private var planes = [PlaneTotals](repeating: PlaneTotals(), count: 3)
    /// The number of pictures.
    var frames: Int { planes[0].pictureCount }

    init(bitDepth: Int) { self.bitDepth = bitDepth }

    /// Adds a picture; all have the same size.
    mutating func add(_ difference: PictureDifference) {
        planes[0].add(difference.luma)
        planes[1].add(difference.cb)
        planes[2].add(difference.cr)
    }

    /// The PSNR in decibels, from the mean squared error of all samples of all pictures.
    ///
    /// If a single plane has no error, its value is that of one error of one code value in the whole stream: the actual
    /// value is higher, and reports cannot contain infinity.
    var psnr: Measured<BenchmarkReport.Planes> {
        let samples = planes.reduce(0) { $0 + $1.sampleCount }
        let errors = planes.reduce(0) { $0 + $1.squaredError }
        guard samples > 0 else { return .absent("no picture was compared") }
        guard errors > 0 else { return .absent("infinite, because the decoded pictures are identical to the source") }
        func decibels(_ error: UInt64, _ count: Int) -> Double {
            PictureDifference.Plane(squaredError: max(error, 1), sampleCount: count, similarity: nil)
                .psnr(bitDepth: bitDepth)
        }
        let values = planes.map { decibels($0.squaredError, $0.sampleCount) }
        return .value(.init(y: values[0], u: values[1], v: values[2], all: decibels(errors, samples)))
    }

    /// The mean over the pictures; for all planes together, weighted by their samples.
    var ssim: Measured<BenchmarkReport.Planes> {
        guard frames > 0 else { return .absent("no picture was compared") }
        let means = planes.compactMap(\.meanSimilarity)
        guard means.count == planes.count else {
            return .absent("the pictures are smaller than its windows of 8x8 samples")
        }
        let samples = planes.reduce(0) { $0 + $1.sampleCount }
        let all = zip(means, planes).reduce(0) { $0 + $1.0 * Double($1.1.sampleCount) } / Double(samples)
        return .value(.init(y: means[0], u: means[1], v: means[2], all: all))
    }
}
