// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import Glibc
import HardwareEncoder
import MediaTypes
import RenderNodes
import Synchronization

/// One run of `vatoolbox probe --exhaustive`, from the examination to the exit status.
final class ExhaustiveProbe: Sendable {
    private struct State {
        var report: ProbeReport?
        /// Whether the report is being printed or was printed.
        var isTold = false
    }

    private let command: ProbeCommand
    private let patience: Duration
    private let console: Console
    private let state = Mutex(State())

    /// - Throws: `invalidArgument` for an invalid option; nothing was done in this case.
    init(_ command: ProbeCommand) throws(MediaError) {
        self.command = command
        if command.noEncode { throw contradiction("--no-encode", "--exhaustive") }
        patience = try command.patience()
        console = Console(detail: .notes)
    }

    /// Tries all combinations on one node after another, and reports the results. Blocks.
    func run() -> ExitStatus {
        command.prepare()
        let found = ProbeReport.ofThisMachine(patience: patience, encodes: false)
        state.withLock { $0.report = found }
        var allPassed = true
        for (index, node) in found.nodes.enumerated() {
            guard case .answers(let driver, _) = node.driver else { continue }
            var trials = NodeTrials(driver)
            keep(trials, index)
            tryAll(&trials, of: node.node.path, index)
            allPassed = allPassed && trials.allPassed
        }
        return tell(wasInterrupted: false) ? (allPassed ? .done : .failed) : .failed
    }

    /// Handles a signal: prints the results so far and ends the process, and with it the remaining helpers.
    func interrupt() -> Never {
        _ = tell(wasInterrupted: true)
        _exit(ExitStatus.interrupted.rawValue)
    }

    private func tryAll(_ trials: inout NodeTrials, of path: String, _ index: Int) {
        let run: TrialRun
        do throws(MediaError) {
            run = try TrialRun(patience: patience) { VAAPIEncoderFactory(device: path, codec: $0).identity }
        } catch {
            return console.error(error.readable)
        }
        for trial in trials.listed {
            showProgress(trials, path)
            trials.results.append(run.result(of: trial))
            keep(trials, index)
        }
    }

    private func keep(_ trials: NodeTrials, _ index: Int) { state.withLock { $0.report?.nodes[index].trials = trials } }

    private func showProgress(_ trials: NodeTrials, _ path: String) {
        guard console.showsProgress else { return }
        let failed = trials.results.count - trials.count(.passed)
        let line = "\(path): \(trials.results.count + 1) of \(trials.listed.count)"
        console.showProgress(String((line + (failed > 0 ? ", \(failed) not passed" : "")).prefix(console.width)))
    }

    /// Prints the report, once.
    ///
    /// - Returns: Whether it was written completely. A second call never returns.
    private func tell(wasInterrupted: Bool) -> Bool {
        let (report, isMine) = state.withLock { state in
            defer { state.isTold = true }
            return (state.report, !state.isTold)
        }
        guard isMine else { while true { pause() } }
        console.showProgress("")
        guard var report else { return false }
        report.wasInterrupted = wasInterrupted
        return command.print(report)
    }
}
