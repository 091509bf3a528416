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
        #expect(verdict?.message.contains("2 missed deadlines with few or no frames in between") == true)
        #expect(attempts.candidate == 1)
    }

    @Test(arguments: [1, 3]) func howManyMayBeMissedIsAChoice(_ count: Int) {
        var limits = SessionLimits()
        limits.missedDeadlines = count
        var attempts = CandidateAttempts(limits: limits)
        let verdicts = (0..<count).map { _ in attempts.failed(stuck, whileCreating: true, identity) }
        #expect(verdicts.dropLast().allSatisfy { $0 == nil })
        let reason = count == 1 ? "after a missed deadline;" : "after 3 missed deadlines"
        #expect(verdicts.last??.message.contains(reason) == true)
        #expect(attempts.candidate == 1)
    }

    /// One that has never worked is not expected to come back.
    @Test func onlyWhatHasWorkedIsWaitedFor() {
        var limits = SessionLimits()
        limits.creationAttempts = 40
        var attempts = CandidateAttempts(limits: limits)
        #expect(attempts.failed(failed, whileCreating: true, identity) == nil)
        #expect(attempts.pauseBeforeCreation == .zero)
        attempts.created()
        attempts.coded(1, isLast: false)
        #expect(attempts.failed(failed, whileCreating: false, identity) == nil)
        #expect(attempts.pauseBeforeCreation == .zero, "it may be made anew at once")
        var pauses: [Duration] = []
        for _ in 0..<20 {
            #expect(attempts.failed(failed, whileCreating: true, identity) == nil)
            pauses.append(attempts.pauseBeforeCreation)
        }
        #expect(pauses.prefix(4) == [.milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2)])
        #expect(pauses.last == .seconds(3600))
        attempts.created()
        #expect(attempts.pauseBeforeCreation == .zero)
    }

    @Test func deadlinesMissedInCreationCountToo() {
        var attempts = CandidateAttempts(limits: .init())
        #expect(attempts.failed(stuck, whileCreating: true, identity) == nil)
        attempts.created()
        #expect(attempts.failed(stuck, whileCreating: true, identity)?.isPermanent == true)
        #expect(attempts.candidate == 1)
    }

    /// An encoder that hangs after every few frames would cost a deadline each time.
    @Test func someFramesBetweenThemAreNotEnough() {
        var attempts = CandidateAttempts(limits: .init())
        #expect(attempts.failed(stuck, whileCreating: false, identity) == nil)
        attempts.coded(200, isLast: false)
        attempts.coded(49, isLast: false)
        #expect(attempts.failed(stuck, whileCreating: false, identity)?.isPermanent == true)
    }

    /// Where nobody else can go on, an encoder that hangs now and then is better than none.
    @Test func aFrameBetweenThemIsEnoughForTheLastCandidate() {
        var attempts = CandidateAttempts(limits: .init())
        for _ in 0..<10 {
            #expect(attempts.failed(stuck, whileCreating: false, identity) == nil)
            attempts.coded(1, isLast: true)
        }
        #expect(attempts.failed(stuck, whileCreating: false, identity) == nil)
        #expect(attempts.failed(stuck, whileCreating: false, identity)?.isPermanent == true)
    }

    @Test func manyFramesBetweenThemAreProgress() {
        var attempts = CandidateAttempts(limits: .init())
        for _ in 0..<10 {
            #expect(attempts.failed(stuck, whileCreating: false, identity) == nil)
            attempts.coded(200, isLast: false)
            attempts.coded(50, isLast: false)
        }
        #expect(attempts.candidate == 0)
    }

    /// Helpers that are killed, say: a group that came out between is progress.
    @Test func failuresAreForgottenWithTheNextFrame() {
        var attempts = CandidateAttempts(limits: .init())
        for _ in 0..<10 {
            for _ in 0..<19 { #expect(attempts.failed(failed, whileCreating: false, identity) == nil) }
            attempts.coded(1, isLast: false)
        }
        for _ in 0..<19 { #expect(attempts.failed(failed, whileCreating: false, identity) == nil) }
        #expect(attempts.failed(failed, whileCreating: false, identity)?.isPermanent == true)
    }

    /// A driver that does not start is not tried again, unless it has worked: then the device may be about to return.
    @Test func aDeviceThatHasWorkedIsTriedAgain() {
        let gone = MediaError(.unavailable, "no display")
        var attempts = CandidateAttempts(limits: .init())
        #expect(attempts.failed(gone, whileCreating: true, identity)?.isPermanent == true)
        attempts = CandidateAttempts(limits: .init())
        attempts.created()
        attempts.coded(1, isLast: false)
        for _ in 0..<4 { #expect(attempts.failed(gone, whileCreating: true, identity) == nil) }
        let verdict = attempts.failed(gone, whileCreating: true, identity)
        #expect(verdict?.message.contains("after 5 attempts to create it") == true)
        // The next one is not known to work.
        #expect(attempts.candidate == 1)
        #expect(attempts.failed(gone, whileCreating: true, identity)?.isPermanent == true)
    }

    @Test func theNextCandidateBeginsAnew() {
        var attempts = CandidateAttempts(limits: .init())
        #expect(attempts.failed(stuck, whileCreating: false, identity) == nil)
        #expect(attempts.failed(MediaError(.unsupported, "no"), whileCreating: false, identity)?.isPermanent == true)
        #expect(attempts.failed(stuck, whileCreating: false, identity) == nil)
        #expect(attempts.candidate == 1)
    }
}
