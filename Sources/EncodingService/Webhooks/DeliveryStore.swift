// SPDX-License-Identifier: GPL-2.0-or-later

internal import GRDB
internal import ServiceAPI

/// A report of an event that is to be sent, was sent, or was given up.
struct DeliveryRecord: Sendable, Hashable {
    var id: String
    var job: String
    var event: Int64
    var type: String
    var url: String
    var body: String
    var state: Delivery.State
    var attempts: Int
    /// Seconds since 1970.
    var created: Double
    var lastAttempt: Double?
    var nextAttempt: Double?
    var delivered: Double?
    var status: Int?
    var error: String?

    var delivery: Delivery {
        Delivery {
            $0.id = id
            $0.event = Int(event)
            $0.type = type
            $0.url = url
            $0.state = state
            $0.attempts = attempts
            $0.createdAt = Timestamp(seconds: created)
            $0.lastAttemptAt = lastAttempt.map(Timestamp.init(seconds:))
            $0.nextAttemptAt = nextAttempt.map(Timestamp.init(seconds:))
            $0.deliveredAt = delivered.map(Timestamp.init(seconds:))
            $0.status = status
            $0.error = error
        }
    }
}

/// Keeps reports until they are delivered, and their log. The number of the last event for which reports were made changes
/// together with them, so that no event is forgotten or reported under two IDs, whenever the process ends.
final class DeliveryStore: Sendable {
    private let pool: any DatabaseWriter

    /// - Parameter isOnSharedStorage: Whether it may be on a network file system, where SQLite must not have a write-ahead
    ///   log.
    init(path: String, isOnSharedStorage: Bool = false) throws {
        var configuration = Configuration()
        configuration.label = "deliveries"
        pool =
            isOnSharedStorage
            ? try DatabaseQueue(path: path, configuration: configuration)
            : try DatabasePool(path: path, configuration: configuration)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE progress (number INTEGER NOT NULL);
                    CREATE TABLE deliveries (
                        id TEXT PRIMARY KEY, job TEXT NOT NULL, event INTEGER NOT NULL, type TEXT NOT NULL, url TEXT NOT NULL,
                        body TEXT NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL, created DOUBLE NOT NULL,
                        lastAttempt DOUBLE, nextAttempt DOUBLE, delivered DOUBLE, status INTEGER, error TEXT
                    );
                    CREATE INDEX deliveriesDue ON deliveries (nextAttempt) WHERE nextAttempt IS NOT NULL;
                    CREATE INDEX deliveriesOfJob ON deliveries (job, event);
                    """
            )
        }
        try migrator.migrate(pool)
    }

    /// The number of the last event for which reports were made; `nil` in a new store.
    func lastEvent() async throws -> Int64? {
        try await pool.read { try Int64.fetchOne($0, sql: "SELECT number FROM progress") }
    }

    /// Adds the reports of events, the last of which has a number.
    func add(_ records: [DeliveryRecord], upTo number: Int64) async throws {
        try await pool.write { database in
            for record in records { try Self.insert(record, database) }
            try database.execute(sql: "DELETE FROM progress")
            try database.execute(sql: "INSERT INTO progress (number) VALUES (?)", arguments: [number])
        }
    }

    /// The reports that are due, the longest waiting first, and when the next one will be.
    func due(at time: Double, limit: Int) async throws -> [DeliveryRecord] {
        try await pool.read { database in
            try Row.fetchAll(
                database,
                sql: "SELECT * FROM deliveries WHERE nextAttempt <= ? ORDER BY nextAttempt LIMIT ?",
                arguments: [time, limit]
            )
            .map(Self.record)
        }
    }

    /// The reports of a job, the newest first.
    func list(ofJob job: String) async throws -> [DeliveryRecord] {
        try await pool.read { database in
            try Row.fetchAll(
                database,
                sql: "SELECT * FROM deliveries WHERE job = ? ORDER BY event DESC",
                arguments: [job]
            )
            .map(Self.record)
        }
    }

    func update(_ record: DeliveryRecord) async throws {
        try await pool.write { database in
            try database.execute(sql: "DELETE FROM deliveries WHERE id = ?", arguments: [record.id])
            try Self.insert(record, database)
        }
    }

    /// Forgets the reports of a job that was deleted.
    func remove(job: String) async throws {
        try await pool.write { try $0.execute(sql: "DELETE FROM deliveries WHERE job = ?", arguments: [job]) }
    }

    private static func insert(_ record: DeliveryRecord, _ database: Database) throws {
        try database.execute(
            sql: """
                INSERT OR IGNORE INTO deliveries (
                    id, job, event, type, url, body, state, attempts, created, lastAttempt, nextAttempt, delivered, status, error
                ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                record.id, record.job, record.event, record.type, record.url, record.body, record.state.rawValue,
                record.attempts, record.created, record.lastAttempt, record.nextAttempt, record.delivered,
                record.status,
                record.error,
            ]
        )
    }

    private static func record(_ row: Row) -> DeliveryRecord {
        DeliveryRecord(
            id: row["id"],
            job: row["job"],
            event: row["event"],
            type: row["type"],
            url: row["url"],
            body: row["body"],
            state: Delivery.State(rawValue: row["state"]) ?? .failed,
            attempts: row["attempts"],
            created: row["created"],
            lastAttempt: row["lastAttempt"],
            nextAttempt: row["nextAttempt"],
            delivered: row["delivered"],
            status: row["status"],
            error: row["error"]
        )
    }
}
