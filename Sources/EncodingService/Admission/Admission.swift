// SPDX-License-Identifier: GPL-2.0-or-later

internal import JobStore

/// Decides which tasks may begin beside those that run, by a number of the settings or by measured load. A pure value:
/// time and load come in.
///
/// With measured load, a few tasks may run whatever the processors do, and more as long as these have time left. Tasks for
/// GPUs are held back while an engine of each is busy all the time: they would only make one another slower, and take
/// memory. What a task takes is not known before it has worked for a while: one that has just begun counts as much as the
/// others do on average, and as a whole GPU as long as nothing has been measured.
///
/// A task that names a GPU counts like one for any.
struct Admission: Sendable, Hashable {
    /// How many tasks may run.
    enum Limit: Sendable, Hashable {
        /// As many as this, whatever is measured.
        case fixed(Int)
        /// As many as the first, and up to the second as long as there is capacity.
        case measured(least: Int, most: Int)

        /// - Parameters:
        ///   - setting: `workers.count`.
        ///   - processors: What this process may use.
        init(setting: Int, processors: Double) {
            guard setting == 0 else {
                self = .fixed(setting)
                return
            }
            let least = max(Int(limiting: processors / 2), 1)
            self = .measured(least: least, most: 4 * max(Int(limiting: processors.rounded(.up)), 1))
        }

        /// The largest number.
        var most: Int {
            switch self {
            case .fixed(let most), .measured(_, let most): most
            }
        }

        /// The number that runs whatever is measured.
        var least: Int {
            switch self {
            case .fixed(let least), .measured(let least, _): least
            }
        }
    }

    /// What a task works with, as an ability that it demands of a worker.
    enum Resource: String, Sendable, Hashable, CaseIterable {
        /// Encoders on the CPU, alone.
        case processors
        /// Encoders of GPUs, unless there is none that can be used.
        case devices

        /// What a task demands that works with this. Others demand nothing: they may begin whenever any may.
        var demand: Demand { Demand(abilities: [rawValue]) }

        /// What a task works with; `nil` for one that demands nothing.
        init?(_ demand: Demand) {
            guard let resource = Self.allCases.first(where: { demand.abilities.contains($0.rawValue) }) else {
                return nil
            }
            self = resource
        }
    }

    /// A task that runs.
    struct Task: Sendable, Hashable {
        var resource: Resource?
        /// When it began, or had its input, in seconds of a monotonic clock.
        var begin: Double
        /// Whether it still gets its input, and does nothing else.
        var isFetching = false
    }

    let limit: Limit
    /// What is known of the machine.
    private(set) var load = MachineLoad()
    /// The share of the busiest engine of a GPU that a task takes, on average.
    private(set) var sharePerTask: Double?
    /// How long tasks for GPUs have run without any news of engines. Then the drivers tell nothing.
    private var silence = 0.0
    private var lastNote: Double?
    /// Since when tasks for GPUs work, or when all of them were settled last.
    private var workBegin: Double?

    /// A GPU has no capacity left where an engine is as busy as this, and the processors have none for more than the least
    /// number of tasks.
    static let fullEngine = 0.9
    static let fullProcessors = 0.85
    /// What a task takes at least of an engine, so that many that do little do not begin at once.
    private static let leastShare = 0.05
    /// The seconds from the beginning of a task until its work is part of the load: it is started, opens its input and a
    /// device, and then works for as long as is measured.
    static let settlingTime = 2 + LoadMeter.window

    init(_ limit: Limit) { self.limit = limit }

    /// Learns from a measurement.
    ///
    /// - Parameters:
    ///   - load: The load of the last seconds.
    ///   - tasks: The tasks that run, with streams.
    ///   - now: Seconds of a monotonic clock.
    mutating func note(_ load: MachineLoad, _ tasks: [Task], at now: Double) {
        self.load = load
        let working = tasks.filter { $0.resource == .devices && !$0.isFetching }
        if !working.isEmpty, load.engines.isEmpty, let lastNote { silence += max(now - lastNote, 0) }
        lastNote = now
        guard !working.isEmpty else {
            workBegin = nil
            return
        }
        let areSettled = working.allSatisfy { isSettled($0, at: now) }
        if areSettled || workBegin == nil { workBegin = now }
        let busy = load.engines.keys.compactMap(load.busiest).reduce(0, +)
        // Where tasks end before they are settled, the mean of what there is must do.
        guard busy > 0, areSettled || now - (workBegin ?? now) >= 2 * Self.settlingTime else { return }
        let share = busy / Double(working.count)
        sharePerTask = sharePerTask.map { $0 + (share - $0) / 4 } ?? share
    }

