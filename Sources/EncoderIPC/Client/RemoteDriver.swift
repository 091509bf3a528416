// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// Asks VA-API drivers in a helper process: a driver that crashes, aborts, exits or hangs ends that process and not this
/// one.
package enum RemoteDriver {
    /// How a driver is asked.
    package struct Options: Sendable {
        /// The path of the helper program; `nil` for the one that ``HelperLocation/find(_:)`` finds.
        package var helperPath: String?
        /// How long everything may take together, the start of the helper included.
        package var deadline = Duration.seconds(10)
        /// Takes lines that the helper logs, on a thread of its own; never blocks.
        package var log: @Sendable (HelperLogLine) -> Void = { _ in }

        /// Makes the defaults: 10 seconds, no log.
        package init() {}
    }

    /// Starts a helper and has it ask the driver of a render node. Returns when the driver has answered, has failed, or
    /// the deadline has passed; a helper that is stuck is ended and not waited for.
    ///
    /// - Parameter path: The path of the render node.
    package static func inspect(path: String, options: Options = .init()) -> DriverInspection {
        inspect(path: path, options: options) { (log) throws(MediaError) in
            try HelperHost.start(path: try HelperLocation.find(options.helperPath), log: log)
        }
    }

    /// - Parameter start: Starts a helper that sends its log there.
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
        // What the helper said has arrived when it has ended, which takes a moment only.
        _ = host.ending(within: .seconds(1))
        return notes.inspection(cause)
    }

    /// - Returns: Why there is no report, or `nil`.
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
            let error = MediaError(.malformedData, "\(HelperLink.peer) replied to another request")
            link.abandon(error)
            throw error
        }
    }

    private static func connect(
        _ host: HelperHost,
        _ notes: InspectionNotes,
        within patience: Duration
    ) throws(MediaError) -> HelperLink {
        // There is no place if the helper has failed already, which the greeting tells.
        _ = host.reserve(limit: 1)
        do throws(MediaError) {
            try host.awaitGreeting(within: patience)
            return try host.connect(
                HelperLink.Handlers(
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

    /// What an error of the connection means for the driver.
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

/// What came of asking a driver.
package enum DriverInspection: Sendable, Hashable {
    /// What the driver says of itself, how it encodes what it lists for that, and what went wrong after the report: while
    /// the driver was asked how it encodes, of which what it had said before is there, or while it was let go of.
    case reported(DriverReport, [DriverReport.Encoder], failure: DriverFailure?)
    /// Why there is no report.
    case failed(DriverFailure)
}

/// How a driver failed, or the helper that was to ask it.
package struct DriverFailure: Sendable, Hashable {
    /// What happened.
    package enum Cause: Sendable, Hashable {
        /// libva, the driver or the node refused, in order.
        case refused(MediaError)
        /// The helper's process was ended by a signal: its number and its name, for example `SIGSEGV`.
        case killed(signal: Int32, name: String)
        /// The helper's process ended by itself, with that status.
        case exited(status: Int32)
        /// There was no answer in that time, and the helper's process was ended.
        case deadline(Duration)
        /// There is no helper, or it did not do what it is for.
        case helper(MediaError)
    }

    /// What happened.
    package var cause: Cause
    /// How far it had come; `nil` if the helper was not there yet. After a refusal it is the furthest stage of all the
    /// files that libva tried.
    package var stage: DriverStage?
    /// The driver file that the stage is about, or that was loaded before it.
    package var file: String?
    /// The last lines that libva, the driver and the helper wrote, the oldest first.
    package var log: [HelperLogLine]

    /// Makes a failure.
    package init(cause: Cause, stage: DriverStage?, file: String?, log: [HelperLogLine]) {
        self.cause = cause
        self.stage = stage
        self.file = file
        self.log = log
    }
}
