// SPDX-License-Identifier: GPL-2.0-or-later

internal import AsyncHTTPClient
internal import FoundationEssentials
internal import NIOCore
internal import NIOHTTP1
internal import ServiceAPI

/// Where an input is fetched from.
protocol FetchOrigin: Sendable {
    /// Its name without secrets, for logs.
    var publicText: String { get }

    /// Asks for the file, and hands over the answer while it is being received.
    ///
    /// - Parameters:
    ///   - fields: Further fields of the request.
    ///   - patience: After how many seconds without a byte the connection is given up.
    func get(
        _ fields: [(name: String, value: String)],
        patience: Double,
        _ body: (HTTPClientResponse) async throws -> Void
    ) async throws
}

extension FetchState.Answer {
    init(_ response: HTTPClientResponse) {
        status = Int(response.status.code)
        fields = Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
    }
}

/// A file at a URL. Redirects are followed a few times; each address is checked like the first.
struct WebOrigin: FetchOrigin {
    let url: String
    let client: PinnedClient

    static let mostRedirects = 5

    var publicText: String { InputSource.url(url).publicText }

    func get(
        _ fields: [(name: String, value: String)],
        patience: Double,
        _ body: (HTTPClientResponse) async throws -> Void
    ) async throws {
        var url = try WebLocation(url)
        for _ in 0...Self.mostRedirects {
            var request = HTTPClientRequest(url: url.text)
            request.headers = ["user-agent": "vatoolbox", "accept": "*/*", "accept-encoding": "identity"]
            for field in fields { request.headers.add(name: field.name, value: field.value) }
            let next = try await client.withClient(for: url.text, patience: patience) { [request] client -> String? in
                let response = try await client.execute(request, timeout: .seconds(Int64(patience.rounded(.up))))
                let location = response.headers.first(name: "location")
                if (300..<400).contains(response.status.code), let location { return location }
                try await body(response)
                return nil
            }
            guard let next else { return }
            url = try url.redirected(to: next)
        }
        throw TransferFailure(
            code: .fetchFailed,
            message: "the server redirects more than \(Self.mostRedirects) times"
        )
    }
}

/// A URL from which an input may be fetched.
struct WebLocation: Sendable, Hashable {
    private let url: URL

    /// - Throws: `TransferFailure` for anything but `http` and `https`, for a URL with a user or a password, and for a
    ///   malformed host or port.
    init(_ text: String) throws(TransferFailure) { try self.init(URL(string: text)) }

    private init(_ url: URL?) throws(TransferFailure) {
        func refused(_ message: String) -> TransferFailure { TransferFailure(code: .fetchFailed, message: message) }
        guard let url else { throw refused("the URL is malformed") }
        guard ["http", "https"].contains(url.scheme?.lowercased()) else {
            throw refused("the URL has the scheme \(url.scheme ?? "none") (allowed: http, https)")
        }
        guard url.user == nil, url.password == nil else {
            throw refused("the URL has a user or a password (allowed: none; use a signed URL)")
        }
        do throws(WebHost.Malformed) { _ = try WebHost(of: url) } catch { throw refused(error.description) }
        self.url = url
    }

    /// The whole URL.
    var text: String { url.absoluteString }

    /// The URL to which a server redirects, which may be relative.
    ///
    /// - Throws: `TransferFailure` also if it would leave an encrypted connection.
    func redirected(to location: String) throws(TransferFailure) -> WebLocation {
        let next = try WebLocation(URL(string: location, relativeTo: url)?.absoluteURL)
        guard url.scheme?.lowercased() != "https" || next.url.scheme?.lowercased() == "https" else {
            throw TransferFailure(code: .fetchFailed, message: "the server redirects from https to http")
        }
        return next
    }
}
