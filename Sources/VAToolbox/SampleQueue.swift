// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes
import Synchronization

/// The coded samples of a session in decoding order.
///
/// There is one consumer: iterating a second time, or from two tasks at once, throws `invalidState`. Iteration ends
/// after ``CompressionSession/finish()`` and throws when the session fails or is cancelled. If the consuming task is
/// cancelled, the iteration throws `cancelled`, and samples that were not taken stay queued.
public struct SampleSequence: AsyncSequence, Sendable {
    /// What the sequence consists of.
    public typealias Element = SampleBuffer

    let queue: SampleQueue

    /// Starts the one iteration that is allowed.
    public func makeAsyncIterator() -> Iterator { Iterator(queue: queue, isFirst: queue.claim()) }

    /// Takes samples one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let queue: SampleQueue
        let isFirst: Bool

        /// The next sample; `nil` after the last one. Waits for it if there is none yet.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(MediaError) -> SampleBuffer? {
            guard isFirst else { throw SampleQueue.secondConsumer }
            return try await queue.next()
        }

        /// The next sample; `nil` after the last one. Waits for it if there is none yet.
        public mutating func next() async throws(MediaError) -> SampleBuffer? {
            try await next(isolation: nil)
        }
    }
}

/// Samples between a session and its consumer, counted in bytes.
final class SampleQueue: Sendable {
    fileprivate typealias Continuation = CheckedContinuation<Result<SampleBuffer?, MediaError>, Never>

    fileprivate struct State {
        var samples: [SampleBuffer] = []
        var head = 0
        var bytes = 0
        var isClaimed = false
        var isAboveHigh = false
        var end: Result<Void, MediaError>?
        var waiting: Continuation?
    }

    static let secondConsumer = MediaError(.invalidState, "the samples of a session have one consumer")

    private let marks: WaterMarks
    private let onBelowLow: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameter onBelowLow: Called when the queue had risen above the high mark and fell below the low one.
    init(marks: WaterMarks, onBelowLow: @escaping @Sendable () -> Void) {
        self.marks = marks
        self.onBelowLow = onBelowLow
    }

    func claim() -> Bool {
        state.withLock { state in
            defer { state.isClaimed = true }
            return !state.isClaimed
        }
    }

    /// Queues samples.
    ///
    /// - Returns: Whether the queue rose above the high mark.
    func append(_ samples: [SampleBuffer]) -> Bool {
        let (waiting, first, roseAboveHigh) = state.withLock { state -> (Continuation?, SampleBuffer?, Bool) in
            guard state.end == nil else { return (nil, nil, false) }
            state.samples += samples
            state.bytes += samples.reduce(0) { $0 + $1.data.count }
            var first: SampleBuffer?
            let waiting = state.waiting
            if waiting != nil {
                first = state.pop()
                state.waiting = nil
            }
            let rose = !state.isAboveHigh && state.bytes > marks.high
            if rose { state.isAboveHigh = true }
            return (waiting, first, rose)
        }
        waiting?.resume(returning: .success(first))
        return roseAboveHigh
    }

    /// Ends the samples: after those that are queued if `error` is `nil`, else at once.
    func end(_ error: MediaError?) {
        let (waiting, result) = state.withLock { state -> (Continuation?, Result<SampleBuffer?, MediaError>) in
            guard state.end == nil else { return (nil, .success(nil)) }
            state.end = error.map { .failure($0) } ?? .success(())
            defer { state.waiting = nil }
            return (state.waiting, error.map { .failure($0) } ?? .success(nil))
        }
        waiting?.resume(returning: result)
    }

    func next() async throws(MediaError) -> SampleBuffer? {
        let (ready, fellBelowLow) = state.withLock { $0.take(low: marks.low) }
        if fellBelowLow { onBelowLow() }
        if let ready { return try ready.get() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in wait(continuation) }
        } onCancel: {
            let waiting = state.withLock { state in
                defer { state.waiting = nil }
                return state.waiting
            }
            waiting?.resume(returning: .failure(Self.cancelled))
        }
        return try result.get()
    }

    private static let cancelled = MediaError(.cancelled, "the consumer of the samples was cancelled")

    private func wait(_ continuation: Continuation) {
        let isCancelled = Task.isCancelled
        let (result, fellBelowLow) = state.withLock { state -> (Result<SampleBuffer?, MediaError>?, Bool) in
            if isCancelled { return (.failure(Self.cancelled), false) }
            if state.waiting != nil { return (.failure(Self.secondConsumer), false) }
            let taken = state.take(low: marks.low)
            if taken.result == nil { state.waiting = continuation }
            return taken
        }
        if fellBelowLow { onBelowLow() }
        if let result { continuation.resume(returning: result) }
    }
}

extension SampleQueue.State {
    /// What a consumer gets now, `nil` if it has to wait; and whether the queue fell below the low mark.
    mutating func take(low: Int) -> (result: Result<SampleBuffer?, MediaError>?, fellBelowLow: Bool) {
        if case .failure(let error)? = end { return (.failure(error), false) }
        if let sample = pop() {
            let fell = isAboveHigh && bytes < low
            if fell { isAboveHigh = false }
            return (.success(sample), fell)
        }
        return (end == nil ? nil : .success(nil), false)
    }

    mutating func pop() -> SampleBuffer? {
        guard head < samples.count else { return nil }
        let sample = samples[head]
        head += 1
        bytes -= sample.data.count
        if head == samples.count || head >= 64 {
            samples.removeFirst(head)
            head = 0
        }
        return sample
    }
}
