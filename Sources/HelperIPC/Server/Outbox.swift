// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// Sends the messages for a client in order. While orders follow each other quickly, several messages are sent together,
/// because each send may wake a thread of the client.
final class Outbox<Message: WireMessage>: Sendable {
    private struct State {
        var held: [Message] = []
        var holds = false
    }

    /// The maximum number of messages to hold back: those of a few orders.
    private static var mostHeld: Int { 8 }
    /// If orders take no longer than this, messages about one of them are held back while another is waiting.
    private static var quick: Duration { .milliseconds(1) }

    private let channel: Channel
    private let state = Mutex(State())

    init(_ channel: Channel) { self.channel = channel }

    /// Sends a message after those that are held back, or holds it back.
    func send(_ message: Message) throws(MediaError) {
        try state.withLock { (state) throws(MediaError) in
            state.held.append(message)
            if !state.holds || state.held.count >= Self.mostHeld { try sendAll(&state) }
        }
    }

    /// Starts or stops holding messages back.
    func hold(_ holds: Bool) throws(MediaError) {
        try state.withLock { (state) throws(MediaError) in
            state.holds = holds
            if !holds { try sendAll(&state) }
        }
    }

    /// Holds messages back while another order is waiting, unless orders take long.
    ///
    /// - Returns: Whether they are held back.
    @discardableResult
    func hold(whileWaiting isOrderWaiting: Bool, after start: SuspendingClock.Instant) throws(MediaError) -> Bool {
        let holds = isOrderWaiting && SuspendingClock.now - start < Self.quick
        try hold(holds)
        return holds
    }

    /// Sends a message that must not wait, after those that were held back.
    func sendNow(_ message: Message) throws(MediaError) {
        try send(message)
        try hold(false)
    }

    private func sendAll(_ state: inout State) throws(MediaError) {
        let messages = state.held
        state.held.removeAll(keepingCapacity: true)
        for message in messages { try channel.send(message) }
    }
}