    /// Whether nothing is known of engines, and nothing will be.
    private var areDevicesSilent: Bool { load.engines.isEmpty && silence >= Self.settlingTime }

    /// What may begin.
    struct Offer: Sendable, Hashable {
        /// What tasks may work with that begin now; none if none may.
        var resources: Set<Resource> = []
        /// Whether tasks for GPUs have to wait until engines have time.
        var areDevicesBusy = false

        /// The same for the job store.
        var abilities: Demand { Demand(abilities: Set(resources.map(\.rawValue)).union([JobPlanner.chunkAbility])) }
    }

    /// What may begin now.
    ///
    /// - Parameters:
    ///   - tasks: The tasks that run, without streams.
    ///   - streams: The streams that run. They are not limited here, and their load counts.
    ///   - usable: The render nodes of GPUs that can be used.
    ///   - now: Seconds of a monotonic clock.
    func offer(beside tasks: [Task], streams: [Task] = [], usable: [String], at now: Double) -> Offer {
        guard case .measured(let least, let most) = limit else {
            return Offer(resources: tasks.count < limit.most ? Set(Resource.allCases) : [])
        }
        let all = tasks + streams
        let areDevicesBusy = !hasRoom(on: usable, beside: all, at: now)
        guard tasks.count < most else { return Offer(areDevicesBusy: areDevicesBusy) }
        let isIdle = load.processors.map { $0 < Self.fullProcessors } ?? false
        // Where engines are measured, tasks for GPUs have a count of their own, and take no place of the others.
        let isMeasured = usable.contains { load.engines[$0] != nil }
        func isBound(_ task: Task) -> Bool { !isMeasured || task.resource != .devices }
        let isWithin =
            tasks.count(where: isBound) < least
            || isIdle && all.filter(isBound).allSatisfy { $0.isFetching || isSettled($0, at: now) }
        var resources: Set<Resource> = isWithin ? [.processors] : []
        let deviceTasks = all.filter { $0.resource == .devices }
        if usable.isEmpty {
            if isWithin { resources.insert(.devices) }
        } else if !areDevicesBusy {
            let isBurst = deviceTasks.count { !isSettled($0, at: now) } >= max(least, 2)
            // A GPU that nobody uses may always begin: encoding there takes little of the processors.
            let isAllowed = deviceTasks.isEmpty || (isMeasured ? deviceTasks.count < least || isIdle : isWithin)
            if isAllowed, !(isMeasured && isBurst) { resources.insert(.devices) }
        }
        return Offer(resources: resources, areDevicesBusy: areDevicesBusy)
    }

    /// Whether engines of GPUs have time for another task, as far as that is measured.
    private func hasRoom(on usable: [String], beside tasks: [Task], at now: Double) -> Bool {
        let deviceTasks = tasks.filter { $0.resource == .devices }
        guard !usable.isEmpty, !deviceTasks.isEmpty, !areDevicesSilent else { return true }
        // One that has told nothing yet has not been used.
        let room = usable.reduce(0) { $0 + max(Self.fullEngine - (load.busiest(of: $1) ?? 0), 0) }
        let unsettled = deviceTasks.count { !isSettled($0, at: now) }
        return room > Double(unsettled) * max(sharePerTask ?? Self.fullEngine, Self.leastShare)
    }

    /// Of GPUs that can be used, those that have time; all of them if none has.
    func free(of usable: [String]) -> [String] {
        guard case .measured = limit else { return usable }
        let free = usable.filter { load.busiest(of: $0).map { $0 < Self.fullEngine } ?? true }
        return free.isEmpty ? usable : free
    }

    private func isSettled(_ task: Task, at now: Double) -> Bool {
        !task.isFetching && now - task.begin >= Self.settlingTime
    }
}
