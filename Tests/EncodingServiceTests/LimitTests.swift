// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Logging
import ServiceAPI
import Testing

@testable import EncodingService

@Suite struct LimitTests {
    @Test func aBucketBeginsFullAndRefills() {
        var bucket = TokenBucket(rate: 2, capacity: 3, at: 100)
        for _ in 0..<3 { #expect(bucket.take(at: 100) == nil) }
        #expect(bucket.take(at: 100) == 0.5)
        #expect(bucket.take(at: 100.25) == 0.25)
        #expect(bucket.take(at: 100.5) == nil)
        #expect(bucket.take(at: 100.5) == 0.5)
        // However long nobody asks, there are no more than at the beginning.
        for _ in 0..<3 { #expect(bucket.take(at: 1e9) == nil) }
        #expect(bucket.take(at: 1e9) != nil)
    }

    @Test func aClockThatGoesBackTakesNothingAway() {
        var bucket = TokenBucket(rate: 1, capacity: 2, at: 100)
        #expect(bucket.take(at: 50) == nil)
        #expect(bucket.take(at: 50) == nil)
        #expect(bucket.take(at: 50) == 1)
        #expect(bucket.take(at: 101) == nil)
    }

    @Test func eachNameHasItsOwn() {
        let limiter = RequestLimiter(rate: 1, capacity: 1)
        #expect(limiter.take("a", at: 0) == nil)
        #expect(limiter.take("b", at: 0) == nil)
        #expect(limiter.take("a", at: 0) == 1)
    }

    @Test func withoutARateThereIsNoLimit() {
        let limiter = RequestLimiter(rate: 0, capacity: 0)
        for _ in 0..<1000 { #expect(limiter.take("a", at: 0) == nil) }
    }

    /// Names are strangers' to choose: addresses.
    @Test func namesDoNotFillTheMemory() {
        let limiter = RequestLimiter(rate: 1, capacity: 1)
        for number in 0..<10_000 { #expect(limiter.take("\(number)", at: 0) == nil) }
        #expect(limiter.take("new", at: 0) == 1, "all are at it")
        #expect(limiter.take("0", at: 0) == 1, "who is known is counted on")
        #expect(limiter.take("new", at: 1) == nil, "the others are forgotten")
    }

    @Test func whoComesTooLateIsRefused() async throws {
        let limit = ConcurrencyLimit(most: 2, of: "things")
        try limit.enter()
        let value = try await limit.run {
            let error = #expect(throws: APIError.self) { try limit.enter() }
            #expect(error?.code == .unavailable && error?.allowed == "2 things")
            return 7
        }
        #expect(value == 7)
        await #expect(throws: CancellationError.self) { try await limit.run { throw CancellationError() } }
        try limit.enter()
        #expect(throws: APIError.self) { try limit.enter() }
        limit.leave()
        try limit.enter()
    }
}

@Suite struct AuditLogTests {
    private func entry(_ path: String) -> AuditLog.Entry {
        AuditLog.Entry(
            time: 1_790_000_000.5,
            request: "r",
            client: "k",
            address: "::1",
            method: "DELETE",
            path: path,
            status: 204
        )
    }

    private func lines(_ path: String) throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    @Test func linesAreJSON() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/audit.jsonl"
        let log = AuditLog(path: path, logger: Logger(label: "test"))
        log.add(entry("/v1/jobs/a\"\n\u{2028}b"))
        let line = try #require(try lines(path).first)
        let value = try JSONValue(parsing: line)
        #expect(value["path"]?.string == "/v1/jobs/a\"\n\u{2028}b")
        #expect(value["time"]?.string == "2026-09-21T14:13:20.500Z")
        #expect(value["code"] == nil)
    }

    /// A new process goes on with the file, and a full one gives way to the next.
    @Test func aFullFileIsSetAside() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/audit.jsonl"
        let size = entry("/0").line.utf8.count + 1
        for number in 0..<7 {
            AuditLog(path: path, limit: 2 * size, logger: Logger(label: "test")).add(entry("/\(number)"))
        }
        let kept = try (lines(path + ".1") + lines(path)).map { try JSONValue(parsing: $0)["path"]?.string }
        #expect(kept == ["/4", "/5", "/6"])
    }

    @Test func aFileThatCannotBeWrittenRefusesNobody() {
        let log = AuditLog(path: "/proc/none/audit.jsonl", logger: Logger(label: "test"))
        log.add(entry("/"))
        log.add(entry("/"))
    }
}
