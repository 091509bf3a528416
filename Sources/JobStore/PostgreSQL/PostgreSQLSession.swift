// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// One session of a pool: a thread, and the connection that it makes when there is something to do.
actor PostgreSQLSession {
    /// How a transaction sees what others do.
    enum Mode: String {
        /// Each statement sees what is there when it begins; rows are locked.
        case changes = "ISOLATION LEVEL READ COMMITTED READ WRITE"
        /// All statements see what was there at one moment.
        case snapshot = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
        /// Each statement sees what is there when it begins.
        case reading = "ISOLATION LEVEL READ COMMITTED READ ONLY"
        /// Like changes, but something happens outside of the database in between, which takes time and must not happen
        /// twice.
        case publication = "READ WRITE, ISOLATION LEVEL READ COMMITTED"

        var isWriting: Bool { self == .changes || self == .publication }

        /// What a transaction begins with.
        var beginning: String { PostgreSQLSchema.beginning(rawValue, idle: self == .publication ? 120 : 10) }
    }

    private let location: String
    private let clock: PostgreSQLClock
    private let demands: KnownDemands
    private let executor = ThreadExecutor(name: "vt-postgresql")
    private let patience: Duration
    private var connection: PostgreSQLConnection?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter patience: How long a statement may take.
    init(
        _ location: String,
        _ clock: PostgreSQLClock,
        _ demands: KnownDemands,
        patience: Duration = PostgreSQLConnection.patience
    ) {
        (self.location, self.clock, self.demands, self.patience) = (location, clock, demands, patience)
    }

    /// Runs a transaction. One that was in conflict with others had no effect, and is run again, unless it publishes.
    func transaction<Value: Sendable>(
        _ mode: Mode,
        _ body: @Sendable (StoreTransaction) throws -> Value
    ) async throws -> Value {
        var conflicts = 0
        while true {
            let (connection, began) = try begin(mode)
            do {
                let database = PostgreSQLDatabase(connection, isWriting: mode.isWriting)
                let value = try body(StoreTransaction(database: database, time: began, demands: demands))
                _ = try connection.execute("COMMIT")
                return value
            } catch {
                rollBack(connection)
                conflicts += 1
                guard mode != .publication, conflicts <= Self.mostConflicts,
                    (error as? PostgreSQLError)?.isConflict == true
                else {
                    throw error
                }
            }
            try await Task.sleep(for: .milliseconds(.random(in: 1...10) * conflicts))
        }
    }

    /// How often a transaction is repeated.
    private static let mostConflicts = 20

    /// Waits for an announcement of tasks.
    ///
    /// - Returns: Whether there was one within the time.
    func isToldOfTasks(within time: Duration) throws -> Bool {
        let connection: PostgreSQLConnection
        if let known = self.connection {
            connection = known
        } else {
            connection = try connect()
            _ = try connection.execute("LISTEN \(PostgreSQLDatabase.channel)")
            self.connection = connection
        }
        do { return try connection.hasNotification(within: time) } catch {
            self.connection = nil
            throw error
        }
    }

    /// Runs something outside of a transaction of the store's.
    func run<Value: Sendable>(_ body: @Sendable (PostgreSQLConnection) throws -> Value) throws -> Value {
        let connection = try self.connection ?? connect()
        self.connection = connection
        do { return try body(connection) } catch {
            if connection.isBroken { self.connection = nil }
            throw error
        }
    }

    // MARK: Transactions

    private func connect() throws(PostgreSQLError) -> PostgreSQLConnection {
        try PostgreSQLConnection(location, patience: patience)
    }

    /// Begins a transaction, on a new connection if the old one is gone: nothing was done yet.
    private func begin(_ mode: Mode) throws(PostgreSQLError) -> (PostgreSQLConnection, StoreTime) {
        if let connection {
            do throws(PostgreSQLError) { return (connection, try begin(mode, connection)) } catch {
                rollBack(connection)
                guard error.breaksConnection else { throw error }
                self.connection = nil
            }
        }
        let connection = try connect()
        self.connection = connection
        do throws(PostgreSQLError) { return (connection, try begin(mode, connection)) } catch {
            rollBack(connection)
            throw error
        }
    }

    private func begin(
        _ mode: Mode,
        _ connection: PostgreSQLConnection
    ) throws(PostgreSQLError) -> StoreTime {
        for _ in 0..<3 {
            let asked = clock.elapsed
            let (time, changes) = try Self.time(connection.executeAll(mode.beginning + Self.time))
            let jump = clock.jump(to: time, changes: changes, askedAt: asked)
            if jump == 0 { return time }
            _ = try connection.execute("ROLLBACK")
            try correct(connection)
        }
        throw PostgreSQLError("the clock of the database server jumps again and again")
    }

    /// Takes a jump of the server's clock out of the store's time, unless another process just has.
    private func correct(_ connection: PostgreSQLConnection) throws(PostgreSQLError) {
        _ = try connection.executeAll(Mode.changes.beginning)
        _ = try connection.execute("SELECT correction FROM clock FOR UPDATE")
        let asked = clock.elapsed
        let (time, changes) = try Self.time(connection.execute(Self.time))
        let jump = clock.jump(to: time, changes: changes, askedAt: asked)
        if jump != 0 {
            let sql = "UPDATE clock SET correction = correction - $1, changes = changes + 1"
            _ = try connection.execute(sql, [.integer(jump)])
            try Self.repair(after: jump, to: time, connection)
        }
        _ = try connection.execute("COMMIT")
    }

    /// Sets right what processes have written that began after the jump, and took the time for the right one.
    private static func repair(
        after jump: Int64,
        to time: StoreTime,
        _ connection: PostgreSQLConnection
    ) throws(PostgreSQLError) {
        let present = time.milliseconds - jump
        let ahead = max(jump, 0)
        // A lease of a worker that is gone must not last for hours, and one of a worker that is alive must not be over.
        _ = try connection.execute(
            "UPDATE leases SET ends = GREATEST(CASE WHEN ends > $1 THEN ends - $2 ELSE ends END, $3)",
            [.integer(time.milliseconds), .integer(ahead), .integer(present + PostgreSQLClock.grace)]
        )
        // A pause that was longer is shorter now, which does no harm.
        guard ahead > 0 else { return }
        _ = try connection.execute(
            "UPDATE tasks SET ready_from = ready_from - $1 WHERE state = 'ready' AND ready_from > $2",
            [.integer(ahead), .integer(time.milliseconds - 60_000)]
        )
    }

    /// A query of the store's time.
    static let now = "SELECT system_time() + (SELECT correction FROM clock)"

    /// A query of it, and of how often its correction was changed because of a jump.
    private static let time = "SELECT (\(now)) AS time, (SELECT changes FROM clock) AS changes"

    private static func time(
        _ result: PostgreSQLResult
    ) throws(PostgreSQLError) -> (time: StoreTime, changes: Int64) {
        guard let values = result.rows.first?.values, values.count == 2, case .integer(let time) = values[0],
            case .integer(let changes) = values[1]
        else { throw PostgreSQLError("the server does not tell its time") }
        return (StoreTime(milliseconds: time), changes)
    }

    private func rollBack(_ connection: PostgreSQLConnection) {
        if !connection.isBroken {
            do { _ = try connection.execute("ROLLBACK") } catch { self.connection = nil }
        }
        if connection.isBroken { self.connection = nil }
    }
}

