// SPDX-License-Identifier: GPL-2.0-or-later

internal import HTTPTypes
internal import HostSystem
internal import Hummingbird
internal import NIOCore
internal import ServiceAPI

/// Answers with a file: whole, or a range of it (RFC 9110, clause 14).
enum FileResponse {
    /// Makes an answer.
    ///
    /// - Parameters:
    ///   - sha256: The digest of the file, in hexadecimal digits, if it never changes.
    ///   - tag: The entity tag of one that does.
    static func make(
        _ file: OpenFile,
        name: String,
        type: String,
        sha256: String?,
        tag: String? = nil,
        request: Request,
        isDownload: Bool
    ) throws(APIError) -> Response {
        var headers: HTTPFields = [.contentType: type, .acceptRanges: "bytes"]
        headers[.cacheControl] = "private, no-cache"
        let tag = sha256.map { "\"\($0)\"" } ?? tag
        headers[.eTag] = tag
        if let bytes = sha256.flatMap(Digest.bytes) { headers[.reprDigest] = "sha-256=:\(Base64.text(bytes)):" }
        if isDownload { headers[.contentDisposition] = "attachment; filename*=UTF-8''\(PercentEncoding.encode(name))" }
        // One that grows is never the one that the client has.
        if sha256 != nil, let tag, let known = request.headers[.ifNoneMatch], matches(known, tag) {
            return Response(status: .notModified, headers: headers)
        }
        let range = try range(request, size: file.size, tag: tag)
        let part = range ?? 0..<file.size
        if range != nil { headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(file.size)" }
        return Response(
            status: range == nil ? .ok : .partialContent,
            headers: headers,
            body: body(file, part)
        )
    }

    private static let chunk = 256 << 10

    private static func body(_ file: OpenFile, _ part: Range<Int>) -> ResponseBody {
        ResponseBody(contentLength: part.count) { writer in
            var position = part.lowerBound
            while position < part.upperBound {
                let buffer = try await file.read(at: position, count: min(chunk, part.upperBound - position))
                // A file that has become shorter: the connection breaks, so that the client sees it.
                guard buffer.readableBytes > 0 else { throw FileError("pread", "a result", status: 5) }
                position += buffer.readableBytes
                try await writer.write(buffer)
            }
            try await writer.finish(nil)
        }
    }

    /// The requested range; `nil` for the whole file, also if the request is for several ranges or an older file.
    private static func range(_ request: Request, size: Int, tag: String?) throws(APIError) -> Range<Int>? {
        guard let header = request.headers[.range], header.hasPrefix("bytes=") else { return nil }
        if let condition = request.headers[.ifRange], condition != tag { return nil }
        let parts = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, !header.contains(",") else { return nil }
        let (first, last) = (Int(parts[0]), Int(parts[1]))
        let range: Range<Int>?
        switch (first, last) {
        case (let first?, let last?) where first <= last && first < size: range = first..<min(last, size - 1) + 1
        case (let first?, nil) where parts[1].isEmpty && first < size: range = first..<size
        case (nil, let count?) where parts[0].isEmpty && count > 0 && size > 0: range = max(size - count, 0)..<size
        default: range = nil
        }
        guard let range else {
            throw APIError(
                .rangeNotSatisfiable,
                "The range is outside of the file",
                field: "Range",
                value: .string(header),
                allowed: "bytes 0 to \(size - 1)"
            )
        }
        return range
    }

    private static func matches(_ header: String, _ tag: String) -> Bool {
        header.split(separator: ",").contains { part in
            let text = part.drop { $0 == " " }
            return text == "*" || text == tag || text == "W/\(tag)"
        }
    }
}
