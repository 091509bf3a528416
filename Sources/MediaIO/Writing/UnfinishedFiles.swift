// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import Synchronization

/// The temporary files and folders that this process is writing.
enum UnfinishedFiles {
    private static let paths = Mutex<Set<String>>([])

    static func add(_ path: String) { paths.withLock { _ = $0.insert(path) } }

    static func remove(_ path: String) { paths.withLock { _ = $0.remove(path) } }

    /// Deletes all of them.
    static func deleteAll() {
        paths.withLock { paths in
            for path in paths { if unlink(path) != 0 { FileTree.delete(path) } }
            paths = []
        }
    }
}

/// Folders with everything in them.
package enum FileTree {
    /// Deletes a folder with its contents, as far as possible. Symbolic links are deleted and not followed.
    static func delete(_ path: String) {
        for name in names(in: path) ?? [] {
            let inner = "\(path)/\(name)"
            var status = stat()
            guard lstat(inner, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR { delete(inner) } else { unlink(inner) }
        }
        rmdir(path)
    }

    /// Returns the paths of all files in a folder, relative to it; `nil` if one of the folders cannot be read.
    static func files(in path: String) -> [String]? {
        guard let names = names(in: path) else { return nil }
        var found: [String] = []
        for name in names {
            var status = stat()
            guard lstat("\(path)/\(name)", &status) == 0 else { return nil }
            if status.st_mode & S_IFMT == S_IFDIR {
                guard let inner = files(in: "\(path)/\(name)") else { return nil }
                found += inner.map { "\(name)/\($0)" }
            } else {
                found.append(name)
            }
        }
        return found
    }

    /// Returns the names in a folder; `nil` if it cannot be read.
    package static func names(in path: String) -> [String]? {
        guard let folder = opendir(path) else { return nil }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: name.pointee)) {
                    String(cString: $0)
                }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
