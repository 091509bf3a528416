// SPDX-License-Identifier: GPL-2.0-or-later

/// Whose turn it is: start-time fair queueing among the shares of one priority.
///
/// Each share has a time of its own, which advances by the cost of the tasks that it gets, divided by its weight. The share
/// with the smallest time is next. A share that had nothing to do begins at the time of the others, so that it can
/// neither save up turns nor lose them. One that had something to do all the time keeps its own, even if no worker could
/// do it: it is behind then, and catches up, within a limit.
struct FairShares: Sendable, Hashable {
    /// A share of a queue.
    struct Key: Sendable, Hashable, Comparable {
        var queue: String
        var share: String

        static func < (first: Key, second: Key) -> Bool {
            (first.queue, first.share) < (second.queue, second.share)
        }
    }

    /// What is known of a share.
    struct Entry: Sendable, Hashable {
        /// Its time, in units of cost.
        var time: Double
        /// Whether it had something to do at the last choice.
        var isWaiting: Bool
    }

    /// How far behind a share can be, in units of cost.
    static let mostLag = 1000.0

    private(set) var entries: [Key: Entry]
    /// The largest time at which a share was served.
    private(set) var present: Double

    init(entries: [Key: Entry] = [:], present: Double = 0) {
        self.entries = entries
        self.present = present
    }

    /// Notes which shares have something to do, before one of them is chosen.
    ///
    /// - Parameter unknown: Queues that were not looked at, so that nothing is said of their shares.
    mutating func note(waiting: Set<Key>, unknown: Set<String> = []) {
        for key in entries.keys where !waiting.contains(key) && !unknown.contains(key.queue) {
            // It would begin at the present anyway.
            if entries[key].map({ $0.time <= present }) == true {
                entries[key] = nil
            } else {
                entries[key]?.isWaiting = false
            }
        }
        for key in waiting {
            let known = entries[key]
            let earliest = known?.isWaiting == true ? present - Self.mostLag : present
            entries[key] = Entry(time: max(known?.time ?? present, earliest), isWaiting: true)
        }
    }

    /// The time of a share.
    func time(of key: Key) -> Double { entries[key]?.time ?? present }

    /// Charges a share for a task.
    ///
    /// - Parameters:
    ///   - cost: The cost of the task, above 0.
    ///   - weight: The weight of the share, above 0.
    mutating func charge(_ key: Key, cost: Double, weight: Double) {
        let start = time(of: key)
        entries[key] = Entry(time: start + cost / weight, isWaiting: entries[key]?.isWaiting ?? true)
        present = max(present, start)
    }
}
