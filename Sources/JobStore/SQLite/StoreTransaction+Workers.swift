// SPDX-License-Identifier: GPL-2.0-or-later

internal import GRDB

/// What workers do.
extension StoreTransaction {
    func claim(_ request: ClaimRequest) throws -> Claim? {
        try check(request.lease.wholeMilliseconds, in: 1...86_400_000, "the lease in milliseconds")
        try check(request.worker.utf8.count, in: 1...256, "the length of the worker's name in bytes")
        let open = try queues().filter { queue in
            guard request.queues.isEmpty || request.queues.contains(queue.name), queue.isOpen(at: time) else {
                return false
            }
            return try queue.mostRunning.map { try running(in: queue.name) < $0 } ?? true
        }
        let groups = try open.flatMap { try self.groups(of: $0.name) }
        var shares: [Int: FairShares] = [:]
        for priority in Set(groups.map(\.priority)) { shares[priority] = try fairShares(priority) }
        let demands = try self.demands(Set(groups.map(\.demand)))
        let group = ClaimChoice.next(of: groups, shares) { demands[$0]?.isMet(by: request.offer) ?? false }
        guard let group, let queue = open.first(where: { $0.name == group.key.queue }) else { return nil }
        let claim = try start(group, request)
        var fair = shares[group.priority] ?? FairShares()
        fair.charge(group.key, cost: claim.draft.cost, weight: queue.weights[group.key.share] ?? 1)
        try write(fair, group)
        return claim
    }

    private func groups(of queue: String) throws -> [ClaimGroup] {
        let sql = """
            SELECT priority, share, demand, MIN(job) AS job FROM tasks
            WHERE state = 'ready' AND queue = ? AND ready_from <= ? GROUP BY priority, share, demand
            """
        return try Row.fetchAll(database, sql: sql, arguments: [queue, time.milliseconds]).map { row in
            ClaimGroup(
                key: FairShares.Key(queue: queue, share: row["share"]),
                priority: row["priority"],
                demand: row["demand"],
                position: row["job"]
            )
        }
    }

    private func demands(_ numbers: Set<Int64>) throws -> [Int64: Demand] {
        var demands: [Int64: Demand] = [:]
        for number in numbers {
            let sql = "SELECT demand FROM demands WHERE number = ?"
            if let text = try String.fetchOne(database, sql: sql, arguments: [number]) {
                demands[number] = try Column.value(Demand.self, text)
            }
        }
        return demands
    }

    private func fairShares(_ priority: Int) throws -> FairShares {
        let rows = try Row.fetchAll(database, sql: "SELECT * FROM shares WHERE priority = ?", arguments: [priority])
        let present = try Double.fetchOne(
            database,
            sql: "SELECT present FROM turns WHERE priority = ?",
            arguments: [priority]
        )
        var times: [FairShares.Key: Double] = [:]
        for row in rows { times[FairShares.Key(queue: row["queue"], share: row["share"])] = row["time"] }
        return FairShares(times: times, present: present ?? 0)
    }

    private func write(_ shares: FairShares, _ group: ClaimGroup) throws {
        try database.execute(
            sql: "INSERT OR REPLACE INTO shares VALUES (?, ?, ?, ?)",
            arguments: [group.priority, group.key.queue, group.key.share, shares.time(of: group.key)]
        )
        try database.execute(
            sql: "INSERT OR REPLACE INTO turns VALUES (?, ?)",
            arguments: [group.priority, shares.present]
        )
    }

