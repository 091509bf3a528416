// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Crypto
internal import Glibc
internal import NIOCore
internal import NIOPosix

/// A file on this machine. Its calls block in threads that are there for that.
final class LocalFile: Sendable {
    let path: String
    let descriptor: Int32

    /// The bytes of a piece.
    static let piece = 256 << 10

    private init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Opens a file for reading.
    static func reading(_ path: String) async throws(ClientError) -> (file: LocalFile, size: Int) {
        try await blocking { () throws(ClientError) in
            // Opening a FIFO would wait for a writer.
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { throw failure("cannot be opened", path) }
            let file = LocalFile(path: path, descriptor: descriptor)
            var isFile: Int32 = 0
            let size = linux_file_size(descriptor, &isFile)
            guard size >= 0 else { throw failure("cannot be read", path) }
            guard isFile == 1 else { throw ClientError(.file, "\(path) is not a file, but a folder or a device") }
            return (file, Int(size))
        }
    }

    /// Opens or makes a file for writing, which no other process writes at the same time.
    static func writing(_ path: String) async throws(ClientError) -> (file: LocalFile, size: Int) {
        try await blocking { () throws(ClientError) in
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)
            guard descriptor >= 0 else { throw failure("cannot be made", path) }
            let file = LocalFile(path: path, descriptor: descriptor)
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw ClientError(.file, "\(path) is being written by another process")
            }
            var isFile: Int32 = 0
            let size = linux_file_size(descriptor, &isFile)
            guard size >= 0 else { throw failure("cannot be read", path) }
            return (file, Int(size))
        }
    }

    /// Reads a piece from a position on; it is empty at the end.
    func read(at position: Int) async throws(ClientError) -> ByteBuffer {
        try await Self.blocking { [self] () throws(ClientError) in
            var buffer = ByteBufferAllocator().buffer(capacity: Self.piece)
            let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.piece) { bytes in
                max(pread(descriptor, bytes.baseAddress, Self.piece, off_t(position)), 0)
            }
            guard count > 0 || errno == 0 else { throw Self.failure("cannot be read", path) }
            return buffer
        }
    }

    func write(_ buffer: ByteBuffer, at position: Int) async throws(ClientError) {
        try await Self.blocking { [self] () throws(ClientError) in
            var position = position
            var rest = buffer.readableBytesView[...]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(position)) }
                guard written > 0 else { throw Self.failure("cannot be written", path) }
                rest = rest.dropFirst(written)
                position += written
            }
        }
    }

    func truncate() async throws(ClientError) {
        try await Self.blocking { [self] () throws(ClientError) in
            guard ftruncate(descriptor, 0) == 0 else { throw Self.failure("cannot be emptied", path) }
        }
    }

    /// The SHA-256 of the first bytes so far.
    func hash(size: Int) async throws(ClientError) -> SHA256 {
        var hash = SHA256()
        var position = 0
        while position < size {
            let piece = try await read(at: position)
            guard piece.readableBytes > 0 else { break }
            let used = piece.readableBytesView.prefix(size - position)
            used.withUnsafeBytes { hash.update(bufferPointer: $0) }
            position += used.count
        }
        return hash
    }

    /// Gives the file its name, after its bytes are on the disk.
    func publish(as name: String, overwrites: Bool) async throws(ClientError) {
        try await Self.blocking { [self] () throws(ClientError) in
            guard fsync(descriptor) == 0 else { throw Self.failure("cannot be written", path) }
            let result = overwrites ? rename(path, name) : linux_rename_without_replacing(path, name)
            guard result == 0 else {
                if errno == EEXIST { throw Self.exists(name) }
                throw Self.failure("cannot be renamed to \(name)", path)
            }
        }
    }

    func remove() async {
        try? await Self.blocking { [path] () throws(ClientError) in _ = unlink(path) }
    }

    static func exists(_ path: String) -> ClientError {
        ClientError(.file, "the file \(path) exists", remedies: ["Use another name, or allow overwriting."])
    }

    /// Throws if a file exists.
    static func checkAbsence(of path: String) async throws(ClientError) {
        try await blocking { () throws(ClientError) in
            guard access(path, F_OK) != 0 else { throw exists(path) }
        }
    }

    /// Makes the folder of a path and those above it.
    static func makeFolder(of path: String) async throws(ClientError) {
        try await blocking { () throws(ClientError) in
            var end = path.startIndex
            while let slash = path[end...].firstIndex(of: "/") {
                let folder = String(path[..<slash])
                end = path.index(after: slash)
                if folder.isEmpty { continue }
                guard mkdir(folder, 0o777) == 0 || errno == EEXIST else { throw failure("cannot be made", folder) }
            }
        }
    }

    private static func failure(_ what: String, _ path: String) -> ClientError {
        ClientError(.file, "\(path) \(what): \(String(cString: strerror(errno)))")
    }

    private static func blocking<Value: Sendable>(
        _ work: @escaping @Sendable () throws(ClientError) -> Value
    ) async throws(ClientError) -> Value {
        let result: Result<Value, ClientError>
        do {
            result = try await NIOThreadPool.singleton.runIfActive {
                errno = 0
                do throws(ClientError) { return .success(try work()) } catch { return .failure(error) }
            }
        } catch {
            throw ClientError(.cancelled, "the threads of the process are ending")
        }
        return try result.get()
    }
}

extension SHA256 {
    /// The digest so far in hexadecimal digits.
    var text: String { finalize().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
