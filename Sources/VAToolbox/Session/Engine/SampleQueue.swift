// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes
import Synchronization

/// The coded samples of a session in decoding order.
///
/// There is one consumer: iterating a second time, or from two tasks at once, throws `invalidState`. Iteration ends
/// after ``CompressionSession/finish()``. If the session fails, the iteration returns the queued samples and then
/// throws its error; if it is cancelled, the iteration throws `cancelled` immediately. If the consuming task is
/// cancelled, the iteration throws `cancelled`, and the remaining samples stay queued as long as the iterator exists.
///
/// A loop that ends before the samples do, by `break` or by an error, releases its iterator. The samples can then no
/// longer be consumed: if any are queued, or arrive later, the session is cancelled, and its calls throw `cancelled`.
public struct SampleSequence: AsyncSequence, Sendable {
    /// The element type.
    public typealias Element = SampleBuffer

    let queue: SampleQueue

    /// Starts the only iteration.
    public func makeAsyncIterator() -> Iterator {
        Iterator(consumer: queue.claim() ? Consumer(queue: queue) : nil)
    }

    /// Returns the samples one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        /// The consumer, shared by all copies of the iterator; `nil` for any but the first iterator.
        fileprivate let consumer: Consumer?

        /// Returns the next sample; `nil` after the last one. Waits if none is queued.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(MediaError) -> SampleBuffer? {
            guard let consumer else { throw SampleQueue.secondConsumer }
            return try await consumer.queue.next(isolation: actor)
        }

        /// Returns the next sample; `nil` after the last one. Waits if none is queued.
        public mutating func next() async throws(MediaError) -> SampleBuffer? {
            try await next(isolation: nil)
        }
    }

    /// The consumer of the samples, which exists as long as an iterator does.
    fileprivate final class Consumer: Sendable {
        let queue: SampleQueue

        init(queue: SampleQueue) { self.queue = queue }

        deinit { queue.abandon() }
    }
}

/// The samples between a session and its consumer, limited by their size in bytes.
final class SampleQueue: Sendable {
    fileprivate typealias Outcome = Result<SampleBuffer?, MediaError>

    fileprivate struct Waiting {
        let id: UInt64
        let continuation: CheckedContinuation<Outcome, Never>
    }

    fileprivate struct State {
        /// The queued samples; those before `head` were already taken.
        var samples: [SampleBuffer?] = []
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

    static let secondConsumer = MediaError(.invalidState, "the samples of a session have one consumer")

    private let marks: WaterMarks
    private let onCaughtUp: @Sendable () -> Void
    private let onAbandoned: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - onCaughtUp: Called when ``isSlow`` becomes false.
    ///   - onAbandoned: Called when samples are queued that nobody can consume any more; may be called several times.
    init(
        marks: WaterMarks,
        onCaughtUp: @escaping @Sendable () -> Void,
        onAbandoned: @escaping @Sendable () -> Void
    ) {
        self.marks = marks
        self.onCaughtUp = onCaughtUp
        self.onAbandoned = onAbandoned
    }

    /// Whether the queue has exceeded the high water mark and has not fallen below the low one since.
    var isSlow: Bool { state.withLock { $0.isSlow } }

    /// The total number of queued samples, and whether the samples have ended.
    var position: (appended: Int, hasEnded: Bool) { state.withLock { ($0.appended, $0.end != nil) } }

    func claim() -> Bool {
        state.withLock { state in
            defer { state.isClaimed = true }
            return !state.isClaimed
        }
    }

    func append(_ samples: [SampleBuffer]) {
        let (served, isAbandoned) = state.withLock { state -> ((Waiting, SampleBuffer)?, Bool) in
            guard state.end == nil else { return (nil, false) }
            state.samples += samples as [SampleBuffer?]
            state.bytes += samples.reduce(0) { $0 + $1.data.count }
            state.appended += samples.count
            defer { if state.bytes > marks.high { state.isSlow = true } }
            guard let waiting = state.waiting, let first = state.pop() else { return (nil, state.isAbandoned) }
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
    func end(_ end: SamplesEnd) {
        let (discarded, waiting) = state.withLock { state -> ([SampleBuffer?], Waiting?) in
            guard state.end == nil else { return ([], nil) }
            state.end = end
            var discarded: [SampleBuffer?] = []
            if case .cancelled = end { discarded = state.removeAll() }
            defer { state.waiting = nil }
            return (discarded, state.waiting)
        }
        withExtendedLifetime(discarded) {}
        waiting?.continuation.resume(returning: end.outcome)
    }

    /// Returns the next sample; `nil` after the last one. The caller stays on its actor.
    func next(isolation actor: isolated (any Actor)? = #isolation) async throws(MediaError) -> SampleBuffer? {
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

    private static let cancelled = Outcome.failure(
        MediaError(.cancelled, "the consumer of the samples was cancelled")
    )

    private func wait(_ waiting: Waiting) {
        let (outcome, hasCaughtUp) = state.withLock { state -> (Outcome?, Bool) in
            // Checked under the lock: a later cancellation finds `waiting` set.
            if Task.isCancelled { return (Self.cancelled, false) }
            if state.waiting != nil { return (.failure(Self.secondConsumer), false) }
            if let sample = state.pop() { return (.success(sample), state.catchUp(low: marks.low)) }
            if let end = state.end { return (end.outcome, false) }
            state.waiting = waiting
            return (nil, false)
        }
        if hasCaughtUp { onCaughtUp() }
        if let outcome { waiting.continuation.resume(returning: outcome) }
    }
}

extension SampleQueue.State {
    fileprivate mutating func pop() -> SampleBuffer? {
        guard head < samples.count, let sample = samples[head].take() else { return nil }
        head += 1
        bytes -= sample.data.count
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

    fileprivate mutating func removeAll() -> [SampleBuffer?] {
        defer {
            samples = []
            head = 0
            bytes = 0
        }
        return samples
    }
}

extension SamplesEnd {
    fileprivate var outcome: SampleQueue.Outcome {
        switch self {
        case .finished: .success(nil)
        case .failed(let error), .cancelled(let error): .failure(error)
        }
    }
}
