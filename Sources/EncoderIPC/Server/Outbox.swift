// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// Sends what an encoder's client is told, in order. While frames follow each other quickly several messages go
/// together, because each one may wake a thread of the client.
final class Outbox: Sendable {
    private struct State {
        var held: [HelperMessage] = []
        var holds = false
    }

    /// How many messages are held back at most: those of a few frames.
    private static let mostHeld = 8

    private let channel: Channel
    private let state = Mutex(State())

    init(_ channel: Channel) { self.channel = channel }

    /// Sends a message, or keeps it for a moment; those that were kept go before it.
    func send(_ message: HelperMessage) throws(MediaError) {
        try state.withLock { (state) throws(MediaError) in
            state.held.append(message)
            if !state.holds || state.held.count >= Self.mostHeld { try sendAll(&state) }
        }
    }

    /// From now on messages are held back, or go at once.
    func hold(_ holds: Bool) throws(MediaError) {
        try state.withLock { (state) throws(MediaError) in
            state.holds = holds
            if !holds { try sendAll(&state) }
        }
    }

    private func sendAll(_ state: inout State) throws(MediaError) {
        let messages = state.held
        state.held.removeAll(keepingCapacity: true)
        for message in messages { try channel.send(message) }
    }
}
