// SPDX-License-Identifier: GPL-2.0-or-later

/// Keeps tests that use helper processes out of the way of those that count what such processes leave behind in this one,
/// and out of each other's way where there would be too many at once.
package actor HelperTraffic {
    package static let shared = HelperTraffic()

    /// How many tests with helpers run at once. Each has a process or two, and some have deadlines.
    private static let lanes = 8

    private struct Waiter {
        let isAlone: Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private var users = 0
    private var isTakenAlone = false
    private var waiters: [Waiter] = []

    /// Waits for its turn, in the order of the calls, and runs a test.
    ///
    /// - Parameter isAlone: Whether no other test may use helpers meanwhile.
    package nonisolated func run(alone isAlone: Bool, _ test: @Sendable () async throws -> Void) async throws {
        await enter(alone: isAlone)
        do {
            try await test()
        } catch {
            await leave()
            throw error
        }
        await leave()
    }

    private func enter(alone isAlone: Bool) async {
        if waiters.isEmpty, hasRoom(alone: isAlone) { return take(alone: isAlone) }
        await withCheckedContinuation { waiters.append(Waiter(isAlone: isAlone, continuation: $0)) }
    }

    private func leave() {
        users -= 1
        isTakenAlone = false
        while let first = waiters.first, hasRoom(alone: first.isAlone) {
            take(alone: first.isAlone)
            waiters.removeFirst().continuation.resume()
        }
    }

    private func hasRoom(alone: Bool) -> Bool { alone ? users == 0 : !isTakenAlone && users < Self.lanes }

    private func take(alone: Bool) {
        users += 1
        isTakenAlone = alone
    }
}
