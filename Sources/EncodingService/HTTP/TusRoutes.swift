// SPDX-License-Identifier: GPL-2.0-or-later

internal import Crypto
internal import Foundation
internal import HTTPTypes
internal import HostSystem
internal import Hummingbird
internal import NIOCore
internal import ServiceAPI

/// `/v1/tus`: uploads in parts by the protocol tus 1.0.0 (https://tus.io/protocols/resumable-upload), with creation,
/// creation-with-upload, creation-defer-length, checksum, expiration, termination and concatenation.
struct TusRoutes: Sendable {
    let service: ServiceState

    private var uploads: UploadStore { service.uploads }
    private static let version = "1.0.0"
    private static let bodyType = "application/offset+octet-stream"
    private static let path = "/v1/tus/"

    var handlers: [String: Handler] {
        [
            "getTusOptions": options, "createTusUpload": checked(create), "getTusOffset": checked(offset),
            "continueTusUpload": checked(resume), "deleteTusUpload": checked(terminate),
        ]
    }

    func options(_ request: Request, _ context: ServiceContext) async throws -> Response {
        Response(
            status: .noContent,
            headers: [
                .tusResumable: Self.version, .tusVersion: Self.version,
                .tusExtension:
                    "creation,creation-with-upload,creation-defer-length,checksum,expiration,termination,concatenation",
                .tusMaxSize: "\(service.settings.uploadLimit)", .tusChecksumAlgorithm: "sha1,sha256",
            ]
        )
    }

    /// Every request but OPTIONS names the version, and so does every answer.
    private func checked(_ handler: @escaping Handler) -> Handler {
        { request, context in
            var response: Response
            if request.headers[.tusResumable] == Self.version {
                do {
                    response = try await handler(request, context)
                } catch {
                    response = ErrorConversion.apiError(error, request).response(requestID: context.id)
                }
            } else {
                let error = APIError(
                    .preconditionFailed,
                    "The version of tus is not supported",
                    field: "Tus-Resumable",
                    value: request.headers[.tusResumable].map(JSONValue.string),
                    allowed: Self.version
                )
                response = error.response(requestID: context.id)
                response.headers[.tusVersion] = Self.version
            }
            response.headers[.tusResumable] = Self.version
            return response
        }
    }

    // MARK: Creation

    func create(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let metadata = request.headers[.uploadMetadata]
        let concatenation = request.headers[.uploadConcat]
        let isFinal = concatenation?.hasPrefix("final;") == true
        guard isFinal || concatenation == nil || concatenation == "partial" else {
            throw Self.refused("Upload-Concat", concatenation, "partial, or final; with the URLs of the parts")
        }
        let size = try Self.number(request, .uploadLength)
        let isDeferred = request.headers[.uploadDeferLength] == "1"
        guard isFinal || (size == nil) == isDeferred else {
            throw Self.refused("Upload-Length", request.headers[.uploadLength], "a size, or Upload-Defer-Length: 1")
        }
        let parts = isFinal ? try await self.parts(concatenation ?? "") : []
        let id = try await uploads.create(
            name: try Self.name(metadata),
            size: isFinal ? parts.reduce(0) { $0 + $1.size } : size,
            tus: UploadRecord.Tus(metadata: metadata, concatenation: concatenation)
        )
        var headers: HTTPFields = [.location: Self.path + id]
        if isFinal {
            do { try await join(parts, into: id) } catch {
                await uploads.discard(id)
                throw error
            }
        } else if request.headers[.contentType] == Self.bodyType {
            headers[.uploadOffset] = "\(try await receive(request, id: id, at: 0))"
        } else if size == 0 {
            try await completeIfWhole(id)
        }
        headers[.uploadExpires] = try await expiry(id)
        return Response(status: .created, headers: headers)
    }

    /// The name of the file, in the metadata.
    private static func name(_ metadata: String?) throws(APIError) -> String {
        for pair in (metadata ?? "").split(separator: ",") {
            let words = pair.split(separator: " ")
            guard let key = words.first, key == "filename" || key == "name", words.count == 2 else { continue }
            guard let bytes = Base64.bytes(String(words[1])), let name = String(validating: bytes, as: UTF8.self) else {
                throw refused("Upload-Metadata", metadata, "filename, a space, and the name in Base64")
            }
            return try UploadRoutes.checked(name: name)
        }
        return "upload"
    }

    private struct Part {
        var path: String
        var size: Int
    }

    private func parts(_ header: String) async throws -> [Part] {
        var parts: [Part] = []
        for url in header.dropFirst("final;".count).split(separator: " ") {
            guard let range = url.range(of: Self.path, options: .backwards) else {
                throw Self.refused("Upload-Concat", String(url), "URLs below \(Self.path)")
            }
            let (record, received) = try await uploads.part(String(url[range.upperBound...]))
            guard record.isComplete, record.tus?.concatenation == "partial" else {
                throw Self.refused("Upload-Concat", String(url), "parts that are complete")
            }
            parts.append(Part(path: "\(service.data.upload(record.id))/data", size: received))
        }
        guard !parts.isEmpty else { throw Self.refused("Upload-Concat", header, "at least one URL") }
        return parts
    }

    private func join(_ parts: [Part], into id: String) async throws {
        let writer = try await uploads.begin(id)
        for part in parts { try await writer.append(fileAt: part.path) }
        let sha256 = try await writer.finish()
        _ = try await uploads.complete(id, size: writer.size, sha256: sha256)
        await uploads.end(id)
    }

    // MARK: Parts

