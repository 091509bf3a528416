// SPDX-License-Identifier: GPL-2.0-or-later

/// The decoder schedule that a stream with a constant rate signals.
struct DecoderSchedule: Sendable {
    /// `BitRate` in bits per second, at least 1.
    var bitRate: Int
    /// `CpbSize` in bits.
    var bufferSize: Int
    /// `num_units_in_tick` and `time_scale`, the length of a tick in seconds.
    var tick: (units: Int, scale: Int)
    /// The display duration of a picture in ticks.
    var ticksOfPicture: Int

    /// The time in which the buffer fills, in units of 1/90000 s: the longest time that a picture waits in it.
    var longestDelay: UInt32 { max(1, UInt32(clamping: Int128(bufferSize) * 90_000 / Int128(max(1, bitRate)))) }
}

/// The clock of the hypothetical reference decoder of a stream with a constant rate: when bits enter its buffer, and
/// when pictures leave it (H.264 C.1.1 and C.1.2, HEVC C.2.2 and C.2.3; all NAL units).
///
/// A buffering period signals how long after its first bit its first picture is decoded. The first one begins as
/// requested. For each later one, the delay follows from everything before, to a 90000th of a second (C.3, C.4), and
/// therefore from sizes that only the collecting side knows. Bits arrive continuously; pictures leave at the frame
/// rate, in coding order. A picture that is submitted again counts with its final size.
struct ReferenceDecoderClock: Sendable {
    private var schedule: DecoderSchedule
    /// The delay of the first buffering period, in units of 1/90000 s.
    private let firstDelay: UInt32
    /// The longest delay in the same units: the time in which the buffer fills.
    private let longestDelay: UInt32

    /// The number of pictures.
    private var pictures: Int64 = 0
    /// The total size of the pictures in bytes.
    private var bytes: Int64 = 0

    /// - Parameter firstDelay: The `initial_cpb_removal_delay` of the first picture.
    init(_ schedule: DecoderSchedule, firstDelay: UInt32) {
        self.schedule = schedule
        self.schedule.tick = (max(1, schedule.tick.units), max(1, schedule.tick.scale))
        self.firstDelay = firstDelay
        longestDelay = schedule.longestDelay
    }

    /// The `initial_cpb_removal_delay` of a buffering period that begins with the next picture, in units of 1/90000 s:
    /// the time from the arrival of the previous picture's last bit to the removal of the next picture (H.264 C-15,
    /// HEVC C-20), rounded down. If the encoder has exceeded the buffer, it is the nearest delay that the semantics
    /// allow.
    var initialDelay: UInt32 {
        let removal = Int128(pictures * Int64(schedule.ticksOfPicture)) * 90_000 * Int128(schedule.tick.units)
        let arrival = Int128(bytes * 8) * 90_000
        let (rate, scale) = (Int128(schedule.bitRate), Int128(schedule.tick.scale))
        let delay = Int128(firstDelay) + (removal * rate - arrival * scale).dividedDown(by: rate * scale)
        return UInt32(clamping: max(1, min(delay, Int128(longestDelay))))
    }

    /// Adds the next picture in coding order.
    ///
    /// - Parameter bytes: The size of its access unit as a byte stream, with start codes and parameter sets (Annex B).
    mutating func add(bytes: Int) {
        pictures += 1
        self.bytes += Int64(bytes)
    }
}

extension Int128 {
    /// Returns the quotient, rounded toward negative infinity.
    fileprivate func dividedDown(by divisor: Int128) -> Int128 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
