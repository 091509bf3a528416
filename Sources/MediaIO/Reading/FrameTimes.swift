// SPDX-License-Identifier: GPL-2.0-or-later

/// Makes the times of decoded frames strictly increasing; all in ticks of the stream's time base.
///
/// A time that is after the previous one is kept. A missing time, or one that is not after the previous one (a
/// duplicate or a jump back), becomes the previous time plus a frame duration, so that no frame is lost. If the first
/// frame has no time, its time is zero.
struct FrameTimes {
    /// The maximum time and duration; larger values come from damaged files. Sums below it cannot overflow.
    static let largest = Int64.max / 4

    private var last: Int64?
    /// The number of replaced times.
    private(set) var repaired = 0

    /// Returns the time of the next frame.
    ///
    /// - Parameters:
    ///   - time: The time according to the file, if there is one.
    ///   - duration: The duration of a frame, as far as known.
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

    /// Discards the previous frame, as required after a seek.
    mutating func restart() { last = nil }
}

/// Removes time jumps in formats that allow them, such as concatenated MPEG transport streams.
///
/// If a track's decode time differs from the one expected after the previous packet by more than ``threshold``, or goes
/// back by more than ``backwardThreshold``, the track is shifted so that it continues without a gap. The other tracks
/// are shifted equally at their own jumps, so that all tracks stay in sync; until then, their packets belong to the
/// time before the jump. All values are in microseconds.
struct Discontinuities {
    /// The minimum difference that counts as a jump rather than a pause.
    static let threshold: Int64 = 10_000_000
    /// The minimum backward step that counts as a jump rather than as disorder: decode times never go back.
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
    /// The offset of times after the latest jump.
    private(set) var shift: Int64 = 0
    /// The number of removed jumps.
    private(set) var count = 0

    /// Registers a packet before its times are shifted.
    ///
    /// - Returns: The offset to add to its times.
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
