// SPDX-License-Identifier: GPL-2.0-or-later

/// A job store in a PostgreSQL database (15 or later), for any number of processes on any number of machines.
///
/// What a call has done is committed when it returns. Whether a commit survives the loss of the server is the server's
/// business: with a standby to which it fails over, it must replicate synchronously (`synchronous_standby_names`).
///
/// Neither prepared statements nor settings of sessions are used, so PgBouncer in transaction mode may be in between.
/// Calls throw `unavailable` if the server does not answer a statement within 45 seconds, renewals after 8.
package final class PostgreSQLJobStore: JobStore {
    private let pool: PostgreSQLPool
    private let renewals: PostgreSQLPool
    private let listener: PostgreSQLSession

    /// Connects to a database whose tables are there: see ``migrate(_:grantingTo:)``.
    ///
    /// - Parameters:
    ///   - location: A connection string or URI of libpq. TLS, certificates, several servers and the file with the
    ///     password are chosen there (`sslmode`, `sslrootcert`, `host`, `target_session_attrs`, `passfile`).
    ///   - mostConnections: The largest number of connections for calls, renewals included, from 2 on. One more waits for
    ///     notifications.
    /// - Throws: `unavailable` if the server cannot be reached; `version` if the tables are not there, or those of another
    ///   version.
    package convenience init(location: String, mostConnections: Int = 6) async throws(StoreError) {
        try await self.init(location: location, mostConnections: mostConnections, clock: .system)
    }

    init(location: String, mostConnections: Int, clock source: StoreClock.Source) async throws(StoreError) {
        try check(mostConnections, in: 2...100, "the number of connections")
        let (clock, demands) = (PostgreSQLClock(source), KnownDemands())
        func session(patience: Duration = PostgreSQLConnection.patience) -> PostgreSQLSession {
            PostgreSQLSession(location, clock, demands, patience: patience)
        }
        pool = PostgreSQLPool((1..<mostConnections).map { _ in session() })
        // Longer, and the leases would have ended anyway.
        renewals = PostgreSQLPool([session(patience: .seconds(8))])
        listener = session()
        try await checkVersion()
        try await write {
            try $0.forbidPast()
            try $0.knowFirstServer()
        }
        clock.forget()
    }

    /// Whether a text is a connection string or URI of libpq. Nothing is connected.
    package static func isLocation(_ text: String) -> Bool { PostgreSQLConnection.isLocation(text) }

    /// Creates the tables in the schema `vatoolbox`, or brings them to this version. Waits at most a few seconds for
    /// locks, so that it never holds up what runs: then, it changes nothing, and can be repeated.
    ///
    /// - Parameters:
    ///   - location: As in ``init(location:mostConnections:)``; the role must be allowed to create the schema, or own it.
    ///   - role: A role that gets what services and workers need; `nil` for none.
    /// - Returns: The version before, 0 if there was none, and the version now.
    package static func migrate(
        _ location: String,
        grantingTo role: String? = nil
    ) async throws(StoreError) -> (from: Int64, to: Int64) {
        let session = PostgreSQLSession(location, PostgreSQLClock(.system), KnownDemands())
        return try await unCancelled {
            try await session.run { connection in
                guard connection.serverVersion >= oldestServer else {
                    throw StoreError(
                        .version,
                        "the PostgreSQL server is too old",
                        given: "\(connection.serverVersion / 10_000)",
                        allowed: "\(oldestServer / 10_000) or later"
                    )
                }
                _ = try connection.executeAll(
                    """
                    BEGIN; SET LOCAL lock_timeout TO '5s'; SET LOCAL client_min_messages TO warning;
                    SELECT pg_advisory_xact_lock(\(migrationLock));
                    """
                )
                let schema = "SELECT to_regnamespace('\(PostgreSQLSchema.name)') IS NULL"
                if try connection.execute(schema).value == .integer(1) {
                    _ = try connection.execute("CREATE SCHEMA \(PostgreSQLSchema.name)")
                }
                _ = try connection.executeAll(
                    """
                    SET LOCAL search_path TO \(PostgreSQLSchema.name);
                    CREATE TABLE IF NOT EXISTS versions (number BIGINT PRIMARY KEY, since TIMESTAMPTZ DEFAULT now());
                    """
                )
                let known = try version(connection)
                guard known <= PostgreSQLSchema.version else { throw StoreError.otherVersion(known) }
                for number in known..<PostgreSQLSchema.version {
                    _ = try connection.executeAll(PostgreSQLSchema.changes[Int(number)])
                    _ = try connection.execute("INSERT INTO versions (number) VALUES ($1)", [.integer(number + 1)])
                }
                if let role { _ = try connection.executeAll(PostgreSQLSchema.grants(to: try quoted(role, connection))) }
                _ = try connection.execute("COMMIT")
                return (known, PostgreSQLSchema.version)
            }
        }
    }

    static let oldestServer = 150_000
    private static let migrationLock = 0x5654_0001

    private static func version(_ connection: PostgreSQLConnection) throws -> Int64 {
        let sql = "SELECT COALESCE(MAX(number), 0) FROM \(PostgreSQLSchema.name).versions"
        guard case .integer(let number) = try connection.execute(sql).value else { return 0 }
        return number
    }

    private static func quoted(_ role: String, _ connection: PostgreSQLConnection) throws -> String {
        guard case .text(let name) = try connection.execute("SELECT quote_ident($1)", [.text(role)]).value else {
            throw StoreError(.invalidArgument, "the role cannot be named", given: role)
        }
        return name
    }

    private func checkVersion() async throws(StoreError) {
        let known = try await Self.unCancelled { [pool] in
            try await pool.with { session in
                try await session.run { connection in
                    do { return try Self.version(connection) } catch let error as PostgreSQLError {
                        guard error.isMissingTable else { throw error }
                        return 0
                    }
                }
            }
        }
        guard known == PostgreSQLSchema.version else { throw .otherVersion(known) }
    }

    /// Waits until tasks may be there to be claimed, as another process says, but not longer than a time. Notifications
    /// can get lost, and PgBouncer in transaction mode passes none on.
    ///
    /// - Returns: Whether there was a notification.
    package func isToldOfTasks(within time: Duration) async throws(StoreError) -> Bool {
        try await Self.unCancelled { [listener] in try await listener.isToldOfTasks(within: time) }
    }

    /// Says in which folder the nodes of the store work, and returns which one it is: the first one that was said.
    ///
    /// - Parameter number: A number that the folder has, and no other one.
    package func agreeOnFolder(_ number: Int64) async throws(StoreError) -> Int64 {
        try await write { transaction in
            try transaction.execute(
                "INSERT INTO properties (name, value) VALUES ('folder', ?) ON CONFLICT DO NOTHING",
                [number]
            )
            return try transaction.value(Int64.self, "SELECT value FROM properties WHERE name = 'folder'") ?? number
        }
    }

    // MARK: Access

    private func transaction<Value: Sendable>(
        _ mode: PostgreSQLSession.Mode,
        in pool: PostgreSQLPool? = nil,
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        let pool = pool ?? self.pool
        return try await Self.unCancelled { try await pool.with { try await $0.transaction(mode, body) } }
    }

    private func write<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        try await transaction(.changes, body)
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws(StoreError) -> Value {
        try await transaction(.snapshot, body)
    }

    /// A call that has begun is completed, even if its task is cancelled: the caller knows its effect then.
    private static func unCancelled<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws(StoreError) -> Value {
        switch await Task(operation: body).result {
        case .success(let value): return value
        case .failure(let error as PostgreSQLError): throw StoreError(error)
        case .failure(let error as StoreError): throw error
        case .failure(let error as EncodingError):
            throw StoreError(.invalidArgument, "a value cannot be stored: \(error)")
        case .failure(let error): throw StoreError(.unavailable, "\(error)")
        }
    }
}

