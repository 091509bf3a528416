// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc

/// The system calls of a ``SelectionState``. No function throws: an unusable file is treated as missing.
enum StateFile {
    /// Creates a folder and its parents, accessible to the owner only.
    ///
    /// - Returns: Whether files can be created in it.
    static func makeFolder(_ path: String) -> Bool {
        var partial = ""
        for part in path.split(separator: "/", omittingEmptySubsequences: true) {
            partial += (partial.isEmpty && !path.hasPrefix("/") ? "" : "/") + part
            mkdir(partial, 0o700)
        }
        return access(path, W_OK | X_OK) == 0
    }

    /// Returns the text of a file; `nil` if it is missing, belongs to another user, or is not text of a record's size.
    static func text(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard isOurs(descriptor) else { return nil }
        var bytes = [UInt8](repeating: 0, count: StateRecord.largest + 1)
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeMutableBytes { room in
                Glibc.read(descriptor, room.baseAddress.map { $0 + count }, room.count - count)
            }
            if more < 0, errno == EINTR { continue }
            if more < 0 { return nil }
            if more == 0 { break }
            count += more
        }
        return count <= StateRecord.largest ? String(validating: bytes[..<count], as: UTF8.self) : nil
    }

    /// Replaces the contents of a file atomically.
    static func replace(_ path: String, with text: String) -> Bool {
        let temporary = "\(path).\(getpid()).\(UInt64.random(in: 0 ... .max))"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        let isWritten = write(text, to: descriptor)
        let isWhole = close(descriptor) == 0 && isWritten
        if isWhole, rename(temporary, path) == 0 { return true }
        unlink(temporary)
        return false
    }

    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        let bytes = Array(text.utf8)
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done)
            }
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return false }
            done += count
        }
        return true
    }

    /// Returns the names in a folder, sorted.
    static func names(_ folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeMutablePointer(to: &entry.pointee.d_name) { field in
                field.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    /// Returns the modification time of a file in seconds since 1970; `nil` if the file is missing.
    static func changeTime(_ path: String) -> Double? {
        var status = stat()
        return stat(path, &status) == 0 ? Double(status.st_mtim.tv_sec) : nil
    }

    /// Opens a file for locking and creates it if it is missing. Returns `nil` on failure.
    static func openForLocks(_ path: String, creates: Bool = true) -> Int32? {
        let descriptor = open(path, O_RDWR | (creates ? O_CREAT : 0) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { return nil }
        if isOurs(descriptor) { return descriptor }
        close(descriptor)
        return nil
    }

    private static func isOurs(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
    }

    // MARK: - Locks

    /// Tries to lock a byte of an open file. The lock belongs to the open file description: it ends when that is
    /// closed, or when the process ends.
    static func lock(_ descriptor: Int32, byte: Int) -> Bool { errorOfLocking(descriptor, byte) == 0 }

    private static func errorOfLocking(_ descriptor: Int32, _ byte: Int) -> Int32 {
        var lock = request(byte)
        while true {
            // F_OFD_SETLK of fcntl(2), which Swift's C library module does not export.
            if fcntl(descriptor, 37, &lock) == 0 { return 0 }
            if errno != EINTR { return errno }
        }
    }

    /// Whether a file can be locked; on some network file systems, it cannot.
    static func canBeLocked(_ path: String) -> Bool {
        guard let descriptor = openForLocks(path) else { return false }
        defer { close(descriptor) }
        // The byte after the one that ``SelectionState/tryLock(_:)`` locks. A byte that is already locked proves that
        // locking works.
        return [0, EAGAIN, EACCES].contains(errorOfLocking(descriptor, 1))
    }

    /// Unlocks a byte.
    static func unlock(_ descriptor: Int32, byte: Int) {
        var lock = request(byte)
        lock.l_type = Int16(F_UNLCK)
        _ = fcntl(descriptor, 37, &lock)
    }

    /// Whether another open file has locked a byte.
    static func isLocked(_ descriptor: Int32, byte: Int) -> Bool {
        var lock = request(byte)
        // F_OFD_GETLK.
        return fcntl(descriptor, 36, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }

    private static func request(_ byte: Int) -> flock {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(byte)
        lock.l_len = 1
        return lock
    }
}
