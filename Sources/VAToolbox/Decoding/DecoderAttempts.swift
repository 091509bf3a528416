// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// The current decoder candidate, its failures, and the decision when to give it up for the next one: a pure value.
struct DecoderAttempts {
    /// The index of the current candidate; the number of candidates when all are given up.
    private(set) var candidate = 0
    private var failedCreations = 0
    private var failures = 0
    private var missedDeadlines = 0
    private var framesSinceMissedDeadline = 0
    private let mostCreations: Int
    private let mostFailures: Int

    /// Missed deadlines, with fewer frames in between than are forgiven.
    private static let mostMissedDeadlines = 2
    /// The number of frames after which a missed deadline no longer counts. With fewer, a decoder that hangs after every
    /// few frames would cost a deadline each time, forever.
    private static let framesThatForgetAMissedDeadline = 250

    /// - Parameters:
    ///   - creations: The attempts to create a decoder.
    ///   - failures: The failures in a row, without a frame in between.
    init(creations: Int, failures: Int) {
        mostCreations = creations
        mostFailures = failures
    }

    mutating func created() { failedCreations = 0 }

    /// Records a frame that was not returned before.
    mutating func returnedFrame() {
        failures = 0
        framesSinceMissedDeadline += 1
        if framesSinceMissedDeadline >= Self.framesThatForgetAMissedDeadline { missedDeadlines = 0 }
    }

    /// Counts a failure, and continues with the next candidate if it is permanent or exceeds a limit.
    ///
    /// - Returns: The reason why the candidate is given up; `nil` if it is tried again.
    mutating func failed(_ error: MediaError, whileCreating: Bool, _ identity: DecoderIdentity) -> MediaError? {
        if whileCreating { failedCreations += 1 } else { failures += 1 }
        if error.code == .deadlineExceeded {
            missedDeadlines += 1
            framesSinceMissedDeadline = 0
        }
        let isStuck = missedDeadlines >= Self.mostMissedDeadlines
        guard error.isPermanent || isStuck || failedCreations >= mostCreations || failures >= mostFailures else {
            return nil
        }
        let count =
            if isStuck {
                "\(missedDeadlines) missed deadlines with few or no frames in between"
            } else if whileCreating {
                "\(failedCreations) attempts to create it"
            } else {
                "\(failures) failures in a row"
            }
        let next = candidate + 1
        self = DecoderAttempts(creations: mostCreations, failures: mostFailures)
        candidate = next
        if error.isPermanent { return error }
        var verdict = error
        verdict.message = "\(identity) is given up after \(count); last error: \(error.message)"
        verdict.isPermanent = true
        return verdict
    }
}
