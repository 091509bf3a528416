// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// Returns the error of a system call, with the description of `errno`.
func systemFailure(_ call: String, _ message: String, _ given: String? = nil) -> MediaError {
    let code = errno
    return MediaError(
        code == ENOMEM ? .outOfMemory : .inputOutput,
        "\(message): \(String(cString: strerror(code)))",
        given: given,
        call: call,
        status: Int(code)
    )
}

/// A file that is open for writing. It is closed with its last reference.
final class OpenFile: Sendable {
    let descriptor: Int32
    let path: String

    /// Opens or creates a file.
    ///
    /// - Parameter flags: The flags of open(2), in addition to those for writing.
    /// - Throws: `inputOutput`.
    init(_ path: String, _ flags: Int32) throws(MediaError) {
        descriptor = open(path, O_WRONLY | O_CLOEXEC | flags, 0o644)
        self.path = path
        if descriptor < 0 { throw systemFailure("open", "a file of the benchmark cannot be written", path) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Locks the file until it is closed.
    ///
    /// - Returns: `false` if another process has locked it.
    /// - Throws: `inputOutput` if files cannot be locked there.
    func lock() throws(MediaError) -> Bool {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { return false }
            if errno != EINTR { throw systemFailure("flock", "a file of the benchmark cannot be locked", path) }
        }
        return true
    }

    /// Writes all bytes.
    ///
    /// - Throws: `inputOutput`.
    func write(_ bytes: [UInt8]) throws(MediaError) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes { rest in
                Glibc.write(descriptor, rest.baseAddress.map { $0 + offset }, rest.count - offset)
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw systemFailure("write", "a file of the benchmark cannot be written", path)
            }
            offset += count
        }
    }
}
