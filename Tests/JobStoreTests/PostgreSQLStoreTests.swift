// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import Glibc
import Synchronization
import Testing

@testable import JobStore

/// What a store for many processes has beyond what every store has: tables that are created on purpose, servers that end,
/// and other transactions at the same time.
@Suite(.timeLimit(.minutes(60))) struct PostgreSQLStoreTests {
    private let draft = JobDraft(request: "{}", tasks: [TaskDraft(kind: "encode")])

    private func store(_ location: String) async throws -> PostgreSQLJobStore {
        try await PostgreSQLJobStore(location: location, mostConnections: 4)
    }

    private func refusal(_ location: String) async -> StoreError? {
        do throws(StoreError) {
            _ = try await PostgreSQLJobStore(location: location)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Tables

    @Test func tablesAreCreatedOnPurpose() async throws {
        let server = try PostgreSQLServer.shared()
        let location = try server.makeEmptyDatabase()
        let missing = try #require(await refusal(location))
        #expect(missing.code == .version && missing.message.contains("vatoolbox cluster migrate"))
        #expect(try await PostgreSQLJobStore.migrate(location) == (0, PostgreSQLSchema.version))
        #expect(try await PostgreSQLJobStore.migrate(location) == (PostgreSQLSchema.version, PostgreSQLSchema.version))
        #expect(await refusal(location) == nil)
    }

    @Test func tablesOfALaterVersionAreRefused() async throws {
        let location = try await PostgreSQLServer.shared().makeDatabase()
        _ = try PostgreSQLConnection(location).execute("INSERT INTO vatoolbox.versions VALUES (4711)")
        let later = try #require(await refusal(location))
        #expect(later.code == .version && later.message.contains("update this program"))
        await #expect(throws: StoreError.self) { try await PostgreSQLJobStore.migrate(location) }
    }

    @Test func aMigrationWaitsForNobody() async throws {
        let location = try PostgreSQLServer.shared().makeEmptyDatabase()
        _ = try await PostgreSQLJobStore.migrate(location)
        let other = try PostgreSQLConnection(location)
        _ = try other.executeAll("BEGIN; LOCK TABLE vatoolbox.versions IN ACCESS EXCLUSIVE MODE")
        do {
            _ = try await PostgreSQLJobStore.migrate(location)
            Issue.record("the migration has waited")
        } catch {
            #expect(error.code == .unavailable && error.message.contains("lock timeout"), "\(error)")
        }
    }

    @Test func aRoleWithTheLeastRightsIsEnough() async throws {
        let server = try PostgreSQLServer.shared()
        let location = try server.makeEmptyDatabase()
        let role = "service \(UInt32.random(in: 0...UInt32.max))"
        _ = try PostgreSQLConnection(location).execute("CREATE ROLE \"\(role)\" LOGIN")
        _ = try await PostgreSQLJobStore.migrate(location, grantingTo: role)
        let restricted = location.replacing("user=vatoolbox", with: "user='\(role)'")
        let store = try await store(restricted)
        let job = try await store.submit(draft).job.id
        let claim = try #require(try await store.claim(ClaimRequest(worker: "worker")))
        #expect(try await store.renew([Heartbeat(claim.token)], for: .seconds(15)) == [claim.token: .continues])
        try await store.complete(claim.token, result: "{}", intent: "{}") {}
        _ = try await store.tend()
        try await store.setQueue(QueueSettings(name: "other"))
        try await store.removeQueue("other")
        #expect(try await store.events(after: 0, of: job, limit: 10).count == 5)
        try await store.delete(job)
        for forbidden in ["DROP TABLE vatoolbox.jobs", "DELETE FROM vatoolbox.versions", "CREATE TABLE vatoolbox.x ()"]
        {
            #expect(throws: PostgreSQLError.self) { try PostgreSQLConnection(restricted).execute(forbidden) }
        }
    }

    // MARK: Servers

    @Test func anExaminationSaysWhatIsWrong() async throws {
        let location = try PostgreSQLServer.shared().makeEmptyDatabase()
        func finding(_ subject: String) async throws -> StoreFinding? {
            try await PostgreSQLJobStore.examine(location).first { $0.subject == subject }
        }
        // Servers of tests do not write to the disk.
        #expect(try await finding("durability")?.problem?.contains("fsync") == true)
        #expect(try await finding("tables")?.problem == "run vatoolbox cluster migrate")
        #expect(try await finding("leases") == nil)
        _ = try await PostgreSQLJobStore.migrate(location)
        #expect(try await PostgreSQLJobStore.examine(location).compactMap(\.problem).count == 1)
        let store = try await store(location)
        _ = try await store.submit(draft)
        let claim = try await store.claim(ClaimRequest(worker: "a/1", lease: .milliseconds(1)))
        #expect(claim != nil)
        let workers = try await finding("workers that began tasks")?.value
        #expect(workers?.hasPrefix("a/1 (began a task ") == true && workers?.contains("1 run") == true)
        // As if nobody had tended the store since.
        _ = try PostgreSQLConnection(location).execute("UPDATE vatoolbox.leases SET ends = ends - 3600000")
        #expect(try await finding("leases")?.problem != nil)
        _ = try PostgreSQLConnection(location).execute("UPDATE vatoolbox.leases SET intent = '{}', result = '{}'")
        #expect(try await finding("leases")?.problem == nil)
        #expect(try await finding("attempts in doubt")?.problem != nil)
        #expect(try await store.unsettledAttempts().first?.hasLapsed == true)
    }

    @Test func locationsAreCheckedWithoutAServer() {
        #expect(PostgreSQLJobStore.isLocation("postgresql://me@host/db") && PostgreSQLJobStore.isLocation("host=h"))
        #expect(!PostgreSQLJobStore.isLocation("db") && !PostgreSQLJobStore.isLocation("host=h\0"))
    }

    @Test func aServerThatCannotBeReachedIsNamed() async throws {
        let error = try #require(await refusal("host=/nonexistent user=nobody password=secret"))
        #expect(error.code == .unavailable && error.message.contains("/nonexistent"))
        #expect(!"\(error)".contains("secret"))
    }

    @Test(
        arguments: [
            "nonsense=1", "postgresql://u:secr%zzet@host", "postgresql://u:secret/1@host", "password=my secret",
            "host=/x password=secret port=secret", "postgresql://u:secret@[::1",
        ]
    )
    func aPasswordIsInNoError(location: String) async throws {
        let error = try #require(await refusal(location))
        #expect(error.code == .unavailable)
        #expect(!"\(error)".contains("secr"), "\(error)")
    }

    @Test func callsGoOnWhenTheServerIsBack() async throws {
        let server = try PostgreSQLServer()
        let store = try await store(try await server.makeDatabase())
        let job = try await store.submit(draft).job
        let claim = try #require(try await store.claim(ClaimRequest(worker: "worker")))
        server.stop()
        do {
            _ = try await store.submit(draft)
            Issue.record("there is no server")
        } catch {
            #expect(error.code == .unavailable)
        }
        try server.start()
        #expect(try await store.renew([Heartbeat(claim.token)], for: .seconds(15)) == [claim.token: .continues])
        try await store.complete(claim.token, result: "{}", intent: "{}") {}
        #expect(try await store.job(job.id).job.state == .succeeded)
    }

    @Test func connectionsThatAreCutAreMadeAgain() async throws {
        let location = try await PostgreSQLServer.shared().makeDatabase()
        let store = try await store(location)
        for _ in 0..<5 {
            _ = try await store.submit(draft)
            let sql = """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """
            _ = try PostgreSQLConnection(location).execute(sql)
        }
        #expect(try await store.jobs(JobFilter(), before: nil, limit: 100).count == 5)
    }

    // MARK: Others at the same time

    @Test func eventsAreNeverMissed() async throws {
        let location = try await PostgreSQLServer.shared().makeDatabase()
        let stores = [try await store(location), try await store(location), try await store(location)]
        let jobs = 150
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores.dropFirst() {
                group.addTask { for _ in 0..<jobs { _ = try await store.submit(self.draft) } }
                group.addTask {
                    // Canceling takes longer, and has smaller numbers after larger ones.
                    for _ in 0..<jobs {
                        guard let claim = try await store.claim(ClaimRequest(worker: "worker")) else { continue }
                        try await store.complete(claim.token, result: "{}", intent: "{}") { usleep(2000) }
                    }
                }
            }
            // Reads along while they write.
            var seen: [Int64] = []
            while seen.count < 2 * jobs {
                seen += try await stores[0].events(after: seen.last ?? 0, of: nil, limit: 1000).map(\.number)
            }
            try await group.waitForAll()
            func rest(after number: Int64) async throws -> [Int64] {
                var numbers: [Int64] = []
                while true {
                    let last = numbers.last ?? number
                    let more = try await stores[0].events(after: last, of: nil, limit: 1000).map(\.number)
                    guard !more.isEmpty else { return numbers }
                    numbers += more
                }
            }
            seen += try await rest(after: seen.last ?? 0)
            #expect(seen == (try await rest(after: 0)))
        }
    }

    @Test func anEventThatIsNotCommittedHidesLaterOnes() async throws {
        let location = try await PostgreSQLServer.shared().makeDatabase()
        let store = try await store(location)
        let first = try await store.submit(draft).job
        let slow = try PostgreSQLConnection(location)
        _ = try slow.executeAll("BEGIN; SET LOCAL search_path TO vatoolbox")
        let database = PostgreSQLDatabase(slow, isWriting: true)
        let transaction = StoreTransaction(database: database, time: first.created, demands: KnownDemands())
        try transaction.note("cancel", "", of: first.position)
        let second = try await store.submit(draft).job
        #expect(try await store.events(after: 0, of: nil, limit: 10).map(\.job) == [first.id])
        #expect(try await store.lastEventNumber() == 1)
        _ = try slow.execute("COMMIT")
        #expect(try await store.events(after: 0, of: nil, limit: 10).map(\.job) == [first.id, first.id, second.id])
        #expect(try await store.lastEventNumber() == 3)
    }

    @Test func oneKeyMakesOneJobHoweverManySubmitIt() async throws {
        let location = try await PostgreSQLServer.shared().makeDatabase()
        let stores = [try await store(location), try await store(location)]
        for key in 0..<20 {
            var draft = draft
            draft.idempotency = JobDraft.Idempotency(key: "\(key)", hash: "1")
            let jobs = try await withThrowingTaskGroup(of: (JobID, Bool).self) { group in
                for index in 0..<8 {
                    group.addTask { [draft] in
                        let (job, isNew) = try await stores[index % 2].submit(draft)
                        return (job.id, isNew)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(jobs.map(\.0)).count == 1)
            #expect(jobs.filter(\.1).count == 1)
        }
    }

    @Test func aQueueWithALimitIsNeverOverfull() async throws {
        let location = try await PostgreSQLServer.shared().makeDatabase()
        let stores = [try await store(location), try await store(location)]
        var settings = QueueSettings(name: QueueSettings.defaultName)
        settings.mostRunning = 3
        try await stores[0].setQueue(settings)
        for _ in 0..<40 { _ = try await stores[0].submit(draft) }
        let claims = try await withThrowingTaskGroup(of: Claim?.self) { group in
            for index in 0..<16 {
                group.addTask { try await stores[index % 2].claim(ClaimRequest(worker: "worker \(index)")) }
            }
            return try await group.reduce(into: []) { if let claim = $1 { $0.append(claim) } }
        }
        #expect(claims.count == 3)
    }

    /// The time limit of a job passes while its last task is published.
    @Test func theUpkeepLeavesAJobThatOthersAreChanging() async throws {
        let location = try await PostgreSQLServer.shared().makeDatabase()
        let store = try await store(location)
        var draft = draft
        draft.timeLimit = .milliseconds(1)
        let job = try await store.submit(draft).job.id
        // The upkeep has not failed it yet.
        let claim = try #require(try await store.claim(ClaimRequest(worker: "worker")))
        let (begins, ends) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
        let completion = Task {
            try await store.complete(claim.token, result: "{}", intent: "{}") {
                begins.continuation.finish()
                ends.wait()
            }
        }
        for await _ in begins.stream {}
        #expect(try await store.tend().late.isEmpty)
        ends.signal()
        try await completion.value
        #expect(try await store.tend().late.isEmpty)
        #expect(try await store.job(job).job.state == .succeeded)
    }

    /// Two processes of which one has a wrong idea of the time do not fight for it.
    @Test func clocksOfProcessesThatDisagreeDoNotFight() async throws {
        let location = try await PostgreSQLServer.shared().makeDatabase()
        let ahead = Ahead()
        let wrong = StoreClock.Source(
            time: StoreClock.Source.system.time,
            elapsed: { StoreClock.Source.system.elapsed() + ahead.milliseconds.load(ordering: .relaxed) }
        )
        let first = try await store(location)
        let second = try await PostgreSQLJobStore(location: location, mostConnections: 2, clock: wrong)
        for store in [first, second] { _ = try await store.submit(draft) }
        // An hour has passed for the second one only.
        ahead.milliseconds.store(3_600_000, ordering: .relaxed)
        for _ in 0..<5 {
            _ = try await second.submit(draft)
            _ = try await first.submit(draft)
        }
        let changes = try PostgreSQLConnection(location).execute("SELECT changes FROM vatoolbox.clock").value
        #expect(changes == .integer(1))
    }

    /// A process that begins after a jump takes the time for the right one, until another process corrects it.
    @Test(arguments: [3_600_000, -3_600_000] as [Int64])
    func whatWasWrittenInAWrongTimeIsSetRight(jump: Int64) async throws {
        let location = try await PostgreSQLServer.shared().makeDatabase()
        let old = try await store(location)
        _ = try await old.submit(draft)
        let server = try PostgreSQLConnection(location)
        _ = try server.executeAll(
            """
            CREATE OR REPLACE FUNCTION vatoolbox.system_time() RETURNS BIGINT LANGUAGE sql VOLATILE
                AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + \(jump)'
            """
        )
        let new = try await store(location)
        _ = try await new.submit(draft)
        let claim = try #require(try await new.claim(ClaimRequest(worker: "worker")))
        // This one knows better.
        #expect(try await old.tend().lost.isEmpty)
        let record = try await old.job(claim.task.job)
        let now = try await old.submit(draft).job.created
        let left = try #require(record.attempts.first?.leaseEnd) - now
        #expect(left > .seconds(1) && left < .seconds(60), "\(left)")
        // All others can be claimed.
        #expect(try await old.claim(ClaimRequest(worker: "worker")) != nil)
        #expect(try await old.claim(ClaimRequest(worker: "worker")) != nil)
    }

    @Test func aRenewalComesBeforeTheUpkeep() async throws {
        let location = try await PostgreSQLServer.shared().makeDatabase()
        let store = try await store(location)
        _ = try await store.submit(draft)
        let request = ClaimRequest(worker: "worker", lease: .milliseconds(1))
        let claim = try #require(try await store.claim(request))
        // The upkeep has found it, and waits for its row.
        let other = try PostgreSQLConnection(location)
        _ = try other.executeAll("BEGIN; SET LOCAL search_path TO vatoolbox")
        _ = try other.execute("UPDATE leases SET ends = ends + 3600000")
        let upkeep = Task { try await store.tend() }
        try await Task.sleep(for: .milliseconds(300))
        _ = try other.execute("COMMIT")
        #expect(try await upkeep.value.lost.isEmpty)
        #expect(try await store.renew([Heartbeat(claim.token)], for: .seconds(15)) == [claim.token: .continues])
    }

    @Test func claimsWaitForNobody() async throws {
        let location = try await PostgreSQLServer.shared().makeDatabase()
        let store = try await store(location)
        let jobs = [try await store.submit(draft).job, try await store.submit(draft).job]
        // A process that is frozen while it has locked the first job.
        let frozen = try PostgreSQLConnection(location)
        _ = try frozen.executeAll("BEGIN; SELECT 1 FROM vatoolbox.jobs WHERE position = \(jobs[0].position) FOR UPDATE")
        #expect(try await store.claim(ClaimRequest(worker: "worker"))?.task.job == jobs[1].id)
        #expect(try await store.claim(ClaimRequest(worker: "worker")) == nil)
        _ = try frozen.execute("COMMIT")
        #expect(try await store.claim(ClaimRequest(worker: "worker"))?.task.job == jobs[0].id)
    }

    @Test func tasksAreAnnounced() async throws {
        let location = try await PostgreSQLServer.shared().makeDatabase()
        let (listening, other) = (try await store(location), try await store(location))
        #expect(try await !listening.isToldOfTasks(within: .milliseconds(1)))
        _ = try await other.submit(draft)
        #expect(try await listening.isToldOfTasks(within: .seconds(600)))
        #expect(try await !listening.isToldOfTasks(within: .milliseconds(1)))
    }
}

/// By how much a clock is ahead.
private final class Ahead: Sendable {
    let milliseconds = Atomic<Int64>(0)
}
