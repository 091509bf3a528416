// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// An estimate of the frame rate before frames are decoded.
struct FrameRateEstimate: Equatable {
    /// The frame rate in frames per second; `nil` if no plausible value is known.
    var rate: Rational?
    /// Whether frames have irregular times.
    var isVariable: Bool
    /// Whether the container's index proves that times are regular, or irregular.
    private(set) var isProved: Bool

    /// Chooses between libavformat's two frame rates.
    ///
    /// - Parameters:
    ///   - base: `AVStream.r_frame_rate`, the coarsest regular grid that contains all times seen while probing. Exact
    ///     for a regular stream; for a variable one, a multiple of the true rate.
    ///   - average: `AVStream.avg_frame_rate`: correct for every stream, but with the rounding of the container's
    ///     times.
    ///   - isRegular: Whether all frames have the same duration according to the container's index; `nil` if the index
    ///     does not show it.
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
        // For interlaced streams, one of the two may count fields.
        let areFields = abs(ratio - 2) < 0.02 || abs(ratio - 0.5) < 0.005
        let agree = abs(ratio - 1) < 0.01
        isVariable = isRegular.map { !$0 } ?? !(agree || areFields)
        rate = agree && !isVariable ? base : average
    }

    private static let plausibleRates = 0.001...1000

    /// Returns the estimate checked against presentation times in ascending order. Matroska may state a frame rate for
    /// pictures that are further apart, and libavformat uses it.
    ///
    /// - Parameter timeBase: The duration of a tick in seconds.
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

    /// Returns whether decode times of an index are equally spaced, except for rounding to a tick; `nil` for fewer than
    /// three.
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
