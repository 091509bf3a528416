// SPDX-License-Identifier: GPL-2.0-or-later

/// What workers do.
extension StoreTransaction {
    /// What a claim has found.
    enum ClaimOutcome: Sendable {
        case claimed(Claim)
        /// There is nothing for this worker.
        case nothing
        /// There is something, but others are changing it at this moment.
        case busy
    }

    func claim(_ request: ClaimRequest) throws -> ClaimOutcome {
        try check(request.lease.wholeMilliseconds, in: 1...86_400_000, "the lease in milliseconds")
        try check(request.worker.utf8.count, in: 1...256, "the length of the worker's name in bytes")
        var excluded: Set<ClaimGroup> = []
        // Waits for nobody, so that one frozen process does not hold up the others.
        while excluded.count < Self.mostChoices, let choice = try choose(for: request, excluding: excluded) {
            if let claim = try take(choice, request) { return .claimed(claim) }
            excluded.insert(choice.group)
        }
        return excluded.isEmpty ? .nothing : .busy
    }

    /// How many groups a claim tries because others were faster.
    private static let mostChoices = 20

    /// A group from which a worker takes a task, and what is known of the shares of its priority.
    private struct Choice {
        var group: ClaimGroup
        var queue: QueueSettings
        /// The shares as they are stored.
        var known: FairShares
        /// The shares with what waits now.
        var noted: FairShares
    }

