// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import Testing

/// Runs programs.
enum Programs {
    /// Runs a program to its end.
    static func run(
        _ path: String,
        _ arguments: [String],
        _ environment: [String: String] = [:]
    ) throws -> (output: String, status: Int32) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (String(decoding: output, as: UTF8.self), process.terminationStatus)
    }
}

/// What the program `SandboxEscapes` may reach for.
final class EscapeTargets {
    let folder: URL
    let home: URL
    /// A process that waits, as long as this lives.
    private let victim = Process()
    private let listener: Int32
    private let socketName = "vatoolbox-escape-\(getpid())-\(UInt32.random(in: 0 ... .max))"

    init() throws {
        let temporary = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
        folder = temporary.appendingPathComponent("vatoolbox-escape-\(UUID().uuidString)")
        home = folder.appendingPathComponent("home")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        for name in ["secret", "removable", "changeable"] {
            try Data("of no concern to an encoder\n".utf8).write(to: folder.appendingPathComponent(name))
        }
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try listen()
        victim.executableURL = URL(fileURLWithPath: "/bin/sleep")
        victim.arguments = ["600"]
        try victim.run()
    }

    deinit {
        kill(victim.processIdentifier, SIGKILL)
        victim.waitUntilExit()
        close(listener)
        try? FileManager.default.removeItem(at: folder)
    }

    var isVictimAlive: Bool { victim.isRunning }

    private func listen() throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            for (index, byte) in socketName.utf8.enumerated() { path[index + 1] = byte }
        }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + 1 + socketName.utf8.count)
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) }
        }
        try #require(bound == 0 && Glibc.listen(listener, 64) == 0)
    }

    /// The arguments of `SandboxEscapes`.
    func arguments(library: String) throws -> [String] {
        let id = victim.processIdentifier
        let maps = try String(contentsOfFile: "/proc/\(id)/maps", encoding: .utf8)
        let memory = try #require(UInt64(maps.prefix { $0 != "-" }, radix: 16))
        return [folder.path, "\(id)", "\(memory)", socketName, "/dev/zero", library]
    }
}
