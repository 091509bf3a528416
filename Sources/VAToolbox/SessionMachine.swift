// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

/// The state of a session as a pure value: inputs go in, actions come out, nothing happens here.
///
/// Everything that the contract of a session promises is decided in this type: what is accepted and when, in which
/// groups samples leave, what is encoded again when an encoder fails, and when the session gives up. Time comes in with
/// every input, so tests need no clock.
struct SessionMachine {
    typealias Instant = ContinuousClock.Instant
    /// Names a suspended call of the session's user.
    typealias WaiterID = UInt64
    /// Names one created encoder; rises with each creation.
    typealias InstanceID = Int

    let selection: EncoderSelection
    let options: SessionOptions

    private(set) var configuration: EncoderConfiguration
    private(set) var phase = Phase.new
    /// The encoder in use, or the last one.
    private(set) var encoder: EncoderDescription?
    private(set) var statistics = SessionStatistics()
    private(set) var window = FrameWindow()
    private(set) var waiting: [WaitingFrame] = []

    private var candidate = 0
    private var nextInstance = 0
    private var failedCreations = 0
    private var failedFrames = 0
    private var lastFailure: MediaError?

    /// Frames that the instance's thread has not returned from yet, and outputs of the instance so far.
    private var framesAtInstance = 0
    private var framesDone = 0
    private var framesCoded = 0
    private var instanceConfiguration: EncoderConfiguration?
    private var updateInProgress: (waiter: WaiterID?, previous: EncoderConfiguration)?
    private var waitingUpdates: [(update: EncoderUpdate, waiter: WaiterID)] = []

    private var consumerIsSlow = false
    private var startWaiter: WaiterID?
    private var flushWaiters: [WaiterID] = []
    private var finishWaiters: [WaiterID] = []
    private var refreshRequested = false
    private var finishRequested = false

    private var reorderDepth: Int?
    private var decodeTimes: DecodeTimes?
    private var lastAcceptedTime: MediaTime?
    private var lastForcedKeyFrame: MediaTime?
    private var currentFormat: FormatDescription?

    private var lastProgress: Instant?
    private var now: Instant
    private var actions: [Action] = []

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
    }

    /// Takes an input and says what to do.
    mutating func handle(_ input: Input, at time: Instant) -> [Action] {
        now = max(now, time)
        actions = []
        switch input {
        case .start(let waiter): start(waiter)
        case .encode(let frame, let token, let waiter): encode(frame, token, waiter)
        case .flush(let waiter): flush(waiter)
        case .finish(let waiter): finish(waiter)
        case .update(let update, let waiter): self.update(update, waiter)
        case .refresh: if !isOver { refreshRequested = true }
        case .cancel: end(with: MediaError(.cancelled, "the session was cancelled"))
        case .cancelWaiter(let waiter): cancel(waiter)
        case .consumerIsSlow: consumerIsSlow = true
        case .consumerCaughtUp: consumerIsSlow = false
        case .instance(let id, let event): if id == currentInstance { instance(event) }
        case .clock: checkDeadline()
        }
        advance()
        return actions
    }

    /// When the encoder must have made progress; `nil` if it has nothing to do.
    var deadline: Instant? {
        guard let lastProgress, hasWork else { return nil }
        if case .creating = phase { return lastProgress + options.limits.creationDeadline }
        return lastProgress + options.limits.frameDeadline
    }

    /// Whether the session has ended, well or not.
    var isOver: Bool {
        switch phase {
        case .finished, .failed: true
        case .new, .creating, .running, .draining: false
        }
    }

    private var currentInstance: InstanceID? {
        switch phase {
        case .creating(let id), .running(let id), .draining(let id): id
        case .new, .finished, .failed: nil
        }
    }

    private var hasWork: Bool {
        switch phase {
        case .creating, .draining: true
        case .running:
            framesAtInstance > 0 || updateInProgress != nil
                || framesDone - framesCoded > (encoder?.properties.maximumDelay ?? .max)
        case .new, .finished, .failed: false
        }
    }
}

// MARK: - Calls of the user

extension SessionMachine {
    private mutating func start(_ waiter: WaiterID) {
        guard case .new = phase else { return resume(waiter, .failure(Self.stateError("started twice"))) }
        startWaiter = waiter
        create()
    }

