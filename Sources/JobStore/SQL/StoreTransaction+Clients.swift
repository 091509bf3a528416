// SPDX-License-Identifier: GPL-2.0-or-later

/// What clients do.
extension StoreTransaction {
    func submit(_ draft: JobDraft) throws -> (job: Job, isNew: Bool) {
        try draft.validate()
        // Its queue may be gone.
        if let known = try known(draft.idempotency) { return (known, false) }
        _ = try queue(draft.queue)
        var generator = SystemRandomNumberGenerator()
        let id = JobID(at: time, using: &generator)
        let position = try value(
            Int64.self,
            """
            INSERT INTO jobs (id, queue, priority, share, labels, request, idempotency_key, idempotency_hash,
                deadline, retention, state, is_cancel_requested, created, queued)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            RETURNING position
            """,
            [
                id.rawValue, draft.queue, draft.priority, draft.share, try Column.json(draft.labels), draft.request,
                draft.idempotency?.key, draft.idempotency?.hash, draft.timeLimit.map { time + $0 }?.milliseconds,
                draft.retention.wholeMilliseconds, JobState.waiting.rawValue, false, time.milliseconds,
                time.milliseconds,
            ]
        )
        guard let position else { throw Column.damaged("position of a new job", id.rawValue) }
        for (name, value) in draft.labels {
            try execute("INSERT INTO labels (name, value, job) VALUES (?, ?, ?)", [name, value, position])
        }
        for (index, task) in draft.tasks.enumerated() {
            try insert(JobTask(TaskID(job: id, index: index), task, at: time), of: position, draft)
        }
        try note("job", JobState.waiting.rawValue, of: position)
        try database.announceTasks()
        return (try job(id), true)
    }

    private func known(_ idempotency: JobDraft.Idempotency?) throws -> Job? {
        guard let idempotency else { return nil }
        let sql = "SELECT * FROM jobs WHERE idempotency_key = ?"
        guard let row = try row(sql, [idempotency.key]) else { return nil }
        guard try row["idempotency_hash"] == idempotency.hash else {
            throw StoreError(
                .idempotencyConflict,
                "the idempotency key was used with another request",
                given: idempotency.key
            )
        }
        return try Job(row: row)
    }

    private func insert(_ task: JobTask, of position: Int64, _ draft: JobDraft) throws {
        let state = task.state.columns
        try execute(
            """
            INSERT INTO tasks (job, number, kind, payload, dependencies, demand, cost, retries, state, ready_from,
                failures, losses, queue, priority, share)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?)
            """,
            [
                position, task.id.index, task.draft.kind, task.draft.payload,
                try Column.json(task.draft.dependencies), try number(of: task.draft.demand), task.draft.cost,
                try Column.json(task.draft.retries), state.name, state.from, draft.queue, draft.priority, draft.share,
            ]
        )
    }

    /// Returns the number of a demand, which is the same for equal ones.
    private func number(of demand: Demand) throws -> Int64 {
        // A set has no order of its own.
        let text = try Column.json(SortedDemand(demand))
        try execute("INSERT INTO demands (demand) VALUES (?) ON CONFLICT DO NOTHING", [text])
        let sql = "SELECT number FROM demands WHERE demand = ?"
        guard let number = try value(Int64.self, sql, [text]) else {
            throw Column.damaged("demand", text)
        }
        return number
    }

    /// - Parameter queues: All queues, if they are known.
    func record(of job: Job, _ queues: [QueueSettings]? = nil) throws -> JobRecord {
        let entry = try entry(job)
        let sql = """
            SELECT attempts.*, leases.ends, leases.progress AS lease_progress
            FROM attempts LEFT JOIN leases ON leases.token = attempts.token
            WHERE attempts.job = ? ORDER BY attempts.token
            """
        let attempts = try rows(sql, [job.position]).map { try Attempt(row: $0, of: job.id) }
        return JobRecord(
            job: job,
            tasks: entry.progression.tasks,
            attempts: attempts,
            waiting: try reasonForWaiting(entry, queues)
        )
    }

    func jobs(_ filter: JobFilter, before position: Int64?, limit: Int) throws -> [Job] {
        try check(limit, in: 1...1000, "the number of jobs")
        var conditions: [String] = []
        var arguments: StoreArguments = []
        if !filter.states.isEmpty {
            conditions.append("state IN (\(filter.states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))")
        }
        func add(_ condition: String, _ values: any StoreValueConvertible...) {
            conditions.append(condition)
            arguments += values
        }
        if let position { add("position < ?", position) }
        if let queue = filter.queue { add("queue = ?", queue) }
        if let share = filter.share { add("share = ?", share) }
        for (name, value) in filter.labels {
            add("position IN (SELECT job FROM labels WHERE name = ? AND value = ?)", name, value)
        }
        let restriction = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
        arguments += [limit]
        let sql = "SELECT * FROM jobs \(restriction) ORDER BY position DESC LIMIT ?"
        return try rows(sql, arguments).map(Job.init(row:))
    }

    func records(_ filter: JobFilter, before position: Int64?, limit: Int) throws -> [JobRecord] {
        let queues = try queues()
        return try jobs(filter, before: position, limit: limit).map { try record(of: $0, queues) }
    }

    func cancel(_ id: JobID) throws -> Job {
        try change(try entry(try job(id))) { $0.cancel() }
    }

