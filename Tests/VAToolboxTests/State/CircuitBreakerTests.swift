// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import VAToolbox

/// When a device that fails is left alone, and who may try it again.
@Suite struct CircuitBreakerTests {
    private static let times = BreakerTimes(
        failures: 2,
        window: .seconds(100),
        pause: .seconds(10),
        longestPause: .seconds(25)
    )

    private enum Event: CaseIterable {
        case fail, failInTrial, succeed, succeedInTrial, complete, completeInTrial, wait, waitForThePause, waitLong
    }

    /// The same in other words: counts and times only.
    private struct Model {
        var failures: [Double] = []
        var openings = 0
        var pauseEnd: Double?
        var now = 1000.0

        mutating func apply(_ event: Event) {
            switch event {
            case .wait: now += 3
            case .waitForThePause: now += 25
            case .waitLong: now += 100
            case .fail, .failInTrial:
                if pauseEnd != nil {
                    if event == .failInTrial { open() }
                } else {
                    failures = failures.filter { now - $0 < 100 } + [now]
                    if failures.count == 2 { open() }
                }
            case .succeed: break
            case .succeedInTrial: pauseEnd = nil
            case .complete, .completeInTrial:
                if event == .completeInTrial { pauseEnd = nil }
                if pauseEnd == nil { (failures, openings) = ([], 0) }
            }
        }

        private mutating func open() {
            let lengths = [10.0, 20, 25]
            pauseEnd = now + lengths[min(openings, 2)]
            openings += 1
            failures = []
        }

        var state: CircuitBreaker.State {
            guard let pauseEnd else { return .closed(failures: failures.count { now - $0 < 100 }) }
            return now < pauseEnd ? .open(until: pauseEnd) : .halfOpen
        }
    }

    private func apply(_ event: Event, to breaker: inout CircuitBreaker, at now: Double) {
        switch event {
        case .fail: breaker.fail(at: now, isTrial: false, reason: "no", Self.times)
        case .failInTrial: breaker.fail(at: now, isTrial: true, reason: "no", Self.times)
        case .succeed: breaker.succeed(isTrial: false)
        case .succeedInTrial: breaker.succeed(isTrial: true)
        case .complete: breaker.complete(isTrial: false)
        case .completeInTrial: breaker.complete(isTrial: true)
        case .wait, .waitForThePause, .waitLong: break
        }
    }

    /// Every sequence of up to five events.
    @Test func everySequence() {
        var sequences = 0
        var wrong: [String] = []
        func go(_ breaker: CircuitBreaker, _ model: Model, _ past: [Event]) {
            guard past.count < 5, wrong.count < 5 else { return }
            for event in Event.allCases {
                var (breaker, model) = (breaker, model)
                apply(event, to: &breaker, at: model.now)
                model.apply(event)
                sequences += 1
                let state = breaker.state(at: model.now, Self.times)
                let expected: CircuitBreaker.Admission =
                    switch model.state {
                    case .closed: .allowed
                    case .open(let end): .refused(until: end)
                    case .halfOpen: .trial
                    }
                if state != model.state || breaker.admission(at: model.now, Self.times) != expected
                    || CircuitBreaker(breaker.record) != breaker
                {
                    wrong.append("\(past + [event]): \(state), expected \(model.state)")
                }
                go(breaker, model, past + [event])
            }
        }
        go(CircuitBreaker(), Model(), [])
        #expect(wrong == [])
        #expect(sequences == 9 * (9 * 9 * 9 * 9 * 9 - 1) / 8)
    }

    @Test func pausesDoubleUpToTheLongest() {
        var breaker = CircuitBreaker()
        var now = 0.0
        breaker.fail(at: now, isTrial: false, reason: "a", Self.times)
        var lengths: [Double] = []
        for _ in 0..<4 {
            breaker.fail(at: now, isTrial: true, reason: "b", Self.times)
            guard case .open(let end) = breaker.state(at: now, Self.times) else { return #expect(Bool(false)) }
            lengths.append(end - now)
            now = end
        }
        #expect(lengths == [10, 20, 25, 25] && breaker.reason == "b")
    }

    /// Options are checked when a session is made; a breaker takes whatever it is told.
    @Test func aPauseBelowZeroIsNone() {
        let times = BreakerTimes(failures: 1, window: .seconds(1), pause: .seconds(-5), longestPause: .seconds(-1))
        var breaker = CircuitBreaker()
        breaker.fail(at: 100, isTrial: false, reason: "", times)
        #expect(breaker.state(at: 100, times) == .halfOpen)
    }

    /// A clock that is set back by hours does not make a pause of hours.
    @Test func aClockThatIsSetBack() {
        var breaker = CircuitBreaker()
        for _ in 0..<2 { breaker.fail(at: 10_000, isTrial: false, reason: "", Self.times) }
        #expect(breaker.admission(at: 10_005, Self.times) == .refused(until: 10_010))
        #expect(breaker.admission(at: 500, Self.times) == .trial)
        var other = CircuitBreaker()
        other.fail(at: 10_000, isTrial: false, reason: "", Self.times)
        #expect(other.state(at: 500, Self.times) == .closed(failures: 0))
    }

    /// A damaged file, or one of a version that allowed them.
    @Test(arguments: ["0 inf", "nan nan", "1.7e9 1e30", "-inf 5", "5 4", "1 2 3", "", "0 31536001"])
    func pausesThatAreNone(pause: String) {
        let breaker = CircuitBreaker(StateRecord(["kind": "breaker", "openings": "1", "pause": pause]))
        #expect(breaker?.pause == nil && breaker?.openings == 1)
        let longest = CircuitBreaker(StateRecord(["kind": "breaker", "openings": "1", "pause": "0 31536000"]))
        #expect(longest?.pause == 0...31_536_000)
    }

    @Test(arguments: [
        ["kind": "proof", "openings": "1"], ["kind": "breaker", "openings": "-1"], ["kind": "breaker"],
    ]) func recordsThatAreNone(values: [String: String]) {
        #expect(CircuitBreaker(StateRecord(values)) == nil)
    }
}