    private mutating func encode(_ frame: EncoderFrame, _ token: (any Sendable)?, _ waiter: WaiterID) {
        if let error = refusal(of: frame) { return resume(waiter, .failure(error)) }
        adoptPictureDescription(of: frame.buffer)
        let request = WaitingFrame(frame: frame, token: token, waiter: options.realTime == nil ? waiter : nil)
        if waiting.isEmpty, canAccept {
            accept(request)
            return resume(waiter, .success(.accepted))
        }
        guard let realTime = options.realTime else { return waiting.append(request) }
        if waiting.count < realTime.maximumWaiting {
            waiting.append(request)
            return resume(waiter, .success(.waiting))
        }
        switch realTime.drop {
        case .newest:
            drop(request)
            resume(waiter, .success(.dropped))
        case .oldest:
            drop(waiting.removeFirst())
            waiting.append(request)
            resume(waiter, .success(.waiting))
        }
    }

    private func refusal(of frame: EncoderFrame) -> MediaError? {
        if let error = callError { return error }
        if finishRequested { return Self.stateError("finished; it takes no more frames") }
        let time = frame.presentationTime
        guard time.isValid else {
            return MediaError(.invalidArgument, "the presentation time is invalid", given: "\(time)")
        }
        if let last = waiting.last?.frame.presentationTime ?? lastAcceptedTime, time <= last {
            return MediaError(
                .invalidArgument,
                "presentation times must increase",
                given: "\(time)",
                allowed: "above \(last)"
            )
        }
        if let quantizer = frame.options.quantizer, !(0...51).contains(quantizer) {
            return MediaError(
                .invalidArgument,
                "quantizer is out of range",
                given: "\(quantizer)",
                allowed: "0...51"
            )
        }
        guard frame.buffer.isMapped else {
            return MediaError(
                .unsupported,
                "the encoder needs pictures that the CPU can reach",
                given: frame.buffer.storage.name,
                allowed: "owned, caller's or shared memory"
            )
        }
        return nil
    }

    /// What the configuration leaves to the first picture is fixed by it; the encoder, which has no frame yet, is made
    /// anew if that changes anything.
    private mutating func adoptPictureDescription(of buffer: PixelBuffer) {
        guard statistics.acceptedFrames == 0, waiting.isEmpty else { return }
        let before = configuration
        if configuration.color == nil { configuration.color = buffer.color }
        if configuration.pixelAspectRatio == nil {
            let sameSize = (buffer.width, buffer.height) == (configuration.width, configuration.height)
            configuration.pixelAspectRatio = sameSize ? buffer.pixelAspectRatio : .one
        }
        guard
            before.color ?? .unspecified != configuration.color ?? .unspecified
                || before.pixelAspectRatio ?? .one != configuration.pixelAspectRatio ?? .one
        else { return }
        refreshRequested = true
    }

    private mutating func flush(_ waiter: WaiterID) {
        if let error = callError { return resume(waiter, .failure(error)) }
        flushWaiters.append(waiter)
    }

    private mutating func finish(_ waiter: WaiterID) {
        if case .finished = phase { return resume(waiter, .success(.accepted)) }
        if let error = callError { return resume(waiter, .failure(error)) }
        finishRequested = true
        finishWaiters.append(waiter)
        if options.realTime == nil { failWaitingFrames(Self.stateError("finished; it takes no more frames")) }
    }

    private mutating func update(_ update: EncoderUpdate, _ waiter: WaiterID) {
        if let error = callError { return resume(waiter, .failure(error)) }
        waitingUpdates.append((update, waiter))
    }

    private mutating func cancel(_ waiter: WaiterID) {
        let error = MediaError(.cancelled, "the call was cancelled")
        if let index = waiting.firstIndex(where: { $0.waiter == waiter }) {
            waiting.remove(at: index)
            return resume(waiter, .failure(error))
        }
        if startWaiter == waiter { return end(with: error) }
        let before = suspendedCalls.count
        flushWaiters.removeAll { $0 == waiter }
        finishWaiters.removeAll { $0 == waiter }
        waitingUpdates.removeAll { $0.waiter == waiter }
        if updateInProgress?.waiter == waiter { updateInProgress?.waiter = nil }
        if suspendedCalls.count < before { resume(waiter, .failure(error)) }
    }

    /// All suspended calls other than `encode`.
    private var suspendedCalls: [WaiterID] {
        [startWaiter, updateInProgress?.waiter].compactMap { $0 } + flushWaiters + finishWaiters
            + waitingUpdates.map(\.waiter)
    }