extension StoreError {
    fileprivate static func otherVersion(_ known: Int64) -> StoreError {
        StoreError(
            .version,
            known == 0
                ? "the database has no tables of a job store; create them with `vatoolbox cluster migrate`"
                : known < PostgreSQLSchema.version
                    ? "the tables of the job store are of an earlier version; run `vatoolbox cluster migrate`"
                    : "the tables of the job store are of a later version; update this program",
            given: "version \(known)",
            allowed: "version \(PostgreSQLSchema.version)"
        )
    }
}

extension StoreTransaction {
    /// Sees to it that the store's time is not before one that was already seen, if the clock of the server was set back
    /// while nobody watched.
    fileprivate func forbidPast() throws {
        // Who comes second sees what the first one has changed.
        _ = try rows("SELECT correction FROM clock FOR UPDATE")
        let last = "SELECT time FROM events ORDER BY number DESC LIMIT 1"
        let seen = try [
            value(Int64.self, last), value(Int64.self, "SELECT value FROM properties WHERE name = 'time'"),
        ].compactMap(\.self).max()
        guard let seen, let now = try value(Int64.self, PostgreSQLSession.now), seen > now else { return }
        try execute("UPDATE clock SET correction = correction + ?, changes = changes + 1", [seen - now])
    }

    /// Lets the store's time approach the server's, by a twentieth of the time that has passed, if that has jumped.
    fileprivate func slew(since last: StoreTime?) throws {
        let passed = last.map { min(max(time.milliseconds - $0.milliseconds, 0), 20_000) } ?? 0
        guard passed > 0 else { return }
        try execute(
            """
            UPDATE clock SET correction = correction - SIGN(correction)::bigint * LEAST(ABS(correction), ?)
            WHERE correction <> 0
            """,
            [passed / 20]
        )
    }

