// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Synchronization

/// Passes events from the thread of a device to one asynchronous consumer, in order.
final class EventChannel<Element: Sendable>: Sendable {
    private struct State {
        var waiting: [(element: Element, isDroppable: Bool)] = []
        var droppable = 0
        var consumer: CheckedContinuation<Element?, Never>?
        var isOver = false
        /// Whether the producer waits for space.
        var isFull = false
    }

    private let limit: Int
    private let waitsForSpace: Bool
    private let state = Mutex(State())
    private let space = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - limit: The number of droppable elements that may wait.
    ///   - waitsForSpace: Whether the producer waits for the consumer beyond that; if not, the oldest one is dropped.
    init(limit: Int, waitsForSpace: Bool) {
        (self.limit, self.waitsForSpace) = (max(limit, 1), waitsForSpace)
    }

    /// Passes an element on.
    ///
    /// - Returns: The number of elements that were dropped for it.
    func send(_ element: Element, isDroppable: Bool) -> Int {
        if waitsForSpace, isDroppable { waitForSpace() }
        let (consumer, dropped) = state.withLock { state -> (CheckedContinuation<Element?, Never>?, Int) in
            if state.isOver { return (nil, 0) }
            if let consumer = state.consumer.take() { return (consumer, 0) }
            state.waiting.append((element, isDroppable))
            guard isDroppable else { return (nil, 0) }
            state.droppable += 1
            guard !waitsForSpace, state.droppable > limit,
                let oldest = state.waiting.firstIndex(where: \.isDroppable)
            else { return (nil, 0) }
            state.waiting.remove(at: oldest)
            state.droppable -= 1
            return (nil, 1)
        }
        consumer?.resume(returning: element)
        return dropped
    }

    private func waitForSpace() {
        while state.withLock({ state in
            state.isFull = state.droppable >= limit && !state.isOver
            return state.isFull
        }) { space.wait() }
    }

    /// Returns the next element; `nil` at the end, and when the task is cancelled. What then waits is left to a later call.
    func next() async -> Element? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { take(with: $0) }
        } onCancel: {
            state.withLock { $0.consumer.take() }?.resume(returning: nil)
        }
    }

    private func take(with continuation: CheckedContinuation<Element?, Never>) {
        let (element, isNow, wasFull) = state.withLock { state -> (Element?, Bool, Bool) in
            if Task.isCancelled { return (nil, true, false) }
            guard !state.waiting.isEmpty else {
                if !state.isOver { state.consumer = continuation }
                return (nil, state.isOver, false)
            }
            let first = state.waiting.removeFirst()
            if first.isDroppable { state.droppable -= 1 }
            defer { state.isFull = false }
            return (first.element, true, state.isFull)
        }
        if wasFull { space.signal() }
        if isNow { continuation.resume(returning: element) }
    }

    /// Ends the channel after the elements that wait. The producer waits no longer.
    func finish() {
        let (consumer, wasFull) = state.withLock { state in
            state.isOver = true
            defer { state.isFull = false }
            return (state.consumer.take(), state.isFull)
        }
        if wasFull { space.signal() }
        consumer?.resume(returning: nil)
    }
}
