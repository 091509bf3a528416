// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

@testable import VAToolbox

/// Everything of a simulation on which depends what it will do and what will be checked, as bytes: two simulations with
/// the same bytes have the same future, up to the names of calls, frames, encoders and moments.
///
/// So names are written as distances: calls by their place among the open ones, frames from the first that is not out,
/// presentation times from the next one, moments from the present.
struct SessionState: Hashable {
    private var bytes: [UInt8] = []

    init(_ simulation: SessionSimulation) {
        bytes.reserveCapacity(128)
        add(simulation.machine, simulation)
        add(simulation.encoder, simulation)
        add(simulation.promise, simulation)
        add(simulation.closed != nil)
    }

    // MARK: - The session

    private mutating func add(_ machine: SessionMachine, _ simulation: SessionSimulation) {
        let now = simulation.clock
        switch machine.phase {
        case .idle: add(0)
        case .creating: add(1)
        case .running: add(2)
        case .draining: add(3)
        case .finished: add(4)
        case .failed: add(5)
        }
        if let current = machine.currentInstance { add(machine.nextInstance - current) }
        add(machine.configuration.color == nil)
        add(machine.configuration.rateControl == .averageBitRate(SessionWorld.bitRates[0]))
        add(machine.encoder?.identity == nil)
        add(machine.encoder?.identity == simulation.world.identity(of: 0))
        add(machine.statistics.acceptedFrames == 0)
        add(machine.isConsumerSlow)
        add(machine.refreshReason)
        add(machine.pendingSwitch == nil)
        if let change = machine.pendingSwitch {
            add(change.from == simulation.world.identity(of: 0))
            add(change.refresh)
            add(change.failures.count)
            add(change.repeatedFrames)
        }
        add(machine.finishRequested)
        add(now - simulation.world.tick(machine.lastProgress))
        add(machine.attempts)
        add(machine.work, machine)
        add(machine.window, simulation)
        add(machine.assembler, simulation)
        add(time: machine.lastAcceptedTime, simulation)
        add(machine.waiting) { state, frame in
            state.add(time: frame.frame.presentationTime, simulation)
            state.add(frame.frame.options.forceKeyFrame)
            state.add(call: frame.waiter, simulation)
        }
        add(machine.lastVerdict == nil)
        add(call: machine.startWaiter, simulation)
        add(machine.updateInProgress == nil)
        if let update = machine.updateInProgress {
            add(call: update.waiter, simulation)
            add(update.previous.rateControl == .averageBitRate(SessionWorld.bitRates[0]))
        }
        add(machine.waitingUpdates) { state, waiting in
            state.add(call: waiting.waiter, simulation)
            state.add(waiting.update.bitRate.map(SessionWorld.index) ?? -1)
        }
        add(machine.flushes) { state, flush in
            state.add(call: flush.waiter, simulation)
            state.add(Int(flush.end - machine.window.firstNumber))
        }
        add(machine.finishWaiters) { $0.add(call: $1, simulation) }
    }

    private mutating func add(_ attempts: CandidateAttempts) {
        add(attempts.candidate)
        add(attempts.failedCreations)
        add(attempts.failedFrames)
        add(attempts.missedDeadlines)
    }

    private mutating func add(_ work: SessionMachine.InstanceWork, _ machine: SessionMachine) {
        add(work.framesAtInstance)
        add(work.isFull)
        add(work.framesDone - work.framesCoded)
        add(work.hasKeyFrame)
        add(work.hasProduced)
        add(work.format == nil)
        add(work.maximumDelay == .max)
    }

    private mutating func add(_ window: FrameWindow, _ simulation: SessionSimulation) {
        add(Int(window.highestCoded - window.firstNumber))
        add(window.entries) { state, entry in
            state.add(time: entry.presentationTime, simulation)
            state.add(entry.options.forceKeyFrame)
            state.add(entry.picture == nil)
            state.add(entry.isCoded)
        }
        add(window.coded) { state, frame in
            state.add(Int(frame.number - window.firstNumber))
            state.add(frame.isKeyFrame)
            state.add(frame.isDropped)
        }
    }

    private mutating func add(_ assembler: SampleAssembler?, _ simulation: SessionSimulation) {
        guard let assembler else { return add(-1) }
        add(assembler.reorderDepth)
        add(assembler.decodeTimes.next == nil)
        add(assembler.decodeTimes.next ?? []) { $0.add(time: $1, simulation) }
        add(Int(assembler.lastFormat?.parameterSets.first?.first ?? 9))
    }

