// SPDX-License-Identifier: GPL-2.0-or-later

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import MediaTypes
internal import NIOCore
internal import StreamingPlaylists

/// Answers requests for a presentation in memory: rfc8216bis 6.2.5, 6.2.6 and appendix B.1.
///
/// A path is looked up in the table of what there is; nothing else of the machine can be asked for.
struct HLSResponder: HTTPResponder {
    typealias Context = BasicRequestContext

    let store: MemoryStore

    func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
        switch request.method {
        case .get, .head:
            var response = await answer(request)
            response.headers[.accessControlAllowOrigin] = "*"
            if request.method == .head {
                response.body = ResponseBody(contentLength: response.body.contentLength) { try await $0.finish(nil) }
            }
            return response
        case .options: return Self.preflight
        default:
            return Response(status: .methodNotAllowed, headers: [.allow: "GET, HEAD, OPTIONS"])
        }
    }

    private static let preflight = Response(
        status: .noContent,
        headers: [
            .accessControlAllowOrigin: "*", .accessControlAllowMethods: "GET, HEAD, OPTIONS",
            .accessControlAllowHeaders: "Range, Content-Type", .accessControlMaxAge: "86400",
        ]
    )

    private func answer(_ request: Request) async -> Response {
        let path = String(request.uri.path.dropFirst())
        if path.isEmpty { return TestPage.response }
        let start = MonotonicClock.now
        while true {
            let changes = store.changes
            switch store.find(path) {
            case .file(let content): return file(content, path)
            case .multivariant(let bytes): return playlist(bytes, request, isBlocking: false)
            case .playlist(let index):
                if let response = media(index, request, since: start) { return response }
            case .hinted:
                let limit = MediaTime(value: Int64(3 * (store.targetDuration ?? 4)), timescale: 1)
                if MonotonicClock.now - start >= limit { return Self.error(.serviceUnavailable, "it did not come") }
            case .nothing: return Self.error(.notFound, "there is no such file")
            }
            guard !Task.isCancelled, !store.isClosed, await store.waitForChange(since: changes) else {
                return Self.error(.serviceUnavailable, "too many requests wait, or the server ends")
            }
        }
    }

    /// - Returns: `nil` while the request has to wait.
    private func media(_ index: Int, _ request: Request, since start: MediaTime) -> Response? {
        guard let (edge, isEmpty) = store.edge(index) else { return Self.error(.notFound, "there is no such file") }
        let directives = BlockingRequest(query: request.uri.query ?? "")
        let waited = MonotonicClock.now - start
        switch directives.answer(at: edge, waited: waited) {
        case .send(let delta):
            // Players take a playlist without segments for an error.
            if isEmpty, !edge.isEnded {
                return waited < edge.limit ? nil : Self.error(.serviceUnavailable, "the playlist is empty")
            }
            guard let bytes = store.playlist(index, skipping: delta) else {
                return Self.error(.notFound, "there is no such file")
            }
            return playlist(bytes, request, isBlocking: directives.number != nil && !edge.isEnded)
        case .wait: return nil
        case .badRequest(let error): return Self.error(.badRequest, error.readable)
        case .unavailable(let error): return Self.error(.serviceUnavailable, error.readable)
        }
    }

    // MARK: Responses

    private func playlist(_ bytes: MemoryStore.PlaylistBytes, _ request: Request, isBlocking: Bool) -> Response {
        let target = store.targetDuration ?? 4
        // B.1: what a request has waited for does not change; other playlists are old after half a target duration.
        let age = isBlocking ? 6 * target : max(target / 2, 1)
        var headers: HTTPFields = [
            .contentType: "application/vnd.apple.mpegurl", .cacheControl: "public, max-age=\(age)",
            .vary: "Accept-Encoding",
        ]
        guard Self.takesGzip(request), let compressed = bytes.compressed else {
            return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: bytes.plain))
        }
        headers[.contentEncoding] = "gzip"
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: compressed))
    }

    private func file(_ content: [ByteBuffer], _ path: String) -> Response {
        let headers: HTTPFields = [
            .contentType: path.hasPrefix("audio-") ? "audio/mp4" : "video/mp4",
            .cacheControl: "public, max-age=\(6 * (store.targetDuration ?? 4)), immutable",
        ]
        return Response(status: .ok, headers: headers, body: ResponseBody(contentsOf: content))
    }

    private static func error(_ status: HTTPResponse.Status, _ text: String) -> Response {
        var headers: HTTPFields = [.contentType: "text/plain; charset=utf-8"]
        headers[.cacheControl] = status == .notFound ? "max-age=1" : "no-store"
        if status == .serviceUnavailable { headers[.retryAfter] = "1" }
        let body = ResponseBody(byteBuffer: ByteBuffer(string: text + "\n"))
        return Response(status: status, headers: headers, body: body)
    }

    /// RFC 9110 12.5.3: whether gzip is among the encodings that the client takes.
    private static func takesGzip(_ request: Request) -> Bool {
        guard let header = request.headers[.acceptEncoding] else { return false }
        return header.lowercased().split(separator: ",").contains { element in
            let words = element.split(separator: ";").map { $0.filter { !$0.isWhitespace } }
            guard let name = words.first, name == "gzip" || name == "*" else { return false }
            return !words.dropFirst().contains { ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains($0) }
        }
    }
}

extension LiveMediaPlaylist.Edge {
    /// The longest time that a request waits: three target durations.
    fileprivate var limit: MediaTime { MediaTime(value: Int64(options.targetDuration) * 3, timescale: 1) }
}
