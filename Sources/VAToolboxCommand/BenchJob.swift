// SPDX-License-Identifier: GPL-2.0-or-later

import EncodingBenchmark
import Glibc
import MediaIO
import MediaTypes
import Synchronization
import Transcoding

/// One run of `vatoolbox bench`, from the command line to the exit status.
final class BenchJob: Sendable {
    private let command: BenchCommand
    private let state = Mutex(State())
    /// Where it tells what happens.
    let console: Console

    private struct State {
        var benchmark: Benchmark?
        var wasInterrupted = false
    }

    init(_ command: BenchCommand) {
        self.command = command
        console = Console(detail: command.quiet ? .warnings : .notes)
    }

    /// Does the work and tells what came of it. Blocks.
    func run() -> ExitStatus {
        do throws(MediaError) {
            if command.resume, command.output == nil {
                throw MediaError(.invalidArgument, "--resume needs a folder", allowed: "--output with --resume")
            }
            let plan = try plan()
            if command.list { return Terminal.write(Self.list(plan), to: STDOUT_FILENO) ? .done : .failed }
            for weakness in plan.weaknesses { console.note(weakness) }
            if plan.encoders.allSatisfy({ $0.node == nil }) { console.note("there is no encoder of a GPU in the plan") }
            let folder = command.output ?? "vatoolbox-bench-\(Self.timestamp())"
            let report = try measure(plan, in: folder)
            try deliver(report, to: folder)
            return .done
        } catch {
            console.showProgress("")
            if wasInterrupted {
                let folder = command.output.map { " --output \($0)" } ?? ""
                console.note("interrupted; to go on: vatoolbox bench --resume\(folder)")
                return .interrupted
            }
            console.error(error.readable)
            console.remedies(error.remedies)
            return ExitStatus(error)
        }
    }

    /// What a signal leads to: the first one ends the run that goes on and leaves a folder that can be gone on with, the
    /// second one ends the process at once. Safe on any thread.
    func interrupt(before: Int) {
        if before > 0 { _exit(ExitStatus.interrupted.rawValue) }
        let benchmark = state.withLock { state in
            state.wasInterrupted = true
            return state.benchmark
        }
        benchmark?.stop()
    }

    private var wasInterrupted: Bool { state.withLock { $0.wasInterrupted } }

    /// The plan of the options; with `--resume` and no word of a plan, that of the folder.
    private func plan() throws(MediaError) -> BenchmarkPlan {
        if command.resume, command.plan.isEmpty, let folder = command.output {
            return try Benchmark.plan(in: folder)
        }
        return try command.plan.plan { (path) throws(MediaError) in
            try BenchmarkFile.text(path, "the plan")
        } hardware: {
            ProbeReport.ofThisMachine(patience: .seconds(10), encodes: false).benchmarkEncoders
        }
    }

    private func measure(_ plan: BenchmarkPlan, in folder: String) throws(MediaError) -> BenchmarkReport {
        var options = Benchmark.Options(
            plan: plan,
            folder: folder,
            program: "vatoolbox \(VAToolboxCommand.version)",
            // This program, even if its file has been replaced meanwhile.
            runCommand: ["/proc/self/exe", BenchRunCommand.name]
        )
        options.resumes = command.resume
        options.keepsStreams = command.keepStreams
        let (console, clock) = (console, ContinuousClock())
        let start = clock.now
        let benchmark = Benchmark(options) { progress in
            guard console.showsProgress else { return }
            let line = progress.line(elapsed: (clock.now - start).seconds, width: console.width)
            console.showProgress(line)
        }
        let wasInterrupted = state.withLock { state in
            state.benchmark = benchmark
            return state.wasInterrupted
        }
        if wasInterrupted { benchmark.stop() }
        let report = try benchmark.run()
        console.showProgress("")
        return report
    }

    private func deliver(_ report: BenchmarkReport, to folder: String) throws(MediaError) {
        try report.write(toFolder: folder)
        if !command.quiet { Terminal.write(report.text(width: Terminal.outputWidth), to: STDOUT_FILENO) }
        for run in report.runs {
            guard case .absent(let reason) = run.result else { continue }
            console.warning("\(run.encoder), \(run.clip), \(run.point): \(reason)")
        }
        console.note("the report is in \(folder)")
    }

    private static func list(_ plan: BenchmarkPlan) -> String {
        let runs = plan.runs().enumerated().map { "\($0 + 1)  \($1.title)\n" }
        let searches = plan.searches.map { "   density: \($0.encoder.title), \($0.clip)-\($0.size), \($0.point)\n" }
        return (runs + searches).joined()
    }

    /// Now, in UTC, as a file's name has it.
    private static func timestamp() -> String {
        var (now, parts) = (time(nil), tm())
        gmtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))-"
            + "\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))"
    }
}

extension BenchmarkProgress {
    /// One line in at most `width` columns: what matters least is at its end.
    func line(elapsed: Double, width: Int) -> String {
        var fields: [String] = []
        if total > 0 { fields.append("\(done + 1) of \(total)") }
        if let remaining { fields.append("\(Readable.clock(remaining)) left") }
        fields.append(activity)
        fields.append(Readable.clock(elapsed))
        return String(fields.joined(separator: "  ").prefix(max(width, 0)))
    }
}

extension BenchRunCommand {
    static let name = "bench-run"
}
