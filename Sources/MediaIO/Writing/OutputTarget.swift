// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// The destination of an output, after every check that can be made in advance.
enum OutputTarget: Equatable {
    /// The standard output of the process.
    case standardOutput
    /// A device or FIFO, written directly.
    case special(path: String)
    /// A regular file, which appears under its name only when complete.
    case file(RegularFile)

    /// The regular file; `nil` for all other destinations.
    var file: RegularFile? {
        if case .file(let file) = self { file } else { nil }
    }

    /// A regular file to be created.
    struct RegularFile: Equatable {
        /// The path as the user specified it, for messages.
        var givenPath: String
        /// The absolute path of the directory, without symbolic links.
        var folder: String
        /// The file name in the folder.
        var name: String
        /// Whether a file with this name may be replaced.
        var overwrite: Bool
        /// The permission bits of the file to be replaced; `nil` if there is none.
        var replacedMode: mode_t?

        /// The absolute path.
        var path: String { folder == "/" ? "/\(name)" : "\(folder)/\(name)" }
    }

    /// Checks a path.
    ///
    /// Symbolic links are followed: the target is replaced, the link stays.
    ///
    /// - Parameters:
    ///   - path: The path as the user specified it; `-` is standard output.
    ///   - overwrite: Whether an existing regular file may be replaced.
    ///   - inputPaths: The files that are being read, which the output must not be.
    /// - Throws: `invalidArgument` or `inputOutput`, with the given and the allowed value.
    init(path: String, overwrite: Bool, inputPaths: [String]) throws(MediaError) {
        if path == ContainerFormat.standardOutput {
            guard isatty(STDOUT_FILENO) == 0 else {
                throw MediaError(
                    .invalidArgument,
                    "the output is a terminal",
                    given: path,
                    allowed: "a pipe or a file as standard output"
                )
            }
            var status = stat()
            if fstat(STDOUT_FILENO, &status) == 0 {
                try Self.checkIsNotInput(status, path: path, inputPaths: inputPaths)
            }
            self = .standardOutput
            return
        }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            let reason = "the output path is empty or contains a zero byte"
            throw MediaError(.invalidArgument, reason, given: path, allowed: "the path of a file")
        }
        var status = stat()
        guard stat(path, &status) == 0 else {
            try self.init(newPath: path, overwrite: overwrite, error: errno)
            return
        }
        try Self.checkIsNotInput(status, path: path, inputPaths: inputPaths)
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            try self.init(existing: path, mode: status.st_mode & 0o777, overwrite: overwrite)
        case S_IFCHR, S_IFIFO:
            self = .special(path: path)
        case S_IFDIR:
            throw MediaError(.invalidArgument, "the output is a folder", given: path, allowed: "the path of a file")
        default:
            throw MediaError(
                .invalidArgument,
                "the output is neither a file nor a character device nor a FIFO",
                given: path,
                allowed: "the path of a file"
            )
        }
    }

    private init(newPath path: String, overwrite: Bool, error: Int32) throws(MediaError) {
        guard error == ENOENT else {
            throw MediaError("the output cannot be written", path: path, call: "stat", error: error)
        }
        var status = stat()
        guard lstat(path, &status) != 0 else {
            throw MediaError(
                .invalidArgument,
                "the output is a symbolic link to a file that does not exist",
                given: path,
                allowed: "the path of a file"
            )
        }
        self = .file(try Self.place(path, givenPath: path, overwrite: overwrite, replacedMode: nil))
    }

    private init(existing path: String, mode: mode_t, overwrite: Bool) throws(MediaError) {
        guard overwrite else {
            throw MediaError(
                .invalidArgument,
                "the output already exists",
                given: path,
                allowed: "a new name, or the option overwrite"
            )
        }
        guard access(path, W_OK) == 0 else {
            throw MediaError("the output cannot be replaced", path: path, call: "access", error: errno)
        }
        guard let resolved = realpath(path, nil) else {
            throw MediaError("the output cannot be replaced", path: path, call: "realpath", error: errno)
        }
        defer { free(resolved) }
        let target = String(cString: resolved)
        self = .file(try Self.place(target, givenPath: path, overwrite: overwrite, replacedMode: mode))
    }

    private static func place(
        _ path: String,
        givenPath: String,
        overwrite: Bool,
        replacedMode: mode_t?
    ) throws(MediaError) -> RegularFile {
        // By bytes: a slash and a combining character after it are one `Character`.
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        guard !name.isEmpty else {
            throw MediaError(.invalidArgument, "the output is a folder", given: path, allowed: "the path of a file")
        }
        let folder = slash.map { String(path[..<path.utf8.index(after: $0)]) } ?? "."
        guard let resolved = realpath(folder, nil) else {
            let error = errno
            guard error == ENOENT || error == ENOTDIR else {
                throw MediaError("the output's folder cannot be used", path: folder, call: "realpath", error: error)
            }
            throw MediaError(
                .invalidArgument,
                "the output's folder does not exist",
                given: givenPath,
                allowed: "a path in an existing folder"
            )
        }
        defer { free(resolved) }
        return RegularFile(
            givenPath: givenPath,
            folder: String(cString: resolved),
            name: name,
            overwrite: overwrite,
            replacedMode: replacedMode
        )
    }

    private static func localPath(_ url: String) -> String {
        let prefix = ["file://", "file:"].first { url.hasPrefix($0) } ?? ""
        return String(url.dropFirst(prefix.count))
    }

    private static func checkIsNotInput(_ output: stat, path: String, inputPaths: [String]) throws(MediaError) {
        for inputPath in inputPaths {
            // As in libavformat, the rest is a literal path.
            let place = inputPath.hasPrefix("file:") ? localPath(inputPath) : inputPath
            var input = stat()
            guard stat(place, &input) == 0, (input.st_mode & S_IFMT) == S_IFREG,
                (input.st_dev, input.st_ino) == (output.st_dev, output.st_ino)
            else { continue }
            throw MediaError(
                .invalidArgument,
                "the output is the same file as the input",
                given: path,
                allowed: "a file other than \(inputPath)"
            )
        }
    }
}
