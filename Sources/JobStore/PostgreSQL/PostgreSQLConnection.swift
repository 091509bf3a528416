// SPDX-License-Identifier: GPL-2.0-or-later

internal import CPostgreSQL
internal import Glibc

/// A connection to a PostgreSQL server, by libpq. Its calls block the thread: statements until their deadline,
/// connecting for up to 5 s for each address, and for the time of the name server.
///
/// Statements are sent without being prepared in the session, and nothing is set in it, so that PgBouncer may give each
/// transaction another session.
final class PostgreSQLConnection {
    /// How long a statement may take, the way to the server and back included. The server's own limits are shorter.
    static let patience: Duration = .seconds(45)

    private let connection: OpaquePointer
    private let clock = ContinuousClock()
    private let patience: Duration
    /// Whether it must not be used any more.
    private(set) var isBroken = false

    /// Connects.
    ///
    /// - Parameters:
    ///   - location: A connection string or URI of libpq.
    ///   - patience: How long a statement may take.
    init(_ location: String, patience: Duration = patience) throws(PostgreSQLError) {
        self.patience = patience
        guard Self.isLocation(location) else {
            throw PostgreSQLError("the location is no connection string or URI of PostgreSQL")
        }
        // The later ones win: what the location says is heard.
        let parameters = [
            ("connect_timeout", "5"), ("application_name", "vatoolbox"), ("client_encoding", "UTF8"),
            // A server that vanishes without a word is found by these.
            ("keepalives_idle", "5"), ("keepalives_interval", "2"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "10000"),
            // A standby knows nothing of who is writing, and cannot be written.
            ("target_session_attrs", "read-write"),
            ("dbname", location),
        ]
        let names = parameters.map { strdup($0.0) } + [nil]
        let values = parameters.map { strdup($0.1) } + [nil]
        defer { for text in names + values { free(text) } }
        let made = PQconnectdbParams(names.map { UnsafePointer($0) }, values.map { UnsafePointer($0) }, 1)
        guard let made else { throw PostgreSQLError("there is no memory for a connection to PostgreSQL") }
        guard PQstatus(made) == CONNECTION_OK else {
            defer { PQfinish(made) }
            throw PostgreSQLError(Self.publicMessage(Self.message(made)), breaksConnection: true)
        }
        connection = made
        PQsetnonblocking(connection, 1)
        // Notices are not errors, and would be written to stderr.
        _ = PQsetNoticeProcessor(connection, { _, _ in }, nil)
    }

    deinit { PQfinish(connection) }

    /// Whether a text is a connection string or URI. What libpq says of others may quote a password of theirs.
    static func isLocation(_ text: String) -> Bool {
        var message: UnsafeMutablePointer<CChar>?
        defer { PQfreemem(message) }
        guard !text.utf8.contains(0), let options = PQconninfoParse(text, &message) else { return false }
        PQconninfoFree(options)
        return true
    }

    /// The version of the server, such as 150018.
    var serverVersion: Int { Int(PQserverVersion(connection)) }

    /// Executes one statement.
    ///
    /// - Parameters:
    ///   - sql: Its parameters are `$1`, `$2` and so on.
    ///   - values: The parameters.
    func execute(_ sql: String, _ values: [StoreValue] = []) throws(PostgreSQLError) -> PostgreSQLResult {
        let texts = values.map { $0.postgreSQLText.map { strdup($0) } ?? nil }
        defer { for text in texts { free(text) } }
        let count = Int32(values.count)
        let sent = PQsendQueryParams(connection, sql, count, nil, texts.map { UnsafePointer($0) }, nil, nil, 0)
        return try result(wasSent: sent == 1)
    }

    /// Executes several statements without parameters in one message, and returns the result of the last one.
    func executeAll(_ sql: String) throws(PostgreSQLError) -> PostgreSQLResult {
        try result(wasSent: PQsendQuery(connection, sql) == 1)
    }

    /// Returns whether a notification has arrived since the last call, or arrives within a time.
    func hasNotification(within time: Duration) throws(PostgreSQLError) -> Bool {
        if drainNotifications() { return true }
        _ = try wait(for: Int16(POLLIN), until: clock.now + time)
        guard PQconsumeInput(connection) == 1 else { throw broken() }
        return drainNotifications()
    }

    private func drainNotifications() -> Bool {
        var isNotified = false
        while let notification = PQnotifies(connection) {
            isNotified = true
            PQfreemem(notification)
        }
        return isNotified
    }

