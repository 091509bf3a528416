// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import MediaTypes

/// The file, FIFO or device that an output is written to.
///
/// A regular file is written under a hidden temporary name in its final folder, and renamed only by ``commit()``.
/// Without a commit no file is left, unless the process is killed, or the commit fails and ``keepsFile`` is set: then
/// the temporary file remains. Used by one thread at a time.
final class OutputFile {
    /// The path for error messages.
    let path: String
    /// Whether ``seek(to:from:)`` is supported.
    let isSeekable: Bool
    /// The number of bytes written; bytes that were overwritten count again.
    private(set) var bytesWritten: Int64 = 0
    /// Counts them, too.
    var counter: WrittenBytes?
    /// The first failure. After it, every call throws it again.
    private(set) var failure: MediaError?
    /// Whether a regular file whose commit fails stays under its temporary name.
    var keepsFile = false
    /// The path of a regular file that has stayed so.
    private(set) var keptPath: String?

    /// The path from which a regular file can be read until the commit; `nil` for pipes and devices.
    var readablePath: String? { temporaryPath }

    /// The folder of a regular file; `nil` for pipes and devices.
    var folder: String? { destination?.folder }

    private var descriptor: Int32
    private let ownsDescriptor: Bool
    private let abandonment: Cancellation?
    private let destination: OutputTarget.RegularFile?
    private var temporaryPath: String?
    /// Whether it has its final name.
    private var hasName = false
    /// Whether the temporary name is on the disk.
    private var hasSyncedFolder = false

