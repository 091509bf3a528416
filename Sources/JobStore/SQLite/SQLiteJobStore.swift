// SPDX-License-Identifier: GPL-2.0-or-later

internal import GRDB

/// A job store in an SQLite database on a local file system. One object of one process has the database at a time.
///
/// Every change is on the disk when a call returns (`synchronous=FULL`).
package final class SQLiteJobStore: JobStore {
    private let pool: DatabasePool
    private let clock: StoreClock
    private let file: StoreFile
    private let demands = KnownDemands()
    /// What was done to open the database; `nil` if it was sound.
    package let repair: Repair?

    /// What had to be done to open a damaged database.
    ///
    /// The backup lacks what came later: jobs that were submitted since are not there, and tasks that were completed since
    /// will run again. Look for their results before any worker gets a task. No number is issued twice: the tokens of
    /// attempts, the positions of jobs and the numbers of events leave a large gap.
    package struct Repair: Sendable, Hashable {
        /// What was wrong.
        package var damage: String
        /// Where the damaged database is now; `nil` if there was none.
        package var damagedPath: String?
        /// The backup, a copy of which has taken its place.
        package var backupPath: String
    }

    /// Opens a database, or creates it. A damaged one is replaced by its last backup: see ``repair``.
    ///
    /// - Parameter path: The path of the database. Beside it, there are `-wal`, `-shm`, `.lock`, and `.backup` after
    ///   ``backUp()``.
    /// - Throws: `unavailable` if it cannot be opened, is open elsewhere, or is on a network file system; `damaged` if there
    ///   is no sound backup; `version` if it was written by a later version.
    package convenience init(path: String) throws(StoreError) { try self.init(path: path, clock: .system) }

    init(path: String, clock source: StoreClock.Source, patience: Double = 5) throws(StoreError) {
        file = try StoreFile(path: path, patience: patience)
        (pool, repair) = try file.openSound()
        clock = StoreClock(source)
        let known = try storing { [pool] in
            try pool.read { database in
                let upkeep = try Int64.fetchOne(database, sql: "SELECT value FROM properties WHERE name = 'time'")
                let last = "SELECT time FROM events ORDER BY number DESC LIMIT 1"
                return try [upkeep, Int64.fetchOne(database, sql: last)].compactMap(\.self).max()
            }
        }
        if let known { clock.advance(to: StoreTime(milliseconds: known)) }
    }

    /// Writes a copy of the database beside it, which the next start uses if the database is damaged then. Changes go on
    /// meanwhile.
    ///
    /// - Throws: `unavailable` if it cannot be written; the backup before is left then.
    package func backUp() async throws(StoreError) {
        let file = file
        try await Self.unCancelled { try file.backUp() }
    }

    /// The number of times that a commit waits for the disk: 2 is `FULL` (SQLite's `PRAGMA synchronous`).
    var synchronous: Int? {
        get async throws(StoreError) {
            try await Self.unCancelled { [pool] in
                try await pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
            }
        }
    }

    /// Limits the size of the database, as a full disk would.
    func limitPages(to count: Int) async throws(StoreError) {
        try await Self.unCancelled { [pool] in
            try await pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(count)") }
        }
    }

    // MARK: Access

    /// - Parameter time: The time of the change; `nil` for that at which it begins.
    private func write<Value: Sendable>(
        at time: StoreTime? = nil,
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        let clock = clock
        return try await Self.unCancelled { [pool, demands] in
            try await pool.write {
                let database = SQLiteDatabase(connection: $0)
                return try body(StoreTransaction(database: database, time: time ?? clock.now, demands: demands))
            }
        }
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        let clock = clock
        return try await Self.unCancelled { [pool, demands] in
            try await pool.read {
                let database = SQLiteDatabase(connection: $0)
                return try body(StoreTransaction(database: database, time: clock.now, demands: demands))
            }
        }
    }

    /// A call that has begun is completed, even if its task is cancelled: the caller knows its effect then.
    private static func unCancelled<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws(StoreError) -> Value {
        switch await Task(operation: body).result {
        case .success(let value): return value
        case .failure(let error): throw StoreError(error)
        }
    }
}

/// Calls GRDB and converts its errors.
func storing<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
    do { return try body() } catch { throw StoreError(error) }
}