    private func choose(for request: ClaimRequest, excluding excluded: Set<ClaimGroup>) throws -> Choice? {
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
        let possible = groups.filter { !excluded.contains($0) }
        let group = ClaimChoice.next(of: possible, noted) { isMet[$0] ?? false }
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
        if choice.queue.mostRunning != nil, !database.rowLock.isEmpty {
            // Who is next counts the task that this one takes.
            let sql = "SELECT * FROM queues WHERE name = ?\(database.rowLock) SKIP LOCKED"
            guard let queue = try row(sql, [group.key.queue]).map(QueueSettings.init(row:)), queue.isOpen(at: time),
                try queue.mostRunning.map({ try running(in: queue.name) < $0 }) ?? true
            else { return nil }
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
        for other in Set(known.keys).union(noted.keys).union([key]).sorted() {
            if other == key {
                try add(charged.time(of: key) - start, from: start, to: key, priority)
            } else if let entry = noted[other] {
                if known[other] != entry { try write(entry, of: other, priority) }
            } else if let entry = known[other] {
                // Unless another claim has charged it meanwhile.
                let sql = "DELETE FROM shares WHERE priority = ? AND queue = ? AND share = ? AND time <= ?"
                try execute(sql, [priority, other.queue, other.share, entry.time])
            }
        }
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

    private func add(_ cost: Double, from start: Double, to key: FairShares.Key, _ priority: Int) throws {
        try execute(
            """
            INSERT INTO shares (priority, queue, share, time, is_waiting) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (priority, queue, share) DO UPDATE SET is_waiting = excluded.is_waiting,
                time = CASE WHEN shares.time > ? THEN shares.time ELSE ? END + ?
            """,
            [priority, key.queue, key.share, start + cost, true, start, start, cost]
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

    /// The attempts of workers whose names begin so, without those that have begun to publish.
    func attempts(ofWorkersNamed prefix: String) throws -> [AttemptToken] {
        let sql = "SELECT token FROM leases WHERE substr(worker, 1, length(?)) = ? AND intent IS NULL ORDER BY token"
        return try values(Int64.self, sql, [prefix, prefix]).map(AttemptToken.init)
    }

    /// Gives the task of an attempt back, unless it has ended or begun to publish meanwhile.
    func giveBack(_ token: AttemptToken) throws -> Bool {
        guard let lease = try lease(token), lease.intent == nil else { return false }
        try end(token, lease, .released)
        return true
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

/// The parts of the upkeep. Each change finds out once more whether it is still due, so a store with many writers makes
/// each in a transaction of its own.
extension StoreTransaction {
    /// The attempts whose workers were not heard of in time.
    func lapsedAttempts() throws -> [AttemptToken] {
        let sql = "SELECT token FROM leases WHERE ends < ? AND intent IS NULL ORDER BY token"
        return try values(Int64.self, sql, [time.milliseconds]).map(AttemptToken.init)
    }

    /// Takes the task away from such an attempt.
    func takeAway(_ token: AttemptToken) throws -> Bool {
        let attempt = "SELECT job FROM attempts WHERE token = ?"
        guard let position = try value(Int64.self, attempt, [token.rawValue]), try isFree(position) else {
            return false
        }
        // A renewal that comes now finds no lease, or this finds it renewed.
        let sql = "SELECT job, task FROM leases WHERE token = ? AND intent IS NULL AND ends < ?\(database.rowLock)"
        guard let row = try row(sql, [token.rawValue, time.milliseconds]) else { return false }
        try end(token, try Lease(position: row["job"], task: row["task"]), .lost)
        return true
    }

    private static let isLate = "deadline < ? AND ended IS NULL AND failure IS NULL AND NOT is_cancel_requested"

    /// The positions of jobs whose time limits have passed.
    func lateJobs() throws -> [Int64] {
        try values(Int64.self, "SELECT position FROM jobs WHERE \(Self.isLate) ORDER BY position", [time.milliseconds])
    }

    /// Fails such a job.
    func failLate(_ position: Int64) throws -> JobID? {
        guard try isFree(position) else { return nil }
        let sql = "SELECT * FROM jobs WHERE position = ? AND \(Self.isLate)"
        guard let job = try row(sql, [position, time.milliseconds]).map(Job.init(row:)) else { return nil }
        try change(try entry(job)) {
            $0.fail(Failure(code: "time-limit-exceeded", message: "the time limit has passed", isRetriable: false))
        }
        return job.id
    }

    /// A job that has waited in a queue for so long that it moves to another one.
    struct Move: Sendable {
        var position: Int64
        var queue: String
        var hop: QueueSettings.Hop
    }

    /// The moves that are due.
    func moves() throws -> [Move] {
        try queues().flatMap { queue -> [Move] in
            guard let hop = queue.hop else { return [] }
            let sql = "SELECT position FROM jobs WHERE \(Self.hasWaited) ORDER BY position"
            return try values(Int64.self, sql, [queue.name, latest(hop)]).map {
                Move(position: $0, queue: queue.name, hop: hop)
            }
        }
    }

    private static let hasWaited = "queue = ? AND state = 'waiting' AND queued < ?"

    private func latest(_ hop: QueueSettings.Hop) -> Int64 {
        (time + .milliseconds(Int64(-hop.after * 1000))).milliseconds
    }

    /// Moves a job.
    func move(_ move: Move) throws -> JobID? {
        guard try isFree(move.position) else { return nil }
        let sql = "UPDATE jobs SET queue = ?, queued = ? WHERE position = ? AND \(Self.hasWaited) RETURNING id"
        let arguments: StoreArguments = [
            move.hop.queue, time.milliseconds, move.position, move.queue, latest(move.hop),
        ]
        guard let id = try value(String.self, sql, arguments).flatMap(JobID.init(rawValue:)) else { return nil }
        try execute("UPDATE tasks SET queue = ? WHERE job = ?", [move.hop.queue, move.position])
        try note("moved", move.hop.queue, of: move.position)
        return id
    }

    /// Jobs whose retention is over, at most 100.
    func expiredJobs() throws -> [JobID] {
        let sql = "SELECT id FROM jobs WHERE ended IS NOT NULL AND ended + retention < ? LIMIT 100"
        return try values(String.self, sql, [time.milliseconds]).compactMap(JobID.init(rawValue:))
    }

    /// Locks a job for the upkeep, which does not wait for those who change it.
    private func isFree(_ position: Int64) throws -> Bool {
        guard !database.rowLock.isEmpty else { return true }
        let sql = "SELECT position FROM jobs WHERE position = ?\(database.rowLock) SKIP LOCKED"
        return try row(sql, [position]) != nil
    }

    /// Notes when the store was tended.
    func noteUpkeep() throws {
        try execute(
            """
            INSERT INTO properties (name, value) VALUES ('time', ?)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """,
            [time.milliseconds]
        )
    }

    /// Removes the times of priorities in which nothing waits, so that they never grow beyond what a number can hold.
    func forgetIdleShares() throws {
        for table in ["shares", "turns"] {
            // One probe of the index for each queue.
            try execute(
                """
                DELETE FROM \(table) WHERE NOT EXISTS (
                    SELECT 1 FROM queues WHERE EXISTS (
                        SELECT 1 FROM tasks
                        WHERE state = 'ready' AND tasks.queue = queues.name AND tasks.priority = \(table).priority
                    )
                )
                """
            )
        }
    }
}

extension StoreError {
    fileprivate static func ending(_ job: JobID) -> StoreError {
        StoreError(.cancelled, "the job was cancelled or has failed", given: job.rawValue)
    }
}
