// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import GRDB
internal import Glibc

/// The files of a database, which one process has at a time.
final class StoreFile: Sendable {
    let path: String
    private let lock: Int32
    private let patience: Double

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
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let system = linux_file_system(folder)
        guard system >= 0 else {
            throw Self.error("the folder of the job store cannot be used", folder)
        }
        if let name = Self.networkFileSystem(system) {
            throw StoreError(
                .unavailable,
                "the job store is on a network file system, whose locks are not safe",
                given: "\(path) (\(name))",
                allowed: "a local file system"
            )
        }
        lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw Self.error("the lock of the job store cannot be opened", path + ".lock") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let isTaken = errno == EWOULDBLOCK
            let error = Self.error("the job store cannot be locked", path)
            close(lock)
            throw isTaken ? StoreError(.unavailable, "another process has the job store open", given: path) : error
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

    /// Opens the database, and replaces it by its backup if it is damaged.
    func openSound() throws(StoreError) -> (DatabasePool, SQLiteJobStore.Repair?) {
        do throws(StoreError) {
            return (try openPool(), nil)
        } catch {
            guard error.code == .damaged, isSound(backupPath) else { throw error }
            let aside = try moveAside()
            guard rename(backupPath, path) == 0 else {
                throw Self.error("the backup of the job store cannot be used", backupPath)
            }
            let repair = SQLiteJobStore.Repair(
                damage: error.message,
                damagedPath: aside,
                backupPath: backupPath
            )
            return (try openPool(), repair)
        }
    }

    /// Whether there is a database that is not damaged.
    private func isSound(_ path: String) -> Bool {
        guard access(path, F_OK) == 0 else { return false }
        var configuration = Configuration()
        configuration.readonly = true
        let findings = try? DatabaseQueue(path: path, configuration: configuration).read {
            try String.fetchAll($0, sql: "PRAGMA quick_check(1)")
        }
        return findings == ["ok"]
    }

    private func openPool() throws(StoreError) -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "jobs"
        configuration.foreignKeysEnabled = true
        configuration.maximumReaderCount = 4
        configuration.busyMode = .timeout(patience)
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        return try storing {
            let pool = try DatabasePool(path: path, configuration: configuration)
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

    /// Renames the files of the database.
    ///
    /// - Returns: The new path of the database.
    private func moveAside() throws(StoreError) -> String {
        var number = 1
        while access("\(path).damaged-\(number)", F_OK) == 0 { number += 1 }
        let aside = "\(path).damaged-\(number)"
        for suffix in ["", "-wal", "-shm"] where access(path + suffix, F_OK) == 0 {
            guard rename(path + suffix, aside + suffix) == 0 else {
                throw Self.error("the damaged job store cannot be moved", path + suffix)
            }
        }
        return aside
    }

    // MARK: Backup

    /// Writes a backup in place of the one before.
    func backUp(_ pool: DatabasePool) throws {
        let new = backupPath + ".new"
        unlink(new)
        defer { unlink(new) }
        try pool.writeWithoutTransaction { database in
            try database.execute(sql: "VACUUM INTO ?", arguments: [new])
        }
        let descriptor = open(new, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.error("the backup cannot be opened", new) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw Self.error("the backup cannot be written", new) }
        guard rename(new, backupPath) == 0 else { throw Self.error("the backup cannot be renamed", new) }
    }
}
