// SPDX-License-Identifier: GPL-2.0-or-later

/// The pauses between attempts: they double, and each is shortened by chance, so that many clients do not come back in
/// step.
struct Backoff: Sendable, Hashable {
    /// The longest first pause in seconds.
    var first = 0.25
    /// The longest pause in seconds.
    var longest = 10.0

    /// The pause before another attempt, in seconds.
    ///
    /// - Parameters:
    ///   - failures: The attempts that have failed so far, from 1 on.
    ///   - random: A random number, 0..<1: the pause is half of its longest value to all of it.
    ///   - atLeast: What the service asks for. It is never shortened.
    func pause(failures: Int, random: Double, atLeast: Double? = nil) -> Double {
        let doublings = min(max(failures, 1) - 1, 30)
        let most = min(first * Double(1 << doublings), longest)
        let pause = most * (0.5 + random / 2)
        guard let atLeast else { return pause }
        return max(atLeast, 0) + pause * 0.5
    }
}

/// Whether sending a request twice does more than sending it once.
enum Repeatability: Sendable, Hashable {
    /// It does not: reading, replacing, deleting, and submitting with an idempotency key.
    case safe
    /// It might, so it is repeated only if the service did not receive it or has refused it for now.
    case unsafe
}

/// What to do after a failure.
enum RetryDecision: Sendable, Hashable {
    /// Try again after so many seconds.
    case retry(after: Double)
    case giveUp
}

/// Decides whether a failed request is sent again.
struct RetryPolicy: Sendable, Hashable {
    var backoff = Backoff()
    /// The seconds since the first failure after which the next one is final.
    var patience: Double

    /// - Parameters:
    ///   - failures: The failures so far, including this one.
    ///   - elapsed: The seconds since the first of them.
    ///   - random: A random number, 0..<1.
    func decision(
        after error: ClientError,
        of repeatability: Repeatability,
        failures: Int,
        elapsed: Double,
        random: Double
    ) -> RetryDecision {
        let canSucceed: Bool =
            switch error.kind {
            case .unreachable: true
            case .interrupted, .timedOut: repeatability == .safe
            // 429 and 503 of the service say that nothing was done; a proxy's 502 to 504 do not.
            case .refused: error.retryAfter != nil
            case .unexpectedAnswer: error.retryAfter != nil && repeatability == .safe
            case .damagedData, .file, .invalidValue, .cancelled: false
            }
        guard canSucceed else { return .giveUp }
        let pause = backoff.pause(failures: failures, random: random, atLeast: error.retryAfter)
        return elapsed + pause <= patience ? .retry(after: pause) : .giveUp
    }
}

/// The failures in a row of something that is tried again and again.
struct Outage: Sendable {
    private let policy: RetryPolicy
    private var failures = 0
    private var began: ContinuousClock.Instant?

    init(_ policy: RetryPolicy) { self.policy = policy }

    /// Waits before the next attempt.
    ///
    /// - Throws: The error, if there should be no other attempt; `cancelled`.
    mutating func pause(after error: ClientError, _ repeatability: Repeatability = .safe) async throws(ClientError) {
        let now = ContinuousClock.now
        failures += 1
        let began = self.began ?? now
        self.began = began
        let elapsed = (now - began) / .seconds(1)
        let decision = policy.decision(
            after: error,
            of: repeatability,
            failures: failures,
            elapsed: elapsed,
            random: Double.random(in: 0..<1)
        )
        guard case .retry(let seconds) = decision else { throw error }
        do {
            try await Task.sleep(for: .seconds(seconds))
        } catch {
            throw ClientError.cancelled
        }
    }

    /// Something has succeeded: the next failure is the first one again.
    mutating func end() {
        failures = 0
        began = nil
    }
}