    private var callError: MediaError? {
        switch phase {
        case .finished: Self.stateError("finished")
        case .failed(let error): error
        case .new, .creating, .running, .draining: nil
        }
    }

    private static func stateError(_ state: String) -> MediaError {
        MediaError(.invalidState, "the session is \(state)")
    }
}

// MARK: - Accepting frames

extension SessionMachine {
    private var canAccept: Bool {
        guard case .running = phase, !consumerIsSlow, !isDrainWanted, updateInProgress == nil else { return false }
        return framesAtInstance <= options.limits.framesAhead
    }

    private var isDrainWanted: Bool { refreshRequested || finishRequested || !flushWaiters.isEmpty }

    private mutating func accept(_ request: WaitingFrame) {
        var frame = request.frame
        frame.number = window.nextNumber
        if mustBeKeyFrame(frame) {
            frame.options.forceKeyFrame = true
        }
        if frame.options.forceKeyFrame || lastForcedKeyFrame == nil { lastForcedKeyFrame = frame.presentationTime }
        lastAcceptedTime = frame.presentationTime
        statistics.acceptedFrames += 1
        window.append(frame, token: request.token)
        if case .running(let id) = phase { submit(frame, to: id) }
    }

    /// With a variable frame rate no number of frames stands for a duration, so the session forces key frames by time.
    private func mustBeKeyFrame(_ frame: EncoderFrame) -> Bool {
        guard configuration.isFrameRateVariable, let interval = configuration.keyFrameInterval.duration,
            let last = lastForcedKeyFrame
        else { return false }
        return frame.presentationTime - last >= interval
    }

    private mutating func submit(_ frame: EncoderFrame, to id: InstanceID) {
        if !hasWork { lastProgress = now }
        framesAtInstance += 1
        actions.append(.submit(id, frame))
    }

    private mutating func drop(_ request: WaitingFrame) {
        statistics.droppedFrames += 1
        actions.append(.report(.frameDropped(presentationTime: request.frame.presentationTime)))
    }

    /// In real-time mode waiting frames are taken from the caller's view, so a flush covers them.
    private mutating func acceptAllWaiting() {
        let requests = waiting
        waiting = []
        requests.forEach { accept($0) }
    }

    private mutating func failWaitingFrames(_ error: MediaError) {
        let requests = waiting
        waiting = []
        for request in requests {
            if let waiter = request.waiter { resume(waiter, .failure(error)) } else { drop(request) }
        }
    }
}

// MARK: - The encoder at work

extension SessionMachine {
    private mutating func create() {
        guard selection.candidates.indices.contains(candidate) else {
            return end(with: lastFailure ?? selection.emptyError)
        }
        let id = nextInstance
        nextInstance += 1
        framesAtInstance = 0
        framesDone = 0
        framesCoded = 0
        refreshRequested = false
        phase = .creating(id)
        lastProgress = now
        instanceConfiguration = configuration
        actions.append(
            .create(id, candidate: candidate, configuration, maximumReorderDepth: reorderDepth)
        )
    }

    private mutating func instance(_ event: InstanceEvent) {
        lastProgress = now
        switch event {
        case .created(let properties): created(properties)
        case .frameDone:
            framesAtInstance -= 1
            framesDone += 1
        case .output(.coded(let frame)): take(frame)
        case .output(.failed(let error)), .failed(let error): fail(error)
        case .updated(let done): updated(done)
        case .updateRefused(let error): updateRefused(error)
        case .drained: drained()
        }
    }

    private mutating func created(_ properties: EncoderProperties) {
        guard case .creating(let id) = phase else { return }
        if let depth = reorderDepth, properties.reorderDepth > depth {
            return fail(
                MediaError(
                    .unsupported,
                    "the encoder reorders more frames than the session's decode times allow",
                    given: "\(properties.reorderDepth)",
                    allowed: "at most \(depth)"
                )
            )
        }
        failedCreations = 0
        statistics.createdEncoders += 1
        phase = .running(id)
        if reorderDepth == nil || statistics.acceptedFrames == 0 {
            reorderDepth = properties.reorderDepth
            decodeTimes = DecodeTimes(depth: properties.reorderDepth, frameRate: configuration.frameRate)
        }
        describeEncoder(properties)
        if let waiter = startWaiter {
            startWaiter = nil
            resume(waiter, .success(.accepted))
        }
        statistics.repeatedFrames += window.count
        for frame in window.frames { submit(frame, to: id) }
        if configuration != instanceConfiguration, !refreshRequested { sendUpdate() } else { updated(true) }
    }

