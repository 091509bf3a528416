// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
package import MediaTypes
internal import Synchronization

/// A folder of an output that consists of many files, which appears under its name when it is complete.
///
/// Until ``commit()`` it has a hidden temporary name next to its final place. If it is released without a commit, it is
/// deleted.
package final class OutputFolder: Sendable {
    /// The path at which files are written until the commit.
    package let temporaryPath: String
    private let path: String
    private let parent: String
    private let overwrite: Bool
    private let fileExtensions: Set<String>
    /// Whether it has its temporary name.
    private let isOpen = Mutex(true)

    /// Creates the folder under its temporary name.
    ///
    /// - Parameters:
    ///   - path: The final path; its parent must exist.
    ///   - overwrite: Whether an existing folder may be replaced.
    ///   - fileExtensions: The extensions of the files that it will contain. A folder with other files is not replaced.
    /// - Throws: As ``validate(path:overwrite:fileExtensions:)``; `inputOutput` if it cannot be created.
    package init(path: String, overwrite: Bool, fileExtensions: Set<String>) throws(MediaError) {
        try Self.validate(path: path, overwrite: overwrite, fileExtensions: fileExtensions)
        self.fileExtensions = fileExtensions
        self.path = path
        self.overwrite = overwrite
        parent = Self.parent(of: path)
        for _ in 0..<100 {
            let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] }
            let candidate = "\(parent)/\(UnfinishedName.make(for: String(name ?? path[...])))"
            if mkdir(candidate, 0o777) == 0 {
                temporaryPath = candidate
                UnfinishedFiles.add(candidate)
                return
            }
            let error = errno
            guard error == EEXIST else {
                throw MediaError("no folder can be created for the output", path: parent, call: "mkdir", error: error)
            }
        }
        throw MediaError("no unused temporary name was found", path: parent, call: "mkdir", error: EEXIST)
    }

    /// Checks a path without creating anything.
    ///
    /// - Throws: `invalidArgument` if the parent is no folder, or if there is something that may not be replaced.
    package static func validate(
        path: String,
        overwrite: Bool,
        fileExtensions: Set<String>
    ) throws(MediaError) {
        let parent = parent(of: path)
        var status = stat()
        guard stat(parent, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw MediaError(
                .invalidArgument,
                "the output's folder does not exist",
                given: path,
                allowed: "a path in an existing folder"
            )
        }
        guard lstat(path, &status) == 0 else { return }
        guard overwrite else {
            throw MediaError(
                .invalidArgument,
                "the folder of the output exists",
                given: path,
                allowed: "a new name, or the option overwrite"
            )
        }
        let foreign = FileTree.files(in: path).map { files in
            files.first { name in
                let parts = name.split(separator: ".")
                return parts.count < 2 || !fileExtensions.contains(String(parts[parts.count - 1]))
            }
        }
        guard status.st_mode & S_IFMT == S_IFDIR, let foreign, foreign == nil else {
            let what = foreign.flatMap(\.self).map { "\(path)/\($0)" } ?? path
            throw MediaError(
                .invalidArgument,
                "the output would replace a folder that contains something else",
                given: what,
                allowed: "a folder with files \(fileExtensions.sorted().map { ".\($0)" }.joined(separator: ", "))"
            )
        }
    }

    deinit { discard() }

    /// Creates a folder in it.
    package func makeFolder(_ name: String) throws(MediaError) {
        guard mkdir("\(temporaryPath)/\(name)", 0o777) == 0 || errno == EEXIST else {
            throw MediaError(
                "a folder of the output cannot be created",
                path: "\(temporaryPath)/\(name)",
                call: "mkdir",
                error: errno
            )
        }
    }

    /// Writes a file in it, complete and on the disk.
    package func write(_ bytes: [UInt8], to name: String) throws(MediaError) {
        try WholeFile.write(bytes, to: "\(temporaryPath)/\(name)")
    }

    /// Deletes a file in it, if it exists.
    package func remove(_ name: String) { unlink("\(temporaryPath)/\(name)") }

    /// Gives it its final name, in one step also if it replaces an older one.
    ///
    /// - Throws: `invalidArgument` if something with this name was created meanwhile and may not be replaced;
    ///   `inputOutput`.
    package func commit() throws(MediaError) {
        if linux_rename_without_replacing(temporaryPath, path) == 0 { return finish() }
        var error = errno
        if error == EINVAL || error == ENOSYS {
            // The file system does not support RENAME_NOREPLACE. A folder replaces only an empty one.
            if rename(temporaryPath, path) == 0 { return finish() }
            error = errno
        }
        if overwrite, error == EEXIST || error == ENOTEMPTY {
            // Something else may have been put there meanwhile.
            try Self.validate(path: path, overwrite: true, fileExtensions: fileExtensions)
            if linux_exchange_names(temporaryPath, path) == 0 {
                FileTree.delete(temporaryPath)
                return finish()
            }
            error = errno
            if error == EINVAL || error == ENOSYS {
                FileTree.delete(path)
                if rename(temporaryPath, path) == 0 { return finish() }
                error = errno
            }
        }
        throw MediaError("the folder of the output cannot get its name", path: path, call: "renameat2", error: error)
    }

    private func finish() {
        UnfinishedFiles.remove(temporaryPath)
        isOpen.withLock { $0 = false }
        OutputFile.syncFolder(parent)
    }

    /// Deletes it, unless it has its final name.
    package func discard() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            isOpen = false
            FileTree.delete(temporaryPath)
            UnfinishedFiles.remove(temporaryPath)
        }
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
