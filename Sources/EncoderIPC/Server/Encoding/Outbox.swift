// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// Sends the messages for an encoder's client in order. While frames follow each other quickly, several messages are
/// sent together, because each send may wake a thread of the client.
final class Outbox: Sendable {
    private struct State {
        var held: [EncoderHelperMessage] = []
        var holds = false
    }

    /// The maximum number of messages to hold back: those of a few frames.
    private static let mostHeld = 8

    private let channel: Channel
    private let state = Mutex(State())

    init(_ channel: Channel) { self.channel = channel }

    /// Sends a message after those that are held back, or holds it back.
    func send(_ message: EncoderHelperMessage) throws(MediaError) {
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

    private func sendAll(_ state: inout State) throws(MediaError) {
        let messages = state.held
        state.held.removeAll(keepingCapacity: true)
        for message in messages { try channel.send(message) }
    }
}
