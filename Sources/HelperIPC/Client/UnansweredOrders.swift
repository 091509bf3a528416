// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Synchronization

/// The orders that were sent to a helper without waiting for their answers, oldest first. One thread adds orders, and
/// the link's thread removes them.
final class UnansweredOrders<Order: Sendable>: Sendable {
    private struct State {
        var orders: [Order] = []
        /// Whether no further answer will come.
        var isOver = false
        /// The number of orders that a thread waits for.
        var awaited: Int?
    }

    /// The maximum number of unanswered orders, less than a helper allows.
    static var limit: Int { 8 }

    private let state = Mutex(State())
    /// Signalled when as few orders are unanswered as a thread waits for, or when no further answer will come.
    private let room = DispatchSemaphore(value: 0)

    /// The oldest order.
    var first: Order? { state.withLock { $0.orders.first } }

    /// The number of orders up to one of them.
    func count(through isLast: (Order) -> Bool) -> Int? {
        state.withLock { state in state.orders.firstIndex(where: isLast).map { $0 + 1 } }
    }

    /// The number of orders.
    var count: Int { state.withLock { $0.orders.count } }

    /// Adds an order that is about to be sent.
    func append(_ order: Order) { state.withLock { $0.orders.append(order) } }

    /// If the maximum number is reached, waits until half of the orders are answered, or until no further answer will
    /// come.
    func waitForRoom() {
        if count >= Self.limit { wait(forAtMost: Self.limit / 2) }
    }

    /// Waits until at most that many orders are unanswered.
    ///
    /// - Returns: Whether this is so; if not, no further answer will come.
    @discardableResult
    func wait(forAtMost most: Int) -> Bool {
        while true {
            let isDone = state.withLock { state -> Bool? in
                if state.orders.count <= most { return true }
                if state.isOver { return false }
                state.awaited = most
                return nil
            }
            if let isDone { return isDone }
            room.wait()
        }
    }

    /// Removes the oldest orders, which were answered.
    func removeFirst(_ count: Int = 1) {
        let isAwaited = state.withLock { state in
            state.orders.removeFirst(min(count, state.orders.count))
            guard let awaited = state.awaited, state.orders.count <= awaited else { return false }
            state.awaited = nil
            return true
        }
        if isAwaited { room.signal() }
    }

    /// Ends all waits, now and later: no further answer will come.
    func end() {
        let isAwaited = state.withLock { state in
            state.isOver = true
            return state.awaited.take() != nil
        }
        if isAwaited { room.signal() }
    }
}
