// SPDX-License-Identifier: GPL-2.0-or-later

/// Which suspends of the system have been told of, where two sources tell of the same one: the clocks, and a service that
/// announces suspends and resumes.
struct SleepRecord {
    /// By how much the clocks must have moved apart to count as a suspend. Two clocks are read one after the other, and a
    /// thread may lose its processor between.
    static let threshold = Duration.milliseconds(500)

    /// The most that the clock which runs on in a suspend was seen ahead of the one which does not.
    private var lead: Duration
    /// Whether the clocks have told of a suspend that the service has not.
    private var isKnownByClocks = false

    /// - Parameter lead: By how much the clock that runs on in a suspend is ahead now.
    init(lead: Duration) { self.lead = lead }

    /// Takes a look at the clocks.
    ///
    /// - Returns: Whether the system was suspended since the last look.
    mutating func look(lead: Duration) -> Bool {
        guard lead - self.lead >= Self.threshold else { return false }
        self.lead = lead
        isKnownByClocks = true
        return true
    }

    /// The service says that the system is about to be suspended.
    mutating func suspendAnnounced() { isKnownByClocks = false }

    /// The service says that the system has resumed.
    ///
    /// - Returns: Whether nobody knew; clocks do not tell of every suspend.
    mutating func resumeAnnounced(lead: Duration) -> Bool {
        defer { isKnownByClocks = false }
        return look(lead: lead) || !isKnownByClocks
    }
}
