// SPDX-License-Identifier: GPL-2.0-or-later

internal import Crypto
internal import FoundationEssentials
internal import Glibc
internal import HostSystem
internal import JobStore
internal import NIOCore
internal import ServiceAPI
internal import Synchronization

/// The files that clients have sent.
///
/// Each is a folder with `data` and `info.json`. The length of `data` is how much was received, so a resumable upload goes
/// on after a crash where its file ends. Names are unique. All clients of a service share its uploads, as they share its jobs.
actor UploadStore {
    private let data: DataFolder
    private let limit: Int
    private let lifetime: Double
    private let reserve: Int64
    private var records: [String: UploadRecord] = [:]
    /// Uploads that a request writes at this moment.
    private var busy: Set<String> = []
    /// The upload that each job needs which has not ended.
    private var uses: [JobID: String] = [:]

    /// Reads what there is.
    init(data: DataFolder, settings: ServiceSettings) throws {
        self.data = data
        limit = settings.uploadLimit
        lifetime = settings.uploadLifetime
        reserve = Int64(settings.diskReserve)
        for id in try Files.names(in: data.uploads) {
            guard let record = try UploadRecord(ofID: id, in: data) else {
                // Its creation was interrupted: nobody knows its name.
                try Files.remove(data.upload(id))
                continue
            }
            guard record.isComplete || record.tus != nil else {
                // The request that wrote it ended with the service. Its client sends it again, under the same name.
                try Files.remove(data.upload(id))
                continue
            }
            records[id] = record
        }
    }

    // MARK: Reading

    /// Returns the uploads, the newest first.
    func list() throws -> [Upload] {
        try records.values.sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }.map(upload)
    }

    /// Returns an upload by its ID or name.
    ///
    /// - Throws: `APIError` `not-found`.
    func find(_ text: String) throws -> Upload { try upload(record(text)) }

    /// Returns the file of a complete upload.
    ///
    /// - Throws: `APIError` `not-found`, `invalid-state`.
    func file(_ text: String, field: String) throws -> (id: String, path: String) {
        let record = try record(text, field: field)
        guard record.isComplete else {
            throw APIError(
                .invalidState,
                "The upload \(record.name) is not complete",
                field: field,
                value: .string(text),
                remedies: ["Send the rest of it first."]
            )
        }
        return (record.id, "\(data.upload(record.id))/data")
    }

    private func record(_ text: String, field: String? = nil) throws -> UploadRecord {
        if let record = records[text] ?? records.values.first(where: { $0.name == text }) { return record }
        throw APIError(.notFound, "There is no such upload", field: field, value: .string(text))
    }

    private func upload(_ record: UploadRecord) throws -> Upload {
        var upload = Upload()
        upload.id = record.id
        upload.name = record.name
        upload.received = try Files.status("\(data.upload(record.id))/data")?.size ?? 0
        upload.size = record.size
        upload.complete = record.isComplete
        upload.sha256 = record.sha256
        upload.createdAt = Timestamp(seconds: record.createdAt)
        upload.expiresAt = Timestamp(seconds: record.expiresAt)
        return upload
    }

    // MARK: Writing

    /// Makes an upload.
    ///
    /// - Parameters:
    ///   - size: Its size in bytes; `nil` if it ends with the request that writes it.
    ///   - tus: What a client of tus has told, which may send the rest by later requests. Otherwise a restart of the
    ///     service discards an upload that is not complete.
    /// - Throws: `APIError` `conflict` if there is one of that name; `too-large`; `insufficient-storage`.
    func create(name: String, size: Int?, tus: UploadRecord.Tus? = nil) throws -> String {
        if let size, size > limit {
            throw APIError(
                .tooLarge,
                "The upload is too large",
                field: "Content-Length",
                value: .integer(Int64(size)),
                allowed: "at most \(limit) bytes"
            )
        }
        let now = Clock.now
        let id = Identifier.make(at: now)
        var name = name
        if let other = records.values.first(where: { $0.name == name }) {
            // A client of tus does not choose the name of a resource, and may send a file again.
            if tus != nil {
                name = Self.distinct(name, id)
            } else {
                throw APIError(
                    .conflict,
                    "There is an upload of this name",
                    field: "name",
                    value: .string(name),
                    remedies: ["Delete /v1/uploads/\(other.id) first, or choose another name."]
                )
            }
        }
        let space = try Files.space(data.path).free
        guard space - Int64(size ?? 0) >= reserve else {
            throw APIError(
                .insufficientStorage,
                "The disk of the service is full: \(space) bytes are free, of which \(reserve) are kept",
                remedies: ["Delete jobs and uploads that are not needed any more."]
            )
        }
        let record = UploadRecord(
            id: id,
            name: name,
            size: size,
            sha256: nil,
            createdAt: now,
            expiresAt: now + lifetime,
            tus: tus
        )
        try Files.makeFolder(data.upload(id))
        do {
            try Files.replace("\(data.upload(id))/data", with: [])
            try save(record)
        } catch {
            try? Files.remove(data.upload(id))
            throw error
        }
        return id
    }

    /// Takes an upload for a request that writes it. Nobody else can write or delete it until ``end(_:)``.
    ///
    /// - Throws: `APIError` `conflict` if another request writes it.
    func begin(_ id: String) throws -> UploadWriter {
        guard busy.insert(id).inserted else {
            throw APIError(.conflict, "Another request writes this upload", value: .string(id))
        }
        do {
            return try UploadWriter(path: "\(data.upload(id))/data", limit: records[id]?.size ?? limit)
        } catch {
            busy.remove(id)
            throw error
        }
    }

    private static func distinct(_ name: String, _ id: String) -> String {
        guard let dot = name.lastIndex(of: ".") else { return "\(name)-\(id.suffix(8))" }
        return "\(name[..<dot])-\(id.suffix(8))\(name[dot...])"
    }

    // MARK: In parts

    /// What is known of an upload in parts, and how much was received.
    ///
    /// - Throws: `APIError` `not-found`.
    func part(_ id: String) throws -> (record: UploadRecord, received: Int) {
        guard let record = records[id], record.tus != nil else { throw Self.missing(id) }
        return (record, try Files.status("\(data.upload(id))/data")?.size ?? 0)
    }

    /// Sets the size of an upload that was begun without.
    func setSize(_ size: Int, of id: String) throws {
        guard var record = records[id], record.tus != nil else { throw Self.missing(id) }
        let received = try part(id).received
        guard record.size == nil || record.size == size, (received...max(limit, received)).contains(size) else {
            throw APIError(
                size > limit ? .tooLarge : .invalidParameter,
                size > limit ? "The upload is too large" : "The upload has another size",
                field: "Upload-Length",
                value: .integer(Int64(size)),
                allowed: record.size.map { "\($0)" } ?? "\(received)...\(limit)"
            )
        }
        record.size = size
        try save(record)
    }

    private static func missing(_ id: String) -> APIError {
        APIError(.notFound, "There is no such upload", value: .string(id))
    }

    /// Gives an upload back.
    func end(_ id: String) { busy.remove(id) }

    /// Completes an upload.
    ///
    /// - Parameters:
    ///   - size: The number of bytes that were received.
    ///   - digest: Their SHA-256 in hexadecimal digits.
    func complete(_ id: String, size: Int, sha256 digest: String) throws -> Upload {
        guard var record = records[id] else { throw APIError(.notFound, "There is no such upload", value: .string(id)) }
        record.size = size
        record.sha256 = digest
        record.expiresAt = Clock.now + lifetime
        try save(record)
        return try upload(record)
    }

    /// Deletes an upload.
    ///
    /// - Throws: `APIError` `not-found`; `invalid-state` if a request writes it or a job needs it.
    func delete(_ text: String) throws {
        let record = try record(text)
        guard !busy.contains(record.id), !isUsed(record.id) else {
            throw APIError(
                .invalidState,
                busy.contains(record.id) ? "A request writes this upload" : "A job needs this upload",
                value: .string(text),
                remedies: ["Wait for its end, or cancel it."]
            )
        }
        try remove(record.id)
    }

    /// Removes an upload whatever its state, for example one that was broken off.
    func discard(_ id: String) {
        busy.remove(id)
        try? remove(id)
    }

    private func isUsed(_ id: String) -> Bool { uses.values.contains(id) }

    private func remove(_ id: String) throws {
        try Files.remove(data.upload(id))
        records[id] = nil
    }

    private func save(_ record: UploadRecord) throws {
        try Files.replace(data.uploadRecord(record.id), with: Array(try JSONEncoder().encode(record)))
        records[record.id] = record
    }

    // MARK: Use and expiry

    /// A job needs an upload until ``release(by:)``.
    func retain(_ id: String, by job: JobID) { uses[job] = id }

    /// A job has ended. The upload that it needed is kept for its lifetime from now on.
    func release(by job: JobID) {
        guard let id = uses.removeValue(forKey: job), var record = records[id] else { return }
        record.expiresAt = Clock.now + lifetime
        try? save(record)
    }

    /// Removes uploads whose time is over and that nobody uses.
    ///
    /// - Returns: How many there were.
    func removeExpired() -> Int {
        let now = Clock.now
        let used = Set(uses.values)
        let expired = records.values.filter { $0.expiresAt < now && !used.contains($0.id) && !busy.contains($0.id) }
        for record in expired { try? remove(record.id) }
        return expired.count
    }
}

