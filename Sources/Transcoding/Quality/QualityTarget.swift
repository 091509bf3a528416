// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// A measure of how near coded pictures are to the pictures that were encoded.
public enum QualityMetric: String, Sendable, Hashable, CaseIterable {
    /// The mean structural similarity of luma, of windows of 8x8 samples at a distance of 4: FFmpeg's filter `ssim`, Y.
    case ssim
    /// The peak signal-to-noise ratio of luma in dB, from the mean squared error of all pictures: FFmpeg's filter
    /// `psnr`, y.
    case psnr
    /// VMAF, which a program outside of this package measures.
    case vmaf

    /// The scores that can be asked for.
    public var allowed: ClosedRange<Double> {
        switch self {
        case .ssim: 0.5...0.9999
        case .psnr: 10...80
        case .vmaf: 10...100
        }
    }

    /// The name for people.
    public var name: String { rawValue.uppercased() }

    /// Returns a score as text, with the places that matter.
    public func text(_ score: Double) -> String {
        let number = Readable.number(score, places: self == .ssim ? 5 : 2)
        return self == .psnr ? "\(number) dB" : number
    }

    /// Returns a value that falls about linearly while the quality of encoders (CRF) rises.
    func linear(_ score: Double) -> Double {
        // Half of the difference that remains to equality is worth the same everywhere.
        self == .ssim ? -10 * log10(max(1 - score, 1e-7)) : score
    }

    /// By how much ``linear(_:)`` usually falls from a quality to that above it.
    var usualSlope: Double {
        switch self {
        case .ssim: 0.35
        case .psnr: 0.6
        case .vmaf: 1.5
        }
    }
}

/// A quality that an output must reach with as few bytes as possible.
///
/// ``Transcoder`` encodes samples of the input with several qualities (`RateControl.constantQuality`, the CRF of x264
/// and x265) before it encodes the output, and chooses the highest one, which gives the smallest output, whose samples
/// reach the target. The score of the whole output is near the target, but it may be somewhat lower or higher.
public struct QualityTarget: Sendable, Hashable {
    /// What happens if no quality reaches the target.
    public enum Shortfall: String, Sendable, Hashable, CaseIterable {
        /// The output fails with `target-unreachable`.
        case fail
        /// The output has the best quality.
        case best
    }

    /// What is measured.
    public var metric: QualityMetric
    /// The lowest score of the samples, in ``QualityMetric/allowed``.
    public var score: Double
    /// What happens if no quality reaches it.
    public var shortfall = Shortfall.fail

    /// Makes a target.
    public init(_ metric: QualityMetric, _ score: Double) {
        self.metric = metric
        self.score = score
    }

    /// For example `SSIM 0.98000`.
    public var text: String { "\(metric.name) \(metric.text(score))" }

    /// - Throws: `invalidArgument` if the score is out of range.
    func validate() throws(MediaError) {
        guard !metric.allowed.contains(score) else { return }
        throw MediaError(
            .invalidArgument,
            "the wanted \(metric.name) is out of range",
            given: "\(score)",
            allowed: "\(metric.allowed.lowerBound) to \(metric.allowed.upperBound)"
        )
    }
}

extension RateControl {
    /// The same peak limit, if there is one, with a constant quality.
    func with(quality: Double) -> RateControl {
        if case .constantQuality(_, let peak) = self { return .constantQuality(quality, peak: peak) }
        return .constantQuality(quality)
    }
}
