// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import JobStore

/// A PostgreSQL server of the tests, in a folder of its own and reachable by a socket there. It ends with this process,
/// however that ends.
///
/// `VATOOLBOX_POSTGRESQL` names the folder of its programs; otherwise the newest of Debian's is used.
final class PostgreSQLServer: Sendable {
    let folder: String
    private let process: Mutex<Running?>

    /// A server that runs as long as its input is open.
    private struct Running {
        var process: Process
        var input: Pipe
    }

    /// The server that tests share which do not stop it.
    static func shared() throws -> PostgreSQLServer { try sharedServer.get() }
    private static let sharedServer = Result { try PostgreSQLServer() }

    init() throws {
        folder = "/tmp/vt-postgresql-\(UUID().uuidString.prefix(8))"
        process = Mutex(nil)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if geteuid() == 0, let user = getpwnam("postgres") { chown(folder, user.pointee.pw_uid, user.pointee.pw_gid) }
        try Self.run(["initdb", "-D", folder + "/data", "-U", "vatoolbox", "-A", "trust", "--no-sync", "-E", "UTF8"])
        try start()
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The location of a database.
    func location(_ database: String = "postgres") -> String {
        "host=\(folder) user=vatoolbox dbname=\(database)"
    }

    /// Starts the server, and waits until it takes connections.
    func start() throws {
        let (process, input) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/bin/sh")
        let settings = [
            "-c", "listen_addresses=", "-c", "unix_socket_directories=\(folder)", "-c", "max_connections=200",
            "-c", "fsync=off",
        ]
        // The shell becomes the server. What it leaves behind, which is not the server's child, ends it when the input
        // ends, and removes the folder if nobody else is there to do it.
        let script = """
            folder=$1; shift; exec 3<&0
            ( (read -r why <&3; kill -QUIT $$; [ "$why" = stop ] && exit
            while kill -0 $$; do sleep 0.1; done; until rm -rf "$folder"; do sleep 0.1; done) >/dev/null 2>&1 & )
            exec "$@" >>"$folder/log" 2>&1 </dev/null 3<&-
            """
        let command = try Self.command(["postgres", "-D", folder + "/data"] + settings)
        process.arguments = ["-c", script, "sh", folder] + command
        process.standardInput = input
        // Only this process must hold it open.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try process.run()
        let location = location()
        let limit = ContinuousClock.now + .seconds(600)
        while (try? PostgreSQLConnection(location)) == nil {
            try #require(process.isRunning && .now < limit, "PostgreSQL does not start: see \(folder)/log")
            usleep(50_000)
        }
        self.process.withLock { $0 = Running(process: process, input: input) }
    }

    /// Stops the server as a crash would (immediate shutdown).
    func stop() {
        let running = process.withLock { running in
            defer { running = nil }
            return running
        }
        try? running?.input.fileHandleForWriting.write(contentsOf: Data("stop\n".utf8))
        try? running?.input.fileHandleForWriting.close()
        running?.process.waitUntilExit()
    }

    /// Creates a database with the store's tables.
    ///
    /// - Returns: Its location.
    func makeDatabase() async throws -> String {
        let location = try makeEmptyDatabase()
        _ = try await PostgreSQLJobStore.migrate(location)
        return location
    }

    /// Creates a database, and returns its location.
    func makeEmptyDatabase() throws -> String {
        let name = "vt_\(UUID().uuidString.replacing("-", with: "").lowercased())"
        _ = try PostgreSQLConnection(location()).execute("CREATE DATABASE \(name)")
        return location(name)
    }

    // MARK: Programs

    private static func run(_ arguments: [String]) throws {
        let process = Process()
        let command = try command(arguments)
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        (process.standardOutput, process.standardInput) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(arguments[0]) fails")
    }

    /// The command of a program of the server's, which refuses to run as root.
    private static func command(_ arguments: [String]) throws -> [String] {
        let user = ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        return (geteuid() == 0 ? user : []) + [try programs() + "/" + arguments[0]] + arguments.dropFirst()
    }

    private static func programs() throws -> String {
        if let folder = ProcessInfo.processInfo.environment["VATOOLBOX_POSTGRESQL"] { return folder }
        let versions = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql").compactMap { Int($0) }
        return "/usr/lib/postgresql/\(try #require(versions.max()))/bin"
    }
}
