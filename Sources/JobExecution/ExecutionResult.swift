// SPDX-License-Identifier: GPL-2.0-or-later

/// What came of a process.
package struct ExecutionResult: Sendable, Hashable {
    /// How the process ended.
    package enum Ending: Sendable, Hashable {
        /// It ended with an exit status.
        case exited(Int32)
        /// A signal killed it.
        case killed(signal: Int32)
    }

    /// Why the host ended a process.
    package enum Interruption: String, Sendable, Hashable {
        /// Its progress stood still.
        case stalled
        /// Its time was over.
        case timeLimit
        /// It used more memory than it may.
        case memoryLimit
        /// It had more processes than it may.
        case processLimit
        /// Its caller was cancelled.
        case cancelled
    }

    /// What the process and all that it started have used.
    package struct Usage: Sendable, Hashable {
        /// The time of processors.
        package var processorTime: Duration
        /// The most memory of the largest process, in bytes.
        package var largestProcess: UInt64
        /// The most memory of all processes together that was measured, in bytes; 0 if it ended before that.
        package var memory: UInt64
        /// The time from start to end.
        package var wallTime: Duration
    }

    /// How it ended.
    package var ending: Ending
    /// Why the host ended it; `nil` if it ended by itself. A process that closes its output when it is cancelled has
    /// both an exit status and an interruption.
    package var interruption: Interruption?
    /// Its standard output, if that was captured.
    package var output: [UInt8]
    /// Whether it has written more than ``output`` holds.
    package var isOutputIncomplete: Bool
    /// The last lines of its standard error, without control characters.
    package var lastLines: [String]
    /// The last progress.
    package var progress: TaskProgress?
    /// The number of lines that should have been a progress and were none.
    package var malformedProgressLines: Int
    /// The parts of its confinement that the kernel did not provide, as text.
    package var limitations: [String]
    /// The number of processes that it left behind, and that were killed.
    package var leftProcesses: Int
    /// What it has used.
    package var usage: Usage

    /// Whether it ended by itself with the status 0.
    package var hasSucceeded: Bool { ending == .exited(0) && interruption == nil }
}
