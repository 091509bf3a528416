// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import JobExecution
import Synchronization
import TestSupport

/// A folder for one test, with a host.
final class Workbench: Sendable {
    let folder: String
    let host: ProcessHost

    init(launcher: String = "ConfinedProgram") throws {
        let temporary = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path
        folder = "\(temporary)/vatoolbox-jobs-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        host = try ProcessHost(launcher: [try BuiltProgram.path(launcher), Confinement.subcommand])
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    func text(_ name: String) -> String { (try? String(contentsOfFile: path(name), encoding: .utf8)) ?? "" }

    func write(_ text: String, to name: String, mode: Int = 0o644) throws {
        try text.write(toFile: path(name), atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }

    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted() }

    /// A script of the shell, which may also start what a script needs.
    func script(_ text: String, _ change: (inout ConfinedCommand) -> Void = { _ in }) -> ConfinedCommand {
        var command = ConfinedCommand("/bin/sh", ["-c", text])
        command.otherPrograms = [
            "/bin/sleep", "/bin/cat", "/bin/mkdir", "/usr/bin/head", "/usr/bin/tail", "/usr/bin/setsid",
        ]
        command.environment = ["PATH": "/usr/bin:/bin"]
        command.writable = [folder]
        command.folder = folder
        command.cancellation = .immediate
        change(&command)
        return command
    }

    /// Runs a program without confinement, as a test has to for preparations.
    static func run(_ path: String, _ arguments: [String]) throws -> (output: String, status: Int32) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (String(decoding: output, as: UTF8.self), process.terminationStatus)
    }

    /// Processes whose command line contains a text.
    static func processes(with text: String) -> [Int32] {
        ProcessFiles.names("/proc").compactMap { Int32($0) }.filter { process in
            let bytes = (try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/cmdline"))) ?? Data()
            return String(decoding: bytes, as: UTF8.self).contains(text)
        }
    }
}

/// What a run says, as it says it.
final class Said<Value: Sendable>: Sendable {
    private let all = Mutex<[Value]>([])
    var values: [Value] { all.withLock { $0 } }
    func add(_ value: Value) { all.withLock { $0.append(value) } }
}
