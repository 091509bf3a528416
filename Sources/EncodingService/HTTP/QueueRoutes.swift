// SPDX-License-Identifier: GPL-2.0-or-later

internal import HTTPTypes
internal import Hummingbird
internal import JobStore
internal import ServiceAPI
internal import ServiceLifecycle

/// `/v1/queues`.
struct QueueRoutes: Sendable {
    let service: ServiceState

    var handlers: [String: Handler] {
        [
            "listQueues": list, "getQueue": get, "setQueue": put, "deleteQueue": delete, "pauseQueue": pause,
            "resumeQueue": resume, "drainQueue": drain,
        ]
    }

    private var store: any JobStore { service.store }

    func list(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let queues = try await store.queues()
        return JSONBody.response(QueueList { $0.queues = queues.map(Self.view) })
    }

    func get(_ request: Request, _ context: ServiceContext) async throws -> Response {
        return JSONBody.response(Self.view(try await find(context)))
    }

    func put(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let name = try context.parameter("name")
        let body = try await JSONBody.read(QueueRequest.self, from: request)
        if let hop = body.hop, hop.queue == StreamRoutes.queue || name == StreamRoutes.queue {
            throw APIError(
                .invalidRequest,
                "The queue of streams is apart from the others",
                field: "/hop",
                value: hop.json,
                allowed: "no hop from or to \(StreamRoutes.queue)"
            )
        }
        var settings = QueueSettings(name: name)
        settings.isPaused = body.paused
        settings.mostRunning = body.mostRunning
        settings.windows = body.windows.map { TimeWindow(days: Set($0.days), start: $0.start, length: $0.length) }
        settings.hop = body.hop.map { QueueSettings.Hop(after: $0.after, queue: $0.queue) }
        settings.weights = body.weights
        let isNew = try await !store.queues().contains { $0.settings.name == name }
        try await store.setQueue(settings)
        service.changed()
        return JSONBody.response(Self.view(try await find(context)), status: isNew ? .created : .ok)
    }

    func delete(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let name = try context.parameter("name")
        guard name != StreamRoutes.queue else {
            throw APIError(.invalidState, "The queue of streams cannot be removed", field: "name", value: .string(name))
        }
        try await store.removeQueue(name)
        return Response(status: .noContent)
    }

    /// A paused queue begins no task.
    func pause(_ request: Request, _ context: ServiceContext) async throws -> Response {
        return JSONBody.response(Self.view(try await setPaused(true, context)))
    }

    func resume(_ request: Request, _ context: ServiceContext) async throws -> Response {
        return JSONBody.response(Self.view(try await setPaused(false, context)))
    }

    /// Pauses, and on request waits until nothing of the queue runs.
    func drain(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let waits = try request.query(DrainQuery.self).wait
        var queue = try await setPaused(true, context)
        if waits {
            for await _ in service.changes.changes(orEvery: .seconds(1)).cancelOnGracefulShutdown() {
                queue = try await find(context)
                // Somebody may have resumed it.
                if queue.isDrained || !queue.settings.isPaused { break }
            }
        }
        return JSONBody.response(Self.view(queue))
    }

    private func setPaused(_ isPaused: Bool, _ context: ServiceContext) async throws -> QueueStatus {
        var settings = try await find(context).settings
        settings.isPaused = isPaused
        try await store.setQueue(settings)
        service.changed()
        return try await find(context)
    }

    private func find(_ context: ServiceContext) async throws -> QueueStatus {
        let name = try context.parameter("name")
        guard let queue = try await store.queues().first(where: { $0.settings.name == name }) else {
            throw APIError(.notFound, "There is no such queue", field: "name", value: .string(name))
        }
        return queue
    }

    static func view(_ queue: QueueStatus) -> QueueObject {
        QueueObject {
            $0.name = queue.settings.name
            $0.settings.paused = queue.settings.isPaused
            $0.settings.mostRunning = queue.settings.mostRunning
            $0.settings.windows = queue.settings.windows.map { window in
                QueueWindow {
                    $0.days = window.days.sorted()
                    $0.start = window.start
                    $0.length = window.length
                }
            }
            $0.settings.hop = queue.settings.hop.map { hop in
                QueueHop {
                    $0.after = hop.after
                    $0.queue = hop.queue
                }
            }
            $0.settings.weights = queue.settings.weights
            $0.waiting = queue.ready
            $0.running = queue.running
        }
    }
}
