// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import GRDB
import Testing

@testable import JobStore

/// The database's file: who may have it, and what happens if it is damaged or cannot be written.
@Suite(.timeLimit(.minutes(60))) struct SQLiteFileTests {
    let folder: StoreFolder

    init() throws { folder = try StoreFolder() }

    private func refusal(opening path: String? = nil) -> StoreError? {
        do throws(StoreError) {
            _ = try SQLiteJobStore(path: path ?? folder.database)
            return nil
        } catch {
            return error
        }
    }

    private let draft = JobDraft(request: "{}", tasks: [TaskDraft(kind: "encode")])

    @Test func oneProcessHasIt() throws {
        var store: SQLiteJobStore? = try SQLiteJobStore(path: folder.database)
        let error = try #require(refusal())
        #expect(error.code == .unavailable && error.message == "another process has the job store open")
        withExtendedLifetime(store) {}
        store = nil
        #expect(refusal() == nil)
    }

    @Test func aFolderThatIsNotThereIsNamed() throws {
        let error = try #require(refusal(opening: folder.path + "/none/jobs.sqlite"))
        #expect(error.code == .unavailable && error.given?.hasPrefix(folder.path + "/none") == true)
        #expect(error.message.contains("No such file or directory"))
    }

    @Test(arguments: [(0x6969, "NFS"), (0xFF53_4D42, "CIFS"), (0xEF53, nil), (0x794C_7630, nil)] as [(Int64, String?)])
    func networkFileSystemsAreKnown(number: Int64, name: String?) {
        #expect(StoreFile.networkFileSystem(number) == name)
    }

    /// Makes a store with jobs and a backup, and one job more.
    private func makeStore(hasBackup: Bool = true) async throws -> [JobID] {
        let store = try SQLiteJobStore(path: folder.database)
        var jobs: [JobID] = []
        for _ in 0..<300 { jobs.append(try await store.submit(draft).job.id) }
        if hasBackup { try await store.backUp() }
        jobs.append(try await store.submit(draft).job.id)
        return jobs
    }

    /// Overwrites the middle of the database.
    private func damage(_ path: String, _ range: Range<Int>) throws {
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        try handle.seek(toOffset: UInt64(range.lowerBound))
        try handle.write(contentsOf: Data(repeating: 0xA5, count: range.count))
        try handle.close()
    }

    @Test(arguments: [0..<100, 4096..<65536]) func aDamagedOneIsReplacedByItsBackup(range: Range<Int>) async throws {
        let jobs = try await makeStore()
        try damage(folder.database, range)
        let store = try SQLiteJobStore(path: folder.database)
        let repair = try #require(store.repair)
        let damaged = try #require(repair.damagedPath)
        #expect(damaged == folder.database + ".damaged-1" && !repair.damage.isEmpty)
        #expect(FileManager.default.fileExists(atPath: damaged))
        #expect(FileManager.default.fileExists(atPath: repair.backupPath), "it can be needed again")
        let found = try await store.jobs(JobFilter(), before: nil, limit: 1000).map(\.id)
        #expect(found == jobs.dropLast().reversed())
        // It can be used, and is sound from now on.
        #expect(try await store.submit(draft).isNew)
        #expect(try await store.claim(ClaimRequest(worker: "w"))?.task.job == jobs.first)
    }

    /// The process was killed while it replaced the database, or the disk has lost it.
    @Test(arguments: [true, false]) func aMissingOneIsReplacedByItsBackup(isEmpty: Bool) async throws {
        let jobs = try await makeStore()
        for suffix in ["", "-wal", "-shm"] { unlink(folder.database + suffix) }
        if isEmpty { try Data().write(to: URL(fileURLWithPath: folder.database)) }
        let store = try SQLiteJobStore(path: folder.database)
        #expect(try #require(store.repair).damage == "the job store is missing, but not its backup")
        #expect(try await store.jobs(JobFilter(), before: nil, limit: 1000).count == jobs.count - 1)
    }

    /// A worker of before the damage must not have the token of another one.
    @Test func afterARestoreNoNumberIsIssuedAgain() async throws {
        _ = try await makeStore()
        var store: SQLiteJobStore? = try SQLiteJobStore(path: folder.database)
        let zombie = try #require(try await store?.claim(ClaimRequest(worker: "zombie")))
        let events = try #require(try await store?.events(after: 0, of: nil, limit: 1000).last?.number)
        store = nil
        try damage(folder.database, 4096..<65536)
        let restored = try SQLiteJobStore(path: folder.database)
        let heir = try #require(try await restored.claim(ClaimRequest(worker: "heir")))
        #expect(heir.task == zombie.task && heir.token > zombie.token)
        do throws(StoreError) {
            try await restored.complete(zombie.token, result: "{}", intent: "{}") { Issue.record("it was published") }
            Issue.record("a zombie has completed")
        } catch {
            #expect(error.code == .staleAttempt)
        }
        let later = try await restored.events(after: events, of: nil, limit: 1000)
        #expect(later.map(\.kind) == [.started(task: 0, heir.token, worker: "heir"), .job(.running)])
    }

    @Test func everyChangeIsOnTheDiskAndOnlyTheOwnerReadsIt() async throws {
        _ = try await makeStore()
        let store = try SQLiteJobStore(path: folder.database)
        #expect(try await store.synchronous == 2)
        #expect(try await store.submit(draft).isNew)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)
            #expect((attributes[.posixPermissions] as? Int) == 0o600, "\(name)")
        }
    }

    @Test func withoutABackupADamagedOneIsLeftAsItIs() async throws {
        _ = try await makeStore(hasBackup: false)
        try damage(folder.database, 4096..<65536)
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.database))
        let error = try #require(refusal())
        #expect(error.code == .damaged && error.given == folder.database, "\(error)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == before)
    }

    @Test func aDamagedBackupDoesNotReplaceAnything() async throws {
        _ = try await makeStore()
        try damage(folder.database, 4096..<65536)
        try damage(folder.database + ".backup", 4096..<65536)
        let error = try #require(refusal())
        #expect(error.code == .damaged)
        #expect(FileManager.default.fileExists(atPath: folder.database))
        #expect(FileManager.default.fileExists(atPath: folder.database + ".backup"))
    }

    @Test func aLaterVersionIsRefused() async throws {
        _ = try await makeStore()
        let queue = try DatabaseQueue(path: folder.database)
        try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('999')") }
        try queue.close()
        #expect(refusal()?.code == .version)
    }

    /// Another program holds the database: calls fail in a bounded time, and work again.
    @Test func aLockedOneIsUnavailableForAWhile() async throws {
        let store = try SQLiteJobStore(path: folder.database, clock: .system, patience: 0.2)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: folder.database, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        do throws(StoreError) {
            _ = try await store.submit(draft)
            Issue.record("it was written")
        } catch {
            #expect(error.code == .unavailable, "\(error)")
        }
        #expect(try await store.queues().count == 1)
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        #expect(try await store.submit(draft).isNew)
    }

    /// The limit stands for a disk that is full.
    @Test func aFullDiskLosesNothing() async throws {
        let store = try SQLiteJobStore(path: folder.database)
        try await store.limitPages(to: 60)
        var accepted: [JobID] = []
        var lastError: StoreError?
        let large = JobDraft(request: "\"\(String(repeating: "x", count: 5000))\"", tasks: [TaskDraft(kind: "encode")])
        for _ in 0..<200 where lastError == nil {
            do throws(StoreError) { accepted.append(try await store.submit(large).job.id) } catch { lastError = error }
        }
        #expect(
            lastError?.code == .unavailable && lastError?.message.contains("full") == true,
            "\(String(describing: lastError))"
        )
        #expect(!accepted.isEmpty)
        let found = try await store.jobs(JobFilter(), before: nil, limit: 1000).map(\.id)
        #expect(found == accepted.reversed())
        try await store.limitPages(to: 1_000_000)
        #expect(try await store.submit(large).isNew)
    }

    /// A backup is complete, although others write meanwhile.
    @Test func backupsAreTakenAtWork() async throws {
        let store = try SQLiteJobStore(path: folder.database)
        let draft = draft
        let writer = Task {
            var count = 0
            while !Task.isCancelled, count < 2000 {
                _ = try await store.submit(draft)
                count += 1
            }
        }
        for _ in 0..<5 {
            // Two at a time do no harm.
            async let other: Void = store.backUp()
            try await store.backUp()
            try await other
            let backup = try DatabaseQueue(path: folder.database + ".backup")
            let (check, jobs, tasks) = try await backup.read { database in
                (
                    try String.fetchOne(database, sql: "PRAGMA integrity_check"),
                    try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM jobs"),
                    try Int.fetchOne(database, sql: "SELECT COUNT(*) FROM tasks")
                )
            }
            #expect(check == "ok" && jobs == tasks)
            try backup.close()
        }
        writer.cancel()
        try await writer.value
    }
}
