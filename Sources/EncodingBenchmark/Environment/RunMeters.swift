// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import Synchronization

/// The kernel counters during an encode: GPU usage of this process and its helpers, and energy.
final class RunMeters: Sendable {
    private let files: MachineFiles
    private let gpuBefore: GPUUsage
    private let energyBefore: EnergyUsage
    private let gpuNow: Mutex<GPUUsage>

    /// Reads the counters. Create it when all sessions exist, so that their creation does not count.
    init(_ files: MachineFiles = MachineFiles()) {
        self.files = files
        let gpu = Self.gpu(files)
        gpuBefore = gpu
        gpuNow = Mutex(gpu)
        energyBefore = EnergyUsage(files)
    }

    /// Reads the counters that disappear with a session or a helper. Call it before one ends.
    func note() {
        var gpu = Self.gpu(files)
        gpuNow.withLock { now in
            gpu.keep(now)
            now = gpu
        }
    }

    /// Returns the values since the beginning.
    func end() -> (gpuBusy: Measured<[String: Double]>, energy: Measured<[String: Double]>) {
        note()
        let energy = EnergyUsage(files).spent(since: energyBefore)
        return (gpuNow.withLock { $0.measured(since: gpuBefore) }, energy)
    }

    private static func gpu(_ files: MachineFiles) -> GPUUsage {
        GPUUsage(of: ["self"] + ProcessUsage.children.map { "\($0)" }, files, at: monotonicSeconds())
    }
}

extension GPUUsage {
    /// The busy time of engines between two readings, in seconds, by the kernel's engine names. With several GPUs, the times
    /// of engines with the same name are added.
    func measured(since earlier: GPUUsage) -> Measured<[String: Double]> {
        if let absence { return .absent(absence) }
        return .value(spent(since: earlier).reduce(into: [:]) { $0[$1.key.name, default: 0] += $1.value })
    }
}
