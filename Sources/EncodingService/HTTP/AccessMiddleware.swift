// SPDX-License-Identifier: GPL-2.0-or-later

internal import Crypto
internal import HTTPTypes
internal import HostSystem
internal import Hummingbird
internal import NIOCore
internal import ServiceAPI

/// Lets only those requests through that a client may send.
///
/// Without a token and keys, only programs of this machine can connect. A browser is such a program, too, and does what
/// pages of strangers ask. So the header `Host` must name this machine, which a page under another name cannot achieve
/// (DNS rebinding), and requests that another page has caused are refused.
struct AccessMiddleware: RouterMiddleware {
    typealias Context = ServiceContext

    private let service: ServiceState
    private let token: SHA256.Digest?
    /// The requests of each key.
    private let requests: RequestLimiter
    /// The wrong keys from each address.
    private let failures: RequestLimiter
    private let audit: AuditLog
    /// The refusals from each address that the audit log keeps.
    private let recordedRefusals = RequestLimiter(rate: 1, capacity: 100)
    /// The bytes of a path that the audit log keeps.
    private static let longestPath = 512

    init(service: ServiceState) {
        self.service = service
        let settings = service.settings
        requests = RequestLimiter(rate: Double(settings.requestRate), capacity: 2 * Double(settings.requestRate))
        failures = RequestLimiter(rate: Double(settings.wrongKeys) / 60, capacity: Double(settings.wrongKeys))
        audit = AuditLog(path: service.data.audit, logger: service.logger)
        token = service.settings.token.isEmpty ? nil : SHA256.hash(data: Array(service.settings.token.utf8))
    }

    func handle(
        _ request: Request,
        context: ServiceContext,
        next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        if ["/healthz", "/readyz"].contains(request.uri.path) { return try await next(request, context) }
        var context = context
        do {
            if await needsKey() {
                if Self.isPublic(request) { return try await next(request, context) }
                context.client = try await client(request, at: context.address)
                try limit(context)
            } else {
                try Self.checkHost(request)
                try Self.checkSite(request)
            }
            let response = try await next(request, context)
            await record(request, context, status: Int(response.status.code), code: nil)
            return response
        } catch {
            let told = ErrorConversion.apiError(error, request)
            await record(request, context, status: told.status, code: told.code)
            throw error
        }
    }

    /// Refuses a client that sends more requests than one may. The token of the settings is the operator's, who may.
    private func limit(_ context: ServiceContext) throws(APIError) {
        let client = context.client
        guard !client.name.isEmpty else { return }
        let name = client.name == Client.linkName ? "\(client.name) \(context.address)" : client.name
        guard let wait = requests.take(name, at: Clock.monotonic) else { return }
        throw APIError(
            .rateLimited,
            "The client sends more requests than the service takes of one",
            allowed: "\(service.settings.requestRate) a second",
            retryAfter: Int(wait.rounded(.up))
        )
    }

    /// Records requests that change something, and those that were refused.
    private func record(_ request: Request, _ context: ServiceContext, status: Int, code: ErrorCode?) async {
        let isReading = [.get, .head, .options].contains(request.method)
        let isRefused = [401, 403, 429].contains(status)
        guard !isReading || isRefused else { return }
        // Strangers cannot push out of the log what was changed.
        if isRefused, recordedRefusals.take(context.address, at: Clock.monotonic) != nil { return }
        let entry = AuditLog.Entry(
            time: Clock.now,
            request: context.id,
            client: context.client.name,
            address: context.address,
            method: request.method.rawValue,
            path: String(decoding: request.uri.path.utf8.prefix(Self.longestPath), as: UTF8.self),
            status: status,
            code: code?.rawValue
        )
        try? await FileWork.run { [audit] in audit.add(entry) }
    }

    private func needsKey() async -> Bool {
        guard token == nil else { return true }
        return await !service.keys.isEmpty
    }

