// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Files with numbers from 1 on, or the one file of a path without a number.
///
/// All of them get their names at the end, in ``commit()``. Before it no earlier file is replaced, and without it no file is
/// left.
/// Used by one thread at a time.
final class NumberedFiles {
    /// The bytes that all files have.
    private(set) var byteCount: Int64 = 0

    private let pattern: FileNamePattern
    private let overwrite: Bool
    private let inputPath: String
    private let cancellation: Cancellation
    private let abandonment: Cancellation
    private var files: [OutputFile] = []

    /// Checks where the files will be.
    ///
    /// - Throws: `invalidArgument` if the folder does not exist, or if there is a file that may not be replaced.
    init(
        _ pattern: FileNamePattern,
        overwrite: Bool,
        inputPath: String,
        cancellation: Cancellation,
        abandonment: Cancellation
    ) throws(MediaError) {
        self.pattern = pattern
        self.overwrite = overwrite
        self.inputPath = inputPath
        self.cancellation = cancellation
        self.abandonment = abandonment
        _ = try target(1)
        let numbers = FileTree.names(in: pattern.folder)?.compactMap(pattern.number(ofName:))
        if let first = numbers?.min() { _ = try target(first) }
    }

    private func target(_ number: Int) throws(MediaError) -> OutputTarget {
        try OutputTarget(path: pattern.path(number), overwrite: overwrite, inputPaths: [inputPath])
    }

    /// Writes the next file.
    ///
    /// - Throws: `invalidArgument` or `inputOutput` with the path if it cannot be written.
    func write(_ bytes: UnsafeRawBufferPointer) throws(MediaError) {
        try write(bytes, to: try target(files.count + 1))
    }

    /// Writes a file of another name, which gets it with the numbered ones. No numbered file may follow.
    ///
    /// - Throws: As ``write(_:)``.
    func write(_ bytes: UnsafeRawBufferPointer, to path: String) throws(MediaError) {
        try write(bytes, to: try OutputTarget(path: path, overwrite: overwrite, inputPaths: [inputPath]))
    }

    private func write(_ bytes: UnsafeRawBufferPointer, to target: OutputTarget) throws(MediaError) {
        let file = try OutputFile(target, cancellation: cancellation, abandonment: abandonment)
        try file.write(bytes)
        byteCount += try file.complete()
        files.append(file)
    }

    /// Checks where a file of another name will be.
    ///
    /// - Throws: `invalidArgument`, as the initializer.
    func check(_ path: String) throws(MediaError) {
        _ = try OutputTarget(path: path, overwrite: overwrite, inputPaths: [inputPath])
    }

    /// Gives all files their names.
    ///
    /// - Throws: `inputOutput`; `invalidArgument` if another process created one of the files meanwhile. No file is left,
    ///   except those that may have replaced earlier ones before the error: of these, nothing else is left.
    func commit() throws(MediaError) {
        do throws(MediaError) {
            for file in files { try file.rename() }
        } catch {
            for file in files { if overwrite { file.discard() } else { file.revoke() } }
            throw error
        }
        if let folder = files.first?.folder { OutputFile.syncFolder(folder) }
        files = []
    }
}
