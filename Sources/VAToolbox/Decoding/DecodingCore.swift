// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Synchronization

/// The decoders of a ``DecompressionSession`` on a thread of its own, and the calls that wait for them.
///
/// Which samples another decoder has to decode again is up to ``DecodingWindow``; when a decoder is given up, up to
/// ``DecoderAttempts``. This actor carries it out. ``FrameDelivery`` passes on what decoders return.
actor DecodingCore {
    typealias Outcome = Result<Void, MediaError>

    /// A sample that waits, of a call or of ``enqueue(_:token:done:)``.
    private struct Waiting: Sendable {
        var id: UInt64
        var sample: SampleBuffer
        var isShown = true
        var token: (any Sendable)?
        /// Receives whether the sample was accepted.
        var done: @Sendable (Outcome) -> Void
    }

    private enum Phase {
        case running
        case finished
        case failed(MediaError)
    }

    /// A decoder at work.
    private struct Instance {
        let id: Int
        let decoder: any DecoderBackend
        let identity: DecoderIdentity
        /// Whether it can only continue at a random access point, because it was drained.
        var wasDrained = false
    }

    nonisolated let queue: SampleQueue<DecodedFrame>
    private nonisolated let executor = ThreadExecutor(name: "vt-decode")
    private nonisolated let isCancelled = Atomic(false)
    private nonisolated let lastID = Atomic<UInt64>(0)
    /// The samples that were submitted without waiting, until this actor takes them over.
    private nonisolated let arrivals = Mutex<[Waiting]>([])
    private nonisolated let report: @Sendable (DecompressionEvent?) -> Void
    private nonisolated let delivery: FrameDelivery
    /// Ends the call of the decoder, if there is one.
    private nonisolated let interruption = Mutex<(@Sendable () -> Void)?>(nil)
    private let options: DecompressionOptions
    private let candidates: [DecoderCandidate]
    /// What cannot be used, and the candidates that were given up, with the reasons.
    private let excluded: [DecoderDescription.Rejection]
    private var givenUp: [DecoderDescription.Rejection] = []
    /// The reason why the previous candidate was given up.
    private var lastVerdict: MediaError?
    private var instance: Instance?
    private var nextInstance = 0
    /// The format of the last decoder.
    private var lastFormat: FormatDescription
    /// The last sample that any decoder has accepted.
    private var lastSubmitted: Int64 = -1
    /// Checks and describes the samples if frames come in decoding order.
    private var order = DecodingOrder()
    private var phase = Phase.running
    private var waiting: [Waiting] = []
    private(set) var description: DecoderDescription?

    nonisolated var statistics: DecompressionStatistics { delivery.statistics }
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter report: Receives the session's events; `nil` after the last one.
    init(
        _ format: FormatDescription,
        _ selection: DecoderSelection,
        options: DecompressionOptions,
        report: @escaping @Sendable (DecompressionEvent?) -> Void
    ) {
        let owner = WeakReference<DecodingCore>()
        lastFormat = format
        candidates = selection.candidates.map { candidate in
            candidate.reportingStarvation { report(.starvation($0)) }
        }
        excluded = selection.rejected
        self.options = options
        self.report = report
        queue = SampleQueue(
            marks: ((options.waitingFrames + 1) / 2, options.waitingFrames - 1),
            byteCount: { _ in 1 },
            onCaughtUp: { owner.object.map { core in _ = Task { await core.acceptWaiting() } } },
            onAbandoned: { owner.object?.cancel() }
        )
        delivery = FrameDelivery(options: options, queue: queue, report: report)
        owner.object = self
    }
}

// MARK: - Calls

extension DecodingCore {
    /// Creates the first decoder.
    func start() throws(MediaError) {
        do {
            if options.order == .decoding { lastFormat = try order.format(for: lastFormat) }
            try create(for: lastFormat, repeating: 0)
        } catch {
            fail(error)
            throw error
        }
    }

    nonisolated func decode(
        _ sample: SampleBuffer,
        isShown: Bool,
        token: (any Sendable)?
    ) async throws(MediaError) {
        let id = lastID.add(1, ordering: .relaxed).newValue
        let outcome = await withTaskCancellationHandler {
            await wait(id, sample, isShown, token)
        } onCancel: {
            Task { await revoke(id) }
        }
        try outcome.get()
    }