    /// Gives the first task of a group to a worker.
    private func start(_ group: ClaimGroup, _ request: ClaimRequest) throws -> Claim {
        let entry = try entry(at: group.position)
        let sql = """
            SELECT MIN(number) FROM tasks WHERE state = 'ready' AND job = ? AND demand = ? AND ready_from <= ?
            """
        let arguments: StatementArguments = [group.position, group.demand, time.milliseconds]
        guard let index = try Int.fetchOne(database, sql: sql, arguments: arguments) else {
            throw StoreError(.damaged, "a task that was ready is not there", given: entry.job.id.rawValue)
        }
        try database.execute(
            sql: "INSERT INTO attempts (job, task, worker, started) VALUES (?, ?, ?, ?)",
            arguments: [group.position, index, request.worker, time.milliseconds]
        )
        let token = AttemptToken(rawValue: database.lastInsertedRowID)
        try database.execute(
            sql: "INSERT INTO leases (token, job, task, worker, ends) VALUES (?, ?, ?, ?, ?)",
            arguments: [
                token.rawValue, group.position, index, request.worker, (time + request.lease).milliseconds,
            ]
        )
        try note("started", request.worker, of: group.position, task: index, token)
        try change(entry) { $0.start(index, token) }
        let task = entry.progression.tasks[index]
        let count = try Int.fetchOne(
            database,
            sql: "SELECT COUNT(*) FROM attempts WHERE job = ? AND task = ?",
            arguments: [group.position, index]
        )
        var results: [Int: String] = [:]
        for dependency in task.draft.dependencies { results[dependency] = entry.progression.tasks[dependency].result }
        return Claim(
            token: token,
            number: count ?? 1,
            task: task.id,
            draft: task.draft,
            request: entry.job.request,
            results: results,
            lastFailure: task.failure
        )
    }

    func renew(_ progress: [AttemptToken: String?], for lease: Duration) throws -> [AttemptToken: Renewal] {
        try check(lease.wholeMilliseconds, in: 1...86_400_000, "the lease in milliseconds")
        var renewals: [AttemptToken: Renewal] = [:]
        for (token, progress) in progress {
            // A lease that has ended and was not taken away goes on.
            try database.execute(
                sql: "UPDATE leases SET ends = MAX(ends, ?), progress = COALESCE(?, progress) WHERE token = ?",
                arguments: [(time + lease).milliseconds, progress, token.rawValue]
            )
            guard database.changesCount > 0 else {
                renewals[token] = .isLost
                continue
            }
            let sql = """
                SELECT is_cancel_requested OR failure IS NOT NULL FROM jobs
                WHERE position = (SELECT job FROM leases WHERE token = ?)
                """
            let isEnding = try Bool.fetchOne(database, sql: sql, arguments: [token.rawValue]) ?? true
            renewals[token] = isEnding ? .isCancelled : .continues
        }
        return renewals
    }

    /// Returns the lease of the task's present attempt.
    ///
    /// - Throws: `staleAttempt`.
    private func present(_ token: AttemptToken) throws -> Lease {
        guard let lease = try lease(token) else {
            throw StoreError(
                .staleAttempt,
                "the attempt has ended, or has lost its task",
                given: "\(token.rawValue)"
            )
        }
        return lease
    }

    /// Records that an attempt is about to publish.
    func intend(_ token: AttemptToken, result: String, intent: String) throws {
        let lease = try present(token)
        let entry = try entry(at: lease.position)
        guard !entry.progression.isEnding else {
            throw StoreError(.cancelled, "the job is ending", given: entry.job.id.rawValue)
        }
        try database.execute(
            sql: "UPDATE leases SET result = ?, intent = ? WHERE token = ?",
            arguments: [result, intent, token.rawValue]
        )
    }

    /// Publishes and completes. The attempt is present, because attempts with an intent are not taken away; but its job
    /// may have been cancelled since.
    func complete(_ token: AttemptToken, result: String, publish: () throws -> Void) throws {
        let lease = try present(token)
        let entry = try entry(at: lease.position)
        guard !entry.progression.isEnding else {
            try database.execute(
                sql: "UPDATE leases SET result = NULL, intent = NULL WHERE token = ?",
                arguments: [token.rawValue]
            )
            throw StoreError(.cancelled, "the job is ending", given: entry.job.id.rawValue)
        }
        try publish()
        try end(token, lease, .succeeded, result: result)
    }

    func end(_ token: AttemptToken, _ outcome: AttemptOutcome) throws { try end(token, try present(token), outcome) }

