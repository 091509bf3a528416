// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import EncoderIPC
import Glibc
import HardwareEncoder
import HelperSandbox
import Logging
import MediaTypes
import SoftwareEncoder
import Synchronization

/// The program `vatoolbox-helper`: encoders, and drivers that are asked who they are, in another process. VAToolbox
/// starts it; it is of no use by hand.
@main enum Helper {
    /// The descriptor under which the process that starts the helper leaves its socket.
    private static let socket: Int32 = 3

    static func main() {
        guard let parent = parent(CommandLine.arguments), isSocket(socket) else {
            say("vatoolbox-helper is not meant to be run by hand: VAToolbox starts it with a socket")
            exit(64)
        }
        // The first belt is the end of the socket. A parent that died before the second one was on is seen by its id.
        _ = linux_die_with_parent()
        guard getppid() == parent else { exit(1) }
        // Before a thread is started and before anything of an encoder runs.
        let report = confine()

        // Loggers that encoders make begin with this, so it comes before the encoders.
        let log = ForwardedLog()
        LoggingSystem.bootstrap { _ in ForwardingLogHandler(log: log) }
        let server = HelperServer(
            socket: socket,
            limitations: report.degradations.map(\.description),
            factories: [X264EncoderFactory(), X265EncoderFactory()],
            others: { VAAPIEncoderFactory($0) },
            inspector: { (path, tell) throws(MediaError) in try LocalDriver.inspect(path: path, log: log, tell: tell) }
        )
        log.connect(server)
        for warning in report.warnings { log.write(level: "warning", warning) }
        do {
            try server.run()
        } catch {
            // An encoder may be stuck, so nothing is waited for.
            if error.code == .inputOutput { _exit(0) }
            say("vatoolbox-helper: \(error)")
            _exit(1)
        }
        // Not by `exit`: drivers crash in their destructors.
        fflush(nil)
        _exit(0)
    }

    private static func confine() -> SandboxReport {
        do {
            return Sandbox.apply(try SandboxPolicy.ofThisProcess())
        } catch {
            say("vatoolbox-helper: \(error)")
            exit(64)
        }
    }

    private static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }

    private static func parent(_ arguments: [String]) -> pid_t? {
        guard arguments.count == 3, arguments[1] == "--parent" else { return nil }
        return pid_t(arguments[2])
    }

    private static func isSocket(_ number: Int32) -> Bool {
        var status = stat()
        return fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }
}

/// The way of log lines to the client, once there is one.
final class ForwardedLog: Sendable {
    private let server = Mutex<HelperServer?>(nil)

    func connect(_ server: HelperServer) { self.server.withLock { $0 = server } }

    func write(level: String, _ text: String) { server.withLock { $0 }?.log(level: level, text) }
}

/// Sends what is logged here to the client's log, which takes of it what it wants.
struct ForwardingLogHandler: LogHandler {
    let log: ForwardedLog
    var logLevel = Logger.Level.debug
    var metadata = Logger.Metadata()

    init(log: ForwardedLog) { self.log = log }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { log.write(level: event.level.rawValue, "\(event.message)") }
}
