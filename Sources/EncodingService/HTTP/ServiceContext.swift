// SPDX-License-Identifier: GPL-2.0-or-later

internal import HTTPTypes
internal import HostSystem
internal import Hummingbird
internal import HummingbirdCore
internal import JobStore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import ServiceAPI

/// What is known of a request while it is answered.
struct ServiceContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Who has sent it.
    var client = Client.anyone
    /// The address that it comes from, without the port.
    let address: String

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        address = source.channel.remoteAddress?.ipAddress ?? "unknown"
    }

    /// A value of the path, decoded.
    func parameter(_ name: String) throws(APIError) -> String {
        guard let text = parameters.get(name), !text.isEmpty else {
            throw APIError(.invalidParameter, "A part of the path is missing", field: name)
        }
        return try Self.decoded(text, name)
    }

    /// The last value of a path, which may have slashes, decoded.
    func catchAll() throws(APIError) -> String {
        try Self.decoded(parameters.getCatchAll().joined(separator: "/"), "path")
    }

    private static func decoded(_ text: String, _ name: String) throws(APIError) -> String {
        guard let value = PercentEncoding.decode(text) else {
            throw APIError(
                .invalidParameter,
                "A part of the path is not encoded correctly",
                field: name,
                value: .string(text),
                allowed: "UTF-8, percent-encoded"
            )
        }
        return value
    }
}

/// Who has sent a request.
struct Client: Sendable, Hashable {
    /// The ID of its key, ``linkName`` for whoever has a signed link; empty without a key.
    var name: String
    /// What it may do.
    var scopes: Set<Scope>

    /// Everyone, where no key is needed, and whoever has the token of the settings.
    static let anyone = Client(name: "", scopes: [.admin])

    static let linkName = "link"

    func may(_ scope: Scope) -> Bool { scopes.contains(scope) || scopes.contains(.admin) }
}

typealias ServiceRouter = Router<ServiceContext>

/// Answers errors with a problem (RFC 9457), and gives each answer the headers that all have.
struct ProblemMiddleware: RouterMiddleware {
    typealias Context = ServiceContext

    func handle(
        _ request: Request,
        context: ServiceContext,
        next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as HTTPParserError {
            throw error
        } catch {
            let problem = ErrorConversion.apiError(error, request)
            if problem.code == .internal {
                context.logger.error("a request has failed", metadata: ["error": "\(error)"])
            }
            response = problem.response(requestID: context.id)
        }
        response.headers[.requestID] = context.id
        response.headers[.xContentTypeOptions] = "nosniff"
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        if response.headers[.contentSecurityPolicy] == nil {
            // Nothing that a client has sent is ever a page.
            response.headers[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'none'; sandbox"
        }
        return response
    }
}

/// Errors of all layers as those of the API.
enum ErrorConversion {
    static func apiError(_ error: any Error, _ request: Request) -> APIError {
        switch error {
        case let error as APIError: error
        case let error as StoreError: storeError(error)
        case let error as FileError:
            error.isLackOfSpace
                ? APIError(.insufficientStorage, "The disk of the service is full")
                : APIError(.internal, "The service cannot use one of its files")
        case let error as HTTPError where error.status.code == 404:
            APIError(.notFound, "There is no such resource", field: "path", value: .string(request.uri.path))
        case is NIOTooManyBytesError:
            APIError(.tooLarge, "The body is too large", allowed: "at most \(JSONBody.limit) bytes")
        case is CancellationError: APIError(.unavailable, "The service ends")
        default: APIError(.internal, "The service has failed to answer")
        }
    }

    private static func storeError(_ error: StoreError) -> APIError {
        let code: ErrorCode =
            switch error.code {
            case .notFound: .notFound
            case .invalidArgument: .invalidRequest
            case .idempotencyConflict: .idempotencyConflict
            case .invalidState: .invalidState
            case .unavailable: .unavailable
            default: .internal
            }
        let message = error.publicMessage.prefix(1).uppercased() + error.publicMessage.dropFirst()
        return APIError(code, message, value: error.given.map(JSONValue.string), allowed: error.allowed)
    }
}

extension APIError {
    func response(requestID: String) -> Response {
        var headers: HTTPFields = [.contentType: "application/problem+json"]
        switch code {
        case .unavailable: headers[.retryAfter] = "\(retryAfter ?? 5)"
        case .rateLimited: headers[.retryAfter] = "\(retryAfter ?? 1)"
        case .unauthorized: headers[.wwwAuthenticate] = "Bearer realm=\"vatoolbox\""
        default: break
        }
        let bytes = Problem(self, requestID: requestID).jsonBytes
        return Response(
            status: .init(code: status, reasonPhrase: status == 460 ? "Checksum Mismatch" : ""),
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}

/// Bodies in JSON.
enum JSONBody {
    /// The largest body, in bytes.
    static let limit = 1 << 20

    /// Reads a body.
    static func read<Value: APIObject>(_ type: Value.Type, from request: Request) async throws -> Value {
        let given = request.headers[.contentType] ?? ""
        let mediaType = given.split(separator: ";").first.map { $0.trimming(while: { $0 == " " }).lowercased() }
        // curl --data says that it sends a form.
        guard mediaType == nil || mediaType == "application/json" || mediaType == "application/x-www-form-urlencoded"
        else {
            throw APIError(
                .unsupportedMediaType,
                "The body has the wrong type",
                field: "Content-Type",
                value: .string(given),
                allowed: "application/json"
            )
        }
        let buffer = try await request.body.collect(upTo: limit)
        return try Value.decode(json: Array(buffer.readableBytesView))
    }

    static func response(
        _ value: some APIValue,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:]
    ) -> Response {
        response(bytes: value.jsonBytes, status: status, headers: headers)
    }

    static func response(bytes: [UInt8], status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]) -> Response {
        var headers = headers
        headers[.contentType] = "application/json"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

extension Substring {
    fileprivate func trimming(while condition: (Character) -> Bool) -> Substring {
        var text = drop(while: condition)
        while let last = text.last, condition(last) { text.removeLast() }
        return text
    }
}
