// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import MediaIO
import MediaTypes
import Synchronization
import TestSupport
import Transcoding

/// What came of one job.
struct JobResult: Sendable {
    let job: Job
    let log: LogRecorder
    /// Where its output is if there is one.
    let output: String
    let result: Result<TranscodeReport, MediaError>
}

/// What came of all of them.
struct CrowdResult: Sendable {
    var results: [JobResult]
    /// How many worked at the same time, when all had begun.
    var together = 0
    var heart = Heartbeat.Record()
    var peak = ProcessMeasure.Peak()
    var time = Duration.zero

    var figures: String {
        func count(_ isSo: (JobResult) -> Bool) -> Int { results.count(where: isSo) }
        let cancelled = count { $0.job.ending == .cancelled }
        let complete = count { (try? $0.result.get()) != nil }
        return "\(results.count) jobs, \(together) together: \(complete) complete, \(cancelled) cancelled, "
            + "\(results.count - complete - cancelled) failed, \(time.inSeconds) s; \(heart); peak \(peak)"
    }
}

/// Jobs that run at the same time.
final class Crowd: Sendable {
    private let jobs: [Job]
    private let folder: String
    /// Where the outputs are.
    private let outputs: String

    init(_ jobs: [Job], _ folder: String, _ name: String) throws {
        self.jobs = jobs
        self.folder = folder
        outputs = "\(folder)/\(name)"
        guard mkdir(outputs, 0o700) == 0 || errno == EEXIST else { throw Wrong("cannot be made: \(outputs)") }
    }

    func run() async throws -> CrowdResult {
        let start = ContinuousClock.now
        let (gate, isOver) = (Gate(), Gate())
        let runs = try jobs.map { try Run($0, folder, outputs, gate: gate, isOver: isOver) }
        let (heart, sampler) = (Heartbeat(of: runs), try PeakSampler())
        let tasks = runs.map { run in Task { await run.run() } }
        for run in runs where !(await Patience.wait { run.hasBegun }) { say("late: \(run.job.name)") }
        let together = runs.count(where: \.isAtWork)
        // All at once, while all others work.
        for (run, task) in zip(runs, tasks) where run.job.ending == .cancelled { task.cancel() }
        gate.open()
        var results: [JobResult] = []
        for task in tasks { results.append(await task.value) }
        let time = ContinuousClock.now - start
        isOver.open()
        let record = await heart.end()
        let peak = sampler.end()
        for run in runs { run.removePipes() }
        _ = await Patience.wait { Feeder.count == 0 && ProcessFiles.children(of: "self").isEmpty }
        return CrowdResult(results: results, together: together, heart: record, peak: peak, time: time)
    }

    /// What is not as it should be.
    ///
    /// - Parameter alone: What the jobs came to that ran alone, by their names; `nil` for those themselves.
    func judge(_ crowd: CrowdResult, against alone: [String: JobResult]?) throws -> [String] {
        var findings: [String] = []
        for result in crowd.results {
            findings += try self.findings(result, against: alone?[result.job.name]).map { "\(result.job.name): \($0)" }
        }
        let expected = crowd.results.filter { (try? $0.result.get()) != nil }.map(\.output)
        let found = ProcessFiles.names(outputs).filter { $0 != "." && $0 != ".." }.map { "\(outputs)/\($0)" }
        let left = alone == nil ? [] : Set(found).subtracting(expected).sorted()
        if !left.isEmpty { findings.append("left behind: \(left.joined(separator: ", "))") }
        if alone != nil { findings += crowd.heart.findings }
        return findings
    }

    private func findings(_ result: JobResult, against alone: JobResult?) throws -> [String] {
        var findings: [String] = []
        let lines = result.log.lines.map(\.description)
        if let expected = result.job.expectedLog, !lines.contains(where: { $0.contains(expected) }) {
            findings.append("its log lacks \"\(expected)\": \(lines.prefix(5))")
        }
        switch (result.job.ending, result.result) {
        case (.complete(let isRepeatable), .success(let report)):
            if isRepeatable, report.problems.isLossy { findings.append("it lost something: \(report.problems)") }
            let hashes = try Clip.hashes(of: result.output, in: folder)
            guard isRepeatable, let alone else { break }
            let expected = try Clip.hashes(of: alone.output, in: folder)
            if hashes != expected { findings.append("its output is not that of the job alone") }
            let (more, fewer) = difference(lines, alone.log.lines.map(\.description))
            if !more.isEmpty || !fewer.isEmpty {
                findings.append("its log is not that of the job alone: with \(more), without \(fewer)")
            }
        case (.cancelled, .failure(let error)) where error.code == .cancelled: break
        case (.failed(let code), .failure(let error)) where error.code == code: break
        case (let ending, .success): findings.append("it completed, and should have ended as \(ending)")
        case (let ending, .failure(let error)):
            findings.append("it ended with \(error.code) (\(error)), and should have ended as \(ending)")
        }
        return findings
    }
}

