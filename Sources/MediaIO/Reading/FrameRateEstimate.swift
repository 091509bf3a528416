// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// What is known about the rate of frames before they are decoded.
struct FrameRateEstimate: Equatable {
    /// Frames per second; `nil` if nothing plausible is known.
    var rate: Rational?
    /// Whether frames come at irregular times.
    var isVariable: Bool

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
            rate.isPositive && (0.001...1000).contains(rate.doubleValue) ? rate.reduced : nil
        }
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
