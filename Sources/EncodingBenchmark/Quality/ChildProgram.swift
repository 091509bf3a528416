// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import MediaTypes

/// Another program that reads standard input and writes output. It is ended when this object is released.
final class ChildProgram {
    private let name: String
    private let outputPath: String
    private var process: pid_t
    private var input: Int32

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - words: Its path and its arguments.
    ///   - folder: Its working folder, which also stores its output.
    init(_ words: [String], folder: String) throws(MediaError) {
        name = words[0]
        outputPath = folder + "/output"
        var ends: [Int32] = [-1, -1]
        // Not a pipe: writing to a socket without a reader is an error and not a signal.
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw systemFailure("socketpair", "a program cannot be started", name)
        }
        defer { close(ends[1]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 0)
        posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        _ = linux_spawn_close_from(&actions, 3)
        _ = linux_spawn_in_folder(&actions, folder)
        input = ends[0]
        process = 0
        do throws(MediaError) {
            process = try startProgram(words, "a program cannot be started", &actions)
        } catch {
            close(input)
            input = -1
            throw error
        }
    }

    deinit {
        if input >= 0 { close(input) }
        guard process > 0 else { return }
        kill(process, SIGKILL)
        _ = wait()
    }

    /// Writes bytes to its input; blocks until it has read nearly all of them.
    ///
    /// - Throws: `inputOutput` if it no longer reads.
    func write(_ bytes: [UInt8]) throws(MediaError) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes { rest in
                send(input, rest.baseAddress.map { $0 + offset }, rest.count - offset, Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw systemFailure("send", "a program no longer reads its input", name)
            }
            offset += count
        }
    }

    /// Closes its input and waits for its end.
    ///
    /// - Returns: Its output.
    /// - Throws: `unsupported` with the end of its output if it failed.
    func finish() throws(MediaError) -> String {
        close(input)
        input = -1
        let status = wait()
        process = 0
        let output = (try? BenchmarkFile.text(outputPath)) ?? ""
        guard status == 0 else {
            let last = output.split(separator: "\n").suffix(2).joined(separator: "; ")
            throw MediaError(.unsupported, "\(name) failed: \(last)", status: Int(status), isPermanent: true)
        }
        return output
    }

    private func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status
    }
}
