// SPDX-License-Identifier: GPL-2.0-or-later

internal import HTTPTypes
internal import Hummingbird
internal import ServiceAPI

/// `/v1/live`.
struct LiveRoutes: Sendable {
    let service: ServiceState

    var handlers: [String: Handler] {
        [
            "createLive": create, "listLive": list, "getLive": get, "deleteLive": delete, "stopLive": stop,
            "switchLive": use, "updateLive": update, "getLiveFile": file,
        ]
    }

    func create(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let body = try await JSONBody.read(LiveRequest.self, from: request)
        let key = try JobRoutes.idempotencyKey(request)
        guard await !service.dispatcher.status.isDraining else {
            throw APIError(.unavailable, "The node drains: it begins no live jobs")
        }
        let (job, isNew) = try await service.live.create(body, key: key.map { "\(context.client.name)/\($0)" })
        return JSONBody.response(
            job,
            status: isNew ? .created : .ok,
            headers: [.location: "/v1/live/\(job.id)"]
        )
    }

    func list(_ request: Request, _ context: ServiceContext) async throws -> Response {
        JSONBody.response(await service.live.list(try request.query(LiveQuery.self)))
    }

    func get(_ request: Request, _ context: ServiceContext) async throws -> Response {
        JSONBody.response(try await service.live.find(try context.parameter("id")))
    }

    func delete(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try await service.live.delete(try context.parameter("id"))
        return Response(status: .noContent)
    }

    func stop(_ request: Request, _ context: ServiceContext) async throws -> Response {
        JSONBody.response(try await service.live.stop(try context.parameter("id")))
    }

    func use(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.parameter("id")
        let body = try await JSONBody.read(LiveSwitch.self, from: request)
        return JSONBody.response(try await service.live.use(input: body.input, of: id))
    }

    func update(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.parameter("id")
        let body = try await JSONBody.read(LiveUpdate.self, from: request)
        return JSONBody.response(try await service.live.set(bitRate: body.bitRate, of: id))
    }

    /// A playlist or a segment of an output that the service delivers.
    func file(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.parameter("id")
        let output = try context.parameter("output")
        let path = try context.catchAll()
        let job = try await service.live.find(id)
        guard let index = Int(output), job.request.outputs.indices.contains(index),
            let hls = job.request.outputs[index].hls, hls.path == nil
        else {
            throw APIError(
                .notFound,
                "The live job has no such output that the service delivers",
                field: "output",
                value: .string(output)
            )
        }
        let folder = service.livePlaces.delivered(id, index)
        guard let open = try await FileWork.run({ try ResultFiles.open(path, in: folder) }) else {
            throw APIError(.notFound, "The stream has no such file", field: "path", value: .string(path))
        }
        return try FileResponse.make(
            open,
            name: path,
            type: MediaKind.type(ofName: path),
            sha256: nil,
            request: request,
            isDownload: false
        )
    }
}
