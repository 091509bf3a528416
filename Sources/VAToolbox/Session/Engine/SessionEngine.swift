// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Synchronization

/// Delivers inputs from any thread to the engine, in order, without blocking the sender.
///
/// The thread that posts to an idle engine runs the engine immediately, including what others post meanwhile. Waking
/// another thread would take longer than this work, which never blocks.
final class SessionMailbox: Sendable {
    /// A message to the engine.
    enum Letter {
        case input(SessionMachine.Input)
        /// An input with a caller that waits for the answer.
        case call(SessionMachine.WaiterID, SessionMachine.Input, CheckedContinuation<SessionEngine.Outcome, Never>)
        /// The deadline of the watchdog has passed.
        case alarm
        /// A query of the engine's state.
        case question(@Sendable (SessionEngine) -> Void)
    }

    private struct State {
        var letters: [Letter] = []
        /// Whether a thread is running the engine.
        var isBusy = false
        weak var engine: SessionEngine?
    }

    private let state = Mutex(State())

    func connect(_ engine: SessionEngine) { state.withLock { $0.engine = engine } }

    /// Posts an input. It is dropped if the engine no longer exists, for example when a hung call into an encoder
    /// returns.
    func post(_ input: SessionMachine.Input) { post(.input(input)) }

    /// Posts a letter, and runs the engine if it is idle.
    func post(_ letter: sending Letter) {
        let engine = state.withLock { state -> SessionEngine? in
            guard let engine = state.engine else { return nil }
            state.letters.append(letter)
            if state.isBusy { return nil }
            state.isBusy = true
            return engine
        }
        engine?.handleMail()
    }

    /// Returns the posted letters; `nil` if there are none, which ends the run.
    fileprivate func take() -> [Letter]? {
        state.withLock { state in
            if state.letters.isEmpty {
                state.isBusy = false
                return nil
            }
            defer { state.letters.removeAll(keepingCapacity: true) }
            return state.letters
        }
    }
}

/// Runs a session's machine and executes its actions. No action blocks.
///
/// One thread at a time uses this state: the one that runs the mailbox.
final class SessionEngine: @unchecked Sendable {
    private var current: SessionMachine
    /// Functions that wait until all outcomes are recorded with the candidates.
    private let settlers: [@Sendable () async -> Void]
    private let mailbox: SessionMailbox
    private let queue: SampleQueue<SampleBuffer>
    private let report: @Sendable (SessionEvent?) -> Void
    private let nextWaiter = Atomic<SessionMachine.WaiterID>(0)
    private let releaseLimit: Duration
    /// The longest time of an alarm.
    private let longestWatch: Duration
    /// `nil` in a program without a metrics system.
    private var metrics: SessionMetrics?

    private let conversions = ConversionTrial()
    private var instances: [SessionMachine.InstanceID: EncoderInstance] = [:]
    /// Closed encoders that may not be released yet, without those that hang.
    private var closing: [EncoderInstance] = []
    private var suspended: [SessionMachine.WaiterID: CheckedContinuation<Outcome, Never>] = [:]
    private var watchdog: (alarm: Alarm, due: SessionMachine.Instant)?
    /// The total time for which this process was stopped, as far as late alarms indicate it.
    private var stoodStill = Duration.zero

    typealias Outcome = Result<FrameDisposition, MediaError>

    /// - Parameter report: Receives the session's events; `nil` after the last one, possibly more than once.
    init(
        machine: SessionMachine,
        mailbox: SessionMailbox,
        queue: SampleQueue<SampleBuffer>,
        metrics: SessionMetrics? = SessionMetrics(),
        report: @escaping @Sendable (SessionEvent?) -> Void
    ) {
        current = machine
        releaseLimit = machine.options.limits.frameDeadline
        longestWatch = machine.options.limits.frameDeadline / 8
        settlers = machine.selection.candidates.map(\.settle)
        self.mailbox = mailbox
        self.queue = queue
        self.report = report
        self.metrics = metrics
    }

    deinit {
        for instance in instances.values { instance.close(isHung: false) }
    }

    /// The machine after all earlier letters are handled.
    var machine: SessionMachine {
        get async { await ask { $0.current } }
    }

    var statistics: SessionStatistics {
        get async { await ask { $0.current.statistics } }
    }