/// What is known of an upload besides its bytes.
struct UploadRecord: Sendable, Hashable, Codable {
    var id: String
    var name: String
    /// The size that was announced or received.
    var size: Int?
    /// Set when it is complete.
    var sha256: String?
    /// Seconds since 1970.
    var createdAt: Double
    var expiresAt: Double
    /// Set for uploads in parts.
    var tus: Tus?

    /// What a client of tus has told.
    struct Tus: Sendable, Hashable, Codable {
        /// The header `Upload-Metadata`, which is sent back.
        var metadata: String?
        /// The header `Upload-Concat`.
        var concatenation: String?
    }

    var isComplete: Bool { sha256 != nil }
}

extension UploadRecord {
    /// Reads what is known of an upload; `nil` if it is not there.
    init?(ofID id: String, in data: DataFolder) throws(FileError) {
        guard let bytes = try Files.read(data.uploadRecord(id)),
            let record = try? JSONDecoder().decode(UploadRecord.self, from: Data(bytes)), record.id == id
        else { return nil }
        self = record
    }

    /// The file of an upload that a job has named before, on any node; `nil` if it is gone.
    static func file(ofID id: String, in data: DataFolder) throws(FileError) -> String? {
        guard let record = try UploadRecord(ofID: id, in: data), record.isComplete else { return nil }
        return "\(data.upload(id))/data"
    }
}

