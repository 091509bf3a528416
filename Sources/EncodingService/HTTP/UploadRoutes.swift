// SPDX-License-Identifier: GPL-2.0-or-later

internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServiceAPI

/// `/v1/uploads`.
struct UploadRoutes: Sendable {
    let service: ServiceState

    var handlers: [String: Handler] {
        ["putUpload": put, "listUploads": list, "getUpload": get, "deleteUpload": delete]
    }

    private var uploads: UploadStore { service.uploads }

    /// Receives a file in one request.
    func put(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let name = try Self.checked(name: name(context))
        let size = request.headers[.contentLength].flatMap { Int($0) }
        guard request.headers[.contentRange] == nil else {
            throw APIError(
                .invalidParameter,
                "A part of a file cannot be sent by PUT",
                field: "Content-Range",
                allowed: "the whole file",
                remedies: ["Use /v1/tus to send a file in parts."]
            )
        }
        let digest = try Self.digest(request)
        let id = try await uploads.create(name: name, size: size)
        do {
            let writer = try await uploads.begin(id)
            for try await buffer in request.body { try await writer.append(buffer) }
            if let size, writer.size != size {
                throw APIError(
                    .invalidRequest,
                    "The body has another length",
                    field: "Content-Length",
                    value: .integer(Int64(size))
                )
            }
            let sha256 = try await writer.finish()
            if let digest, digest.bytes != Digest.bytes(sha256) {
                throw APIError(
                    .checksumMismatch,
                    "The body has another SHA-256",
                    field: digest.header,
                    value: .string("sha-256=:\(Base64.text(digest.bytes)):"),
                    allowed: "sha-256=:\(Base64.text(Digest.bytes(sha256) ?? [])):"
                )
            }
            let upload = try await uploads.complete(id, size: writer.size, sha256: sha256)
            await uploads.end(id)
            return JSONBody.response(upload, status: .created, headers: [.location: "/v1/uploads/\(id)"])
        } catch {
            await uploads.discard(id)
            throw error
        }
    }

    func list(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let list = try await uploads.list()
        return JSONBody.response(UploadList { $0.uploads = list })
    }

    func get(_ request: Request, _ context: ServiceContext) async throws -> Response {
        return JSONBody.response(try await uploads.find(name(context)))
    }

    func delete(_ request: Request, _ context: ServiceContext) async throws -> Response {
        try await uploads.delete(name(context))
        return Response(status: .noContent)
    }

    private func name(_ context: ServiceContext) throws(APIError) -> String { try context.parameter("name") }

    /// Names are shown to people and never used as names of files.
    static func checked(name: String) throws(APIError) -> String {
        let hasControls = name.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
        guard (1...255).contains(name.utf8.count), !hasControls, !name.contains("/") else {
            throw APIError(
                .invalidParameter,
                "The name is not allowed",
                field: "name",
                value: .string(name),
                allowed: "1...255 bytes without / and control characters"
            )
        }
        return name
    }

    /// The SHA-256 that the client has announced (RFC 9530).
    private static func digest(_ request: Request) throws(APIError) -> (header: String, bytes: [UInt8])? {
        for name in [HTTPField.Name.reprDigest, .contentDigest] {
            guard let text = request.headers[name] else { continue }
            let header = name.rawName
            guard let start = text.firstRange(of: "sha-256=:") else { continue }
            let rest = text[start.upperBound...]
            guard let end = rest.firstIndex(of: ":"), let bytes = Base64.bytes(String(rest[..<end])), bytes.count == 32
            else {
                throw APIError(
                    .invalidParameter,
                    "The digest is malformed",
                    field: header,
                    value: .string(text),
                    allowed: "sha-256=:BASE64:"
                )
            }
            return (header, bytes)
        }
        return nil
    }
}
