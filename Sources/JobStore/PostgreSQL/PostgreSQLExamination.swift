// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// Something that was found out about a database of a job store.
package struct StoreFinding: Sendable, Hashable {
    /// What was looked at.
    package var subject: String
    /// What was found.
    package var value: String
    /// What is wrong, and what to do; `nil` if it is right.
    package var problem: String?
}

extension PostgreSQLJobStore {
    /// Looks at a server and at the tables of a job store there. Changes nothing.
    ///
    /// - Throws: `unavailable` if the server cannot be reached.
    package static func examine(_ location: String) async throws(StoreError) -> [StoreFinding] {
        let session = PostgreSQLSession(location, PostgreSQLClock(.system), KnownDemands())
        do {
            return try await session.run { try PostgreSQLExamination(connection: $0).findings() }
        } catch let error as PostgreSQLError {
            throw StoreError(error)
        } catch {
            throw StoreError(.unavailable, "\(error)")
        }
    }
}

/// The questions to a server.
private struct PostgreSQLExamination {
    let connection: PostgreSQLConnection
    private var schema: String { PostgreSQLSchema.name }
    /// Milliseconds after which what should have been done is late.
    private static let patience: Int64 = 60_000

    init(connection: PostgreSQLConnection) { self.connection = connection }

    func findings() throws -> [StoreFinding] {
        var findings = [try server(), try durability(), try connections()]
        let tables = try tables()
        findings.append(tables)
        guard tables.problem == nil else { return findings }
        let rights = try rights()
        findings.append(rights)
        guard rights.problem == nil else { return findings }
        return try findings + [clock(), oldestTransaction(), deadRows(), workers(), leases(), doubts()]
    }

    // MARK: The server

    private func server() throws -> StoreFinding {
        let isStandby: Int64 = try value("SELECT pg_is_in_recovery()")
        let version: String = try value("SELECT current_setting('server_version')")
        var problem: String?
        if connection.serverVersion < PostgreSQLJobStore.oldestServer {
            problem = "it is too old: version \(PostgreSQLJobStore.oldestServer / 10_000) or later is needed"
        } else if isStandby == 1 {
            problem = "it is a standby, which cannot be written; add target_session_attrs=read-write to the location"
        }
        return StoreFinding(subject: "server", value: "PostgreSQL \(version)", problem: problem)
    }

    private func durability() throws -> StoreFinding {
        func setting(_ name: String) throws -> String { try value("SELECT current_setting('\(name)')") }
        let standbys: Int64 = try value("SELECT COUNT(*) FROM pg_stat_replication")
        let names = try setting("synchronous_standby_names")
        let (commit, sync) = (try setting("synchronous_commit"), try setting("fsync"))
        var problem: String?
        if sync != "on" {
            problem = "fsync is off: jobs are lost with the power; turn it on"
        } else if commit == "off" {
            problem = "synchronous_commit is off: what was answered may be lost; turn it on"
        } else if standbys > 0, names.isEmpty || commit == "local" {
            problem = "a failover may lose what was answered; set synchronous_standby_names"
        }
        let replication =
            standbys == 0 ? "no standby" : "\(standbys) standbys, \(names.isEmpty ? "asynchronous" : "synchronous")"
        return StoreFinding(
            subject: "durability",
            value: "\(replication), synchronous_commit \(commit), fsync \(sync)",
            problem: problem
        )
    }

