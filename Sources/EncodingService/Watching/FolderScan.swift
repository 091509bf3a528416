// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem

/// The media files of a folder.
struct FolderScan: Sendable {
    /// The files that are looked at, and the folders in folders.
    static let (mostFiles, mostDepth) = (100_000, 32)

    /// The files whose names end like those of media. Links are not followed. Hidden files, and those that programs name so
    /// while they write them (`.part`, `.tmp`), are none.
    private(set) var files: [WatchedFile] = []
    /// A part of the folder that cannot be read, with the reason.
    private(set) var problem: String?

    /// Reads a folder.
    ///
    /// - Throws: `FileError` if it cannot be read. Folders in it that cannot be read are left out.
    init(of folder: String, recursive: Bool) throws(FileError) { try add(folder, "", recursive ? Self.mostDepth : 0) }

    private mutating func add(_ folder: String, _ prefix: String, _ depth: Int) throws(FileError) {
        for name in try Files.names(in: folder) where Self.isPlain(name) && files.count < Self.mostFiles {
            let path = "\(folder)/\(name)"
            do throws(FileError) {
                // It may be gone since.
                guard let status = try Files.status(path) else { continue }
                if status.isFolder, depth > 0 {
                    try add(path, "\(prefix)\(name)/", depth - 1)
                } else if status.isFile, status.size > 0, Self.isMedia(name) {
                    files.append(WatchedFile(path: prefix + name, size: status.size, modified: status.modified))
                }
            } catch {
                problem = problem ?? "\(prefix)\(name) cannot be read: \(error.reason)"
            }
        }
    }

    /// Whether a name can be part of a request: it is not hidden, has no control characters, and is UTF-8.
    private static func isPlain(_ name: String) -> Bool {
        name.utf8.first != UInt8(ascii: ".")
            && !name.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F || $0 == "\u{FFFD}" }
    }

    /// Whether a file has the name of a video.
    static func isMedia(_ name: String) -> Bool {
        guard let dot = name.lastIndex(of: ".") else { return false }
        return extensions.contains(name[name.index(after: dot)...].lowercased())
    }

    private static let extensions: Set<String> = [
        "3g2", "3gp", "asf", "avi", "flv", "h264", "h265", "hevc", "ivf", "m2t", "m2ts", "m2v", "m4v", "mkv", "mov",
        "mp4", "mpeg",
        "mpg", "mts", "mxf", "nut", "ogm", "ogv", "ts", "vob", "webm", "wmv", "y4m",
    ]
}
