// SPDX-License-Identifier: GPL-2.0-or-later

/// Whose turn it is: start-time fair queueing among the shares of one priority.
///
/// Each share has a time of its own, which advances by the cost of the tasks that it gets, divided by its weight. The share
/// with the smallest time is next. A share that had nothing to do begins at the time of the others, so that it can
/// neither save up turns nor lose them.
struct FairShares: Sendable, Hashable {
    /// A share of a queue.
    struct Key: Sendable, Hashable {
        var queue: String
        var share: String
    }

    /// The times of the shares, in units of cost.
    private(set) var times: [Key: Double]
    /// The time of the share that was served last.
    private(set) var present: Double

    init(times: [Key: Double] = [:], present: Double = 0) {
        self.times = times
        self.present = present
    }

    /// The time of a share that has something to do.
    func time(of key: Key) -> Double { max(times[key] ?? present, present) }

    /// Charges a share for a task.
    ///
    /// - Parameters:
    ///   - cost: The cost of the task, above 0.
    ///   - weight: The weight of the share, above 0.
    mutating func charge(_ key: Key, cost: Double, weight: Double) {
        let start = time(of: key)
        times[key] = start + cost / weight
        present = start
    }
}
