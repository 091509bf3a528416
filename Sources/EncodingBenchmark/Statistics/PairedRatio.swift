// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// The comparison of two alternately measured quantities.
///
/// The two measurements of a pair are taken in immediate succession, so that a longer slowdown of the machine affects
/// both and not the ratio of the pair. The result is the median of the ratios, with its interval by order statistics.
public struct PairedRatio: Sendable, Hashable {
    /// The first value divided by the second one, for each pair in the order of measurement.
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

    /// The verdict on the two quantities.
    public var verdict: Verdict {
        if interval.contains(1) { return .equalWithinNoise }
        return interval.low > 1 ? .firstIsLarger : .secondIsLarger
    }

    /// Which of two quantities is larger, as far as noise permits a verdict.
    public enum Verdict: Sendable, Hashable {
        /// The interval contains 1.
        case equalWithinNoise
        /// The whole interval is above 1.
        case firstIsLarger
        /// The whole interval is below 1.
        case secondIsLarger
    }
}
