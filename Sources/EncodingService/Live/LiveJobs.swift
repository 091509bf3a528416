// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import JobStore
internal import Logging
internal import ServiceAPI
internal import ServiceLifecycle

/// The live jobs of this node: each is a process, which is started again when it ends early, also by the next service.
actor LiveJobs: Service {
    /// What live jobs need of the service.
    struct Parts: Sendable {
        var runner: LiveRunner
        var places: LivePlaces
        var load: LiveLoad
        /// The most at a time.
        var most: Int
        var allowedAddresses: [String]
        var logger: Logger
    }

    private struct Entry {
        var record: LiveRecord
        let telemetry: LiveTelemetry
        var supervision: LiveSupervision
        /// Starts processes, one after the other, until it is cancelled.
        var work: Task<Void, Never>?
        var control: LiveControl?
        var startedAt: Double?
        var nextStart: Double?
        var restarts = 0
        /// Why its last process has ended early.
        var failure: FailureInfo?
        /// Whether a client has asked for its end.
        var isStopping = false
        /// The last of its changes, which come one after the other.
        var lastChange: Task<Void, any Error>?

        init(_ record: LiveRecord) {
            self.record = record
            telemetry = LiveTelemetry(record.request)
            supervision = LiveSupervision(most: record.request.restarts)
        }

        var isFinal: Bool { record.end != nil }
    }

    private let parts: Parts
    private var entries: [String: Entry] = [:]
    /// The last of the writes to the disk, which come one after the other.
    private var lastWrite: Task<Void, any Error>?
    private var isEnding = false

    /// Ended jobs beyond these are forgotten, the oldest first.
    private static let mostEnded = 200

    /// Reads what was stored.
    init(_ parts: Parts) throws {
        self.parts = parts
        for (id, bytes) in try parts.places.records() {
            do {
                entries[id] = Entry(try LiveRecord(id: id, json: try JSONValue(parsing: bytes)))
                // What is not final by now has not been refused.
                entries[id]?.supervision.hasWorked = true
            } catch {
                parts.logger.error("a live job cannot be read", metadata: ["live": "\(id)", "error": "\(error)"])
            }
        }
    }

    // MARK: Service

    /// Starts the jobs that ran when the service ended, and ends all when it is to end: the next one starts them again.
    func run() async {
        for id in entries.keys.sorted() where entries[id]?.isFinal == false { start(id) }
        await withGracefulShutdownHandler {
            try? await gracefulShutdown()
        } onGracefulShutdown: {
        }
        await endAll()
    }

    /// Ends all processes, and begins no others. Their jobs are not ended.
    func endAll() async {
        isEnding = true
        let works = entries.values.compactMap(\.work)
        for work in works { work.cancel() }
        for work in works { await work.value }
        _ = await lastWrite?.result
    }

    // MARK: Requests

    /// Makes a job, and starts it.
    ///
    /// - Parameter key: The idempotency key with the client that has sent it.
    /// - Returns: The job, and whether it is new.
    /// - Throws: `APIError`.
    func create(_ request: LiveRequest, key: String?) async throws -> (LiveJob, isNew: Bool) {
        if let absence = parts.runner.absence { throw absence }
        if let known = try known(request, key) { return (known, false) }
        try await parts.places.check(request)
        // Another request may have come meanwhile.
        if let known = try known(request, key) { return (known, false) }
        guard !isEnding else { throw APIError(.unavailable, "The service ends") }
        let active = entries.values.filter { !$0.isFinal }
        guard active.count < parts.most else {
            throw APIError(
                .rateLimited,
                "There are as many live jobs as may be at a time",
                allowed: "\(parts.most) live jobs",
                remedies: ["Stop another live job, or raise live.count."]
            )
        }
        try Self.checkFolders(of: request, beside: active.map(\.record.request))
        let now = Clock.now
        let id = Identifier.make(at: now)
        entries[id] = Entry(LiveRecord(id: id, request: request, createdAt: now, key: key))
        do { try await save(id) } catch {
            entries[id] = nil
            throw error
        }
        start(id)
        return (try find(id), true)
    }

    private func known(_ request: LiveRequest, _ key: String?) throws(APIError) -> LiveJob? {
        guard let key, let entry = entries.values.first(where: { $0.record.key == key }) else { return nil }
        guard entry.record.digest == Digest.sha256(request.canonicalBytes) else {
            throw APIError(.idempotencyConflict, "The key belongs to another request", field: "Idempotency-Key")
        }
        return view(entry)
    }

    /// Refuses a folder that another job writes.
    private static func checkFolders(of request: LiveRequest, beside others: [LiveRequest]) throws(APIError) {
        var taken = Set(others.flatMap(\.outputs).compactMap(\.hls?.path))
        for (index, output) in request.outputs.enumerated() {
            guard let path = output.hls?.path, !taken.insert(path).inserted else { continue }
            throw APIError(
                .conflict,
                "Another live output writes into this folder",
                field: "/outputs/\(index)/hls/path",
                value: .string(path),
                allowed: "a folder of its own"
            )
        }
    }

    /// The jobs, the newest first.
    ///
    /// - Parameters:
    ///   - cursor: The ID of the last job of the page before.
    func list(_ query: LiveQuery) -> LiveJobList {
        let ids = entries.keys.sorted(by: >).filter { id in query.cursor.map { id < $0 } ?? true }
        let found = ids.lazy.compactMap { self.entries[$0] }.map { self.view($0) }
            .filter { job in query.state.map { job.state == $0 } ?? true }.prefix(query.limit + 1)
        var list = LiveJobList()
        list.jobs = Array(found.prefix(query.limit))
        if found.count > query.limit { list.nextCursor = list.jobs.last?.id }
        return list
    }

    /// Those that have not ended, the oldest first.
    var active: [LiveJob] { entries.keys.sorted().compactMap { entries[$0] }.filter { !$0.isFinal }.map(view) }

    /// Returns a job.
    ///
    /// - Throws: `APIError` `not-found`.
    func find(_ id: String) throws(APIError) -> LiveJob { view(try entry(id)) }

    private func entry(_ id: String) throws(APIError) -> Entry {
        guard let entry = entries[id] else {
            throw APIError(.notFound, "There is no such live job", field: "id", value: .string(id))
        }
        return entry
    }

    /// A job that may be changed.
    private func activeEntry(_ id: String) throws(APIError) -> Entry {
        let entry = try entry(id)
        guard !entry.isFinal, !entry.isStopping else {
            throw APIError(
                .invalidState,
                "The live job ends, or has ended",
                value: .string(view(entry).state.rawValue),
                allowed: "starting, running, waiting"
            )
        }
        return entry
    }

    /// Ends a job. One that has ended stays as it is.
    func stop(_ id: String) async throws(APIError) -> LiveJob {
        if let entry = entries[id], !entry.isFinal {
            entries[id]?.isStopping = true
            entry.work?.cancel()
            if isEnding {
                // Its process has ended with the service, and nothing else notes that the job has.
                await entry.work?.value
                if entries[id]?.isFinal == false { await end(id, nil) }
            }
        }
        return try find(id)
    }

    /// Uses another input from now on.
    func use(input: Int, of id: String) async throws -> LiveJob {
        let former = try activeEntry(id).record
        guard former.request.inputs.indices.contains(input) else {
            throw APIError(
                .invalidRequest,
                "The live job has no such input",
                field: "/input",
                value: .integer(Int64(input)),
                allowed: "0...\(former.request.inputs.count - 1)"
            )
        }
        try await change(id, LiveArguments.use(input)) { record in record.input = input }
        return try find(id)
    }

    /// Changes the highest bit rate from now on.
    func set(bitRate: Int, of id: String) async throws -> LiveJob {
        try await change(id, LiveArguments.bitRate(bitRate)) { record in record.request.encoding.bitRate = bitRate }
        return try find(id)
    }

    /// What a change makes of a record.
    private typealias Edit = @Sendable (inout LiveRecord) -> Void

    /// Changes a job, after the changes that were asked for before: its record, on the disk, too, and its process. If
    /// it throws, nothing has changed.
    private func change(_ id: String, _ command: String, _ edit: @escaping Edit) async throws {
        _ = try activeEntry(id)
        let before = entries[id]?.lastChange
        let change = Task {
            _ = await before?.result
            try await self.apply(command, edit, to: id)
        }
        entries[id]?.lastChange = change
        try await change.value
    }

    private func apply(_ command: String, _ edit: Edit, to id: String) async throws {
        var changed = try activeEntry(id).record
        edit(&changed)
        // What is not on the disk does not count.
        try await save(id, as: changed)
        // It may have ended meanwhile.
        let entry = try activeEntry(id)
        // Without a process, the next one gets it with its arguments.
        do throws(FileError) { try entry.control?.tell(command) } catch {
            try? await save(id)
            throw APIError(
                .unavailable,
                "The process of the live job takes no commands now, and nothing is changed",
                remedies: ["Ask again. A process that stands still is started again after workers.stall-timeout."]
            )
        }
        var record = entry.record
        edit(&record)
        entries[id]?.record = record
    }

    /// Forgets a job that has ended.
    func delete(_ id: String) async throws {
        guard try entry(id).isFinal else {
            throw APIError(
                .invalidState,
                "The live job has not ended",
                value: .string(try find(id).state.rawValue),
                allowed: "ended, failed"
            )
        }
        try await forget(id)
    }

    private func forget(_ id: String) async throws {
        entries[id] = nil
        try await save(id)
    }

    // MARK: Views

    private func view(_ entry: Entry) -> LiveJob {
        let report = entry.telemetry.report
        return LiveJob {
            $0.id = entry.record.id
            $0.state = state(entry, report)
            $0.request = entry.record.request.shown
            $0.input = entry.record.input
            $0.createdAt = Timestamp(seconds: entry.record.createdAt)
            $0.startedAt = entry.startedAt.map(Timestamp.init(seconds:))
            $0.endedAt = entry.record.end.map { Timestamp(seconds: $0.time) }
            $0.restarts = entry.restarts
            $0.nextStart = entry.nextStart.map(Timestamp.init(seconds:))
            $0.failure = entry.record.end?.failure ?? (entry.isFinal ? nil : entry.failure)
            $0.statistics = report.statistics
            $0.messages = report.messages
        }
    }

    private func state(_ entry: Entry, _ report: LiveTelemetry.Report) -> LiveState {
        if let end = entry.record.end { return end.failure == nil ? .ended : .failed }
        if entry.isStopping { return .stopping }
        if entry.nextStart != nil { return .waiting }
        return report.isRunning ? .running : .starting
    }

    // MARK: Processes

    private func start(_ id: String) {
        guard !isEnding else { return }
        entries[id]?.work = Task { await self.supervise(id) }
    }

    /// Runs processes of a job until it has ended, or until the service ends.
    private func supervise(_ id: String) async {
        // It may have been stopped before it began.
        while !Task.isCancelled, let entry = entries[id], !entry.isFinal, !entry.isStopping {
            entries[id]?.supervision.begin(at: Clock.monotonic)
            let failure = await attempt(id)
            guard let entry = entries[id], !entry.isStopping, !Task.isCancelled else { break }
            if entry.telemetry.report.hasDelivered { entries[id]?.supervision.hasWorked = true }
            let step = entries[id]?.supervision.end(Self.end(failure), at: Clock.monotonic)
            var logger = parts.logger
            logger[metadataKey: "live"] = "\(id)"
            switch step {
            case .wait(let pause):
                entries[id]?.restarts += 1
                entries[id]?.failure = failure
                entries[id]?.failure?.retriable = true
                entries[id]?.nextStart = Clock.now + pause
                logger.warning(
                    "the process of a live job has ended, and is started again",
                    metadata: ["failure": "\(failure?.message ?? "")", "seconds": "\(pause)"]
                )
                try? await Task.sleep(for: .seconds(pause))
                entries[id]?.nextStart = nil
            case .giveUp:
                logger.error("a live job has failed", metadata: ["failure": "\(failure?.message ?? "")"])
                return await end(id, failure)
            case .end, nil: return await end(id, nil)
            }
        }
        // The end of the service is not that of the job.
        if entries[id]?.isStopping == true { await end(id, nil) }
    }

    private static func end(_ failure: FailureInfo?) -> LiveSupervision.End {
        guard let failure else { return .finished }
        return failure.retriable ? .failed : .refused
    }

    private func end(_ id: String, _ failure: FailureInfo?) async {
        entries[id]?.record.end = LiveRecord.End(time: Clock.now, failure: failure)
        entries[id]?.work = nil
        do {
            try await save(id)
            let ended = entries.values.filter(\.isFinal).map(\.record).sorted { $0.id > $1.id }
            for record in ended.dropFirst(Self.mostEnded) { try await forget(record.id) }
        } catch {
            parts.logger.error("the end of a live job cannot be stored", metadata: ["error": "\(error)"])
        }
    }

    /// Runs one process.
    ///
    /// - Returns: Why it has ended early; `nil` if it has ended as asked.
    private func attempt(_ id: String) async -> FailureInfo? {
        guard let record = entries[id]?.record, let telemetry = entries[id]?.telemetry else { return nil }
        telemetry.reset()
        defer {
            entries[id]?.control = nil
            parts.load.remove(id)
            telemetry.reset()
        }
        do {
            let places = try await parts.places.open(record)
            // It may have changed meanwhile.
            let present = entries[id]?.record ?? record
            let arguments = LiveArguments(
                request: present.request,
                places: places,
                allowedAddresses: parts.allowedAddresses
            )
            let control = try LiveControl(arguments.text(input: present.input))
            entries[id]?.control = control
            entries[id]?.startedAt = Clock.now
            parts.load.add(id, record.request.encoding.device == "software" ? .processors : .devices)
            let result = try await parts.runner.run(control, places) {
                telemetry.add(progress: $0)
            } onLogLine: {
                telemetry.add(message: $0)
            }
            return Self.failure(of: result).map(telemetry.safe)
        } catch {
            // The request was valid when it was made, so what is missing now may come back: a file, a folder.
            var failure = telemetry.safe(JobView.failure(TaskRunner.failure(of: error)))
            failure.retriable = true
            return failure
        }
    }

    /// The codes of failures that come again.
    private static let permanent: Set = ["invalid-argument", "unsupported", "usage"]

    /// Why a process has failed that was not asked to end; `nil` if its files have ended.
    static func failure(of result: CommandResult) -> FailureInfo? {
        if let failure = JobPlanner.failure(of: JobRequest(), result) {
            var info = JobView.failure(failure)
            info.retriable = result.exit != .status(2) && !permanent.contains(info.code)
            return info
        }
        // A signal of somebody else ends a process as one of the service does.
        guard result.json?["interrupted"] == .bool(true) else { return nil }
        return FailureInfo {
            $0.code = FailureCode.workerKilled.rawValue
            $0.message = "the process was told to end, and not by the service"
            $0.retriable = true
        }
    }

    // MARK: Files

    /// Writes the present state of a job to the disk, or removes what is there of one that was forgotten.
    ///
    /// - Parameter record: What is written of the job in place of its present state.
    private func save(_ id: String, as record: LiveRecord? = nil) async throws {
        let before = lastWrite
        let write = Task {
            _ = await before?.result
            let bytes = self.entries[id].map { (record ?? $0.record).json.bytes }
            try await FileWork.run { [places = self.parts.places] in try places.write(bytes, of: id) }
        }
        lastWrite = write
        try await write.value
    }
}
