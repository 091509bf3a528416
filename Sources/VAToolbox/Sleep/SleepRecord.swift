// SPDX-License-Identifier: GPL-2.0-or-later

/// Records which system suspends were already reported, because two sources report the same suspend: the clocks, and a
/// service that announces suspends and resumes.
struct SleepRecord {
    /// The minimum divergence of the clocks that counts as a suspend. The two clocks are read one after the other, and
    /// the thread may be preempted in between.
    static let threshold = Duration.milliseconds(500)

    /// The largest observed lead of the clock that runs during a suspend over the one that stops.
    private var lead: Duration
    /// Whether the clocks have reported a suspend that the service has not.
    private var isKnownByClocks = false

    /// - Parameter lead: The current lead of the clock that runs during a suspend.
    init(lead: Duration) { self.lead = lead }

    /// Compares the clocks.
    ///
    /// - Returns: Whether the system was suspended since the last comparison.
    mutating func look(lead: Duration) -> Bool {
        guard lead - self.lead >= Self.threshold else { return false }
        self.lead = lead
        isKnownByClocks = true
        return true
    }

    /// Handles the announcement that the system is about to be suspended.
    mutating func suspendAnnounced() { isKnownByClocks = false }

    /// Handles the announcement that the system has resumed.
    ///
    /// - Returns: Whether the suspend was not known yet; the clocks do not reveal every suspend.
    mutating func resumeAnnounced(lead: Duration) -> Bool {
        defer { isKnownByClocks = false }
        return look(lead: lead) || !isKnownByClocks
    }
}
