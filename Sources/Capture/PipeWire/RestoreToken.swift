// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import MediaTypes

/// The file with the portal's word for a permission that was given before. Each word is used once.
///
/// Whoever has the word captures the same screen without a question, so only the user can read the file.
struct RestoreToken {
    let path: String

    private static let longest = 4096

    /// Returns the usual path: `vatoolbox/screen-cast` in `XDG_STATE_HOME`, or else in `.local/state` of the home
    /// folder; `nil` if neither is known.
    static var usualPath: String? {
        func variable(_ name: String) -> String? {
            // The specification of base directories ignores relative paths.
            linux_environment(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        let folder = variable("XDG_STATE_HOME") ?? variable("HOME").map { $0 + "/.local/state" }
        return folder.map { $0 + "/vatoolbox/screen-cast" }
    }

    /// Returns the word; `nil` if there is none.
    func read() -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Self.longest)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count > 0, count < bytes.count else { return nil }
        let text = String(decoding: bytes.prefix(count), as: UTF8.self)
        return text.isEmpty ? nil : text
    }

    /// Replaces the word, or removes it.
    ///
    /// - Throws: `inputOutput` if the file cannot be written.
    func write(_ word: String?) throws(MediaError) {
        guard let word else {
            unlink(path)
            return
        }
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[..<$0]) } ?? "."
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        makeFolders(folder)
        let unfinished = "\(folder)/\(UnfinishedName.make(for: name))"
        let file = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("open") }
        var bytes = Array(word.utf8)
        let count = Glibc.write(file, &bytes, bytes.count)
        let isClosed = close(file) == 0
        guard count == bytes.count, isClosed, rename(unfinished, path) == 0 else {
            let error = failure("rename")
            unlink(unfinished)
            throw error
        }
    }

    private func makeFolders(_ folder: String) {
        var path = ""
        for part in folder.split(separator: "/", omittingEmptySubsequences: false) {
            path += part
            if !path.isEmpty { mkdir(path, 0o700) }
            path += "/"
        }
    }

    private func failure(_ call: String) -> MediaError {
        MediaError(
            .inputOutput,
            "the permission to capture the screen again cannot be stored",
            given: path,
            call: call,
            status: Int(errno)
        )
    }
}
