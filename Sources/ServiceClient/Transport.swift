// SPDX-License-Identifier: GPL-2.0-or-later

internal import AsyncHTTPClient
internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import ServiceAPI

/// A request as values.
struct Exchange: Sendable {
    var method: HTTPMethod
    var path: ServicePath
    var repeatability: Repeatability
    var headers: [(name: String, value: String)] = []
    var body: [UInt8]?

    /// GET, PUT and DELETE are safe to repeat.
    init(
        _ method: HTTPMethod,
        _ path: ServicePath,
        _ repeatability: Repeatability = .safe,
        body: [UInt8]? = nil
    ) {
        self.method = method
        self.path = path
        self.repeatability = repeatability
        self.body = body
    }
}

/// An answer with its whole body.
struct Reply: Sendable {
    var status: Int
    var body: [UInt8]
}

/// Sends requests, and translates what goes wrong.
struct Transport: Sendable {
    let address: ServiceAddress
    let key: String?
    let timeout: Double
    let policy: RetryPolicy
    let tls: TLSConfiguration?

    /// The connections of all clients of the process. They end with it.
    private static let http: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = .seconds(10)
        configuration.timeout.read = .seconds(60)
        configuration.timeout.write = .seconds(60)
        // This client has its own attempts, which end with the reason.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// The largest body of an answer that is read as a whole.
    private static let bodyLimit = 64 << 20

    /// Sends a request once, and returns the answer as soon as its head has come.
    ///
    /// - Parameter body: A body that is not part of the exchange.
    func open(
        _ exchange: Exchange,
        body: HTTPClientRequest.Body? = nil,
        deadline: NIODeadline? = nil
    ) async throws(ClientError) -> HTTPClientResponse {
        var request = HTTPClientRequest(url: address.url(exchange.path))
        request.method = exchange.method
        request.tlsConfiguration = tls
        for header in exchange.headers { request.headers.add(name: header.name, value: header.value) }
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
        if !request.headers.contains(name: "Accept") { request.headers.add(name: "Accept", value: "application/json") }
        if let bytes = exchange.body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: bytes))
        } else {
            request.body = body
        }
        do {
            return try await Self.http.execute(
                request,
                deadline: deadline ?? .now() + .nanoseconds(Int64(timeout * 1e9))
            )
        } catch {
            throw failure(error)
        }
    }

    /// The whole answer.
    ///
    /// - Throws: `refused` or `unexpectedAnswer` unless the status says success.
    func finish(_ response: HTTPClientResponse) async throws(ClientError) -> Reply {
        let bytes: [UInt8]
        do {
            bytes = Array((try await response.body.collect(upTo: Self.bodyLimit)).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw ClientError(.unexpectedAnswer, "the answer has more than \(Self.bodyLimit) bytes")
        } catch {
            throw failure(error)
        }
        let status = Int(response.status.code)
        guard (200..<300).contains(status) else {
            let retryAfter = response.headers.first(name: "Retry-After")
            throw explained(ClientError(status: status, body: bytes, retryAfter: retryAfter))
        }
        return Reply(status: status, body: bytes)
    }

    /// Throws the error of an answer that is none.
    func check(_ response: HTTPClientResponse) async throws(ClientError) {
        guard (200..<300).contains(Int(response.status.code)) else {
            _ = try await finish(response)
            return
        }
    }

    /// Sends a request, again if it helps, and returns the answer.
    func send(_ exchange: Exchange) async throws(ClientError) -> Reply {
        var outage = Outage(policy)
        while true {
            do {
                return try await finish(try await open(exchange))
            } catch {
                try await outage.pause(after: error, exchange.repeatability)
            }
        }
    }

    /// Sends a request, and reads the value that answers it.
    func value<Value: APIObject>(_ exchange: Exchange) async throws(ClientError) -> Value {
        try Self.decode(try await send(exchange).body)
    }

    static func decode<Value: APIObject>(_ body: [UInt8]) throws(ClientError) -> Value {
        do {
            return try Value.decode(json: body, mode: .response)
        } catch {
            throw ClientError(unreadable: error, what: "a \(Value.typeName)")
        }
    }

    /// What to do about a key, which the service cannot know.
    private func explained(_ error: ClientError) -> ClientError {
        guard error.code == .unauthorized, error.problem?.field == "Authorization" else { return error }
        var error = error
        error.remedies = [
            key == nil ? "Give a key of the service." : "Give another key: this one is unknown, or has expired."
        ]
        return error
    }
}

// MARK: - Failures of connections

extension Transport {
    /// The error for what the HTTP client throws.
    func failure(_ error: any Error) -> ClientError {
        switch error {
        case let error as ClientError: return error
        case is CancellationError: return .cancelled
        case let error as HTTPClientError: return failure(ofClient: error)
        case let error as NIOConnectionError: return unreachable(Self.reason(error))
        case let error as IOError:
            let notConnected: [CInt] = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT]
            let reason = String(cString: strerror(error.errnoCode))
            return notConnected.contains(error.errnoCode) ? unreachable(reason) : interrupted(reason)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            var result = unreachable("the TLS handshake failed: \(error)")
            result.remedies = ["Check that the service uses TLS, and that its certificate is trusted."]
            return result
        // The end of the connection came before that of the answer.
        case HTTPParserError.invalidEOFState: return interrupted("the answer is not complete")
        case is HTTPParserError:
            return ClientError(
                .unexpectedAnswer,
                "what \(address.text) answers is not HTTP",
                remedies: ["Check the URL: its scheme and port."]
            )
        default: return interrupted("\(error)")
        }
    }

    private func failure(ofClient error: HTTPClientError) -> ClientError {
        switch error {
        case .cancelled: return .cancelled
        case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout:
            return unreachable("no answer in time")
        case .deadlineExceeded, .readTimeout, .writeTimeout:
            return ClientError(
                .timedOut,
                "the service at \(address.text) does not answer in time",
                remedies: ["Check that the service works: \(address.text)/healthz."]
            )
        case .bodyLengthMismatch:
            return ClientError(.file, "the file has changed while it was sent", remedies: ["Send it again."])
        case .invalidURL, .emptyHost, .emptyScheme:
            return ClientError(.invalidValue, "the URL of the service is not valid (given \(address.text))")
        default: return interrupted(error.shortDescription)
        }
    }

    private func unreachable(_ reason: String) -> ClientError {
        ClientError(
            .unreachable,
            "the service at \(address.text) cannot be reached: \(reason)",
            remedies: ["Start the service (vatoolbox serve), or give its URL."]
        )
    }

    private func interrupted(_ reason: String) -> ClientError {
        ClientError(
            .interrupted,
            "the connection to \(address.text) broke: \(reason)",
            remedies: ["Check that the service still runs."]
        )
    }

    private static func reason(_ error: NIOConnectionError) -> String {
        if let first = error.connectionErrors.first {
            if let error = first.error as? IOError { return String(cString: strerror(error.errnoCode)) }
            return "\(first.error)"
        }
        return "the host \(error.host) is unknown"
    }
}
