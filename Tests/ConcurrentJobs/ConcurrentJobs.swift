// SPDX-License-Identifier: GPL-2.0-or-later

import FFmpegSupport
import Glibc
import Logging
import MediaIO
import MediaTypes
import TestSupport

/// Runs many transcodes at once in this process, cancels half of them, and checks that each is as it is alone and that
/// nothing is left of them. The tests and `scripts/verify concurrency` run it.
///
///     ConcurrentJobs FOLDER [jobs=50] [rounds=3] [gpu=yes] [memory=no]
///
/// `gpu=yes` lets some of them use the first GPU; `memory=no` does not judge memory, which sanitizers keep after it is
/// freed. It says what it finds in lines of text, and ends with 1 if something is wrong.
@main enum ConcurrentJobs {
    static func main() async {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            let findings = try await Trial(options).run()
            for finding in findings { say("wrong: \(finding)") }
            checkLeaks()
            say(findings.isEmpty ? "passed" : "FAILED: \(findings.count) findings")
            _exit(findings.isEmpty ? 0 : 1)
        } catch {
            say("error: \(error)")
            _exit(2)
        }
    }
}

/// What the command line asks for.
struct Options: Sendable {
    var folder = ""
    var jobs = 50
    var rounds = 3
    var usesGPU = false
    var judgesMemory = true

    init(_ words: [String]) throws {
        guard let folder = words.first, folder.hasPrefix("/") else { throw Wrong("usage: ConcurrentJobs FOLDER ...") }
        self.folder = folder
        for word in words.dropFirst() {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            switch (parts.first, parts.last.flatMap { Int($0) }) {
            case ("jobs", let count?) where (12...500).contains(count): jobs = count
            case ("rounds", let count?) where (1...100).contains(count): rounds = count
            case ("gpu", nil): usesGPU = parts.last == "yes"
            case ("memory", nil): judgesMemory = parts.last != "no"
            default: throw Wrong("no such option, or not in 12...500 jobs and 1...100 rounds: \(word)")
            }
        }
    }
}

/// Looks for memory that nothing points to, if the program is built with the address sanitizer and that is asked to
/// (`detect_leaks=1`): it would do so at an ordinary end only. Ends the program if there is some.
private func checkLeaks() {
    guard let symbol = dlsym(nil, "__lsan_do_leak_check") else { return }
    unsafeBitCast(symbol, to: (@convention(c) () -> Void).self)()
}

/// Says a line at once, wherever standard output goes.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

/// Something that ends the program.
struct Wrong: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The jobs one by one, then all at once, round after round.
struct Trial {
    private let options: Options
    private let jobs: [Job]
    /// Gets what is logged for no job.
    private let stray = LogRecorder()

    init(_ options: Options) throws {
        self.options = options
        jobs = Job.plan(options)
    }

    func run() async throws -> [String] {
        try Clip.makeAll(in: options.folder)
        // Suspends of the machine concern the process.
        LoggingSystem.bootstrap { [stray] in $0 == "vatoolbox.sleep" ? LogRecorder() : stray }
        MediaLog.logger = stray.logger("stray")
        var findings: [String] = []
        let alone = try await runAlone(&findings)
        let before = await ProcessMeasure.atRest(like: nil)
        say("alone     \(alone.count) jobs; then \(before)")
        var first: ProcessMeasure?
        for round in 1...options.rounds {
            let crowd = try Crowd(jobs, options.folder, "round-\(round)")
            let result = try await crowd.run()
            let after = await ProcessMeasure.atRest(like: before)
            say("round \(round)   \(result.figures); then \(after)")
            findings += try crowd.judge(result, against: alone).map { "round \(round): \($0)" }
            findings += after.findings(since: before).map { "round \(round): \($0)" }
            if let first, options.judgesMemory { findings += after.memoryFindings(since: first, round, jobs.count) }
            first = first ?? after
        }
        findings += stray.lines.map { "logged for no job: \($0)" }
        return findings
    }

    /// What the jobs that are not cancelled come to when nothing else runs.
    private func runAlone(_ findings: inout [String]) async throws -> [String: JobResult] {
        var results: [String: JobResult] = [:]
        for job in jobs where job.ending != .cancelled {
            // The first on a GPU proves what it does, which is in its log and then known.
            if job.encoder == .gpu { _ = try await Crowd([job], options.folder, "proof").run() }
            let crowd = try Crowd([job], options.folder, "alone")
            let outcome = try await crowd.run()
            findings += try crowd.judge(outcome, against: nil).map { "alone: \($0)" }
            results[job.name] = outcome.results[0]
        }
        return results
    }
}
