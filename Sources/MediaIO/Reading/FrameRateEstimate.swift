// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// What is known about the rate of frames before they are decoded.
struct FrameRateEstimate: Equatable {
    /// Frames per second; `nil` if nothing plausible is known.
    var rate: Rational?
    /// Whether frames come at irregular times.
    var isVariable: Bool
    /// Whether the container's index has shown that they do, or do not.
    private(set) var isProved: Bool

    /// Chooses between the two rates of libavformat.
    ///
    /// - Parameters:
    ///   - base: `AVStream.r_frame_rate`, the coarsest regular grid on which all times seen while probing lie. Exact
    ///     for a regular stream; for a variable one a multiple of the true rate.
    ///   - average: `AVStream.avg_frame_rate`: true for every stream, but rounded as the container's times are.
    ///   - isRegular: Whether the container's own index says that all frames last equally long; `nil` if it does not
    ///     say.
    init(base: Rational, average: Rational, isRegular: Bool?) {
        func plausible(_ rate: Rational) -> Rational? {
            rate.isPositive && Self.plausibleRates.contains(rate.doubleValue) ? rate.reduced : nil
        }
        isProved = isRegular != nil
        guard let base = plausible(base), let average = plausible(average) else {
            rate = plausible(average) ?? plausible(base)
            isVariable = isRegular == false
            return
        }
        let ratio = base.doubleValue / average.doubleValue
        // Interlaced streams may count fields in one of the two.
        let areFields = abs(ratio - 2) < 0.02 || abs(ratio - 0.5) < 0.005
        let agree = abs(ratio - 1) < 0.01
        isVariable = isRegular.map { !$0 } ?? !(agree || areFields)
        rate = agree && !isVariable ? base : average
    }

    private static let plausibleRates = 0.001...1000

    /// The same, held against the times of pictures in the order in which they are shown. Matroska may state a rate for
    /// pictures that are further apart, and libavformat takes it for theirs.
    ///
    /// - Parameter timeBase: The length of a tick in seconds.
    func checked(against times: [Int64], in timeBase: Rational) -> FrameRateEstimate {
        guard !isVariable, !isProved, let first = times.first, let last = times.last, last > first else { return self }
        let seconds = Double(last - first) * timeBase.doubleValue
        let average = Double(times.count - 1) / seconds
        let isAsTold = rate.map { abs(average / $0.doubleValue - 1) < 0.01 } ?? true
        guard let isRegular = Self.isRegular(times), !isRegular || !isAsTold, Self.plausibleRates.contains(average)
        else { return self }
        var result = self
        (result.isVariable, result.isProved) = (true, true)
        result.rate = Rational(Int32((average * 1000).rounded()), 1000).reduced
        return result
    }

    /// Whether decode times of an index lie at equal distances, but for rounding to a tick; `nil` for fewer than three.
    static func isRegular(_ times: some Collection<Int64>) -> Bool? {
        guard times.count > 2 else { return nil }
        var (shortest, longest) = (UInt64.max, UInt64.min)
        for (time, next) in zip(times, times.dropFirst()) {
            let distance = (next &- time).magnitude
            shortest = min(shortest, distance)
            longest = max(longest, distance)
        }
        return longest - shortest <= 1
    }
}
