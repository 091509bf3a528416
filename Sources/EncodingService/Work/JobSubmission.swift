// SPDX-License-Identifier: GPL-2.0-or-later

internal import JobStore
internal import ServiceAPI

/// Makes jobs of requests, whoever sends them.
struct JobSubmission: Sendable {
    let store: any JobStore
    let presets: PresetStore
    let inputs: InputResolver
    let uploads: UploadStore
    let deliverer: Deliverer
    let dispatcher: Dispatcher
    let changes: ChangeSignal
    /// Jobs that may wait or run at a time.
    let limit: Int

    /// Puts the outputs of presets into a request.
    ///
    /// - Throws: `APIError` if a preset or the destination is missing, or the queue is that of streams.
    func resolve(_ request: JobRequest) async throws -> JobRequest {
        guard request.queue != StreamRoutes.queue else {
            throw APIError(
                .invalidRequest,
                "The queue is for streams",
                field: "/queue",
                value: .string(request.queue),
                allowed: "any other queue, or POST /v1/encode"
            )
        }
        let resolved = try await presets.resolve(request)
        if let destination = resolved.destination { try deliverer.check(destination) }
        return resolved
    }

    /// Submits a job.
    ///
    /// - Parameter key: Of requests with the same key, only the first one makes a job. It is unique among all clients.
    /// - Returns: The ID of the job, and whether it is new.
    /// - Throws: `APIError`; `StoreError` `idempotencyConflict` for the key of another request.
    func submit(_ request: JobRequest, key: String?) async throws -> (id: JobID, isNew: Bool) {
        let resolved = try await resolve(request)
        let upload = try await inputs.resolve(request.input)
        try await checkLimit()
        let draft = JobDraft(
            queue: resolved.queue,
            priority: resolved.priority,
            share: resolved.share,
            labels: resolved.labels,
            request: String(decoding: resolved.jsonBytes, as: UTF8.self),
            tasks: JobPlanner.tasks(of: resolved, upload: upload),
            idempotency: key.map { JobDraft.Idempotency(key: $0, hash: Digest.sha256(request.canonicalBytes)) },
            timeLimit: resolved.timeLimit.map { .seconds($0) },
            retention: .seconds(resolved.retention)
        )
        let (job, isNew) = try await store.submit(draft)
        if isNew {
            if let upload { await uploads.retain(upload, by: job.id) }
            dispatcher.poke()
            changes.send()
        }
        return (job.id, isNew)
    }

    private func checkLimit() async throws {
        let queues = try await store.queues()
        let count = queues.reduce(0) { $0 + $1.ready + $1.running }
        guard count < limit else {
            throw APIError(
                .rateLimited,
                "As many jobs wait as the service keeps",
                value: .integer(Int64(count)),
                allowed: "fewer than \(limit)"
            )
        }
    }
}
