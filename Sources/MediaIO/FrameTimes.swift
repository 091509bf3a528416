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
/// When a track's decode time differs by more than ``threshold`` from what the packet before leads to expect, all
/// tracks are shifted from there on so that this track goes on without a gap; tracks stay in sync because they share
/// the shift. All in microseconds.
struct Discontinuities {
    /// The smallest difference taken for a jump rather than a pause.
    static let threshold: Int64 = 10_000_000

    private var expected: [Int: Int64] = [:]
    /// What is added to times now.
    private(set) var shift: Int64 = 0
    /// How many jumps were closed.
    private(set) var count = 0

    /// Takes note of a packet, before its times are shifted.
    mutating func note(track: Int, decodeTime: Int64, duration: Int64) {
        guard decodeTime.magnitude <= FrameTimes.largest.magnitude else { return }
        let time = decodeTime &+ shift
        if let expected = expected[track], (time &- expected).magnitude > Self.threshold.magnitude {
            shift = shift &+ (expected &- time)
            count += 1
        }
        expected[track] = decodeTime &+ shift &+ min(max(duration, 0), Self.threshold)
    }
}
