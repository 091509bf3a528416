// SPDX-License-Identifier: GPL-2.0-or-later

/// The times and the gaps of a node's pictures. A pure value; all times are in nanoseconds.
struct PipeWireTiming: Sendable, Hashable {
    /// Whether the latest time was that of the node, and not that of the arrival.
    private(set) var usesSourceTime = false

    private var latestTime: Int64?
    private var latestSequence: UInt64?
    private var skipped = 0

    /// How much older than its arrival a picture can be. A node that has pictures of a file states times of its own.
    private static let oldest: Int64 = 10_000_000_000
    /// How much later than its arrival the time of a picture can be, for a screen that states when it is shown.
    private static let latest: Int64 = 1_000_000_000

    /// Counts a picture that arrived and is not used.
    mutating func skip(_ count: Int = 1) { skipped += count }

    /// Returns the time of a picture, later than that of the previous one.
    ///
    /// - Parameters:
    ///   - stated: The time that the node states (`spa_meta_header.pts`), if any.
    ///   - arrival: The present time of `CLOCK_MONOTONIC`.
    mutating func time(_ stated: Int64?, arrival: Int64) -> Int64 {
        var time = arrival
        usesSourceTime = false
        if let stated, stated > 0, stated >= arrival - Self.oldest, stated <= arrival + Self.latest {
            time = stated
            usesSourceTime = true
        }
        if let latestTime { time = max(time, latestTime + 1) }
        latestTime = time
        return time
    }

    /// Returns the number of pictures between the previous used one and this one.
    ///
    /// - Parameter sequence: The node's number of the picture (`spa_meta_header.seq`), if any. A node that counts
    ///   nothing states the same one again.
    mutating func lost(before sequence: UInt64?) -> Int {
        defer { (latestSequence, skipped) = (sequence, 0) }
        guard let sequence, let latestSequence else { return skipped }
        let gap = sequence &- latestSequence
        guard gap > 0, gap < 1 << 31 else { return skipped }
        return max(Int(gap) - 1, skipped)
    }

    /// The source begins to count anew.
    mutating func restart() { latestSequence = nil }
}
