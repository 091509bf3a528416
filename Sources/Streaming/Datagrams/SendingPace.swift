// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Spreads the datagrams of a large picture over time, so that they do not overflow the socket buffer of a receiver.
///
/// It is a token bucket. It fills with 2.5 times the rate of the stream, which is measured by the times of its units,
/// and holds ``burst`` bytes, which every receiver takes at once: the smallest default of a socket buffer, that of
/// Windows, is 64 KiB. A unit takes at most 0.4 seconds, whatever its size.
struct SendingPace {
    /// The number of bytes that leave without a pause: 16 datagrams.
    static let burst = 16.0 * 1316
    /// The pace relative to the rate of the stream.
    static let headroom = 2.5
    /// The longest time that a unit may take, in seconds.
    static let longestUnit = 0.4
    /// The rate that is assumed until a second of the stream is measured, in bytes per second: 20 Mbit/s.
    static let assumedRate = 2_500_000.0
    /// The length of the stream that is measured, in seconds.
    private static let window = 4.0

    private var units: [(time: Double, bytes: Int)] = []
    private var tokens = burst
    private var filledAt: Double?
    private var pace = assumedRate * headroom

    /// The measured rate of the stream in bytes per second; `nil` in the first second.
    private(set) var measuredRate: Double?

    /// Tells of a unit that is about to be sent.
    ///
    /// - Parameter byteCount: The number of its bytes in the transport stream.
    mutating func begin(_ byteCount: Int, decodeTime: MediaTime) {
        if decodeTime.isValid { measure(byteCount, at: decodeTime.seconds) }
        pace = max((measuredRate ?? Self.assumedRate) * Self.headroom, Double(byteCount) / Self.longestUnit)
    }

    /// Returns how long to wait before a datagram is sent, in seconds, and counts it as sent then.
    ///
    /// - Parameter now: The present time in seconds, of any clock that does not go back.
    mutating func delay(before byteCount: Int, now: Double) -> Double {
        tokens = min(tokens + max(now - (filledAt ?? now), 0) * pace, Self.burst)
        filledAt = now
        tokens -= Double(byteCount)
        return max(-tokens / pace, 0)
    }

    private mutating func measure(_ byteCount: Int, at time: Double) {
        units.append((time, byteCount))
        let oldest = time - Self.window
        if let first = units.firstIndex(where: { $0.time >= oldest }), first > 0 { units.removeSubrange(..<first) }
        guard let first = units.first, time - first.time >= 1 else { return }
        let total = units.dropLast().reduce(0) { $0 + $1.bytes }
        measuredRate = Double(total) / (time - first.time)
    }
}
