// SPDX-License-Identifier: GPL-2.0-or-later

/// Decides when a failed request is repeated, and when the connection is lost. All times are in seconds of one clock.
struct UploadRetries: Sendable, Hashable {
    /// The longest time for which requests fail.
    let silence: Double

    private static let firstWait = 0.25
    private static let longestWait = 1.5

    /// When the first request began after the last one that has succeeded.
    private var since: Double?
    private var failures = 0

    init(silence: Double) { self.silence = silence }

    /// Notes that a request begins.
    mutating func begin(at now: Double) { since = since ?? now }

    /// Notes that it has succeeded.
    mutating func succeed() { (since, failures) = (nil, 0) }

    /// Notes that it has failed.
    ///
    /// - Returns: The wait before the next request; `nil` if the connection is lost.
    mutating func fail(at now: Double) -> Double? {
        guard let since, now - since < silence else { return nil }
        defer { failures += 1 }
        // A server may close a connection at any time between two requests, so that the first failure means little.
        guard failures > 0 else { return 0 }
        return min(Self.firstWait * Double(1 << min(failures - 1, 10)), Self.longestWait)
    }
}
