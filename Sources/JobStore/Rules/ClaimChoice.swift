// SPDX-License-Identifier: GPL-2.0-or-later

/// The tasks of one share with one demand that may begin now, and the first of them.
struct ClaimGroup: Sendable, Hashable {
    var key: FairShares.Key
    var priority: Int
    /// The number of the demand in the store.
    var demand: Int64
    /// The position of the job of the first task.
    var position: Int64
}

/// Chooses the next task for a worker: the highest priority first, then the share whose turn it is, then the job that was
/// submitted first.
enum ClaimChoice {
    /// Returns the group of the next task; `nil` if the worker can do none.
    ///
    /// - Parameters:
    ///   - groups: The groups of all queues from which the worker may take.
    ///   - shares: The shares, by priority.
    ///   - isMet: Whether the worker meets a demand.
    static func next(
        of groups: [ClaimGroup],
        _ shares: [Int: FairShares],
        isMet: (Int64) -> Bool
    ) -> ClaimGroup? {
        var best: (group: ClaimGroup, time: Double)?
        for group in groups where isMet(group.demand) {
            let time = (shares[group.priority] ?? FairShares()).time(of: group.key)
            if let known = best, !precedes(group, time, known.group, known.time) { continue }
            best = (group, time)
        }
        return best?.group
    }

    private static func precedes(_ first: ClaimGroup, _ time: Double, _ second: ClaimGroup, _ other: Double) -> Bool {
        if first.priority != second.priority { return first.priority > second.priority }
        if time != other { return time < other }
        return first.position < second.position
    }
}