/// The sessions of a store.
///
/// A call has a session for itself. If all are busy, it waits for its turn. Renewals of leases have a session of their
/// own, so that nothing else can make a worker lose its tasks.
final class PostgreSQLPool: Sendable {
    private struct State {
        var idle: [PostgreSQLSession]
        var waiting: [CheckedContinuation<PostgreSQLSession, Never>] = []
    }

    private let state: Mutex<State>

    init(_ sessions: [PostgreSQLSession]) { state = Mutex(State(idle: sessions)) }

    /// Runs something with a session.
    func with<Value: Sendable>(_ body: (PostgreSQLSession) async throws -> Value) async throws -> Value {
        let session = await withCheckedContinuation { continuation in
            let idle = state.withLock { state -> PostgreSQLSession? in
                // The last one that was used: the others may be disconnected.
                if let session = state.idle.popLast() { return session }
                state.waiting.append(continuation)
                return nil
            }
            if let idle { continuation.resume(returning: idle) }
        }
        defer {
            let next = state.withLock { state -> CheckedContinuation<PostgreSQLSession, Never>? in
                if !state.waiting.isEmpty { return state.waiting.removeFirst() }
                state.idle.append(session)
                return nil
            }
            next?.resume(returning: session)
        }
        return try await body(session)
    }
}
