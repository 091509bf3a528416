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
        let folder = command.output ?? "vatoolbox-bench-\(Self.timestamp())"
        do throws(MediaError) {
            if command.resume, command.output == nil {
                throw MediaError(.invalidArgument, "--resume needs a folder", allowed: "--output with --resume")
            }
            let plan = try plan()
            if command.list { return Terminal.write(Self.list(plan), to: STDOUT_FILENO) ? .done : .failed }
            for weakness in plan.weaknesses { console.note(weakness) }
            if plan.encoders.allSatisfy({ $0.node == nil }) { console.note("there is no GPU encoder in the plan") }
            let report = try measure(plan, in: folder)
            try deliver(report, to: folder)
            if report.runs.allSatisfy({ $0.result.value == nil }) {
                throw MediaError(.unavailable, "no encoder of the benchmark produced a result")
            }
            return .done
        } catch {
            console.showProgress("")
            if wasInterrupted {
                let streams = command.keepStreams ? " --keep-streams" : ""
                console.note("interrupted; to continue: vatoolbox bench --resume --output '\(folder)'\(streams)")
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
        if command.resume, let folder = command.output {
            // Whatever the plan: a folder whose name is mistyped would be begun anew.
            let begun = try Benchmark.plan(in: folder)
            if command.plan.isEmpty { return begun }
        }
        return try command.plan.plan { (path) throws(MediaError) in
            try BenchmarkFile.text(path, "the plan")
        } hardware: {
            ProbeReport.ofThisMachine(patience: .seconds(10), encodes: false).benchmarkEncoders
        }
    }

    /// This program, as each run starts it: by the kernel's name, which stays when another file takes its place. Where that
    /// name stands for another program, one that runs this one in its own process (valgrind), by its path.
    private static var thisProgram: String {
        let name = "/proc/self/exe"
        guard let path = realpath(name, nil) else { return name }
        defer { free(path) }
        var (own, found) = (stat(), stat())
        guard stat(name, &own) == 0, stat(path, &found) == 0 else { return name }
        return (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino) ? name : String(cString: path)
    }

    private func measure(_ plan: BenchmarkPlan, in folder: String) throws(MediaError) -> BenchmarkReport {
        var options = Benchmark.Options(
            plan: plan,
            folder: folder,
            program: "vatoolbox \(VAToolboxCommand.version)",
            runCommand: [Self.thisProgram, BenchRunCommand.name]
        )
        options.resumes = command.resume
        options.keepsStreams = command.keepStreams
        let shared = SharedProgress()
        let benchmark = Benchmark(options) { shared.tell($0) }
        let wasInterrupted = state.withLock { state in
            state.benchmark = benchmark
            return state.wasInterrupted
        }
        if wasInterrupted { benchmark.stop() }
        return try watching(shared) { () throws(MediaError) in try benchmark.run() }
    }

    /// Shows a line of progress four times a second while the work goes on.
    private func watching<Result>(
        _ progress: SharedProgress,
        _ work: () throws(MediaError) -> Result
    ) throws(MediaError) -> Result {
        guard console.showsProgress else { return try work() }
        let display = Task { [console] in
            while !Task.isCancelled {
                console.showProgress(progress.line(width: console.width))
                try? await Task.sleep(for: .milliseconds(250))
            }
        }
        defer {
            display.cancel()
            progress.end()
            console.showProgress("")
        }
        return try work()
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

/// What a benchmark told last, for whoever shows it.
private final class SharedProgress: Sendable {
    private struct State {
        var progress: BenchmarkProgress?
        var told = ContinuousClock.now
        var isOver = false
    }

    private let begin = ContinuousClock.now
    private let state = Mutex(State())

    func tell(_ progress: BenchmarkProgress) {
        state.withLock { state in
            state.progress = progress
            state.told = .now
        }
    }

    /// From now on there is nothing to show.
    func end() { state.withLock { $0.isOver = true } }

    /// One line in at most `width` columns: what matters least is at its end.
    func line(width: Int) -> String {
        let state = state.withLock { $0 }
        guard let progress = state.progress, !state.isOver else { return "" }
        let now = ContinuousClock.now
        var fields: [String] = []
        if progress.total > 0 { fields.append("\(progress.done + 1) of \(progress.total)") }
        if let remaining = progress.remaining {
            fields.append("\(Readable.clock(max(0, remaining - (now - state.told).seconds))) left")
        }
        fields.append(progress.activity)
        fields.append(Readable.clock((now - begin).seconds))
        return String(fields.joined(separator: "  ").prefix(max(width, 0)))
    }
}

extension BenchRunCommand {
    static let name = "bench-run"
}
