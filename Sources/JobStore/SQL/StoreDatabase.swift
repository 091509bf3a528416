// SPDX-License-Identifier: GPL-2.0-or-later

/// A database in one of its transactions, as ``StoreTransaction`` uses it.
///
/// The SQL is what SQLite and PostgreSQL have in common; parameters are `?`, and texts in the SQL contain none.
protocol StoreDatabase {
    /// Returns the rows that a statement yields.
    func rows(_ sql: String, _ arguments: StoreArguments) throws -> [StoreRow]

    /// Executes a statement.
    ///
    /// - Returns: The number of rows that it has inserted, changed or deleted.
    @discardableResult
    func execute(_ sql: String, _ arguments: StoreArguments) throws -> Int

    /// What a query of rows ends with that this transaction is about to change, so that no other one changes them first.
    /// Empty where there is one writer at a time, or none in this transaction.
    var rowLock: String { get }

    /// A query of the groups of tasks that may begin in a queue: `priority`, `share`, `demand`, and the first `job`. Its
    /// parameters are the name of the queue and the present time.
    var readyGroups: String { get }

    /// Locks a job that has a task of a group which may begin: the first one that nobody else has locked, if there is one.
    ///
    /// - Returns: Its position; `nil` if there is no such job any more.
    func lockJob(of group: ClaimGroup, at time: StoreTime, _ transaction: StoreTransaction) throws -> Int64?

    /// Called before an event is inserted, whose number the database chooses.
    func willNumberEvents() throws

    /// The number up to which every event that will ever be there is there; `nil` if there is one writer at a time, whose
    /// events appear in the order of their numbers.
    func lastSettledEvent() throws -> Int64?

    /// Announces that there are tasks to be claimed, once this transaction is committed. A hint: it may get lost.
    func announceTasks() throws
}

/// The parameters of a statement, in their order; `nil` is NULL.
typealias StoreArguments = [(any StoreValueConvertible)?]

/// A value of a column.
enum StoreValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
}

/// A type that columns hold.
protocol StoreValueConvertible: Sendable {
    /// The value in a column.
    var storeValue: StoreValue { get }
    /// - Returns: `nil` if the column holds something else.
    init?(storeValue: StoreValue)
}

extension Int64: StoreValueConvertible {
    var storeValue: StoreValue { .integer(self) }
    init?(storeValue: StoreValue) {
        guard case .integer(let value) = storeValue else { return nil }
        self = value
    }
}

extension Int: StoreValueConvertible {
    var storeValue: StoreValue { .integer(Int64(self)) }
    init?(storeValue: StoreValue) {
        guard case .integer(let value) = storeValue else { return nil }
        self.init(exactly: value)
    }
}

extension Double: StoreValueConvertible {
    var storeValue: StoreValue { .real(self) }
    init?(storeValue: StoreValue) {
        switch storeValue {
        case .real(let value): self = value
        case .integer(let value): self = Double(value)
        case .text, .null: return nil
        }
    }
}

extension Bool: StoreValueConvertible {
    var storeValue: StoreValue { .integer(self ? 1 : 0) }
    init?(storeValue: StoreValue) {
        guard case .integer(let value) = storeValue else { return nil }
        self = value != 0
    }
}

extension String: StoreValueConvertible {
    var storeValue: StoreValue { .text(self) }
    init?(storeValue: StoreValue) {
        guard case .text(let value) = storeValue else { return nil }
        self = value
    }
}

/// A row of a result.
struct StoreRow: Sendable {
    /// The places of the columns by their names. Rows of a result share it.
    let columns: [String: Int]
    /// The values, by place.
    let values: [StoreValue]

    /// The value of a column.
    ///
    /// - Throws: `damaged` if there is none of this type.
    subscript<Value: StoreValueConvertible>(name: String) -> Value {
        get throws { try Self.value(columns[name].map { values[$0] } ?? .null, name) }
    }

    /// The value of a column that may be NULL.
    ///
    /// - Throws: `damaged` if there is one of another type.
    subscript<Value: StoreValueConvertible>(name: String) -> Value? {
        get throws {
            guard let place = columns[name] else { throw Column.damaged("row without the column", name) }
            return values[place] == .null ? nil : try Self.value(values[place], name)
        }
    }

    static func value<Value: StoreValueConvertible>(_ value: StoreValue, _ name: String) throws -> Value {
        guard let converted = Value(storeValue: value) else { throw Column.damaged("value in \(name)", "\(value)") }
        return converted
    }
}
