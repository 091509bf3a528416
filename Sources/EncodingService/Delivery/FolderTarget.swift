// SPDX-License-Identifier: GPL-2.0-or-later

internal import Crypto
internal import Glibc
internal import HostSystem
internal import NIOCore
internal import ServiceAPI

/// A folder of a media root. Each file appears under its name when it is complete.
struct FolderTarget: DeliveryTarget {
    let roots: WritableRoots
    /// `ROOT/relative/path`.
    let path: String
    let transfers: PendingTransfers

    private static let bufferSize = 1 << 20

    func location(of file: String) -> String { "\(path)/\(file)" }

    func put(
        _ file: ResultFile,
        from content: OpenFile,
        overwrites: Bool,
        onProgress: @escaping @Sendable (Int) -> Void
    ) async throws {
        let location = location(of: file.path)
        let (folderPath, name) = PathNames.parent(location)
        let folder = try await WaitingThreads.mediaRoots.run { [roots] in try roots.open(folderPath) }
        if try await isThere(file, name, in: folder, location, overwrites: overwrites) { return onProgress(file.size) }
        let temporary = ".\(Identifier.make(at: Clock.now)).partial"
        let record = try await transfers.add(.file(folder: folderPath, name: temporary))
        do {
            try await copy(content, to: folder, temporary, file, onProgress)
            let isDone = try await WaitingThreads.mediaRoots.run {
                try folder.rename(temporary, to: name, replaces: overwrites)
            }
            // Somebody else was faster.
            if !isDone, try await !isThere(file, name, in: folder, location, overwrites: overwrites) {
                throw TransferFailure.conflict(location)
            }
        } catch {
            await Task { [transfers] in await transfers.settle(record) }.value
            // A full disk there is not one of the service.
            if let error = error as? FileError { throw TransferFailure.unusable(folderPath, error.status) }
            throw error
        }
        await transfers.settle(record)
    }

    /// Whether the very file is there.
    private func isThere(
        _ file: ResultFile,
        _ name: String,
        in folder: OpenFolder,
        _ location: String,
        overwrites: Bool
    ) async throws -> Bool {
        let isSame = try await WaitingThreads.mediaRoots.run { () throws -> Bool? in
            guard let status = try Files.status(folder.path(name)) else { return nil }
            guard status.isFile else { return false }
            return try status.size == file.size && ResultFiles.hash(folder.path(name)) == file.sha256
        }
        guard let isSame else { return false }
        guard isSame || overwrites else { throw TransferFailure.conflict(location) }
        return isSame
    }

    private func copy(
        _ content: OpenFile,
        to folder: OpenFolder,
        _ name: String,
        _ file: ResultFile,
        _ onProgress: @escaping @Sendable (Int) -> Void
    ) async throws {
        let threads = WaitingThreads.mediaRoots
        let target = try await threads.run { try NewFile(name, in: folder) }
        do { try await write(content, to: target, file, onProgress) } catch {
            try? await threads.run { target.close() }
            throw error
        }
        try await threads.run {
            defer { target.close() }
            try target.finish()
        }
    }

    private func write(
        _ content: OpenFile,
        to target: NewFile,
        _ file: ResultFile,
        _ onProgress: @escaping @Sendable (Int) -> Void
    ) async throws {
        var hash = SHA256()
        var offset = 0
        while offset < file.size {
            try Task.checkCancellation()
            let bytes = Array(try await content.read(at: offset, count: Self.bufferSize).readableBytesView)
            guard !bytes.isEmpty else { break }
            hash.update(data: bytes)
            try await WaitingThreads.mediaRoots.run { try target.write(bytes) }
            offset += bytes.count
            onProgress(offset)
        }
        guard Digest.text(hash.finalize()) == file.sha256 else { throw TransferFailure.changed(file.path) }
    }
}
