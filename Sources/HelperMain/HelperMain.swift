// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Glibc
import HardwareDisplay
import HardwareEncoder
package import HelperIPC
import HelperSandbox
import Logging
import MediaTypes
import SoftwareEncoder
import Synchronization

/// What the helper programs do. VAToolbox starts them; they are not meant for manual use.
package enum HelperMain {
    /// The descriptor number of the socket that the parent process passes to the helper.
    private static let socket: Int32 = 3

    /// Serves the parent process until it closes the socket.
    ///
    /// - Parameters:
    ///   - program: The program, for messages.
    ///   - extend: Adds to the services of every helper, which are encoders and the inspection of drivers. Called when
    ///     loggers can be created.
    package static func run(_ program: HelperProgram, extend: (inout HelperServices) -> Void = { _ in }) -> Never {
        guard let parent = parent(CommandLine.arguments), isSocket(socket) else {
            say("\(program.name) is not meant to be run by hand: VAToolbox starts it with a socket")
            exit(64)
        }
        // The end of the socket is the first safeguard. A parent that ended before the second one was active is
        // detected by its process ID.
        _ = linux_die_with_parent()
        guard getppid() == parent else { exit(1) }
        // Before any thread is started and any codec runs.
        let report = confine(program)

        // Loggers of codecs are created with it, so it precedes them.
        let log = ForwardedLog()
        LoggingSystem.bootstrap { _ in ForwardingLogHandler(log: log) }
        var services = services(log)
        extend(&services)
        let server = HelperServer(
            socket: socket,
            limitations: report.degradations.map(\.description),
            services: services
        )
        log.connect(server)
        DeviceUse.observe { event in
            switch event {
            case .opened(let descriptor): server.share(device: descriptor)
            case .closes(let descriptor): server.unshare(device: descriptor)
            }
        }
        for warning in report.warnings { log.write(level: "warning", warning) }
        do {
            try server.run()
        } catch {
            // An encoder may be stuck, so nothing is awaited.
            if error.code == .inputOutput { _exit(0) }
            say("\(program.name): \(error)")
            _exit(1)
        }
        // Not with `exit`: drivers crash in their destructors.
        fflush(nil)
        _exit(0)
    }

    /// What every helper offers.
    private static func services(_ log: ForwardedLog) -> HelperServices {
        var services = HelperServices(encoders: [X264EncoderFactory(), X265EncoderFactory()])
        services.otherEncoders = { VAAPIEncoderFactory($0) }
        services.inspector = { (path, tell) throws(MediaError) in
            try LocalDriver.inspect(path: path, log: log, tell: tell)
        }
        return services
    }

    private static func confine(_ program: HelperProgram) -> SandboxReport {
        do {
            return Sandbox.apply(try SandboxPolicy.ofThisProcess())
        } catch {
            say("\(program.name): \(error)")
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

/// The destination of log lines: the client, once it is connected.
final class ForwardedLog: Sendable {
    private let server = Mutex<HelperServer?>(nil)

    func connect(_ server: HelperServer) { self.server.withLock { $0 = server } }

    func write(level: String, _ text: String) { server.withLock { $0 }?.log(level: level, text) }
}

/// Sends log messages to the client's log, which filters them.
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
