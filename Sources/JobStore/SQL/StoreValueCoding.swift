// SPDX-License-Identifier: GPL-2.0-or-later

internal import Foundation

/// JSON of values in columns.
enum Column {
    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        // The same value is the same text.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    static func value<Value: Decodable & Sendable>(_ type: Value.Type, _ text: String) throws -> Value {
        try known.value(type, text) {
            do {
                return try JSONDecoder().decode(type, from: Data(text.utf8))
            } catch {
                throw StoreError(.damaged, "a value in the store cannot be read", given: String(text.prefix(200)))
            }
        }
    }

    private static let known = KnownTexts(most: 10_000, longest: 200)

    static func damaged(_ what: String, _ given: String) -> StoreError {
        StoreError(.damaged, "the store has an unknown \(what)", given: given)
    }
}

/// A failure as JSON.
private struct FailureRecord: Codable {
    var code: String
    var message: String
    var isRetriable: Bool
    var details: String?
}

extension Failure {
    var json: String {
        get throws {
            try Column.json(
                FailureRecord(code: code, message: message, isRetriable: isRetriable, details: details)
            )
        }
    }

    init(json: String) throws {
        let record = try Column.value(FailureRecord.self, json)
        self.init(
            code: record.code,
            message: record.message,
            isRetriable: record.isRetriable,
            details: record.details
        )
    }
}

extension Optional where Wrapped == Failure {
    var json: String? { get throws { try map { try $0.json } } }
}

extension AttemptOutcome {
    /// The name and the failure.
    var columns: (name: String, failure: String?) {
        get throws {
            switch self {
            case .succeeded: ("succeeded", nil)
            case .failed(let failure): ("failed", try failure.json)
            case .lost: ("lost", nil)
            case .released: ("released", nil)
            case .cancelled: ("cancelled", nil)
            }
        }
    }

    init(_ name: String, failure: String?) throws {
        switch (name, failure) {
        case ("succeeded", _): self = .succeeded
        case ("failed", let failure?): self = .failed(try Failure(json: failure))
        case ("lost", _): self = .lost
        case ("released", _): self = .released
        case ("cancelled", _): self = .cancelled
        default: throw Column.damaged("outcome of an attempt", name)
        }
    }
}

extension TaskState {
    /// The name, the time from which it is ready, and the token of the attempt.
    var columns: (name: String, from: Int64?, token: Int64?) {
        switch self {
        case .blocked: ("blocked", nil, nil)
        case .ready(let time): ("ready", time.milliseconds, nil)
        case .running(let token): ("running", nil, token.rawValue)
        case .succeeded: ("succeeded", nil, nil)
        case .failed: ("failed", nil, nil)
        case .cancelled: ("cancelled", nil, nil)
        }
    }

    init(_ name: String, from: Int64?, token: Int64?) throws {
        switch (name, from, token) {
        case ("blocked", _, _): self = .blocked
        case ("ready", let time?, _): self = .ready(from: StoreTime(milliseconds: time))
        case ("running", _, let token?): self = .running(AttemptToken(rawValue: token))
        case ("succeeded", _, _): self = .succeeded
        case ("failed", _, _): self = .failed
        case ("cancelled", _, _): self = .cancelled
        default: throw Column.damaged("state of a task", name)
        }
    }
}

extension Job {
    /// Reads a row of the table `jobs`.
    init(row: StoreRow) throws {
        let identifier: String = try row["id"]
        let name: String = try row["state"]
        guard let id = JobID(rawValue: identifier) else { throw Column.damaged("ID of a job", identifier) }
        guard let state = JobState(rawValue: name) else { throw Column.damaged("state of a job", name) }
        func time(_ column: String) throws -> StoreTime? {
            try (row[column] as Int64?).map(StoreTime.init(milliseconds:))
        }
        try self.init(
            id: id,
            position: row["position"],
            queue: row["queue"],
            priority: row["priority"],
            share: row["share"],
            labels: Column.value([String: String].self, row["labels"]),
            request: row["request"],
            deadline: time("deadline"),
            retention: .milliseconds(row["retention"] as Int64),
            state: state,
            isCancelRequested: row["is_cancel_requested"],
            created: StoreTime(milliseconds: row["created"]),
            queued: StoreTime(milliseconds: row["queued"]),
            started: time("started"),
            ended: time("ended"),
            failure: (row["failure"] as String?).map(Failure.init(json:))
        )
    }
}

extension JobTask {
    /// Reads a row of the table `tasks`.
    init(row: StoreRow, of job: JobID, _ demand: Demand) throws {
        let draft = try TaskDraft(
            kind: row["kind"],
            payload: row["payload"],
            dependencies: Column.value([Int].self, row["dependencies"]),
            demand: demand,
            cost: row["cost"],
            retries: Column.value(RetryPolicy.self, row["retries"])
        )
        try self.init(
            id: TaskID(job: job, index: row["number"]),
            draft: draft,
            state: TaskState(row["state"], from: row["ready_from"], token: row["token"]),
            failures: row["failures"],
            losses: row["losses"],
            result: row["result"],
            failure: (row["failure"] as String?).map(Failure.init(json:))
        )
    }
}

extension QueueSettings {
    /// Reads a row of the table `queues`.
    init(row: StoreRow) throws {
        try self.init(
            name: row["name"],
            isPaused: row["is_paused"],
            mostRunning: row["most_running"],
            windows: Column.value([TimeWindow].self, row["windows"]),
            hop: (row["hop"] as String?).map { try Column.value(Hop.self, $0) },
            weights: Column.value([String: Double].self, row["weights"])
        )
    }
}

extension Attempt {
    /// Reads a row of the table `attempts` joined with `leases`.
    init(row: StoreRow, of job: JobID) throws {
        let outcome: String? = try row["outcome"]
        try self.init(
            token: AttemptToken(rawValue: row["token"]),
            task: TaskID(job: job, index: row["task"]),
            worker: row["worker"],
            started: StoreTime(milliseconds: row["started"]),
            ended: (row["ended"] as Int64?).map(StoreTime.init(milliseconds:)),
            outcome: outcome.map { try AttemptOutcome($0, failure: row["failure"]) },
            leaseEnd: (row["ends"] as Int64?).map(StoreTime.init(milliseconds:)),
            progress: row["lease_progress"] ?? row["progress"]
        )
    }
}

extension JobEvent {
    /// Reads a row of the table `events` with the column `id` of its job.
    init(row: StoreRow) throws {
        let identifier: String = try row["id"]
        guard let id = JobID(rawValue: identifier) else { throw Column.damaged("ID of a job", identifier) }
        let (name, value): (String, String) = try (row["kind"], row["value"])
        let task: Int? = try row["task"]
        let token = try (row["token"] as Int64?).map(AttemptToken.init(rawValue:))
        let kind: Kind
        switch (name, task, token) {
        case ("job", _, _):
            guard let state = JobState(rawValue: value) else { throw Column.damaged("state of a job", value) }
            kind = .job(state)
        case ("started", let task?, let token?): kind = .started(task: task, token, worker: value)
        case ("ended", let task?, let token?):
            kind = try .ended(task: task, token, AttemptOutcome(value, failure: row["failure"]))
        case ("cancel", _, _): kind = .cancelRequested
        case ("moved", _, _): kind = .moved(queue: value)
        default: throw Column.damaged("event", name)
        }
        try self.init(number: row["number"], job: id, time: StoreTime(milliseconds: row["time"]), kind: kind)
    }
}
