// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import GRDB
internal import Glibc
internal import Synchronization

/// The files of a database, which one process has at a time.
final class StoreFile: Sendable {
    let path: String
    private let lock: Int32
    private let patience: Double
    private let backups = Atomic(0)

    private var folder: String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }
    private var backupPath: String { path + ".backup" }

    /// Takes the database.
    ///
    /// - Parameters:
    ///   - path: Its path.
    ///   - patience: How many seconds a call waits for a program that holds the database.
    /// - Throws: `unavailable` if another process has it, or if it is on a network file system: the locks of these do not
    ///   hold what SQLite needs.
    init(path: String, patience: Double) throws(StoreError) {
        self.path = path
        self.patience = patience
        lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw Self.error("the job store cannot be locked", path + ".lock") }
        let system = linux_file_system(folder)
        guard system >= 0 else { throw Self.error("the folder of the job store cannot be used", folder) }
        if let name = Self.networkFileSystem(system) {
            throw StoreError(
                .unavailable,
                "the job store is on a network file system, whose locks are not safe",
                given: "\(path) (\(name))",
                allowed: "a local file system"
            )
        }
        // A process that is just ending, or a child between fork and exec, has the lock a moment longer.
        var attempts = 50
        while flock(lock, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else {
                throw Self.error("the job store cannot be locked", path)
            }
            attempts -= 1
            guard attempts > 0 else {
                throw StoreError(.unavailable, "another process has the job store open", given: path)
            }
            usleep(20_000)
        }
    }

    deinit { close(lock) }

    private static func error(_ message: String, _ given: String) -> StoreError {
        StoreError(.unavailable, "\(message): \(String(cString: strerror(errno)))", given: given)
    }

    /// Returns the name of a file system on another machine; `nil` for all others.
    ///
    /// - Parameter number: Its magic number (statfs(2)).
    static func networkFileSystem(_ number: Int64) -> String? { networkFileSystems[number] }

    private static let networkFileSystems: [Int64: String] = [
        0x6969: "NFS", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB2", 0x517B: "SMB", 0x0102_1997: "9P",
        0x5346_414F: "AFS", 0x7375_7245: "Coda", 0x00C3_6400: "Ceph", 0x0BD0_0BD0: "Lustre",
        0x0116_1970: "GFS2", 0x7461_636F: "OCFS2", 0x4750_4653: "GPFS", 0x1983_0326: "FhGFS",
    ]

    // MARK: Opening

    /// Opens the database, and replaces it by a copy of its backup if it is damaged, or is not there although its backup
    /// is.
    func openSound() throws(StoreError) -> (DatabasePool, SQLiteJobStore.Repair?) {
        let isMissing = !Self.isStore(path) && access(backupPath, F_OK) == 0
        do throws(StoreError) {
            if isMissing { throw StoreError(.damaged, "the job store is missing, but not its backup", given: path) }
            return (try openPool(), nil)
        } catch {
            guard error.code == .damaged, Self.isStore(backupPath) else { throw error }
            let damaged = try restore()
            let pool = try openPool()
            try storing { try pool.write(Self.skipNumbers) }
            return (
                pool,
                SQLiteJobStore.Repair(damage: error.message, damagedPath: damaged, backupPath: backupPath)
            )
        }
    }

    /// Whether there is a database of a store that is not damaged. SQLite takes an empty file for a sound database.
    private static func isStore(_ path: String) -> Bool {
        guard access(path, F_OK) == 0 else { return false }
        var configuration = Configuration()
        configuration.readonly = true
        let isSound = try? DatabaseQueue(path: path, configuration: configuration).read { database in
            try String.fetchAll(database, sql: "PRAGMA quick_check(1)") == ["ok"]
                && database.tableExists("grdb_migrations")
        }
        return isSound ?? false
    }

    private func openPool() throws(StoreError) -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "jobs"
        configuration.foreignKeysEnabled = true
        configuration.maximumReaderCount = 4
        configuration.busyMode = .timeout(patience)
        // SQLite gives its other files the rights of this one. Requests of jobs can contain secrets.
        try create(path)
        return try storing {
            let pool = try DatabasePool(path: path, configuration: configuration)
            // The pool has chosen NORMAL, with which the last changes are lost with the power.
            try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            let findings = try pool.read { try String.fetchAll($0, sql: "PRAGMA quick_check(1)") }
            guard findings == ["ok"] else {
                let finding = findings.first ?? "no result"
                try pool.close()
                throw StoreError(.damaged, "the job store is damaged: \(finding)", given: path)
            }
            let migrator = Schema.migrator
            guard try !pool.read(migrator.hasBeenSuperseded) else {
                throw StoreError(.version, "the job store was written by a later version", given: path)
            }
            try migrator.migrate(pool)
            return pool
        }
    }

    /// Creates an empty file that only its owner can read, unless there is one.
    private func create(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.error("the job store cannot be opened", path) }
        close(descriptor)
    }

    // MARK: Restoring

    /// Puts a copy of the backup in place of the database, whose files get other names.
    ///
    /// - Returns: The new path of the database; `nil` if there was none.
    private func restore() throws(StoreError) -> String? {
        let copy = path + ".restored"
        unlink(copy)
        try create(copy)
        try storing {
            var configuration = Configuration()
            configuration.readonly = true
            let backup = try DatabaseQueue(path: backupPath, configuration: configuration)
            try backup.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [copy]) }
        }
        try sync(copy)
        // If the process ends here, the next start finds the backup, and no database.
        let damaged = try moveAside()
        guard rename(copy, path) == 0 else { throw Self.error("the backup of the job store cannot be used", copy) }
        try sync(folder)
        return damaged
    }

    private func moveAside() throws(StoreError) -> String? {
        var number = 1
        while access("\(path).damaged-\(number)", F_OK) == 0 { number += 1 }
        let aside = "\(path).damaged-\(number)"
        // The log first: without its database, it is nothing.
        for suffix in ["-wal", "-shm", ""] where access(path + suffix, F_OK) == 0 {
            guard rename(path + suffix, aside + suffix) == 0 else {
                throw Self.error("the damaged job store cannot be moved", path + suffix)
            }
        }
        return access(aside, F_OK) == 0 ? aside : nil
    }

    /// Leaves out numbers that may have been issued after the backup: a worker that was frozen since must not have the
    /// token of another one.
    private static func skipNumbers(_ database: Database) throws {
        for table in ["attempts", "events", "jobs"] {
            try database.execute(
                sql: "INSERT INTO sqlite_sequence SELECT ?, 0 WHERE ? NOT IN (SELECT name FROM sqlite_sequence)",
                arguments: [table, table]
            )
            try database.execute(
                sql: "UPDATE sqlite_sequence SET seq = seq + (1 << 40) WHERE name = ?",
                arguments: [table]
            )
        }
    }

    // MARK: Backup

    /// Writes a backup in place of the one before. Several calls at a time do no harm.
    func backUp() throws {
        let number = backups.add(1, ordering: .relaxed).newValue
        let new = "\(backupPath).new-\(number)"
        unlink(new)
        try create(new)
        defer { unlink(new) }
        // On a connection of its own, so that changes go on.
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(patience)
        let source = try DatabaseQueue(path: path, configuration: configuration)
        try source.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [new]) }
        try sync(new)
        guard rename(new, backupPath) == 0 else { throw Self.error("the backup cannot be renamed", new) }
        try sync(folder)
    }

    /// Writes a file or folder to the disk.
    private func sync(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.error("a file of the job store cannot be opened", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw Self.error("a file of the job store cannot be written", path) }
    }
}
