// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// Removes a folder with all that strangers' programs may have made in it: names that are no text, folders that are
/// nested more deeply than a path can be long, folders without rights. Links are not followed.
///
/// Folders within folders are first moved to the top, so that two descriptors are enough for any depth.
struct FolderRemoval {
    private let path: String
    private var moved = 0

    init(_ path: String) { self.path = path }

    mutating func run() throws(FileError) {
        // A folder: that it is no link was found out before, and nobody else may write above it.
        chmod(path, 0o700)
        let top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard top >= 0 else {
            guard errno == ENOENT else { throw FileError("open", path) }
            return
        }
        defer { close(top) }
        repeat {
            for name in try names(in: top) { try remove(name, in: top) }
            // A process that is about to end may have added something.
        } while try !names(in: top).isEmpty
        guard rmdir(path) == 0 || errno == ENOENT else { throw FileError("rmdir", path) }
    }

    private mutating func remove(_ name: [CChar], in top: Int32) throws(FileError) {
        guard unlinkat(top, name, 0) != 0, errno != ENOENT else { return }
        guard errno == EISDIR || errno == EPERM else { throw FileError("unlinkat", path) }
        let folder = try openFolder(name, in: top)
        defer { close(folder) }
        for inner in try names(in: folder) {
            if unlinkat(folder, inner, 0) == 0 || unlinkat(folder, inner, AT_REMOVEDIR) == 0 { continue }
            // Only with rights of its own, a folder can be moved.
            close(try openFolder(inner, in: folder))
            try moveUp(inner, from: folder, to: top)
        }
        guard unlinkat(top, name, AT_REMOVEDIR) == 0 || errno == ENOTEMPTY else { throw FileError("unlinkat", path) }
    }

    private func openFolder(_ name: [CChar], in parent: Int32) throws(FileError) -> Int32 {
        fchmodat(parent, name, 0o700, 0)
        let folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { throw FileError("openat", path) }
        return folder
    }

    private mutating func moveUp(_ name: [CChar], from folder: Int32, to top: Int32) throws(FileError) {
        repeat { moved += 1 } while faccessat(top, "removed-\(moved)", F_OK, AT_SYMLINK_NOFOLLOW) == 0
        guard renameat(folder, name, top, "removed-\(moved)") == 0 else { throw FileError("renameat", path) }
    }

    /// The names in a folder, as the bytes that they are.
    private func names(in folder: Int32) throws(FileError) -> [[CChar]] {
        let copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = fdopendir(copy) else { throw FileError("fdopendir", path) }
        defer { closedir(stream) }
        var names: [[CChar]] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                bytes.prefix { $0 != 0 }.map(CChar.init(bitPattern:)) + [0]
            }
            if name != [46, 0], name != [46, 46, 0] { names.append(name) }
        }
        return names
    }
}