    func retry(_ id: JobID) throws -> Job {
        let known = try job(id)
        guard known.state == .failed || known.state == .cancelled else {
            throw StoreError(
                .invalidState,
                "the job cannot be retried",
                given: known.state.rawValue,
                allowed: "\(JobState.failed.rawValue), \(JobState.cancelled.rawValue)"
            )
        }
        try execute(
            "UPDATE jobs SET queued = ?, deadline = NULL WHERE position = ?",
            [time.milliseconds, known.position]
        )
        return try change(try entry(try job(id))) { $0.retry(at: time) }
    }

    func delete(_ id: JobID) throws {
        let known = try job(id)
        guard known.state.isFinal else {
            throw StoreError(
                .invalidState,
                "a job that has not ended cannot be deleted",
                given: known.state.rawValue,
                allowed: JobState.allCases.filter(\.isFinal).map(\.rawValue).joined(separator: ", ")
            )
        }
        try execute("DELETE FROM jobs WHERE position = ?", [known.position])
    }

    func events(after number: Int64, of id: JobID?, limit: Int) throws -> [JobEvent] {
        try check(limit, in: 1...1000, "the number of events")
        let last = try database.lastSettledEvent() ?? .max
        let position = try id.map { try job($0).position }
        let restriction = position == nil ? "" : "AND job = ?"
        let sql = """
            SELECT events.*, jobs.id FROM events JOIN jobs ON jobs.position = events.job
            WHERE number > ? AND number <= ? \(restriction) ORDER BY number LIMIT ?
            """
        let arguments: StoreArguments = position.map { [number, last, $0, limit] } ?? [number, last, limit]
        return try rows(sql, arguments).map(JobEvent.init(row:))
    }

    func lastEventNumber() throws -> Int64 {
        let last = try database.lastSettledEvent() ?? .max
        return try value(Int64.self, "SELECT MAX(number) FROM events WHERE number <= ?", [last]) ?? 0
    }

    private func reasonForWaiting(_ entry: Entry, _ queues: [QueueSettings]?) throws -> WaitingReason? {
        let waiting = entry.progression.tasks.compactMap { task -> (from: StoreTime, demand: Demand)? in
            if case .ready(let from) = task.state { (from, task.draft.demand) } else { nil }
        }
        guard !entry.progression.tasks.contains(where: \.state.isRunning),
            let next = waiting.min(by: { $0.from < $1.from })
        else { return nil }
        if next.from > time { return .pause(until: next.from) }
        let queues = try queues ?? self.queues()
        guard let queue = queues.first(where: { $0.name == entry.job.queue }) else {
            throw StoreError(.damaged, "a job has no queue", given: entry.job.queue)
        }
        if queue.isPaused { return .queuePaused }
        if !queue.isOpen(at: time) { return .queueClosed }
        if let most = queue.mostRunning, try running(in: queue.name) >= most { return .queueFull(most: most) }
        let sql = """
            SELECT COUNT(*) FROM tasks
            WHERE state = 'ready' AND queue = ? AND ready_from <= ? AND (priority > ? OR (priority = ? AND job < ?))
            """
        let before = try queues.filter { $0.isOpen(at: time) }.reduce(0) { count, queue in
            let arguments: StoreArguments = [
                queue.name, time.milliseconds, entry.job.priority, entry.job.priority, entry.job.position,
            ]
            return count + (try value(Int.self, sql, arguments) ?? 0)
        }
        return .worker(tasksBefore: before, next.demand)
    }

    func running(in queue: String) throws -> Int {
        let sql = "SELECT COUNT(*) FROM tasks WHERE queue = ? AND state = 'running'"
        return try value(Int.self, sql, [queue]) ?? 0
    }
}

/// A demand whose JSON is the same for equal demands.
private struct SortedDemand: Encodable {
    var abilities: [String]
    var amounts: [String: Double]

    init(_ demand: Demand) {
        abilities = demand.abilities.sorted()
        amounts = demand.amounts
    }
}

// MARK: - Queues

extension StoreTransaction {
    func queueStatuses() throws -> [QueueStatus] {
        try queues().map { settings in
            let sql = "SELECT COUNT(*) FROM tasks WHERE queue = ? AND state = 'ready'"
            let ready = try value(Int.self, sql, [settings.name]) ?? 0
            return QueueStatus(settings: settings, ready: ready, running: try running(in: settings.name))
        }
    }

    func setQueue(_ settings: QueueSettings) throws {
        try settings.validate()
        // It is not removed before this is there.
        if let hop = settings.hop { _ = try queue(hop.queue, locked: " FOR KEY SHARE") }
        try execute(
            """
            INSERT INTO queues (name, is_paused, most_running, windows, hop, weights) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (name) DO UPDATE SET is_paused = excluded.is_paused, most_running = excluded.most_running,
                windows = excluded.windows, hop = excluded.hop, weights = excluded.weights
            """,
            [
                settings.name, settings.isPaused, settings.mostRunning, try Column.json(settings.windows),
                try settings.hop.map(Column.json), try Column.json(settings.weights),
            ]
        )
    }

    func removeQueue(_ name: String) throws {
        _ = try queue(name, locked: " FOR UPDATE")
        let sql = "SELECT COUNT(*) FROM jobs WHERE queue = ?"
        let jobs = try value(Int.self, sql, [name]) ?? 0
        let hopping = try queues().filter { $0.hop?.queue == name }.map(\.name)
        let obstacle =
            name == QueueSettings.defaultName
            ? "it always exists"
            : jobs > 0 ? "\(jobs) jobs are in it" : hopping.first.map { "jobs hop to it from \($0)" }
        if let obstacle { throw StoreError(.invalidState, "the queue cannot be removed: \(obstacle)", given: name) }
        try execute("DELETE FROM queues WHERE name = ?", [name])
        try execute("DELETE FROM shares WHERE queue = ?", [name])
    }
}
