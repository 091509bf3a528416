// SPDX-License-Identifier: GPL-2.0-or-later

internal import AsyncHTTPClient
internal import Glibc
internal import MediaTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// Sends files to a server by HTTP, on connections that stay open. It follows no redirects.
final class UploadClient: Sendable {
    let address: HLSUploadAddress
    private let http: HTTPClient
    private let authorization: String?

    /// The response to a request is small; more of it is not waited for.
    private static let mostBytesOfResponse = 64 << 10
    private static let chunk = 64 << 10

    /// - Parameters:
    ///   - authorities: A file in PEM with the certificates of the authorities to trust; `nil` for those of the system.
    ///   - silence: How long a connection may make no progress, in milliseconds.
    /// - Throws: `invalidArgument` for a file without certificates.
    init(_ address: HLSUploadAddress, authorities: String?, silence: Int32) throws(MediaError) {
        self.address = address
        authorization = address.credentials.map { credentials in
            switch credentials {
            case .header(let value): value
            case .basic(let user, let password):
                HTTPClient.Authorization.basic(username: user, password: password).headerValue
            }
        }
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let authorities { tls.trustRoots = .certificates(try Self.certificates(authorities)) }
        configuration.tlsConfiguration = tls
        let patience = TimeAmount.milliseconds(Int64(silence))
        configuration.timeout = .init(connect: patience, read: patience, write: patience)
        // Longer than the longest segment, between which nothing is sent.
        configuration.connectionPool.idleTimeout = .seconds(90)
        // There are attempts of our own, which end with the reason.
        configuration.connectionPool.retryConnectionEstablishment = false
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Closes the connections; nobody waits for that.
    func stop() { Task { [http] in try? await http.shutdown() } }

    private static func certificates(_ path: String) throws(MediaError) -> [NIOSSLCertificate] {
        let found = try? NIOSSLCertificate.fromPEMFile(path)
        guard let found, !found.isEmpty else {
            throw MediaError(
                .invalidArgument,
                "the file has no certificates of authorities",
                given: path,
                allowed: "certificates in PEM"
            )
        }
        return found
    }

    // MARK: Requests

    /// Asks for a file, to know whether the server is there.
    func look(_ path: String, within limit: TimeAmount) async throws(MediaError) -> UploadAnswer {
        try await send(request(.HEAD, path), until: .now() + limit)
    }

    /// Stores a file.
    ///
    /// - Parameter progress: Called with the numbers of bytes that the connection takes.
    func put(
        _ path: String,
        _ content: [ByteBuffer],
        within limit: TimeAmount,
        progress: @escaping @Sendable (Int) -> Void
    ) async throws(MediaError) -> UploadAnswer {
        var request = request(.PUT, path)
        request.headers.add(name: "Content-Type", value: Self.contentType(path))
        let count = content.reduce(0) { $0 + $1.readableBytes }
        let chunks = UploadChunks(content: content, size: Self.chunk, progress: progress)
        request.body = .stream(chunks, length: .known(Int64(count)))
        return try await send(request, until: .now() + limit)
    }

    /// Deletes a file.
    func delete(_ path: String, within limit: TimeAmount) async throws(MediaError) -> UploadAnswer {
        try await send(request(.DELETE, path), until: .now() + limit)
    }

    private func request(_ method: HTTPMethod, _ path: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: address.url + path)
        request.method = method
        request.headers.add(name: "User-Agent", value: "vatoolbox")
        if let authorization { request.headers.add(name: "Authorization", value: authorization) }
        return request
    }

    private static func contentType(_ path: String) -> String {
        if path.hasSuffix(".m3u8") { return "application/vnd.apple.mpegurl" }
        return path.hasPrefix("audio-") ? "audio/mp4" : "video/mp4"
    }

    private func send(
        _ request: HTTPClientRequest,
        until deadline: NIODeadline
    ) async throws(MediaError) -> UploadAnswer {
        do {
            let response = try await http.execute(request, deadline: deadline)
            // A connection is used again only after a whole response.
            var count = 0
            for try await piece in response.body {
                count += piece.readableBytes
                if count > Self.mostBytesOfResponse { break }
            }
            return UploadAnswer(
                status: Int(response.status.code),
                reason: Readable.shortened(Readable.oneLine(response.status.reasonPhrase)),
                location: response.headers.first(name: "Location").map { Readable.shortened(Readable.oneLine($0)) }
            )
        } catch {
            throw failure(error)
        }
    }
}

/// A body in pieces, so that it is known how much of it the connection has taken.
private struct UploadChunks: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let content: [ByteBuffer]
    let size: Int
    let progress: @Sendable (Int) -> Void

    func makeAsyncIterator() -> Iterator { Iterator(rest: content[...], size: size, progress: progress) }

    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<ByteBuffer>
        let size: Int
        let progress: @Sendable (Int) -> Void

        mutating func next() async throws -> ByteBuffer? {
            while let first = rest.first, first.readableBytes == 0 { rest.removeFirst() }
            guard let index = rest.indices.first else { return nil }
            let count = Swift.min(rest[index].readableBytes, size)
            progress(count)
            return rest[index].readSlice(length: count)
        }
    }
}

// MARK: - Failures

extension UploadClient {
    private func failure(_ error: any Error) -> MediaError {
        switch error {
        case is CancellationError: StopSignal.stopped
        case let error as HTTPClientError: failure(ofClient: error)
        case let error as NIOConnectionError: unreachable(Self.reason(error))
        case let error as IOError: unreachable(String(cString: strerror(error.errnoCode)))
        case let error as NIOSSLError: failure(ofTLS: "\(error)")
        case let error as NIOSSLExtraError: failure(ofTLS: "\(error.description)")
        case let error as BoringSSLError: failure(ofTLS: "\(error)")
        case is HTTPParserError: MediaError(.inputOutput, "what the server answers is not HTTP, or is not complete")
        default: unreachable("\(error)")
        }
    }

    private func failure(ofClient error: HTTPClientError) -> MediaError {
        switch error {
        case .cancelled: StopSignal.stopped
        case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout:
            MediaError(.deadlineExceeded, "the server does not accept the connection in time")
        case .deadlineExceeded, .readTimeout, .writeTimeout:
            MediaError(.deadlineExceeded, "the server does not answer in time")
        case .invalidURL, .emptyHost, .emptyScheme:
            MediaError(.invalidArgument, "the address of the server is not valid", given: address.description)
        default: MediaError(.inputOutput, "the server has closed the connection: \(error.shortDescription)")
        }
    }

    private func unreachable(_ reason: String) -> MediaError {
        MediaError(.inputOutput, "the server cannot be reached: \(reason)")
    }

    private func failure(ofTLS reason: String) -> MediaError {
        let isUntrusted = reason.contains("CERTIFICATE_VERIFY_FAILED") || reason.contains("unableToValidateCertificate")
        return MediaError(
            .inputOutput,
            isUntrusted ? "the certificate of the server is not trusted" : "there is no TLS with the server: \(reason)",
            isPermanent: isUntrusted,
            remedies: isUntrusted ? ["trust its authority: --ca-file"] : []
        )
    }

    private static func reason(_ error: NIOConnectionError) -> String {
        guard let first = error.connectionErrors.first else { return "the host is unknown" }
        return (first.error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(first.error)"
    }
}
