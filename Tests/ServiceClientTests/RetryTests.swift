// SPDX-License-Identifier: GPL-2.0-or-later

import ServiceAPI
import Testing

@testable import ServiceClient

@Suite("Retries")
struct RetryTests {
    @Test("Pauses double up to a limit, and chance takes at most a half of them")
    func pauses() {
        let backoff = Backoff(first: 0.25, longest: 10)
        let longest = (1...9).map { backoff.pause(failures: $0, random: 1) }
        #expect(longest == [0.25, 0.5, 1, 2, 4, 8, 10, 10, 10])
        #expect((1...9).map { backoff.pause(failures: $0, random: 0) } == longest.map { $0 / 2 })
        #expect(backoff.pause(failures: .max, random: 1) == 10)
        #expect(backoff.pause(failures: 0, random: 1) == 0.25)
    }

    @Test("Retry-After is never shortened")
    func retryAfter() {
        for random in [0, 0.5, 0.999] {
            for failures in 1...10 {
                #expect(Backoff().pause(failures: failures, random: random, atLeast: 7) >= 7)
            }
        }
        #expect(ClientError.seconds(ofRetryAfter: "120") == 120)
        for text in ["-1", "nan", "inf", "", "Fri, 27 Nov 2026 10:00:00 GMT"] {
            #expect(ClientError.seconds(ofRetryAfter: text) == nil, "\(text)")
        }
    }

    /// An answer of the service with a problem.
    private static func answer(_ code: ErrorCode, retryAfter: String? = nil) -> ClientError {
        let problem = Problem(APIError(code, "No"), requestID: "r")
        return ClientError(status: code.status, body: problem.jsonBytes, retryAfter: retryAfter)
    }

    private static func isRepeated(_ error: ClientError, _ repeatability: Repeatability) -> Bool {
        let decision = RetryPolicy(patience: 100)
            .decision(after: error, of: repeatability, failures: 1, elapsed: 0, random: 0.5)
        return decision != .giveUp
    }

    @Test("What may have arrived is repeated only if that is safe")
    func decisions() {
        let gateway = ClientError(status: 502, body: Array("<html>".utf8), retryAfter: nil)
        let page = ClientError(status: 200, body: Array("<html>".utf8), retryAfter: nil)
        let table: [(error: ClientError, safe: Bool, unsafe: Bool)] = [
            (ClientError(.unreachable, ""), true, true), (ClientError(.interrupted, ""), true, false),
            (ClientError(.timedOut, ""), true, false), (ClientError(.damagedData, ""), false, false),
            (ClientError(.file, ""), false, false), (ClientError(.invalidValue, ""), false, false),
            (.cancelled, false, false), (gateway, true, false), (page, false, false),
            (Self.answer(.rateLimited), true, true), (Self.answer(.unavailable, retryAfter: "2"), true, true),
            (Self.answer(.internal), false, false), (Self.answer(.notFound), false, false),
            (Self.answer(.conflict), false, false), (Self.answer(.unauthorized), false, false),
            (Self.answer(.insufficientStorage), false, false),
        ]
        for (error, safe, unsafe) in table {
            #expect(Self.isRepeated(error, .safe) == safe, "\(error)")
            #expect(Self.isRepeated(error, .unsafe) == unsafe, "\(error)")
        }
    }

    @Test("Patience ends before a pause that would exceed it")
    func patience() {
        let policy = RetryPolicy(backoff: Backoff(first: 4, longest: 4), patience: 10)
        func decision(_ elapsed: Double) -> RetryDecision {
            policy.decision(
                after: ClientError(.unreachable, ""),
                of: .safe,
                failures: 1,
                elapsed: elapsed,
                random: 0
            )
        }
        #expect(decision(8) == .retry(after: 2))
        #expect(decision(8.1) == .giveUp)
        let none = RetryPolicy(patience: 0)
        #expect(
            none.decision(after: ClientError(.unreachable, ""), of: .safe, failures: 1, elapsed: 0, random: 0)
                == .giveUp
        )
    }

    @Test("A problem keeps what the service said")
    func problems() throws {
        let thrown = APIError(
            .invalidRequest,
            "The number is out of range",
            field: "/priority",
            value: 101,
            allowed: "0...100",
            remedies: ["Use less."]
        )
        let problem = Problem(thrown, requestID: "r1")
        let error = ClientError(status: 400, body: problem.jsonBytes, retryAfter: nil)
        #expect(error.kind == .refused)
        #expect(error.problem == problem)
        #expect(error.apiError == thrown)
        #expect(error.message == "The number is out of range (at /priority; given 101; allowed: 0...100)")
        #expect(error.remedies == ["Use less."])
    }

    @Test("A problem with a code of a later version is still one")
    func unknownCode() {
        var problem = Problem(APIError(.conflict, "New"), requestID: "r")
        problem.code = "entirely-new"
        let error = ClientError(status: 409, body: problem.jsonBytes, retryAfter: nil)
        #expect(error.kind == .refused)
        #expect(error.code == nil)
        #expect(error.problem?.code == "entirely-new")
    }

    @Test("Each idempotency key is another one")
    func keys() {
        let keys = Set((0..<1000).map { _ in ServiceClient.makeKey() })
        #expect(keys.count == 1000)
        #expect(keys.allSatisfy { $0.utf8.count == 32 })
    }
}
