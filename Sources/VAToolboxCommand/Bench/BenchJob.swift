// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
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
    /// The console for messages.
    let console: Console

    private struct State {
        var benchmark: Benchmark?
        var wasInterrupted = false
    }

    init(_ command: BenchCommand) {
        self.command = command
        console = Console(detail: command.quiet ? .warnings : .notes)
    }

    /// Runs the benchmark and reports the result. Blocks.
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

    /// Handles a signal: the first one ends the current run and leaves a folder with which the benchmark can be
    /// resumed, the second one ends the process immediately. Safe on any thread.
    func interrupt(before: Int) {
        if before > 0 { _exit(ExitStatus.interrupted.rawValue) }
        let benchmark = state.withLock { state in
            state.wasInterrupted = true
            return state.benchmark
        }
        benchmark?.stop()
    }

    private var wasInterrupted: Bool { state.withLock { $0.wasInterrupted } }

    /// Returns the plan from the options; with `--resume` and no plan options, the plan of the folder.
    private func plan() throws(MediaError) -> BenchmarkPlan {
        if command.resume, let folder = command.output {
            // Regardless of the plan: a folder with a mistyped name would otherwise start a new benchmark.
            let begun = try Benchmark.plan(in: folder)
            if command.plan.isEmpty { return begun }
        }
        return try command.plan.plan { (path) throws(MediaError) in
            try BenchmarkFile.text(path, "the plan")
        } hardware: {
            ProbeReport.ofThisMachine(patience: .seconds(10), encodes: false).benchmarkEncoders
        }
    }

    /// The path of this program, with which each run starts it: the kernel's name, which stays valid when the file is
    /// replaced. If that name refers to another program that runs this one in its own process (valgrind), its path.
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

    /// Updates a progress line four times a second during the work.
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

    /// Returns the current UTC time for a file name.
    private static func timestamp() -> String {
        var (now, parts) = (time(nil), tm())
        gmtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))-"
            + "\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))"
    }
}

/// The latest progress of a benchmark, for display.
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

    /// Ends the display.
    func end() { state.withLock { $0.isOver = true } }

    /// Returns one line of at most `width` columns.
    func line(width: Int) -> String {
        let state = state.withLock { $0 }
        guard let progress = state.progress, !state.isOver else { return "" }
        let now = ContinuousClock.now
        return progress.line(told: (now - state.told).seconds, elapsed: (now - begin).seconds, width: width)
    }
}

extension BenchmarkProgress {
    /// Returns one line of at most `width` columns, with the least important parts at its end.
    ///
    /// - Parameters:
    ///   - told: The seconds since the remaining time was estimated.
    ///   - elapsed: The seconds since the beginning.
    func line(told: Double, elapsed: Double, width: Int) -> String {
        var fields: [String] = []
        if total > 0 { fields.append("\(done + 1) of \(total)") }
        if let remaining { fields.append("\(Readable.clock(max(0, remaining - told))) left") }
        fields.append(activity)
        fields.append(Readable.clock(elapsed))
        return String(fields.joined(separator: "  ").prefix(max(width, 0)))
    }
}

extension BenchRunCommand {
    static let name = "bench-run"
}
