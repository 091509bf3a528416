// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// Inspects VA-API drivers in a helper process: a driver that crashes, aborts, exits or hangs ends that process and not
/// this one.
package enum RemoteDriver {
    /// The options of an inspection.
    package struct Options: Sendable {
        /// The path of the helper program; `nil` for the one that ``HelperLocation/find(_:at:)`` finds.
        package var helperPath: String?
        /// The deadline for the whole inspection, including the start of the helper.
        package var deadline = Duration.seconds(10)
        /// Receives the log lines of the helper, on a separate thread; never blocks.
        package var log: @Sendable (HelperLogLine) -> Void = { _ in }

        /// Creates the defaults: 10 seconds, no log.
        package init() {}
    }

    /// Starts a helper that inspects the driver of a render node. Returns when the inspection has finished or failed,
    /// or when the deadline has passed. A stuck helper is ended without waiting for it.
    ///
    /// - Parameter path: The path of the render node.
    package static func inspect(path: String, options: Options = .init()) -> DriverInspection {
        inspect(path: path, options: options) { (log) throws(MediaError) in
            try HelperHost.start(path: try HelperLocation.find(at: options.helperPath), log: log)
        }
    }

    /// - Parameter start: Starts a helper with a log handler.
    static func inspect(
        path: String,
        options: Options,
        start: (@escaping @Sendable (HelperLogLine) -> Void) throws(MediaError) -> HelperHost
    ) -> DriverInspection {
        let notes = InspectionNotes()
        let host: HelperHost
        do throws(MediaError) {
            host = try start { line in
                notes.add(line)
                options.log(line)
            }
        } catch {
            return notes.inspection(.helper(error))
        }
        let cause: DriverFailure.Cause?
        do throws(MediaError) {
            cause = try ask(path, .now + options.deadline.asPatience, host, notes)
        } catch {
            cause = Self.cause(of: error, host, options.deadline)
        }
        // All messages of the helper have arrived once it has ended, which takes only a moment.
        _ = host.ending(within: .seconds(1))
        return notes.inspection(cause)
    }

    /// - Returns: The reason why there is no report; `nil` if there is one.
    private static func ask(
        _ path: String,
        _ end: SuspendingClock.Instant,
        _ host: HelperHost,
        _ notes: InspectionNotes
    ) throws(MediaError) -> DriverFailure.Cause? {
        let link = try connect(host, notes, within: end - .now)
        defer { link.close() }
        switch try link.ask(.inspect(path: path), within: end - .now, to: "ask the driver") {
        case .inspected where notes.hasReport: return nil
        case .callFailed(let error): return .refused(error)
        default:
            throw link.refuse("replied to another request")
        }
    }

    private static func connect(
        _ host: HelperHost,
        _ notes: InspectionNotes,
        within patience: Duration
    ) throws(MediaError) -> EncoderLink {
        // There is no place if the helper has already failed, which the greeting reports.
        _ = host.reserve(limit: 1)
        do throws(MediaError) {
            try host.awaitGreeting(within: patience)
            return try host.connect(
                EncoderLink.Handlers(
                    message: { (message) throws(MediaError) in
                        try notes.handle(message)
                        return false
                    },
                    failed: { _ in }
                )
            )
        } catch {
            host.release()
            throw error
        }
    }

    /// Returns the cause of a driver failure from an error of the connection.
    private static func cause(
        of error: MediaError,
        _ host: HelperHost,
        _ deadline: Duration
    ) -> DriverFailure.Cause {
        switch host.ownEnding {
        case .killed(let signal): .killed(signal: signal, name: HelperProcess.Ending.name(of: signal))
        case .exited(let status): .exited(status: status)
        case .unknown, nil: error.code == .deadlineExceeded ? .deadline(deadline) : .helper(error)
        }
    }
}

/// The result of inspecting a driver.
package enum DriverInspection: Sendable, Hashable {
    /// The driver's description and its encoding capabilities, with a failure after the report, if any: while its
    /// encoding capabilities were queried (those before the failure are included), or while it was closed.
    case reported(DriverReport, [DriverReport.Encoder], failure: DriverFailure?)
    /// The reason why there is no report.
    case failed(DriverFailure)
}

/// How a driver failed, or the helper that inspected it.
package struct DriverFailure: Sendable, Hashable {
    /// The cause of a failure.
    package enum Cause: Sendable, Hashable {
        /// libva, the driver or the node refused a request.
        case refused(MediaError)
        /// A signal ended the helper process: its number and its name, for example `SIGSEGV`.
        case killed(signal: Int32, name: String)
        /// The helper process exited with that status.
        case exited(status: Int32)
        /// The helper process did not answer within that time and was ended.
        case deadline(Duration)
        /// There is no helper, or it did not work correctly.
        case helper(MediaError)
    }

    /// The cause.
    package var cause: Cause
    /// The stage of the failure; `nil` if the helper had not started. After a refusal, it is the furthest stage of all
    /// files that libva tried.
    package var stage: DriverStage?
    /// The driver file of the stage, or the one that was loaded before it.
    package var file: String?
    /// The last lines of libva, the driver and the helper, oldest first.
    package var log: [HelperLogLine]

    /// Creates a failure.
    package init(cause: Cause, stage: DriverStage?, file: String?, log: [HelperLogLine]) {
        self.cause = cause
        self.stage = stage
        self.file = file
        self.log = log
    }
}
