// SPDX-License-Identifier: GPL-2.0-or-later

internal import AsyncHTTPClient
internal import Crypto
internal import NIOCore
internal import NIOHTTP1
public import ServiceAPI

/// Results.
extension ServiceClient {
    /// Downloads a file of a job's results.
    ///
    /// - Parameters:
    ///   - job: The ID of the job.
    ///   - path: The path within the results, such as `film.mp4`.
    ///   - destination: A path on this machine.
    ///   - overwrites: Whether a file of this name is replaced.
    ///   - onProgress: Called now and then.
    /// - Throws: As ``download(_:of:to:overwrites:onProgress:)``; `invalidValue` if the job has no such file.
    public func download(
        job: String,
        path: String,
        to destination: String,
        overwrites: Bool = false,
        onProgress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws(ClientError) {
        let files = try await self.job(job).outputs.flatMap(\.files)
        guard let file = files.first(where: { $0.path == path }) else {
            let names = files.map(\.path).joined(separator: ", ")
            throw ClientError(
                .invalidValue,
                "the job has no such file (given \(path); allowed: \(names.isEmpty ? "none yet" : names))"
            )
        }
        try await download(file, of: job, to: destination, overwrites: overwrites, onProgress: onProgress)
    }

    /// Downloads a file of a job's results. The file gets its name when it is complete and has the right digest.
    ///
    /// Until then it has a temporary name in the same folder, which is made if it does not exist. What a broken
    /// connection, or an earlier call that failed, has left there is continued.
    ///
    /// - Parameters:
    ///   - file: A file of an output's `files`.
    ///   - job: The ID of the job.
    ///   - destination: A path on this machine.
    ///   - overwrites: Whether a file of this name is replaced.
    ///   - onProgress: Called now and then.
    /// - Throws: `file`, such as for a file that exists; `damagedData` if the bytes have another digest.
    public func download(
        _ file: ResultFile,
        of job: String,
        to destination: String,
        overwrites: Bool = false,
        onProgress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws(ClientError) {
        if !overwrites { try await LocalFile.checkAbsence(of: destination) }
        try await LocalFile.makeFolder(of: destination)
        let partial = try await LocalFile.writing(PartialDownload.name(of: file, at: destination))
        var download = PartialDownload(file: file, present: partial.size)
        download.hash = try await partial.file.hash(size: partial.size)
        var outage = Outage(longTransport.policy)
        while !download.isComplete {
            do throws(ClientError) {
                try await receive(&download, into: partial.file, of: job, onProgress, &outage)
                guard download.isComplete else {
                    throw ClientError(.interrupted, "the answer has ended early")
                }
            } catch {
                if error.kind == .file, download.present == 0 { await partial.file.remove() }
                try await outage.pause(after: error)
            }
        }
        guard download.hash.text == file.sha256 else {
            await partial.file.remove()
            throw ClientError(
                .damagedData,
                "what was downloaded differs from the digest of \(file.path) (SHA-256 \(download.hash.text) instead of "
                    + "\(file.sha256))",
                remedies: ["Download it again."]
            )
        }
        try await partial.file.publish(as: destination, overwrites: overwrites)
    }

    /// Receives what is missing, or as much of it as arrives.
    private func receive(
        _ download: inout PartialDownload,
        into partial: LocalFile,
        of job: String,
        _ onProgress: @Sendable (TransferProgress) -> Void,
        _ outage: inout Outage
    ) async throws(ClientError) {
        var exchange = Exchange(.GET, ServicePath("jobs", job, "files").appending(path: download.file.path))
        exchange.headers = [(name: "Accept", value: "*/*")] + download.headers
        let response = try await longTransport.open(exchange)
        if response.status != .rangeNotSatisfiable { try await longTransport.check(response) }
        switch download.decision(
            status: Int(response.status.code),
            contentRange: response.headers.first(name: "Content-Range")
        ) {
        case .append: break
        case .restart, .discard:
            try await partial.truncate()
            download.restart()
            if response.status == .rangeNotSatisfiable {
                throw ClientError(.interrupted, "what was downloaded before is not a part of the file")
            }
        case .refuse:
            throw ClientError(.unexpectedAnswer, "the answer is another part of the file than the one asked for")
        }
        var body = response.body.makeAsyncIterator()
        while true {
            let piece: ByteBuffer?
            do { piece = try await body.next() } catch { throw longTransport.failure(error) }
            guard let piece else { return }
            guard download.present + piece.readableBytes <= download.file.size else {
                throw ClientError(
                    .damagedData,
                    "the answer is longer than the file, which has \(download.file.size) bytes"
                )
            }
            try await partial.write(piece, at: download.present)
            piece.readableBytesView.withUnsafeBytes { download.hash.update(bufferPointer: $0) }
            download.present += piece.readableBytes
            outage.end()
            onProgress(TransferProgress(bytes: download.present, size: download.file.size))
        }
    }
}

/// What to do with the answer to a request for the rest of a file.
enum ResumeDecision: Sendable, Hashable {
    /// It is the rest.
    case append
    /// It is the whole file: what is there is replaced.
    case restart
    /// What is there does not belong to the file: it must be asked for from the beginning.
    case discard
    /// It is something else.
    case refuse
}

/// A file of which a part is there.
struct PartialDownload: Sendable {
    let file: ResultFile
    /// The bytes that are there.
    var present: Int
    /// The digest of these bytes.
    var hash = SHA256()

    /// More bytes than the file has are not those of the file: they are replaced, too.
    var isComplete: Bool { present == file.size }

    mutating func restart() {
        present = 0
        hash = SHA256()
    }

    /// The header fields of the request: the rest, provided that it is still the same file.
    var headers: [(name: String, value: String)] {
        guard present > 0 else { return [] }
        return [(name: "Range", value: "bytes=\(present)-"), (name: "If-Range", value: "\"\(file.sha256)\"")]
    }

    /// - Parameter contentRange: The header `Content-Range` of the answer.
    func decision(status: Int, contentRange: String?) -> ResumeDecision {
        switch status {
        case 200: .restart
        case 206: contentRange == "bytes \(present)-\(file.size - 1)/\(file.size)" ? .append : .refuse
        case 416: present > 0 ? .discard : .refuse
        default: .refuse
        }
    }

    /// The temporary name of a file, which says of which bytes it is a part, so that no other ones are continued.
    static func name(of file: ResultFile, at destination: String) -> String {
        let slash = destination.lastIndex(of: "/").map { destination.index(after: $0) } ?? destination.startIndex
        var name = String(destination[slash...])
        while name.utf8.count > 200 { name.removeLast() }
        return "\(destination[..<slash]).\(name).\(file.sha256.prefix(16)).part"
    }
}
