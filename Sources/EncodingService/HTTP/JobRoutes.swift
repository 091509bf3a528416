// SPDX-License-Identifier: GPL-2.0-or-later

internal import HTTPTypes
internal import HostSystem
internal import Hummingbird
internal import JobStore
internal import NIOCore
internal import ServiceAPI

/// `/v1/jobs`.
struct JobRoutes: Sendable {
    let service: ServiceState

    var handlers: [String: Handler] {
        [
            "submitJob": create, "listJobs": list, "getJob": get, "deleteJob": delete, "cancelJob": cancel,
            "retryJob": retry, "getWaitingReason": waiting, "getLog": log, "getFile": file,
            "getPreview": preview,
        ]
    }

    private var store: any JobStore { service.store }
    private var view: JobView { JobView(live: service.progress) }

    // MARK: Submission

    func create(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let isDryRun = try request.query(SubmitQuery.self).dryRun
        let body = try await JSONBody.read(JobRequest.self, from: request)
        let key = try Self.idempotencyKey(request)
        if isDryRun {
            let resolved = try await service.submission.resolve(body)
            let upload = try await service.inputs.resolve(body.input)
            let plan = try await service.previews.run { try await service.preview.plan(resolved, upload: upload) }
            return JSONBody.response(plan)
        }
        let (id, isNew) = try await service.submission.submit(body, key: key.map { "\(context.client.name)/\($0)" })
        return JSONBody.response(
            try await view(of: try await store.job(id)),
            status: isNew ? .created : .ok,
            headers: [.location: "/v1/jobs/\(id)"]
        )
    }

    static func idempotencyKey(_ request: Request) throws(APIError) -> String? {
        guard let key = request.headers[.idempotencyKey] else { return nil }
        guard (1...256).contains(key.unicodeScalars.count) else {
            throw APIError(
                .invalidParameter,
                "The key is too long or empty",
                field: "Idempotency-Key",
                value: .string(key),
                allowed: "1...256 characters"
            )
        }
        return key
    }

    // MARK: Reading

    private static let mostSearched = 5000

    func list(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let query = try request.query(JobQuery.self)
        var position: Int64?
        if let cursor = query.cursor {
            guard let number = Int64(cursor), number > 0 else {
                throw APIError(
                    .invalidParameter,
                    "The cursor is not one of this list",
                    field: "cursor",
                    value: .string(cursor),
                    allowed: "the nextCursor of the page before"
                )
            }
            position = number
        }
        let filter = JobFilter(
            states: Set([query.state.flatMap { StoredJobState(rawValue: $0.rawValue) }].compactMap(\.self)),
            queue: query.queue,
            share: query.share,
            labels: Dictionary(query.labels.map { ($0.key, $0.value) }) { $1 }
        )
        let status = await service.dispatcher.status
        var list = JobList()
        // A text is looked for in so many jobs at most; the cursor then leads on.
        var rest = query.text == nil ? query.limit : Self.mostSearched
        while rest > 0, list.jobs.count < query.limit {
            let count = min(rest, query.text == nil ? query.limit : 200)
            let records = try await store.records(filter, before: position, limit: count)
            for record in records where list.jobs.count < query.limit {
                position = record.job.position
                var summary = try view.summary(record)
                guard query.text.map(summary.contains) ?? true else { continue }
                summary.waiting = waitingReason(record, status)
                list.jobs.append(summary)
            }
            rest -= records.count
            guard records.count == count else { return JSONBody.response(list) }
        }
        list.nextCursor = position.map { "\($0)" }
        return JSONBody.response(list)
    }

    func get(_ request: Request, _ context: ServiceContext) async throws -> Response {
        return try await answer(id(context), request)
    }

    func waiting(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try id(context)
        let record = try await store.job(id)
        guard let reason = waitingReason(record, await service.dispatcher.status) else {
            throw APIError(.invalidState, "The job does not wait", value: .string(id.rawValue))
        }
        return JSONBody.response(reason)
    }

    /// Why a job waits: what the store knows, or what keeps the workers of this node from taking it, if there is no other
    /// node.
    private func waitingReason(_ record: JobRecord, _ status: Dispatcher.Status) -> ServiceAPI.WaitingReason? {
        record.waiting.map { JobView.reason($0, service.data.isShared ? nil : status) }
    }

    private func view(of record: JobRecord) async throws -> ServiceAPI.Job {
        try view.job(record, waiting: waitingReason(record, await service.dispatcher.status))
    }

