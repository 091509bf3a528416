// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Glibc
import MediaTypes
import Synchronization
import Testing

/// A program that a test runs. It is killed when it is not needed any more.
final class SoundProgram: Sendable {
    let process: pid_t
    /// How it has ended, as `waitpid` tells.
    private let status = Mutex<Int32?>(nil)

    /// Starts a program of the system.
    ///
    /// - Parameters:
    ///   - environment: What it gets in addition to the test's variables, or instead of them.
    ///   - output: The file that gets what it writes.
    init(_ arguments: [String], environment: [String: String], output: String) throws {
        var variables = environment
        for entry in 0... {
            guard let text = environ[entry] else { break }
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            if variables[name] == nil { variables[name] = parts.count > 1 ? String(parts[1]) : "" }
        }
        var (words, settings) = (arguments.map { strdup($0) }, variables.map { strdup("\($0)=\($1)") })
        defer { for text in words + settings { free(text) } }
        words.append(nil)
        settings.append(nil)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var process: pid_t = 0
        let status = posix_spawnp(&process, arguments[0], &actions, nil, words, settings)
        guard status == 0 else {
            throw MediaError(.unavailable, "the program does not start", given: arguments[0], status: Int(status))
        }
        self.process = process
    }

    deinit {
        kill()
        _ = finish()
    }

    /// Kills the program, if it has not been waited for; it is waited for later.
    func kill(_ signal: Int32 = SIGKILL) {
        status.withLock { if $0 == nil { _ = Glibc.kill(process, signal) } }
    }

    /// Waits for the end, and returns the exit status; -1 if it was killed.
    func finish() -> Int32 {
        status.withLock { status in
            var ended = status ?? 0
            if status == nil {
                while waitpid(process, &ended, 0) < 0, errno == EINTR {}
                status = ended
            }
            // WIFEXITED and WEXITSTATUS.
            return ended & 0x7f == 0 ? ended >> 8 & 0xff : -1
        }
    }
}

/// A folder that is removed at the end.
final class SoundFolder: Sendable {
    let path: String

    init() throws {
        var name = Array("/tmp/sound.XXXXXX".utf8CString)
        guard mkdtemp(&name) != nil else { throw MediaError(.inputOutput, "no folder", status: Int(errno)) }
        path = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        let remover = try? SoundProgram(["rm", "-rf", path], environment: [:], output: "/dev/null")
        _ = remover?.finish()
    }

    func write(_ bytes: [UInt8], to name: String) throws -> String {
        let file = "\(path)/\(name)"
        guard let stream = fopen(file, "w") else {
            throw MediaError(.inputOutput, "the file cannot be written", given: file, status: Int(errno))
        }
        defer { fclose(stream) }
        guard fwrite(bytes, 1, bytes.count, stream) == bytes.count else {
            throw MediaError(.inputOutput, "the file cannot be written", given: file)
        }
        return file
    }

    func text(_ name: String) -> String {
        guard let stream = fopen("\(path)/\(name)", "r") else { return "" }
        defer { fclose(stream) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, stream)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

/// Tests of sound servers, one at a time: they share the files of the client's libraries.
@Suite(.blocks, .serialized) struct SoundServerTests {}

/// A sound server with a null sink `out`, in a folder of its own.
final class SoundServer: Sendable {
    enum Kind: String, CaseIterable, Sendable { case pulseAudio, pipeWire }

    let kind: Kind
    let folder: SoundFolder
    let address: String
    private let programs: [SoundProgram]
    private let environment: [String: String]

    init(_ kind: Kind) throws {
        let folder = try SoundFolder()
        (self.kind, self.folder) = (kind, folder)
        let path = folder.path
        let log = "\(path)/log"
        var environment = [
            "HOME": path, "XDG_RUNTIME_DIR": path, "XDG_CONFIG_HOME": path, "XDG_STATE_HOME": path,
            "PULSE_RUNTIME_PATH": "\(path)/pulse", "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(path)/bus",
        ]
        address = "unix:\(path)/pulse/native"
        environment["PULSE_SERVER"] = address
        self.environment = environment
        func start(_ arguments: String...) throws -> SoundProgram {
            try SoundProgram(arguments, environment: environment, output: log)
        }
        switch kind {
        case .pulseAudio:
            programs = [
                try start(
                    "pulseaudio",
                    "-n",
                    "--daemonize=no",
                    "--exit-idle-time=-1",
                    "--use-pid-file=no",
                    "-L",
                    "module-native-protocol-unix auth-anonymous=1 socket=\(path)/pulse/native",
                    "-L",
                    "module-null-sink sink_name=out rate=48000 channels=2"
                )
            ]
        case .pipeWire:
            let bus = try start("dbus-daemon", "--session", "--nofork", "--address=unix:path=\(path)/bus")
            try Self.wait(for: "\(path)/bus", log: folder)
            let server = try start("pipewire")
            try Self.wait(for: "\(path)/pipewire-0", log: folder)
            programs = [bus, server, try start("wireplumber"), try start("pipewire-pulse")]
        }
        try Self.wait(for: "\(path)/pulse/native", log: folder)
        try waitForAnswer()
        if kind == .pipeWire {
            try control("load-module", "module-null-sink", "sink_name=out", "rate=48000", "channels=2")
            try waitForAnswer("Default Sink: out\n")
        }
    }

    deinit {
        // The folder is removed when nothing writes into it any more.
        kill()
        for program in programs { _ = program.finish() }
    }

    private static func wait(for path: String, log: SoundFolder) throws {
        for _ in 0..<6000 {
            if access(path, F_OK) == 0 { return }
            usleep(10_000)
        }
        throw MediaError(.unavailable, "the sound server does not start: \(log.text("log"))", given: path)
    }

    /// Waits until the server answers, and says a text.
    private func waitForAnswer(_ text: String = "") throws {
        for attempt in 0..<600 {
            let output = "info\(attempt)\(text.count)"
            if (try? control("info", output: output)) != nil, folder.text(output).contains("Server Name:"),
                text.isEmpty || folder.text(output).contains(text)
            {
                return
            }
            usleep(100_000)
        }
        throw MediaError(.unavailable, "the sound server does not answer: \(folder.text("log"))", given: text)
    }

    /// Runs `pactl`.
    func control(_ arguments: String..., output: String = "control") throws {
        let program = try SoundProgram(
            ["pactl", "--server=\(address)"] + arguments,
            environment: environment,
            output: "\(folder.path)/\(output)"
        )
        guard program.finish() == 0 else {
            throw MediaError(
                .inputOutput,
                "pactl fails: \(folder.text(output)) \(folder.text("log"))",
                given: "\(arguments)"
            )
        }
    }

    /// Plays a file of samples at 48 kHz in stereo.
    func play(_ file: String, format: String) throws -> SoundProgram {
        try SoundProgram(
            [
                "pacat", "--server=\(address)", "--playback", "--raw", "--rate=48000", "--channels=2",
                "--format=\(format)", "--device=out", "--latency-msec=2000", file,
            ],
            environment: environment,
            output: "\(folder.path)/player"
        )
    }

    /// Ends the server without a farewell.
    func kill() { for program in programs { program.kill() } }
}