    private func result(wasSent: Bool) throws(PostgreSQLError) -> PostgreSQLResult {
        guard wasSent else { throw broken() }
        let deadline = clock.now + patience
        while true {
            let flushed = PQflush(connection)
            if flushed == 0 { break }
            guard flushed == 1, try wait(for: Int16(POLLIN | POLLOUT), until: deadline),
                PQconsumeInput(connection) == 1
            else { throw broken() }
        }
        var last: PostgreSQLResult?
        var failure: PostgreSQLError?
        while true {
            while PQisBusy(connection) == 1 {
                guard try wait(for: Int16(POLLIN), until: deadline), PQconsumeInput(connection) == 1 else {
                    throw broken()
                }
            }
            guard let next = PQgetResult(connection) else { break }
            defer { PQclear(next) }
            switch PQresultStatus(next) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK: last = PostgreSQLResult(next)
            default: failure = failure ?? PostgreSQLError(next)
            }
        }
        // Of another client, to whom PgBouncer gave the session before.
        _ = drainNotifications()
        if let failure {
            isBroken = isBroken || failure.breaksConnection || PQstatus(connection) != CONNECTION_OK
            throw failure
        }
        guard let last else { throw broken() }
        return last
    }

    /// Waits until the socket is ready.
    ///
    /// - Returns: Whether it is before the deadline.
    private func wait(for events: Int16, until deadline: ContinuousClock.Instant) throws(PostgreSQLError) -> Bool {
        var socket = pollfd(fd: PQsocket(connection), events: events, revents: 0)
        guard socket.fd >= 0 else { throw broken() }
        while true {
            let left = clock.now.duration(to: deadline).wholeMilliseconds
            guard left > 0 else { return false }
            let count = poll(&socket, 1, Int32(clamping: left))
            if count > 0 { return true }
            if count == 0 { return false }
            guard errno == EINTR else { throw broken() }
        }
    }

    private func broken() -> PostgreSQLError {
        isBroken = true
        let said = Self.message(connection)
        return PostgreSQLError(said.isEmpty ? "the server did not answer in time" : said, breaksConnection: true)
    }

    /// What can be told to others: libpq quotes values that it cannot use, which may be parts of a password.
    private static func publicMessage(_ message: String) -> String {
        guard message.contains("invalid"), let range = message.firstRange(of: "connection option \"") else {
            return message
        }
        let option = message[range.upperBound...].prefix { $0 != "\"" }
        return "the location has a value that is not valid for \(option)"
    }

    private static func message(_ connection: OpaquePointer) -> String {
        PostgreSQLError.oneLine(String(cString: PQerrorMessage(connection)))
    }
}

/// An error of a statement or of a connection.
struct PostgreSQLError: Error {
    /// What the server or libpq says, in one line.
    var message: String
    /// The SQLSTATE (PostgreSQL, appendix A); `nil` if the server said none.
    var state: String?
    /// Whether the connection must not be used any more.
    var breaksConnection: Bool

    init(_ message: String, state: String? = nil, breaksConnection: Bool = false) {
        (self.message, self.state, self.breaksConnection) = (message, state, breaksConnection)
    }

    /// The error of a result that is one.
    init(_ result: OpaquePointer) {
        let primary = PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map { String(cString: $0) }
        let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
        self.init(
            Self.oneLine(primary ?? String(cString: PQresultErrorMessage(result))),
            state: state,
            // Connection exceptions, a server that shuts down, and one that has become a standby.
            breaksConnection: state.map {
                $0.hasPrefix("08") || $0.hasPrefix("57P") || ["25006", "0A000"].contains($0)
            } ?? true
        )
    }

    /// Whether the transaction had no effect, and may have another outcome if it is repeated: it was in conflict with
    /// another one (serialization_failure, deadlock_detected, unique_violation, foreign_key_violation).
    var isConflict: Bool { ["40001", "40P01", "23505", "23503"].contains(state) }

    /// Whether there is no such table or schema (undefined_table, invalid_schema_name, undefined_function).
    var isMissingTable: Bool { ["42P01", "3F000", "42883"].contains(state) }

    /// Whether the role lacks a right (insufficient_privilege).
    var isForbidden: Bool { state == "42501" }

    static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }.joined(separator: " ")
    }
}

extension StoreError {
    init(_ error: PostgreSQLError) {
        let isDamage = error.state?.hasPrefix("XX") == true
        let state = error.state.map { " (SQLSTATE \($0))" } ?? ""
        self.init(isDamage ? .damaged : .unavailable, "the job store cannot be used: \(error.message)\(state)")
    }
}

/// The rows of a statement and how many it has changed.
struct PostgreSQLResult {
    var rows: [StoreRow] = []
    var changes: Int

    /// Reads a result, whose values are texts.
    init(_ result: OpaquePointer) {
        changes = Int(String(cString: PQcmdTuples(result))) ?? 0
        let count = PQnfields(result)
        var columns: [String: Int] = [:]
        for column in 0..<count { columns[String(cString: PQfname(result, column))] = Int(column) }
        let types = (0..<count).map { PQftype(result, $0) }
        rows = (0..<PQntuples(result)).map { row in
            StoreRow(
                columns: columns,
                values: (0..<count).map { column in
                    guard PQgetisnull(result, row, column) == 0 else { return .null }
                    return StoreValue(String(cString: PQgetvalue(result, row, column)), ofType: types[Int(column)])
                }
            )
        }
    }

    /// The first column of the first row.
    var value: StoreValue { rows.first?.values.first ?? .null }
}

extension StoreValue {
    /// A value as text; `nil` for NULL.
    fileprivate var postgreSQLText: String? {
        switch self {
        case .null: nil
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .text(let value): value
        }
    }

    /// Reads a text of the server.
    ///
    /// - Parameter type: The object ID of its type (pg_type.dat).
    fileprivate init(_ text: String, ofType type: Oid) {
        switch type {
        case 16: self = .integer(text == "t" ? 1 : 0)
        case 20, 21, 23: self = Int64(text).map(StoreValue.integer) ?? .text(text)
        case 700, 701: self = Double(text).map(StoreValue.real) ?? .text(text)
        default: self = .text(text)
        }
    }
}
