// SPDX-License-Identifier: GPL-2.0-or-later

internal import HTTPTypes
internal import HostSystem
internal import Hummingbird
internal import JobStore
internal import Logging
internal import ServiceAPI

/// Keys, links and presets.
struct AdministrationRoutes: Sendable {
    let service: ServiceState

    var handlers: [String: Handler] {
        [
            "listKeys": keys, "makeKey": makeKey, "rotateKey": rotateKey, "deleteKey": deleteKey, "makeLink": makeLink,
            "listPresets": presets, "getPreset": preset, "setPreset": putPreset, "deletePreset": deletePreset,
            "listDeliveries": deliveries, "redeliver": redeliver, "getWebhookSecret": secret,
            "rotateWebhookSecret": rotateSecret,
        ]
    }

    // MARK: Keys

    func keys(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let keys = await service.keys.list()
        return JSONBody.response(KeyList { $0.keys = keys })
    }

    func makeKey(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let body = try await JSONBody.read(KeyRequest.self, from: request)
        let key = try await service.keys.create(body)
        note("a key was made", key.key.id, context)
        return JSONBody.response(key, status: .created)
    }

    func rotateKey(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let grace = try request.query(RotationQuery.self).grace
        let key = try await service.keys.rotate(try context.parameter("id"), grace: grace)
        note("a key has a new secret", key.key.id, context)
        return JSONBody.response(key)
    }

    func deleteKey(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.parameter("id")
        try await service.keys.delete(id)
        note("a key was deleted", id, context)
        return Response(status: .noContent)
    }

    private func note(_ what: String, _ id: String, _ context: ServiceContext) {
        context.logger.notice(
            "\(what)",
            metadata: ["key": "\(id)", "by": "\(context.client.name)", "from": "\(context.address)"]
        )
    }

    // MARK: Links

    func makeLink(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let body = try await JSONBody.read(LinkRequest.self, from: request)
        let expires = Int(limiting: Clock.now + body.expiresIn)
        let method: HTTPRequest.Method = body.method == .get ? .get : .put
        guard method == .get || context.client.may(.writeUploads) else {
            throw APIError(.forbidden, "The key does not permit what the link would", field: "/method", allowed: "GET")
        }
        return JSONBody.response(
            Link {
                $0.url = service.links.sign(method, body.path, expires: expires)
                $0.expiresAt = Timestamp(seconds: Double(expires))
            },
            status: .created
        )
    }

    // MARK: Webhooks

    func deliveries(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.parameter("id")
        guard let job = JobID(rawValue: id) else {
            throw APIError(.notFound, "There is no such job", value: .string(id))
        }
        _ = try await service.store.job(job)
        let records = try await service.deliveries.list(ofJob: id)
        return JSONBody.response(DeliveryList { $0.deliveries = records.map(\.delivery) })
    }

    func redeliver(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let delivery = try await service.webhooks.redeliver(
            try context.parameter("deliveryID"),
            ofJob: try context.parameter("id")
        )
        return JSONBody.response(delivery, status: .accepted)
    }

    func secret(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let (secret, formerUntil) = await service.secrets.present
        return JSONBody.response(
            WebhookSecret {
                $0.secret = secret
                $0.formerUntil = formerUntil.map(Timestamp.init(seconds:))
            }
        )
    }

    func rotateSecret(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let grace = try request.query(RotationQuery.self).grace
        try await service.secrets.rotate(grace: grace)
        context.logger.notice("the webhook secret was replaced", metadata: ["by": "\(context.client.name)"])
        let (secret, formerUntil) = await service.secrets.present
        return JSONBody.response(
            WebhookSecret {
                $0.secret = secret
                $0.formerUntil = formerUntil.map(Timestamp.init(seconds:))
            }
        )
    }

    // MARK: Presets

    func presets(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let presets = await service.presets.list()
        return JSONBody.response(PresetList { $0.presets = presets })
    }

    func preset(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let version = try request.query(PresetQuery.self).version
        return JSONBody.response(try await service.presets.find(try context.parameter("name"), version: version))
    }

    func putPreset(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let name = try context.parameter("name")
        let body = try await JSONBody.read(PresetRequest.self, from: request)
        let preset = try await service.presets.set(name, body)
        return JSONBody.response(preset, status: preset.version == 1 ? .created : .ok)
    }

    func deletePreset(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try await service.presets.delete(try context.parameter("name"))
        return Response(status: .noContent)
    }
}
