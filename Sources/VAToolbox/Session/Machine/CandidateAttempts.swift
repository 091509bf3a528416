// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// Which candidate is tried, how often it has failed, and when it is given up for the next one.
struct CandidateAttempts {
    /// The index of the candidate that is tried; beyond the last one when all are given up.
    private(set) var candidate = 0
    private(set) var failedCreations = 0
    private(set) var failedFrames = 0
    private(set) var missedDeadlines = 0
    private(set) var framesSinceMissedDeadline = 0
    /// Whether it has put out a frame.
    private(set) var hasWorked = false
    private let limits: SessionLimits

    init(limits: SessionLimits) { self.limits = limits }

    mutating func created() { failedCreations = 0 }

    /// How long to wait before the next creation: a device that has worked, and now cannot be opened, may be in a reset.
    var pauseBeforeCreation: Duration {
        guard hasWorked, failedCreations > 0 else { return .zero }
        return min(limits.creationPause * (1 << min(failedCreations - 1, 16)), .seconds(3600))
    }

    /// Goes to the next candidate, as the present one may not be used.
    mutating func skip() {
        let next = candidate + 1
        self = CandidateAttempts(limits: limits)
        candidate = next
    }

    /// So many frames have come out: earlier failures are forgotten, missed deadlines when it were enough frames.
    ///
    /// - Parameter isLast: Whether no candidate comes after this one. Then any frame is enough, for slow is better than over.
    mutating func coded(_ frames: Int, isLast: Bool) {
        failedFrames = 0
        hasWorked = true
        framesSinceMissedDeadline += frames
        if isLast || framesSinceMissedDeadline >= Self.framesThatForgetAMissedDeadline { missedDeadlines = 0 }
    }

    /// What has to come out until a missed deadline counts no more. Less would let an encoder that hangs after every few
    /// frames cost a deadline each time, for ever.
    private static let framesThatForgetAMissedDeadline = 250

    /// Counts a failure, and goes to the next candidate if it was permanent or one too many.
    ///
    /// - Returns: Why the candidate is given up; `nil` if it is tried again.
    mutating func failed(_ error: MediaError, whileCreating: Bool, _ identity: EncoderIdentity) -> MediaError? {
        if whileCreating { failedCreations += 1 } else { failedFrames += 1 }
        if error.code == .deadlineExceeded {
            missedDeadlines += 1
            framesSinceMissedDeadline = 0
        }
        // A device that has worked may be gone for a moment, as while it is reset, whatever its driver says of it.
        let isPermanent = error.isPermanent && !(whileCreating && hasWorked && error.code == .unavailable)
        let isStuck = missedDeadlines >= limits.missedDeadlines
        let isExhausted =
            isStuck || failedCreations >= limits.creationAttempts || failedFrames >= limits.consecutiveFailedFrames
        guard isPermanent || isExhausted else { return nil }
        let count =
            if isStuck {
                missedDeadlines == 1
                    ? "a missed deadline" : "\(missedDeadlines) missed deadlines with few or no frames in between"
            } else if whileCreating {
                "\(failedCreations) attempts to create it"
            } else {
                "\(failedFrames) failed frames in a row"
            }
        skip()
        if isPermanent { return error }
        var verdict = error
        verdict.message = "\(identity) is given up after \(count); last error: \(error.message)"
        verdict.isPermanent = true
        return verdict
    }
}
