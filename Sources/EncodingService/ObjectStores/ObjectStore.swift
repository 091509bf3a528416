// SPDX-License-Identifier: GPL-2.0-or-later

internal import AsyncHTTPClient
internal import FoundationEssentials
internal import HostSystem
internal import NIOCore
internal import NIOHTTP1
internal import ServiceAPI

/// A store of the S3 protocol that the operator has set up. Its endpoint is the operator's, so it may be private.
struct ObjectStore: Sendable {
    let endpoint: S3Endpoint
    let credentials: S3Credentials

    /// How often a request is repeated that the store could not answer.
    static let mostRepetitions = 4
    private static let patience = 60.0
    private static let largestAnswer = 1 << 20

    /// An answer of the store.
    struct Answer: Sendable {
        var status: Int
        /// Names in lower case.
        var fields: [String: String]
        var body = ""

        /// The store's name of an error, such as `NoSuchKey`.
        var errorCode: String? { XMLText.element("Code", in: body) }

        func isTransient(_ code: String?) -> Bool {
            let codes = ["SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable"]
            return status == 429 || (500...599).contains(status) && status != 501 || codes.contains(code ?? "")
        }
    }

    /// Calls `body` with a client for several requests.
    func withClient<Value: Sendable>(_ body: (HTTPClient) async throws -> Value) async throws -> Value {
        try await HTTPClient.withOwn(.patient(Self.patience), body)
    }

    /// Sends a request until the store answers it.
    ///
    /// - Returns: An answer of any status that is not transient.
    /// - Throws: `TransferFailure` if the store cannot be reached or does not recover.
    func send(
        _ method: HTTPMethod,
        _ bucket: String,
        _ key: String,
        query: [String: String] = [:],
        fields: [String: String] = [:],
        body: [UInt8] = [],
        by client: HTTPClient
    ) async throws -> Answer {
        var request = endpoint.request(method.rawValue, bucket: bucket, key: key)
        request.query = query
        request.fields = fields
        if !body.isEmpty { request.bodyHash = Digest.sha256(body) }
        var repetition = 0
        while true {
            let problem: String
            do {
                let answer = try await answer(to: request, body, client)
                guard answer.isTransient(answer.errorCode) else { return answer }
                problem = "the store answers \(answer.errorCode ?? "with status") (\(answer.status))"
            } catch {
                try Task.checkCancellation()
                problem = "the store cannot be reached: \(error)"
            }
            guard repetition < Self.mostRepetitions else { throw TransferFailure.storage(problem, isRetriable: true) }
            try await Task.sleep(for: .seconds(InputFetcher.pause(after: repetition)))
            repetition += 1
        }
    }

    private func answer(to request: S3Request, _ body: [UInt8], _ client: HTTPClient) async throws -> Answer {
        var message = signed(request)
        if !body.isEmpty { message.body = .bytes(ByteBuffer(bytes: body)) }
        let response = try await client.execute(message, timeout: .seconds(600))
        let text = try await response.body.collect(upTo: Self.largestAnswer)
        let told = FetchState.Answer(response)
        return Answer(status: told.status, fields: told.fields, body: String(buffer: text))
    }

    /// The request with a signature of this moment.
    func signed(_ request: S3Request) -> HTTPClientRequest {
        let query = request.encodedQuery
        var message = HTTPClientRequest(
            url: "\(endpoint.scheme)://\(request.host)\(request.path)" + (query.isEmpty ? "" : "?\(query)")
        )
        message.method = HTTPMethod(rawValue: request.method)
        let fields = S3Signature.fields(of: request, credentials, region: endpoint.region, at: Clock.now)
        for (name, value) in fields where name != "host" { message.headers.add(name: name, value: value) }
        message.headers.add(name: "user-agent", value: "vatoolbox")
        return message
    }
}

extension TransferFailure {
    /// A store does not do what it is asked for.
    static func storage(_ message: String, isRetriable: Bool = false) -> TransferFailure {
        TransferFailure(code: .storageFailed, message: message, isRetriable: isRetriable)
    }

    /// An answer of a store that is of no use.
    static func storage(_ answer: ObjectStore.Answer, to what: String) -> TransferFailure {
        let hint = (300..<400).contains(answer.status) ? "; is the region of the store right?" : ""
        // 409: another request for the same key is being answered.
        return storage(
            "the store refuses \(what): \(answer.errorCode ?? "status") (\(answer.status))\(hint)",
            isRetriable: answer.status == 409
        )
    }
}

