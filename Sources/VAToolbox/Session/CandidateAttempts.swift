// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// Which candidate is tried, how often it has failed, and when it is given up for the next one.
struct CandidateAttempts {
    /// The index of the candidate that is tried; beyond the last one when all are given up.
    private(set) var candidate = 0
    private(set) var failedCreations = 0
    private(set) var failedFrames = 0
    private(set) var missedDeadlines = 0
    private let limits: SessionLimits

    init(limits: SessionLimits) { self.limits = limits }

    mutating func created() { failedCreations = 0 }
    mutating func coded() { (failedFrames, missedDeadlines) = (0, 0) }

    /// How often an encoder may make no progress until the deadline before it is given up: each time costs the whole
    /// deadline, which twenty times is more than anybody waits for.
    private static let mostMissedDeadlines = 2

    /// Counts a failure, and goes to the next candidate if it was permanent or one too many.
    ///
    /// - Returns: Why the candidate is given up; `nil` if it is tried again.
    mutating func failed(_ error: MediaError, whileCreating: Bool, _ identity: EncoderIdentity) -> MediaError? {
        if whileCreating { failedCreations += 1 } else { failedFrames += 1 }
        if !whileCreating, error.code == .deadlineExceeded { missedDeadlines += 1 }
        let isStuck = missedDeadlines >= Self.mostMissedDeadlines
        let isExhausted =
            isStuck || failedCreations >= limits.creationAttempts || failedFrames >= limits.consecutiveFailedFrames
        guard error.isPermanent || isExhausted else { return nil }
        let count =
            if isStuck {
                "\(missedDeadlines) missed deadlines without a frame between them"
            } else if whileCreating {
                "\(failedCreations) attempts to create it"
            } else {
                "\(failedFrames) failed frames in a row"
            }
        candidate += 1
        failedCreations = 0
        failedFrames = 0
        missedDeadlines = 0
        if error.isPermanent { return error }
        var verdict = error
        verdict.message = "\(identity) is given up after \(count); the last: \(error.message)"
        verdict.isPermanent = true
        return verdict
    }
}
