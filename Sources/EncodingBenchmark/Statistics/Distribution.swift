// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
public import MediaTypes

/// Measured values of one kind, such as the latencies of a run's frames, with their statistics.
public struct Distribution: Sendable, Hashable {
    /// The values in ascending order; at least one, all finite.
    public let sorted: [Double]

    /// Creates a distribution from values in any order.
    ///
    /// - Throws: `invalidArgument` if there is none, or if one is infinite or not a number.
    public init(_ values: some Sequence<Double>) throws(MediaError) {
        let sorted = values.sorted()
        guard !sorted.isEmpty else {
            throw MediaError(.invalidArgument, "nothing was measured", given: "no values", allowed: "at least one")
        }
        if let bad = sorted.first(where: { !$0.isFinite }) {
            throw MediaError(
                .invalidArgument,
                "a measured value is not a finite number",
                given: "\(bad)",
                allowed: "finite ones"
            )
        }
        self.sorted = sorted
    }

    /// The number of values.
    public var count: Int { sorted.count }
    /// The smallest value.
    public var minimum: Double { sorted[0] }
    /// The largest value.
    public var maximum: Double { sorted[count - 1] }
    /// The arithmetic mean.
    public var mean: Double { sorted.reduce(0) { $0 + $1 / Double(count) } }
    /// The middle value, or the mean of the two middle values.
    public var median: Double { quantile(0.5) }

    /// Returns the value below which a given part of the values lies.
    ///
    /// It is interpolated linearly between values: of n values, the one of rank k (from 0) is the quantile k / (n - 1).
    /// This is type 7 of Hyndman and Fan (1996), the default of NumPy and R.
    /// - Parameter part: From 0 (the minimum) to 1 (the maximum); values outside are clamped.
    public func quantile(_ part: Double) -> Double {
        let rank = min(max(part, 0), 1) * Double(count - 1)
        let below = Int(rank)
        guard below + 1 < count else { return maximum }
        return sorted[below] + (rank - Double(below)) * (sorted[below + 1] - sorted[below])
    }

    /// Returns the median with an interval that contains the true one with at least the given confidence.
    ///
    /// The interval is based on order statistics: from the k-th smallest to the k-th largest value, with k as large as
    /// the binomial distribution of 1/2 allows. It assumes nothing about the distribution of the values, only that they
    /// are independent. Few values cannot reach every confidence: five reach 93.75 % at most. In this case, the
    /// interval is from minimum to maximum, and ``MedianInterval/confidence`` contains the actual confidence.
    public func medianInterval(confidence: Double = 0.95) -> MedianInterval {
        let tail = (1 - confidence) / 2
        var omitted = 0
        // The probability that the true median is below the (omitted + 1)-th smallest value.
        var below = Self.binomialHalf(count, 0)
        while omitted + 1 < count - 1 - omitted - 1 {
            let next = below + Self.binomialHalf(count, omitted + 1)
            guard next <= tail else { break }
            below = next
            omitted += 1
        }
        return MedianInterval(
            median: median,
            low: sorted[omitted],
            high: sorted[count - 1 - omitted],
            confidence: max(0, 1 - 2 * below),
            count: count
        )
    }

    /// Returns the probability of `hits` heads in `count` coin tosses.
    private static func binomialHalf(_ count: Int, _ hits: Int) -> Double {
        let (count, hits) = (Double(count), Double(hits))
        return exp(lgamma(count + 1) - lgamma(hits + 1) - lgamma(count - hits + 1) - count * log(2))
    }
}

/// A median with its confidence interval.
public struct MedianInterval: Sendable, Hashable {
    /// The median of the values.
    public var median: Double
    /// The lower end of the interval, which is a measured value.
    public var low: Double
    /// The upper end of the interval, which is a measured value.
    public var high: Double
    /// The probability that such an interval contains the true median, 0...1; exact for independent values.
    public var confidence: Double
    /// The number of values.
    public var count: Int

    /// Creates a median interval.
    public init(median: Double, low: Double, high: Double, confidence: Double, count: Int) {
        self.median = median
        self.low = low
        self.high = high
        self.confidence = confidence
        self.count = count
    }

    /// Returns whether a value may be the true median.
    public func contains(_ value: Double) -> Bool { low <= value && value <= high }
}
