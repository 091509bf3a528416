// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// How two things compare that were measured alternately.
///
/// The two measurements of a pair are taken right after each other, so that what slows the machine down for longer than
/// that slows down both; the ratio of a pair does not know it. Of the ratios the median counts, with its interval by order
/// statistics.
public struct PairedRatio: Sendable, Hashable {
    /// First divided by second, of each pair in the order in which they were measured.
    public let ratios: [Double]
    /// The median of the ratios and its interval.
    public let interval: MedianInterval

    /// Compares pairs of positive values.
    ///
    /// - Throws: `invalidArgument` without pairs, or for a value that is not positive and finite.
    public init(_ pairs: [(first: Double, second: Double)], confidence: Double = 0.95) throws(MediaError) {
        for (index, pair) in pairs.enumerated() {
            for value in [pair.first, pair.second] where !(value > 0 && value.isFinite) {
                throw MediaError(
                    .invalidArgument,
                    "the values of pair \(index + 1) have no ratio",
                    given: "\(pair.first) and \(pair.second)",
                    allowed: "positive ones"
                )
            }
        }
        ratios = pairs.map { $0.first / $0.second }
        interval = try Distribution(ratios).medianInterval(confidence: confidence)
    }

    /// What can be said of the two.
    public var verdict: Verdict {
        if interval.contains(1) { return .equalWithinNoise }
        return interval.low > 1 ? .firstIsLarger : .secondIsLarger
    }

    /// Which of two values is larger, as far as noise allows to tell.
    public enum Verdict: Sendable, Hashable {
        /// The interval holds 1.
        case equalWithinNoise
        /// The whole interval lies above 1.
        case firstIsLarger
        /// The whole interval lies below 1.
        case secondIsLarger
    }
}
