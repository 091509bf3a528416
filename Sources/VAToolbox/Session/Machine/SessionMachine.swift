// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

/// The state of a session as a pure value that maps inputs to actions and has no side effects.
///
/// This type decides everything that a session guarantees: which frames are accepted and when, in which groups samples
/// are delivered, what is encoded again when an encoder fails, and when the session gives up. Every input carries its
/// time, so tests need no clock.
struct SessionMachine {
    /// A clock that stops while the system is suspended, so that a suspend does not make an encoder late.
    typealias Instant = SuspendingClock.Instant
    /// Identifies a suspended call of the session's user.
    typealias WaiterID = UInt64
    /// Identifies a created encoder; increases with each creation.
    typealias InstanceID = Int

    var selection: EncoderSelection
    let options: SessionOptions

    var configuration: EncoderConfiguration
    var phase = Phase.idle
    /// The encoder in use, or the last one used.
    var encoder: EncoderDescription?
    var statistics = SessionStatistics()
    var window = FrameWindow()
    var waiting: [WaitingFrame] = []

    var attempts: CandidateAttempts
    var nextInstance = 0
    /// The reason why the previous candidate was given up.
    var lastVerdict: MediaError?
    /// All candidates that were given up, in order.
    var givenUp: [EncoderDescription.Rejection] = []
    /// The codec of the delivered samples; `nil` before the first one.
    var streamCodec: VideoCodec?
    var work = InstanceWork()
    var assembler: SampleAssembler?

    var updateInProgress: (waiter: WaiterID?, previous: EncoderConfiguration)?
    var waitingUpdates: [(update: EncoderUpdate, waiter: WaiterID)] = []
    var startWaiter: WaiterID?
    var flushes: [Flush] = []
    var finishWaiters: [WaiterID] = []
    /// The reason for replacing the encoder at the next group boundary; `nil` if it is not replaced.
    var refreshReason: RefreshReason?
    /// The encoder switch in progress, until the next encoder has its first frame.
    var pendingSwitch: PendingSwitch?
    var finishRequested = false

    var isConsumerSlow = false
    var lastAcceptedTime: MediaTime?
    var lastForcedKeyFrame: MediaTime?
    /// Whether a frame was lost that had to become a key frame: the next one takes its place.
    var owesKeyFrame = false
    /// The colour of the last accepted picture, and the attachments that were reported as lost.
    var lastColorimetry: Colorimetry?
    var reportedLosses: Set<EncoderOption> = []
    /// The reported adjustments of candidates for one codec.
    var reportedAdjustments: Set<Adjustment> = []
    /// The adjustments that encoders made at work, without their reasons.
    var adjustmentsAtWork: Set<Adjustment> = []

    private var now: Instant
    /// The time at which the encoder last returned something, or received work after being idle.
    var lastProgress: Instant
    var actions: [Action] = []

    /// - Parameter options: Validated options.
    init(
        configuration: EncoderConfiguration,
        selection: EncoderSelection,
        options: SessionOptions,
        now: Instant
    ) {
        self.configuration = configuration
        self.selection = selection
        self.options = options
        self.now = now
        lastProgress = now
        attempts = CandidateAttempts(limits: options.limits)
    }

    /// Handles an input and returns the actions to perform.
    mutating func handle(_ input: Input, at time: Instant) -> [Action] {
        now = max(now, time)
        actions = []
        switch input {
        case .start(let waiter): start(waiter)
        case .encode(let frame, let token, let waiter): encode(frame, token, waiter)
        case .flush(let waiter): flush(waiter)
        case .finish(let waiter): finish(waiter)
        case .update(let update, let waiter): self.update(update, waiter)
        case .refresh(let reason): refresh(because: reason)
        case .cancel: cancel()
        case .cancelWaiter(let waiter): cancel(waiter)
        case .consumer(let isSlow): isConsumerSlow = isSlow
        case .samplesAbandoned: end(with: Self.abandonment, SamplesEnd.cancelled)
        case .instance(let id, let event): if id == currentInstance { instance(event) }
        case .clock: checkDeadline()
        }
        advance()
        defer { actions = [] }
        return actions
    }

    /// The deadline for progress of the encoder; `nil` if it is idle.
    var deadline: Instant? {
        guard hasWork else { return nil }
        if case .creating = phase {
            let before = selection.candidates[attempts.candidate].preparation + creationPause
            return lastProgress + options.limits.creationDeadline + before
        }
        return lastProgress + options.limits.frameDeadline
    }

    /// The pause before the creation that is next or in progress.
    var creationPause: Duration { options.realTime == nil ? attempts.pauseBeforeCreation : .zero }

    /// Whether the session has ended, successfully or not.
    var isOver: Bool {
        switch phase {
        case .finished, .failed: true
        case .idle, .creating, .running, .draining: false
        }
    }

    var currentInstance: InstanceID? {
        switch phase {
        case .creating(let id), .running(let id), .draining(let id): id
        case .idle, .finished, .failed: nil
        }
    }

    /// Notes that the encoder is about to receive work: idle time does not count.
    mutating func noteWork() {
        if !hasWork { lastProgress = now }
    }

    mutating func noteProgress() { lastProgress = now }