    private func wait(
        _ id: UInt64,
        _ sample: SampleBuffer,
        _ isShown: Bool,
        _ token: (any Sendable)?
    ) async -> Outcome {
        await withCheckedContinuation { continuation in
            // A cancellation after this check is handled after this call.
            if Task.isCancelled { return continuation.resume(returning: .failure(Self.callCancellation)) }
            waiting.append(
                Waiting(id: id, sample: sample, isShown: isShown, token: token) { continuation.resume(returning: $0) }
            )
            acceptWaiting()
        }
    }

    private func revoke(_ id: UInt64) {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        waiting.remove(at: index).done(.failure(Self.callCancellation))
    }

    /// Accepts samples until the consumer is behind. After the end, all are refused.
    private func acceptWaiting() {
        while !waiting.isEmpty, isOver || !queue.isSlow {
            let call = waiting.removeFirst()
            do throws(MediaError) {
                try checkRunning()
                try accept(call)
                call.done(.success(()))
            } catch {
                call.done(.failure(error))
            }
        }
    }

    /// Submits a sample without waiting. Samples that follow each other quickly wake the session's thread once.
    ///
    /// - Parameter done: Receives what ``decode(_:isShown:token:)`` would return or throw, on any thread; must not block.
    nonisolated func enqueue(
        _ sample: SampleBuffer,
        token: (any Sendable)?,
        done: @escaping @Sendable (Outcome) -> Void
    ) {
        let id = lastID.add(1, ordering: .relaxed).newValue
        let isFirst = arrivals.withLock { arrivals in
            arrivals.append(Waiting(id: id, sample: sample, token: token, done: done))
            return arrivals.count == 1
        }
        if isFirst { executor.run { self.assumeIsolated { $0.takeArrivals() } } }
    }

    private func takeArrivals() {
        let new = arrivals.withLock { arrivals in
            defer { arrivals.removeAll(keepingCapacity: true) }
            return arrivals
        }
        waiting += new
        acceptWaiting()
    }

    func flush() throws(MediaError) {
        try checkRunning()
        try drain()
    }

    func finish() throws(MediaError) {
        if case .finished = phase { return }
        try checkRunning()
        resumeAll(Self.finishedError)
        try drain()
        if instance != nil { tell(.completed) }
        end(.finished, .finished, Self.finishedError)
    }

    /// Ends everything at once; safe on any thread, and without waiting for the decoder.
    nonisolated func cancel() {
        guard !isCancelled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queue.end(.cancelled(Self.cancellation))
        // Not on this thread: it may be that of the decoder's output.
        Task {
            interruption.withLock { $0 }?()
            await fail(Self.cancellation)
        }
    }

    private func fail(_ error: MediaError) {
        guard case .running = phase else { return }
        end(.failed(error), .failed(error), error)
    }

    private func end(_ phase: Phase, _ samplesEnd: SamplesEnd, _ error: MediaError) {
        self.phase = phase
        tell(.left)
        delivery.end()
        queue.end(samplesEnd)
        resumeAll(error)
        report(nil)
        // Last: the release of a decoder that is stuck takes a while.
        releaseDecoder()
    }

    /// Reports an outcome to the current candidate.
    private func tell(_ outcome: CandidateOutcome) {
        candidate?.outcome(outcome)
    }

    /// Waits until what was learned about the devices is recorded.
    nonisolated func settle() async { for candidate in candidates { await candidate.settle() } }

    private func resumeAll(_ error: MediaError) {
        let calls = waiting
        waiting = []
        for call in calls { call.done(.failure(error)) }
    }

    private var isOver: Bool { if case .running = phase { false } else { true } }

    private func checkRunning() throws(MediaError) {
        switch phase {
        case .running: if isCancelled.load(ordering: .acquiring) { throw Self.cancellation }
        case .finished: throw Self.finishedError
        case .failed(let error): throw error
        }
    }

    private static let callCancellation = MediaError(.cancelled, "the call was cancelled")
    private static let cancellation = MediaError(.cancelled, "the decompression session was cancelled")
    private static let finishedError = MediaError(.invalidState, "the decompression session is finished")
}

// MARK: - Samples

