// SPDX-License-Identifier: GPL-2.0-or-later

/// What workers do.
extension StoreTransaction {
    func claim(_ request: ClaimRequest) throws -> Claim? {
        try check(request.lease.wholeMilliseconds, in: 1...86_400_000, "the lease in milliseconds")
        try check(request.worker.utf8.count, in: 1...256, "the length of the worker's name in bytes")
        // Others may take what was chosen before its job is locked. Who finds nothing then asks again later anyway.
        for _ in 0..<Self.mostChoices {
            guard let choice = try choose(for: request) else { return nil }
            if let claim = try take(choice, request) { return claim }
        }
        return nil
    }

    /// How often a claim chooses anew because others were faster.
    private static let mostChoices = 10

    /// A group from which a worker takes a task, and what is known of the shares of its priority.
    private struct Choice {
        var group: ClaimGroup
        var queue: QueueSettings
        /// The shares as they are stored.
        var known: FairShares
        /// The shares with what waits now.
        var noted: FairShares
    }

    private func choose(for request: ClaimRequest) throws -> Choice? {
        let open = try queues().filter { $0.isOpen(at: time) }
        let asked = try open.filter { queue in
            guard request.queues.isEmpty || request.queues.contains(queue.name) else { return false }
            return try queue.mostRunning.map { try running(in: queue.name) < $0 } ?? true
        }
        // The turns of the shares of others must not be lost by this.
        let unknown = Set(open.map(\.name)).subtracting(asked.map(\.name))
        let groups = try asked.flatMap { try self.groups(of: $0.name) }
        var known: [Int: FairShares] = [:]
        var noted: [Int: FairShares] = [:]
        for (priority, groups) in Dictionary(grouping: groups, by: \.priority) {
            let shares = try fairShares(priority)
            known[priority] = shares
            noted[priority] = shares
            noted[priority]?.note(waiting: Set(groups.map(\.key)), unknown: unknown)
        }
        var isMet: [Int64: Bool] = [:]
        for number in Set(groups.map(\.demand)) { isMet[number] = try demand(number).isMet(by: request.offer) }
        let group = ClaimChoice.next(of: groups, noted) { isMet[$0] ?? false }
        guard let group, let queue = open.first(where: { $0.name == group.key.queue }),
            let known = known[group.priority], let noted = noted[group.priority]
        else { return nil }
        return Choice(group: group, queue: queue, known: known, noted: noted)
    }

    private func groups(of queue: String) throws -> [ClaimGroup] {
        try rows(database.readyGroups, [queue, time.milliseconds]).map { row in
            try ClaimGroup(
                key: FairShares.Key(queue: queue, share: row["share"]),
                priority: row["priority"],
                demand: row["demand"],
                position: row["job"]
            )
        }
    }

    private func fairShares(_ priority: Int) throws -> FairShares {
        let rows = try rows("SELECT * FROM shares WHERE priority = ?", [priority])
        let present = try value(
            Double.self,
            "SELECT present FROM turns WHERE priority = ?",
            [priority]
        )
        var entries: [FairShares.Key: FairShares.Entry] = [:]
        for row in rows {
            let key = try FairShares.Key(queue: row["queue"], share: row["share"])
            entries[key] = try FairShares.Entry(time: row["time"], isWaiting: row["is_waiting"])
        }
        return FairShares(entries: entries, present: present ?? 0)
    }

    /// Takes a task of the chosen group.
    ///
    /// - Returns: `nil` if others were faster.
    private func take(_ choice: Choice, _ request: ClaimRequest) throws -> Claim? {
        let group = choice.group
        if let most = choice.queue.mostRunning, !database.rowLock.isEmpty {
            // Who is next counts the task that this one takes.
            _ = try rows("SELECT name FROM queues WHERE name = ?\(database.rowLock)", [group.key.queue])
            guard try running(in: group.key.queue) < most else { return nil }
        }
        guard let position = try database.lockJob(of: group, at: time, self) else { return nil }
        let entry = try entry(at: position)
        let sql = """
            SELECT MIN(number) FROM tasks WHERE state = 'ready' AND job = ? AND demand = ? AND queue = ? AND ready_from <= ?
            """
        let arguments: StoreArguments = [position, group.demand, group.key.queue, time.milliseconds]
        guard let index = try value(Int.self, sql, arguments) else { return nil }
        let claim = try start(index, of: entry, request)
        try charge(choice, cost: claim.draft.cost)
        return claim
    }