    // MARK: - The encoder and the promise

    private mutating func add(_ encoder: ModelEncoder?, _ simulation: SessionSimulation) {
        guard let encoder else { return add(-1) }
        let first = simulation.machine.window.firstNumber
        add(simulation.machine.nextInstance - encoder.id)
        add(encoder.candidate)
        add(encoder.commands) { state, command in
            switch command {
            case .create: state.add(-1)
            case .update: state.add(-2)
            case .drain: state.add(-3)
            case .encode(let frame): state.add(frame, from: first)
            }
        }
        add(encoder.held) { $0.add($1, from: first) }
        add(encoder.isHeadCoded)
        add(encoder.group) { $0.add(Int($1 - first)) }
        add(encoder.hasKey)
        // Which of the frames that are out came last makes no difference.
        add(encoder.lastCoded.map { Int(max($0 - first, -1)) } ?? -2)
        add(encoder.expected.map { Int($0 - first) } ?? -1)
        add(encoder.delay)
        add(encoder.isDisorderly)
    }

    private mutating func add(_ frame: ModelEncoder.Frame, from first: Int64) {
        add(Int(frame.number - first))
        add(frame.isForced)
    }

    private mutating func add(_ promise: SessionPromise, _ simulation: SessionSimulation) {
        add(promise.open) { state, call in
            switch call.kind {
            case .start: state.add(0)
            case .encode(let time): state.add(1, Int(time - promise.lastTime))
            case .flush(let until): state.add(2, Int(max(until - promise.lastTime, -100)))
            case .finish: state.add(3)
            case .update(let rate): state.add(4, SessionWorld.index(of: rate))
            }
        }
        for frames in [promise.requests, promise.pending] {
            add(frames) { state, frame in
                state.add(Int(frame.time - promise.lastTime))
                state.add(frame.isForced)
                state.add(frame.isTaken)
            }
        }
        add(promise.lastTime < 0)
        add(Int(promise.lastTime - promise.lastAcceptedTime))
        add(promise.isFinishCalled)
        add(promise.owed)
        add(promise.change?.from ?? -1)
        add(promise.change?.refresh)
        add(promise.change?.failures ?? -1)
        add(promise.repeatedFrames)
        add(promise.isConsumerSlow)
        add(SessionWorld.index(of: promise.bitRate))
        add(promise.bitRateInProgress.map(SessionWorld.index) ?? -1)
        switch promise.end {
        case nil: add(0)
        case .finished?: add(1)
        case .failed?: add(2)
        case .cancelled?: add(3)
        }
        add(promise.statistics.acceptedFrames == 0)
        add(time: promise.lastDecodeTime, simulation)
        add(Int(promise.lastFormat?.parameterSets.first?.first ?? 9))
        add(promise.candidate)
        add(promise.failedCreations)
        add(promise.failedFrames)
        add(promise.missedDeadlines)
        add(promise.lastCreated ?? -1)
        add(promise.lastCreatedInstance.map { promise.instances - $0 } ?? -1)
        add(promise.hasBegun)
        add(promise.hasProduced)
        add(promise.candidatesLeft)
        add(promise.hasGivenUp)
        add(simulation.clock - promise.lastProgress)
    }

    // MARK: - Values

    private mutating func add(_ value: Int) {
        // What is far away stays apart from what is near: nothing that counts is farther than that after a few inputs.
        bytes.append(UInt8(truncatingIfNeeded: max(-128, min(127, value))))
    }

    private mutating func add(_ reason: RefreshReason?) {
        add(reason.flatMap(RefreshReason.allCases.firstIndex) ?? -1)
    }

    private mutating func add(_ value: Int, _ other: Int) {
        add(value)
        add(other)
    }

    private mutating func add(_ value: Bool) { bytes.append(value ? 1 : 0) }

    private mutating func add<Element>(_ elements: [Element], _ write: (inout SessionState, Element) -> Void) {
        add(elements.count)
        for element in elements { write(&self, element) }
    }

    private mutating func add(call: UInt64?, _ simulation: SessionSimulation) {
        add(call.map { id in simulation.promise.open.firstIndex { $0.id == id } ?? -2 } ?? -1)
    }

    private mutating func add(time: MediaTime?, _ simulation: SessionSimulation) {
        guard let time else { return add(127) }
        add(Int(time.converted(to: 30).value - simulation.promise.lastTime))
    }
}

extension SessionWorld {
    static func index(of bitRate: Int) -> Int { bitRates.firstIndex(of: bitRate) ?? 2 }
}