    func offset(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.parameter("id")
        // It may be whole without being complete, if the service was killed in between.
        try await completeIfWhole(id)
        let (record, received) = try await uploads.part(id)
        var headers: HTTPFields = [.uploadOffset: "\(received)", .cacheControl: "no-store"]
        if let size = record.size { headers[.uploadLength] = "\(size)" } else { headers[.uploadDeferLength] = "1" }
        headers[.uploadMetadata] = record.tus?.metadata
        headers[.uploadConcat] = record.tus?.concatenation
        headers[.uploadExpires] = try await expiry(record.id)
        return Response(status: .ok, headers: headers)
    }

    func resume(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.parameter("id")
        guard request.headers[.contentType] == Self.bodyType else {
            throw APIError(
                .unsupportedMediaType,
                "The body has the wrong type",
                field: "Content-Type",
                value: request.headers[.contentType].map(JSONValue.string),
                allowed: Self.bodyType
            )
        }
        guard let offset = try Self.number(request, .uploadOffset) else {
            throw Self.refused("Upload-Offset", nil, "the number of bytes that were received")
        }
        let record = try await uploads.part(id).record
        guard record.tus?.concatenation?.hasPrefix("final") != true else {
            throw APIError(.forbidden, "A joined upload cannot be continued", value: .string(id))
        }
        if let size = try Self.number(request, .uploadLength) { try await uploads.setSize(size, of: id) }
        let reached = try await receive(request, id: id, at: offset)
        return Response(
            status: .noContent,
            headers: [.uploadOffset: "\(reached)", .uploadExpires: try await expiry(id)]
        )
    }

    func terminate(_ request: Request, _ context: ServiceContext) async throws -> Response {
        let id = try context.parameter("id")
        _ = try await uploads.part(id)
        try await uploads.delete(id)
        return Response(status: .noContent)
    }

    /// Appends the body. What was received before a connection broke off is kept, unless a checksum was announced: then
    /// all of the body counts, or nothing.
    private func receive(_ request: Request, id: String, at offset: Int) async throws -> Int {
        var checksum = try Checksum(request.headers[.uploadChecksum])
        let writer = try await uploads.begin(id)
        do {
            guard writer.size == offset else {
                throw APIError(
                    .conflict,
                    "The upload goes on at another place",
                    field: "Upload-Offset",
                    value: .integer(Int64(offset)),
                    allowed: "\(writer.size)"
                )
            }
            do {
                for try await buffer in request.body {
                    try await writer.append(buffer)
                    checksum?.update(buffer)
                }
                if let checksum, !checksum.isRight {
                    throw APIError(
                        .checksumMismatch,
                        "The body has another checksum",
                        field: "Upload-Checksum",
                        value: request.headers[.uploadChecksum].map(JSONValue.string)
                    )
                }
            } catch {
                if checksum != nil { try await writer.cut(to: offset) }
                throw error
            }
            _ = try await writer.finish()
        } catch {
            await uploads.end(id)
            throw error
        }
        await uploads.end(id)
        try await completeIfWhole(id)
        return writer.size
    }

    private func completeIfWhole(_ id: String) async throws {
        let (record, received) = try await uploads.part(id)
        guard !record.isComplete, record.size == received else { return }
        // If a request has it, that completes it.
        guard (try? await uploads.begin(id)) != nil else { return }
        do {
            let path = "\(service.data.upload(id))/data"
            let sha256 = try await FileWork.run { try ResultFiles.hash(path) }
            _ = try await uploads.complete(id, size: received, sha256: sha256)
        } catch {
            await uploads.end(id)
            throw error
        }
        await uploads.end(id)
    }

    private func expiry(_ id: String) async throws -> String {
        let seconds = try await uploads.part(id).record.expiresAt
        return HTTPDate.text(seconds)
    }

    private static func number(_ request: Request, _ name: HTTPField.Name) throws(APIError) -> Int? {
        guard let text = request.headers[name] else { return nil }
        guard let number = Int(text), number >= 0 else { throw refused(name.rawName, text, "a number of bytes") }
        return number
    }

    private static func refused(_ header: String, _ value: String?, _ allowed: String) -> APIError {
        APIError(
            .invalidParameter,
            "The header is not allowed",
            field: header,
            value: value.map(JSONValue.string),
            allowed: allowed
        )
    }
}

/// The checksum of a body, which is announced in `Upload-Checksum`.
private struct Checksum {
    private enum State {
        case sha1(Insecure.SHA1)
        case sha256(SHA256)
    }
    private var state: State
    private let expected: [UInt8]

    init?(_ header: String?) throws(APIError) {
        guard let header else { return nil }
        let words = header.split(separator: " ")
        guard words.count == 2, let bytes = Base64.bytes(String(words[1])), ["sha1", "sha256"].contains(words[0]) else {
            throw APIError(
                .invalidParameter,
                "The checksum is not supported",
                field: "Upload-Checksum",
                value: .string(header),
                allowed: "sha1 or sha256, a space, and the digest in Base64"
            )
        }
        state = words[0] == "sha1" ? .sha1(Insecure.SHA1()) : .sha256(SHA256())
        expected = bytes
    }

    mutating func update(_ buffer: ByteBuffer) {
        let bytes = Array(buffer.readableBytesView)
        switch state {
        case .sha1(var hash):
            hash.update(data: bytes)
            state = .sha1(hash)
        case .sha256(var hash):
            hash.update(data: bytes)
            state = .sha256(hash)
        }
    }

    var isRight: Bool {
        switch state {
        case .sha1(let hash): Array(hash.finalize()) == expected
        case .sha256(let hash): Array(hash.finalize()) == expected
        }
    }
}