    private func ask<Answer: Sendable>(_ question: @escaping @Sendable (SessionEngine) -> Answer) async -> Answer {
        await withCheckedContinuation { continuation in
            mailbox.post(.question { continuation.resume(returning: question($0)) })
        }
    }

    /// Passes the machine an input with a caller, and waits until the machine answers.
    func call(
        _ input: sending (SessionMachine.WaiterID) -> SessionMachine.Input
    ) async throws(MediaError) -> FrameDisposition {
        let id = nextWaiter.add(1, ordering: .relaxed).oldValue
        let input = input(id)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                mailbox.post(.call(id, input, continuation))
                // A cancellation before this point found no call to cancel.
                if Task.isCancelled { mailbox.post(.cancelWaiter(id)) }
            }
        } onCancel: {
            mailbox.post(.cancelWaiter(id))
        }
        return try outcome.get()
    }

    /// Handles letters until none is left.
    fileprivate func handleMail() {
        while let letters = mailbox.take() {
            for letter in letters { handle(letter) }
        }
    }

    private func handle(_ letter: SessionMailbox.Letter) {
        noteStandstill()
        switch letter {
        case .input(let input): handle(input)
        case .call(let id, let input, let continuation):
            suspended[id] = continuation
            handle(input)
        case .alarm:
            watchdog = nil
            handle(.clock)
        case .question(let question): question(self)
        }
    }

    private func handle(_ input: SessionMachine.Input) {
        step(input)
        // Checked each time: the report that the consumer has caught up may be outdated when it is handled.
        if !current.isConsumerSlow, queue.isSlow { step(.consumer(isSlow: true)) }
        if current.isOver { report(nil) }
        armWatchdog()
    }

    private func step(_ input: SessionMachine.Input) {
        let now = now
        let actions = current.handle(input, at: now)
        metrics?.note(actions, current.statistics, inFlight: current.window.count, at: now)
        perform(actions)
    }

    private func perform(_ actions: [SessionMachine.Action]) {
        for action in actions {
            switch action {
            case .create(let id, let creation): create(id, creation)
            case .submit(let id, let frame): instances[id]?.send(.encode(frame))
            case .update(let id, let configuration): instances[id]?.send(.update(configuration))
            case .drain(let id): instances[id]?.send(.drain)
            case .close(let id, let isHung): close(id, isHung: isHung)
            case .emit(let samples): queue.append(samples)
            case .resume(let id, let outcome): suspended.removeValue(forKey: id)?.resume(returning: outcome)
            case .report(let event): report(event)
            case .tell(let candidate, let outcome): current.selection.candidates[candidate].outcome(outcome)
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

    /// Waits until all closed encoders are released, for each at most as long as a frame may take.
    func waitForRelease() async {
        for instance in await ask({ $0.closing }) { await instance.waitForRelease(atMost: releaseLimit) }
        for settle in settlers { await settle() }
    }

    private func create(_ id: SessionMachine.InstanceID, _ creation: SessionMachine.Creation) {
        let mailbox = mailbox
        let instance = EncoderInstance(conversions: conversions, isPrompt: current.isPrompt) {
            mailbox.post(.instance(id, $0))
        }
        instances[id] = instance
        instance.start(
            factory: current.selection.candidates[creation.candidate].factory,
            configuration: creation.configuration,
            maximumReorderDepth: creation.maximumReorderDepth,
            after: creation.pause
        )
    }

    /// The time of the machine: without the time for which this process was stopped.
    private var now: SessionMachine.Instant { .now - stoodStill }

    /// Keeps one alarm set at or before the machine's deadline, which may have moved on when the alarm goes off.
    private func armWatchdog() {
        if current.isOver { watchdog = nil }
        guard let deadline = current.deadline else { return }
        if let watchdog, deadline >= watchdog.due { return }
        let now = now
        let due = min(deadline, now + longestWatch)
        watchdog = (Alarm(after: due - now) { [mailbox] in mailbox.post(.alarm) }, due)
    }

    /// Clocks continue while a process is stopped (SIGSTOP, a paused container), but its encoders do not, so a deadline
    /// that passes meanwhile is not their fault. A process was stopped if an alarm is later than the longest time of an
    /// alarm.
    private func noteStandstill() {
        guard let watchdog else { return }
        let late = now - watchdog.due
        if late > longestWatch { stoodStill += late }
    }
}
