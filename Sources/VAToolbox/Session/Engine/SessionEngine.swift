// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Synchronization

/// Brings inputs from any thread to the engine, in order, without making the thread wait.
///
/// Whoever posts to an engine that is idle does its work at once, and what others post meanwhile; to wake another thread
/// for it would take longer than the work, which blocks nowhere.
final class SessionMailbox: Sendable {
    /// What the engine gets.
    enum Letter {
        case input(SessionMachine.Input)
        /// An input that a caller waits for.
        case call(SessionMachine.WaiterID, SessionMachine.Input, CheckedContinuation<SessionEngine.Outcome, Never>)
        /// The watchdog's time has come.
        case alarm
        /// A question about the engine.
        case question(@Sendable (SessionEngine) -> Void)
    }

    private struct State {
        var letters: [Letter] = []
        /// Whether a thread works for the engine.
        var isBusy = false
        weak var engine: SessionEngine?
    }

    private let state = Mutex(State())

    func connect(_ engine: SessionEngine) { state.withLock { $0.engine = engine } }

    /// Posts an input. It is dropped when the engine is gone, as may be when a lost call into an encoder returns.
    func post(_ input: SessionMachine.Input) { post(.input(input)) }

    /// Posts anything, and perhaps works for the engine.
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

    /// What was posted; `nil` if there is nothing, and then the work is over.
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

/// Runs a session's machine and carries out its actions. None of them blocks.
///
/// What is in here is used by one thread at a time: the one that the mailbox lets work.
final class SessionEngine: @unchecked Sendable {
    private var current: SessionMachine
    /// Wait until what the candidates were told is noted.
    private let settlers: [@Sendable () async -> Void]
    private let mailbox: SessionMailbox
    private let queue: SampleQueue
    private let report: @Sendable (SessionEvent?) -> Void
    private let nextWaiter = Atomic<SessionMachine.WaiterID>(0)
    private let releaseLimit: Duration
    /// How long an alarm is set to at most.
    private let longestWatch: Duration
    /// `nil` in a program without a metrics system.
    private var metrics: SessionMetrics?

    private let conversions = ConversionTrial()
    private var instances: [SessionMachine.InstanceID: EncoderInstance] = [:]
    /// Closed, and perhaps not released yet; without those that hang.
    private var closing: [EncoderInstance] = []
    private var suspended: [SessionMachine.WaiterID: CheckedContinuation<Outcome, Never>] = [:]
    private var watchdog: (alarm: Alarm, due: SessionMachine.Instant)?
    /// How long this process stood still, as far as alarms that came too late can tell.
    private var stoodStill = Duration.zero

    typealias Outcome = Result<FrameDisposition, MediaError>

    /// - Parameter report: Takes the session's events; `nil` after the last one, perhaps more than once.
    init(
        machine: SessionMachine,
        mailbox: SessionMailbox,
        queue: SampleQueue,
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

    /// The machine as it is when all is handled that was posted before.
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

    /// Gives the machine an input that a caller waits for, and waits until the machine answers.
    func call(
        _ input: sending (SessionMachine.WaiterID) -> SessionMachine.Input
    ) async throws(MediaError) -> FrameDisposition {
        let id = nextWaiter.add(1, ordering: .relaxed).oldValue
        let input = input(id)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                mailbox.post(.call(id, input, continuation))
                // A cancellation before that found no call.
                if Task.isCancelled { mailbox.post(.cancelWaiter(id)) }
            }
        } onCancel: {
            mailbox.post(.cancelWaiter(id))
        }
        return try outcome.get()
    }

    /// Handles what was posted until there is nothing more.
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
        // Asked each time: that the consumer has caught up may be old news when it is handled.
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

    /// Waits until the encoders that were closed are released, each as long as a frame may take.
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

    /// The time as the machine has it: without that in which this process stood still.
    private var now: SessionMachine.Instant { .now - stoodStill }

    /// Keeps one alarm set to the machine's deadline, or to before it; until it goes off the deadline may have moved on.
    private func armWatchdog() {
        if current.isOver { watchdog = nil }
        guard let deadline = current.deadline else { return }
        if let watchdog, deadline >= watchdog.due { return }
        let now = now
        let due = min(deadline, now + longestWatch)
        watchdog = (Alarm(after: due - now) { [mailbox] in mailbox.post(.alarm) }, due)
    }

    /// Clocks run on while a process is stopped (SIGSTOP, a container that is paused), but its encoders do not: a deadline
    /// that passes meanwhile says nothing of them. An alarm that is late by as long as alarms are set to tells of it.
    private func noteStandstill() {
        guard let watchdog else { return }
        let late = now - watchdog.due
        if late > longestWatch { stoodStill += late }
    }
}
