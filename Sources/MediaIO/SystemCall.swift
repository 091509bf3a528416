// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// Makes a system call again for as long as a signal interrupts it.
///
/// - Returns: What the call returned, and its `errno` if that is below zero, else 0.
func retryingOnInterrupt<Value: SignedInteger>(_ call: () -> Value) -> (value: Value, error: Int32) {
    while true {
        let value = call()
        if value >= 0 { return (value, 0) }
        let error = errno
        if error != EINTR { return (value, error) }
    }
}

/// The folder that the system wants temporary files in: that of `TMPDIR`, if it names one.
package var temporaryFolder: String {
    let named = getenv("TMPDIR").map { String(cString: $0) } ?? ""
    return named.isEmpty ? "/tmp" : named
}

extension MediaError {
    /// The error of a system call about a path.
    ///
    /// - Parameters:
    ///   - message: What could not be done, in words for a person; the system's own text is put behind it.
    ///   - path: The path at fault.
    ///   - error: The call's `errno`.
    init(_ message: String, path: String, call: String, error: Int32) {
        self.init(
            error == ENOMEM || error == EMFILE || error == ENFILE ? .outOfMemory : .inputOutput,
            "\(message): \(String(cString: strerror(error)))",
            given: path,
            call: call,
            status: Int(error)
        )
    }
}