extension DecodingCore {
    private func accept(_ call: Waiting) throws(MediaError) {
        if call.sample.isDropped {
            delivery.update { $0.statistics.skippedSamples += 1 }
            return
        }
        do {
            _ = try call.sample.accessUnitLayout()
        } catch {
            delivery.update { $0.window.addUnusable(call.sample) }
            throw error
        }
        let isLate = options.start.map { call.sample.presentationTime < $0 } ?? false
        let isShown = call.isShown && !isLate
        if !isShown || options.skipsDisposableSamples, call.sample.isDisposable {
            delivery.update { $0.statistics.skippedSamples += 1 }
            return
        }
        var sample = call.sample
        if options.order == .decoding {
            try fatally { () throws(MediaError) in sample = try order.sample(for: sample) }
        }
        delivery.update { state in
            state.statistics.acceptedSamples += 1
            let number = state.window.add(sample, isShown: isShown, token: call.token)
            state.repeatable?.add(number, sample, oldest: state.window.oldest)
        }
        try fatally { () throws(MediaError) in try submit() }
        delivery.update { $0.window.releaseExcess() }
    }

    /// Carries out work of which every error ends the session.
    private func fatally(_ work: () throws(MediaError) -> Void) throws(MediaError) {
        do throws(MediaError) {
            try work()
        } catch {
            fail(error)
            throw error
        }
    }

    /// Submits every sample that the decoder does not have, and replaces the decoder as often as it fails.
    ///
    /// - Throws: The error of the session if no candidate is left.
    private func submit() throws(MediaError) {
        while let next = try nextSample() {
            if try replaceOutdated(before: next) { continue }
            try call { (decoder) throws(MediaError) in
                try decoder.decode(next)
                // A helper knows itself whether another sample is on its way.
                try decoder.pause()
            }
            guard instance != nil else { continue }
            instance?.wasDrained = false
            let isRepeated = next.number <= lastSubmitted
            lastSubmitted = max(lastSubmitted, next.number)
            delivery.update { state in
                state.window.accepted(next.number)
                if isRepeated { state.statistics.repeatedSamples += 1 }
            }
        }
    }

    /// Releases a decoder that should not continue, once it has returned everything. A new one begins at an IDR picture, so
    /// that no sample has to be decoded again.
    ///
    /// - Returns: Whether another decoder has to decode the sample.
    private func replaceOutdated(before next: DecoderSample) throws(MediaError) -> Bool {
        guard let outdated = instance, next.number > lastSubmitted, next.sample.randomAccess == .closed,
            outdated.decoder.isOutdated
        else { return false }
        if !outdated.wasDrained { try call { (decoder) throws(MediaError) in try decoder.drain() } }
        releaseDecoder()
        return true
    }

    /// The next sample for the decoder, which is created if there is none; `nil` if it has all, or cannot begin yet.
    private func nextSample() throws(MediaError) -> DecoderSample? {
        if instance == nil {
            guard let start = delivery.restart() else { return nil }
            guard let format = delivery.update({ $0.window.entry(start)?.sample?.formatDescription }) else {
                return nil
            }
            try create(for: format.isUsable ? format : lastFormat, repeating: Int(max(lastSubmitted - start + 1, 0)))
        }
        if instance?.wasDrained == true, let next = delivery.update({ $0.window.next }), next.access != .closed,
            delivery.restart() == nil
        {
            return nil
        }
        let next = delivery.update { $0.window.next }
        return next.flatMap { next in next.sample.map { DecoderSample(number: next.number, sample: $0) } }
    }

    /// Takes every picture out of the decoder.
    private func drain() throws(MediaError) {
        try fatally { () throws(MediaError) in
            repeat {
                try submit()
                if delivery.update({ $0.window.isSettled }) || instance == nil { return }
                try call { (decoder) throws(MediaError) in try decoder.drain() }
            } while instance == nil
            instance?.wasDrained = true
        }
        delivery.settleAll()
    }
}

// MARK: - Decoders

extension DecodingCore {
    /// Creates a decoder of the first candidate that is not given up.
    ///
    /// - Throws: The error of the last candidate.
    private func create(for format: FormatDescription, repeating count: Int) throws(MediaError) {
        var verdict = DecoderSelection(candidates: [], rejected: excluded).emptyError
        while let candidate = candidate {
            if isCancelled.load(ordering: .acquiring) { throw Self.cancellation }
            nextInstance += 1
            let (id, delivery) = (nextInstance, delivery)
            let request = DecoderRequest(
                formatDescription: format,
                isLowLatency: options.isLowLatency || options.order == .decoding,
                threadCount: options.threadCount,
                devicePictureLimit: options.devicePictureLimit
            ) { [weak self] output in
                if delivery.receive(output, from: id) { Task { [weak self] in await self?.replaceFailed() } }
            }
            delivery.begin(id) { candidate.outcome(.produced) }
            do throws(MediaError) {
                let decoder = try candidate.factory.makeDecoder(request)
                let cancel = decoder.cancel
                interruption.withLock { $0 = cancel }
                instance = Instance(id: id, decoder: decoder, identity: candidate.factory.identity)
                lastFormat = format
                noteCreated(decoder, of: candidate)
                return
            } catch {
                delivery.end()
                verdict = note(error, of: candidate.factory.identity, whileCreating: true, repeating: count)
            }
        }
        throw final(verdict)
    }

