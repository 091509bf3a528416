// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Streaming
import Synchronization
import TestSupport
import Testing

/// What an output does with connections that refuse, fail, stall, and end.
@Suite(.timeLimit(.minutes(60))) struct LiveOutputTests {
    /// What the connections of an output do, and what they have got.
    private final class Script: Sendable {
        enum Behaviour: Sendable {
            case accepts
            case refuses
            /// Fails at the unit with a number, from 0.
            case fails(after: Int)
            /// Takes nothing from the unit with a number on, until the stop signal.
            case stalls(after: Int)
            /// Takes nothing, and does not notice how long that lasts.
            case hangs
        }

        struct State {
            var behaviours: [Behaviour]
            var received: [[String]] = []
            var finished = 0
        }

        let state: Mutex<State>

        init(_ behaviours: [Behaviour]) { state = Mutex(State(behaviours: behaviours)) }

        var received: [[String]] { state.withLock { $0.received } }

        func connect(_ limits: ConnectionLimits, _ stop: StopSignal) throws(MediaError) -> any LiveConnection {
            let behaviour = state.withLock { state in
                state.behaviours.count > 1 ? state.behaviours.removeFirst() : state.behaviours[0]
            }
            if case .refuses = behaviour { throw MediaError(.inputOutput, "the server refuses") }
            let number = state.withLock { state in
                state.received.append([])
                return state.received.count - 1
            }
            return Connection(script: self, behaviour: behaviour, number: number, stop: stop, limits: limits)
        }
    }

    private final class Connection: LiveConnection {
        let script: Script
        let behaviour: Script.Behaviour
        let number: Int
        let stop: StopSignal
        let limits: ConnectionLimits
        var count = 0

        init(script: Script, behaviour: Script.Behaviour, number: Int, stop: StopSignal, limits: ConnectionLimits) {
            (self.script, self.behaviour, self.number) = (script, behaviour, number)
            (self.stop, self.limits) = (stop, limits)
        }

        func send(_ unit: LiveUnit) throws(MediaError) {
            defer { count += 1 }
            switch behaviour {
            case .fails(let after) where count >= after: throw MediaError(.inputOutput, "the connection is lost")
            case .stalls(let after) where count >= after:
                try stop.wait(for: [], until: limits.silence)
                throw MediaError(.deadlineExceeded, "the receiver takes nothing")
            case .hangs: try stop.wait(for: [], until: nil)
            default: script.state.withLock { $0.received[number].append(unit.label) }
            }
        }

        func finish() throws(MediaError) { script.state.withLock { $0.finished += 1 } }

        var measurements: LinkMeasurements { LinkMeasurements() }
    }

    private func output(_ script: Script, silence: Int32 = 10_000) throws -> LiveOutput {
        var options = LiveOutput.Options()
        options.limits.silence = silence
        options.policy.firstWait = 0.01
        options.policy.longestWait = 0.05
        options.queue.age = 1000
        options.queue.oldest = 1000
        return try LiveOutput(address: "test", options: options) { _, limits, stop throws(MediaError) in
            try script.connect(limits, stop)
        }
    }

    private func start(_ output: LiveOutput) { output.start(LiveTracks(video: LiveUnits.format)) }

    @Test func everythingIsSentAndTheStreamIsEnded() throws {
        let script = Script([.accepts])
        let output = try output(script)
        start(output)
        output.enqueue(LiveUnits.picture(1000, isKeyFrame: true))
        for time in 1..<100 { output.enqueue(LiveUnits.picture(1000 + Int64(time))) }
        output.finish()
        #expect(script.received == [["K0"] + (1..<100).map { "P\($0)" }])
        #expect(script.state.withLock { $0.finished } == 1)
        #expect(output.status.state == .finished)
        #expect(output.status.sentPictures == 100)
    }

    @Test func anotherConnectionBeginsWithAKeyFrameAtZero() async throws {
        let script = Script([.fails(after: 2), .refuses, .accepts])
        let output = try output(script)
        start(output)
        output.enqueue(LiveUnits.picture(0, isKeyFrame: true))
        output.enqueue(LiveUnits.picture(1))
        output.enqueue(LiveUnits.picture(2))
        #expect(await Patience.wait { output.status.reconnects == 1 })
        #expect(await Patience.wait { output.needsKeyFrame })
        output.enqueue(LiveUnits.picture(500))
        output.enqueue(LiveUnits.picture(501, isKeyFrame: true))
        output.enqueue(LiveUnits.picture(502))
        output.finish()
        #expect(script.received == [["K0", "P1"], ["K0", "P1"]])
        #expect(output.status.drops.pictures[.beforeKeyFrame] == 1)
    }

    @Test func aReceiverThatTakesNothingIsLeft() async throws {
        let script = Script([.stalls(after: 1), .accepts])
        let output = try output(script, silence: 100)
        start(output)
        output.enqueue(LiveUnits.picture(0, isKeyFrame: true))
        #expect(await Patience.wait { script.received == [["K0"]] })
        output.enqueue(LiveUnits.picture(1))
        #expect(await Patience.wait { output.status.reconnects == 1 })
        output.enqueue(LiveUnits.picture(2, isKeyFrame: true))
        #expect(await Patience.wait { script.received == [["K0"], ["K0"]] })
        output.finish()
    }

    /// Nobody who passes units on notices a receiver that takes nothing, and the queue stays within its limits.
    @Test func aStalledReceiverHoldsNobodyUp() async throws {
        let script = Script([.stalls(after: 1)])
        var options = LiveOutput.Options()
        (options.queue.age, options.queue.oldest) = (0.05, 0.2)
        options.limits.silence = 600_000
        let output = try LiveOutput(address: "test", options: options) { _, limits, stop throws(MediaError) in
            try script.connect(limits, stop)
        }
        start(output)
        output.enqueue(LiveUnits.picture(0, isKeyFrame: true))
        #expect(await Patience.wait { output.status.sentPictures == 1 })
        let number = Mutex<Int64>(0)
        let hasDropped = await Patience.wait {
            let time = number.withLock { number in
                number += 1
                return number
            }
            output.enqueue(LiveUnits.picture(time, isKeyFrame: time % 10 == 0, bytes: 1000))
            return output.status.drops.latePictures > 100
        }
        #expect(hasDropped)
        #expect(output.status.queuedBytes < 1 << 20)
        #expect(output.status.state == .live)
        output.abort()
        #expect(await Patience.wait { !output.isAlive })
    }

    @Test func anOutputThatCannotConnectGivesUp() async throws {
        let script = Script([.refuses])
        var options = LiveOutput.Options()
        (options.policy.firstWait, options.policy.patienceAtStart) = (0.01, 0.1)
        let output = try LiveOutput(address: "test", options: options) { _, limits, stop throws(MediaError) in
            try script.connect(limits, stop)
        }
        start(output)
        #expect(await Patience.wait { !output.isAlive })
        #expect(output.status.state.error?.message == "the server refuses")
        output.enqueue(LiveUnits.picture(0, isKeyFrame: true))
        output.finish()
    }

    @Test(arguments: [Script.Behaviour.stalls(after: 0), .hangs])
    private func endingDoesNotWaitForAReceiverThatTakesNothing(behaviour: Script.Behaviour) async throws {
        let output = try output(Script([behaviour]), silence: 200)
        start(output)
        #expect(await Patience.wait { output.status.state == .live })
        output.enqueue(LiveUnits.picture(0, isKeyFrame: true))
        let start = ContinuousClock.now
        output.finish()
        #expect(ContinuousClock.now - start < .seconds(30))
        #expect(await Patience.wait { !output.isAlive })
        #expect(output.status.state.error?.code == .deadlineExceeded)
        #expect(output.status.sentPictures == 0)
    }
}
