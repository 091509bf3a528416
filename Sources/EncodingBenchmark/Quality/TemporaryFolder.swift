// SPDX-License-Identifier: GPL-2.0-or-later

internal import FoundationEssentials
internal import Glibc
internal import MediaIO
internal import MediaTypes

/// A folder for a while.
enum TemporaryFolder {
    /// Calls `body` with the path of a folder that is deleted afterwards, with what is in it.
    ///
    /// - Throws: `inputOutput` if there is no place for it; what `body` throws.
    static func with<Result>(_ body: (String) throws(MediaError) -> Result) throws(MediaError) -> Result {
        let folder = try make()
        defer { delete(folder) }
        return try body(folder)
    }

    /// Makes a folder in `TMPDIR`.
    static func make() throws(MediaError) -> String {
        var name = Array((temporaryFolder + "/vatoolbox-bench-XXXXXX").utf8CString)
        guard mkdtemp(&name) != nil else {
            throw systemFailure("mkdtemp", "no temporary folder can be made", temporaryFolder)
        }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Deletes a folder with what is in it.
    static func delete(_ folder: String) { try? FileManager.default.removeItem(atPath: folder) }
}
