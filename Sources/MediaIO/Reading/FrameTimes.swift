// SPDX-License-Identifier: GPL-2.0-or-later

/// Puts the times of decoded frames in order; all in ticks of the stream's time base.
///
/// A time that is after the one before stays as it is. One that is missing, or is not after the one before (a
/// duplicate or a jump back), becomes the one before plus the duration of a frame, so that no frame is lost and times
/// strictly increase. The first frame without a time gets zero.
struct FrameTimes {
    /// Times and durations beyond this are noise of a damaged file; sums below it cannot overflow.
    static let largest = Int64.max / 4

    private var last: Int64?
    /// How many times were made up.
    private(set) var repaired = 0

    /// The time of the next frame.
    ///
    /// - Parameters:
    ///   - time: What the file says, if it says anything.
    ///   - duration: How long frames last, as far as is known.
    mutating func place(_ time: Int64?, duration: Int64) -> Int64 {
        let plausible = time.flatMap { $0.magnitude <= Self.largest.magnitude ? $0 : nil }
        let placed: Int64
        switch (plausible, last) {
        case (let time?, nil):
            placed = time
        case (let time?, let last?) where time > last:
            placed = time
        case (_, let last?):
            placed = last &+ min(max(duration, 1), 1 << 40)
            repaired += 1
        case (nil, nil):
            placed = 0
            repaired += 1
        }
        last = placed
        return placed
    }

    /// Forgets the frame before, as after a seek.
    mutating func restart() { last = nil }
}

/// Closes the jumps in the times of formats that may jump, such as MPEG transport streams joined end to end.
///
/// Where a track's decode time lies more than ``threshold`` away from what the packet before leads to expect, or goes
/// back by more than ``backwardThreshold``, the track is shifted so that it goes on without a gap. The other tracks
/// follow with the same shift where they jump in their turn, so that all stay in sync; until then their packets are of
/// the time before the jump. All in microseconds.
struct Discontinuities {
    /// The smallest difference taken for a jump rather than a pause.
    static let threshold: Int64 = 10_000_000
    /// The smallest step back taken for a jump rather than for disorder: decode times never go back.
    static let backwardThreshold: Int64 = 100_000

    private struct Track {
        var shift: Int64
        var last: Int64
        var expected: Int64

        func isJump(to time: Int64) -> Bool {
            (time &- expected).magnitude > Discontinuities.threshold.magnitude
                || time < last &- Discontinuities.backwardThreshold
        }
    }

    private var tracks: [Int: Track] = [:]
    /// What is added to times after the latest jump.
    private(set) var shift: Int64 = 0
    /// How many jumps were closed.
    private(set) var count = 0

    /// Takes note of a packet, before its times are shifted.
    ///
    /// - Returns: What to add to its times.
    mutating func note(track index: Int, decodeTime: Int64, duration: Int64) -> Int64 {
        var shift = tracks[index]?.shift ?? shift
        guard decodeTime.magnitude <= FrameTimes.largest.magnitude else { return shift }
        if let track = tracks[index], track.isJump(to: decodeTime &+ shift) {
            if track.isJump(to: decodeTime &+ self.shift) {
                self.shift = track.expected &- decodeTime
                count += 1
            }
            shift = self.shift
        }
        let time = decodeTime &+ shift
        tracks[index] = Track(shift: shift, last: time, expected: time &+ min(max(duration, 0), Self.threshold))
        return shift
    }
}
