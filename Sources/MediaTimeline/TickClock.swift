// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// Converts the times of one track to ticks of a container's time unit, so that the container's requirements hold after
/// rounding: decode times are in order, and none is later than its presentation time.
///
/// Times are rounded to the nearest tick. A decode time that is rounded to the previous one is moved to the next tick,
/// with the presentation time if necessary; times that are a whole number of ticks are never moved.
package struct TickClock: Sendable {
    /// The required order of decode times.
    package enum Order: Sendable {
        /// Each later than the previous one.
        case increasing
        /// None earlier than the previous one.
        case nondecreasing
    }

    /// The number of ticks per second.
    package let timescale: Int32
    /// The order that the container requires.
    package let order: Order
    /// The maximum distance between successive decode times, and between a decode time and its presentation time, that
    /// the container can store; in ticks.
    package var largestStep = Int64.max

    private var last: Int64?

    /// Makes a clock without a previous time.
    package init(timescale: Int32, order: Order, largestStep: Int64 = .max) {
        self.timescale = timescale
        self.order = order
        self.largestStep = largestStep
    }

    /// Returns the times of the next sample in ticks.
    ///
    /// - Throws: `unsupported` if a time, or the step from the previous one, exceeds what the container can store;
    ///   `malformedData` if decode times go back, or stay equal longer than rounding can cause.
    package mutating func ticks(
        presentation: MediaTime,
        decode: MediaTime
    ) throws(MediaError) -> (pts: Int64, dts: Int64) {
        let (exactPTS, exactDTS) = (try whole(presentation), try whole(decode))
        var dts = exactDTS
        if let last { dts = max(dts, order == .increasing ? last + 1 : last) }
        let pts = max(exactPTS, dts)
        guard dts - exactDTS <= largestShift else {
            throw MediaError(
                .malformedData,
                "decode times do not increase in units of 1/\(timescale) s",
                given: decode.description,
                allowed: last.map { "above \($0)/\(timescale)" }
            )
        }
        let step = max(last.map { dts - $0 } ?? 0, pts - dts)
        guard step <= largestStep else {
            throw MediaError(
                .unsupported,
                "the gap between two timestamps is too long for the container",
                given: "\(step)/\(timescale) s",
                allowed: "at most \(largestStep)/\(timescale) s"
            )
        }
        last = dts
        return (pts, dts)
    }

    /// A tenth of a second: far more than any rounding, and too short to notice.
    private var largestShift: Int64 { max(Int64(timescale) / 10, 1) }

    /// The maximum number of ticks, which keeps all calculations from overflowing; 35 years in microseconds.
    private static let farthest: Int64 = 1 << 50

    private func whole(_ time: MediaTime) throws(MediaError) -> Int64 {
        let converted = time.converted(to: timescale)
        guard converted.isValid, (-Self.farthest...Self.farthest).contains(converted.value) else {
            throw MediaError(
                .unsupported,
                "a timestamp exceeds what the container can store",
                given: time.description,
                allowed: "at most \(Self.farthest)/\(timescale) s from zero"
            )
        }
        return converted.value
    }

    /// Returns the timescale in which the given times are integers, if there is one up to a million; otherwise a
    /// million, to which they are rounded.
    ///
    /// Small timescales are raised to a multiple of 90000 if possible, so that later times of the same track in other
    /// units are mostly integers as well. If the timescales of the times have no common multiple in range, those of
    /// their lowest terms may have one: a sum has the timescales of all its terms.
    package static func exactTimescale(of times: [MediaTime]) -> Int32 {
        if let common = commonTimescale(of: times) {
            let widened = leastCommonMultiple(common, 90000)
            return Int32(clamping: common < 10000 && widened <= largestTimescale ? widened : common)
        }
        // Little is known about later times in this case: the largest multiple approximates all of them best.
        let common = commonTimescale(of: times.map(\.inLowestTerms)) ?? 1
        return Int32(clamping: largestTimescale / common * common)
    }

    private static func commonTimescale(of times: [MediaTime]) -> Int64? {
        var common: Int64 = 1
        for time in times where time.isValid {
            common = leastCommonMultiple(common, Int64(time.timescale))
            guard common <= largestTimescale else { return nil }
        }
        return common
    }

    private static let largestTimescale: Int64 = 1_000_000

    private static func leastCommonMultiple(_ left: Int64, _ right: Int64) -> Int64 {
        var (larger, smaller) = (left, right)
        while smaller != 0 { (larger, smaller) = (smaller, larger % smaller) }
        return left / max(larger, 1) * right
    }
}

extension MediaTime {
    /// The same time in the smallest exact timescale.
    package var inLowestTerms: MediaTime {
        guard isValid else { return self }
        var (larger, smaller) = (value.magnitude, UInt64(timescale))
        while smaller != 0 { (larger, smaller) = (smaller, larger % smaller) }
        return MediaTime(value: value / Int64(larger), timescale: timescale / Int32(larger))
    }
}
