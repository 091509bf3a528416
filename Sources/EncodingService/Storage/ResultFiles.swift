// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Crypto
internal import Glibc
internal import HostSystem
internal import MediaTypes
internal import NIOCore
internal import ServiceAPI

/// A file that is open for reading.
final class OpenFile: Sendable {
    let descriptor: Int32
    let size: Int

    init(descriptor: Int32, size: Int) {
        self.descriptor = descriptor
        self.size = size
    }

    deinit { close(descriptor) }

    /// The number of its names; 0 if that cannot be found out.
    var linkCount: Int { Files.status(of: descriptor)?.linkCount ?? 0 }

    /// An entity tag of a file that only grows: that of another file of the same name differs.
    var growingTag: String { "\"\(Files.status(of: descriptor).map { String($0.number, radix: 16) } ?? "")-growing\"" }

    /// Reads bytes at a position; fewer only at the end.
    func read(at offset: Int, count: Int) async throws -> ByteBuffer {
        try await FileWork.run { [self] in
            var buffer = ByteBufferAllocator().buffer(capacity: count)
            while buffer.readableBytes < count {
                let position = off_t(offset + buffer.readableBytes)
                let missing = count - buffer.readableBytes
                let read = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: missing) { bytes in
                    let read = pread(descriptor, bytes.baseAddress, missing, position)
                    guard read >= 0 else { throw FileError("pread", "a result") }
                    return read
                }
                if read == 0 { break }
            }
            return buffer
        }
    }
}

/// The files below a folder that programs with strangers' data have written: links among them are not followed.
enum ResultFiles {
    /// Opens a file.
    ///
    /// - Parameter path: Relative to the folder.
    /// - Returns: `nil` if there is no such file, or if the path leads elsewhere.
    static func open(_ path: String, in folder: String) throws(FileError) -> OpenFile? {
        isPlain(path) ? try openBeneath(path, in: folder) : nil
    }

    /// While a file is rewritten without fragments, there are two. More than these are none of the encoder's.
    private static let mostUnfinished = 4

    /// Opens a file that a program still writes, under its hidden name.
    ///
    /// - Parameter name: Its final name.
    /// - Returns: `nil` if there is no such file.
    static func openUnfinished(_ name: String, in folder: String) throws(FileError) -> OpenFile? {
        let names = ((try? Files.names(in: folder)) ?? []).filter { UnfinishedName.finalName(of: $0) == name }
            .prefix(mostUnfinished)
        var largest: OpenFile?
        // At the end it has its name, while others of the task are verified.
        for hidden in names + [name] {
            guard let file = try openBeneath(hidden, in: folder), file.linkCount == 1 else { continue }
            if file.size > largest?.size ?? 0 { largest = file }
        }
        return largest
    }

    private static func openBeneath(_ path: String, in folder: String) throws(FileError) -> OpenFile? {
        let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw FileError("open", folder) }
            return nil
        }
        defer { close(descriptor) }
        let file = linux_open_beneath(descriptor, path, 0)
        guard file >= 0 else {
            guard [ENOENT, ENOTDIR, ELOOP, EXDEV, ENXIO, ENAMETOOLONG, EACCES, EPERM].contains(errno) else {
                throw FileError("openat2", path)
            }
            return nil
        }
        guard let size = Files.size(of: file) else {
            close(file)
            return nil
        }
        return OpenFile(descriptor: file, size: size)
    }

    /// Whether a path has only names that may be shown: not hidden, and without `.` and `..`.
    static func isPlain(_ path: String) -> Bool {
        !path.isEmpty && !path.utf8.contains(0)
            && path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
                !$0.isEmpty && $0.first != UInt8(ascii: ".")
            }
    }

    /// Describes all files of a folder, in the order of their paths.
    ///
    /// - Throws: `FileError` with `EPERM` if there is anything but files and folders, or one with a name that is hidden
    ///   or no text.
    static func describe(_ folder: String) throws -> [ResultFile] {
        var files: [ResultFile] = []
        try visit(folder, prefix: "", into: &files)
        return files
    }

    private static func visit(_ folder: String, prefix: String, into files: inout [ResultFile]) throws {
        for name in try Files.names(in: folder) {
            let path = "\(folder)/\(name)"
            guard name.utf8.first != UInt8(ascii: "."), let status = try Files.status(path) else {
                throw FileError("readdir", path, status: EPERM)
            }
            if status.isFolder {
                try visit(path, prefix: "\(prefix)\(name)/", into: &files)
            } else if status.isFile, status.linkCount == 1 {
                var file = ResultFile()
                file.path = prefix + name
                file.size = status.size
                file.sha256 = try hash(path)
                file.type = MediaKind.type(ofName: name)
                files.append(file)
            } else {
                throw FileError("readdir", path, status: EPERM)
            }
        }
    }

    static func hash(_ path: String) throws -> String {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw FileError("open", path) }
        defer { close(descriptor) }
        var hash = SHA256()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 64)
        defer { buffer.deallocate() }
        while true {
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            guard count >= 0 else { throw FileError("read", path) }
            if count == 0 { return Digest.text(hash.finalize()) }
            hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}

/// Media types by the names of files.
enum MediaKind {
    static func type(ofName name: String) -> String {
        let ending = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
        return types[ending] ?? "application/octet-stream"
    }

    private static let types = [
        "mp4": "video/mp4", "m4s": "video/iso.segment", "mov": "video/quicktime", "mkv": "video/matroska",
        "ts": "video/mp2t", "h264": "video/h264", "h265": "video/h265", "m3u8": "application/vnd.apple.mpegurl",
        "mpd": "application/dash+xml", "png": "image/png", "jpg": "image/jpeg", "vtt": "text/vtt",
        "json": "application/json",
    ]
}