    private var hasWork: Bool {
        switch phase {
        case .creating, .draining: true
        case .running: work.framesAtInstance > 0 || updateInProgress != nil || work.isOverdue
        case .idle, .finished, .failed: false
        }
    }

    private mutating func close(_ id: InstanceID, isHung: Bool = false) {
        phase = .idle
        actions.append(.close(id, isHung: isHung))
    }

    /// Reports an outcome to the current candidate; does nothing if all are given up.
    mutating func tell(_ outcome: CandidateOutcome) {
        guard selection.candidates.indices.contains(attempts.candidate) else { return }
        actions.append(.tell(candidate: attempts.candidate, outcome))
    }

    mutating func resume(_ waiter: WaiterID, _ result: Result<FrameDisposition, MediaError>) {
        actions.append(.resume(waiter, result))
    }
}

// MARK: - Progress

extension SessionMachine {
    /// Performs everything that the state allows, so that no further step is possible without another input.
    private mutating func advance() {
        completeFlushes()
        startNextUpdate()
        if case .running(let id) = phase, isDrainWanted, updateInProgress == nil {
            if isDrainForCaller { acceptAllWaiting() }
            if window.isEmpty, work.framesAtInstance == 0 {
                completeFlushes()
                completeDrain(id)
            } else {
                noteWork()
                phase = .draining(id)
                actions.append(.drain(id))
            }
        }
        acceptWaiting()
    }

    private var isDrainForCaller: Bool { finishRequested || !flushes.isEmpty }
    var isDrainWanted: Bool { refreshReason != nil || isDrainForCaller }
    /// Whether every frame is processed as soon as possible, rather than several together for less work.
    var isPrompt: Bool { options.realTime != nil || configuration.isLowLatency }

    private mutating func completeFlushes() {
        let first = window.firstNumber
        for flush in flushes where flush.end <= first { resume(flush.waiter, .success(.accepted)) }
        flushes.removeAll { $0.end <= first }
    }

    /// Ends a drain: every accepted frame was delivered and the encoder is idle.
    private mutating func completeDrain(_ id: InstanceID) {
        // An encoder that received no frame has not shown that it works.
        if work.hasProduced, finishRequested || refreshReason != nil { tell(.completed) }
        if finishRequested {
            tell(.left)
            close(id)
            phase = .finished
            actions.append(.endSamples(.finished))
            finishWaiters.forEach { resume($0, .success(.accepted)) }
            finishWaiters = []
        } else if refreshReason != nil {
            close(id)
            create()
        }
    }
}

// MARK: - Failure

extension SessionMachine {
    private mutating func checkDeadline() {
        guard let deadline, now >= deadline else { return }
        let message =
            if case .creating = phase { "the encoder was not ready in time" } else { "the encoder makes no progress" }
        // A new helper process may succeed where a stuck one did not; in this process, the same encoder would hang
        // again.
        let isPermanent = !selection.candidates[attempts.candidate].moveToHelper()
        let given =
            "\(work.framesAtInstance) frames submitted, \(work.framesDone - work.framesCoded) held by the encoder"
        fail(MediaError(.deadlineExceeded, message, given: given, isPermanent: isPermanent), isHung: true)
    }

    /// Gives up the encoder. The undelivered frames go to a new encoder of the same kind, or of the next candidate.
    mutating func fail(_ error: MediaError, isHung: Bool = false) {
        guard let id = currentInstance else { return }
        let candidate = selection.candidates[attempts.candidate]
        let identity = candidate.identity
        let error = error.diagnosed(on: candidate.facts, of: candidate.codec)
        let wasCreating = if case .creating = phase { true } else { false }
        close(id, isHung: isHung)
        statistics.failedEncoders += 1
        tell(.failed(error, whileCreating: wasCreating))
        actions.append(.report(.encoderFailed(identity, error, framesToRepeat: window.count)))
        noteForSwitch(EncoderFailure(encoder: identity, error: error, isInCreation: wasCreating))
        window.discardCoded()
        let failed = attempts.candidate
        if let verdict = attempts.failed(error, whileCreating: wasCreating, identity) {
            actions.append(.tell(candidate: failed, .left))
            lastVerdict = verdict
            givenUp.append(
                EncoderDescription.Rejection(
                    name: identity.description,
                    reason: verdict.message,
                    cause: verdict.cause,
                    remedies: verdict.remedies
                )
            )
        }
        guard window.isRepeatable else { return end(with: error, SamplesEnd.failed) }
        create()
    }

    private static let abandonment = MediaError(
        .cancelled,
        "the consumer of the session's samples has ended, perhaps because of an error of its own"
    )

    private mutating func cancel() {
        end(with: MediaError(.cancelled, "the session was cancelled"), SamplesEnd.cancelled)
    }

    /// Ends the session, with one error for the samples and for every suspended call.
    mutating func end(with error: MediaError, _ samplesEnd: (MediaError) -> SamplesEnd) {
        guard !isOver else { return }
        tell(.left)
        if let id = currentInstance { close(id) }
        let waiters = suspendedCalls
        phase = .failed(error)
        window = FrameWindow()
        startWaiter = nil
        flushes = []
        finishWaiters = []
        updateInProgress = nil
        waitingUpdates = []
        actions.append(.endSamples(samplesEnd(error)))
        failWaitingFrames(error)
        waiters.forEach { resume($0, .failure(error)) }
    }
}
