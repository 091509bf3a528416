// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Crypto
internal import Glibc
internal import HostSystem
internal import NIOCore
internal import ServiceAPI

/// Media roots into which results may be written. Neither `..` nor links lead out of them.
struct WritableRoots: Sendable {
    /// Folders by the names that requests use.
    let roots: [String: String]

    /// Checks that a request may write to a folder.
    ///
    /// - Throws: `APIError` `not-found`.
    func check(_ path: String, field: String) throws(APIError) {
        guard roots[Self.parts(path).root] == nil else { return }
        let names = roots.keys.sorted().map { "\($0)/…" }.joined(separator: ", ")
        throw APIError(
            .notFound,
            "There is no such media root, or it is not writable",
            field: field,
            value: .string(path),
            allowed: names.isEmpty ? "no path: no media root is writable" : names
        )
    }

    private static func parts(_ path: String) -> (root: String, names: [String]) {
        let names = path.split(separator: "/").map(String.init)
        return (names.first ?? "", Array(names.dropFirst()))
    }

    /// Opens a folder, and makes it with those above it if they are not there.
    ///
    /// - Parameter path: `ROOT/relative/path`.
    func open(_ path: String) throws -> OpenFolder {
        let (root, names) = Self.parts(path)
        guard let base = roots[root] else { throw FileError("open", path, status: ENOENT) }
        let descriptor = Glibc.open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw TransferFailure.unusable(path, errno) }
        let top = OpenFolder(descriptor: descriptor)
        var folder = top
        for count in names.indices {
            let relative = names[...count].joined(separator: "/")
            var next = linux_open_beneath(top.descriptor, relative, 1)
            if next < 0, errno == ENOENT {
                guard mkdirat(folder.descriptor, names[count], 0o777) == 0 || errno == EEXIST else {
                    throw TransferFailure.unusable(path, errno)
                }
                next = linux_open_beneath(top.descriptor, relative, 1)
            }
            guard next >= 0 else { throw TransferFailure.unusable(path, errno) }
            folder = OpenFolder(descriptor: next)
        }
        return folder
    }

    /// Removes a file of a folder, if it is there.
    func remove(_ name: String, in path: String) throws {
        let folder = try open(path)
        guard unlinkat(folder.descriptor, name, 0) == 0 || errno == ENOENT else { throw FileError("unlink", path) }
    }
}

/// A folder that is open until the value is released.
final class OpenFolder: Sendable {
    let descriptor: Int32

    fileprivate init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// A path by which calls reach a name in the folder.
    fileprivate func path(_ name: String) -> String { "/proc/self/fd/\(descriptor)/\(name)" }
}

extension TransferFailure {
    /// A folder cannot be opened or made.
    fileprivate static func unusable(_ path: String, _ status: Int32) -> TransferFailure {
        let reason = status == EXDEV ? "it leads out of its media root" : String(cString: strerror(status))
        return TransferFailure(
            code: .inputOutput,
            message: "the folder \(path) cannot be used: \(reason)",
            isRetriable: ![EXDEV, ENOTDIR, EACCES, EPERM, EROFS, ELOOP, ENAMETOOLONG].contains(status)
        )
    }
}

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
        let slash = location.lastIndex(of: "/") ?? location.startIndex
        let (folderPath, name) = (String(location[..<slash]), String(location[location.index(after: slash)...]))
        let folder = try await FileWork.run { [roots] in try roots.open(folderPath) }
        if try await isThere(file, name, in: folder, location, overwrites: overwrites) { return onProgress(file.size) }
        let temporary = ".\(Identifier.make(at: Clock.now)).partial"
        let record = try await transfers.add(.file(folder: folderPath, name: temporary))
        do {
            try await copy(content, to: folder, temporary, file, onProgress)
            let isDone = try await FileWork.run {
                try Self.rename(temporary, to: name, in: folder, replaces: overwrites)
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
        let isSame = try await FileWork.run { () throws -> Bool? in
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
        let target = openat(folder.descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
        guard target >= 0 else { throw FileError("open", location(of: file.path)) }
        defer { close(target) }
        var hash = SHA256()
        var offset = 0
        while offset < file.size {
            try Task.checkCancellation()
            let bytes = Array(try await content.read(at: offset, count: Self.bufferSize).readableBytesView)
            guard !bytes.isEmpty else { break }
            hash.update(data: bytes)
            try await FileWork.run { try Files.write(bytes, to: target, name) }
            offset += bytes.count
            onProgress(offset)
        }
        guard Digest.text(hash.finalize()) == file.sha256 else { throw TransferFailure.changed(file.path) }
        try await FileWork.run { guard fsync(target) == 0 else { throw FileError("fsync", name) } }
    }

    /// Gives a file its name, and puts the folder onto the disk.
    ///
    /// - Returns: `false` if the name is taken.
    private static func rename(
        _ temporary: String,
        to name: String,
        in folder: OpenFolder,
        replaces: Bool
    ) throws(FileError) -> Bool {
        let (from, to) = (folder.path(temporary), folder.path(name))
        if replaces {
            guard Glibc.rename(from, to) == 0 else { throw FileError("rename", name) }
        } else if linux_rename_without_replacing(from, to) != 0 {
            if errno == EEXIST { return false }
            // Network file systems have no such rename; the temporary name is removed afterwards.
            guard [EINVAL, ENOSYS, EOPNOTSUPP].contains(errno) else { throw FileError("renameat2", name) }
            guard link(from, to) == 0 else {
                if errno == EEXIST { return false }
                throw FileError("link", name)
            }
        }
        guard fsync(folder.descriptor) == 0 else { throw FileError("fsync", name) }
        return true
    }
}