    private func client(_ request: Request, at address: String) async throws -> Client {
        do {
            return try await identify(request)
        } catch let error as APIError {
            // Only those who guess are refused: others may have the same address, such as that of a proxy.
            let hasGuessed = Self.bearer(request) != nil || request.uri.queryParameters.get("signature") != nil
            guard hasGuessed, error.code == .unauthorized, let wait = failures.take(address, at: Clock.monotonic)
            else { throw error }
            throw APIError(
                .rateLimited,
                "Too many wrong keys came from this address",
                allowed: "\(service.settings.wrongKeys) a minute",
                retryAfter: Int(wait.rounded(.up))
            )
        }
    }

    private func identify(_ request: Request) async throws -> Client {
        let link = request.uri.queryParameters
        if let signature = link.get("signature") {
            let isValid = service.links.isValid(
                request.method,
                request.uri.path,
                expires: link.get("expires"),
                signature: signature
            )
            guard isValid else {
                throw APIError(.unauthorized, "The link is not valid, or not any more", field: "signature")
            }
            return Client(name: Client.linkName, scopes: [.readJobs, .writeUploads])
        }
        guard let given = Self.bearer(request) else {
            throw APIError(.unauthorized, "The request has no key", field: "Authorization")
        }
        // Digests are compared in constant time.
        if let token, SHA256.hash(data: Array(given.utf8)) == token { return .anyone }
        guard let client = await service.keys.client(withKey: given) else {
            throw APIError(.unauthorized, "The key is not valid", field: "Authorization")
        }
        return client
    }

    /// What the API says needs no key, and the pages of the dashboard: what these show, they ask for with a key.
    private static func isPublic(_ request: Request) -> Bool {
        let path = request.uri.path
        if request.method == .options { return publicOptions.contains(path) }
        guard [.get, .head].contains(request.method) else { return false }
        return publicPaths.contains(path)
            || publicFolders.contains { path.hasPrefix($0) && !path.dropFirst($0.count).contains("/") }
    }

    private static let publicOptions = Set(publicOperations.filter { $0.method == .options }.map(\.path))
    private static let publicPaths = Set(
        publicOperations.filter { $0.method == .get }.map(\.path).filter { !$0.contains("{") }
    )
    private static let publicFolders =
        ["/dashboard/"]
        + publicOperations.compactMap { operation in
            operation.path.firstIndex(of: "{").map { String(operation.path[..<$0]) }
        }
    private static var publicOperations: [Operation] {
        Operation.all.filter { $0.scope == nil && [.get, .options].contains($0.method) }
    }

    private static func bearer(_ request: Request) -> String? {
        guard let header = request.headers[.authorization], header.lowercased().hasPrefix("bearer ") else { return nil }
        return String(header.dropFirst(7).drop { $0 == " " })
    }

    private static func checkHost(_ request: Request) throws(APIError) {
        let host = request.head.authority ?? ""
        var name = host
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            name = String(host[...end])
        } else if let colon = host.lastIndex(of: ":") {
            name = String(host[..<colon])
        }
        let isHere =
            ["localhost", "[::1]"].contains(name.lowercased())
            || name.hasPrefix("127.") && name.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (48...57).contains($0) }
        guard isHere else {
            throw APIError(
                .crossSite,
                "The service is asked under a name that is not its own",
                field: "Host",
                value: .string(host),
                allowed: "localhost, 127.0.0.1, [::1]",
                remedies: ["Set access.token to serve other names."]
            )
        }
    }

    /// Browsers say from where a request comes. Other programs do not.
    private static func checkSite(_ request: Request) throws(APIError) {
        if let site = request.headers[.secFetchSite], !["same-origin", "none"].contains(site) {
            throw APIError(
                .crossSite,
                "A page of another site has caused this request",
                field: "Sec-Fetch-Site",
                value: .string(site)
            )
        }
        guard let origin = request.headers[.origin] else { return }
        let authority = request.head.authority ?? ""
        guard origin == "http://\(authority)" || origin == "https://\(authority)" else {
            throw APIError(
                .crossSite,
                "A page of another site has caused this request",
                field: "Origin",
                value: .string(origin)
            )
        }
    }
}
