// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

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

    let queue: SampleQueue<SampleBuffer>

    /// Starts the only iteration.
    public func makeAsyncIterator() -> Iterator { Iterator(consumer: queue.makeConsumer()) }

    /// Returns the samples one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        /// The consumer, shared by all copies of the iterator; `nil` for any but the first iterator.
        fileprivate let consumer: SampleQueue<SampleBuffer>.Consumer?

        /// Returns the next sample; `nil` after the last one. Waits if none is queued.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(MediaError) -> SampleBuffer? {
            guard let consumer else { throw SampleQueue<SampleBuffer>.secondConsumer }
            return try await consumer.queue.next(isolation: actor)
        }

        /// Returns the next sample; `nil` after the last one. Waits if none is queued.
        public mutating func next() async throws(MediaError) -> SampleBuffer? {
            try await next(isolation: nil)
        }
    }
}
