// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// The current candidate, its failures, and the decision when to give it up for the next one.
struct CandidateAttempts {
    /// The index of the current candidate; the number of candidates when all are given up.
    private(set) var candidate = 0
    private(set) var failedCreations = 0
    private(set) var failedFrames = 0
    private(set) var missedDeadlines = 0
    private(set) var framesSinceMissedDeadline = 0
    /// Whether it has returned a frame.
    private(set) var hasWorked = false
    private let limits: SessionLimits

    init(limits: SessionLimits) { self.limits = limits }

    mutating func created() { failedCreations = 0 }

    /// The pause before the next creation: a device that has worked and now cannot be opened may be in a reset.
    var pauseBeforeCreation: Duration {
        guard hasWorked, failedCreations > 0 else { return .zero }
        return min(limits.creationPause * (1 << min(failedCreations - 1, 16)), .seconds(3600))
    }

    /// Continues with the next candidate, because the current one may not be used.
    mutating func skip() {
        let next = candidate + 1
        self = CandidateAttempts(limits: limits)
        candidate = next
    }

    /// Records frames that the encoder returned. They clear earlier failures; enough of them also clear missed
    /// deadlines.
    ///
    /// - Parameter isLast: Whether this is the last candidate. A single frame then clears missed deadlines, because a
    ///   slow encoder is better than none.
    mutating func coded(_ frames: Int, isLast: Bool) {
        failedFrames = 0
        hasWorked = true
        framesSinceMissedDeadline += frames
        if isLast || framesSinceMissedDeadline >= Self.framesThatForgetAMissedDeadline { missedDeadlines = 0 }
    }

    /// The number of frames after which a missed deadline no longer counts. With fewer, an encoder that hangs after
    /// every few frames would cost a deadline each time, forever.
    private static let framesThatForgetAMissedDeadline = 250

    /// Counts a failure, and continues with the next candidate if it was permanent or exceeded a limit.
    ///
    /// - Returns: The reason why the candidate is given up; `nil` if it is tried again.
    mutating func failed(_ error: MediaError, whileCreating: Bool, _ identity: EncoderIdentity) -> MediaError? {
        if whileCreating { failedCreations += 1 } else { failedFrames += 1 }
        if error.code == .deadlineExceeded {
            missedDeadlines += 1
            framesSinceMissedDeadline = 0
        }
        // A device that has worked may be temporarily absent, as during a reset, regardless of its driver's error.
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
