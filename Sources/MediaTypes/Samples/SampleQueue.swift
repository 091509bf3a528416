// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// The samples between a session and its consumer, limited by their size in bytes.
package final class SampleQueue<Sample: Sendable>: Sendable {
    fileprivate typealias Outcome = Result<Sample?, MediaError>

    fileprivate struct Waiting {
        let id: UInt64
        let continuation: CheckedContinuation<Outcome, Never>
    }

    fileprivate struct State {
        /// The queued samples; those before `head` were already taken.
        var samples: [Sample?] = []
        var head = 0
        var bytes = 0
        var appended = 0
        var isClaimed = false
        var isAbandoned = false
        var isSlow = false
        var end: SamplesEnd?
        var waiting: Waiting?
        var nextWaiting: UInt64 = 0
    }

    /// The consumer of the samples, which exists as long as an iterator does.
    package final class Consumer: Sendable {
        package let queue: SampleQueue

        fileprivate init(queue: SampleQueue) { self.queue = queue }

        deinit { queue.abandon() }
    }

    package static var secondConsumer: MediaError {
        MediaError(.invalidState, "the samples of a session have one consumer")
    }

    private let marks: (low: Int, high: Int)
    private let byteCount: @Sendable (Sample) -> Int
    private let onCaughtUp: @Sendable () -> Void
    private let onAbandoned: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - marks: The queue is slow from more than `high` bytes on, until it has fewer than `low` bytes.
    ///   - byteCount: Returns the size of a sample.
    ///   - onCaughtUp: Called when ``isSlow`` becomes false.
    ///   - onAbandoned: Called when samples are queued that nobody can consume any more; may be called several times.
    package init(
        marks: (low: Int, high: Int),
        byteCount: @escaping @Sendable (Sample) -> Int,
        onCaughtUp: @escaping @Sendable () -> Void,
        onAbandoned: @escaping @Sendable () -> Void
    ) {
        self.marks = marks
        self.byteCount = byteCount
        self.onCaughtUp = onCaughtUp
        self.onAbandoned = onAbandoned
    }

    /// Whether the queue has exceeded the high water mark and has not fallen below the low one since.
    package var isSlow: Bool { state.withLock { $0.isSlow } }

    /// The total number of queued samples, and whether the samples have ended.
    package var position: (appended: Int, hasEnded: Bool) { state.withLock { ($0.appended, $0.end != nil) } }

    package func claim() -> Bool {
        state.withLock { state in
            defer { state.isClaimed = true }
            return !state.isClaimed
        }
    }

    /// Returns the only consumer; `nil` from the second call on.
    package func makeConsumer() -> Consumer? { claim() ? Consumer(queue: self) : nil }

    package func append(_ samples: [Sample]) {
        let (served, isAbandoned) = state.withLock { state -> ((Waiting, Sample)?, Bool) in
            guard state.end == nil else { return (nil, false) }
            state.samples += samples as [Sample?]
            state.bytes += samples.reduce(0) { $0 + byteCount($1) }
            state.appended += samples.count
            defer { if state.bytes > marks.high { state.isSlow = true } }
            guard let waiting = state.waiting, let first = state.pop(byteCount) else { return (nil, state.isAbandoned) }
            state.waiting = nil
            return ((waiting, first), false)
        }
        if isAbandoned { onAbandoned() }
        if let (waiting, first) = served { waiting.continuation.resume(returning: .success(first)) }
    }

    /// Ends the consumption: nobody will ask for samples any more.
    fileprivate func abandon() {
        let isLoss = state.withLock { state in
            state.isAbandoned = true
            return state.end == nil && state.head < state.samples.count
        }
        if isLoss { onAbandoned() }
    }

    /// Ends the samples. Samples and ends that are queued later are ignored.
    package func end(_ end: SamplesEnd) {
        let (discarded, waiting) = state.withLock { state -> ([Sample?], Waiting?) in
            guard state.end == nil else { return ([], nil) }
            state.end = end
            var discarded: [Sample?] = []
            if case .cancelled = end { discarded = state.removeAll() }
            defer { state.waiting = nil }
            return (discarded, state.waiting)
        }
        withExtendedLifetime(discarded) {}
        waiting?.continuation.resume(returning: end.outcome())
    }

    /// Returns the next sample; `nil` after the last one. The caller stays on its actor.
    package func next(isolation actor: isolated (any Actor)? = #isolation) async throws(MediaError) -> Sample? {
        let id = state.withLock { state in
            defer { state.nextWaiting += 1 }
            return state.nextWaiting
        }
        let outcome = await withTaskCancellationHandler {
            _ = actor
            return await withCheckedContinuation { wait(Waiting(id: id, continuation: $0)) }
        } onCancel: {
            let waiting = state.withLock { state -> Waiting? in
                guard state.waiting?.id == id else { return nil }
                defer { state.waiting = nil }
                return state.waiting
            }
            waiting?.continuation.resume(returning: Self.cancelled)
        }
        return try outcome.get()
    }

    private static var cancelled: Outcome {
        .failure(MediaError(.cancelled, "the consumer of the samples was cancelled"))
    }

    private func wait(_ waiting: Waiting) {
        let (outcome, hasCaughtUp) = state.withLock { state -> (Outcome?, Bool) in
            // Checked under the lock: a later cancellation finds `waiting` set.
            if Task.isCancelled { return (Self.cancelled, false) }
            if state.waiting != nil { return (.failure(Self.secondConsumer), false) }
            if let sample = state.pop(byteCount) { return (.success(sample), state.catchUp(low: marks.low)) }
            if let end = state.end { return (end.outcome(), false) }
            state.waiting = waiting
            return (nil, false)
        }
        if hasCaughtUp { onCaughtUp() }
        if let outcome { waiting.continuation.resume(returning: outcome) }
    }
}

extension SampleQueue.State {
    fileprivate mutating func pop(_ byteCount: (Sample) -> Int) -> Sample? {
        guard head < samples.count, let sample = samples[head].take() else { return nil }
        head += 1
        bytes -= byteCount(sample)
        if head * 2 >= samples.count {
            samples.removeFirst(head)
            head = 0
        }
        return sample
    }

    /// Returns whether the queue has just fallen below the low water mark.
    fileprivate mutating func catchUp(low: Int) -> Bool {
        guard isSlow, bytes < low else { return false }
        isSlow = false
        return true
    }

    fileprivate mutating func removeAll() -> [Sample?] {
        defer {
            samples = []
            head = 0
            bytes = 0
        }
        return samples
    }
}

/// The end of a session's samples.
package enum SamplesEnd: Sendable {
    /// Ends after the queued samples.
    case finished
    /// Ends with an error after the queued samples.
    case failed(MediaError)
    /// Ends with an error immediately; queued samples are discarded.
    case cancelled(MediaError)

    fileprivate func outcome<Sample>() -> Result<Sample?, MediaError> {
        switch self {
        case .finished: .success(nil)
        case .failed(let error), .cancelled(let error): .failure(error)
        }
    }
}
