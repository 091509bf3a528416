// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// One access to the tables, at one time: what all stores in SQL do, in one place.
///
/// Where several transactions write at the same time, each locks the row of a job before it reads the job's tasks, and
/// keeps it until its end. So the tasks, attempts and leases of a job change one transaction after the other.
struct StoreTransaction {
    let database: any StoreDatabase
    let time: StoreTime
    let demands: KnownDemands

    /// A job with what decides about it.
    struct Entry {
        var job: Job
        var progression: JobProgression
    }

    // MARK: Statements

    func rows(_ sql: String, _ arguments: StoreArguments = []) throws -> [StoreRow] {
        try database.rows(sql, arguments)
    }

    func row(_ sql: String, _ arguments: StoreArguments = []) throws -> StoreRow? {
        try database.rows(sql, arguments).first
    }

    /// Returns the first column.
    func values<Value: StoreValueConvertible>(
        _ type: Value.Type,
        _ sql: String,
        _ arguments: StoreArguments = []
    ) throws -> [Value] {
        try database.rows(sql, arguments).map { try StoreRow.value($0.values.first ?? .null, sql) }
    }

    /// Returns the first column of the first row; `nil` if there is none, or if it is NULL.
    func value<Value: StoreValueConvertible>(
        _ type: Value.Type,
        _ sql: String,
        _ arguments: StoreArguments = []
    ) throws -> Value? {
        guard let value = try database.rows(sql, arguments).first?.values.first, value != .null else { return nil }
        return try StoreRow.value(value, sql)
    }

    @discardableResult
    func execute(_ sql: String, _ arguments: StoreArguments = []) throws -> Int {
        try database.execute(sql, arguments)
    }

    // MARK: Reading

    func job(_ id: JobID) throws -> Job {
        let row = try row("SELECT * FROM jobs WHERE id = ?\(database.rowLock)", [id.rawValue])
        guard let row else { throw StoreError(.notFound, "there is no such job", given: id.rawValue) }
        return try Job(row: row)
    }

    func entry(_ job: Job) throws -> Entry {
        let tasks = try rows("SELECT * FROM tasks WHERE job = ? ORDER BY number", [job.position]).map { row in
            try JobTask(row: row, of: job.id, demand(row["demand"]))
        }
        return Entry(
            job: job,
            progression: JobProgression(
                tasks: tasks,
                isCancelRequested: job.isCancelRequested,
                failure: job.failure
            )
        )
    }

    func entry(at position: Int64) throws -> Entry {
        let row = try row("SELECT * FROM jobs WHERE position = ?\(database.rowLock)", [position])
        guard let row else { throw StoreError(.damaged, "a task has no job", given: "\(position)") }
        return try entry(try Job(row: row))
    }

    /// Returns the demand of a number.
    func demand(_ number: Int64) throws -> Demand {
        try demands.demand(number) {
            let sql = "SELECT demand FROM demands WHERE number = ?"
            guard let text = try value(String.self, sql, [number]) else {
                throw Column.damaged("demand", "\(number)")
            }
            return try Column.value(Demand.self, text)
        }
    }

    /// - Parameter lock: What the query ends with where there are several writers.
    func queue(_ name: String, locked lock: String = "") throws -> QueueSettings {
        let lock = database.rowLock.isEmpty ? "" : lock
        let row = try row("SELECT * FROM queues WHERE name = ?\(lock)", [name])
        guard let row else { throw StoreError(.notFound, "there is no such queue", given: name) }
        return try QueueSettings(row: row)
    }

    func queues() throws -> [QueueSettings] {
        try rows("SELECT * FROM queues ORDER BY name").map(QueueSettings.init(row:))
    }

    /// The lease of an attempt, whose job this transaction has locked.
    struct Lease {
        var position: Int64
        var task: Int
        var intent: String?
    }

    func lease(_ token: AttemptToken) throws -> Lease? {
        let attempt = "SELECT job FROM attempts WHERE token = ?"
        guard let position = try value(Int64.self, attempt, [token.rawValue]) else { return nil }
        // The lease can end until its job is locked.
        if !database.rowLock.isEmpty {
            _ = try rows("SELECT position FROM jobs WHERE position = ?\(database.rowLock)", [position])
        }
        let sql = "SELECT job, task, intent FROM leases WHERE token = ?"
        return try row(sql, [token.rawValue]).map { row in
            try Lease(position: row["job"], task: row["task"], intent: row["intent"])
        }
    }