    /// - Returns: Whether no other process is doing the same at this moment.
    fileprivate func beginUpkeep() throws -> Bool {
        guard try value(Bool.self, "SELECT pg_try_advisory_xact_lock(\(0x5654_0002))") == true else { return false }
        let sql = "SELECT value FROM properties WHERE name = 'time'"
        let last = try value(Int64.self, sql).map(StoreTime.init(milliseconds:))
        try slew(since: last)
        try spareLeases(after: last)
        try noteUpkeep()
        return true
    }

    /// Gives workers time to be heard of, if nobody could be: the server was started, or another one has taken its place,
    /// or no process has tended the store for long.
    fileprivate func spareLeases(after last: StoreTime?) throws {
        let isLate = last.map { time.milliseconds - $0.milliseconds > Self.longestGap } ?? false
        let isOther = try execute("UPDATE properties SET value = \(Self.server) WHERE \(Self.isOtherServer)") > 0
        guard isOther || isLate else { return }
        let ends = time + .milliseconds(PostgreSQLClock.grace)
        try execute("UPDATE leases SET ends = ? WHERE ends < ?", [ends.milliseconds, ends.milliseconds])
    }

    /// Notes which server has the store, if nobody knows one.
    fileprivate func knowFirstServer() throws {
        try execute("INSERT INTO properties (name, value) VALUES ('server', \(Self.server)) ON CONFLICT DO NOTHING")
    }

    /// A number that changes when the server is started, and when a standby takes over, which writes on another timeline.
    private static let server = """
        hashtext(extract(epoch FROM pg_postmaster_start_time())::text || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))
        """
    private static let isOtherServer = "name = 'server' AND value <> \(server)"

    /// The time without a call of ``tend()`` after which the leases say nothing of the workers, in milliseconds.
    private static let longestGap: Int64 = 60_000
}

// MARK: - Calls

