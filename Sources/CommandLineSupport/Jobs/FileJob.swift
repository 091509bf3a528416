// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Glibc
internal import MediaIO
package import MediaTypes
internal import Synchronization
package import VAToolbox

/// What every run that reads a file has: a console, a document on request, and an end that a signal can bring forward.
package final class FileJob: Sendable {
    /// The console for messages.
    package let console: Console

    /// Whether the result is printed as a document.
    package let isDocument: Bool
    private let usesStandardOutput: Bool
    private let ending: String
    /// Where programs read the progress.
    private let progressPaths: [String]
    private let state = Mutex(State())

    private struct State {
        var stop: (@Sendable () -> Void)?
        var atExit: (@Sendable () -> Void)?
        var wasInterrupted = false
    }

    /// - Parameters:
    ///   - reports: The flags of each output; each counts wherever it stands.
    ///   - usesStandardOutput: Whether an output is written to standard output, which then contains nothing else.
    ///   - ending: What happens after an interruption, such as "finishing the output".
    package init(_ reports: [ReportArguments], usesStandardOutput: Bool, ending: String) {
        (self.usesStandardOutput, self.ending) = (usesStandardOutput, ending)
        isDocument = reports.contains(where: \.json)
        progressPaths = reports.compactMap(\.progress)
        let isQuiet = reports.contains(where: \.quiet)
        let detail: Console.Detail
        if isDocument {
            // The document contains all notes.
            detail = usesStandardOutput || isQuiet ? .errors : .warnings
        } else if reports.contains(where: \.verbose) {
            detail = .everything
        } else {
            detail = isQuiet ? .warnings : .notes
        }
        console = Console(detail: detail)
    }

    /// Whether a signal has asked for the end.
    package var wasInterrupted: Bool { state.withLock { $0.wasInterrupted } }

    /// Begins the work that ``interrupt(before:)`` ends.
    ///
    /// - Parameter stop: Ends the reading, so that an output is completed. It is called at once if a signal has arrived.
    package func begin(stop: @escaping @Sendable () -> Void) {
        let wasInterrupted = state.withLock { state in
            state.stop = stop
            return state.wasInterrupted
        }
        if wasInterrupted { stop() }
    }

    /// Sets what ``interrupt(before:)`` does before it ends the process, which runs no `defer`.
    ///
    /// - Parameter body: Called on the thread of the signal, perhaps while the work goes on. It must not wait for it.
    package func atExit(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.atExit = body } }

    /// Shows the progress of the work: to people on a terminal, and to a program if it was requested.
    ///
    /// - Parameters:
    ///   - progress: Returns the present progress.
    ///   - work: The work.
    /// - Throws: `invalidArgument` or `inputOutput` if a program cannot be told; the error of the work.
    package func watching<Result>(
        _ progress: @escaping @Sendable () -> any RunProgress,
        during work: () async throws(MediaError) -> Result
    ) async throws(MediaError) -> Result {
        if progressPaths.count > 1 {
            throw contradiction("--progress \(progressPaths[0])", "--progress \(progressPaths[1])")
        }
        let file = try progressPaths.first.map { (path) throws(MediaError) in try ProgressFile(path: path) }
        let clock = SuspendingClock()
        let start = clock.now
        let reader = file.map { file in
            Task {
                var hasBegun = false
                var pauses = 0
                while !Task.isCancelled {
                    let now = progress()
                    // Twice a second, and once when something is done for the first time.
                    if pauses % 10 == 0 || now.hasBegun && !hasBegun {
                        file.write(now.document(elapsed: (clock.now - start).seconds))
                        (hasBegun, pauses) = (hasBegun || now.hasBegun, 0)
                    }
                    let count = hasBegun ? 10 : 1
                    try? await clock.sleep(for: .milliseconds(50 * count))
                    pauses += count
                }
                // The last state, whatever the work has come to.
                file.write(progress().document(elapsed: (clock.now - start).seconds))
            }
        }
        do {
            let result = try await console.watching({ progress().line(elapsed: $0, width: $1) }, during: work)
            reader?.cancel()
            await reader?.value
            return result
        } catch {
            reader?.cancel()
            await reader?.value
            throw error
        }
    }

    /// Handles a signal: the first one ends the reading, so that an output is completed; the second one ends the
    /// process. Safe on any thread.
    package func interrupt(before: Int) {
        if before > 0 {
            MediaSink.discardUnfinishedOutputs()
            state.withLock { $0.atExit }?()
            _exit(ExitStatus.interrupted.rawValue)
        }
        let stop = state.withLock { state in
            state.wasInterrupted = true
            return state.stop
        }
        stop?()
        // The reader of standard error may have stopped, and the next signal must not wait for it.
        let isTold = DispatchSemaphore(value: 0)
        DispatchQueue.global().async { [console, ending] in
            console.note("interrupted: \(ending); interrupt again to exit at once")
            isTold.signal()
        }
        _ = isTold.wait(timeout: .now() + 1)
    }

    /// Prints the document if it was requested.
    ///
    /// - Returns: The status, or `failed` if the document could not be printed.
    package func deliver(_ document: @autoclosure () -> JSON, _ status: ExitStatus) -> ExitStatus {
        guard isDocument else { return status }
        let descriptor = usesStandardOutput ? STDERR_FILENO : STDOUT_FILENO
        if Terminal.write(document().text + "\n", to: descriptor) { return status }
        if !usesStandardOutput { console.error("the JSON document cannot be written to standard output") }
        return .failed
    }

    /// Reports the result of the run.
    package func report(_ outcome: some FileOutcome) -> ExitStatus {
        for warning in outcome.warnings { console.warning(warning) }
        console.summary(outcome.summary(width: console.width))
        return deliver(outcome.document, outcome.status)
    }

    /// Reports an error that has ended the run.
    ///
    /// - Parameter switches: The earlier encoder switches; `nil` if there were no encoders.
    package func fail(_ error: MediaError, switches: [EncoderSwitch]? = nil) -> ExitStatus {
        // If reading ended before the first packet, nothing else has failed.
        let isOfInterruption = error.code == .cancelled || error.code == .malformedData
        let status = wasInterrupted && isOfInterruption ? .interrupted : ExitStatus(error)
        if !(isDocument && usesStandardOutput) {
            console.error(error.readable)
            console.remedies(error.remedies)
        }
        return deliver(.failure(error, status, switches: switches), status)
    }
}

