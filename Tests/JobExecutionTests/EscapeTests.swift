// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import JobExecution
import MediaTypes
import TestSupport
import Testing

/// What a confined program can reach, and what it cannot: the same attempts with confinement and without it.
@Suite(.timeLimit(.minutes(60))) struct EscapeTests {
    private let bench: Workbench
    private let listeners: Listeners

    init() throws {
        bench = try Workbench()
        for name in ["secret", "removable", "changeable"] { try bench.write("of no concern to a task\n", to: name) }
        try FileManager.default.createDirectory(atPath: bench.path("granted"), withIntermediateDirectories: false)
        symlink(bench.path("secret"), bench.path("granted/way-out"))
        listeners = try Listeners(path: bench.path("socket"))
    }

    private func errors(_ output: some Collection<UInt8>) -> [String: Int32] {
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
        return Dictionary(
            uniqueKeysWithValues: lines.compactMap { line in
                let words = line.split(separator: " ")
                return words.count == 2 ? Int32(words[1]).map { (String(words[0]), $0) } : nil
            }
        )
    }

    private func command(network: Bool = false) throws -> ConfinedCommand {
        let arguments = ["escape", bench.folder, "\(getpid())", "\(listeners.port)", bench.path("socket")]
        var command = ConfinedCommand(try BuiltProgram.path("ConfinedProgram"), arguments)
        command.writable = [bench.path("granted")]
        command.network = network
        command.requiresConfinement = true
        command.output = .captured(limit: 100_000)
        return command
    }

    private static let files = [
        "read-secret", "read-secret-by-link", "list-folder", "write-file", "make-in-folder", "make-in-tmp",
        "make-in-shm", "make-folder", "remove-file", "read-environment", "open-memory",
        "read-passwords", "follow-link", "make-symbolic-link", "start-program", "truncate-file",
    ]
    private static let calls = [
        "change-mode", "signal-victim", "signal-thread-of-victim", "trace", "mount", "new-namespace",
        "internet-socket", "make-ring", "open-counter", "make-map", "use-keys", "change-limit", "change-priority",
        "change-affinity", "message-queue", "other-semaphore", "connect-by-tcp", "connect-by-path",
        "pair-of-datagrams", "signal-launcher", "signal-host", "signal-everything",
    ]
    private static let needed = [
        "new-process", "run-thread", "write-granted", "move-granted", "truncate-granted", "remove-granted",
        "pair-of-streams", "no-other-descriptors",
    ]
    /// Landlock reports that two folders are like two file systems.
    private static let moves = ["make-hard-link", "move-out", "make-link"]

    @Test func nothingGetsOut() async throws {
        let result = try await bench.host.run(try command())
        #expect(result.ending == .exited(0), "\(result)")
        let errors = errors(result.output)
        for name in Self.files { #expect(errors[name] == EACCES, "\(name)") }
        for name in Self.calls { #expect(errors[name] == EPERM, "\(name)") }
        for name in Self.moves { #expect([EACCES, EXDEV, EPERM].contains(errors[name] ?? 0), "\(name)") }
        for name in Self.needed { #expect(errors[name] == 0, "\(name)") }
        #expect(Set(errors.keys) == Set(Self.files + Self.calls + Self.moves + Self.needed))
        #expect(listeners.hasVisitor == false)
        #expect(bench.text("secret") == "of no concern to a task\n")
    }

    /// Else the test before would pass for attempts that are no good.
    @Test func withoutConfinementTheAttemptsWork() throws {
        let command = try command()
        var arguments = command.arguments
        // Not this process, which somebody may trace, and not everything that runs.
        let victim = Process()
        victim.executableURL = URL(fileURLWithPath: "/bin/sleep")
        victim.arguments = ["600"]
        try victim.run()
        defer {
            kill(victim.processIdentifier, SIGKILL)
            victim.waitUntilExit()
        }
        arguments[2] = "\(victim.processIdentifier)"
        let (output, status) = try Workbench.run("/usr/bin/env", ["ATTEMPTS=harmless", command.program] + arguments)
        #expect(status == 0, "\(output)")
        let errors = errors(output.utf8)
        let common = [
            "read-secret", "read-secret-by-link", "list-folder", "write-file", "make-in-folder", "make-in-tmp",
            "make-folder", "remove-file", "read-environment", "read-passwords", "follow-link",
            "make-symbolic-link", "start-program", "change-mode", "signal-victim", "internet-socket",
            "change-limit", "change-priority", "change-affinity", "message-queue", "other-semaphore",
            "connect-by-tcp", "connect-by-path", "pair-of-datagrams", "signal-launcher", "signal-host",
            "make-hard-link", "move-out", "make-link",
        ]
        for name in common + Self.needed where name != "no-other-descriptors" {
            #expect(errors[name] == 0, "\(name)")
        }
    }

    @Test func theNetworkIsReachableIfItIsGranted() async throws {
        let errors = errors(try await bench.host.run(try command(network: true)).output)
        #expect(errors["connect-by-tcp"] == 0 && errors["internet-socket"] == 0)
        #expect(errors["connect-by-path"] == EPERM && errors["read-secret"] == EACCES)
        #expect(listeners.hasVisitor)
    }

    // MARK: - Kernels that do not have it all

    /// A host on a kernel where calls fail.
    private func host(refusing calls: String) throws -> ProcessHost {
        let programs = try ["SandboxEscapes", "ConfinedProgram"].map { try BuiltProgram.path($0) }
        return try ProcessHost(
            launcher: [programs[0], "--refuse", "\(ENOSYS)", calls, programs[1], Confinement.subcommand]
        )
    }

    @Test(arguments: [
        ("landlock_create_ruleset", "Landlock: landlock_create_ruleset failed", "read-secret", "internet-socket"),
        ("seccomp", "seccomp: seccomp failed", "pair-of-datagrams", "read-secret"),
    ])
    func whatIsMissingIsToldAndTheRestHolds(calls: String, text: String, open: String, closed: String) async throws {
        let host = try host(refusing: calls)
        var command = try command()
        command.requiresConfinement = false
        let result = try await host.run(command)
        #expect(result.limitations.count == 1 && result.limitations.first?.hasPrefix(text) == true)
        let errors = errors(result.output)
        #expect(errors[open] == 0 && [EACCES, EPERM].contains(errors[closed] ?? 0))

        command.requiresConfinement = true
        let error = await #expect(throws: MediaError.self) { try await host.run(command) }
        #expect(error?.code == .unavailable && error?.message.contains(text) == true)
    }

    /// The host is killed, and so are the program and what it has started, although that has nothing to do with it.
    @Test func nothingOutlivesAHost() async throws {
        let mark = "100\(UInt32.random(in: 1_000...9_999))"
        let program = try BuiltProgram.path("ConfinedProgram")
        let script = "sleep \(mark) & (trap '' HUP TERM; sleep \(mark)) & echo ready >&2; sleep \(mark)"
        let host = Process()
        host.executableURL = URL(fileURLWithPath: program)
        host.arguments = ["host", program, "/bin/sh", "-c", script]
        let pipe = Pipe()
        host.standardOutput = pipe
        try host.run()
        let said = try #require(try pipe.fileHandleForReading.read(upToCount: 6))
        #expect(String(decoding: said, as: UTF8.self) == "ready\n")
        #expect(!Workbench.processes(with: mark).isEmpty)
        kill(host.processIdentifier, SIGKILL)
        host.waitUntilExit()
        #expect(await Patience.wait { Workbench.processes(with: mark).isEmpty })
    }
}

/// Sockets on which somebody listens.
private final class Listeners: Sendable {
    let port: UInt16
    private let internet: Int32
    private let local: Int32

    init(path: String) throws {
        internet = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        local = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let number = internet
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, size) == 0 && listen(number, 8) == 0 && getsockname(number, $0, &size) == 0
            }
        }
        try #require(isBound)
        port = UInt16(bigEndian: address.sin_port)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
        let other = local
        let isNamed = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(other, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(other, 8) == 0
            }
        }
        try #require(isNamed)
    }

    deinit {
        close(internet)
        close(local)
    }

    /// Whether somebody has connected by TCP.
    var hasVisitor: Bool {
        let visitor = accept(internet, nil, nil)
        if visitor >= 0 { close(visitor) }
        return visitor >= 0
    }
}