    private mutating func describeEncoder(_ properties: EncoderProperties) {
        let chosen = selection.candidates[candidate]
        let previous = encoder?.identity
        var reason = chosen.reason
        if candidate > 0, let lastFailure { reason += "; before it: \(lastFailure)" }
        let description = EncoderDescription(
            identity: chosen.identity,
            properties: properties,
            reason: reason,
            rejected: selection.rejected
        )
        encoder = description
        if let previous, previous != chosen.identity, let lastFailure {
            actions.append(.report(.encoderChanged(from: previous, to: chosen.identity, lastFailure)))
        }
        actions.append(.report(.encoderCreated(description)))
        for adjustment in properties.adjustments { actions.append(.report(.adjusted(adjustment))) }
    }

    private mutating func take(_ frame: CodedFrame) {
        if frame.data.count == 0, !frame.isDropped {
            return fail(MediaError(.frameFailed, "the encoder returned no data", given: "frame \(frame.number)"))
        }
        if framesCoded == 0, !frame.isKeyFrame, !frame.isDropped {
            return fail(MediaError(.frameFailed, "the first frame of an encoder is no key frame"))
        }
        framesCoded += 1
        do {
            try window.take(frame)
            if let group = window.completeGroup { try emit(group) }
        } catch {
            fail(error)
        }
    }

    private mutating func emit(_ group: FrameWindow.Group) throws(MediaError) {
        let presentationTimes = group.map(\.entry.frame.presentationTime).sorted()
        var decodeTimes = decodeTimes
        let times = decodeTimes?.assign(presentationTimes: presentationTimes) ?? []
        var format = currentFormat
        var samples: [SampleBuffer] = []
        samples.reserveCapacity(group.count)
        for (member, decodeTime) in zip(group, times) {
            samples.append(try sample(member.entry, member.coded, decodeTime, &format))
        }
        window.removeCompleteGroup()
        self.decodeTimes = decodeTimes
        currentFormat = format
        failedFrames = 0
        statistics.codedFrames += samples.count
        statistics.codedBytes += samples.reduce(0) { $0 + $1.data.count }
        actions.append(.emit(samples))
    }

    private mutating func sample(
        _ entry: FrameWindow.Entry,
        _ coded: CodedFrame,
        _ decodeTime: MediaTime,
        _ lastFormat: inout FormatDescription?
    ) throws(MediaError) -> SampleBuffer {
        let frame = entry.frame
        if let format = coded.formatDescription { encoder?.properties.formatDescription = format }
        guard decodeTime <= frame.presentationTime, let format = encoder?.properties.formatDescription else {
            throw MediaError(
                .frameFailed,
                "the encoder reordered more frames than it said",
                given: "frame \(frame.number) at \(frame.presentationTime)",
                allowed: "at or after \(decodeTime)"
            )
        }
        let changed = lastFormat != format
        lastFormat = format
        return SampleBuffer(
            data: coded.data,
            presentationTime: frame.presentationTime,
            decodeTime: decodeTime,
            duration: frame.duration,
            isKeyFrame: coded.isKeyFrame,
            isReference: coded.isReference,
            isDropped: coded.isDropped,
            formatDescription: format,
            formatDescriptionChanged: changed,
            token: entry.token
        )
    }

    private mutating func drained() {
        guard case .draining(let id) = phase else { return }
        guard window.isEmpty else {
            return fail(
                MediaError(.frameFailed, "the encoder finished without returning \(window.uncodedCount) of its frames")
            )
        }
        phase = .running(id)
    }
}

// MARK: - Updates

extension SessionMachine {
    private mutating func startNextUpdate() {
        guard updateInProgress == nil, !waitingUpdates.isEmpty, !isOver else { return }
        let (update, waiter) = waitingUpdates.removeFirst()
        do {
            let codec = selection.candidates.indices.contains(candidate) ? selection.candidates[candidate].codec : .h264
            let changed = try configuration.applying(update).validated(for: codec).configuration
            updateInProgress = (waiter, configuration)
            configuration = changed
            sendUpdate()
        } catch {
            resume(waiter, .failure(error))
        }
    }

