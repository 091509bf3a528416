// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// Tells the client which pictures nothing in the helper reads any more: together with the answer if an order is being
/// carried out, else at once.
final class ReleaseNotes: Sendable {
    private struct State {
        var isGathering = false
        var numbers: [Int64] = []
    }

    private let outbox: Outbox
    private let state = Mutex(State())

    init(_ outbox: Outbox) { self.outbox = outbox }

    /// Notes the release of a frame's picture.
    func add(_ number: Int64) {
        let isGathered = state.withLock { state in
            guard state.isGathering, state.numbers.count < HelperMessage.mostReleased else { return false }
            state.numbers.append(number)
            return true
        }
        // The client may be gone, and then takes all pictures back.
        if !isGathered { try? outbox.send(.released(number: number)) }
    }

    /// Keeps what comes for an answer.
    func gather() { state.withLock { $0.isGathering = true } }

    /// What was kept, in the order in which it came.
    func takeGathered() -> [Int64] {
        state.withLock { state in
            state.isGathering = false
            defer { state.numbers = [] }
            return state.numbers
        }
    }
}
