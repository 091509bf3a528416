// SPDX-License-Identifier: GPL-2.0-or-later

/// The trials on a node so far.
struct NodeTrials: Sendable, Hashable {
    /// All combinations that the driver lists.
    var listed: [Trial]
    /// The listed combinations that are not tried.
    var untried: [UntriedCombination]
    /// The results in the order of the combinations; fewer while the probe runs and after an interruption.
    var results: [TrialResult] = []

    /// Creates the list of trials for a driver.
    init(_ driver: ProbedDriver) {
        listed = Trial.listed(by: driver)
        untried = Trial.untried(of: driver)
    }

    /// Returns the number of trials with a status.
    func count(_ status: TrialResult.Status) -> Int { results.count { $0.status == status } }

    /// Whether all combinations that the driver lists work.
    var allPassed: Bool { count(.passed) == listed.count }
}
