// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// Decides when an output connects, waits, and gives up; a pure value. All times are in seconds of one clock.
package struct OutputMachine: Sendable {
    /// The limits of an output.
    package struct Policy: Sendable, Hashable {
        /// The wait before the second attempt, in seconds; each further wait is twice as long.
        package var firstWait = 0.25
        /// The longest wait while the output was lost recently, in seconds.
        package var longestWait = 1.5
        /// The longest wait after ``recent``, in seconds.
        package var longestLateWait = 5.0
        /// The time since the output was lost for which ``longestWait`` applies, in seconds.
        package var recent = 300.0
        /// How long an output that has never kept a connection is tried, in seconds; `nil` for ever.
        package var patienceAtStart: Double? = 20
        /// How long an output that was lost is tried, in seconds; `nil` for ever.
        package var patience: Double?
        /// The time after which a connection counts as kept, so that waits begin small again, in seconds: some servers refuse
        /// a stream by closing the connection after they have accepted it.
        package var stable = 2.0

        /// Makes the default limits.
        package init() {}
    }

    /// What to do next.
    package enum Step: Sendable, Hashable {
        /// Connect now.
        case connect
        /// Connect after this number of seconds.
        case wait(Double)
        /// Never connect again.
        case giveUp(MediaError)
    }

    /// The limits.
    package let policy: Policy
    /// The number of connections that were made.
    package private(set) var connections = 0

    /// Whether a connection was ever kept.
    private var wasKept = false
    /// When the output was lost for the first time since a connection was kept.
    private var lostSince: Double?
    private var connectedSince: Double?
    private var failures = 0

    /// Makes a machine.
    package init(policy: Policy = Policy()) { self.policy = policy }

    /// Returns the first step.
    package mutating func start(at now: Double) -> Step {
        lostSince = now
        return .connect
    }

    /// Registers that a connection was made.
    package mutating func connected(at now: Double) {
        connections += 1
        connectedSince = now
    }

    /// Registers that an attempt or a connection has failed.
    ///
    /// - Parameters:
    ///   - error: The reason.
    ///   - jitter: A random number from 0 to 1, by which outputs do not all connect at the same moment.
    package mutating func failed(_ error: MediaError, at now: Double, jitter: Double) -> Step {
        if let connectedSince, now - connectedSince >= policy.stable {
            (lostSince, failures, wasKept) = (now, 0, true)
        }
        connectedSince = nil
        let since = lostSince ?? now
        lostSince = since
        // A receiver that has taken the stream for some time may refuse it only for now, and a name server that had an
        // address for the first connection may have another answer for a while.
        let isWrong = error.code == .invalidArgument && (error.isPermanent || connections == 0)
        let isFinal = error.code == .unsupported || isWrong || error.isPermanent && !wasKept
        let limit = wasKept ? policy.patience : policy.patienceAtStart
        if isFinal || limit.map({ now - since >= $0 }) == true { return .giveUp(error) }
        defer { failures += 1 }
        // The first attempt after a loss is made at once: most losses are short.
        guard failures > 0 || !wasKept else { return .connect }
        let longest = now - since < policy.recent ? policy.longestWait : policy.longestLateWait
        let wait = min(policy.firstWait * Double(1 << min(failures, 10)), longest)
        return .wait(wait * (1 - min(max(jitter, 0), 1) / 4))
    }
}
