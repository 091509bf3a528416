// SPDX-License-Identifier: GPL-2.0-or-later

internal import HTTPTypes
internal import HostSystem
internal import Hummingbird
internal import JobStore
internal import NIOCore
internal import ServiceAPI
internal import ServiceLifecycle

/// `/v1/events` and `/v1/jobs/{id}/events`: what has happened to jobs, as a stream of server-sent events or as a list.
struct EventRoutes: Sendable {
    let service: ServiceState

    var handlers: [String: Handler] { ["getEvents": events, "getJobEvents": events] }

    func events(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let query = try request.query(EventQuery.self)
        var job: JobID?
        if let text = context.parameters.get("id") {
            guard let id = JobID(rawValue: text) else {
                throw APIError(.notFound, "There is no such job", field: "id", value: .string(text))
            }
            _ = try await service.store.job(id)
            job = id
        }
        let after = try Self.lastEvent(request) ?? query.after
        let accept = request.headers[.accept] ?? "*/*"
        guard accept.contains("text/event-stream") else {
            let events = try await service.store.events(after: Int64(after ?? 0), of: job, limit: 1000)
            return JSONBody.response(EventList { $0.events = events.map(Self.event) })
        }
        // Without a place, a stream of all jobs begins now, and that of one job with its first event.
        var start = Int64(after ?? 0)
        if after == nil, job == nil { start = try await service.store.lastEventNumber() }
        let stream = EventStream(service: service, job: job, after: start)
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                try await stream.write(to: &writer)
                try await writer.finish(nil)
            }
        )
    }

    private static func lastEvent(_ request: Request) throws(APIError) -> Int? {
        guard let text = request.headers[.lastEventID], !text.isEmpty else { return nil }
        guard let number = Int(text), number >= 0 else {
            throw APIError(
                .invalidParameter,
                "The number of an event is not allowed",
                field: "Last-Event-ID",
                value: .string(text)
            )
        }
        return number
    }

    static func event(_ event: JobEvent) -> Event {
        let (type, data) = details(of: event.kind)
        return Event {
            $0.number = Int(event.number)
            $0.time = Timestamp(event.time)
            $0.job = event.job.rawValue
            $0.type = type.rawValue
            $0.data = .object(data)
        }
    }

    private static func details(of kind: JobEvent.Kind) -> (EventType, JSONObject) {
        switch kind {
        case .job(.waiting): (.waiting, [:])
        case .job(.running): (.started, [:])
        case .job(.succeeded): (.succeeded, [:])
        case .job(.failed): (.failed, [:])
        case .job(.cancelled): (.cancelled, [:])
        case .cancelRequested: (.cancelRequested, [:])
        case .moved(let queue): (.moved, ["queue": .string(queue)])
        case .started(let task, let token, let worker):
            (.attemptStarted, attempt(task, token, ["worker": .string(worker)]))
        case .ended(let task, let token, let outcome):
            switch outcome {
            case .succeeded: (.outputReady, attempt(task, token))
            case .failed(let failure):
                (.attemptFailed, attempt(task, token, ["failure": JobView.failure(failure).json]))
            case .lost: (.attemptLost, attempt(task, token))
            case .released: (.attemptReleased, attempt(task, token))
            case .cancelled: (.attemptCancelled, attempt(task, token))
            }
        }
    }

    private static func attempt(_ task: Int, _ token: AttemptToken, _ more: JSONObject = [:]) -> JSONObject {
        var data: JSONObject = ["task": .integer(Int64(task)), "attempt": .integer(token.rawValue)]
        for member in more.members { data[member.key] = member.value }
        return data
    }
}

/// Writes events as they happen, the progress of what runs in between, and a comment every 15 s so that both sides notice
/// a broken connection.
private struct EventStream {
    let service: ServiceState
    let job: JobID?
    let after: Int64

    private static let heartbeat = 15.0
    /// Progress is told at most so often, in seconds.
    private static let progressInterval = 0.5

    func write(to writer: inout any ResponseBodyWriter) async throws {
        var number = after
        var lastWrite = Clock.monotonic
        var lastProgress = -Double.infinity
        var told: [AttemptToken: Progress] = [:]
        try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
        // A timer of its own: the other signals come when something has changed.
        for await _ in service.changes.changes(orEvery: .seconds(1)).cancelOnGracefulShutdown() {
            var text = ""
            var isEnded = false
            while true {
                let events = try await service.store.events(after: number, of: job, limit: 100)
                for event in events {
                    text += Self.text(EventRoutes.event(event))
                    number = event.number
                    if job != nil, case .job(let state) = event.kind { isEnded = state.isFinal }
                }
                if events.count < 100 { break }
                // Page by page: the client may be slower than the store.
                try await writer.write(ByteBuffer(string: text))
                text = ""
            }
            let now = Clock.monotonic
            if now - lastProgress >= Self.progressInterval {
                let all = service.progress.all
                told = told.filter { all[$0.key] != nil }
                for (token, entry) in all where told[token] != entry.progress {
                    guard job == nil || entry.task.job == job else { continue }
                    text += "event: progress\ndata: \(Self.progress(entry, after: number))\n\n"
                    told[token] = entry.progress
                    lastProgress = now
                }
            }
            if now - lastWrite >= Self.heartbeat, text.isEmpty { text = ": still there\n\n" }
            if !text.isEmpty {
                try await writer.write(ByteBuffer(string: text))
                lastWrite = now
            }
            // The place where the client was may be the last one.
            if let job, !isEnded, number == after {
                isEnded = (try? await service.store.job(job).job.state.isFinal) ?? true
            }
            // Of a job that has ended, nothing follows, unless it is retried.
            if isEnded { return }
        }
    }

    private static func text(_ event: Event) -> String {
        "id: \(event.number)\nevent: \(event.type)\ndata: \(event.json.text)\n\n"
    }

    /// The progress as an event that has the number of the one before: it is not repeated.
    private static func progress(_ entry: LiveProgress.Entry, after number: Int64) -> String {
        let event = Event {
            $0.number = Int(number)
            $0.time = entry.progress.updatedAt
            $0.job = entry.task.job.rawValue
            $0.type = EventType.progress.rawValue
            $0.data = entry.progress.json
        }
        return event.json.text
    }
}
