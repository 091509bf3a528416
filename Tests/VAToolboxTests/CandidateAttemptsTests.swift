// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@testable import VAToolbox

/// When a candidate is given up.
@Suite struct CandidateAttemptsTests {
    private let identity = EncoderIdentity(name: "encoder", codec: .h264)
    private let stuck = MediaError(.deadlineExceeded, "no progress", isPermanent: false)
    private let failed = MediaError(.frameFailed, "no data", isPermanent: false)

    /// Each time costs the whole deadline.
    @Test func twoMissedDeadlinesAreEnough() {
        var attempts = CandidateAttempts(limits: .init())
        #expect(attempts.failed(stuck, whileCreating: false, identity) == nil)
        #expect(attempts.failed(failed, whileCreating: false, identity) == nil)
        let verdict = attempts.failed(stuck, whileCreating: false, identity)
        #expect(verdict?.isPermanent == true && verdict?.code == .deadlineExceeded)
        #expect(verdict?.message.contains("2 missed deadlines without a frame between them") == true)
        #expect(attempts.candidate == 1)
    }

    @Test func aFrameBetweenThemIsProgress() {
        var attempts = CandidateAttempts(limits: .init())
        for _ in 0..<10 {
            #expect(attempts.failed(stuck, whileCreating: false, identity) == nil)
            attempts.coded()
        }
        #expect(attempts.candidate == 0)
    }

    @Test func theNextCandidateBeginsAnew() {
        var attempts = CandidateAttempts(limits: .init())
        #expect(attempts.failed(stuck, whileCreating: false, identity) == nil)
        #expect(attempts.failed(MediaError(.unsupported, "no"), whileCreating: false, identity)?.isPermanent == true)
        #expect(attempts.failed(stuck, whileCreating: false, identity) == nil)
        #expect(attempts.candidate == 1)
    }
}