/// What each of two logs has that the other has not.
private func difference(_ one: [String], _ other: [String]) -> (more: [String], fewer: [String]) {
    let changes = other.sorted().difference(from: one.sorted())
    func lines(_ changes: [CollectionDifference<String>.Change]) -> [String] {
        changes.map { change in
            switch change {
            case .insert(_, let line, _), .remove(_, let line, _): line
            }
        }
    }
    return (lines(changes.removals), lines(changes.insertions))
}

/// One job at work.
private final class Run: Sendable {
    let job: Job
    private let transcoder: Transcoder
    private let log = LogRecorder()
    private let output: String
    private let pipes: [String]
    /// The end of an output pipe out of which nothing is taken; -1 for none.
    private let stalled: Int32
    private let hasEnded = Gate()

    init(_ job: Job, _ folder: String, _ outputs: String, gate: Gate, isOver: Gate) throws {
        self.job = job
        var pipes: [String] = []
        if case .file = job.input {} else { pipes.append(job.pipePath(folder)) }
        output = job.output.map { "\(outputs)/\(job.name).\($0)" } ?? "\(folder)/output-\(job.name)"
        if job.output == nil { pipes.append(output) }
        for pipe in pipes where mkfifo(pipe, 0o600) != 0 { throw Wrong("cannot be made: \(pipe)") }
        self.pipes = pipes
        stalled = job.output == nil ? open(output, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1
        if stalled >= 0 { _ = fcntl(stalled, 1031 /* F_SETPIPE_SZ */, 4096) }
        switch job.input {
        case .held, .endless:
            try Feeder(job.pipePath(folder), job.input, folder: folder, gate: gate, isOver: isOver).start()
        case .file, .silent: break
        }
        transcoder = Transcoder(job.request(folder, output, log))
    }

    func run() async -> JobResult {
        defer { hasEnded.open() }
        let result: Result<TranscodeReport, MediaError>
        do { result = .success(try await transcoder.run()) } catch { result = .failure(error) }
        return JobResult(job: job, log: log, output: output, result: result)
    }

    var framesOut: Int { transcoder.progress.framesOut }

    var isAtWork: Bool { !hasEnded.isOpen }

    /// Whether it is in the middle of its work, or over.
    var hasBegun: Bool {
        if hasEnded.isOpen { return true }
        switch (job.input, job.ending) {
        case (.silent, _): return true
        case (_, .cancelled) where stalled >= 0: return bytesInPipe > 0
        case (_, .cancelled): return framesOut > 0
        default: return transcoder.progress.framesIn > 0
        }
    }

    private var bytesInPipe: Int32 {
        var count: Int32 = 0
        return ioctl(stalled, UInt(FIONREAD), &count) == 0 ? count : 0
    }

    func removePipes() {
        if stalled >= 0 { close(stalled) }
        for pipe in pipes { unlink(pipe) }
    }
}

/// A task that wakes again and again: the threads of the cooperative pool are free for others than the jobs.
struct Heartbeat: Sendable {
    /// How it beat.
    struct Record: Sendable, CustomStringConvertible {
        var beats = 0
        var longestPause = Duration.zero
        /// The most frames that came out between two beats, of all that did.
        var mostFrames = 0
        var frames = 0

        var description: String {
            "\(beats) heartbeats, at most \(longestPause.inSeconds) s and \(mostFrames) of \(frames) frames apart"
        }

        /// No figure of time is judged, since others use the machine.
        var findings: [String] {
            beats < 10 || mostFrames > frames / 4 ? ["tasks of the cooperative pool starve: \(self)"] : []
        }
    }

    private static let interval = Duration.milliseconds(5)
    private let task: Task<Record, Never>

    fileprivate init(of runs: [Run]) {
        task = Task {
            var record = Record()
            var last = ContinuousClock.now
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.interval)
                let now = ContinuousClock.now
                let frames = runs.reduce(0) { $0 + $1.framesOut }
                record.beats += 1
                record.longestPause = max(record.longestPause, now - last)
                record.mostFrames = max(record.mostFrames, frames - record.frames)
                (record.frames, last) = (frames, now)
            }
            return record
        }
    }

    func end() async -> Record {
        task.cancel()
        return await task.value
    }
}

extension Duration {
    var inSeconds: String {
        let hundredths = Int((self / .milliseconds(10)).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
