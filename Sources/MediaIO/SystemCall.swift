// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// Repeats a system call as long as a signal interrupts it.
///
/// - Returns: The result of the call, and its `errno` if the result is negative, otherwise 0.
func retryingOnInterrupt<Value: SignedInteger>(_ call: () -> Value) -> (value: Value, error: Int32) {
    while true {
        let value = call()
        if value >= 0 { return (value, 0) }
        let error = errno
        if error != EINTR { return (value, error) }
    }
}

/// The folder for temporary files: `TMPDIR` if it names one, otherwise `/tmp`.
package var temporaryFolder: String {
    let named = getenv("TMPDIR").map { String(cString: $0) } ?? ""
    return named.isEmpty ? "/tmp" : named
}

extension MediaError {
    /// Makes the error of a system call on a path.
    ///
    /// - Parameters:
    ///   - message: The description of the failure for users, to which the system's description is appended.
    ///   - path: The path that caused it.
    ///   - error: The `errno` of the call.
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
