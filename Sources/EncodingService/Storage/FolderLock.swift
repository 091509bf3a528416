// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem

/// A file that one process has locked, until this object or the process ends.
///
/// On a network file system, the lock holds among machines if its server keeps locks (NFS 4 does).
final class FolderLock: Sendable {
    private let descriptor: Int32

    /// Locks a file, which is made if it is not there.
    ///
    /// - Parameters:
    ///   - path: Its path.
    ///   - holder: What another process that has it is, such as `the node a`.
    /// - Throws: `SettingsError` if another process has it; `FileError`.
    init(_ path: String, holder: String, allowed: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileError("open", path) }
        // A process that is just ending has the lock a moment longer.
        var attempts = 50
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let status = errno
            attempts -= 1
            guard status == EWOULDBLOCK || status == EINTR, attempts > 0 else {
                close(descriptor)
                guard status == EWOULDBLOCK else { throw FileError("flock", path, status: status) }
                throw SettingsError("another process is \(holder)", given: path, allowed: allowed)
            }
            usleep(20_000)
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