/// Work that reads a file and writes others, and can be ended early.
package protocol FileWork: Sendable {
    associatedtype Progress: RunProgress
    associatedtype Report: Sendable

    /// The present progress. Safe on any thread.
    var progress: Progress { get }
    /// Ends the reading as if the input ended here; the output is complete. Safe on any thread, at any time.
    func stop()
    /// Does the work, once.
    func run() async throws(MediaError) -> Report
}

extension FileJob {
    /// What the command knows of the end of a run.
    package struct Ending {
        /// The seconds from the start of the command to the end of the output.
        package var elapsed: Double
        /// Whether a signal has asked for the end.
        package var wasInterrupted: Bool
    }

    /// Does the work of a command and reports its result.
    ///
    /// - Parameters:
    ///   - request: Returns the request of the command line.
    ///   - work: Makes the work for it.
    ///   - outcome: Makes the result.
    package func run<Request, Work: FileWork>(
        _ request: () throws(MediaError) -> Request,
        _ work: (Request) -> Work,
        outcome: (Request, Work.Report, Ending) -> some FileOutcome
    ) async -> ExitStatus {
        let clock = SuspendingClock()
        let start = clock.now
        do throws(MediaError) {
            let request = try request()
            let work = work(request)
            begin { work.stop() }
            let result = try await watching {
                work.progress
            } during: { () async throws(MediaError) in
                try await work.run()
            }
            let ending = Ending(elapsed: (clock.now - start).seconds, wasInterrupted: wasInterrupted)
            return report(outcome(request, result, ending))
        } catch {
            return fail(error)
        }
    }
}

/// The result of a run that writes files.
package protocol FileOutcome {
    /// The exit status of the command.
    var status: ExitStatus { get }
    /// Possible defects of the output.
    var warnings: [String] { get }
    /// Returns the closing lines for people, wrapped to at most `width` columns where possible.
    func summary(width: Int) -> String
    /// The result for programs; docs/command.md describes every key.
    var document: JSON { get }
}

extension Readable {
    /// The parts of a progress line that tell how far a run is.
    package static func progress(_ time: MediaTime, of expected: MediaTime?) -> [String] {
        guard let expected = expected?.seconds, expected > 0 else { return [clock(time.seconds)] }
        let share = number(min(time.seconds / expected, 1) * 100, places: 0)
        return ["\(share) %", "\(clock(time.seconds)) of \(clock(expected))"]
    }
}
