// SPDX-License-Identifier: GPL-2.0-or-later

/// What was tried on a node, as far as it has come.
struct NodeTrials: Sendable, Hashable {
    /// Every combination that the driver lists.
    var listed: [Trial]
    /// What it lists beyond that.
    var untried: [UntriedCombination]
    /// What came of the combinations, in their order; fewer while it goes on and after an interruption.
    var results: [TrialResult] = []

    /// What there is to try with a driver.
    init(_ driver: ProbedDriver) {
        listed = Trial.listed(by: driver)
        untried = Trial.untried(of: driver)
    }

    /// How many trials ended in a way.
    func count(_ status: TrialResult.Status) -> Int { results.count { $0.status == status } }

    /// Whether everything that the driver lists works.
    var allPassed: Bool { count(.passed) == listed.count }
}
