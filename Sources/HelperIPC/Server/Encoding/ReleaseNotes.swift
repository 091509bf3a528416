// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// Reports to the client which pictures nothing in the helper reads any more: with the answer of the current order, if
/// there is one, otherwise immediately.
final class ReleaseNotes: Sendable {
    private struct State {
        var isGathering = false
        var numbers: [Int64] = []
    }

    private let outbox: Outbox<EncoderHelperMessage>
    private let state = Mutex(State())

    init(_ outbox: Outbox<EncoderHelperMessage>) { self.outbox = outbox }

    /// Records the release of a frame's picture.
    func add(_ number: Int64) {
        let isGathered = state.withLock { state in
            guard state.isGathering, state.numbers.count < EncoderHelperMessage.mostReleased else { return false }
            state.numbers.append(number)
            return true
        }
        // If the client is gone, it takes all pictures back itself.
        if !isGathered { try? outbox.send(.released(number: number)) }
    }

    /// Collects releases for an answer.
    func gather() { state.withLock { $0.isGathering = true } }

    /// Returns the collected releases, in order.
    func takeGathered() -> [Int64] {
        state.withLock { state in
            state.isGathering = false
            defer { state.numbers = [] }
            return state.numbers
        }
    }
}
