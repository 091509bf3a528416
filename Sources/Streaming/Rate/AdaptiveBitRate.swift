// SPDX-License-Identifier: GPL-2.0-or-later

/// Follows the link: below what it has delivered as soon as data waits, and back to the ceiling in steps.
///
/// A queue that does not empty for ``Policy/window``, or that becomes very old, is congestion: large key frames alone make a
/// queue that empties. Then, and while many packets are sent again, the rate is set below the delivered rate, so that the
/// queue empties. Without congestion it rises by ``Policy/step`` at a time. A rise that causes congestion doubles the wait before the
/// next one. It never falls below ``Policy/floor`` of the ceiling: then pictures are dropped instead.
public struct AdaptiveBitRate: BitRateStrategy, Hashable {
    /// The limits of the strategy.
    public struct Policy: Sendable, Hashable {
        /// The least age of the queue during ``window`` that counts as congestion, in seconds.
        public var congestion = 0.15
        /// The age of the queue that counts as congestion at once, in seconds.
        public var alarm = 0.6
        /// The time for which a queue must not empty, in seconds: longer than the network needs for a key frame.
        public var window = 0.8
        /// The least age of the queue during ``window`` up to which the rate may rise, in seconds.
        public var calm = 0.05
        /// The share of repeated packets that counts as congestion: more than the loss of a usual link.
        public var repeatedShare = 0.15
        /// The share of the delivered rate that is used while the queue empties.
        public var share = 0.85
        /// The shortest time between two reductions, in seconds.
        public var pause = 0.7
        /// The share of the ceiling by which the rate rises.
        public var step = 0.08
        /// The time without congestion before a rise, in seconds.
        public var patience = 3.0
        /// The longest such time, after rises that failed, in seconds.
        public var longestPatience = 24.0
        /// The smallest rate, as a share of the ceiling.
        public var floor = 0.1

        /// Makes the default limits.
        public init() {}
    }

    /// The limits.
    public let policy: Policy
    private var rate: Double?
    private var latestCut = -Double.infinity
    private var latestRise = -Double.infinity
    private var patience: Double
    /// The ages of the queue during the window.
    private var ages: [Age] = []

    private struct Age: Hashable {
        var time: Double
        var age: Double
    }

    /// Makes a strategy that begins at the ceiling.
    public init(policy: Policy = Policy()) {
        self.policy = policy
        patience = policy.patience
    }

    /// Returns the bitrate that the link carries, between ``Policy/floor`` of the ceiling and the ceiling.
    public mutating func videoBitRate(for report: LinkReport) -> Int {
        let ceiling = Double(max(report.ceiling, 1))
        var present = min(rate ?? ceiling, ceiling)
        if report.isConnected {
            let standing = standingAge(report)
            let repeated = report.repeatedShare ?? 0
            if standing > policy.congestion || report.queueAge > policy.alarm || repeated > policy.repeatedShare {
                present = cut(present, report)
            } else if standing <= policy.calm, present < ceiling {
                present = rise(present, ceiling, report.time)
            }
        } else {
            ages = []
        }
        rate = max(present, ceiling * policy.floor)
        return Int(exactly: min(max(present, ceiling * policy.floor), ceiling).rounded(.down)) ?? report.ceiling
    }

    /// The least age of the queue during the window; zero before it is over.
    private mutating func standingAge(_ report: LinkReport) -> Double {
        ages.append(Age(time: report.time, age: report.queueAge))
        // One before the window is kept, so that the window is whole.
        while ages.count > 2, report.time - ages[1].time >= policy.window { ages.removeFirst() }
        guard let first = ages.first, report.time - first.time >= policy.window else { return 0 }
        return ages.map(\.age).min() ?? 0
    }

    private mutating func cut(_ present: Double, _ report: LinkReport) -> Double {
        guard report.time - latestCut >= policy.pause else { return present }
        // A rise that the link cannot carry is not repeated soon.
        patience =
            report.time - latestRise < policy.longestPatience / 4
            ? min(patience * 2, policy.longestPatience) : policy.patience
        latestCut = report.time
        // The older the queue, the more of the link is left for it.
        let share = max(policy.share - max(report.queueAge - policy.congestion, 0) / 4, policy.share / 2)
        var target = report.deliveredRate * share - report.otherRate
        if let repeated = report.repeatedShare, repeated > policy.repeatedShare {
            target = min(target, present * (1 - repeated) * policy.share)
        }
        return min(present, max(target, 0))
    }

    private mutating func rise(_ present: Double, _ ceiling: Double, _ time: Double) -> Double {
        guard time - latestCut >= patience, time - latestRise >= policy.patience else { return present }
        latestRise = time
        return min(present + ceiling * policy.step, ceiling)
    }
}