    /// Charges the share of a choice, and writes what else is new of the shares. Charges add up, whoever else writes.
    private func charge(_ choice: Choice, cost: Double) throws {
        let (key, priority) = (choice.group.key, choice.group.priority)
        var charged = choice.noted
        charged.charge(key, cost: cost, weight: choice.queue.weights[key.share] ?? 1)
        let start = choice.noted.time(of: key)
        let (known, noted) = (choice.known.entries, choice.noted.entries)
        // The same order for all, so that no two of them wait for each other.
        for other in Set(known.keys).union(noted.keys).sorted() where other != key && known[other] != noted[other] {
            if let entry = noted[other] {
                try write(entry, of: other, priority)
            } else {
                let sql = "DELETE FROM shares WHERE priority = ? AND queue = ? AND share = ?"
                try execute(sql, [priority, other.queue, other.share])
            }
        }
        try execute(
            """
            INSERT INTO shares (priority, queue, share, time, is_waiting) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (priority, queue, share) DO UPDATE SET is_waiting = excluded.is_waiting,
                time = CASE WHEN shares.time > ? THEN shares.time ELSE ? END + ?
            """,
            [
                priority, key.queue, key.share, charged.time(of: key), true, start, start,
                charged.time(of: key) - start,
            ]
        )
        guard charged.present > choice.known.present || choice.known.entries.isEmpty else { return }
        try execute(
            """
            INSERT INTO turns (priority, present) VALUES (?, ?)
            ON CONFLICT (priority) DO UPDATE SET
                present = CASE WHEN turns.present > excluded.present THEN turns.present ELSE excluded.present END
            """,
            [priority, charged.present]
        )
    }

    private func write(_ entry: FairShares.Entry, of key: FairShares.Key, _ priority: Int) throws {
        try execute(
            """
            INSERT INTO shares (priority, queue, share, time, is_waiting) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (priority, queue, share) DO UPDATE SET is_waiting = excluded.is_waiting,
                time = CASE WHEN shares.time > excluded.time THEN shares.time ELSE excluded.time END
            """,
            [priority, key.queue, key.share, entry.time, entry.isWaiting]
        )
    }

