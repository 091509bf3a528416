// SPDX-License-Identifier: GPL-2.0-or-later

/// When a task is given up, and how long it waits between two attempts.
package struct RetryPolicy: Sendable, Hashable, Codable {
    /// The number of failures after which the task is given up, 1...100. A failure that another attempt cannot change
    /// gives it up at once.
    package var mostFailures: Int
    /// The number of lost attempts after which the task is given up, 1...100: a task may be the reason why its workers are
    /// lost.
    package var mostLosses: Int
    /// The pause after the first failure in seconds, from 0 on; it doubles with each further one.
    package var pause: Double
    /// The longest pause in seconds.
    package var longestPause: Double

    /// Makes a policy.
    package init(mostFailures: Int = 3, mostLosses: Int = 5, pause: Double = 1, longestPause: Double = 300) {
        self.mostFailures = mostFailures
        self.mostLosses = mostLosses
        self.pause = pause
        self.longestPause = longestPause
    }

    /// Returns the pause after a number of failures, between half of the exponential pause and all of it, so that tasks
    /// that have failed together do not return together.
    ///
    /// - Parameter jitter: A random number, 0..<1.
    func pause(after failures: Int, jitter: Double) -> Duration {
        var (whole, count) = (max(pause, 0), failures)
        while count > 1, whole > 0, whole < longestPause { (whole, count) = (whole * 2, count - 1) }
        return .milliseconds(Int64(min(whole, longestPause) * 1000 * (0.5 + jitter / 2)))
    }
}
