// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Capture
import Glibc
import MediaTypes
import TestSupport

/// A PipeWire server, its session manager and a session bus in a folder of their own, while the value exists.
final class PipeWireRig {
    let folder: String
    private var servers: [TestProgram] = []

    /// The server's socket.
    var socket: String { folder + "/pipewire-0" }
    /// The address of the session bus.
    var bus: String { "unix:path=\(folder)/bus" }

    private static let busConfiguration = """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>unix:path=FOLDER/bus</listen>
          <policy context="default">
            <allow send_destination="*"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
          </policy>
        </busconfig>

        """

    init() throws {
        var template = Array("/tmp/vatoolbox-pipewire-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw MediaError(.inputOutput, "no folder", call: "mkdtemp") }
        folder = String(cString: made)
        try write(Self.busConfiguration.replacing("FOLDER", with: folder), to: "bus.conf")
        let bus = ["/usr/bin/dbus-daemon", "--config-file=\(folder)/bus.conf", "--nofork", "--print-address"]
        try start(bus) { $0.line() != nil }
        try start(["/usr/bin/pipewire"]) { _ in
            let stop = try StopSignal()
            return Patience.block { (try? PipeWireNode.list(remote: socket, stop: stop)) != nil }
        }
        servers.append(try TestProgram(["/usr/bin/wireplumber"], environment: environment))
    }

    deinit {
        for server in servers.reversed() { server.kill() }
        // Only what the servers have made is in the folder.
        if let remover = try? TestProgram(["/bin/rm", "-rf", folder], environment: []) { remover.waitForEnd() }
    }

    private var environment: [String] {
        [
            "PATH=/usr/bin:/bin", "HOME=\(folder)", "XDG_RUNTIME_DIR=\(folder)", "XDG_STATE_HOME=\(folder)/state",
            "DBUS_SESSION_BUS_ADDRESS=\(bus)",
        ]
    }

    private func write(_ text: String, to name: String) throws {
        guard let file = fopen("\(folder)/\(name)", "we") else {
            throw MediaError(.inputOutput, "no file", given: name)
        }
        defer { fclose(file) }
        fputs(text, file)
    }

    /// Starts a server, and waits until it answers.
    private func start(_ arguments: [String], until answers: (TestProgram) throws -> Bool) throws {
        let server = try TestProgram(arguments, environment: environment)
        servers.append(server)
        guard try answers(server) else {
            throw MediaError(.unavailable, "a server does not start", given: arguments[0])
        }
    }

    /// Kills the server of PipeWire.
    func killServer() { servers[1].kill() }

    /// Kills the session manager, so that nothing is linked any more.
    func killManager() { servers[2].kill() }

    /// Kills the session bus.
    func killBus() { servers[0].kill() }

    /// Starts a source of pictures, and waits for its node.
    ///
    /// - Parameter settings: As the program's usage says, besides `remote`.
    func source(_ settings: [String] = []) throws -> PictureSource {
        let path = try BuiltProgram.path("PipeWireProducer")
        return try PictureSource(TestProgram([path, "remote=\(socket)"] + settings, environment: environment))
    }

    /// Starts a desktop portal, and waits until it has its name.
    func portal(_ source: PictureSource? = nil, _ answers: [String] = [], node: UInt32 = 0) throws -> TestProgram {
        let path = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let program = try TestProgram(
            ["/usr/bin/python3", "\(path)/portal.py", socket, "\(source?.node ?? node)"] + answers,
            environment: environment
        )
        guard let line = program.line(), line.contains("ready") else {
            throw MediaError(.unavailable, "the portal of the tests does not start")
        }
        return program
    }
}

/// A source of pictures with a moving pattern.
final class PictureSource {
    let program: TestProgram
    let node: UInt32

    fileprivate init(_ program: TestProgram) throws {
        guard let line = program.line(), line.hasPrefix("node "), let node = UInt32(line.dropFirst(5)) else {
            throw MediaError(.unavailable, "the source of pictures does not start")
        }
        (self.program, self.node) = (program, node)
    }

    /// Ends the source.
    func end() {
        program.closeInput()
        program.waitForEnd()
    }
}

/// A program with a pipe to its input and one from its output. It is killed with the last reference.
final class TestProgram {
    private let process: pid_t
    private var input: Int32
    private let output: Int32
    private var received: [UInt8] = []
    private var isReaped = false

    init(_ arguments: [String], environment: [String]) throws {
        var (toProgram, fromProgram): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard linux_pipe(&toProgram) == 0, linux_pipe(&fromProgram) == 0 else {
            throw MediaError(.outOfMemory, "no pipe", call: "pipe2")
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toProgram[0], 0)
        posix_spawn_file_actions_adddup2(&actions, fromProgram[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        _ = linux_spawn_close_from(&actions, 3)
        var words = arguments.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for text in words + variables { free(text) } }
        var process = pid_t()
        let status = posix_spawn(&process, arguments[0], &actions, nil, &words, &variables)
        close(toProgram[0])
        close(fromProgram[1])
        (self.process, input, output) = (process, toProgram[1], fromProgram[0])
        guard status == 0 else {
            isReaped = true
            throw MediaError(.unavailable, "a program is missing", given: arguments[0], status: Int(status))
        }
    }

    deinit {
        kill()
        closeInput()
        close(output)
    }

    func kill() {
        guard !isReaped else { return }
        _ = Glibc.kill(process, SIGKILL)
        waitForEnd()
    }

    func waitForEnd() {
        guard !isReaped else { return }
        isReaped = true
        while waitpid(process, nil, 0) < 0, errno == EINTR {}
    }

    func closeInput() {
        if input >= 0 { close(input) }
        input = -1
    }

    func send(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(input, bytes, bytes.count)
    }

    /// Waits for the next line of the output; `nil` at its end, or if none comes.
    func line() -> String? {
        let end = ContinuousClock.now + Patience.limit
        while true {
            if let newline = received.firstIndex(of: UInt8(ascii: "\n")) {
                defer { received.removeSubrange(...newline) }
                return String(decoding: received[..<newline], as: UTF8.self)
            }
            guard ContinuousClock.now < end else { return nil }
            guard let bytes = read(waiting: 100) else { return nil }
            received += bytes
        }
    }

    /// Returns the lines that are there already.
    func lines() -> [String] {
        while let bytes = read(waiting: 0), !bytes.isEmpty { received += bytes }
        defer { received = [] }
        return String(decoding: received, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func read(waiting milliseconds: Int32) -> [UInt8]? {
        guard isReadable(output, within: milliseconds) else { return [] }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(output, &bytes, bytes.count)
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }
}

/// Waits until something can be read from a descriptor, or its other end is closed.
func isReadable(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
    let events = try? StopSignal().wait(for: [(descriptor: descriptor, events: Int16(POLLIN))], until: milliseconds)
    return events?.first ?? 0 != 0
}