    private func connections() throws -> StoreFinding {
        let used: Int64 = try value("SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
        let most: Int64 = try value("SELECT current_setting('max_connections')::bigint")
        let isFull = used * 10 > most * 9
        return StoreFinding(
            subject: "connections",
            value: "\(used) of \(most)\(try visibility())",
            problem: isFull ? "few are left; raise max_connections, or put PgBouncer in between" : nil
        )
    }

    /// What is to be said of figures of sessions, of which others' are hidden from a role without the right.
    private func visibility() throws -> String {
        let isComplete: Int64 = try value("SELECT pg_has_role('pg_read_all_stats', 'USAGE')")
        return isComplete == 1 ? "" : " (of this role only: it lacks pg_read_all_stats)"
    }

    private func oldestTransaction() throws -> StoreFinding {
        let seconds: Int64 = try value(
            """
            SELECT COALESCE(MAX(EXTRACT(epoch FROM now() - xact_start)), 0)::bigint FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
            """
        )
        return StoreFinding(
            subject: "oldest transaction",
            value: "\(seconds) s\(try visibility())",
            problem: seconds > 300 ? "it keeps vacuum from removing rows; find it in pg_stat_activity" : nil
        )
    }

    // MARK: The tables

    private func tables() throws -> StoreFinding {
        let known: Int64
        do {
            known = try value("SELECT COALESCE(MAX(number), 0) FROM \(schema).versions")
        } catch let error as PostgreSQLError {
            guard error.isMissingTable || error.isForbidden else { throw error }
            return StoreFinding(
                subject: "tables",
                value: error.isForbidden ? "not readable" : "none",
                problem: error.isForbidden
                    ? "this role may not read them; run vatoolbox cluster migrate with --grant"
                    : "run vatoolbox cluster migrate"
            )
        }
        let now = PostgreSQLSchema.version
        let problem: String? =
            known == now
            ? nil
            : known < now ? "version \(now) is needed: run vatoolbox cluster migrate" : "this program is too old"
        return StoreFinding(subject: "tables", value: "version \(known)", problem: problem)
    }

    private func rights() throws -> StoreFinding {
        let rows = try connection.execute(
            """
            SELECT table_name AS name FROM information_schema.tables
            WHERE table_schema = '\(schema)' AND table_name <> 'versions' AND NOT (
                has_table_privilege(quote_ident(table_schema) || '.' || quote_ident(table_name), 'SELECT')
                AND has_table_privilege(quote_ident(table_schema) || '.' || quote_ident(table_name), 'INSERT')
                AND has_table_privilege(quote_ident(table_schema) || '.' || quote_ident(table_name), 'UPDATE')
                AND has_table_privilege(quote_ident(table_schema) || '.' || quote_ident(table_name), 'DELETE')
            ) ORDER BY name
            """
        ).rows
        let count: Int64 = try value(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '\(schema)'"
        )
        let missing: [String] = try rows.map { try $0["name"] }
        let isWhole = missing.isEmpty && count > 1
        let names = missing.isEmpty ? "all tables" : missing.joined(separator: ", ")
        return StoreFinding(
            subject: "rights",
            value: isWhole ? "sufficient" : "missing for \(names)",
            problem: isWhole ? nil : "run vatoolbox cluster migrate with --grant ROLE, as the owner of the tables"
        )
    }

    private func clock() throws -> StoreFinding {
        let before = Self.now
        let time: Int64 = try value("SELECT \(schema).system_time()")
        let difference = time - (before + Self.now) / 2
        let correction: Int64 = try value("SELECT correction FROM \(schema).clock")
        let isFar = abs(difference) > Self.patience
        return StoreFinding(
            subject: "clock",
            value: "\(difference) ms after this machine's, corrected by \(correction) ms",
            problem: isFar ? "times of jobs are the server's; let all machines follow a time server" : nil
        )
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    private func deadRows() throws -> StoreFinding {
        let rows = try connection.execute(
            """
            SELECT relname AS name, n_live_tup AS live, n_dead_tup AS dead FROM pg_stat_user_tables
            WHERE schemaname = '\(schema)' AND relname IN ('tasks', 'leases', 'shares', 'jobs') ORDER BY relname
            """
        ).rows
        var texts: [String] = []
        var isMuch = false
        for row in rows {
            let (name, live, dead): (String, Int64, Int64) = try (row["name"], row["live"], row["dead"])
            texts.append("\(name) \(dead) beside \(live)")
            isMuch = isMuch || dead > 10_000 + live
        }
        return StoreFinding(
            subject: "dead rows",
            value: texts.joined(separator: ", "),
            problem: isMuch ? "autovacuum does not keep up; look for old transactions, and at its settings" : nil
        )
    }

    // MARK: Work

    private func workers() throws -> StoreFinding {
        let rows = try connection.execute(
            """
            SELECT last.worker, (\(time) - MAX(last.started)) / 1000 AS seconds,
                (SELECT COUNT(*) FROM \(schema).leases WHERE leases.worker = last.worker) AS running
            FROM (SELECT worker, started FROM \(schema).attempts ORDER BY token DESC LIMIT 1000) AS last
            GROUP BY last.worker ORDER BY seconds LIMIT 50
            """
        ).rows
        var texts: [String] = []
        for row in rows {
            let (worker, seconds, running): (String, Int64, Int64) = try (
                row["worker"], row["seconds"], row["running"]
            )
            texts.append("\(worker) (began a task \(seconds) s ago, \(running) run)")
        }
        return StoreFinding(
            subject: "workers that began tasks",
            value: texts.isEmpty ? "none has yet" : texts.joined(separator: ", ")
        )
    }

    private func leases() throws -> StoreFinding {
        let late: Int64 = try value(
            "SELECT COUNT(*) FROM \(schema).leases WHERE intent IS NULL AND ends < \(time) - \(Self.patience)"
        )
        let all: Int64 = try value("SELECT COUNT(*) FROM \(schema).leases")
        return StoreFinding(
            subject: "leases",
            value: "\(all), of which \(late) have ended",
            problem: late > 0 ? "no process tends the store; start vatoolbox serve or vatoolbox worker" : nil
        )
    }

    private func doubts() throws -> StoreFinding {
        let all: Int64 = try value("SELECT COUNT(*) FROM \(schema).leases WHERE intent IS NOT NULL")
        let late: Int64 = try value(
            "SELECT COUNT(*) FROM \(schema).leases WHERE intent IS NOT NULL AND ends < \(time) - \(Self.patience)"
        )
        return StoreFinding(
            subject: "attempts in doubt",
            value: "\(all), of which \(late) are overdue",
            problem: late > 0 ? "a process that sees the folder of results must settle them; see its log" : nil
        )
    }

    /// The store's time.
    private var time: String { "(\(schema).system_time() + (SELECT correction FROM \(schema).clock))" }

    private func value<Value: StoreValueConvertible>(_ sql: String) throws -> Value {
        try StoreRow.value(connection.execute(sql).value, sql)
    }
}
