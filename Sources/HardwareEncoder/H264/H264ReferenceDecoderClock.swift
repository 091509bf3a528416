// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// When bits come into the buffer of the decoder that a stream with a constant rate is made for, and when pictures
/// leave it (H.264 C.1.1 and C.1.2, all NAL units).
///
/// A buffering period tells how long after its first bit its first picture is decoded. The first one begins as was
/// asked for; at each later one the delay follows from all that came before, to a 90000th of a second (C.3), and so
/// from sizes that only the collecting side knows. Bits come without a pause; pictures leave at the frame rate, in
/// coding order. A picture that is sent again counts as it came out at last.
struct H264ReferenceDecoderClock: Sendable {
    /// `BitRate` in bits per second.
    private let bitRate: Int
    /// `num_units_in_tick` and `time_scale`, the length of a tick in seconds.
    private let tick: (units: Int, scale: Int)
    /// The delay of the first buffering period, in units of 1/90000 s.
    private let firstDelay: UInt32
    /// The longest delay: that in which the buffer fills, in the same units.
    private let longestDelay: UInt32

    /// How many pictures there were.
    private var pictures: Int64 = 0
    /// How many bytes they had.
    private var bytes: Int64 = 0

    /// - Parameters:
    ///   - sequence: the parameter set of all pictures.
    ///   - firstDelay: `initial_cpb_removal_delay` of the first picture.
    /// - Returns: `nil` if the set tells no constant rate, or no time.
    init?(_ sequence: H264SequenceParameterSet, firstDelay: UInt32) {
        guard let decoder = sequence.vui?.nalHRD, let timing = sequence.vui?.timing,
            decoder.schedules.first?.cbrFlag == true,
            let bitRate = decoder.bitRate(ofSchedule: 0), let size = decoder.cpbSize(ofSchedule: 0)
        else { return nil }
        self.bitRate = bitRate
        self.firstDelay = firstDelay
        tick = (max(1, Int(timing.numUnitsInTick)), max(1, Int(timing.timeScale)))
        longestDelay = max(1, UInt32(clamping: Int128(size) * 90_000 / Int128(bitRate)))
    }

    /// `initial_cpb_removal_delay` of a buffering period that begins with the next picture, in units of 1/90000 s: from
    /// the time when the bits of the picture before are all there to that when the next one leaves the buffer (C-15),
    /// rounded down. Where the encoder has not kept to the buffer it is the nearest delay that D.2.2 allows.
    var initialDelay: UInt32 {
        let removal = Int128(pictures * H264Messages.ticksOfFrame) * 90_000 * Int128(tick.units)
        let arrival = Int128(bytes * 8) * 90_000
        let (rate, scale) = (Int128(bitRate), Int128(tick.scale))
        let delay = Int128(firstDelay) + (removal * rate - arrival * scale).dividedDown(by: rate * scale)
        return UInt32(clamping: max(1, min(delay, Int128(longestDelay))))
    }

    /// Takes note of the next picture in coding order.
    ///
    /// - Parameter bytes: the size of its access unit as a byte stream, with start codes and parameter sets (Annex B).
    mutating func add(bytes: Int) {
        pictures += 1
        self.bytes += Int64(bytes)
    }
}

extension Int128 {
    /// The quotient, rounded down also below zero.
    fileprivate func dividedDown(by divisor: Int128) -> Int128 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
