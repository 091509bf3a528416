// SPDX-License-Identifier: GPL-2.0-or-later

internal import AsyncHTTPClient
internal import Crypto
internal import NIOCore
internal import NIOHTTP1
public import ServiceAPI
internal import Synchronization

/// How much of a file was sent or received.
public struct TransferProgress: Sendable, Hashable {
    /// The bytes so far.
    public var bytes: Int
    /// The bytes of the whole file.
    public var size: Int
}

/// Uploads.
extension ServiceClient {
    /// Sends a file. Its bytes are read once, while they are sent, and the digest of what the service has received is
    /// compared with theirs.
    ///
    /// - Parameters:
    ///   - path: A file on this machine.
    ///   - name: The name that the upload gets. By default, it is that of the file with some random letters, which no
    ///     other upload has.
    ///   - onProgress: Called now and then. The bytes begin at 0 again when the file is sent again after the connection
    ///     broke.
    /// - Throws: `damagedData` if the service has received other bytes; it then deletes them.
    public func upload(
        file path: String,
        as name: String? = nil,
        onProgress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws(ClientError) -> Upload {
        var uniqueName = name ?? Self.uniqueName(of: path)
        var outage = Outage(longTransport.policy)
        var wasReceived = false
        while true {
            let (file, size) = try await LocalFile.reading(path)
            let sent = SentFile(file: file, size: size, onProgress: onProgress)
            do throws(ClientError) {
                let upload = try await put(sent, size: size, as: uniqueName)
                guard upload.sha256 == sent.digest else {
                    try await deleteUpload(upload.id)
                    throw ClientError(
                        .damagedData,
                        "the service has received other bytes than those of \(path) (SHA-256 "
                            + "\(upload.sha256 ?? "unknown") instead of \(sent.digest))",
                        remedies: ["Send the file again."]
                    )
                }
                return upload
            } catch {
                // An earlier attempt may have arrived although its answer did not.
                if wasReceived, error.code == .conflict {
                    let existing = try await upload(uniqueName)
                    if try await isSame(existing, file, size) { return existing }
                    guard name == nil else { throw error }
                    uniqueName = Self.uniqueName(of: path)
                    continue
                }
                try await outage.pause(after: error)
                wasReceived = true
            }
        }
    }

    private func put(_ file: SentFile, size: Int, as name: String) async throws(ClientError) -> Upload {
        var exchange = Exchange(.PUT, ServicePath("uploads", name))
        exchange.headers.append((name: "Content-Type", value: "application/octet-stream"))
        // However long it takes: a connection without progress ends after the time of the transport.
        let response = try await longTransport.open(
            exchange,
            body: .stream(file, length: .known(Int64(size))),
            deadline: .distantFuture
        )
        return try Transport.decode(try await longTransport.finish(response).body)
    }

    private func isSame(_ upload: Upload, _ file: LocalFile, _ size: Int) async throws(ClientError) -> Bool {
        guard upload.complete, upload.size == size else { return false }
        return try await file.hash(size: size).text == upload.sha256
    }

    /// The uploads, the newest first.
    public func uploads() async throws(ClientError) -> [Upload] {
        let list: UploadList = try await transport.value(Exchange(.GET, ServicePath("uploads")))
        return list.uploads
    }

    /// An upload, by ID or name.
    public func upload(_ name: String) async throws(ClientError) -> Upload {
        try await transport.value(Exchange(.GET, ServicePath("uploads", name)))
    }

    /// Deletes an upload that no job needs, by ID or name.
    public func deleteUpload(_ name: String) async throws(ClientError) {
        try await delete(ServicePath("uploads", name))
    }

    /// The name of a file with random letters in front of its extension: `film-4k7d0a91.mov`.
    static func uniqueName(of path: String) -> String {
        let file = path.split(separator: "/").last.map(String.init) ?? "file"
        let random = makeKey().prefix(8)
        let dot = file.lastIndex(of: ".") ?? file.endIndex
        // Names have at most 200 characters and 255 bytes, and do not begin with a point.
        var stem = String(file[..<dot].unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F })
        while stem.utf8.count > 150 { stem.removeLast() }
        while stem.hasPrefix(".") { stem.removeFirst() }
        let ending = file[dot...].utf8.count <= 32 ? String(file[dot...]) : ""
        return "\(stem.isEmpty ? "file" : stem)-\(random)\(ending)"
    }
}

/// The bytes of a file, which are counted and hashed as they are read.
private final class SentFile: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private let file: LocalFile
    private let size: Int
    private let onProgress: @Sendable (TransferProgress) -> Void
    private let hash = Mutex(SHA256())

    init(file: LocalFile, size: Int, onProgress: @escaping @Sendable (TransferProgress) -> Void) {
        self.file = file
        self.size = size
        self.onProgress = onProgress
    }

    /// The digest of what was read.
    var digest: String { hash.withLock { $0.text } }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(sent: self) }

    struct AsyncIterator: AsyncIteratorProtocol {
        let sent: SentFile
        var position = 0

        mutating func next() async throws -> ByteBuffer? {
            if position == 0 { sent.hash.withLock { $0 = SHA256() } }
            let buffer = try await sent.file.read(at: position)
            guard buffer.readableBytes > 0 else { return nil }
            position += buffer.readableBytes
            sent.hash.withLock { hash in
                buffer.readableBytesView.withUnsafeBytes { hash.update(bufferPointer: $0) }
            }
            sent.onProgress(TransferProgress(bytes: Swift.min(position, sent.size), size: sent.size))
            return buffer
        }
    }
}
