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
    private let state: Mutex<State>

    private struct State: ~Copyable {
        let meter: LoadMeter
        var admission: Admission
    }

    /// - Parameters:
    ///   - setting: `workers.count`.
    ///   - devices: Knows the GPUs.
    init(setting: Int, devices: DeviceMonitor, _ files: MachineFiles = MachineFiles()) {
        processors = ProcessorGrant(files).count
        limit = Admission.Limit(setting: setting, processors: processors)
        self.devices = devices
        state = Mutex(State(meter: LoadMeter(files), admission: Admission(limit)))
    }

    /// Measures the load. It is the mean since the measurement of some seconds ago, so it is to be called every second.
    ///
    /// - Parameter tasks: What runs, with streams.
    func measure(_ tasks: [Admission.Task]) async {
        let gpus = await devices.present?.devices.compactMap { device in
            device.pciAddress.map { LoadMeter.GPU(node: device.node, address: $0) }
        }
        let now = Clock.monotonic
        state.withLock { state in
            let load = state.meter.read(gpus ?? [], at: now)
            state.admission.note(load, tasks, at: now)
        }
    }

    /// What may begin now.
    ///
    /// - Parameters:
    ///   - tasks: The tasks that run, without streams.
    ///   - streams: The streams that run.
    func offer(beside tasks: [Admission.Task], streams: [Admission.Task]) async -> Admission.Offer {
        let usable = await devices.usable
        return state.withLock {
            $0.admission.offer(beside: tasks, streams: streams, usable: usable, at: Clock.monotonic)
        }
    }

    /// Where the outputs of an attempt may be encoded that begins now.
    ///
    /// - Parameter failure: That of the attempt before.
    func devices(after failure: Failure?) async -> JobPlanner.Devices {
        let usable = await devices.usable
        return JobPlanner.Devices(
            after: failure,
            usable: usable,
            preferred: state.withLock { $0.admission.preferred(of: usable) }
        )
    }

    /// As measured last.
    var load: MachineLoad { state.withLock { $0.admission.load } }
}
