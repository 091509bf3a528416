// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import JobStore
internal import Logging
internal import ServiceAPI
internal import ServiceLifecycle

/// Does what follows from the events of jobs: keeps the uploads that they need, and removes chunks that nobody needs.
actor FollowUp: Service {
    private let data: DataFolder
    private let store: any JobStore
    private let uploads: UploadStore
    private let keys: KeyStore
    private var lastSave = Clock.monotonic
    private let changes: ChangeSignal
    private let logger: Logger
    /// Whether the last look has failed, which is told once.
    private var hasFailed = false
    /// The last event that was dealt with.
    private var number: Int64 = 0

    init(
        data: DataFolder,
        store: any JobStore,
        uploads: UploadStore,
        keys: KeyStore,
        changes: ChangeSignal,
        logger: Logger
    ) {
        self.data = data
        self.store = store
        self.uploads = uploads
        self.keys = keys
        self.changes = changes
        self.logger = logger
    }

    /// Finds out what the jobs need that have not ended. Events count from here on.
    func begin() async throws(StoreError) {
        await removeUnneededChunks()
        number = try await store.lastEventNumber()
        var position: Int64?
        repeat {
            let jobs = try await store.jobs(JobFilter(states: [.waiting, .running]), before: position, limit: 1000)
            for job in jobs { await retain(try await store.job(job.id)) }
            position = jobs.count == 1000 ? jobs.last?.position : nil
        } while position != nil
    }

    func run() async throws {
        for await _ in changes.changes(orEvery: .seconds(1)).cancelOnGracefulShutdown() {
            do throws(StoreError) {
                while true {
                    let events = try await store.events(after: number, of: nil, limit: 1000)
                    for event in events {
                        await follow(event)
                        number = event.number
                    }
                    if events.count < 1000 { break }
                }
                await saveUseOfKeys()
                hasFailed = false
            } catch {
                if !hasFailed { logger.error("events cannot be read", metadata: ["error": "\(error)"]) }
                hasFailed = true
            }
        }
    }

    /// Once a minute.
    private func saveUseOfKeys() async {
        guard Clock.monotonic - lastSave >= 60 else { return }
        lastSave = Clock.monotonic
        do { try await keys.saveUse() } catch {
            logger.error("the use of keys cannot be stored", metadata: ["error": "\(error)"])
        }
    }

    private func follow(_ event: JobEvent) async {
        guard case .job(let state) = event.kind else { return }
        if state.isFinal {
            await uploads.release(by: event.job)
            // One that has failed may be retried, and goes on with them.
            if state != .failed { await removeChunks(of: event.job) }
        } else if state == .waiting, let record = try? await store.job(event.job) {
            // It may have been retried.
            await retain(record)
        }
    }

    /// Removes the chunks of jobs that have ended while this service was away.
    private func removeUnneededChunks() async {
        let jobs = try? await FileWork.run { [data] in try data.jobsWithChunks() }
        for id in jobs ?? [] {
            guard let state = try? await store.job(id).job.state, state == .succeeded || state == .cancelled else {
                continue
            }
            await removeChunks(of: id)
        }
    }

    private func removeChunks(of id: JobID) async {
        do {
            try await FileWork.run { [data] in try Files.remove(data.chunks(id)) }
        } catch {
            logger.error("chunks of a job cannot be removed", metadata: ["job": "\(id)", "error": "\(error)"])
        }
    }

    private func retain(_ record: JobRecord) async {
        guard !record.job.state.isFinal, let task = record.tasks.first,
            let upload = JobPlanner.upload(ofPayload: task.draft.payload)
        else { return }
        await uploads.retain(upload, by: record.job.id)
    }
}
