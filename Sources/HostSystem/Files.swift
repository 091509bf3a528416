// SPDX-License-Identifier: GPL-2.0-or-later

package import Glibc

/// A call on a file that has failed.
package struct FileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The C function.
    package var call: String
    /// The path.
    package var path: String
    /// Its `errno`.
    package var status: Int32

    package init(_ call: String, _ path: String, status: Int32 = errno) {
        self.call = call
        self.path = path
        self.status = status
    }

    package var description: String { "\(call) of \(path) failed: \(reason)" }
    /// What `errno` means.
    package var reason: String { String(cString: strerror(status)) }

    /// Whether the disk, or the user's share of it, is full.
    package var isLackOfSpace: Bool { status == ENOSPC || status == EDQUOT || status == EFBIG }
}

/// Files and folders, by the calls of the system.
package enum Files {
    /// Makes a folder and those above it.
    package static func makeFolder(_ path: String, mode: mode_t = 0o700) throws(FileError) {
        guard mkdir(path, mode) != 0, errno != EEXIST else { return }
        guard errno == ENOENT, let slash = lastSlash(of: path), slash != path.startIndex else {
            throw FileError("mkdir", path)
        }
        try makeFolder(String(path[..<slash]), mode: mode)
        guard mkdir(path, mode) != 0, errno != EEXIST else { return }
        throw FileError("mkdir", path)
    }

    /// Returns the names in a folder, sorted; none if it does not exist.
    package static func names(in path: String) throws(FileError) -> [String] {
        guard let folder = opendir(path) else {
            guard errno == ENOENT else { throw FileError("opendir", path) }
            return []
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Removes a file or a folder with all that it contains, without following links. Nothing there is no error.
    ///
    /// A process that is about to end may still write there, and may have taken rights from its folders.
    package static func remove(_ path: String) throws(FileError) {
        guard unlink(path) != 0, errno != ENOENT else { return }
        guard errno == EISDIR || errno == EPERM else { throw FileError("unlink", path) }
        var removal = FolderRemoval(path)
        try removal.run()
    }

    /// What lstat(2) tells.
    package struct Status: Sendable, Hashable {
        /// In bytes.
        package var size: Int
        package var isFile: Bool
        package var isFolder: Bool
        /// The number of names.
        package var linkCount: Int
        /// The number of the file in its file system.
        package var number: UInt64
        /// When its data was changed, in nanoseconds since 1970.
        package var modified: Int64

        fileprivate init(_ result: stat) {
            size = Int(result.st_size)
            isFile = result.st_mode & S_IFMT == S_IFREG
            isFolder = result.st_mode & S_IFMT == S_IFDIR
            linkCount = Int(result.st_nlink)
            number = UInt64(result.st_ino)
            modified = Int64(result.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(result.st_mtim.tv_nsec)
        }
    }

    /// Returns what is known of a path, without following links; `nil` if there is nothing.
    package static func status(_ path: String) throws(FileError) -> Status? {
        var result = stat()
        guard lstat(path, &result) == 0 else {
            guard errno == ENOENT || errno == ENOTDIR else { throw FileError("lstat", path) }
            return nil
        }
        return Status(result)
    }

    /// Returns what fstat(2) tells of an open file; `nil` if it fails.
    package static func status(of descriptor: Int32) -> Status? {
        var result = stat()
        return fstat(descriptor, &result) == 0 ? Status(result) : nil
    }

    /// The size of an open regular file; `nil` if it is something else.
    package static func size(of descriptor: Int32) -> Int? {
        status(of: descriptor).flatMap { $0.isFile ? $0.size : nil }
    }

    /// Whether an open file is a folder.
    package static func isFolder(_ descriptor: Int32) -> Bool { status(of: descriptor)?.isFolder ?? false }

    /// Puts a file or folder onto the disk.
    package static func sync(_ path: String) throws(FileError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError("open", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw FileError("fsync", path) }
    }

    /// Reads a small file.
    ///
    /// - Returns: `nil` if there is none.
    package static func read(_ path: String, atMost limit: Int = 16 << 20) throws(FileError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw FileError("open", path) }
            return nil
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count < limit {
            var status: Int32 = 0
            let chunk = [UInt8](unsafeUninitializedCapacity: min(limit - bytes.count, 1 << 16)) { buffer, count in
                let result = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                status = result < 0 ? errno : 0
                count = max(result, 0)
            }
            guard status == 0 else { throw FileError("read", path, status: status) }
            if chunk.isEmpty { return bytes }
            bytes += chunk
        }
        // A part of a file is not the file.
        throw FileError("read", path, status: EFBIG)
    }

    /// How the name ends of what ``replace(_:with:)`` writes, until it takes the place of the file.
    package static let unfinishedSuffix = ".new"

    /// Replaces a file in one step. The content is on the disk when the call returns.
    package static func replace(_ path: String, with bytes: [UInt8]) throws(FileError) {
        let temporary = path + unfinishedSuffix
        var isComplete = false
        defer { if !isComplete { unlink(temporary) } }
        try writeAndSync(bytes, temporary, O_TRUNC)
        guard rename(temporary, path) == 0 else { throw FileError("rename", temporary) }
        isComplete = true
        try sync(folder(of: path))
    }

    /// Creates a file in one step, unless there is one: of several processes, also on other machines, one creates it.
    package static func create(_ path: String, with bytes: [UInt8]) throws(FileError) {
        guard access(path, F_OK) != 0 else { return }
        let temporary = "\(path).\(UInt64.random(in: 0...UInt64.max))\(unfinishedSuffix)"
        defer { unlink(temporary) }
        try writeAndSync(bytes, temporary, O_EXCL)
        guard link(temporary, path) == 0 || errno == EEXIST else { throw FileError("link", path) }
        try sync(folder(of: path))
    }

    private static func writeAndSync(_ bytes: [UInt8], _ path: String, _ flag: Int32) throws(FileError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flag, 0o600)
        guard descriptor >= 0 else { throw FileError("open", path) }
        defer { close(descriptor) }
        try write(bytes, to: descriptor, path)
        guard fsync(descriptor) == 0 else { throw FileError("fsync", path) }
    }

    /// Writes everything.
    package static func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(FileError) {
        let error: FileError? = bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0 {
                    if errno == EINTR { continue }
                    return FileError("write", path)
                }
                rest = rest.dropFirst(count)
            }
            return nil
        }
        if let error { throw error }
    }

    /// The folder that a path is in.
    package static func folder(of path: String) -> String {
        lastSlash(of: path).map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// The name at the end of a path.
    package static func name(of path: String) -> String {
        lastSlash(of: path).map { String(path[path.utf8.index(after: $0)...]) } ?? path
    }

    /// By bytes: a slash and a combining character after it are one `Character`.
    private static func lastSlash(of path: String) -> String.Index? { path.utf8.lastIndex(of: UInt8(ascii: "/")) }

    /// The free bytes for this user and all bytes of the file system of a path.
    package static func space(_ path: String) throws(FileError) -> (free: Int64, total: Int64) {
        var result = statvfs()
        guard statvfs(path, &result) == 0 else { throw FileError("statvfs", path) }
        let size = Int64(result.f_frsize)
        return (Int64(clamping: result.f_bavail) * size, Int64(clamping: result.f_blocks) * size)
    }
}
