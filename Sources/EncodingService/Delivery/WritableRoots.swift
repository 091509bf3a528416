// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import HostSystem
internal import ServiceAPI
internal import Synchronization

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
        let names = PathNames.split(path)
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
                let isMade = mkdirat(folder.descriptor, names[count], 0o755) == 0
                guard isMade || errno == EEXIST else { throw TransferFailure.unusable(path, errno) }
                next = linux_open_beneath(top.descriptor, relative, 1)
                // Whatever the umask of the service is, others read what is delivered.
                if isMade, next >= 0 { fchmod(next, 0o755) }
            }
            guard next >= 0 else { throw TransferFailure.unusable(path, errno) }
            folder = OpenFolder(descriptor: next)
        }
        return folder
    }

    /// Removes a file of a folder, if it is there.
    func remove(_ name: String, in path: String) throws {
        let folder = try open(path)
        guard PathNames.isName(name) else { throw FileError("unlink", path, status: EINVAL) }
        guard unlinkat(folder.descriptor, name, 0) == 0 || errno == ENOENT else { throw FileError("unlink", path) }
    }
}

/// A folder that is open until the value is released.
final class OpenFolder: Sendable {
    let descriptor: Int32

    fileprivate init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// A path by which calls reach a name in the folder.
    func path(_ name: String) -> String { "/proc/self/fd/\(descriptor)/\(name)" }

    /// Gives a file its name, and puts the folder onto the disk.
    ///
    /// - Parameter ways: How a name is taken that must not be: the first way that the file system knows.
    /// - Returns: `false` if the name is taken.
    func rename(
        _ temporary: String,
        to name: String,
        replaces: Bool,
        ways: [WayToTakeName] = WayToTakeName.allCases
    ) throws(FileError) -> Bool {
        guard PathNames.isName(temporary), PathNames.isName(name) else {
            throw FileError("rename", name, status: EINVAL)
        }
        if replaces {
            guard Glibc.rename(path(temporary), path(name)) == 0 else { throw FileError("rename", name) }
        } else if try !take(name, by: temporary, ways) {
            return false
        }
        guard fsync(descriptor) == 0 else { throw FileError("fsync", name) }
        return true
    }

    private func take(_ name: String, by temporary: String, _ ways: [WayToTakeName]) throws(FileError) -> Bool {
        let (from, to) = (path(temporary), path(name))
        var status = ENOSYS
        for way in ways {
            status = way.take(from, to)
            if status == 0 { return true }
            if status == EEXIST { return false }
            guard [EPERM, EINVAL, ENOSYS, EOPNOTSUPP].contains(status) else { break }
        }
        throw FileError("rename", name, status: status)
    }
}

/// How a file gets a name that no other file has. Network file systems and those without hard links know only some.
enum WayToTakeName: CaseIterable, Sendable {
    /// In one step.
    case rename
    /// The temporary name stays, and is removed afterwards.
    case link
    /// An empty file takes the name first, so that nobody else does; it can be seen for a moment.
    case reservation

    /// - Returns: 0, or `errno`.
    fileprivate func take(_ from: String, _ to: String) -> Int32 {
        switch self {
        case .rename: return linux_rename_without_replacing(from, to) == 0 ? 0 : errno
        case .link: return Glibc.link(from, to) == 0 ? 0 : errno
        case .reservation:
            let file = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard file >= 0 else { return errno }
            close(file)
            guard Glibc.rename(from, to) != 0 else { return 0 }
            let status = errno
            unlink(to)
            return status
        }
    }
}

/// A file that is being written into a folder. Close it where waiting is allowed: network file systems write then.
final class NewFile: Sendable {
    private let descriptor: Mutex<Int32>
    private let name: String

    /// - Throws: `FileError`, also if there is something of this name.
    init(_ name: String, in folder: OpenFolder) throws(FileError) {
        self.name = name
        guard PathNames.isName(name) else { throw FileError("open", name, status: EINVAL) }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let opened = openat(folder.descriptor, name, flags, 0o600)
        guard opened >= 0 else { throw FileError("open", name) }
        descriptor = Mutex(opened)
    }

    deinit { close() }

    func write(_ bytes: [UInt8]) throws(FileError) {
        try descriptor.withLock { (descriptor) throws(FileError) in try Files.write(bytes, to: descriptor, name) }
    }

    /// Lets others read the file, whatever the umask of the service is, and puts it onto the disk.
    func finish() throws(FileError) {
        try descriptor.withLock { (descriptor) throws(FileError) in
            // File systems without modes refuse.
            guard fchmod(descriptor, 0o644) == 0 || [EPERM, ENOSYS, EOPNOTSUPP].contains(errno) else {
                throw FileError("fchmod", name)
            }
            guard fsync(descriptor) == 0 else { throw FileError("fsync", name) }
        }
    }

    func close() {
        descriptor.withLock { descriptor in
            if descriptor >= 0 { Glibc.close(descriptor) }
            descriptor = -1
        }
    }
}

/// Paths as the kernel reads them: by bytes. A slash with a combining character after it is one `Character`, which is no
/// `"/"`.
enum PathNames {
    /// The names of a path, without empty ones.
    static func split(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
    }

    /// The folder of a path, and the name in it.
    static func parent(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("", path) }
        return (String(path[..<slash]), String(Substring(path.utf8[path.utf8.index(after: slash)...])))
    }

    /// Whether a text names something in a folder, and nothing else.
    static func isName(_ text: String) -> Bool {
        !["", ".", ".."].contains(text) && !text.utf8.contains(UInt8(ascii: "/")) && !text.utf8.contains(0)
    }
}

extension TransferFailure {
    /// A folder cannot be opened or made.
    static func unusable(_ path: String, _ status: Int32) -> TransferFailure {
        let reason = status == EXDEV ? "it leads out of its media root" : String(cString: strerror(status))
        return TransferFailure(
            code: .inputOutput,
            message: "the folder \(path) cannot be used: \(reason)",
            isRetriable: ![EXDEV, ENOTDIR, EACCES, EPERM, EROFS, ELOOP, ENAMETOOLONG].contains(status)
        )
    }
}
