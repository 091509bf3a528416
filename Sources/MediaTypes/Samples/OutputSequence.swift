// SPDX-License-Identifier: GPL-2.0-or-later

/// The output of a session, in order.
///
/// There is one consumer: iterating a second time, or from two tasks at once, throws `invalidState`. Iteration ends
/// after the session's `finish()`. If the session fails, the iteration returns what is queued and then throws its
/// error; if it is cancelled, the iteration throws `cancelled` immediately. If the consuming task is cancelled, the
/// iteration throws `cancelled`, and what remains stays queued as long as the iterator exists.
///
/// A loop that ends before the output does, by `break` or by an error, releases its iterator. The output can then no
/// longer be consumed: if any is queued, or arrives later, the session is cancelled, and its calls throw `cancelled`.
public struct OutputSequence<Element: Sendable>: AsyncSequence, Sendable {
    package let queue: SampleQueue<Element>

    package init(queue: SampleQueue<Element>) { self.queue = queue }

    /// Starts the only iteration.
    public func makeAsyncIterator() -> Iterator { Iterator(consumer: queue.makeConsumer()) }

    /// Returns the elements one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        /// The consumer, shared by all copies of the iterator; `nil` for any but the first iterator.
        fileprivate let consumer: SampleQueue<Element>.Consumer?

        /// Returns the next element; `nil` after the last one. Waits if none is queued.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(MediaError) -> Element? {
            guard let consumer else { throw SampleQueue<Element>.secondConsumer }
            return try await consumer.queue.next(isolation: actor)
        }

        /// Returns the next element; `nil` after the last one. Waits if none is queued.
        public mutating func next() async throws(MediaError) -> Element? { try await next(isolation: nil) }
    }
}
