// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import JobStore
import Synchronization

/// Workers on one queue in PostgreSQL, which `scripts/verify cluster` kills, freezes and cuts off.
///
///     ClusterWorkers LOCATION FOLDER migrate
///     ClusterWorkers LOCATION FOLDER submit JOBS
///     ClusterWorkers LOCATION FOLDER work NAME LEASE    do tasks until all jobs have ended; LEASE in seconds
///     ClusterWorkers LOCATION FOLDER report             print what became of the jobs, a line for each task
///     ClusterWorkers LOCATION FOLDER claims JOBS SHARES WORKERS    measure claims: see ``Claims``
///
/// Each job has three tasks, of which the last depends on the others. A task's result is a file with the token of its
/// attempt, which exactly one attempt can create.
@main enum ClusterWorkers {
    static func main() async {
        let words = CommandLine.arguments
        do {
            guard words.count > 3 else { throw StoreError(.invalidArgument, "arguments are missing") }
            let folder = ResultFolder(words[2])
            switch (words[3], words.count) {
            case ("migrate", 4): _ = try await PostgreSQLJobStore.migrate(words[1])
            case ("submit", 5): try await submit(try await store(words[1]), jobs: Int(words[4]) ?? 0)
            case ("work", 6):
                let lease = Duration.seconds(Double(words[5]) ?? 0)
                try await Worker(store: try await store(words[1]), folder: folder, name: words[4], lease: lease).run()
            case ("report", 4): try await report(try await store(words[1]))
            case ("claims", 7):
                let numbers = words[4...].compactMap { Int($0) }
                try await Claims(location: words[1], jobs: numbers[0], shares: numbers[1], workers: numbers[2]).run()
            default: throw StoreError(.invalidArgument, "unknown arguments")
            }
        } catch {
            FileHandle.standardError.write(Data("ClusterWorkers: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Opens the store, which may be away for a while.
    static func store(_ location: String) async throws -> PostgreSQLJobStore {
        try await persistently { () async throws(StoreError) in
            try await PostgreSQLJobStore(location: location, mostConnections: 3)
        }
    }

    /// Repeats a call while the store is away.
    static func persistently<Value: Sendable>(
        _ call: () async throws(StoreError) -> Value
    ) async throws -> Value {
        while true {
            do throws(StoreError) { return try await call() } catch {
                guard error.code == .unavailable else { throw error }
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private static func submit(_ store: PostgreSQLJobStore, jobs: Int) async throws {
        let retries = RetryPolicy(mostFailures: 100, mostLosses: 100, pause: 0)
        let tasks = [
            TaskDraft(kind: "left", retries: retries), TaskDraft(kind: "right", retries: retries),
            TaskDraft(kind: "join", dependencies: [0, 1], retries: retries),
        ]
        for number in 0..<jobs {
            // The key makes it one job, however often it is submitted.
            let key = JobDraft.Idempotency(key: "job \(number)", hash: "1")
            let draft = JobDraft(share: "\(number % 3)", request: "{}", tasks: tasks, idempotency: key)
            _ = try await persistently { () async throws(StoreError) in try await store.submit(draft) }
        }
    }

    private static func report(_ store: PostgreSQLJobStore) async throws {
        for job in try await store.jobs(JobFilter(), before: nil, limit: 1000) {
            let record = try await store.job(job.id)
            for task in record.tasks {
                let state = "\(task.state)".prefix { $0 != "(" }
                let tokens = record.attempts.filter { $0.task == task.id }.map { "\($0.token.rawValue)" }
                print(job.state.rawValue, state, ResultFolder.name(of: task.id), tokens.joined(separator: ","))
            }
        }
    }
}

/// A worker: one task at a time, and the upkeep that every node does.
private struct Worker {
    let store: PostgreSQLJobStore
    let folder: ResultFolder
    let name: String
    let lease: Duration

    func run() async throws {
        while true {
            do throws(StoreError) {
                _ = try await store.tend()
                try await settleDead()
                if let claim = try await store.claim(ClaimRequest(worker: name, lease: lease)) {
                    try await perform(claim)
                    continue
                }
                if try await isOver() { return }
            } catch {
                guard error.code == .unavailable else { throw error }
            }
            try? await Task.sleep(for: .milliseconds(.random(in: 20...60)))
        }
    }

    private func isOver() async throws(StoreError) -> Bool {
        let unended = JobFilter(states: Set(JobState.allCases.filter { !$0.isFinal }))
        return try await store.jobs(unended, before: nil, limit: 1).isEmpty
    }

    private func perform(_ claim: Claim) async throws(StoreError) {
        if folder.token(of: claim.task) != nil {
            // An attempt that was frozen while it published has woken, and nobody knew.
            folder.note("\(ResultFolder.name(of: claim.task)) \(claim.token.rawValue)", in: "found")
            return try await store.complete(claim.token, result: "{}", intent: "{}") {}
        }
        do { try folder.write(claim) } catch { return try await store.release(claim.token) }
        let work = Duration.milliseconds(.random(in: 0...200))
        let heartbeats = Task {
            // While the database is away, the work goes on.
            while !Task.isCancelled {
                _ = try? await store.renew([Heartbeat(claim.token)], for: lease)
                try? await Task.sleep(for: lease / 4)
            }
        }
        defer { heartbeats.cancel() }
        try? await Task.sleep(for: work)
        while true {
            do throws(StoreError) {
                return try await store.complete(claim.token, result: "\(claim.token.rawValue)", intent: "{}") {
                    try folder.publish(claim)
                }
            } catch {
                switch error.code {
                case .unavailable, .publishFailed: break
                case .unsettled:
                    // Nobody else settles it while its lease goes on, and nobody publishes for it any more.
                    return try await settle(claim.token, claim.task)
                case .staleAttempt:
                    folder.note("\(ResultFolder.name(of: claim.task)) \(claim.token.rawValue)", in: "stale")
                    return
                default: throw error
                }
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Settles what workers have left that are not heard of any more.
    private func settleDead() async throws(StoreError) {
        for attempt in try await store.unsettledAttempts() where attempt.hasLapsed {
            try await settle(attempt.token, attempt.task)
        }
    }

    private func settle(_ token: AttemptToken, _ task: TaskID) async throws(StoreError) {
        let isPublished = folder.token(of: task) == token
        folder.note("\(isPublished ? "published" : "unpublished")", in: "settled")
        do throws(StoreError) { try await store.settle(token, wasPublished: isPublished) } catch {
            guard error.code == .staleAttempt else { throw error }
        }
    }
}

/// Where results are.
private struct ResultFolder: Sendable {
    let path: String

    init(_ path: String) { self.path = path }

    static func name(of task: TaskID) -> String { "\(task.job)-\(task.index)" }

    private func result(_ task: TaskID) -> String { path + "/results/" + Self.name(of: task) }
    private func draft(_ token: AttemptToken) -> String { "\(path)/drafts/\(token.rawValue)" }

    /// The attempt that has published a task.
    func token(of task: TaskID) -> AttemptToken? {
        guard let text = try? String(contentsOfFile: result(task), encoding: .utf8) else { return nil }
        return Int64(text).map(AttemptToken.init(rawValue:))
    }

    func write(_ claim: Claim) throws {
        try Data("\(claim.token.rawValue)".utf8).write(to: URL(filePath: draft(claim.token)))
    }

    /// Gives the file its final name, once.
    func publish(_ claim: Claim) throws {
        guard link(draft(claim.token), result(claim.task)) == 0 else {
            // One that was frozen while it published has woken meanwhile.
            note("\(Self.name(of: claim.task)) \(claim.token.rawValue)", in: "refused")
            throw StoreError(.publishFailed, "the result is there already")
        }
        usleep(.random(in: 0...20_000))
    }

    /// Adds a line to a file.
    func note(_ line: String, in name: String) {
        let descriptor = open(path + "/" + name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try? file.write(contentsOf: Data((line + "\n").utf8))
    }
}