    private func answer(_ id: JobID, _ request: Request) async throws -> Response {
        let record = try await store.job(id)
        let job = try await view(of: record)
        let bytes = job.jsonBytes
        let tag = "\"\(Digest.sha256(bytes).prefix(32))\""
        if request.method == .get, request.headers[.ifNoneMatch] == tag {
            return Response(status: .notModified, headers: [.eTag: tag])
        }
        return JSONBody.response(bytes: bytes, headers: [.eTag: tag])
    }

    private func id(_ context: ServiceContext) throws(APIError) -> JobID {
        let text = try context.parameter("id")
        guard let id = JobID(rawValue: text) else {
            throw APIError(.notFound, "There is no such job", field: "id", value: .string(text))
        }
        return id
    }

    // MARK: Changes

    func cancel(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try id(context)
        _ = try await store.cancel(id)
        await service.dispatcher.renewNow()
        service.changed()
        return try await answer(id, request)
    }

    func retry(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try id(context)
        guard try await store.job(id).tasks.first?.draft.kind != StreamRoutes.taskKind else {
            throw APIError(.invalidState, "A stream is gone and cannot be retried", value: .string(id.rawValue))
        }
        _ = try await store.retry(id)
        service.changed()
        return try await answer(id, request)
    }

    func delete(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try id(context)
        // First the job: files without a job are only in the way, a job without its files is a lie.
        try await store.delete(id)
        try await service.housekeeping.forget(id)
        return Response(status: .noContent)
    }

    // MARK: Results

    func file(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let isDownload = try request.query(FileQuery.self).download
        let id = try id(context)
        let path = try context.catchAll()
        let record = try await store.job(id)
        for task in record.tasks where task.state == .succeeded {
            guard let file = TaskResult(text: task.result)?.files.first(where: { $0.path == path }) else { continue }
            let folder = service.data.results(task.id)
            guard let open = try await FileWork.run({ try ResultFiles.open(path, in: folder) }) else {
                throw APIError(.gone, "The file is not there any more", field: "path", value: .string(path))
            }
            return try FileResponse.make(
                open,
                name: Files.name(of: path),
                type: file.type,
                sha256: file.sha256,
                request: request,
                isDownload: isDownload
            )
        }
        throw APIError(.notFound, "The job has no such file", field: "path", value: .string(path))
    }

    func preview(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try id(context)
        let name = try context.parameter("name")
        let record = try await store.job(id)
        let outputs = try JobRequest.decode(json: Array(record.job.request.utf8), mode: .response).outputs
        for task in record.tasks {
            guard case .running(let token) = task.state, task.draft.kind == JobPlanner.encodingKind,
                JobPlanner.outputs(ofPayload: task.draft.payload).contains(where: { index in
                    outputs.indices.contains(index) && outputs[index].name == name
                        && outputs[index].canBePlayedWhileItGrows
                })
            else { continue }
            let worker = record.attempts.first { $0.token == token }?.worker ?? ""
            let open = try await FileWork.run { [service] in
                try ResultFiles.openUnfinished(name, in: service.data.work(token, of: worker))
            }
            guard let open else { return Response(status: .noContent) }
            var response = try FileResponse.make(
                open,
                name: name,
                type: MediaKind.type(ofName: name),
                sha256: nil,
                tag: open.growingTag,
                request: request,
                isDownload: false
            )
            response.headers[.cacheControl] = "no-store"
            return response
        }
        throw APIError(
            .notFound,
            "No output of this name that can be played is being encoded",
            field: "name",
            value: .string(name)
        )
    }

    func log(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let follows = try request.query(LogQuery.self).follow
        let id = try id(context)
        _ = try await store.job(id)
        let stream = LogStream(
            path: service.data.log(id),
            isEnded: { [store] in
                (try? await store.job(id).job.state.isFinal) ?? true
            },
            changes: service.changes
        )
        return Response(
            status: .ok,
            headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody { writer in
                try await stream.write(to: &writer, follows: follows)
                try await writer.finish(nil)
            }
        )
    }
}

extension JobSummary {
    /// Whether a text occurs in the ID, the input or the name of an output, whatever its case.
    fileprivate func contains(_ text: String) -> Bool {
        let text = text.lowercased()
        return ([id, input] + outputs.map(\.name)).contains { $0.lowercased().contains(text) }
    }
}
