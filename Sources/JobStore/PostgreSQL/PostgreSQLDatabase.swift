// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// A transaction in PostgreSQL, beside which others run.
final class PostgreSQLDatabase: StoreDatabase {
    private let connection: PostgreSQLConnection
    let rowLock: String
    private var numbersEvents = false

    /// - Parameter isWriting: Whether the transaction changes what it reads.
    init(_ connection: PostgreSQLConnection, isWriting: Bool) {
        self.connection = connection
        // Rows that refer to the job may be inserted by others meanwhile.
        rowLock = isWriting ? " FOR NO KEY UPDATE" : ""
    }

    func rows(_ sql: String, _ arguments: StoreArguments) throws -> [StoreRow] {
        try result(sql, arguments).rows
    }

    func execute(_ sql: String, _ arguments: StoreArguments) throws -> Int {
        try result(sql, arguments).changes
    }

    private func result(_ sql: String, _ arguments: StoreArguments) throws -> PostgreSQLResult {
        try connection.execute(Self.numbered(sql), arguments.map { $0?.storeValue ?? .null })
    }

    // MARK: Parameters

    /// Returns the statement with `$1`, `$2` and so on for the parameters `?`.
    static func numbered(_ sql: String) -> String {
        if let known = known.withLock({ $0[sql] }) { return known }
        var (text, count) = ("", 0)
        for character in sql {
            if character == "?" {
                count += 1
                text += "$\(count)"
            } else {
                text.append(character)
            }
        }
        known.withLock { known in
            if known.count >= mostKnown { known = [:] }
            known[sql] = text
        }
        return text
    }

    /// The statements of this module, of which only the conditions of lists vary.
    private static let known = Mutex<[String: String]>([:])
    private static let mostKnown = 1000

    // MARK: Claims

    /// One probe of the index for each group, however many tasks it has ("loose index scan").
    let readyGroups = """
        WITH RECURSIVE found AS (
            (SELECT priority, share, demand FROM tasks WHERE state = 'ready' AND queue = $1
            ORDER BY priority, share, demand LIMIT 1)
            UNION ALL
            SELECT next.priority, next.share, next.demand FROM found CROSS JOIN LATERAL (
                SELECT priority, share, demand FROM tasks
                WHERE state = 'ready' AND queue = $1
                    AND (priority, share, demand) > (found.priority, found.share, found.demand)
                ORDER BY priority, share, demand LIMIT 1
            ) AS next
        )
        SELECT found.priority, found.share, found.demand, first.job FROM found CROSS JOIN LATERAL (
            SELECT job FROM tasks
            WHERE state = 'ready' AND queue = $1 AND priority = found.priority AND share = found.share
                AND demand = found.demand AND ready_from <= $2
            ORDER BY job, number LIMIT 1
        ) AS first
        """

    func lockJob(of group: ClaimGroup, at time: StoreTime, _ transaction: StoreTransaction) throws -> Int64? {
        let first = """
            SELECT position FROM jobs WHERE position IN (
                SELECT DISTINCT job FROM tasks
                WHERE state = 'ready' AND queue = ? AND priority = ? AND share = ? AND demand = ? AND ready_from <= ?
                ORDER BY job LIMIT 16
            ) ORDER BY position LIMIT 1\(rowLock) SKIP LOCKED
            """
        let arguments: StoreArguments = [
            group.key.queue, group.priority, group.key.share, group.demand, time.milliseconds,
        ]
        return try transaction.value(Int64.self, first, arguments)
    }

    func announceTasks() throws {
        _ = try connection.execute("SELECT pg_notify($1, '')", [.text(Self.channel)])
    }

    /// The channel of ``announceTasks()``.
    static let channel = "vatoolbox_tasks"

    // MARK: Events

    // The numbers of events come from a sequence, so that nobody waits for anybody; but a transaction with a smaller
    // number may be committed after one with a larger number, and who has read the larger one would never see the smaller
    // one. So every transaction that numbers events first takes a lock, which others may take as well, in whose name is
    // the last number that was there before. Who reads stops at the smallest of these.

    /// The upper 16 bits of the names of these locks; the lower 48 are a number.
    private static let lockName: Int64 = 0x5654

    private static let lastNumber = """
        SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS last FROM events_number_seq
        """

    func willNumberEvents() throws {
        guard !numbersEvents else { return }
        numbersEvents = true
        let sql = "SELECT pg_advisory_xact_lock_shared(\(Self.lockName << 48) + (\(Self.lastNumber)))"
        _ = try connection.execute(sql)
    }

    func lastSettledEvent() throws -> Int64? {
        // The order matters, and each statement sees what is there when it begins: who is not among the holders of locks
        // either was committed before the events are read, or gets larger numbers than the last one.
        guard case .integer(let last) = try connection.execute(Self.lastNumber).value else { return 0 }
        let holders = """
            SELECT MIN((classid::bigint % 65536) * 4294967296 + objid::bigint) FROM pg_locks
            WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint / 65536 = \(Self.lockName)
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        guard case .integer(let first) = try connection.execute(holders).value else { return last }
        return min(first, last)
    }
}
