// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import Glibc
import MediaIO
import MediaTypes
import Remuxing
import Synchronization

/// One run of `vatoolbox remux`, from the command line to the exit status.
final class RemuxJob: Sendable {
    private let command: RemuxCommand
    private let state = Mutex(State())
    /// The console for messages.
    let console: Console

    private struct State {
        var remuxer: Remuxer?
        var wasInterrupted = false
    }

    init(_ command: RemuxCommand) {
        self.command = command
        console = Console(detail: command.report.detail(usesStandardOutput: command.usesStandardOutput))
    }

    /// Copies and reports the result.
    func run() async -> ExitStatus {
        let clock = SuspendingClock()
        let start = clock.now
        do throws(MediaError) {
            let request = try command.request()
            let remuxer = Remuxer(request)
            begin(remuxer)
            let report = try await console.watching { elapsed, width in
                String(remuxer.progress.line(elapsed: elapsed).prefix(max(width, 0)))
            } during: { () async throws(MediaError) in
                try await remuxer.run()
            }
            let outcome = RemuxOutcome(
                request: request,
                report: report,
                elapsed: (clock.now - start).seconds,
                wasInterrupted: wasInterrupted
            )
            for warning in outcome.warnings { console.warning(warning) }
            console.summary(outcome.summary(width: console.width))
            return deliver(outcome.document) ? outcome.status : .failed
        } catch {
            // If reading ended before the first packet, nothing else has failed.
            let isOfInterruption = error.code == .cancelled || error.code == .malformedData
            let status = wasInterrupted && isOfInterruption ? .interrupted : ExitStatus(error)
            if !(command.report.json && command.usesStandardOutput) {
                console.error(error.readable)
                console.remedies(error.remedies)
            }
            return deliver(.failure(error, status)) ? status : .failed
        }
    }

    /// Handles a signal: the first one ends the reading, so that the output is completed; the second one ends the
    /// process. Safe on any thread.
    func interrupt(before: Int) {
        if before > 0 {
            MediaSink.discardUnfinishedOutputs()
            _exit(ExitStatus.interrupted.rawValue)
        }
        let remuxer = state.withLock { state in
            state.wasInterrupted = true
            return state.remuxer
        }
        remuxer?.stop()
        // The reader of standard error may have stopped, and the next signal must not wait for it.
        let isTold = DispatchSemaphore(value: 0)
        DispatchQueue.global().async { [console] in
            console.note("interrupted: finishing the output; interrupt again to exit at once")
            isTold.signal()
        }
        _ = isTold.wait(timeout: .now() + 1)
    }

    private func begin(_ remuxer: Remuxer) {
        let wasInterrupted = state.withLock { state in
            state.remuxer = remuxer
            return state.wasInterrupted
        }
        if wasInterrupted { remuxer.stop() }
    }

    private var wasInterrupted: Bool { state.withLock { $0.wasInterrupted } }

    /// Prints the document if it was requested.
    ///
    /// - Returns: Whether it was printed, or not requested.
    private func deliver(_ document: @autoclosure () -> JSON) -> Bool {
        guard command.report.json else { return true }
        let descriptor = command.usesStandardOutput ? STDERR_FILENO : STDOUT_FILENO
        if Terminal.write(document().text + "\n", to: descriptor) { return true }
        if !command.usesStandardOutput { console.error("the JSON document cannot be written to standard output") }
        return false
    }
}

extension RemuxProgress {
    /// The progress as one line.
    func line(elapsed: Double) -> String {
        var parts: [String] = []
        if let expected = expectedDuration?.seconds, expected > 0 {
            parts.append("\(Readable.number(min(time.seconds / expected, 1) * 100, places: 0)) %")
            parts.append("\(Readable.clock(time.seconds)) of \(Readable.clock(expected))")
        } else {
            parts.append(Readable.clock(time.seconds))
        }
        parts.append(Readable.byteCount(Int64(bytes)))
        if elapsed > 0 { parts.append("\(Readable.number(time.seconds / elapsed, places: 0))x") }
        return parts.joined(separator: "  ")
    }
}
