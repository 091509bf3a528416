// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import ServiceAPI
import ServiceClient
import ServiceCommandLine
import Synchronization

/// `vatoolbox submit`: uploads, submits, and on request waits and downloads.
struct SubmitRun: Sendable {
    private let submissions: [Submission]
    private let options: SubmitResultOptions
    private let impatient: ServiceClient
    private let client: ServiceClient
    private let console: ClientConsole
    private let state = RunState()

    init(_ command: SubmitCommand, _ console: ClientConsole) throws {
        submissions = try command.submissions()
        options = command.results
        let connection = try Connection(command.connection)
        client = try connection.client()
        impatient = try connection.impatientClient()
        self.console = console
    }

    /// A job that was submitted.
    private struct Submitted: Sendable {
        var job: Job
        /// The input, for people.
        var input: String
    }

    private var waits: Bool { options.wait || options.download != nil }

    func run() async throws -> ClientStatus {
        try checkFiles()
        let work = Task { try await workAll() }
        let interruptions = Interruptions { [state, console, client] before in
            guard before == 0 else {
                console.progress("")
                console.note("left; jobs that were submitted end by themselves")
                exit(ClientStatus.interrupted.rawValue)
            }
            let jobs = state.interrupt()
            console.note(jobs.isEmpty ? "stopping" : "cancelling; a second signal leaves at once")
            if !jobs.isEmpty, state.isWaiting {
                Task { await Self.cancel(jobs, client, console) }
            } else {
                work.cancel()
            }
        }
        defer { withExtendedLifetime(interruptions) {} }
        return try await work.value
    }

    /// What can be known without the service.
    private func checkFiles() throws {
        for case .file(let path) in submissions.map(\.source) where access(path, R_OK) != 0 {
            throw UsageError("the input cannot be read (given \(path)): \(String(cString: strerror(errno)))")
        }
        guard let folder = options.download, !options.overwrite else { return }
        for name in submissions.flatMap({ $0.request().outputs.map(\.name) }) {
            guard !name.contains("%"), access(folder + "/" + name, F_OK) == 0 else { continue }
            throw UsageError("the output exists (given \(folder)/\(name); allowed: another folder, or --overwrite)")
        }
    }

    private func workAll() async throws -> ClientStatus {
        var submitted: [Submitted] = []
        do {
            _ = try await impatient.service()
            for submission in submissions {
                guard let job = try await submit(submission) else { continue }
                submitted.append(job)
            }
        } catch {
            guard state.isInterrupted else { throw error }
            console.progress("")
            await cancelAll(submitted.map(\.job.id))
            return .interrupted
        }
        state.beginWaiting()
        // A signal before this line has found no one who waits.
        guard !state.isInterrupted else {
            await cancelAll(submitted.map(\.job.id))
            return .interrupted
        }
        guard waits, !options.dryRun else { return .done }
        return await waitForAll(submitted)
    }

    /// Takes back what was submitted before a signal, in a task that the signal has not cancelled.
    private func cancelAll(_ jobs: [String]) async {
        await Task { [client, console] in await Self.cancel(jobs, client, console) }.value
    }

    private static func cancel(_ jobs: [String], _ client: ServiceClient, _ console: ClientConsole) async {
        for job in jobs {
            do throws(ClientError) {
                _ = try await client.cancel(job)
            } catch {
                // One that has ended already needs no cancellation.
                if error.code != .invalidState { console.error(error) }
            }
        }
    }

    // MARK: Submission

    private func submit(_ submission: Submission) async throws -> Submitted? {
        var upload: Upload?
        if case .file(let path) = submission.source {
            upload = try await client.upload(file: path) { [console] progress in
                console.progress(
                    JobTexts.transfer(
                        "uploading",
                        bytes: progress.bytes,
                        of: progress.size,
                        width: console.progressWidth
                    )
                )
            }
            console.progress("")
        }
        // Its name says more in lists than its ID, and no other upload has it.
        let request = submission.request(upload: upload?.name)
        do {
            if options.dryRun {
                let plan = try await client.plan(request)
                if let upload { try await client.deleteUpload(upload.id) }
                console.result(options.json ? plan.json.text + "\n" : Self.text(plan, submission.source.text))
                return nil
            }
            // A signal does not tear it: either it was not submitted, or its ID is known.
            let job = try await Task { [client] () throws(ClientError) in try await client.submit(request) }.value
            state.add(job.id)
            if !options.json {
                console.result(job.id + "\n")
            } else if !waits {
                console.result(job.json.text + "\n")
            }
            if let waiting = job.waiting, waiting.isForLong { console.note("\(job.id) waits: \(waiting.message)") }
            return Submitted(job: job, input: submission.source.text)
        } catch {
            if let upload {
                // A refused job has no use for it. If this fails as well, it expires.
                await Task { [client] in _ = try? await client.deleteUpload(upload.id) }.value
            }
            throw error
        }
    }

