// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem

/// Finds the media files of a folder.
enum FolderScan {
    /// The files that are looked at, and the folders in folders.
    static let (mostFiles, mostDepth) = (100_000, 32)

    /// Returns the files of a folder whose names end like those of media. Links are not followed. Hidden files, and those
    /// that programs name so while they write them (`.part`, `.tmp`), are none.
    static func files(in folder: String, recursive: Bool) throws(FileError) -> [WatchedFile] {
        var files: [WatchedFile] = []
        try add(folder, "", recursive ? mostDepth : 0, to: &files)
        return files
    }

    private static func add(
        _ folder: String,
        _ prefix: String,
        _ depth: Int,
        to files: inout [WatchedFile]
    ) throws(FileError) {
        for name in try Files.names(in: folder) where isPlain(name) && files.count < mostFiles {
            let path = "\(folder)/\(name)"
            // It may be gone since.
            guard let status = try Files.status(path) else { continue }
            if status.isFolder, depth > 0 {
                try add(path, "\(prefix)\(name)/", depth - 1, to: &files)
            } else if status.isFile, status.size > 0, isMedia(name) {
                files.append(
                    WatchedFile(
                        path: prefix + name,
                        size: status.size,
                        modified: status.modified,
                        inode: status.inode
                    )
                )
            }
        }
    }

    /// Whether a name can be part of a request: it is not hidden, has no control characters, and is UTF-8.
    private static func isPlain(_ name: String) -> Bool {
        !name.hasPrefix(".")
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
