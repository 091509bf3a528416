// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import JobStore
internal import Logging
internal import ServiceAPI
internal import ServiceLifecycle
internal import Synchronization

/// Gives the tasks of a job store to workers of this machine: renews what runs, tends the store, claims what is next.
actor Dispatcher {
    private let store: any JobStore
    private let runner: TaskRunner
    private nonisolated let data: DataFolder
    /// `nil` on a node that does not serve the API.
    private let housekeeping: Housekeeping?
    private let changes: ChangeSignal
    private let logger: Logger
    private nonisolated let settings: ServiceSettings
    private nonisolated let capacity: CapacityMonitor
    private nonisolated let live: LiveLoad
    private var running: [AttemptToken: Running] = [:]
    private var isDraining = false
    private var isStopping = false
    private var hasEnded = false
    private var lastRenewal = -Double.infinity
    private var lastMeasurement = -Double.infinity
    /// What may begin, as of the last look.
    private var offer = Admission.Offer()
    private var lastUpkeep = -Double.infinity
    private var lastBackup = Clock.monotonic
    private var isDiskLow = false
    private var isMemoryShort = false
    /// Since an attempt has found the disk full: tasks begin again when there is more space than then, or at a time.
    private var shortage: Shortage?
    private var storeFailure: String?
    private let wake = ChangeSignal()

    private struct Shortage {
        var free: Int64
        var end: Double
    }

    private struct Running {
        var claim: Claim
        /// Whether it takes one of the places for tasks.
        var isTask = true
        /// When it began, or had its input.
        var begin = Clock.monotonic
        var work: Task<TaskRunner.Outcome, Never>
    }

    init(
        store: any JobStore,
        runner: TaskRunner,
        data: DataFolder,
        housekeeping: Housekeeping?,
        capacity: CapacityMonitor,
        live: LiveLoad,
        changes: ChangeSignal,
        settings: ServiceSettings,
        logger: Logger
    ) {
        self.store = store
        self.runner = runner
        self.data = data
        self.housekeeping = housekeeping
        self.capacity = capacity
        self.live = live
        self.changes = changes
        self.settings = settings
        self.logger = logger
    }

    // MARK: State

    /// How a node does.
    struct Status: Sendable, Hashable {
        var isDraining: Bool
        var isDiskLow: Bool
        var isMemoryShort: Bool
        var running: Int
        /// The number of tasks that may run, without streams.
        var most: Int
        /// Whether tasks for GPUs have to wait until engines have time.
        var areDevicesBusy: Bool
        /// Why the store cannot be used now.
        var storeFailure: String?

        /// Why no task begins; `nil` if tasks begin.
        var hold: Hold? {
            if isDraining { return .draining }
            if isDiskLow { return .diskFull }
            if isMemoryShort { return .memoryShort }
            return storeFailure.map { .storeAway($0) }
        }

        /// Why a task does not begin that is next; `nil` if all workers have tasks.
        func hold(of demand: Demand) -> Hold? {
            hold ?? (areDevicesBusy && Admission.Resource(demand) == .devices ? .devicesBusy : nil)
        }
    }

    /// Why a node begins no task.
    enum Hold: Sendable, Hashable {
        case draining
        case diskFull
        case memoryShort
        /// The engines of all GPUs are busy.
        case devicesBusy
        /// The job store cannot be used, with the reason.
        case storeAway(String)
    }

    var status: Status {
        Status(
            isDraining: isDraining || isStopping,
            isDiskLow: isDiskLow,
            isMemoryShort: isMemoryShort,
            running: running.count,
            most: capacity.limit.most,
            areDevicesBusy: offer.areDevicesBusy,
            storeFailure: storeFailure
        )
    }

    /// Stops claiming, or begins again. What runs goes on.
    func setDraining(_ value: Bool) {
        isDraining = value
        logger.notice(
            value ? "this node drains" : "this node takes tasks again",
            metadata: ["running": "\(running.count)"]
        )
        wake.send()
    }

    /// Looks at once whether there is something to do.
    nonisolated func poke() { wake.send() }

    /// Looks at once whether attempts were cancelled.
    func renewNow() {
        lastRenewal = -.infinity
        wake.send()
    }

    /// What is asked of the store.
    nonisolated func request(offering offer: Demand = Demand(), in queues: Set<String> = []) -> ClaimRequest {
        ClaimRequest(worker: "\(workerPrefix)\(getpid())", offer: offer, lease: lease, queues: queues)
    }

    /// Keeps the lease of an attempt that somebody else has claimed, and cancels its work if it is lost or cancelled.
    func adopt(_ claim: Claim, _ work: Task<Void, Never>) {
        let watched = Task {
            await withTaskCancellationHandler {
                await work.value
            } onCancel: {
                work.cancel()
            }
            return TaskRunner.Outcome.ended
        }
        running[claim.token] = Running(claim: claim, isTask: false, work: watched)
        // Nobody would renew its lease any more.
        if hasEnded { work.cancel() }
        Task {
            self.ended(claim.token, await watched.value)
        }
    }

    private var taskCount: Int { running.values.count(where: \.isTask) }

    private var loads: (tasks: [Admission.Task], streams: [Admission.Task]) {
        func loads(_ isTask: Bool) -> [Admission.Task] {
            running.filter { $0.value.isTask == isTask }.map { token, entry in
                Admission.Task(
                    resource: JobPlanner.resource(of: entry.claim.draft),
                    begin: entry.begin,
                    isFetching: isFetching(token)
                )
            }
        }
        return (loads(true), loads(false) + live.tasks)
    }

    private func isFetching(_ token: AttemptToken) -> Bool { runner.progress.progress(of: token)?.phase == .fetching }

    // MARK: Work

    /// Sets right what an earlier process has left: attempts in doubt, tasks of workers that are gone, files.
    ///
    /// A folder that is not shared belongs to this process alone, with its store, so no worker of the store is alive,
    /// whatever the name of its node: a container has another one with each start. Otherwise, those of this node are gone.
    ///
    /// - Parameter isRestored: Whether the store has gone back to its backup. Then it does not know all jobs whose results
    ///   are there, and these are kept.
    func recover(isRestored: Bool) async throws {
        let gone = data.isShared ? workerPrefix : ""
        for attempt in try await store.unsettledAttempts() where attempt.worker.hasPrefix(gone) {
            try await settle(attempt)
        }
        let count = try await store.releaseAll(ofWorkersNamed: gone)
        if count > 0 { logger.notice("tasks go on that ran when the service ended", metadata: ["count": "\(count)"]) }
        if housekeeping != nil { try await endStreams() }
        do throws(FileError) { try data.removeWork() } catch {
            logger.error("files of earlier attempts cannot be removed", metadata: ["error": "\(error)"])
        }
        if !data.isShared { try await removeUnknownFiles(isRestored: isRestored) }
    }

    /// Finds out whether an attempt in doubt, which does not run any more, has published its result.
    private func settle(_ attempt: UnsettledAttempt) async throws {
        let isPublished = try await FileWork.run { [data] in
            try Publication.published(attempt.task, in: data)?.token == attempt.token
        }
        try await store.settle(attempt.token, wasPublished: isPublished)
        logger.notice(
            "an attempt in doubt is settled",
            metadata: ["task": "\(attempt.task)", "published": "\(isPublished)"]
        )
    }

    private nonisolated var workerPrefix: String { "\(data.node)/" }

    /// Ends the streams of an earlier process: their clients are gone, and nobody can do their tasks. Only the node that
    /// serves the API has streams, and there is one.
    private func endStreams() async throws(StoreError) {
        let filter = JobFilter(states: [.waiting, .running], queue: StreamRoutes.queue)
        while case let jobs = try await store.jobs(filter, before: nil, limit: 1000), !jobs.isEmpty {
            for job in jobs { _ = try await store.cancel(job.id) }
        }
    }

    /// Removes the files of jobs that were being deleted when the service ended.
    private func removeUnknownFiles(isRestored: Bool) async throws {
        for id in try data.jobsWithFiles() where try await !isKnown(id) {
            guard isRestored else {
                try data.removeFiles(of: id)
                continue
            }
            let folder = try data.setAside(id)
            logger.warning(
                "results of a job that the backup does not know are kept aside",
                metadata: ["job": "\(id)", "folder": "\(folder)"]
            )
        }
    }

    private func isKnown(_ id: JobID) async throws(StoreError) -> Bool {
        do {
            _ = try await store.job(id)
            return true
        } catch {
            guard error.code == .notFound else { throw error }
            return false
        }
    }

    /// Works until the service is to end: then tasks may go on for the time of the settings, and are given back.
    func run() async {
        await withGracefulShutdownHandler {
            await loop()
        } onGracefulShutdown: {
            Task { await self.stop() }
        }
    }

    private func stop() {
        isStopping = true
        logger.notice("the service ends when its tasks have ended", metadata: ["running": "\(running.count)"])
        wake.send()
    }

    private func loop() async {
        let wakeups = wake.changes()
        let timer = Task { [wake] in
            while !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(500))
                wake.send()
            }
        }
        defer { timer.cancel() }
        let announcements = Task { [store, wake] in await Self.announce(store, wake) }
        defer { announcements.cancel() }
        var end: Double?
        wake.send()
        for await _ in wakeups {
            if Task.isCancelled { break }
            await step()
            guard isStopping else { continue }
            if running.isEmpty { break }
            let limit = end ?? Clock.monotonic + settings.drainTimeout
            end = limit
            if Clock.monotonic >= limit { break }
        }
        hasEnded = true
        for entry in running.values { entry.work.cancel() }
        for entry in running.values { _ = await entry.work.value }
        await backUp()
    }

    /// Looks at once when another process says that there are tasks. That may get lost.
    private static func announce(_ store: any JobStore, _ wake: ChangeSignal) async {
        guard let store = store as? PostgreSQLJobStore else { return }
        while !Task.isCancelled {
            do throws(StoreError) {
                if try await store.isToldOfTasks(within: .seconds(5)) { wake.send() }
            } catch {
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    private func step() async {
        let now = Clock.monotonic
        if now - lastMeasurement >= Self.measuringInterval {
            lastMeasurement = now
            for token in running.keys where isFetching(token) { running[token]?.begin = now }
            let loads = loads
            capacity.measure(loads.tasks + loads.streams)
        }
        do throws(StoreError) {
            if now - lastUpkeep >= upkeepInterval {
                // What runs here is heard of before anything is taken from workers that were not. If this process was
                // frozen in between, or the store is slow, that waits for the next step.
                let begin = Clock.monotonic
                try await renew(begin)
                if Clock.monotonic - begin < settings.lease / 2 { try await tend(now) }
            } else if now - lastRenewal >= upkeepInterval {
                try await renew(now)
            }
            try await claim()
            if storeFailure != nil { logger.notice("the job store is back") }
            storeFailure = nil
        } catch {
            if storeFailure == nil { logger.error("the job store cannot be used", metadata: ["error": "\(error)"]) }
            storeFailure = error.publicMessage
        }
    }

    private var upkeepInterval: Double { min(1, settings.lease / 4) }
    private static let measuringInterval = 1.0
    /// How long tasks wait at most after one has found the disk full.
    private static let shortageLimit = 60.0
    private nonisolated var lease: Duration { .seconds(settings.lease) }

    private func renew(_ now: Double) async throws(StoreError) {
        lastRenewal = now
        guard !running.isEmpty else { return }
        let heartbeats = running.keys.map { token in
            Heartbeat(token, progress: runner.progress.progress(of: token)?.json.text)
        }
        for (token, renewal) in try await store.renew(heartbeats, for: lease) where renewal != .continues {
            running[token]?.work.cancel()
        }
    }

    private func tend(_ now: Double) async throws(StoreError) {
        lastUpkeep = now
        let report = try await store.tend()
        if !report.isEmpty { changes.send() }
        for token in report.lost { logger.warning("an attempt was lost", metadata: ["attempt": "\(token.rawValue)"]) }
        if data.isShared { try await settleLapsed() }
        if let housekeeping { try await remove(report.expired, housekeeping) }
        if now - lastBackup >= settings.backupInterval {
            lastBackup = now
            await backUp()
        }
    }

    /// Settles attempts in doubt whose workers were not heard of in time.
    private func settleLapsed() async throws(StoreError) {
        for attempt in try await store.unsettledAttempts() where attempt.hasLapsed {
            do {
                try await settle(attempt)
            } catch let error as StoreError {
                // Another node was faster.
                guard error.code == .staleAttempt else { throw error }
            } catch {
                logger.error(
                    "an attempt in doubt cannot be settled",
                    metadata: ["task": "\(attempt.task)", "error": "\(error)"]
                )
            }
        }
    }

    private func remove(_ jobs: [JobID], _ housekeeping: Housekeeping) async throws(StoreError) {
        for id in jobs {
            do throws(StoreError) { try await store.delete(id) } catch {
                // A client may have deleted it at the same moment.
                guard error.code == .notFound else { throw error }
            }
            do { try await housekeeping.forget(id) } catch {
                logger.error("the files of a job cannot be removed", metadata: ["job": "\(id)", "error": "\(error)"])
            }
        }
        await housekeeping.removeExpired()
    }

    private func backUp() async {
        guard let store = store as? SQLiteJobStore else { return }
        do throws(StoreError) { try await store.backUp() } catch {
            logger.error("the job store cannot be backed up", metadata: ["error": "\(error)"])
        }
    }

    private func claim() async throws(StoreError) {
        while !isDraining, !isStopping, checkDisk(), checkMemory() {
            let loads = loads
            offer = await capacity.offer(beside: loads.tasks, streams: loads.streams)
            guard !offer.resources.isEmpty,
                let claim = try await store.claim(request(offering: offer.abilities))
            else { return }
            let work = Task { [runner] in await runner.run(claim) }
            running[claim.token] = Running(claim: claim, work: work)
            Task {
                self.ended(claim.token, await work.value)
            }
            changes.send()
        }
    }

    private func ended(_ token: AttemptToken, _ outcome: TaskRunner.Outcome) {
        running[token] = nil
        if outcome == .lackedSpace, let free = try? Files.space(data.path).free {
            shortage = Shortage(free: free, end: Clock.monotonic + Self.shortageLimit)
        }
        wake.send()
    }

    /// Whether there is memory for another task. One may always run: the machine may have no more.
    private func checkMemory() -> Bool {
        let reserve = settings.memoryReserve
        let available = reserve > 0 ? MemoryLimits.status().available : .max
        let isShort = taskCount > 0 && available < reserve
        if isShort != isMemoryShort {
            logger.log(
                level: isShort ? .warning : .notice,
                isShort ? "memory is short: no task begins beside those that run" : "there is memory for tasks again",
                metadata: ["available": "\(available)", "reserve": "\(reserve)"]
            )
        }
        isMemoryShort = isShort
        return !isShort
    }

    private func checkDisk() -> Bool {
        let free = (try? Files.space(data.path).free) ?? 0
        if let shortage, free > shortage.free || Clock.monotonic > shortage.end { self.shortage = nil }
        let isLow = free < Int64(settings.diskReserve) || shortage != nil
        if isLow != isDiskLow {
            logger.log(
                level: isLow ? .error : .notice,
                isLow ? "the disk is nearly full: no task begins" : "the disk has space again",
                metadata: ["free": "\(free)", "reserve": "\(settings.diskReserve)"]
            )
        }
        isDiskLow = isLow
        return !isLow
    }
}

extension Dispatcher: Service {}
