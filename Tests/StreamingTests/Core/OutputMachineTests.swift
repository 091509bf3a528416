// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Streaming
import Testing

/// When an output connects again, and when it gives up.
@Suite struct OutputMachineTests {
    private let lost = MediaError(.inputOutput, "the connection is lost")

    @Test func aLossIsFollowedByAnAttemptAtOnce() {
        var machine = OutputMachine()
        #expect(machine.start(at: 0) == .connect)
        machine.connected(at: 1)
        #expect(machine.failed(lost, at: 100, jitter: 0) == .connect)
        #expect(machine.failed(lost, at: 100, jitter: 0) == .wait(0.5))
        #expect(machine.connections == 1)
    }

    /// A server that is away for a while is found within two seconds of its return.
    @Test func waitsAreShort() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        machine.connected(at: 0)
        var now = 60.0
        while now < 300 {
            switch machine.failed(lost, at: now, jitter: 0) {
            case .connect: now += 0.01
            case .wait(let seconds):
                #expect(seconds <= 1.5)
                now += seconds
            case .giveUp: Issue.record("it gave up")
            }
        }
    }

    @Test func anOutputThatNeverConnectsIsGivenUp() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        guard case .wait = machine.failed(lost, at: 19, jitter: 0.5) else {
            Issue.record("it did not try again")
            return
        }
        #expect(machine.failed(lost, at: 20, jitter: 0.5) == .giveUp(lost))
    }

    @Test func anOutputThatWasLiveIsTriedForEver() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        machine.connected(at: 1)
        for day in 1...10 {
            guard case .giveUp = machine.failed(lost, at: Double(day) * 86400, jitter: 1) else { continue }
            Issue.record("it gave up")
        }
    }

    /// As servers do that accept a stream and close the connection to refuse it.
    @Test func connectionsThatAreNotKeptAreAttempts() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        var now = 0.0
        while now < 19 {
            machine.connected(at: now)
            guard case .wait(let seconds) = machine.failed(lost, at: now + 0.1, jitter: 0) else {
                Issue.record("it does not wait")
                return
            }
            now += seconds + 0.1
        }
        machine.connected(at: now)
        #expect(machine.failed(lost, at: 20.5, jitter: 0) == .giveUp(lost))
    }

    @Test func whatCannotBeCarriedIsFinal() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        machine.connected(at: 1)
        let refusal = MediaError(.unsupported, "the protocol does not carry this")
        #expect(machine.failed(refusal, at: 2, jitter: 0) == .giveUp(refusal))
    }

    @Test func aPermanentRefusalIsFinalAtTheStart() {
        let refusal = MediaError(.unavailable, "the passphrase is wrong", isPermanent: true)
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        #expect(machine.failed(refusal, at: 1, jitter: 0) == .giveUp(refusal))
        machine = OutputMachine()
        _ = machine.start(at: 0)
        machine.connected(at: 1)
        #expect(machine.failed(refusal, at: 10, jitter: 0) == .connect)
    }

    /// A name server may tell something wrong for a while. At the start, it may as well be the name that is wrong.
    @Test func anAddressThatIsRefusedIsFinalAtTheStartOnly() {
        let refusal = MediaError(.invalidArgument, "the address is not public", isPermanent: false)
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        #expect(machine.failed(refusal, at: 0, jitter: 0) == .giveUp(refusal))
        machine = OutputMachine()
        _ = machine.start(at: 0)
        machine.connected(at: 1)
        #expect(machine.failed(lost, at: 100, jitter: 0) == .connect)
        for day in 1...10 {
            guard case .wait = machine.failed(refusal, at: Double(day) * 86400, jitter: 1) else {
                Issue.record("it does not wait")
                return
            }
        }
        machine.connected(at: 1_000_000)
        let wrong = MediaError(.invalidArgument, "a time is negative")
        #expect(machine.failed(wrong, at: 1_000_100, jitter: 0) == .giveUp(wrong))
    }

    @Test func waitsVary() {
        var (one, other) = (OutputMachine(), OutputMachine())
        _ = one.start(at: 0)
        _ = other.start(at: 0)
        #expect(one.failed(lost, at: 1, jitter: 0) != other.failed(lost, at: 1, jitter: 1))
    }
}