    /// Opens a device or a FIFO without blocking. A blocking open of a FIFO waits for a reader, and only a signal ends
    /// it.
    private static func openSpecial(_ special: String, _ cancellations: [Cancellation]) throws(MediaError) -> Int32 {
        while true {
            let (opened, error) = retryingOnInterrupt {
                open(special, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
            }
            // The descriptor stays non-blocking: no other process has this open file description, and waits for a
            // stalled reader use poll.
            if opened >= 0 { return opened }
            var status = stat()
            let waitsForReader = error == ENXIO && stat(special, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
            guard waitsForReader else {
                throw MediaError("the output cannot be opened", path: special, call: "open", error: error)
            }
            if cancellations.contains(where: \.isCancelled) {
                throw MediaError(.cancelled, "no process has opened the output for reading", given: special)
            }
            usleep(pause)
        }
    }

    /// The interval at which a FIFO is checked for a reader, in microseconds.
    private static let pause: UInt32 = 20_000

    /// Opens an output. For a FIFO, waits until it is opened for reading.
    ///
    /// - Parameters:
    ///   - cancellation: Ends this wait.
    ///   - abandonment: Ends every wait for a reader, including those while writing.
    /// - Throws: `inputOutput` with the path if it cannot be opened or created; `cancelled`.
    init(
        _ target: OutputTarget,
        cancellation: Cancellation? = nil,
        abandonment: Cancellation? = nil
    ) throws(MediaError) {
        self.abandonment = abandonment
        switch target {
        case .standardOutput:
            (path, descriptor, ownsDescriptor, destination) = ("standard output", STDOUT_FILENO, false, nil)
            isSeekable = false
        case .special(let special):
            let opened = try Self.openSpecial(special, [cancellation, abandonment].compactMap(\.self))
            guard isatty(opened) == 0 else {
                close(opened)
                throw MediaError(
                    .invalidArgument,
                    "the output is a terminal",
                    given: special,
                    allowed: "a file, a pipe or another device"
                )
            }
            (path, descriptor, ownsDescriptor, destination) = (special, opened, true, nil)
            isSeekable = false
        case .file(let file):
            let created = try Self.createTemporary(for: file)
            (path, descriptor, ownsDescriptor, destination) = (file.givenPath, created.descriptor, true, file)
            temporaryPath = created.path
            UnfinishedFiles.add(created.path)
            isSeekable = true
        }
    }

    deinit { discard() }

    /// Writes all bytes at the present position.
    ///
    /// - Throws: `inputOutput` with the path, the number of bytes written, and the reason. Neither a closed pipe nor a
    ///   file size limit raises a signal.
    func write(_ bytes: UnsafeRawBufferPointer) throws(MediaError) {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return }
        var piece = [iovec(iov_base: UnsafeMutableRawPointer(mutating: base), iov_len: bytes.count)]
        try write(&piece)
    }

    /// Writes bytes; see ``write(_:)-(UnsafeRawBufferPointer)``.
    func write(_ bytes: [UInt8]) throws(MediaError) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(MediaError) in try write(UnsafeRawBufferPointer(bytes)) }
    }

    /// Writes several pieces completely, one after another, without copying them together.
    ///
    /// - Parameter pieces: The pieces, which the call modifies.
    /// - Throws: As ``write(_:)-(UnsafeRawBufferPointer)``.
    func write(_ pieces: inout [iovec]) throws(MediaError) {
        try checkIsUsable()
        var next = 0
        while next < pieces.count {
            let count = min(pieces.count - next, Self.mostPieces)
            let (written, error) = pieces.withUnsafeBufferPointer { all in
                retryingOnInterrupt {
                    all.baseAddress.map { linux_writev_without_signal(descriptor, $0 + next, Int32(count)) } ?? 0
                }
            }
            if written < 0 {
                if error == EAGAIN {
                    try waitUntilWritable()
                    continue
                }
                throw fail("writev", error)
            }
            bytesWritten += Int64(written)
            counter?.add(written)
            Self.advance(&pieces, &next, by: written)
        }
    }

    /// Changes the position.
    ///
    /// - Parameters:
    ///   - offset: The offset in bytes.
    ///   - origin: `SEEK_SET`, `SEEK_CUR` or `SEEK_END`.
    /// - Returns: The new position from the beginning.
    func seek(to offset: Int64, from origin: Int32) throws(MediaError) -> Int64 {
        try checkIsUsable()
        let position = lseek(descriptor, off_t(offset), origin)
        guard position >= 0 else { throw fail("lseek", errno) }
        return Int64(position)
    }

    /// Returns the size of a regular file in bytes.
    func size() throws(MediaError) -> Int64 {
        try checkIsUsable()
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw fail("fstat", errno) }
        return Int64(status.st_size)
    }

    /// Reads bytes of a regular file without changing the position. Returns fewer bytes at the end of the file.
    func read(_ count: Int, at offset: Int64) throws(MediaError) -> [UInt8] {
        try checkIsUsable()
        var failed: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: max(count, 0)) { memory, filled in
            while filled < memory.count {
                let (read, error) = retryingOnInterrupt {
                    pread(
                        descriptor,
                        memory.baseAddress.map { $0 + filled },
                        memory.count - filled,
                        off_t(offset) + filled
                    )
                }
                failed = error
                guard read > 0 else { break }
                filled += read
            }
        }
        guard failed == 0 else { throw fail("pread", failed) }
        return bytes
    }

    /// Completes the output: flushes its bytes to the disk, then renames it to its final name.
    ///
    /// - Returns: The size of a regular file; otherwise the number of bytes written.
    /// - Throws: `inputOutput` if the bytes cannot be flushed to the disk; `invalidArgument` if a file with this name
    ///   was created meanwhile and may not be replaced. In these cases no file is left, or the error names the one that
    ///   ``keepsFile`` keeps.
    func commit() throws(MediaError) -> Int64 {
        let size = try complete()
        try rename()
        if let folder { Self.syncFolder(folder) }
        return size
    }

    /// Flushes the bytes of the output to the disk and closes it. A regular file keeps its temporary name.
    ///
    /// - Returns: The size of a regular file; otherwise the number of bytes written.
    /// - Throws: As ``commit()``.
    func complete() throws(MediaError) -> Int64 {
        do throws(MediaError) {
            guard destination != nil else {
                try checkIsUsable()
                try closeDescriptor()
                return bytesWritten
            }
            let size = try size()
            let (synced, error) = retryingOnInterrupt { fsync(descriptor) }
            guard synced == 0 else { throw fail("fsync", error) }
            try closeDescriptor()
            return size
        } catch {
            throw abandon(error)
        }
    }

    /// Gives a regular file that is complete its final name. After ``OutputFile/syncFolder(_:)``, the name is on the disk.
    ///
    /// - Throws: As ``commit()``.
    func rename() throws(MediaError) {
        guard let destination, let temporaryPath else { return }
        do throws(MediaError) {
            try rename(temporaryPath, to: destination)
        } catch {
            throw abandon(error)
        }
        UnfinishedFiles.remove(temporaryPath)
        self.temporaryPath = nil
        hasName = true
    }

    /// Leaves a file that cannot be committed where it is, or deletes it.
    ///
    /// - Returns: The error, with the path of a file that was kept.
    private func abandon(_ error: MediaError) -> MediaError {
        if keepsFile, let temporaryPath {
            UnfinishedFiles.remove(temporaryPath)
            keptPath = temporaryPath
            self.temporaryPath = nil
        }
        discard()
        return error.naming(keptPath: keptPath)
    }

    /// Deletes a regular file, even if it has its final name.
    func revoke() {
        if hasName, let destination { unlink(destination.path) }
        hasName = false
        discard()
    }

    /// Cuts a regular file off after a failed write, so that it can be committed.
    ///
    /// - Throws: `inputOutput`.
    func recover(_ size: Int64) throws(MediaError) {
        failure = nil
        try checkIsUsable()
        let (cut, error) = retryingOnInterrupt { ftruncate(descriptor, off_t(size)) }
        guard cut == 0 else { throw fail("ftruncate", error) }
    }

    /// Waits until the bytes of a regular file are on the disk.
    ///
    /// - Throws: `inputOutput`.
    func sync() throws(MediaError) {
        try checkIsUsable()
        guard destination != nil else { return }
        let (synced, error) = retryingOnInterrupt { fdatasync(descriptor) }
        guard synced == 0 else { throw fail("fdatasync", error) }
        if !hasSyncedFolder, let folder { Self.syncFolder(folder) }
        hasSyncedFolder = true
    }

    /// Closes the descriptor and deletes the temporary file. Has no effect after a commit.
    func discard() {
        if descriptor >= 0, ownsDescriptor { close(descriptor) }
        descriptor = -1
        if let temporaryPath {
            unlink(temporaryPath)
            UnfinishedFiles.remove(temporaryPath)
        }
        temporaryPath = nil
    }
}

