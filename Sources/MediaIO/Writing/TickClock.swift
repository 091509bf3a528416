// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Turns the times of one track into whole ticks of a container's unit, so that what the container demands still holds
/// after rounding: decode times in order, none above its presentation time.
///
/// Times are rounded to the nearest tick. A decode time that falls onto the one before it is moved to the next tick, and
/// the presentation time with it where it must; times that are a whole number of ticks are never moved.
struct TickClock {
    /// Which decode times are allowed.
    enum Order {
        /// Each above the one before.
        case increasing
        /// Each at or above the one before.
        case nondecreasing
    }

    /// Ticks per second.
    let timescale: Int32
    /// What the container demands.
    let order: Order
    /// The largest distance from one decode time to the next, and from a decode time to its presentation time, that the
    /// container can store; in ticks.
    var largestStep = Int64.max

    private var last: Int64?

    /// Makes a clock at its start.
    init(timescale: Int32, order: Order, largestStep: Int64 = .max) {
        self.timescale = timescale
        self.order = order
        self.largestStep = largestStep
    }

    /// The times of the next sample in ticks.
    ///
    /// - Throws: `unsupported` if a time, or the step from the one before, is beyond what the container can store;
    ///   `malformedData` if decode times go back, or stand still longer than rounding explains.
    mutating func ticks(presentation: MediaTime, decode: MediaTime) throws(MediaError) -> (pts: Int64, dts: Int64) {
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

    /// A tenth of a second: far beyond any rounding, and too short to see or hear.
    private var largestShift: Int64 { max(Int64(timescale) / 10, 1) }

    /// Far from overflow in anything that is done with ticks, and 35 years in microseconds.
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

    /// The timescale in which these times are whole numbers, if there is one up to a million; else a million, in which
    /// they are rounded.
    ///
    /// Small timescales are raised to a multiple of 90000 where that fits, so that later times of the same track that
    /// are in other units are mostly whole as well. Where the timescales of the times have none in common, those of their
    /// lowest terms may: a sum has the timescales of all its parts.
    static func exactTimescale(of times: [MediaTime]) -> Int32 {
        if let common = commonTimescale(of: times) {
            let widened = leastCommonMultiple(common, 90000)
            return Int32(clamping: common < 10000 && widened <= largestTimescale ? widened : common)
        }
        // Of later times little is known then: the finest of the multiples is nearest to all.
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
    /// The same time with the smallest timescale that has it.
    var inLowestTerms: MediaTime {
        guard isValid else { return self }
        var (larger, smaller) = (value.magnitude, UInt64(timescale))
        while smaller != 0 { (larger, smaller) = (smaller, larger % smaller) }
        return MediaTime(value: value / Int64(larger), timescale: timescale / Int32(larger))
    }
}
