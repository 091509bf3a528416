// SPDX-License-Identifier: GPL-2.0-or-later

internal import AsyncHTTPClient
internal import Crypto
internal import NIOCore
internal import NIOHTTP1
internal import ServiceAPI

/// A place to which results are copied.
protocol DeliveryTarget: Sendable {
    /// Where a result will be, such as `s3://bucket/key`.
    func location(of path: String) -> String

    /// Copies a result, unless the same content is there already.
    ///
    /// - Parameters:
    ///   - onProgress: Is told the bytes that are copied.
    /// - Throws: `TransferFailure` with `destination-conflict` if there is another file.
    func put(
        _ file: ResultFile,
        from content: OpenFile,
        overwrites: Bool,
        onProgress: @escaping @Sendable (Int) -> Void
    ) async throws
}

extension TransferFailure {
    static func conflict(_ location: String) -> TransferFailure {
        TransferFailure(code: .destinationConflict, message: "there is another file at \(location)")
    }

    /// A result on the disk of the service is not what was published.
    static func changed(_ path: String) -> TransferFailure {
        TransferFailure(code: .inputOutput, message: "the result \(path) has changed since it was published")
    }
}

/// A part of a bucket. Large files go in parts, which become an object in one step.
struct S3Target: DeliveryTarget {
    let store: ObjectStore
    /// The operator's name of the store, as the request has it.
    let folder: S3Folder
    let transfers: PendingTransfers

    /// Files up to this size, and parts of larger ones, are sent in one request, in bytes.
    static let partSize = 8 << 20
    /// The largest number of parts is 10,000.
    static let mostParts = 9_000
    static let largestPart = 256 << 20
    private static let hashField = "x-amz-meta-sha256"

    func location(of path: String) -> String { "s3://\(folder.bucket)/\(folder.key(of: path))" }

    /// The size of the parts of a file.
    ///
    /// - Throws: `TransferFailure` for a file that has too many.
    static func partSize(ofFile size: Int) throws(TransferFailure) -> Int {
        let needed = (size + mostParts - 1) / mostParts
        guard needed <= largestPart else {
            throw .storage("the file has \(size) bytes (allowed: at most \(largestPart * mostParts))")
        }
        return max(partSize, needed)
    }

    func put(
        _ file: ResultFile,
        from content: OpenFile,
        overwrites: Bool,
        onProgress: @escaping @Sendable (Int) -> Void
    ) async throws {
        try await store.withClient { client in
            let upload = Upload(target: self, client: client, file: file, content: content)
            if try await upload.isThere(overwrites: overwrites) { return onProgress(file.size) }
            if file.size <= Self.partSize {
                try await upload.sendWhole(overwrites: overwrites)
                onProgress(file.size)
            } else {
                try await upload.sendParts(overwrites: overwrites, onProgress: onProgress)
            }
        }
    }

    /// One file on its way.
    private struct Upload {
        let target: S3Target
        let client: HTTPClient
        let file: ResultFile
        let content: OpenFile

        private var key: String { target.folder.key(of: file.path) }
        private var location: String { target.location(of: file.path) }

        private func send(
            _ method: HTTPMethod,
            query: [String: String] = [:],
            fields: [String: String] = [:],
            body: [UInt8] = []
        ) async throws -> ObjectStore.Answer {
            try await target.store.send(
                method,
                target.folder.bucket,
                key,
                query: query,
                fields: fields,
                body: body,
                by: client
            )
        }

        /// Whether the store has the very file.
        ///
        /// - Throws: `TransferFailure` with `destination-conflict` if it has another one that must not be replaced.
        func isThere(overwrites: Bool) async throws -> Bool {
            let answer = try await send(.HEAD)
            // Without the right to list, a store says 403 of what is not there.
            guard answer.status == 200 else { return false }
            let isSame =
                answer.fields[S3Target.hashField] == file.sha256 && answer.fields["content-length"] == "\(file.size)"
            guard isSame || overwrites else { throw TransferFailure.conflict(location) }
            return isSame
        }

        func sendWhole(overwrites: Bool) async throws {
            let body = try await read(at: 0, count: file.size)
            try checkHash(SHA256.hash(data: body))
            var fields = sumFields(body)
            fields["content-type"] = file.type
            fields[S3Target.hashField] = file.sha256
            try await finish(overwrites: overwrites) { condition in
                try await send(.PUT, fields: fields.merging(condition) { $1 }, body: body)
            }
        }

        func sendParts(overwrites: Bool, onProgress: @escaping @Sendable (Int) -> Void) async throws {
            let partSize = try S3Target.partSize(ofFile: file.size)
            let begun = try await send(
                .POST,
                query: ["uploads": ""],
                fields: ["content-type": file.type, S3Target.hashField: file.sha256]
            )
            guard begun.status == 200, let id = XMLText.element("UploadId", in: begun.body) else {
                throw TransferFailure.storage(begun, to: "to write \(location)")
            }
            // Known before the first part is sent: parts that are left over cost money.
            let pending = PendingTransfer.parts(
                store: target.folder.store,
                bucket: target.folder.bucket,
                key: key,
                upload: id
            )
            let record = try await target.transfers.add(pending)
            do {
                var tags: [String] = []
                var hash = SHA256()
                for offset in stride(from: 0, to: file.size, by: partSize) {
                    let body = try await read(at: offset, count: min(partSize, file.size - offset))
                    hash.update(data: body)
                    let query = ["partNumber": "\(tags.count + 1)", "uploadId": id]
                    let answer = try await send(.PUT, query: query, fields: sumFields(body), body: body)
                    guard answer.status == 200, let tag = answer.fields["etag"] else {
                        throw TransferFailure.storage(answer, to: "to write \(location)")
                    }
                    tags.append(tag)
                    onProgress(min(offset + partSize, file.size))
                }
                try checkHash(hash.finalize())
                let parts = tags.enumerated().map { index, tag in
                    "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(XMLText.escape(tag))</ETag></Part>"
                }
                let body = Array("<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>".utf8)
                try await finish(overwrites: overwrites) { condition in
                    try await send(.POST, query: ["uploadId": id], fields: condition, body: body)
                }
            } catch {
                // Also of a cancelled task.
                await Task { [target] in await target.transfers.settle(record) }.value
                throw error
            }
            await target.transfers.forget(record)
        }

        /// Sends the request after which the file is there, on the condition that no other one is.
        private func finish(
            overwrites: Bool,
            _ send: ([String: String]) async throws -> ObjectStore.Answer
        ) async throws {
            var answer = try await send(overwrites ? [:] : ["if-none-match": "*"])
            // The store does not know conditions. It was asked before whether there is another file.
            if answer.status == 501, !overwrites { answer = try await send([:]) }
            if answer.status == 200, answer.errorCode == nil { return }
            // A repeated request, or another attempt, may have done it.
            if [404, 409, 412].contains(answer.status), try await isThere(overwrites: overwrites) { return }
            throw TransferFailure.storage(answer, to: "to write \(location)")
        }

        private func read(at offset: Int, count: Int) async throws -> [UInt8] {
            let bytes = Array(try await content.read(at: offset, count: count).readableBytesView)
            guard bytes.count == count else { throw TransferFailure.changed(file.path) }
            return bytes
        }

        /// What is sent must be what was verified.
        private func checkHash(_ digest: SHA256.Digest) throws(TransferFailure) {
            guard Digest.text(digest) == file.sha256 else { throw TransferFailure.changed(file.path) }
        }

        private func sumFields(_ body: [UInt8]) -> [String: String] {
            ["content-md5": Base64.text(Array(Insecure.MD5.hash(data: body)))]
        }
    }
}
