// SPDX-License-Identifier: GPL-2.0-or-later

/// Tells how long the receiver has taken nothing although data waits for it.
struct ProgressWatch: Sendable {
    private var greatest = Int64.min
    private var since = ContinuousClock.now

    /// Notes the state at present.
    ///
    /// - Parameters:
    ///   - acknowledged: What the receiver has acknowledged, as a number that grows with it.
    ///   - isWaiting: Whether there is more for it.
    mutating func note(acknowledged: Int64, isWaiting: Bool, now: ContinuousClock.Instant = .now) {
        guard acknowledged > greatest || !isWaiting else { return }
        greatest = max(greatest, acknowledged)
        since = now
    }

    /// The milliseconds until nothing was taken for `limit` milliseconds, rounded up; 0 from then on.
    func remaining(of limit: Int32, now: ContinuousClock.Instant = .now) -> Int32 {
        (.milliseconds(limit) - (now - since)).millisecondsLeft
    }
}