    func releaseAll(ofWorkersNamed prefix: String) throws -> Int {
        let sql = "SELECT token FROM leases WHERE substr(worker, 1, length(?)) = ? AND intent IS NULL"
        let tokens = try Int64.fetchAll(database, sql: sql, arguments: [prefix, prefix]).map(AttemptToken.init)
        for token in tokens { try end(token, .released) }
        return tokens.count
    }

    func unsettledAttempts() throws -> [UnsettledAttempt] {
        let sql = """
            SELECT leases.*, jobs.id FROM leases JOIN jobs ON jobs.position = leases.job
            WHERE intent IS NOT NULL ORDER BY token
            """
        return try Row.fetchAll(database, sql: sql).map { row in
            let identifier: String = row["id"]
            guard let id = JobID(rawValue: identifier) else { throw Column.damaged("ID of a job", identifier) }
            return UnsettledAttempt(
                token: AttemptToken(rawValue: row["token"]),
                task: TaskID(job: id, index: row["task"]),
                worker: row["worker"],
                result: row["result"] ?? "",
                intent: row["intent"]
            )
        }
    }

    func settle(_ token: AttemptToken, wasPublished: Bool) throws {
        let lease = try present(token)
        guard lease.intent != nil else {
            throw StoreError(.staleAttempt, "the attempt has not begun to publish", given: "\(token.rawValue)")
        }
        let sql = "SELECT result FROM leases WHERE token = ?"
        let result = try String.fetchOne(database, sql: sql, arguments: [token.rawValue])
        try end(token, lease, wasPublished ? .succeeded : .released, result: wasPublished ? result : nil)
    }
}

// MARK: - Upkeep

extension StoreTransaction {
    func tend() throws -> UpkeepReport {
        var report = UpkeepReport()
        let lost = "SELECT token FROM leases WHERE ends < ? AND intent IS NULL ORDER BY token"
        report.lost = try Int64.fetchAll(database, sql: lost, arguments: [time.milliseconds]).map(AttemptToken.init)
        for token in report.lost { try end(token, .lost) }
        let late = "SELECT * FROM jobs WHERE deadline < ? AND ended IS NULL AND failure IS NULL"
        for row in try Row.fetchAll(database, sql: late, arguments: [time.milliseconds]) {
            let job = try Job(row: row)
            try change(try entry(job)) {
                $0.fail(Failure(code: "deadline-exceeded", message: "the deadline has passed", isRetriable: false))
            }
            report.late.append(job.id)
        }
        for queue in try queues() {
            guard let hop = queue.hop else { continue }
            report.moved += try move(from: queue.name, hop)
        }
        let expired = "SELECT id FROM jobs WHERE ended IS NOT NULL AND ended + retention < ? LIMIT 100"
        report.expired = try String.fetchAll(database, sql: expired, arguments: [time.milliseconds])
            .compactMap(JobID.init(rawValue:))
        try forgetIdleShares()
        try database.execute(
            sql: "INSERT OR REPLACE INTO properties VALUES ('time', ?)",
            arguments: [time.milliseconds]
        )
        return report
    }

    private func move(from queue: String, _ hop: QueueSettings.Hop) throws -> [JobID] {
        let limit = time + .milliseconds(Int64(-hop.after * 1000))
        let sql = "SELECT * FROM jobs WHERE queue = ? AND state = 'waiting' AND queued < ?"
        let jobs = try Row.fetchAll(database, sql: sql, arguments: [queue, limit.milliseconds]).map(Job.init(row:))
        for job in jobs {
            try database.execute(
                sql: "UPDATE jobs SET queue = ?, queued = ? WHERE position = ?",
                arguments: [hop.queue, time.milliseconds, job.position]
            )
            try database.execute(
                sql: "UPDATE tasks SET queue = ? WHERE job = ?",
                arguments: [hop.queue, job.position]
            )
            try note("moved", hop.queue, of: job.position)
        }
        return jobs.map(\.id)
    }

    /// Removes the times of shares that would begin at the present one anyway.
    private func forgetIdleShares() throws {
        try database.execute(
            sql: """
                DELETE FROM shares
                WHERE time <= (SELECT present FROM turns WHERE turns.priority = shares.priority)
                """
        )
    }
}