    /// Returns the error when no candidate is left: that of the last one, and the reasons for those that were never tried.
    private func final(_ verdict: MediaError) -> MediaError {
        guard !excluded.isEmpty, lastVerdict != nil else { return verdict }
        var error = verdict
        error.message += "; not tried: " + excluded.map(\.description).joined(separator: "; ")
        error.remedies += excluded.remedies.filter { !error.remedies.contains($0) }
        return error
    }

    private func reason(for candidate: DecoderCandidate) -> String {
        var reason = candidate.reason
        if case .impossible(let error) = candidate.proof() {
            reason += "; no test decode was possible: \(error.readable)"
        }
        if let lastVerdict { reason += "; previous candidate: \(lastVerdict)" }
        return reason
    }

    /// The current candidate; `nil` if all are given up.
    private var candidate: DecoderCandidate? {
        let index = delivery.update { $0.attempts.candidate }
        return index < candidates.count ? candidates[index] : nil
    }

    private func noteCreated(_ decoder: any DecoderBackend, of candidate: DecoderCandidate) {
        let description = DecoderDescription(
            identity: candidate.factory.identity,
            properties: decoder.properties,
            reason: reason(for: candidate),
            rejected: excluded + givenUp,
            proof: candidate.proof()
        )
        self.description = description
        delivery.update { state in
            state.statistics.createdDecoders += 1
            state.attempts.created()
        }
        report(.decoderCreated(description))
    }

    /// Calls the decoder. If it fails, there is no decoder afterwards.
    ///
    /// - Throws: The error of the session if the last candidate is given up.
    private func call(_ work: (any DecoderBackend) throws(MediaError) -> Void) throws(MediaError) {
        guard let instance else { return }
        if isCancelled.load(ordering: .acquiring) { throw Self.cancellation }
        var failure = delivery.enter()
        if failure == nil { do throws(MediaError) { try work(instance.decoder) } catch { failure = error } }
        let reported = delivery.leave()
        guard let failure = failure ?? reported else { return }
        if isCancelled.load(ordering: .acquiring) { throw Self.cancellation }
        try replace(instance, after: failure)
    }

    /// Gives up a decoder that has failed.
    private func replace(_ failed: Instance, after failure: MediaError) throws(MediaError) {
        releaseDecoder()
        let start = delivery.update { $0.window.restart } ?? lastSubmitted + 1
        let count = Int(max(lastSubmitted - start + 1, 0))
        let verdict = note(failure, of: failed.identity, whileCreating: false, repeating: count)
        if candidate == nil { throw final(verdict) }
    }

    private func releaseDecoder() {
        delivery.end()
        interruption.withLock { $0 = nil }
        instance = nil
    }

    private func note(
        _ error: MediaError,
        of identity: DecoderIdentity,
        whileCreating: Bool,
        repeating count: Int
    ) -> MediaError {
        let candidate = candidate
        let error = error.diagnosed(on: candidate?.facts, of: identity.codec)
        candidate?.outcome(.failed(error, whileCreating: whileCreating))
        let verdict = delivery.update { state in
            state.statistics.failedDecoders += 1
            return state.attempts.failed(error, whileCreating: whileCreating, identity)
        }
        if let verdict {
            candidate?.outcome(.left)
            lastVerdict = verdict
            givenUp.append(
                DecoderDescription.Rejection(
                    name: identity.description,
                    reason: verdict.readable,
                    cause: verdict.cause,
                    remedies: verdict.remedies
                )
            )
        }
        report(.decoderFailed(identity, verdict ?? error, samplesToRepeat: count))
        return verdict ?? error
    }

    /// Replaces a decoder that has reported a failure outside of any call.
    private func replaceFailed() {
        guard case .running = phase, let instance, let failure = delivery.leave() else { return }
        try? fatally { () throws(MediaError) in
            try replace(instance, after: failure)
            try submit()
        }
    }
}

extension FormatDescription {
    /// Whether a decoder can begin with these parameter sets. Those of a damaged stream may be unreadable.
    fileprivate var isUsable: Bool { (try? decoderConfigurationRecord()) != nil }
}