extension StoreError {
    /// Converts an error of GRDB, or of what was published.
    init(_ error: any Error) {
        if let error = error as? StoreError {
            self = error
        } else if let error = error as? DatabaseError {
            let isDamage = [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
            let text = error.message ?? "SQLite error \(error.resultCode.rawValue)"
            self.init(isDamage ? .damaged : .unavailable, "the job store cannot be used: \(text)")
        } else if error is EncodingError {
            self.init(.invalidArgument, "a value cannot be stored: \(error)")
        } else {
            self.init(.unavailable, "\(error)")
        }
    }
}

// MARK: - Calls

extension SQLiteJobStore {
    package func submit(_ draft: JobDraft) async throws(StoreError) -> (job: Job, isNew: Bool) {
        try await write { try $0.submit(draft) }
    }

    package func job(_ id: JobID) async throws(StoreError) -> JobRecord {
        try await read { try $0.record(of: $0.job(id)) }
    }

    package func jobs(
        _ filter: JobFilter,
        before position: Int64?,
        limit: Int
    ) async throws(StoreError) -> [Job] {
        try await read { try $0.jobs(filter, before: position, limit: limit) }
    }

    package func records(
        _ filter: JobFilter,
        before position: Int64?,
        limit: Int
    ) async throws(StoreError) -> [JobRecord] {
        try await read { try $0.records(filter, before: position, limit: limit) }
    }

    package func cancel(_ id: JobID) async throws(StoreError) -> Job { try await write { try $0.cancel(id) } }

    package func retry(_ id: JobID) async throws(StoreError) -> Job { try await write { try $0.retry(id) } }

    package func delete(_ id: JobID) async throws(StoreError) { try await write { try $0.delete(id) } }

    package func events(after number: Int64, of job: JobID?, limit: Int) async throws(StoreError) -> [JobEvent] {
        try await read { try $0.events(after: number, of: job, limit: limit) }
    }

    package func lastEventNumber() async throws(StoreError) -> Int64 { try await read { try $0.lastEventNumber() } }

    package func queues() async throws(StoreError) -> [QueueStatus] { try await read { try $0.queueStatuses() } }

    package func setQueue(_ settings: QueueSettings) async throws(StoreError) {
        try await write { try $0.setQueue(settings) }
    }

    package func removeQueue(_ name: String) async throws(StoreError) {
        try await write { try $0.removeQueue(name) }
    }

    package func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim? {
        try await write {
            if case .claimed(let claim) = try $0.claim(request) { claim } else { nil }
        }
    }

    package func renew(
        _ heartbeats: [Heartbeat],
        for lease: Duration
    ) async throws(StoreError) -> [AttemptToken: Renewal] {
        try await write { try $0.renew(heartbeats, for: lease) }
    }

    package func complete(
        _ token: AttemptToken,
        result: String,
        intent: String,
        publish: @escaping @Sendable () throws -> Void
    ) async throws(StoreError) {
        try await write { try $0.intend(token, result: result, intent: intent) }
        if let error = try await write({ try $0.complete(token, result: result, publish: publish) }) { throw error }
    }

    package func fail(_ token: AttemptToken, _ failure: Failure) async throws(StoreError) {
        try await write { try $0.end(token, .failed(failure)) }
    }

    package func release(_ token: AttemptToken) async throws(StoreError) {
        try await write { try $0.end(token, .released) }
    }

    package func releaseAll(ofWorkersNamed prefix: String) async throws(StoreError) -> Int {
        try await write { transaction in
            try transaction.attempts(ofWorkersNamed: prefix).filter { try transaction.giveBack($0) }.count
        }
    }

    package func unsettledAttempts() async throws(StoreError) -> [UnsettledAttempt] {
        try await read { try $0.unsettledAttempts() }
    }

    package func settle(_ token: AttemptToken, wasPublished: Bool) async throws(StoreError) {
        try await write { try $0.settle(token, wasPublished: wasPublished) }
    }

    package func tend() async throws(StoreError) -> UpkeepReport {
        try await write(at: clock.now) { transaction in
            var report = UpkeepReport()
            report.lost = try transaction.lapsedAttempts().filter { try transaction.takeAway($0) }
            report.late = try transaction.lateJobs().compactMap { try transaction.failLate($0) }
            report.moved = try transaction.moves().compactMap { try transaction.move($0) }
            report.expired = try transaction.expiredJobs()
            try transaction.forgetIdleShares()
            try transaction.noteUpkeep()
            return report
        }
    }
}
