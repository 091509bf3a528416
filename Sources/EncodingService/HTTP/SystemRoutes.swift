// SPDX-License-Identifier: GPL-2.0-or-later

internal import CDashboard
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServiceAPI
internal import ServiceLifecycle

/// What concerns the service itself: health, state, the document of the API, the dashboard.
struct SystemRoutes: Sendable {
    let service: ServiceState

    var handlers: [String: Handler] {
        [
            "getDashboard": page, "getHealth": health, "getReadiness": ready, "getService": info,
            "getCapabilities": capabilities, "listErrors": errors, "getError": error, "getStatus": status,
            "drainNode": drain, "resumeNode": resume, "getMetrics": metrics, "probe": probe,
        ]
    }

    /// The process answers.
    func health(_ request: Request, _ context: ServiceContext) async throws -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/plain"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: "ok\n"))
        )
    }

    /// It takes jobs and works on them.
    func ready(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let status = await service.dispatcher.status
        let reasons = [
            status.isDraining ? "draining" : nil, status.isDiskLow ? "the disk is nearly full" : nil,
            status.storeFailure,
        ].compactMap(\.self)
        return Response(
            status: reasons.isEmpty ? .ok : .serviceUnavailable,
            headers: [.contentType: "text/plain"],
            body: ResponseBody(
                byteBuffer: ByteBuffer(string: (reasons.isEmpty ? "ready" : reasons.joined(separator: "; ")) + "\n")
            )
        )
    }

    func info(_ request: Request, _ context: ServiceContext) async throws -> Response {
        JSONBody.response(
            ServiceInfo {
                $0.version = service.version
                $0.links = [
                    "capabilities": "/v1/capabilities", "jobs": "/v1/jobs", "uploads": "/v1/uploads",
                    "queues": "/v1/queues", "live": "/v1/live",
                    "events": "/v1/events", "status": "/v1/status", "openapi": "/v1/openapi.json",
                ]
            }
        )
    }

    func capabilities(_ request: Request, _ context: ServiceContext) async throws -> Response {
        JSONBody.response(try await service.devices.capabilities())
    }

    func errors(_ request: Request, _ context: ServiceContext) async throws -> Response {
        JSONBody.response(ErrorList { $0.errors = ErrorDescription.all })
    }

    func error(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let name = try context.parameter("code")
        guard let description = ErrorDescription.all.first(where: { $0.code == name }) else {
            throw APIError(.notFound, "There is no such code", field: "code", value: .string(name))
        }
        return JSONBody.response(description)
    }

    /// What a file has that a job could read.
    func probe(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let body = try await JSONBody.read(ProbeRequest.self, from: request)
        let upload = try await service.inputs.resolve(body.input)
        let report = try await service.previews.run {
            try await service.inputs.withFile(
                of: body.input,
                upload: upload,
                folder: service.data.newPreview()
            ) { path in
                try await service.preview.inspection.report(on: path, as: body.input)
            }
        }
        return JSONBody.response(report)
    }

    func metrics(_ request: Request, _ context: ServiceContext) async throws -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: try await service.metrics()))
        )
    }

    func status(_ request: Request, _ context: ServiceContext) async throws -> Response {
        JSONBody.response(try await service.nodeStatus())
    }

    /// Begins no task, and on request waits until none runs.
    func drain(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let waits = try request.query(DrainQuery.self).wait
        await service.dispatcher.setDraining(true)
        if waits {
            for await _ in service.changes.changes(orEvery: .seconds(1)).cancelOnGracefulShutdown() {
                let status = await service.dispatcher.status
                if status.running == 0 || !status.isDraining { break }
            }
        }
        return JSONBody.response(try await service.nodeStatus())
    }

    func resume(_ request: Request, _ context: ServiceContext) async throws -> Response {
        await service.dispatcher.setDraining(false)
        return JSONBody.response(try await service.nodeStatus())
    }

    // MARK: Dashboard

    /// The files of the dashboard, by name.
    static let pages: [String: (type: String, bytes: ByteBuffer)] = {
        var pages: [String: (String, ByteBuffer)] = [:]
        for index in 0... {
            let file = dashboard_file(index)
            guard file.count > 0 else { break }
            let name = String(cString: file.name)
            pages[name] = (
                pageTypes[name.split(separator: ".").last.map(String.init) ?? ""] ?? "application/octet-stream",
                ByteBuffer(bytes: UnsafeRawBufferPointer(start: file.bytes, count: file.count))
            )
        }
        return pages
    }()

    private static let pageTypes = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml", "png": "image/png",
    ]

    /// Nothing from elsewhere, no script or style within the page.
    private static let pagePolicy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; \
        connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'
        """

    func page(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let name = context.parameters.get("file") ?? "index.html"
        guard let page = Self.pages[name] else {
            throw APIError(.notFound, "The dashboard has no such file", field: "file", value: .string(name))
        }
        return Response(
            status: .ok,
            headers: [.contentType: page.type, .contentSecurityPolicy: Self.pagePolicy, .cacheControl: "no-cache"],
            body: ResponseBody(byteBuffer: page.bytes)
        )
    }
}
