// SPDX-License-Identifier: GPL-2.0-or-later

internal import GRDB

/// A transaction in SQLite, which has one writer at a time.
struct SQLiteDatabase: StoreDatabase {
    let connection: Database

    func rows(_ sql: String, _ arguments: StoreArguments) throws -> [StoreRow] {
        // Each connection compiles a statement once.
        let statement = try connection.cachedStatement(sql: sql)
        let columns = Dictionary(
            statement.columnNames.enumerated().map { ($0.element, $0.offset) },
            uniquingKeysWith: { first, _ in first }
        )
        let cursor = try Row.fetchCursor(statement, arguments: Self.arguments(arguments))
        var rows: [StoreRow] = []
        while let row = try cursor.next() {
            rows.append(StoreRow(columns: columns, values: try row.databaseValues.map(Self.value)))
        }
        return rows
    }

    func execute(_ sql: String, _ arguments: StoreArguments) throws -> Int {
        try connection.cachedStatement(sql: sql).execute(arguments: Self.arguments(arguments))
        return connection.changesCount
    }

    let rowLock = ""

    let readyGroups = """
        SELECT priority, share, demand, MIN(job) AS job FROM tasks
        WHERE state = 'ready' AND queue = ? AND ready_from <= ? GROUP BY priority, share, demand
        """

    func lockJob(of group: ClaimGroup, at time: StoreTime, _ transaction: StoreTransaction) -> Int64? {
        group.position
    }

    func willNumberEvents() {}

    func lastSettledEvent() -> Int64? { nil }

    /// The process that has the database looks for tasks itself.
    func announceTasks() {}

    private static func arguments(_ values: StoreArguments) -> StatementArguments {
        StatementArguments(
            values.map { value -> (any DatabaseValueConvertible)? in
                switch value?.storeValue {
                case nil, .null: nil
                case .integer(let value): value
                case .real(let value): value
                case .text(let value): value
                }
            }
        )
    }

    private static func value(_ value: DatabaseValue) throws -> StoreValue {
        switch value.storage {
        case .null: .null
        case .int64(let value): .integer(value)
        case .double(let value): .real(value)
        case .string(let value): .text(value)
        case .blob: throw Column.damaged("value", "bytes")
        }
    }
}