    // MARK: Writing

    /// Changes the tasks of a job, and writes what is different then.
    @discardableResult
    func change(_ entry: Entry, _ body: (inout JobProgression) -> Void) throws -> Job {
        var (job, changed) = (entry.job, entry.progression)
        body(&changed)
        for (old, new) in zip(entry.progression.tasks, changed.tasks) where old != new {
            try write(new, of: job.position)
        }
        job.isCancelRequested = changed.isCancelRequested
        job.failure = changed.failure
        job.state = changed.state
        if changed.tasks.contains(where: \.state.isRunning) { job.started = job.started ?? time }
        job.ended = job.state.isFinal ? (entry.job.ended ?? time) : nil
        if job.state == .waiting, entry.job.state != .waiting { job.queued = time }
        guard job != entry.job else { return job }
        try execute(
            """
            UPDATE jobs SET state = ?, is_cancel_requested = ?, failure = ?, queued = ?, started = ?, ended = ?
            WHERE position = ?
            """,
            [
                job.state.rawValue, job.isCancelRequested, try job.failure.json, job.queued.milliseconds,
                job.started?.milliseconds, job.ended?.milliseconds, job.position,
            ]
        )
        if job.isCancelRequested, !entry.job.isCancelRequested { try note("cancel", "", of: job.position) }
        if job.state != entry.job.state { try note("job", job.state.rawValue, of: job.position) }
        return job
    }

    private func write(_ task: JobTask, of position: Int64) throws {
        let state = task.state.columns
        try execute(
            """
            UPDATE tasks SET state = ?, ready_from = ?, token = ?, failures = ?, losses = ?, result = ?, failure = ?
            WHERE job = ? AND number = ?
            """,
            [
                state.name, state.from, state.token, task.failures, task.losses, task.result, try task.failure.json,
                position, task.id.index,
            ]
        )
    }

    /// Ends an attempt that has a lease.
    ///
    /// - Parameter entry: Its job, if it is known.
    func end(
        _ token: AttemptToken,
        _ lease: Lease,
        _ outcome: AttemptOutcome,
        result: String? = nil,
        of entry: Entry? = nil
    ) throws {
        let (name, failure) = try outcome.columns
        try execute(
            """
            UPDATE attempts SET ended = ?, outcome = ?, failure = ?,
                progress = (SELECT progress FROM leases WHERE leases.token = attempts.token)
            WHERE token = ?
            """,
            [time.milliseconds, name, failure, token.rawValue]
        )
        try execute("DELETE FROM leases WHERE token = ?", [token.rawValue])
        try note("ended", name, of: lease.position, task: lease.task, token, failure: failure)
        try change(try entry ?? self.entry(at: lease.position)) {
            $0.end(lease.task, outcome, result: result, at: time, jitter: .random(in: 0..<1))
        }
    }

    /// Writes an event.
    func note(
        _ kind: String,
        _ value: String,
        of position: Int64,
        task: Int? = nil,
        _ token: AttemptToken? = nil,
        failure: String? = nil
    ) throws {
        try database.willNumberEvents()
        try execute(
            "INSERT INTO events (job, time, kind, task, token, value, failure) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [position, time.milliseconds, kind, task, token?.rawValue, value, failure]
        )
    }
}

/// The demands that were read already: their numbers never change.
final class KnownDemands: Sendable {
    /// More than a store has at a time, usually.
    private static let most = 10_000

    private let known = Mutex<[Int64: Demand]>([:])

    /// Returns the demand of a number.
    ///
    /// - Parameter read: Reads it, if it is not known.
    func demand(_ number: Int64, read: () throws -> Demand) rethrows -> Demand {
        if let demand = known.withLock({ $0[number] }) { return demand }
        let demand = try read()
        known.withLock { known in
            if known.count >= Self.most { known = [:] }
            known[number] = demand
        }
        return demand
    }
}