// MARK: - Names

extension OutputFile {
    private static func createTemporary(
        for file: OutputTarget.RegularFile
    ) throws(MediaError) -> (path: String, descriptor: Int32) {
        let mode = file.replacedMode ?? 0o666
        var kept = file.name
        for _ in 0..<100 {
            let name = UnfinishedName.make(for: kept)
            let path = file.folder == "/" ? "/\(name)" : "\(file.folder)/\(name)"
            let (descriptor, error) = retryingOnInterrupt { open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode) }
            if descriptor >= 0 {
                if file.replacedMode != nil { fchmod(descriptor, mode) }
                return (path, descriptor)
            }
            // Some file systems have short names.
            if error == ENAMETOOLONG, !kept.isEmpty {
                kept = ""
                continue
            }
            guard error == EEXIST else {
                throw MediaError(
                    "no file can be created in the output's folder",
                    path: file.folder,
                    call: "open",
                    error: error
                )
            }
        }
        throw MediaError(
            "no unused temporary name was found in the output's folder",
            path: file.folder,
            call: "open",
            error: EEXIST
        )
    }

    private func rename(_ temporaryPath: String, to destination: OutputTarget.RegularFile) throws(MediaError) {
        let path = destination.path
        if destination.overwrite {
            guard Glibc.rename(temporaryPath, path) == 0 else { throw fail("rename", errno) }
            return
        }
        if linux_rename_without_replacing(temporaryPath, path) == 0 { return }
        var error = errno
        if error == EINVAL || error == ENOSYS {
            // The file system does not support RENAME_NOREPLACE (NFS and some FUSE file systems).
            if link(temporaryPath, path) == 0 {
                unlink(temporaryPath)
                return
            }
            error = errno
            // It does not support hard links either: a file that is created between these two calls is replaced.
            var status = stat()
            if [EPERM, ENOSYS, EOPNOTSUPP].contains(error) {
                let isThere = lstat(path, &status) == 0
                if !isThere, Glibc.rename(temporaryPath, path) == 0 { return }
                error = isThere ? EEXIST : errno
            }
        }
        guard error == EEXIST else { throw fail("renameat2", error) }
        throw MediaError(
            .invalidArgument,
            "another process created the output file meanwhile",
            given: destination.givenPath,
            allowed: "a new name, or the option overwrite"
        )
    }

    /// Makes the new name durable. The file is already complete, so a file system that does not support this causes no
    /// failure.
    static func syncFolder(_ folder: String) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}

// MARK: - Descriptor

extension OutputFile {
    /// `IOV_MAX` on Linux.
    private static let mostPieces = 1024

    private static func advance(_ pieces: inout [iovec], _ next: inout Int, by written: Int) {
        var left = written
        while next < pieces.count, left >= pieces[next].iov_len {
            left -= pieces[next].iov_len
            next += 1
        }
        guard next < pieces.count, left > 0 else { return }
        pieces[next].iov_base += left
        pieces[next].iov_len -= left
    }

    /// Waits until the reader of a pipe accepts more.
    private func waitUntilWritable() throws(MediaError) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while true {
            if abandonment?.isCancelled == true {
                let abandoned = MediaError(.cancelled, "the output's reader is too slow", given: path)
                failure = abandoned
                throw abandoned
            }
            let (ready, error) = retryingOnInterrupt { poll(&entry, 1, Self.pollInterval) }
            if ready > 0 { return }
            if ready < 0 { throw fail("poll", error) }
        }
    }

    /// The timeout of one `poll` before the cancellation is checked again, in milliseconds.
    private static let pollInterval: Int32 = 100

    private func checkIsUsable() throws(MediaError) {
        if let failure { throw failure }
        guard descriptor >= 0 else {
            throw MediaError(.invalidState, "the output is closed", given: path)
        }
    }

    private func closeDescriptor() throws(MediaError) {
        let closing = descriptor
        descriptor = -1
        guard ownsDescriptor else { return }
        // After EINTR, Linux has nevertheless closed the descriptor.
        guard close(closing) == 0 || errno == EINTR else { throw fail("close", errno) }
    }

    private func fail(_ call: String, _ error: Int32) -> MediaError {
        let message = "writing failed after \(bytesWritten) bytes"
        let failed = MediaError(message, path: path, call: call, error: error)
        failure = failed
        return failed
    }
}