    private static func text(_ plan: Plan, _ input: String) -> String {
        let encoder = plan.encoder.map { "\($0.name)" + ($0.device.map { " on \($0)" } ?? "") } ?? "none"
        let estimate = plan.estimate.map { ", about \($0.duration.rounded(.up)) s and \($0.size) bytes" } ?? ""
        return "\(input): encoder \(encoder)\(estimate)\n" + plan.warnings.map { "  \($0)\n" }.joined()
    }

    // MARK: Waiting

    private func waitForAll(_ submitted: [Submitted]) async -> ClientStatus {
        await withTaskGroup(of: ClientStatus.self) { group in
            for job in submitted { group.addTask { await follow(job, of: submitted.count) } }
            var statuses: [ClientStatus] = []
            for await status in group { statuses.append(status) }
            console.progress("")
            return ClientStatus.worst(statuses)
        }
    }

    private func follow(_ submitted: Submitted, of count: Int) async -> ClientStatus {
        let id = submitted.job.id
        do throws(ClientError) {
            let job = try await client.wait(for: id) { [console, state] event in
                guard case .progress(_, let progress) = event else { return }
                let ended = count > 1 ? "\(state.ended) of \(count) done  " : ""
                let width = console.progressWidth - ended.count
                console.progress(ended + JobTexts.progress(progress, width: width))
            }
            if job.state == .succeeded, let folder = options.download { try await download(job, to: folder) }
            state.end(id)
            console.progress("")
            report(job, submitted.input)
            return ClientStatus(job, wasInterrupted: state.isInterrupted)
        } catch {
            let remedies = error.kind == .file ? error.remedies : error.remedies + ["vatoolbox jobs show \(id)"]
            console.error("\(submitted.input): \(error.message)", remedies: remedies)
            return state.isInterrupted ? .interrupted : .failed
        }
    }

    private func report(_ job: Job, _ input: String) {
        if options.json {
            console.result(job.json.text + "\n")
            return
        }
        for warning in job.warnings { console.warning("\(input): \(warning)") }
        switch job.state {
        case .succeeded:
            for output in job.outputs {
                let size = output.files.reduce(0) { $0 + $1.size }
                let encoder = output.encoder.map { ", \($0.name)" + ($0.device.map { " on \($0)" } ?? "") } ?? ""
                let place = options.download.map { "\($0)/\(output.name)" } ?? output.name
                console.note("\(input) -> \(place), \(size) bytes\(encoder)")
            }
        case .failed:
            for line in job.failure.map(JobTexts.failure) ?? [] {
                if line.name == "failure" {
                    console.error("\(input): \(line.text)")
                } else {
                    console.error(remedy: line.text)
                }
            }
        case .cancelled: console.note("\(input): cancelled")
        case .waiting, .running: break
        }
    }

    /// Downloads the results. Of each output, the file with its name comes last: who finds it finds all others.
    private func download(_ job: Job, to folder: String) async throws(ClientError) {
        for output in job.outputs {
            let files = output.files.filter { $0.path != output.name } + output.files.filter { $0.path == output.name }
            for file in files {
                try await client.download(
                    file,
                    of: job.id,
                    to: folder + "/" + file.path,
                    overwrites: options.overwrite
                ) { [console] progress in
                    console.progress(
                        JobTexts.transfer(
                            "downloading",
                            bytes: progress.bytes,
                            of: progress.size,
                            width: console.progressWidth
                        )
                    )
                }
            }
        }
    }
}

extension WaitingReason {
    /// Whether it needs more than the end of other tasks.
    fileprivate var isForLong: Bool {
        switch reason {
        case .queuePaused, .queueClosed, .draining, .demand, .diskFull: true
        case .queueFull, .noWorker, .retryPause, .behind, .memoryShort, .devicesBusy: false
        }
    }
}

/// What the command has begun, for signals.
private final class RunState: Sendable {
    private struct Values {
        var jobs: [String] = []
        var ended: Set<String> = []
        var isWaiting = false
        var isInterrupted = false
    }

    private let values = Mutex(Values())

    func add(_ job: String) { values.withLock { $0.jobs.append(job) } }
    func end(_ job: String) { values.withLock { _ = $0.ended.insert(job) } }
    func beginWaiting() { values.withLock { $0.isWaiting = true } }

    /// Notes a signal, and returns the jobs that have not ended.
    func interrupt() -> [String] {
        values.withLock { values in
            values.isInterrupted = true
            return values.jobs.filter { !values.ended.contains($0) }
        }
    }

    var isWaiting: Bool { values.withLock { $0.isWaiting } }
    var isInterrupted: Bool { values.withLock { $0.isInterrupted } }
    var ended: Int { values.withLock { $0.ended.count } }
}
