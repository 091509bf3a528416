// SPDX-License-Identifier: GPL-2.0-or-later

import CEscapes
import Glibc
import JobExecution
import MediaTypes

/// A launcher, a host that can be killed, and a program that tries to get out of its confinement.
///
///     ConfinedProgram confine …                          the launcher
///     ConfinedProgram host LAUNCHER PROGRAM [ARGUMENT]…  runs a program confined and prints each line that it logs
///     ConfinedProgram escape FOLDER HOST PORT SOCKET     prints `NAME ERRNO` for each attempt
@main enum ConfinedProgram {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        // Before anything opens a descriptor.
        _ = inherited
        switch words.first {
        case Confinement.subcommand: Confinement.enterAndExecute(Array(words.dropFirst()))
        case "host" where words.count > 2: await host(words[1], Array(words[2...]))
        case "escape" where words.count == 5: escape(words[1], host: pid_t(words[2]) ?? 0, words[3], socket: words[4])
        default: exit(64)
        }
    }

    // MARK: - Host

    private static func host(_ launcher: String, _ words: [String]) async {
        do {
            let host = try ProcessHost(launcher: [launcher, Confinement.subcommand])
            var command = ConfinedCommand(words[0], Array(words.dropFirst()))
            command.otherPrograms = ["/bin/sh", "/bin/sleep"]
            let result = try await host.run(command, onLogLine: { say($0) })
            say("\(result)")
        } catch {
            say("error \(error)")
            exit(1)
        }
    }

    private static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }

    // MARK: - Attempts

    /// The folder has `secret`, `changeable` and, in `granted`, what the program may read and write, with the link
    /// `way-out` to the secret.
    private static func escape(_ folder: String, host: pid_t, _ port: String, socket: String) {
        var targets = escape_targets(
            folder: strdup(folder),
            victim: host,
            victim_memory: 0,
            socket: strdup("none"),
            device: strdup("/dev/null"),
            library: strdup("libm.so.6")
        )
        let shared = [
            "read-secret", "read-secret-by-link", "list-folder", "write-file", "make-in-folder", "make-in-tmp",
            "make-in-shm", "make-folder", "remove-file", "make-link", "truncate-file", "change-mode",
            "read-environment", "open-memory", "signal-victim", "signal-thread-of-victim", "trace", "mount",
            "new-namespace", "internet-socket", "make-ring", "open-counter", "make-map", "use-keys", "change-limit",
            "change-priority", "change-affinity",
            "message-queue", "other-semaphore", "new-process", "start-program", "run-thread",
        ]
        for name in shared { say("\(name) \(escape_try(name, &targets))") }
        let parent = getppid()
        let granted = "\(folder)/granted"
        let others: [(String, () -> Int)] = [
            ("write-granted", { Int(open("\(granted)/mine", O_WRONLY | O_CREAT, 0o600)) }),
            ("read-passwords", { Int(open("/etc/passwd", O_RDONLY)) }),
            ("follow-link", { Int(open("\(granted)/way-out", O_RDONLY)) }),
            ("make-symbolic-link", { Int(symlink("/etc/passwd", "\(granted)/new-link")) }),
            ("make-hard-link", { Int(link("\(folder)/secret", "\(granted)/hard-link")) }),
            ("move-out", { Int(rename("\(granted)/way-out", "\(folder)/moved")) }),
            ("connect-by-tcp", { Int(connectByTCP(UInt16(port) ?? 0)) }),
            ("connect-by-path", { Int(connectByPath(socket, Int32(SOCK_STREAM.rawValue))) }),
            ("pair-of-datagrams", { Int(pairOfDatagrams()) }),
            ("signal-launcher", { Int(kill(parent, SIGURG)) }),
            ("signal-host", { Int(kill(host, SIGURG)) }),
            ("signal-everything", { getenv("ATTEMPTS") == nil ? Int(kill(-1, 0)) : 0 }),
            (
                "move-granted",
                { Int(mkdir("\(granted)/inner", 0o700) | rename("\(granted)/mine", "\(granted)/inner/it")) }
            ),
            ("truncate-granted", { Int(truncate("\(granted)/inner/it", 100)) }),
            ("remove-granted", { Int(unlink("\(granted)/inner/it") | rmdir("\(granted)/inner")) }),
            ("pair-of-streams", { Int(pairOfStreams()) }),
            ("no-other-descriptors", { hasOnlyItsDescriptors() ? 0 : -1 }),
        ]
        for (name, run) in others {
            errno = 0
            say("\(name) \(run() < 0 ? errno : 0)")
        }
    }

    private static func connectByTCP(_ port: UInt16) -> Int32 {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard number >= 0 else { return -1 }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func connectByPath(_ path: String, _ kind: Int32) -> Int32 {
        let number = socket(AF_UNIX, kind, 0)
        guard number >= 0 else { return -1 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private static func pairOfDatagrams() -> Int32 {
        var numbers: [Int32] = [-1, -1]
        return socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0, &numbers)
    }

    private static func pairOfStreams() -> Int32 {
        var numbers: [Int32] = [-1, -1]
        return socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &numbers)
            | socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &numbers)
    }

    /// The standard ones and the pipe of the progress.
    private static func hasOnlyItsDescriptors() -> Bool {
        errno = EBUSY
        return inherited == [0, 1, 2, 3]
    }

    /// The descriptors at the start.
    private static let inherited: Set<Int32> = Set((0..<256).filter { fcntl($0, F_GETFD) >= 0 })
}
