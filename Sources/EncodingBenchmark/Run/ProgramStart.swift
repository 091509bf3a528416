// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// Starts a program as the leader of a new process group, with no signal blocked. This program blocks signals to wait
/// for them, and handles those of the terminal itself.
///
/// - Parameters:
///   - words: The program's path and its arguments.
///   - message: The error message if it cannot be started.
///   - actions: The posix_spawn(3) actions on descriptors and the folder; `nil` for none.
/// - Returns: The process ID. The caller must wait for the process.
/// - Throws: `unavailable` if it cannot be started.
func startProgram(
    _ words: [String],
    _ message: String,
    _ actions: UnsafePointer<posix_spawn_file_actions_t>? = nil
) throws(MediaError) -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
    let arguments = words.map { strdup($0) } + [nil]
    defer { arguments.forEach { free($0) } }
    var process = pid_t()
    let status = posix_spawn(&process, words[0], actions, &attributes, arguments, environ)
    guard status == 0 else {
        throw MediaError(
            .unavailable,
            "\(message): \(String(cString: strerror(status)))",
            given: words[0],
            call: "posix_spawn",
            status: Int(status)
        )
    }
    return process
}
