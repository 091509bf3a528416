// SPDX-License-Identifier: GPL-2.0-or-later

/// Removes time jumps in formats that allow them, such as concatenated MPEG transport streams.
///
/// If a track's decode time differs from the one expected after the previous packet by more than ``threshold``, or goes
/// back by more than ``backwardThreshold``, the track is shifted so that it continues without a gap. The other tracks
/// are shifted equally at their own jumps, so that all tracks stay in sync; until then, their packets belong to the
/// time before the jump. All values are in microseconds.
///
/// A clock with few bits, such as the 33 bits of a transport stream, falls back by its period when it passes its end.
/// That is no jump: the times go on, with any gap that is there. libavformat continues the times of such a clock itself,
/// but only until a period after the first one.
package struct Discontinuities: Sendable {
    /// The minimum difference that counts as a jump rather than a pause.
    package static let threshold: Int64 = 10_000_000
    /// The minimum backward step that counts as a jump rather than as disorder: decode times never go back.
    package static let backwardThreshold: Int64 = 100_000

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
    package private(set) var shift: Int64 = 0
    /// The number of removed jumps.
    package private(set) var count = 0

    /// The period of the clock; `nil` if it does not wrap.
    private let period: Int64?

    /// Makes a value that has seen no packet.
    ///
    /// - Parameter period: The period of the clock; `nil` if it does not wrap.
    package init(period: Int64? = nil) { self.period = period }

    /// Registers a packet before its times are shifted.
    ///
    /// - Returns: The offset to add to its times.
    package mutating func note(track index: Int, decodeTime: Int64, duration: Int64) -> Int64 {
        var shift = tracks[index]?.shift ?? shift
        guard decodeTime.magnitude <= FrameTimes.largest.magnitude else { return shift }
        if let track = tracks[index], track.isJump(to: decodeTime &+ shift) {
            if track.isJump(to: decodeTime &+ self.shift) {
                if let wrapped = continuation(of: track, at: decodeTime) {
                    self.shift = wrapped
                } else {
                    self.shift = track.expected &- decodeTime
                    count += 1
                }
            }
            shift = self.shift
        }
        let time = decodeTime &+ shift
        tracks[index] = Track(shift: shift, last: time, expected: time &+ min(max(duration, 0), Self.threshold))
        return shift
    }
    /// Returns the offset with which a time continues a track if its clock has wrapped; `nil` if it has not.
    private func continuation(of track: Track, at decodeTime: Int64) -> Int64? {
        guard let period else { return nil }
        return [shift &+ period, shift &- period].first { !track.isJump(to: decodeTime &+ $0) }
    }
}
