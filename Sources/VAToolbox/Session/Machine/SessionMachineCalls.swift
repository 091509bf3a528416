// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

// MARK: - Calls of the user

extension SessionMachine {
    mutating func start(_ waiter: WaiterID) {
        guard case .idle = phase else { return resume(waiter, .failure(Self.stateError("started twice"))) }
        startWaiter = waiter
        create()
    }

    mutating func encode(_ frame: EncoderFrame, _ token: (any Sendable)?, _ waiter: WaiterID) {
        if let error = callError ?? lateness ?? refusal(of: frame) { return resume(waiter, .failure(error)) }
        adoptPictureDescription(of: frame.buffer)
        let request = WaitingFrame(frame: frame, token: token, waiter: options.realTime == nil ? waiter : nil)
        if waiting.isEmpty, hasRoom(for: frame) {
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

    mutating func flush(_ waiter: WaiterID) {
        if let error = callError { return resume(waiter, .failure(error)) }
        let covered = options.realTime == nil ? 0 : waiting.count
        flushes.append(Flush(waiter: waiter, end: window.nextNumber + Int64(covered)))
    }

    mutating func finish(_ waiter: WaiterID) {
        if case .finished = phase { return resume(waiter, .success(.accepted)) }
        if let error = callError { return resume(waiter, .failure(error)) }
        finishRequested = true
        finishWaiters.append(waiter)
        if options.realTime == nil { failWaitingFrames(Self.finishedError) }
    }

    mutating func update(_ update: EncoderUpdate, _ waiter: WaiterID) {
        if let error = callError { return resume(waiter, .failure(error)) }
        waitingUpdates.append((update, waiter))
    }

    mutating func cancel(_ waiter: WaiterID) {
        let error = MediaError(.cancelled, "the call was cancelled")
        if startWaiter == waiter { return end(with: error, SamplesEnd.cancelled) }
        let before = waiting.count + suspendedCalls.count
        waiting.removeAll { $0.waiter == waiter }
        flushes.removeAll { $0.waiter == waiter }
        finishWaiters.removeAll { $0 == waiter }
        waitingUpdates.removeAll { $0.waiter == waiter }
        if updateInProgress?.waiter == waiter { updateInProgress?.waiter = nil }
        if waiting.count + suspendedCalls.count < before { resume(waiter, .failure(error)) }
    }

    /// All suspended calls except `encode`.
    var suspendedCalls: [WaiterID] {
        [startWaiter, updateInProgress?.waiter].compactMap { $0 } + flushes.map(\.waiter) + finishWaiters
            + waitingUpdates.map(\.waiter)
    }

    private var callError: MediaError? {
        switch phase {
        case .finished: Self.stateError("finished")
        case .failed(let error): error
        case .idle, .creating, .running, .draining: nil
        }
    }

    private var lateness: MediaError? { finishRequested ? Self.finishedError : nil }

    private static let finishedError = stateError("finished and accepts no more frames")

    private static func stateError(_ state: String) -> MediaError {
        MediaError(.invalidState, "the session is \(state)")
    }
}

// MARK: - Accepting frames

extension SessionMachine {
    /// The number of pictures that may be ahead if they are still in their files, where they take no memory.
    private static let fileFramesAhead = 15

    /// Returns whether a frame can be accepted now.
    ///
    /// After a frame has found no room, frames wait until the encoder has processed half of its queue, so that the
    /// caller is not woken for each frame. In prompt mode, frames do not wait longer than necessary.
    private mutating func hasRoom(for frame: EncoderFrame) -> Bool {
        guard case .running = phase, !isConsumerSlow, !isDrainWanted, updateInProgress == nil else { return false }
        var most = options.limits.framesAhead
        if !isPrompt, case .file = frame.buffer.storage { most = max(most, Self.fileFramesAhead) }
        if work.framesAtInstance > most { work.isFull = !isPrompt }
        if work.framesAtInstance <= (most + 1) / 2 { work.isFull = false }
        return work.framesAtInstance <= most && !work.isFull && !work.isOverdue
    }

    private mutating func accept(_ request: WaitingFrame) {
        var frame = request.frame
        frame.number = window.nextNumber
        if owesKeyFrame || mustBeKeyFrame(frame) { frame.options.forceKeyFrame = true }
        owesKeyFrame = false
        if frame.options.forceKeyFrame || lastForcedKeyFrame == nil { lastForcedKeyFrame = frame.presentationTime }
        lastAcceptedTime = frame.presentationTime
        statistics.acceptedFrames += 1
        reportLosses(of: frame.buffer)
        window.append(frame, token: request.token)
        if case .running(let id) = phase { submit(frame, to: id) }
    }

    mutating func submit(_ frame: EncoderFrame, to id: InstanceID) {
        noteWork()
        work.framesAtInstance += 1
        completeSwitch(at: frame)
        var frame = frame
        dropWishes(&frame.options)
        actions.append(.submit(id, frame))
    }

    /// With a variable frame rate, a duration does not correspond to a number of frames, so the session forces key
    /// frames by time; not with intra refresh, which has no periodic key frames.
    private func mustBeKeyFrame(_ frame: EncoderFrame) -> Bool {
        guard configuration.isFrameRateVariable, !configuration.usesIntraRefresh,
            let interval = configuration.keyFrameInterval.duration, let last = lastForcedKeyFrame
        else { return false }
        return frame.presentationTime - last >= interval
    }

    mutating func acceptWaiting() {
        while let next = waiting.first, hasRoom(for: next.frame) {
            let request = waiting.removeFirst()
            accept(request)
            if let waiter = request.waiter { resume(waiter, .success(.accepted)) }
        }
    }

    /// A flush covers frames that wait in real-time mode, because their calls have returned.
    mutating func acceptAllWaiting() {
        guard options.realTime != nil else { return }
        let requests = waiting
        waiting = []
        requests.forEach { accept($0) }
    }

    mutating func failWaitingFrames(_ error: MediaError) {
        let requests = waiting
        waiting = []
        for request in requests {
            if let waiter = request.waiter { resume(waiter, .failure(error)) } else { drop(request) }
        }
    }

    private mutating func drop(_ request: WaitingFrame) {
        statistics.droppedFrames += 1
        let time = request.frame.presentationTime
        actions.append(.report(.frameDropped(presentationTime: time, token: request.token)))
    }
}
