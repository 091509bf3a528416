// SPDX-License-Identifier: GPL-2.0-or-later

internal import FoundationEssentials
internal import Glibc
internal import MediaIO
internal import MediaTypes

/// Temporary folders.
enum TemporaryFolder {
    /// Calls `body` with the path of a folder, which is deleted afterwards with its contents.
    ///
    /// - Throws: `inputOutput` if the folder cannot be created; any error that `body` throws.
    static func with<Result>(_ body: (String) throws(MediaError) -> Result) throws(MediaError) -> Result {
        let folder = try make()
        defer { delete(folder) }
        return try body(folder)
    }

    /// Creates a folder in `TMPDIR`.
    static func make() throws(MediaError) -> String {
        var name = Array((temporaryFolder + "/vatoolbox-bench-XXXXXX").utf8CString)
        guard mkdtemp(&name) != nil else {
            throw systemFailure("mkdtemp", "a temporary folder cannot be created", temporaryFolder)
        }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Deletes a folder with its contents.
    static func delete(_ folder: String) { try? FileManager.default.removeItem(atPath: folder) }
}
