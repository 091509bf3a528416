// SPDX-License-Identifier: GPL-2.0-or-later

internal import CVideo4Linux

extension V4L2Camera {
    /// What the times of a camera's pictures are.
    public enum Clock: String, Sendable, Hashable {
        /// The driver's, when the exposure of the picture began (`V4L2_BUF_FLAG_TSTAMP_SRC_SOE`), as that of USB
        /// cameras.
        case startOfExposure
        /// The driver's, when the last byte of the picture was there (`V4L2_BUF_FLAG_TSTAMP_SRC_EOF`): later than the
        /// light by the exposure, the readout and the transfer, usually about one picture.
        case endOfFrame
        /// When the picture was read, because the driver's times are not on `CLOCK_MONOTONIC`.
        case arrival
    }
}

/// The times and the gaps of a camera's pictures.
struct CameraTiming: Sendable, Hashable {
    /// What the latest time was; `nil` before the first picture.
    private(set) var clock: V4L2Camera.Clock?

    private var latestTime: Int64?
    private var latestSequence: UInt32?
    private var skipped = 0

    /// Counts a picture that arrived and cannot be used.
    mutating func skip() { skipped += 1 }

    /// Returns the time of a picture in nanoseconds, later than that of the previous one.
    ///
    /// - Parameters:
    ///   - time: The driver's time, in nanoseconds.
    ///   - flags: `V4L2_BUF_FLAG_*`.
    ///   - arrival: The present time of `CLOCK_MONOTONIC`.
    mutating func time(_ time: Int64, flags: UInt32, arrival: Int64) -> Int64 {
        let isMonotonic =
            flags & UInt32(V4L2_BUF_FLAG_TIMESTAMP_MASK) == UInt32(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC)
        // A time of another clock, such as CLOCK_REALTIME, lies far ahead; a driver without one states zero.
        let isPlausible = time > 0 && time <= arrival + 1_000_000_000
        var result = arrival
        if isMonotonic, isPlausible {
            let source = flags & UInt32(V4L2_BUF_FLAG_TSTAMP_SRC_MASK)
            clock = source == UInt32(V4L2_BUF_FLAG_TSTAMP_SRC_SOE) ? .startOfExposure : .endOfFrame
            result = time
        } else {
            clock = .arrival
        }
        if let latestTime { result = max(result, latestTime + 1) }
        latestTime = result
        return result
    }

    /// Returns the number of pictures between the previous usable one and this one.
    ///
    /// Drivers count every picture, also those for which there was no buffer. One that counts nothing states the same
    /// number again; then only pictures that were skipped count.
    mutating func lost(before sequence: UInt32) -> Int {
        defer { (latestSequence, skipped) = (sequence, 0) }
        guard let latestSequence else { return skipped }
        let gap = sequence &- latestSequence
        guard gap > 0, gap < 1 << 31 else { return skipped }
        return max(Int(gap) - 1, skipped)
    }
}
