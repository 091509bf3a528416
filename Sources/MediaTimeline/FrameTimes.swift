// SPDX-License-Identifier: GPL-2.0-or-later

/// Makes the times of decoded frames strictly increasing; all in ticks of the stream's time base.
///
/// A time that is after the previous one is kept. A missing time, or one that is not after the previous one (a
/// duplicate or a jump back), becomes the previous time plus a frame duration, so that no frame is lost. If the first
/// frame has no time, its time is zero.
package struct FrameTimes: Sendable {
    /// The maximum time and duration; larger values come from damaged files. Sums below it cannot overflow.
    package static let largest = Int64.max / 4

    private var last: Int64?
    /// The number of replaced times.
    package private(set) var repaired = 0

    /// Makes a value without a previous frame.
    package init() {}

    /// Returns the time of the next frame.
    ///
    /// - Parameters:
    ///   - time: The time according to the file, if there is one.
    ///   - duration: The duration of a frame, as far as known.
    package mutating func place(_ time: Int64?, duration: Int64) -> Int64 {
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
    package mutating func restart() { last = nil }
}