    private mutating func sendUpdate() {
        switch phase {
        case .running(let id), .draining(let id):
            if !hasWork { lastProgress = now }
            instanceConfiguration = configuration
            actions.append(.update(id, configuration))
        case .new, .creating, .finished, .failed: break  // the encoder to come gets the new configuration
        }
    }

    private mutating func updated(_ done: Bool) {
        if !done { refreshRequested = true }
        let waiter = updateInProgress?.waiter
        updateInProgress = nil
        if let waiter { resume(waiter, .success(.accepted)) }
    }

    private mutating func updateRefused(_ error: MediaError) {
        guard let update = updateInProgress else { return }
        configuration = update.previous
        instanceConfiguration = configuration
        updateInProgress = nil
        if let waiter = update.waiter { resume(waiter, .failure(error)) }
    }
}

// MARK: - Going on

extension SessionMachine {
    /// Does what the state now allows: update, drain, complete what was asked for, accept frames that wait.
    private mutating func advance() {
        startNextUpdate()
        if case .running(let id) = phase, isDrainWanted, updateInProgress == nil {
            if options.realTime != nil, finishRequested || !flushWaiters.isEmpty { acceptAllWaiting() }
            if window.isEmpty, framesAtInstance == 0 {
                completeDrain(id)
            } else {
                if !hasWork { lastProgress = now }
                phase = .draining(id)
                actions.append(.drain(id))
            }
        }
        while canAccept, !waiting.isEmpty {
            let request = waiting.removeFirst()
            accept(request)
            if let waiter = request.waiter { resume(waiter, .success(.accepted)) }
        }
    }

    /// Every accepted frame has left.
    private mutating func completeDrain(_ id: InstanceID) {
        let flushed = flushWaiters
        flushWaiters = []
        flushed.forEach { resume($0, .success(.accepted)) }
        if finishRequested {
            actions.append(.close(id, isHung: false))
            phase = .finished
            actions.append(.endSamples(nil))
            let finished = finishWaiters
            finishWaiters = []
            finished.forEach { resume($0, .success(.accepted)) }
            let late = waitingUpdates.map(\.waiter)
            waitingUpdates = []
            late.forEach { resume($0, .failure(Self.stateError("finished"))) }
        } else if refreshRequested {
            actions.append(.close(id, isHung: false))
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
        fail(MediaError(.deadlineExceeded, message, isPermanent: true), isHung: true)
    }

    /// The encoder is given up; the frames that have not left go to a new one of the same kind, or of the next.
    private mutating func fail(_ error: MediaError, isHung: Bool = false) {
        guard let id = currentInstance else { return }
        let wasCreating = if case .creating = phase { true } else { false }
        actions.append(.close(id, isHung: isHung))
        statistics.failedEncoders += 1
        actions.append(
            .report(.encoderFailed(selection.candidates[candidate].identity, error, framesToRepeat: window.count))
        )
        window.discardCoded()
        if wasCreating { failedCreations += 1 } else { failedFrames += 1 }
        let limits = options.limits
        let isExhausted =
            error.isPermanent || failedCreations >= limits.creationAttempts
            || failedFrames >= limits.consecutiveFailedFrames
        lastFailure = isExhausted && !error.isPermanent ? exhausted(error, wasCreating) : error
        if isExhausted {
            candidate += 1
            failedCreations = 0
            failedFrames = 0
        }
        create()
    }

    private func exhausted(_ error: MediaError, _ wasCreating: Bool) -> MediaError {
        var error = error
        let count = wasCreating ? "\(failedCreations) attempts to create it" : "\(failedFrames) failed frames in a row"
        error.message =
            "\(selection.candidates[candidate].identity) is given up after \(count); the last: \(error.message)"
        error.isPermanent = true
        return error
    }

    private mutating func end(with error: MediaError) {
        guard !isOver else { return }
        if let id = currentInstance { actions.append(.close(id, isHung: false)) }
        phase = .failed(error)
        window = FrameWindow()
        actions.append(.endSamples(error))
        failWaitingFrames(error)
        let waiters = suspendedCalls
        startWaiter = nil
        flushWaiters = []
        finishWaiters = []
        updateInProgress = nil
        waitingUpdates = []
        waiters.forEach { resume($0, .failure(error)) }
    }

    private mutating func resume(_ waiter: WaiterID, _ result: Result<FrameDisposition, MediaError>) {
        actions.append(.resume(waiter, result))
    }
}