extension PostgreSQLJobStore {
    package func submit(_ draft: JobDraft) async throws(StoreError) -> (job: Job, isNew: Bool) {
        try await write { try $0.submit(draft) }
    }

    package func job(_ id: JobID) async throws(StoreError) -> JobRecord {
        try await read { try $0.record(of: $0.job(id)) }
    }

    package func jobs(_ filter: JobFilter, before position: Int64?, limit: Int) async throws(StoreError) -> [Job] {
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
        try await transaction(.reading) { try $0.events(after: number, of: job, limit: limit) }
    }

    package func lastEventNumber() async throws(StoreError) -> Int64 {
        try await transaction(.reading) { try $0.lastEventNumber() }
    }

    package func queues() async throws(StoreError) -> [QueueStatus] { try await read { try $0.queueStatuses() } }

    package func setQueue(_ settings: QueueSettings) async throws(StoreError) {
        try await write { try $0.setQueue(settings) }
    }

    package func removeQueue(_ name: String) async throws(StoreError) {
        try await write { try $0.removeQueue(name) }
    }

    package func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim? {
        for attempt in 0..<Self.mostClaims {
            switch try await write({ try $0.claim(request) }) {
            case .claimed(let claim): return claim
            case .nothing: return nil
            case .busy: try? await Task.sleep(for: .milliseconds(.random(in: 1...5) * (attempt + 1)))
            }
        }
        // The caller asks again soon anyway.
        return nil
    }

    /// How often a claim looks whether others have changed what they were changing.
    private static let mostClaims = 10

    package func renew(
        _ heartbeats: [Heartbeat],
        for lease: Duration
    ) async throws(StoreError) -> [AttemptToken: Renewal] {
        try await transaction(.changes, in: renewals) { try $0.renew(heartbeats, for: lease) }
    }

    package func complete(
        _ token: AttemptToken,
        result: String,
        intent: String,
        publish: @escaping @Sendable () throws -> Void
    ) async throws(StoreError) {
        try await write { try $0.intend(token, result: result, intent: intent) }
        let error = try await transaction(.publication) {
            try $0.complete(token, result: result, publish: publish)
        }
        if let error { throw error }
    }

    package func fail(_ token: AttemptToken, _ failure: Failure) async throws(StoreError) {
        try await write { try $0.end(token, .failed(failure)) }
    }

    package func release(_ token: AttemptToken) async throws(StoreError) {
        try await write { try $0.end(token, .released) }
    }

    package func releaseAll(ofWorkersNamed prefix: String) async throws(StoreError) -> Int {
        var count = 0
        for token in try await read({ try $0.attempts(ofWorkersNamed: prefix) }) {
            if try await write({ try $0.giveBack(token) }) { count += 1 }
        }
        return count
    }

    package func unsettledAttempts() async throws(StoreError) -> [UnsettledAttempt] {
        try await read { try $0.unsettledAttempts() }
    }

    package func settle(_ token: AttemptToken, wasPublished: Bool) async throws(StoreError) {
        try await write { try $0.settle(token, wasPublished: wasPublished) }
    }

    /// Every change is a transaction of its own, which waits for nobody: what others are changing is left for the next
    /// time.
    package func tend() async throws(StoreError) -> UpkeepReport {
        let isDue = try await write { try $0.beginUpkeep() }
        guard isDue else { return UpkeepReport() }
        var report = UpkeepReport()
        for token in try await read({ try $0.lapsedAttempts() }) {
            if try await write({ try $0.takeAway(token) }) { report.lost.append(token) }
        }
        for position in try await read({ try $0.lateJobs() }) {
            if let job = try await write({ try $0.failLate(position) }) { report.late.append(job) }
        }
        for move in try await read({ try $0.moves() }) {
            if let job = try await write({ try $0.move(move) }) { report.moved.append(job) }
        }
        report.expired = try await read { try $0.expiredJobs() }
        try await write { try $0.forgetIdleShares() }
        return report
    }
}
