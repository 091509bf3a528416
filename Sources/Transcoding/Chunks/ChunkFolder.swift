// SPDX-License-Identifier: GPL-2.0-or-later

import Crypto
import Glibc
import MediaIO
import MediaTypes
import Synchronization

/// The folder in which finished chunks wait for the others.
///
/// Each chunk is a file with a name of its own, and a record that names it and is written last: a chunk without a whole
/// record that fits its file is not there. A process that encodes a chunk that another one has finished meanwhile, because
/// it was taken for dead, replaces the record in one step and leaves the other file alone, so whoever reads a chunk by its
/// record reads what the record describes.
final class ChunkFolder: Sendable {
    /// The path of the folder.
    let path: String
    /// What its chunks depend on.
    let key: String
    /// The descriptor of the file that is locked as long as the folder is used; -1 after ``delete()``.
    private let lock: Mutex<Int32>

    private static let (lockName, keyName) = ("vatoolbox.lock", "vatoolbox.key")

    /// Opens or creates the folder.
    ///
    /// - Parameters:
    ///   - path: The folder; its parent must exist.
    ///   - key: What its chunks depend on. A folder that was created with another one is refused.
    ///   - isShared: Whether other processes use it at the same time. Then nothing of theirs is deleted.
    /// - Throws: `invalidArgument` if it belongs to another encode or has other files; `busy` if another process uses it;
    ///   `inputOutput`.
    init(path: String, key: String, isShared: Bool) throws(MediaError) {
        (self.path, self.key) = (path, key)
        if mkdir(path, 0o777) != 0 {
            let error = errno
            guard error == EEXIST else { throw Self.error("the folder of the chunks cannot be created", path, error) }
        }
        guard let names = FileTree.names(in: path) else {
            throw Self.error("the folder of the chunks cannot be read", path, errno)
        }
        if let foreign = names.first(where: { !Self.isOwn($0) }) {
            throw MediaError(
                .invalidArgument,
                "the folder of the chunks has other files",
                given: "\(path)/\(foreign)",
                allowed: "an empty folder, one that does not exist, or one of an earlier run"
            )
        }
        let descriptor = open("\(path)/\(Self.lockName)", O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        lock = Mutex(descriptor)
        guard descriptor >= 0 else { throw Self.error("the folder of the chunks cannot be used", path, errno) }
        guard flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else {
            let error = errno
            if error == EWOULDBLOCK {
                throw MediaError(
                    .busy,
                    "another process uses the folder of the chunks",
                    given: path,
                    allowed: "one process at a time, or --only-chunks for each"
                )
            }
            throw Self.error("the folder of the chunks cannot be locked", path, error)
        }
        try claim()
        if !isShared { deleteLeftovers() }
    }

    deinit { unlock() }

    private func unlock() {
        lock.withLock { descriptor in
            if descriptor >= 0 { close(descriptor) }
            descriptor = -1
        }
    }

    /// Checks the key, or writes it into a new folder.
    private func claim() throws(MediaError) {
        let keyPath = "\(path)/\(Self.keyName)"
        guard let known = try Self.contents(of: keyPath) else {
            return try WholeFile.write(Array("\(key)\n".utf8), to: keyPath)
        }
        guard known != Array("\(key)\n".utf8) else { return }
        throw MediaError(
            .invalidArgument,
            "the folder has the chunks of another encode",
            given: path,
            allowed: "the same input, input and video options, chunk duration and version of this program, or another "
                + "folder"
        )
    }

    /// Deletes what processes that were killed have left.
    private func deleteLeftovers() {
        let names = FileTree.names(in: path) ?? []
        let records = names.filter { $0.hasSuffix(".txt") }.compactMap { name in
            (try? Self.contents(of: "\(path)/\(name)")).flatMap { bytes in
                ChunkRecord(text: String(decoding: bytes, as: UTF8.self))
            }
        }
        let known = Set(records.map(\.file))
        for name in names where !Self.isOfNFS(name) {
            let isLeftover = name.hasPrefix(".") || name.hasSuffix(".mp4") && !known.contains(name)
            if isLeftover { unlink("\(path)/\(name)") }
        }
    }

    /// Returns a name for a file of a chunk that no other one has.
    static func newFile(_ number: Int) -> String {
        "\(name(number))-\(String(UInt64.random(in: 0...(.max)), radix: 16)).mp4"
    }

    /// Returns the path of a file of this folder.
    func path(_ file: String) -> String { "\(path)/\(file)" }

    private func recordPath(_ number: Int) -> String { "\(path)/\(Self.name(number)).txt" }

    /// Returns the record of a chunk that is complete and undamaged; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - pictureCount: The number of pictures that it must have.
    ///   - encoders: Whether an encoder may be used.
    ///   - note: Called with the number of bytes that were read; returns whether to go on.
    func record(
        _ number: Int,
        pictureCount: Int,
        encoders: (EncoderIdentity) -> Bool,
        note: (Int) -> Bool
    ) -> ChunkRecord? {
        guard let bytes = try? Self.contents(of: recordPath(number)),
            let record = ChunkRecord(text: String(decoding: bytes, as: UTF8.self)), record.key == key,
            record.samples.count == pictureCount, encoders(record.encoder.identity),
            record.digest == (try? digest(record.file, note: note))
        else { return nil }
        return record
    }

    /// Stores the record of a chunk whose file is complete.
    func store(_ record: ChunkRecord, _ number: Int) throws(MediaError) {
        try WholeFile.write(Array(record.text.utf8), to: recordPath(number))
    }

    /// Returns the digest of a file.
    ///
    /// - Parameter note: Called with the number of bytes that were read; returns whether to go on.
    /// - Throws: `inputOutput` if it cannot be read; `cancelled`.
    func digest(_ file: String, note: (Int) -> Bool) throws(MediaError) -> String {
        let descriptor = open(path(file), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.error("a chunk cannot be read", path(file), errno) }
        defer { close(descriptor) }
        var hash = SHA256()
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return ChunkRecord.hex(hash.finalize()) }
            if count < 0 {
                if errno == EINTR { continue }
                throw Self.error("a chunk cannot be read", path(file), errno)
            }
            guard note(count) else { throw MediaError(.cancelled, "the call was cancelled") }
            buffer.withUnsafeBytes { hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }

    /// Deletes the chunks, and the folder if it is empty then. Nothing may use it after that.
    func delete() {
        // A process that was taken for dead may still create a file.
        for _ in 0..<10 {
            let names = (FileTree.names(in: path) ?? []).filter { Self.isOwn($0) && !Self.isOfNFS($0) }
            // Without its key, a chunk belongs to nothing. NFS keeps files that are open when they are deleted.
            for name in names where name != Self.keyName && name != Self.lockName { unlink("\(path)/\(name)") }
            unlock()
            for name in [Self.keyName, Self.lockName] { unlink("\(path)/\(name)") }
            if rmdir(path) == 0 || errno != ENOTEMPTY { return }
        }
    }

    private static func name(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 5 - digits.count)) + digits
    }

    /// Whether a name is one of this class, or of a file that is being written.
    private static func isOwn(_ name: String) -> Bool {
        if name == lockName || name == keyName || isOfNFS(name) { return true }
        let visible = UnfinishedName.finalName(of: name) ?? name
        if visible == keyName { return true }
        let number = visible.prefix { $0.isASCII && $0.isNumber }
        let rest = visible.dropFirst(number.count)
        return number.count >= 5 && (rest == ".txt" || rest.hasPrefix("-") && rest.hasSuffix(".mp4"))
    }

    /// Whether NFS has given a file this name that was deleted while it was open.
    private static func isOfNFS(_ name: String) -> Bool { name.hasPrefix(".nfs") }

    /// Returns the contents of a small file; `nil` if there is none.
    private static func contents(of path: String) throws(MediaError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw error("a file of the chunks cannot be read", path, errno)
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return bytes }
            if count > 0 {
                bytes += buffer[..<count]
            } else if errno != EINTR {
                throw error("a file of the chunks cannot be read", path, errno)
            }
        }
    }

    private static func error(_ message: String, _ path: String, _ error: Int32) -> MediaError {
        MediaError(
            .inputOutput,
            "\(message): \(String(cString: strerror(error)))",
            given: path,
            status: Int(error)
        )
    }
}
