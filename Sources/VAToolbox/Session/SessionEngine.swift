// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Synchronization

/// Brings inputs from any thread to the engine, in order, without blocking the thread that posts them.
final class SessionMailbox: Sendable {
    private struct State {
        var inputs: [SessionMachine.Input] = []
        weak var engine: SessionEngine?
    }

    private let state = Mutex(State())

    func connect(_ engine: SessionEngine) { state.withLock { $0.engine = engine } }

    /// Posts an input. It is dropped when the engine is gone, as may be when a lost call into an encoder returns.
    func post(_ input: SessionMachine.Input) {
        let engine = state.withLock { state -> SessionEngine? in
            guard let engine = state.engine else { return nil }
            state.inputs.append(input)
            return state.inputs.count == 1 ? engine : nil
        }
        if let engine { Task.detached { await engine.handleMail() } }
    }

    func takeAll() -> [SessionMachine.Input] {
        state.withLock { state in
            defer { state.inputs = [] }
            return state.inputs
        }
    }
}

/// Runs a session's machine and carries out its actions. None of them blocks.
actor SessionEngine {
    private(set) var machine: SessionMachine
    private let factories: [any EncoderFactory]
    private let mailbox: SessionMailbox
    private let queue: SampleQueue
    private let report: @Sendable (SessionEvent?) -> Void
    /// `nil` in a program without a metrics system.
    private var metrics: SessionMetrics?

    private var instances: [SessionMachine.InstanceID: EncoderInstance] = [:]
    /// Closed, and perhaps not released yet; without those that hang.
    private var closing: [EncoderInstance] = []
    private var suspended: [SessionMachine.WaiterID: CheckedContinuation<Outcome, Never>] = [:]
    private var nextWaiter: SessionMachine.WaiterID = 0
    private var watchdog: (task: Task<Void, Never>, deadline: SessionMachine.Instant)?

    typealias Outcome = Result<FrameDisposition, MediaError>

    /// - Parameter report: Takes the session's events; `nil` after the last one, perhaps more than once.
    init(
        machine: SessionMachine,
        mailbox: SessionMailbox,
        queue: SampleQueue,
        metrics: SessionMetrics? = SessionMetrics(),
        report: @escaping @Sendable (SessionEvent?) -> Void
    ) {
        self.machine = machine
        factories = machine.selection.candidates.map(\.factory)
        self.mailbox = mailbox
        self.queue = queue
        self.report = report
        self.metrics = metrics
    }

    deinit {
        watchdog?.task.cancel()
        for instance in instances.values { instance.close(isHung: false) }
    }

    var statistics: SessionStatistics { machine.statistics }

    /// Gives the machine an input that a caller waits for, and waits until the machine answers.
    func call(
        _ input: sending (SessionMachine.WaiterID) -> SessionMachine.Input
    ) async throws(MediaError) -> FrameDisposition {
        handleMail()  // what the caller posted before must not come after
        let id = nextWaiter
        nextWaiter += 1
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                suspended[id] = continuation
                handle(input(id))
            }
        } onCancel: {
            mailbox.post(.cancelWaiter(id))
        }
        return try outcome.get()
    }

    func handleMail() {
        for input in mailbox.takeAll() { handle(input) }
    }

    private func handle(_ input: SessionMachine.Input) {
        step(input)
        // Asked each time: that the consumer has caught up may be old news when it is handled.
        if !machine.isConsumerSlow, queue.isSlow { step(.consumer(isSlow: true)) }
        if machine.isOver { report(nil) }
        armWatchdog()
    }

    private func step(_ input: SessionMachine.Input) {
        let now = SessionMachine.Instant.now
        let actions = machine.handle(input, at: now)
        metrics?.note(actions, machine.statistics, inFlight: machine.window.count, at: now)
        perform(actions)
    }

    private func perform(_ actions: [SessionMachine.Action]) {
        for action in actions {
            switch action {
            case .create(let id, let candidate, let configuration, let maximumReorderDepth):
                create(id, factories[candidate], configuration, maximumReorderDepth)
            case .submit(let id, let frame): instances[id]?.send(.encode(frame))
            case .update(let id, let configuration): instances[id]?.send(.update(configuration))
            case .drain(let id): instances[id]?.send(.drain)
            case .close(let id, let isHung): close(id, isHung: isHung)
            case .emit(let samples): queue.append(samples)
            case .resume(let id, let outcome): suspended.removeValue(forKey: id)?.resume(returning: outcome)
            case .report(let event): report(event)
            case .tell(let candidate, let outcome): machine.selection.candidates[candidate].outcome(outcome)
            case .endSamples(let end): queue.end(end)
            }
        }
    }

    private func close(_ id: SessionMachine.InstanceID, isHung: Bool) {
        guard let instance = instances.removeValue(forKey: id) else { return }
        instance.close(isHung: isHung)
        closing.removeAll { $0.isReleased }
        if !isHung { closing.append(instance) }
    }

    /// Waits until the encoders that were closed are released, each as long as a frame may take.
    func waitForRelease() async {
        let limit = machine.options.limits.frameDeadline
        while let instance = closing.popLast() { await instance.waitForRelease(atMost: limit) }
    }

    private func create(
        _ id: SessionMachine.InstanceID,
        _ factory: any EncoderFactory,
        _ configuration: EncoderConfiguration,
        _ maximumReorderDepth: Int?
    ) {
        let mailbox = mailbox
        let instance = EncoderInstance { mailbox.post(.instance(id, $0)) }
        instances[id] = instance
        instance.start(factory: factory, configuration: configuration, maximumReorderDepth: maximumReorderDepth)
    }

    /// Keeps one task asleep until the machine's deadline; it wakes at a deadline that may have moved on meanwhile.
    private func armWatchdog() {
        guard let deadline = machine.deadline else { return }
        if let watchdog {
            guard deadline < watchdog.deadline else { return }
            watchdog.task.cancel()
        }
        let task = Task { [weak self] in
            do { try await Task.sleep(until: deadline, clock: .suspending) } catch { return }
            await self?.deadlinePassed()
        }
        watchdog = (task, deadline)
    }

    private func deadlinePassed() {
        watchdog = nil
        handleMail()
        handle(.clock)
    }
}
