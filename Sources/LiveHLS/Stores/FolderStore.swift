// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes
internal import NIOCore
internal import StreamingPlaylists
internal import Synchronization

/// A presentation in a folder, which a web server delivers.
///
/// Each file gets its name when it is complete, and playlists come last, so that a reader never sees a file that is not
/// complete or not there. Files are not synced to the disk: a stream that is hours long would wait for that.
final class FolderStore: LiveStore {
    let holdsRequests = false

    private let path: String
    private let known = Mutex<Known>(Known())

    private struct Known {
        var folders: Set<String> = []
        var texts = PublishedTexts()
    }

    /// Uses or creates a folder.
    ///
    /// - Parameter replacesOlder: Whether the stream that is there may be deleted.
    /// - Throws: `invalidArgument` if it has a stream already; `inputOutput` if it cannot be created or read.
    init(path: String, replacesOlder: Bool) throws(MediaError) {
        self.path = path
        guard mkdir(path, 0o777) == 0 || errno == EEXIST else {
            throw Self.failure("the folder cannot be created", path, "mkdir")
        }
        // Not stat, whose structure CNIOLinux has as well.
        guard let stream = opendir(path) else {
            throw MediaError(
                .invalidArgument,
                "the stream needs a folder: \(String(cString: strerror(errno)))",
                given: path,
                allowed: "a new one, or a folder"
            )
        }
        closedir(stream)
        guard access("\(path)/\(PresentationState.multivariantPath)", F_OK) == 0 else { return }
        guard replacesOlder else {
            throw MediaError(
                .invalidArgument,
                "the folder has a stream already",
                given: path,
                allowed: "an empty or a new folder, or overwrite=1"
            )
        }
        try deleteOlder()
    }

    func write(_ name: String, _ content: [ByteBuffer]) throws(MediaError) {
        let folder = name.split(separator: "/").dropLast().joined(separator: "/")
        if !folder.isEmpty, !known.withLock({ $0.folders.contains(folder) }) {
            guard mkdir("\(path)/\(folder)", 0o777) == 0 || errno == EEXIST else {
                throw Self.failure("a folder of the stream cannot be created", "\(path)/\(folder)", "mkdir")
            }
            known.withLock { _ = $0.folders.insert(folder) }
        }
        try put(content, at: "\(path)/\(name)")
    }

    func publish(_ state: PresentationState) throws(MediaError) {
        let texts = known.withLock { $0.texts }
        for text in texts.mediaPlaylists(of: state) { try publish(text) }
        if let text = texts.multivariantPlaylist(of: state) { try publish(text) }
    }

    func remove(_ names: [String]) {
        for name in names { unlink("\(path)/\(name)") }
    }

    private func publish(_ text: PublishedTexts.Text) throws(MediaError) {
        try put([ByteBuffer(string: text.content)], at: "\(path)/\(text.path)")
        known.withLock { $0.texts.note(text) }
    }

    // MARK: Files

    private func put(_ content: [ByteBuffer], at path: String) throws(MediaError) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        let temporary = "\(path[..<slash])/\(UnfinishedName.make(for: String(path[path.utf8.index(after: slash)...])))"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw Self.failure("a file of the stream cannot be created", temporary, "open") }
        do throws(MediaError) {
            for piece in content { try Self.write(piece, to: descriptor, path) }
        } catch {
            Glibc.close(descriptor)
            unlink(temporary)
            throw error
        }
        guard Glibc.close(descriptor) == 0, rename(temporary, path) == 0 else {
            let error = Self.failure("a file of the stream cannot get its name", path, "rename")
            unlink(temporary)
            throw error
        }
    }

    private static func write(_ buffer: ByteBuffer, to descriptor: Int32, _ path: String) throws(MediaError) {
        var failure: MediaError?
        buffer.withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else {
                    failure = Self.failure("a file of the stream cannot be written", path, "write")
                    return
                }
                rest = rest.dropFirst(count)
            }
        }
        if let failure { throw failure }
    }

    private static func failure(_ message: String, _ path: String, _ call: String) -> MediaError {
        let error = errno
        return MediaError(
            .inputOutput,
            "\(message): \(String(cString: strerror(error)))",
            given: path,
            call: call,
            status: Int(error)
        )
    }

    // MARK: An older stream

    /// Deletes the files that a stream has, and nothing else.
    private func deleteOlder() throws(MediaError) {
        unlink("\(path)/\(PresentationState.multivariantPath)")
        for folder in Self.names(in: path) where Self.isRendition(folder) {
            for name in Self.names(in: "\(path)/\(folder)") where Self.isOurs(name) {
                unlink("\(path)/\(folder)/\(name)")
            }
        }
    }

    /// Whether a folder is one of a rendition: that of the video, or of a ladder, or of sound.
    private static func isRendition(_ folder: String) -> Bool {
        folder == "video" || folder.hasPrefix("video-") || folder.hasPrefix("audio-")
    }

    private static func isOurs(_ name: String) -> Bool {
        if name == Rendition.playlistName { return true }
        let words = name.split(separator: "-", omittingEmptySubsequences: false)
        guard words.count == 3, ["init", "part", "segment"].contains(words[1]) else { return false }
        return words[2].hasSuffix(".m4s") || words[2].hasSuffix(".mp4")
    }

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
