// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import TestSupport
import Testing

/// A program that was started, and ends with the value if it has not ended before.
final class RunningProgram {
    let pid: pid_t
    private let scratch: Scratch
    private let name: String
    private var status: Int32?

    /// Starts a program with standard streams in files of the folder, with no signal blocked or ignored: whoever runs
    /// the tests in the background has SIGINT ignored.
    init(_ arguments: [String], input: String = "/dev/null", in scratch: Scratch) throws {
        self.scratch = scratch
        name = "program-" + UUID().uuidString
        let (output, errors) = (scratch.path("\(name).out"), scratch.path("\(name).err"))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT, 0o600)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        // env(1) changes the folder and becomes the program. What is known of devices is that of the test.
        let state = "VATOOLBOX_STATE=\(scratch.path("program-state"))"
        let pointers = (["env", "-C", scratch.folder, state] + arguments).map { strdup($0) } + [nil]
        defer { pointers.forEach { free($0) } }
        var pid = pid_t()
        let code = posix_spawnp(&pid, "env", &actions, &attributes, pointers, environ)
        try #require(code == 0, "\(arguments[0]): \(String(cString: strerror(code)))")
        self.pid = pid
    }

    deinit {
        guard status == nil else { return }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    var output: String { scratch.text("\(name).out") }
    var errors: String { scratch.text("\(name).err") }

    func signal(_ signal: Int32) { kill(pid, signal) }

    /// Waits until it says that on standard error.
    func wait(untilErrorsContain text: String) throws {
        try wait(until: "it says \(text)") { errors.contains(text) }
    }

    /// Waits until something has happened; fails if the program ends before that.
    func wait(until what: String, _ condition: () -> Bool) throws {
        let isSo = try Patience.block {
            if condition() { return true }
            var code: Int32 = 0
            if status == nil, waitpid(pid, &code, WNOHANG) == pid { status = code }
            guard status == nil || condition() else {
                Issue.record("ended before \(what): \(errors)")
                throw CancellationError()
            }
            return false
        }
        try #require(isSo, "not in time: \(what): \(errors)")
    }

    /// Waits for its end.
    ///
    /// - Returns: Its exit status; above 1000 the signal that killed it.
    func end() -> Int32 {
        var code = status ?? 0
        if status == nil { while waitpid(pid, &code, 0) < 0 && errno == EINTR {} }
        status = code
        return code & 0x7F == 0 ? (code >> 8) & 0xFF : 1000 + (code & 0x7F)
    }
}

/// What a program left behind.
struct ProgramResult {
    let status: Int32
    let output: String
    let errors: String

    var errorLines: [String] { errors.split(separator: "\n").map(String.init) }
}

/// A folder of one test, deleted with the value.
final class Scratch: Sendable {
    let folder: String

    init() throws {
        folder = NSTemporaryDirectory() + "vatoolbox-command-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func path(_ name: String) -> String { folder + "/" + name }

    func text(_ name: String) -> String { (try? String(contentsOfFile: path(name), encoding: .utf8)) ?? "" }

    func data(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path(name))) }

    /// The names in the folder, apart from what the programs of a test said.
    var names: [String] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return all.filter { !$0.hasPrefix("program-") }.sorted()
    }

    /// The sizes of files that are being written.
    var unfinishedSizes: [Int] {
        names.filter { $0.hasPrefix(".vatoolbox-") }.map { name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: path(name))
            return (attributes?[.size] as? NSNumber)?.intValue ?? 0
        }
    }

    /// Runs a program to its end.
    func run(_ arguments: String..., input: String = "/dev/null") throws -> ProgramResult {
        try run(arguments, input: input)
    }

    func run(_ arguments: [String], input: String = "/dev/null") throws -> ProgramResult {
        let program = try RunningProgram(arguments, input: input, in: self)
        let status = program.end()
        return ProgramResult(status: status, output: program.output, errors: program.errors)
    }

    /// Runs another program, which must succeed.
    @discardableResult
    func tool(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        try tool(arguments, sourceLocation: sourceLocation)
    }

    @discardableResult
    func tool(_ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        let result = try run(arguments)
        try #require(result.status == 0, "\(arguments): \(result.errors)", sourceLocation: sourceLocation)
        return result.output
    }

    /// Runs `vatoolbox` to its end.
    func vatoolbox(_ arguments: String..., input: String = "/dev/null") throws -> ProgramResult {
        try run([Self.vatoolbox] + arguments, input: input)
    }

    /// Runs `vatoolbox`, which must succeed.
    @discardableResult
    func encode(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) throws -> ProgramResult {
        try encode(arguments, sourceLocation: sourceLocation)
    }

    @discardableResult
    func encode(_ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation) throws -> ProgramResult {
        let result = try run([Self.vatoolbox, "encode"] + arguments)
        try #require(result.status == 0, "\(arguments): \(result.errors)", sourceLocation: sourceLocation)
        return result
    }

    /// Runs `vatoolbox --json`, whatever comes of it.
    func document(_ arguments: String...) throws -> [String: Any] {
        let result = try run([Self.vatoolbox] + arguments + ["--json"])
        let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        return try #require(value as? [String: Any])
    }

    /// The command as it was built, beside the tests.
    static let vatoolbox = (try? BuiltProgram.path("vatoolbox")) ?? "vatoolbox was not built"
}
