// SPDX-License-Identifier: GPL-2.0-or-later

package import JobStore

/// What a store does that the conformance suite plays with, and what surrounds it.
package protocol StoreRig: Sendable {
    /// The store.
    var store: any JobStore { get async throws }

    /// Lets time of the store pass.
    func advance(by duration: Duration) async throws

    /// Lets the clock of the system jump, of which the store must take no notice.
    func jump(by duration: Duration) async throws

    /// Ends the store as a crash would, and opens it again.
    func reopen() async throws
}

/// A demand of the conformance suite, which every implementation of ``JobStore/JobStore`` must meet.
package struct ConformanceCase: Sendable {
    /// What is demanded.
    package let name: String
    /// Plays the case on an empty store.
    ///
    /// - Throws: ``ConformanceFailure``, or an error of the store.
    package let run: @Sendable (any StoreRig) async throws -> Void

    init(_ name: String, _ run: @escaping @Sendable (any StoreRig) async throws -> Void) {
        self.name = name
        self.run = run
    }

    /// All cases.
    package static var all: [ConformanceCase] {
        submissions + claims + leases + endings + publications + queues + lists + crowds
    }
}

extension ConformanceCase: CustomStringConvertible {
    package var description: String { name }
}

/// A demand that a store does not meet.
package struct ConformanceFailure: Error, CustomStringConvertible {
    package let description: String
}

/// - Throws: ``ConformanceFailure`` unless the condition is met.
func expect(
    _ condition: Bool,
    _ message: @autoclosure () -> String,
    file: StaticString = #fileID,
    line: UInt = #line
) throws {
    if !condition { throw ConformanceFailure(description: "\(file):\(line): \(message())") }
}

/// - Throws: ``ConformanceFailure`` if the values differ.
func expectEqual<Value: Equatable>(
    _ value: Value,
    _ expected: Value,
    file: StaticString = #fileID,
    line: UInt = #line
) throws {
    if value != expected {
        throw ConformanceFailure(description: "\(file):\(line): \(value) instead of \(expected)")
    }
}

/// - Throws: ``ConformanceFailure`` unless the call throws an error of the kind.
@discardableResult
func expectError(
    _ code: StoreError.Code,
    file: StaticString = #fileID,
    line: UInt = #line,
    _ body: () async throws -> Void
) async throws -> StoreError {
    do {
        try await body()
    } catch let error as StoreError where error.code == code {
        return error
    } catch {
        throw ConformanceFailure(description: "\(file):\(line): \(error) instead of \(code.rawValue)")
    }
    throw ConformanceFailure(description: "\(file):\(line): no error instead of \(code.rawValue)")
}

/// - Throws: ``ConformanceFailure`` if there is no value.
func require<Value>(_ value: Value?, file: StaticString = #fileID, line: UInt = #line) throws -> Value {
    guard let value else { throw ConformanceFailure(description: "\(file):\(line): nothing") }
    return value
}

// MARK: - Shorthands

extension JobDraft {
    /// A job of one task, or of as many as there are kinds.
    static func simple(
        _ kinds: [String] = ["encode"],
        queue: String = QueueSettings.defaultName,
        priority: Int = 50,
        share: String = "",
        demand: Demand = Demand(),
        retries: RetryPolicy = RetryPolicy(pause: 0)
    ) -> JobDraft {
        JobDraft(
            queue: queue,
            priority: priority,
            share: share,
            request: #"{"input":"film.mp4"}"#,
            tasks: kinds.map { TaskDraft(kind: $0, demand: demand, retries: retries) }
        )
    }
}

extension JobStore {
    /// Claims as a worker of any abilities.
    func claim(_ worker: String = "worker", lease: Duration = .seconds(15)) async throws -> Claim? {
        try await claim(ClaimRequest(worker: worker, lease: lease))
    }

    /// Claims a task that must be there.
    func take(_ worker: String = "worker", file: StaticString = #fileID, line: UInt = #line) async throws -> Claim {
        try require(try await claim(worker), file: file, line: line)
    }

    func complete(_ claim: Claim, result: String = "{}") async throws {
        try await complete(claim.token, result: result, intent: "{}") {}
    }

    func state(_ id: JobID) async throws -> JobState { try await job(id).job.state }
}

extension Failure {
    static let passing = Failure(code: "driver-lost", message: "the driver was lost", isRetriable: true)
    static let final = Failure(code: "unsupported", message: "there is no video", isRetriable: false)
}
