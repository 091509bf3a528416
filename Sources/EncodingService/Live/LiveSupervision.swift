// SPDX-License-Identifier: GPL-2.0-or-later

/// Decides what follows the end of a process of a live job; a pure value. Times are seconds of one clock.
struct LiveSupervision: Sendable, Hashable {
    /// How a process has ended.
    enum End: Sendable, Hashable {
        /// As asked, or with its last file.
        case finished
        /// Its settings cannot work, unless they have worked before: then what they name has changed, such as the
        /// answer of a name server, and may change again.
        case refused
        /// Anything else.
        case failed
    }

    /// What follows.
    enum Step: Sendable, Hashable {
        /// Nothing: the job has ended.
        case end
        /// The job has failed.
        case giveUp
        /// Another process, after so many seconds.
        case wait(Double)
    }

    /// How many processes in a row may fail without having run for ``stable`` before the job fails.
    let most: Int
    /// Whether the settings have worked.
    var hasWorked = false
    private var failures = 0
    private var start = 0.0

    /// A process that has run for so many seconds counts as one that works.
    static let stable = 60.0
    /// The first pause, which doubles with each failure, and the longest one, in seconds.
    static let (firstPause, longestPause) = (1.0, 60.0)

    init(most: Int) { self.most = most }

    /// A process begins.
    mutating func begin(at now: Double) { start = now }

    /// A process has ended.
    mutating func end(_ end: End, at now: Double) -> Step {
        switch end {
        case .finished: return .end
        case .refused where !hasWorked: return .giveUp
        case .refused, .failed:
            if now - start >= Self.stable { failures = 0 }
            failures += 1
            guard failures <= most else { return .giveUp }
            return .wait(min(Self.firstPause * Double(1 << min(failures - 1, 20)), Self.longestPause))
        }
    }
}
