// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import JobStore
internal import ServiceAPI
internal import Synchronization

/// Measures this machine, and says what its capacity allows to begin.
final class CapacityMonitor: Sendable {
    let limit: Admission.Limit
    /// The number of processors that this process may use.
    let processors: Double
    private let devices: DeviceMonitor
    private let meter: LoadMeter
    private let admission: Mutex<Admission>
    private let isMeasuring = Atomic(false)

    /// - Parameters:
    ///   - setting: `workers.count`.
    ///   - devices: Knows the GPUs.
    init(setting: Int, devices: DeviceMonitor, _ files: MachineFiles = MachineFiles()) {
        processors = ProcessorGrant(files).count
        limit = Admission.Limit(setting: setting, processors: processors)
        self.devices = devices
        meter = LoadMeter(files)
        admission = Mutex(Admission(limit))
    }

    /// Begins to measure the load, unless that is being done. The load is the mean of some seconds, so this is to be called
    /// every second.
    ///
    /// - Parameter tasks: What runs, with streams.
    func measure(_ tasks: [Admission.Task]) {
        guard isMeasuring.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged else { return }
        Task {
            defer { isMeasuring.store(false, ordering: .relaxed) }
            let known = tasks.contains { $0.resource == .devices } ? await devices.present?.devices ?? [] : []
            let gpus = known.compactMap { device in
                device.pciAddress.map { LoadMeter.GPU(node: device.node, address: $0) }
            }
            let measured = try? await WaitingThreads.load.run { [meter] in
                let now = Clock.monotonic
                return (now, meter.read(gpus, at: now))
            }
            if let (now, load) = measured { admission.withLock { $0.note(load, tasks, at: now) } }
        }
    }

    /// What may begin now.
    ///
    /// - Parameters:
    ///   - tasks: The tasks that run, without streams.
    ///   - streams: The streams that run.
    func offer(beside tasks: [Admission.Task], streams: [Admission.Task]) async -> Admission.Offer {
        let usable = await devices.usable.map(\.node)
        return admission.withLock {
            $0.offer(beside: tasks, streams: streams, usable: usable, at: Clock.monotonic)
        }
    }

    /// Where the outputs of an attempt may be encoded that begins now.
    ///
    /// - Parameter failure: That of the attempt before.
    func devices(after failure: Failure?) async -> JobPlanner.Devices {
        let usable = await devices.usable
        let free = admission.withLock { $0.free(of: usable.map(\.node)) }
        return JobPlanner.Devices(after: failure, usable: usable, free: free)
    }

    /// As measured last.
    var load: MachineLoad { admission.withLock(\.load) }
}