    /// Gives a task that is ready to a worker.
    private func start(_ index: Int, of entry: Entry, _ request: ClaimRequest) throws -> Claim {
        let position = entry.job.position
        let number = try value(
            Int64.self,
            "INSERT INTO attempts (job, task, worker, started) VALUES (?, ?, ?, ?) RETURNING token",
            [position, index, request.worker, time.milliseconds]
        )
        guard let token = number.map(AttemptToken.init(rawValue:)) else {
            throw Column.damaged("token of a new attempt", entry.job.id.rawValue)
        }
        try execute(
            "INSERT INTO leases (token, job, task, worker, ends) VALUES (?, ?, ?, ?, ?)",
            [
                token.rawValue, position, index, request.worker, (time + request.lease).milliseconds,
            ]
        )
        try note("started", request.worker, of: position, task: index, token)
        try change(entry) { $0.start(index, token) }
        let task = entry.progression.tasks[index]
        let count = try value(
            Int.self,
            "SELECT COUNT(*) FROM attempts WHERE job = ? AND task = ?",
            [position, index]
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

    func renew(_ heartbeats: [Heartbeat], for lease: Duration) throws -> [AttemptToken: Renewal] {
        try check(lease.wholeMilliseconds, in: 1...86_400_000, "the lease in milliseconds")
        var renewals: [AttemptToken: Renewal] = [:]
        for heartbeat in heartbeats {
            let token = heartbeat.token
            // A lease that has ended and was not taken away goes on.
            let ends = (time + lease).milliseconds
            let changes = try execute(
                """
                UPDATE leases SET ends = CASE WHEN ends > ? THEN ends ELSE ? END, progress = COALESCE(?, progress)
                WHERE token = ?
                """,
                [ends, ends, heartbeat.progress, token.rawValue]
            )
            guard changes > 0 else {
                renewals[token] = .isLost
                continue
            }
            let sql = """
                SELECT is_cancel_requested OR failure IS NOT NULL FROM jobs
                WHERE position = (SELECT job FROM leases WHERE token = ?)
                """
            let isEnding = try value(Bool.self, sql, [token.rawValue]) ?? true
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

    /// Returns the lease of the task's present attempt, which has not begun to publish.
    ///
    /// - Throws: `staleAttempt`; `unsettled`.
    private func unpublished(_ token: AttemptToken) throws -> Lease {
        let lease = try present(token)
        guard lease.intent == nil else {
            throw StoreError(
                .unsettled,
                "the attempt has begun to publish, and must be settled",
                given: "\(token.rawValue)"
            )
        }
        return lease
    }

    /// Records that an attempt is about to publish.
    func intend(_ token: AttemptToken, result: String, intent: String) throws {
        let lease = try unpublished(token)
        let entry = try entry(at: lease.position)
        guard !entry.progression.isEnding else { throw StoreError.ending(entry.job.id) }
        try execute(
            "UPDATE leases SET result = ?, intent = ? WHERE token = ?",
            [result, intent, token.rawValue]
        )
    }

    /// Publishes and completes. The attempt is present, because attempts with an intent are not taken away; but its job
    /// may be ending since. Then, nothing is published, and the intent is withdrawn.
    ///
    /// - Returns: The error of a job that is ending, which must not undo this transaction.
    func complete(_ token: AttemptToken, result: String, publish: () throws -> Void) throws -> StoreError? {
        let lease = try present(token)
        let entry = try entry(at: lease.position)
        guard !entry.progression.isEnding else {
            try execute(
                "UPDATE leases SET result = NULL, intent = NULL WHERE token = ?",
                [token.rawValue]
            )
            return StoreError.ending(entry.job.id)
        }
        do {
            try publish()
        } catch {
            throw StoreError(.publishFailed, "the result could not be published: \(error)", given: "\(token.rawValue)")
        }
        try end(token, lease, .succeeded, result: result, of: entry)
        return nil
    }

    func end(_ token: AttemptToken, _ outcome: AttemptOutcome) throws {
        try end(token, try unpublished(token), outcome)
    }

    func releaseAll(ofWorkersNamed prefix: String) throws -> Int {
        let sql = "SELECT token FROM leases WHERE substr(worker, 1, length(?)) = ? AND intent IS NULL"
        let tokens = try values(Int64.self, sql, [prefix, prefix]).map(AttemptToken.init)
        for token in tokens { try end(token, .released) }
        return tokens.count
    }

    func unsettledAttempts() throws -> [UnsettledAttempt] {
        let sql = """
            SELECT leases.*, jobs.id FROM leases JOIN jobs ON jobs.position = leases.job
            WHERE intent IS NOT NULL ORDER BY token
            """
        return try rows(sql).map { row in
            let identifier: String = try row["id"]
            guard let id = JobID(rawValue: identifier) else { throw Column.damaged("ID of a job", identifier) }
            return try UnsettledAttempt(
                token: AttemptToken(rawValue: row["token"]),
                task: TaskID(job: id, index: row["task"]),
                worker: row["worker"],
                result: row["result"] ?? "",
                intent: row["intent"],
                hasLapsed: StoreTime(milliseconds: row["ends"]) < time
            )
        }
    }

    func settle(_ token: AttemptToken, wasPublished: Bool) throws {
        let lease = try present(token)
        guard lease.intent != nil else {
            throw StoreError(.staleAttempt, "the attempt has not begun to publish", given: "\(token.rawValue)")
        }
        let sql = "SELECT result FROM leases WHERE token = ?"
        let result = try value(String.self, sql, [token.rawValue])
        try end(token, lease, wasPublished ? .succeeded : .released, result: wasPublished ? result : nil)
    }
}

// MARK: - Upkeep

extension StoreTransaction {
    func tend() throws -> UpkeepReport {
        var report = UpkeepReport()
        let lost = "SELECT token FROM leases WHERE ends < ? AND intent IS NULL ORDER BY token"
        report.lost = try values(Int64.self, lost, [time.milliseconds]).map(AttemptToken.init)
        for token in report.lost { try end(token, .lost) }
        let late = """
            SELECT * FROM jobs WHERE deadline < ? AND ended IS NULL AND failure IS NULL AND NOT is_cancel_requested
            """
        for row in try rows(late, [time.milliseconds]) {
            let job = try Job(row: row)
            try change(try entry(job)) {
                $0.fail(Failure(code: "time-limit-exceeded", message: "the time limit has passed", isRetriable: false))
            }
            report.late.append(job.id)
        }
        for queue in try queues() {
            guard let hop = queue.hop else { continue }
            report.moved += try move(from: queue.name, hop)
        }
        let expired = "SELECT id FROM jobs WHERE ended IS NOT NULL AND ended + retention < ? LIMIT 100"
        report.expired = try values(String.self, expired, [time.milliseconds])
            .compactMap(JobID.init(rawValue:))
        try forgetIdleShares()
        try execute(
            """
            INSERT INTO properties (name, value) VALUES ('time', ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """,
            [time.milliseconds]
        )
        return report
    }

    private func move(from queue: String, _ hop: QueueSettings.Hop) throws -> [JobID] {
        let limit = time + .milliseconds(Int64(-hop.after * 1000))
        let sql = "SELECT * FROM jobs WHERE queue = ? AND state = 'waiting' AND queued < ?"
        let jobs = try rows(sql, [queue, limit.milliseconds]).map(Job.init(row:))
        for job in jobs {
            try execute(
                "UPDATE jobs SET queue = ?, queued = ? WHERE position = ?",
                [hop.queue, time.milliseconds, job.position]
            )
            try execute(
                "UPDATE tasks SET queue = ? WHERE job = ?",
                [hop.queue, job.position]
            )
            try note("moved", hop.queue, of: job.position)
        }
        return jobs.map(\.id)
    }

    /// Removes the times of priorities in which nothing waits, so that they never grow beyond what a number can hold.
    private func forgetIdleShares() throws {
        let idle = "priority NOT IN (SELECT DISTINCT priority FROM tasks WHERE state = 'ready')"
        try execute("DELETE FROM shares WHERE \(idle)")
        try execute("DELETE FROM turns WHERE \(idle)")
    }
}

extension StoreError {
    fileprivate static func ending(_ job: JobID) -> StoreError {
        StoreError(.cancelled, "the job was cancelled or has failed", given: job.rawValue)
    }
}
