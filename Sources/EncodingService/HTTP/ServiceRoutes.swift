// SPDX-License-Identifier: GPL-2.0-or-later

internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServiceAPI

/// Answers a call of an operation.
typealias Handler = @Sendable (Request, ServiceContext) async throws -> Response

/// The operations of the API with those who answer them.
struct ServiceRoutes {
    /// The operations that are served, in the order of the API.
    let operations: [Operation]
    private let handlers: [String: Handler]
    private let service: ServiceState

    init(_ service: ServiceState) {
        self.service = service
        var handlers: [String: Handler] = [:]
        for part in [
            SystemRoutes(service: service).handlers, JobRoutes(service: service).handlers,
            EventRoutes(service: service).handlers, UploadRoutes(service: service).handlers,
            StreamRoutes(service: service).handlers, LiveRoutes(service: service).handlers,
            WatchRoutes(service: service).handlers,
            SupportRoutes(service: service).handlers,
            TusRoutes(service: service).handlers,
            QueueRoutes(service: service).handlers, AdministrationRoutes(service: service).handlers,
        ] {
            handlers.merge(part) { first, _ in first }
        }
        self.handlers = handlers
        operations = Operation.all.filter { handlers[$0.id] != nil || $0.id == Self.documentID }
        let unknown = Set(handlers.keys).subtracting(Operation.all.map(\.id))
        assert(unknown.isEmpty, "handlers without an operation: \(unknown)")
    }

    private static let documentID = "getDocument"

    /// The document of what is served.
    var document: [UInt8] { OpenAPIDocument(version: service.version, operations: operations).json.bytes }

    /// Makes the router. Each path answers the methods that it does not have with 405.
    func router() -> ServiceRouter {
        let router = ServiceRouter(context: ServiceContext.self)
        router.add(middleware: CountingMiddleware(counter: service.counter))
        router.add(middleware: ProblemMiddleware())
        router.add(middleware: AccessMiddleware(service: service))
        var methods: [String: [HTTPRequest.Method: Handler]] = [:]
        for operation in operations {
            guard let handler = handlers[operation.id] else { continue }
            methods[Self.routerPath(operation.path), default: [:]][operation.method.http] = Self.checked(
                operation,
                handler
            )
        }
        let document = document
        methods["/v1/openapi.json"] = [
            .get: { _, _ in JSONBody.response(bytes: document, headers: [.cacheControl: "no-cache"]) }
        ]
        methods["/dashboard/{file}"] = [.get: SystemRoutes(service: service).page]
        for (path, handlers) in methods { Self.add(path, handlers, to: router) }
        return router
    }

    private static func add(_ path: String, _ handlers: [HTTPRequest.Method: Handler], to router: ServiceRouter) {
        var handlers = handlers
        if let get = handlers[.get], handlers[.head] == nil { handlers[.head] = head(get) }
        let allowed = (handlers.keys.map(\.rawValue) + ["OPTIONS"]).sorted().joined(separator: ", ")
        if handlers[.options] == nil {
            handlers[.options] = { _, _ in Response(status: .noContent, headers: [.allow: allowed]) }
        }
        for (method, handler) in handlers { router.on(RouterPath(path), method: method, use: handler) }
        for method in [HTTPRequest.Method.get, .head, .post, .put, .patch, .delete, .trace]
        where handlers[method] == nil {
            router.on(RouterPath(path), method: method) { _, context in
                let error = APIError(
                    .methodNotAllowed,
                    "The resource does not have this method",
                    field: "method",
                    value: .string(method.rawValue),
                    allowed: allowed
                )
                var response = error.response(requestID: context.id)
                response.headers[.allow] = allowed
                return response
            }
        }
    }

    /// The same answer as that to GET, without its body.
    private static func head(_ get: @escaping Handler) -> Handler {
        { request, context in
            var response = try await get(request, context)
            // The length is told, although nothing is sent.
            response.body = ResponseBody(contentLength: response.body.contentLength) { try await $0.finish(nil) }
            return response
        }
    }

    /// Checks what an operation needs before it begins: the scope of the key, the parameters of the path, and that there
    /// is no unknown one in the query.
    private static func checked(_ operation: Operation, _ handler: @escaping Handler) -> Handler {
        let scope = operation.scope
        let hasQuery = operation.query != nil
        let pathParameters = operation.pathParameters
        let hasCatchAll = operation.path.hasSuffix("...}")
        return { request, context in
            if let scope, !context.client.may(scope) {
                throw APIError(
                    .forbidden,
                    "The key does not permit this",
                    value: .array(context.client.scopes.map(\.rawValue).sorted().map(JSONValue.string)),
                    allowed: scope.rawValue
                )
            }
            for parameter in pathParameters {
                let isCatchAll = hasCatchAll && parameter.name == pathParameters.last?.name
                try parameter.check(isCatchAll ? context.catchAll() : context.parameter(parameter.name))
            }
            if !hasQuery, let first = request.parameters.first {
                throw APIError(.invalidParameter, "There is no such parameter", field: first.name, allowed: "none")
            }
            return try await handler(request, context)
        }
    }

    /// `/v1/jobs/{id}/files/{path...}` as the router writes it.
    private static func routerPath(_ path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).map { $0.hasSuffix("...}") ? "**" : String($0) }
            .joined(separator: "/")
    }
}

extension Request {
    /// The parameters of the query, apart from those of a signed link.
    var parameters: [(name: String, value: String)] {
        uri.queryParameters.map { (String($0.key), String($0.value)) }.filter { !LinkSigner.parameters.contains($0.0) }
    }

    /// Reads the query.
    ///
    /// - Throws: `APIError` `invalid-parameter`.
    func query<Value: APIObject>(_ type: Value.Type) throws(APIError) -> Value { try Value.decode(query: parameters) }
}

extension Operation.Method {
    var http: HTTPRequest.Method {
        switch self {
        case .get: .get
        case .head: .head
        case .put: .put
        case .post: .post
        case .patch: .patch
        case .delete: .delete
        case .options: .options
        }
    }
}
