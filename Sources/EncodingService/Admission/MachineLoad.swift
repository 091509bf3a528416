// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import ServiceAPI

/// How busy this machine was for the last few seconds. A share is 0 to 1, of all processors that this process may use, or
/// of all engines of a kind.
struct MachineLoad: Sendable, Hashable {
    /// The share of the processors; `nil` if the kernel does not tell.
    var processors: Double?
    /// The engines of GPUs, by render node and the kernel's name: only those whose kernel driver tells, and what the
    /// processes of this service do with them.
    var engines: [String: [String: Double]] = [:]

    /// The share of the busiest engine of a GPU, be it one that decodes, encodes or processes pictures: more tasks get
    /// nothing more out of it when that is busy. `nil` if nothing is known.
    func busiest(of node: String) -> Double? { engines[node]?.values.max() }

    /// The engines as clients see them, sorted.
    var sortedEngines: [EngineLoad] {
        engines.sorted { $0.key < $1.key }.flatMap { node, shares in
            shares.sorted { $0.key < $1.key }.map { name, busy in
                EngineLoad {
                    $0.node = node
                    $0.name = name
                    $0.busy = busy
                }
            }
        }
    }
}

/// Measures the load of this machine.
final class LoadMeter {
    /// A GPU whose engines are to be looked at.
    struct GPU: Hashable {
        /// The path of its render node.
        var node: String
        /// As the kernel names it.
        var address: String
    }

    private struct Reading {
        var moment: Double
        var processors: ProcessorUsage
        var engines: GPUUsage?
    }

    private let files: MachineFiles
    private let grant: ProcessorGrant
    private var readings: [Reading] = []
    /// The seconds that a load is the mean of.
    static let window = 3.0

    init(_ files: MachineFiles = MachineFiles()) {
        self.files = files
        grant = ProcessorGrant(files)
    }

    /// Reads what the kernel counts. For engines, that takes a look at each descriptor of each process that was started,
    /// so it is only done where there are GPUs.
    ///
    /// - Parameters:
    ///   - gpus: Those to look at.
    ///   - moment: The seconds of a monotonic clock.
    /// - Returns: The load; empty at the first call.
    func read(_ gpus: [GPU], at moment: Double) -> MachineLoad {
        var engines: GPUUsage?
        if !gpus.isEmpty {
            let processes = files.descendants(of: "self").map { "\($0)" }
            var usage = GPUUsage(of: processes, files, at: moment)
            // What a process has done that has ended since.
            if let last = readings.last?.engines { usage.keep(last) }
            engines = usage
        }
        let now = Reading(
            moment: moment,
            processors: ProcessorUsage(grant, files, at: moment),
            engines: engines
        )
        readings.append(now)
        // The one at the beginning of the window stays.
        while readings.count > 2, readings[1].moment <= moment - Self.window { readings.removeFirst() }
        guard let first = readings.first, first.moment < moment else { return MachineLoad() }
        var load = MachineLoad(processors: now.processors.busy(since: first.processors))
        if let usage = now.engines, let earlier = first.engines {
            for (engine, share) in usage.busy(since: earlier) {
                guard let gpu = gpus.first(where: { $0.address == engine.device }) else { continue }
                load.engines[gpu.node, default: [:]][engine.name] = share
            }
        }
        return load
    }
}
