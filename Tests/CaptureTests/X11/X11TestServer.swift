// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Glibc
import TestSupport
import Testing

/// A display server without a screen, Xvfb, on a display that nobody uses. It ends with the value.
final class X11TestServer {
    /// The name of the display, such as `:99`.
    let display: String
    let width: Int
    let height: Int
    private let process: pid_t
    private var isRunning = true

    init(width: Int = 320, height: Int = 240, depth: Int = 24, _ arguments: [String] = []) throws {
        (self.width, self.height) = (width, height)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let (output, input) = (ends[0], ends[1])
        defer { close(output) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 9)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        // With no signal blocked or ignored, as threads that run tests may have them.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGTERM, SIGHUP, SIGPIPE, SIGUSR1] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        let line =
            ["Xvfb", "-displayfd", "9", "-noreset", "-screen", "0", "\(width)x\(height)x\(depth)"] + arguments
        let pointers = line.map { strdup($0) } + [nil]
        defer { pointers.forEach { free($0) } }
        var process = pid_t()
        let status = posix_spawnp(&process, "Xvfb", &actions, &attributes, pointers, environ)
        close(input)
        try #require(status == 0, "Xvfb is not installed: \(String(cString: strerror(status)))")
        self.process = process
        var text = ""
        while !text.contains("\n") {
            var bytes = [UInt8](repeating: 0, count: 64)
            let limit = Int32(Patience.limit.components.seconds) * 1000
            guard isReadable(output, within: limit), case let count = read(output, &bytes, bytes.count), count > 0
            else {
                break
            }
            text += String(decoding: bytes[..<count], as: UTF8.self)
        }
        display = ":" + text.prefix { $0 != "\n" }
        if !text.contains("\n") {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
            try #require(text.contains("\n"), "Xvfb has not started")
        }
    }

    deinit { end(SIGTERM) }

    func signal(_ number: Int32) { kill(process, number) }

    /// Ends the server and waits for that.
    func end(_ number: Int32) {
        guard isRunning else { return }
        isRunning = false
        kill(process, SIGCONT)
        kill(process, number)
        let hasEnded = Patience.block { waitpid(process, nil, WNOHANG) != 0 }
        if !hasEnded {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
        }
        // One that was killed leaves its files.
        unlink("/tmp/.X\(display.dropFirst())-lock")
        unlink("/tmp/.X11-unix/X\(display.dropFirst())")
    }
}

/// Runs a command of the shell and returns what it writes to its standard output.
func x11Output(_ command: String) throws -> [UInt8] {
    let stream = try #require(popen(command, "re"))
    var output: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 65536)
    while case let count = fread(&block, 1, block.count, stream), count > 0 { output += block[..<count] }
    #expect(pclose(stream) == 0, "\(command)")
    return output
}
