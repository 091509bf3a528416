// SPDX-License-Identifier: GPL-2.0-or-later

internal import JobStore

/// Decides which tasks may begin beside those that run, by a number of the settings or by measured load. A pure value:
/// time and load come in.
///
/// With measured load, a few tasks may run whatever the processors do, and more as long as these have time left. Tasks for
/// GPUs are held back while an engine of each is busy all the time: they would only make one another slower, and take
/// memory. What a task takes is not known before it has worked for a while, so those that have just begun count as much as
/// the others do on average, and as a whole GPU as long as nothing has been measured.
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
        /// When it began, in seconds of a monotonic clock.
        var begin: Double
    }

    let limit: Limit
    /// What is known of the machine.
    private(set) var load = MachineLoad()
    /// The share of the busiest engine of a GPU that a task takes, on average.
    private(set) var sharePerTask: Double?

    /// A GPU has no capacity left where an engine is as busy as this, and the processors have none for more than the least
    /// number of tasks.
    static let fullEngine = 0.9
    static let fullProcessors = 0.85
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
        let deviceTasks = tasks.filter { $0.resource == .devices }
        let busy = load.engines.keys.compactMap(load.busiest).reduce(0, +)
        guard !deviceTasks.isEmpty, deviceTasks.allSatisfy({ isSettled($0, at: now) }), busy > 0 else { return }
        let share = busy / Double(deviceTasks.count)
        sharePerTask = sharePerTask.map { $0 + (share - $0) / 4 } ?? share
    }

    /// What may begin.
    struct Offer: Sendable, Hashable {
        /// What tasks may work with that begin now; none if none may.
        var resources: Set<Resource> = []
        /// Whether tasks for GPUs have to wait until engines have time.
        var areDevicesBusy = false

        /// The same for the job store.
        var abilities: Demand { Demand(abilities: Set(resources.map(\.rawValue))) }
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
        let isWithin = tasks.count < least || isIdle && all.allSatisfy { isSettled($0, at: now) }
        var resources: Set<Resource> = isWithin ? [.processors] : []
        if !areDevicesBusy {
            // A GPU that nobody uses may always begin: encoding there takes little of the processors.
            let isUnused = !usable.isEmpty && !all.contains { $0.resource == .devices }
            let isMeasured = usable.contains { load.engines[$0] != nil }
            if isWithin || isUnused || isMeasured && isIdle { resources.insert(.devices) }
        }
        return Offer(resources: resources, areDevicesBusy: areDevicesBusy)
    }

    /// Whether engines of GPUs have time for another task, as far as that is measured.
    private func hasRoom(on usable: [String], beside tasks: [Task], at now: Double) -> Bool {
        let measured = usable.compactMap(load.busiest)
        let deviceTasks = tasks.filter { $0.resource == .devices }
        guard !measured.isEmpty, !deviceTasks.isEmpty else { return true }
        let room = measured.reduce(0) { $0 + max(Self.fullEngine - $1, 0) }
        let unsettled = deviceTasks.count { !isSettled($0, at: now) }
        return room > Double(unsettled) * (sharePerTask ?? Self.fullEngine)
    }

    /// The GPUs with capacity, if not all have some, so that tasks do not go to a busy one.
    func preferred(of usable: [String]) -> [String] {
        guard case .measured = limit else { return usable }
        let free = usable.filter { load.busiest(of: $0).map { $0 < Self.fullEngine } ?? true }
        return free.isEmpty ? usable : free
    }

    private func isSettled(_ task: Task, at now: Double) -> Bool { now - task.begin >= Self.settlingTime }
}