/// Appends to the file of an upload. One request has it at a time.
final class UploadWriter: Sendable {
    private let path: String
    private let descriptor: Int32
    private let limit: Int
    private let state: Mutex<(size: Int, hash: SHA256)>

    fileprivate init(path: String, limit: Int) throws {
        self.path = path
        self.limit = limit
        descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError("open", path) }
        let size = lseek(descriptor, 0, SEEK_END)
        state = Mutex((Int(size), SHA256()))
    }

    deinit { close(descriptor) }

    /// How much was received.
    var size: Int { state.withLock(\.size) }

    /// Appends bytes.
    ///
    /// - Throws: `APIError` `too-large`, `insufficient-storage`; `FileError`.
    func append(_ buffer: ByteBuffer) async throws {
        try await FileWork.run { [self] in
            try state.withLock { state in
                guard state.size + buffer.readableBytes <= limit else {
                    throw APIError(
                        .tooLarge,
                        "The upload is too large",
                        value: .integer(Int64(state.size + buffer.readableBytes)),
                        allowed: "at most \(limit) bytes"
                    )
                }
                let bytes = Array(buffer.readableBytesView)
                try Files.write(bytes, to: descriptor, path)
                state.hash.update(data: bytes)
                state.size += bytes.count
            }
        }
    }

    /// Removes what was appended beyond a size.
    func cut(to size: Int) async throws {
        try await FileWork.run { [self] in
            try state.withLock { state in
                guard ftruncate(descriptor, off_t(size)) == 0 else { throw FileError("ftruncate", path) }
                state.size = size
            }
        }
    }

    /// Appends another file.
    func append(fileAt other: String) async throws {
        let source = try await FileWork.run {
            let descriptor = open(other, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0, let size = Files.size(of: descriptor) else { throw FileError("open", other) }
            return OpenFile(descriptor: descriptor, size: size)
        }
        var position = 0
        while position < source.size {
            let buffer = try await source.read(at: position, count: min(1 << 20, source.size - position))
            guard buffer.readableBytes > 0 else { throw FileError("pread", other, status: EIO) }
            position += buffer.readableBytes
            try await append(buffer)
        }
    }

    /// Puts everything onto the disk.
    ///
    /// - Returns: The SHA-256 of what this writer has appended, in hexadecimal digits.
    func finish() async throws -> String {
        try await FileWork.run { [self] in
            try state.withLock { state in
                guard fsync(descriptor) == 0 else { throw FileError("fsync", path) }
                return Digest.text(state.hash.finalize())
            }
        }
    }
}
