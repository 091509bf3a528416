// SPDX-License-Identifier: GPL-2.0-or-later

internal import ServiceAPI
internal import Synchronization

/// How many of something there are at a time. Whoever comes too late is refused, and not made to wait.
final class ConcurrencyLimit: Sendable {
    /// The largest number.
    let most: Int
    private let what: String
    private let count = Mutex(0)

    /// - Parameters:
    ///   - most: The largest number.
    ///   - what: What is limited, for errors, such as "streams".
    init(most: Int, of what: String) { (self.most, self.what) = (most, what) }

    /// Counts one more, until ``leave()``.
    ///
    /// - Throws: `APIError` `unavailable` if there are as many as may be.
    func enter() throws(APIError) {
        let isAllowed = count.withLock { count in
            guard count < most else { return false }
            count += 1
            return true
        }
        guard isAllowed else {
            throw APIError(
                .unavailable,
                "The service does as many of these as it may at a time",
                allowed: "\(most) \(what)"
            )
        }
    }

    /// Counts one less.
    func leave() { count.withLock { $0 -= 1 } }

    /// Runs a call that counts while it runs.
    ///
    /// - Throws: As ``enter()``, and the errors of the call.
    func run<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        try enter()
        defer { leave() }
        return try await body()
    }
}