/// Where a store is.
struct S3Endpoint: Sendable, Hashable {
    /// `http` or `https`.
    let scheme: String
    /// With the port, if there is one.
    let host: String
    let region: String
    /// Whether buckets are a part of the host's name, and not of the path.
    let hasBucketHosts: Bool

    /// Reads `https://HOST[:PORT][?region=REGION][&style=path|host]`; `nil` if the text is none.
    init?(_ text: String) {
        guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
            let name = url.encodedHost, !name.isEmpty, ["http", "https"].contains(scheme),
            ["", "/"].contains(url.path),
            url.user == nil, url.password == nil, url.fragment == nil,
            (try? WebHost(host: url.host, port: url.port)) != nil
        else { return nil }
        var options = ["region": "us-east-1", "style": "path"]
        for item in url.queryItems ?? [] {
            guard options[item.name] != nil, let value = item.value, !value.isEmpty else { return nil }
            options[item.name] = value
        }
        guard let style = options["style"], let region = options["region"], ["path", "host"].contains(style),
            region.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") })
        else { return nil }
        self.scheme = scheme
        host = name + (url.port.map { ":\($0)" } ?? "")
        hasBucketHosts = style == "host"
        self.region = region
    }

    /// A request for an object.
    func request(_ method: String, bucket: String, key: String) -> S3Request {
        // By bytes: a slash with a combining character after it is one `Character`.
        let path = key.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { PercentEncoding.encode(String(Substring($0))) }.joined(separator: "/")
        return S3Request(
            method: method,
            host: hasBucketHosts ? "\(bucket).\(host)" : host,
            path: hasBucketHosts ? "/\(path)" : "/\(bucket)/\(path)"
        )
    }
}

/// Texts in the answers of stores, which are flat XML.
enum XMLText {
    /// The text of the first element of a name; `nil` if there is none.
    static func element(_ name: String, in text: String) -> String? {
        guard let begin = text.firstRange(of: "<\(name)>") else { return nil }
        let rest = text[begin.upperBound...]
        guard let end = rest.firstRange(of: "</\(name)>") else { return nil }
        return String(rest[..<end.lowerBound])
            .replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
            .replacing("&#34;", with: "\"").replacing("&apos;", with: "'").replacing("&amp;", with: "&")
    }

    /// A text as the content of an element.
    static func escape(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}

/// The stores of the settings, by the names that requests use.
struct ObjectStores: Sendable {
    private let stores: [String: ObjectStore]

    /// - Throws: `SettingsError` for credentials that cannot be read.
    init(_ settings: ServiceSettings) throws(SettingsError) {
        var stores: [String: ObjectStore] = [:]
        for (name, endpoint) in settings.objectStores {
            stores[name] = ObjectStore(endpoint: endpoint, credentials: try settings.credentials(ofStore: name))
        }
        self.stores = stores
    }

    /// The store of a request: the one that it names, `default`, or the only one.
    ///
    /// - Parameter field: Where the request names it, for the error.
    /// - Throws: `APIError` `not-found`.
    func store(_ name: String?, field: String) throws(APIError) -> ObjectStore {
        let found = stores[name ?? "default"] ?? (name == nil && stores.count == 1 ? stores.first?.value : nil)
        if let found { return found }
        throw APIError(
            .notFound,
            name == nil ? "The request names no store" : "There is no such store",
            field: field,
            value: name.map(JSONValue.string),
            allowed: stores.isEmpty ? "none: the service has no stores" : stores.keys.sorted().joined(separator: ", ")
        )
    }
}

/// A file in a store, as an input.
struct StoreOrigin: FetchOrigin {
    let store: ObjectStore
    let object: S3Object

    var publicText: String { object.text }

    func get(
        _ fields: [(name: String, value: String)],
        patience: Double,
        _ body: (HTTPClientResponse) async throws -> Void
    ) async throws {
        var request = store.endpoint.request("GET", bucket: object.bucket, key: object.key)
        request.fields = Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }
        let message = store.signed(request)
        try await HTTPClient.withOwn(.patient(patience)) { client in
            let response = try await client.execute(message, timeout: .seconds(Int64(patience.rounded(.up))))
            let told = FetchState.Answer(response)
            guard [200, 206, 416].contains(told.status) else {
                let text = String(buffer: try await response.body.collect(upTo: 1 << 16))
                let answer = ObjectStore.Answer(status: told.status, fields: told.fields, body: text)
                var failure = TransferFailure.storage(answer, to: "to read \(object.text)")
                failure.isRetriable = answer.isTransient(answer.errorCode)
                failure.isInterruption = failure.isRetriable
                throw failure
            }
            try await body(response)
        }
    }
}
