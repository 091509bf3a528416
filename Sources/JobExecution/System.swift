// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import MediaTypes

/// A descriptor that is closed with its last reference.
final class OwnedDescriptor: Sendable {
    let number: Int32

    init(owning number: Int32) { self.number = number }

    deinit { close(number) }

    /// Duplicates a descriptor, close-on-exec, with a number that is none of a child's.
    static func duplicate(_ number: Int32) throws(MediaError) -> OwnedDescriptor {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 16)
        guard copy >= 0 else { throw callError("fcntl(F_DUPFD_CLOEXEC)", "a descriptor cannot be handed over") }
        return OwnedDescriptor(owning: copy)
    }

    /// A duplicate in place of this one.
    func moved() throws(MediaError) -> OwnedDescriptor {
        defer { withExtendedLifetime(self) {} }
        return try Self.duplicate(number)
    }
}

/// The error of the system call that has just failed.
func callError(_ call: String, _ message: String) -> MediaError {
    callError(call, message, status: errno)
}

/// The error of a call with this `errno`.
func callError(_ call: String, _ message: String, status: Int32) -> MediaError {
    let lacksDescriptors = status == EMFILE || status == ENFILE
    return MediaError(
        [ENOMEM, EAGAIN, EMFILE, ENFILE, ENOBUFS].contains(status) ? .outOfMemory : .inputOutput,
        "\(message): \(String(cString: strerror(status)))",
        call: call,
        status: Int(status),
        cause: lacksDescriptors ? .outOfDescriptors : nil,
        remedies: lacksDescriptors ? ["allow more open files: ulimit -n 65536"] : []
    )
}

/// Whether the call that has just failed would have waited.
func wouldBlock() -> Bool { errno == EAGAIN || errno == EINTR }

/// The text of a file below `/proc`, as far as it is needed; `nil` if it is gone.
func kernelText(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(file, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
}
