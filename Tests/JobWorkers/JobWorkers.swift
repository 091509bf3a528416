// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import JobStore

/// A program with workers on a job store in a folder, which `scripts/verify jobs` kills again and again.
///
///     JobWorkers FOLDER JOBS     do jobs until all have ended
///     JobWorkers FOLDER          print what became of them, a line for each task
///
/// Each job has three tasks, of which the last depends on the others. A task's result is a file with the token of its
/// attempt. A second publication of the same task would be a line in FOLDER/doubles.
@main enum JobWorkers {
    static func main() async {
        let arguments = CommandLine.arguments
        do {
            let folder = Folder(arguments.count > 1 ? arguments[1] : ".")
            let store = try SQLiteJobStore(path: folder.path + "/jobs.sqlite")
            if arguments.count > 2, let jobs = Int(arguments[2]) {
                try await work(store, folder, jobs: jobs)
            } else {
                try await report(store)
            }
        } catch {
            FileHandle.standardError.write(Data("JobWorkers: \(error)\n".utf8))
            exit(1)
        }
    }

    /// The tasks of a job, of which the last needs the results of the others.
    private static let tasks = [
        TaskDraft(kind: "left", retries: retries), TaskDraft(kind: "right", retries: retries),
        TaskDraft(kind: "join", dependencies: [0, 1], retries: retries),
    ]
    private static let retries = RetryPolicy(mostFailures: 100, pause: 0)
    private static let workers = 4

    private static func work(_ store: SQLiteJobStore, _ folder: Folder, jobs: Int) async throws {
        // As a service does when it starts.
        for attempt in try await store.unsettledAttempts() {
            let wasPublished = folder.has(attempt.task, of: attempt.token)
            try await store.settle(attempt.token, wasPublished: wasPublished)
            try folder.note(wasPublished ? "published" : "unpublished", in: "settled")
        }
        _ = try await store.releaseAll(ofWorkersNamed: "worker ")
        try folder.removeUnpublished()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 0..<jobs {
                    let key = JobDraft.Idempotency(key: "job \(number)", hash: "1")
                    _ = try await store.submit(
                        JobDraft(share: "\(number % 3)", request: "{}", tasks: tasks, idempotency: key)
                    )
                }
            }
            for number in 0..<workers {
                group.addTask {
                    while try await !isOver(store, jobs: jobs) {
                        if let claim = try await store.claim(ClaimRequest(worker: "worker \(number)")) {
                            try await perform(claim, store, folder)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func isOver(_ store: SQLiteJobStore, jobs: Int) async throws -> Bool {
        _ = try await store.tend()
        let ended = JobFilter(states: Set(JobState.allCases.filter(\.isFinal)))
        return try await store.jobs(ended, before: nil, limit: 1000).count == jobs
    }

    private static func perform(_ claim: Claim, _ store: SQLiteJobStore, _ folder: Folder) async throws {
        if Int.random(in: 0..<10) == 0 {
            return try await store.fail(
                claim.token,
                Failure(code: "by-chance", message: "by chance", isRetriable: true)
            )
        }
        if Int.random(in: 0..<10) == 0 { return try await store.release(claim.token) }
        try folder.write(claim)
        _ = try await store.renew([Heartbeat(claim.token, progress: "{}")], for: .seconds(15))
        try await store.complete(claim.token, result: "\(claim.token.rawValue)", intent: "{}") {
            try folder.publish(claim)
        }
    }

    private static func report(_ store: SQLiteJobStore) async throws {
        for job in try await store.jobs(JobFilter(), before: nil, limit: 1000) {
            let record = try await store.job(job.id)
            for task in record.tasks {
                let file = Folder.name(of: task.id)
                let state = "\(task.state)".prefix { $0 != "(" }
                print(job.state.rawValue, state, file, task.result ?? "-", record.attempts.count)
            }
        }
    }
}

/// Where results are.
private struct Folder: Sendable {
    let path: String

    init(_ path: String) { self.path = path }

    static func name(of task: TaskID) -> String { "\(task.job)-\(task.index)" }

    private var drafts: String { path + "/drafts" }
    private func result(_ task: TaskID) -> String { path + "/results/" + Self.name(of: task) }
    private func draft(_ token: AttemptToken) -> String { "\(drafts)/\(token.rawValue)" }

    /// Whether the result of an attempt is published.
    func has(_ task: TaskID, of token: AttemptToken) -> Bool {
        (try? String(contentsOfFile: result(task), encoding: .utf8)) == "\(token.rawValue)"
    }

    func write(_ claim: Claim) throws {
        let text = Data("\(claim.token.rawValue)".utf8)
        let descriptor = open(draft(claim.token), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: text)
        try file.synchronize()
    }

    /// Gives the file its final name, once.
    func publish(_ claim: Claim) throws {
        guard link(draft(claim.token), result(claim.task)) == 0 else {
            try note("\(Self.name(of: claim.task)) \(claim.token.rawValue)", in: "doubles")
            throw StoreError(.publishFailed, "the result is there already")
        }
        unlink(draft(claim.token))
        // A large result takes long enough for a kill between the publication and its record.
        try writeNoise(of: claim.token)
        let folder = open(path + "/results", O_RDONLY | O_CLOEXEC)
        fsync(folder)
        close(folder)
    }

    /// Writes a file of a random size to the disk, and removes it.
    private func writeNoise(of token: AttemptToken) throws {
        let name = "\(drafts)/\(token.rawValue).noise"
        let descriptor = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data(repeating: 0xA5, count: Int.random(in: 0..<1 << 20)))
        try file.synchronize()
        unlink(name)
    }

    /// Adds a line to a file.
    func note(_ line: String, in name: String) throws {
        let descriptor = open(path + "/" + name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Removes what attempts have left that will never publish.
    func removeUnpublished() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: drafts) {
            unlink("\(drafts)/\(name)")
        }
    }
}
