// SPDX-License-Identifier: GPL-2.0-or-later

internal import Hummingbird
internal import ServiceAPI

/// `/v1/watches`.
struct WatchRoutes: Sendable {
    let service: ServiceState

    var handlers: [String: Handler] {
        ["listWatches": list, "getWatch": get, "setWatch": set, "deleteWatch": delete]
    }

    func list(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let watches = await service.watches.list()
        return JSONBody.response(WatchList { $0.watches = watches })
    }

    func get(_ request: Request, _ context: ServiceContext) async throws -> Response {
        JSONBody.response(try await service.watches.find(try context.parameter("name")))
    }

    func set(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let name = try context.parameter("name")
        let body = try await JSONBody.read(WatchRequest.self, from: request)
        let (watch, isNew) = try await service.watches.set(name, body)
        return JSONBody.response(watch, status: isNew ? .created : .ok)
    }

    func delete(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try await service.watches.delete(try context.parameter("name"))
        return Response(status: .noContent)
    }
}
