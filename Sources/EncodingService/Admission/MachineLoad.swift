// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import ServiceAPI
internal import Synchronization

/// How busy this machine was for the last few seconds. A share is 0 to 1, of all processors that this process may use, or
/// of all engines of a kind.
struct MachineLoad: Sendable, Hashable {
    /// The share of the processors; `nil` if the kernel does not tell.
    var processors: Double?
    /// The engines of GPUs, by render node and the kernel's name: what the processes of this service do with them. A GPU
    /// that nobody uses has none; one whose kernel driver has told nothing yet is missing.
    var engines: [String: [String: Double]] = [:]

    /// The share of the busiest engine of a GPU, be it one that decodes, encodes or processes pictures: more tasks get
    /// nothing more out of it when that is busy. `nil` if nothing is known.
    func busiest(of node: String) -> Double? { engines[node].map { $0.values.max() ?? 0 } }

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
final class LoadMeter: Sendable {
    /// A GPU whose engines are to be looked at.
    struct GPU: Sendable, Hashable {
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

    private struct History {
        var readings: [Reading] = []
        /// The render nodes whose kernel drivers tell what engines do.
        var telling: Set<String> = []

        /// The reading at the beginning of the window stays.
        mutating func add(_ reading: Reading) {
            readings.append(reading)
            while readings.count > 2, readings[1].moment <= reading.moment - LoadMeter.window { readings.removeFirst() }
        }
    }

    private let files: MachineFiles
    private let grant: ProcessorGrant
    private let history = Mutex(History())
    /// The seconds that a load is the mean of.
    static let window = 3.0

    init(_ files: MachineFiles = MachineFiles()) {
        self.files = files
        grant = ProcessorGrant(files)
    }

    /// Reads what the kernel counts.
    ///
    /// For engines, that takes a look at each descriptor of each process that was started, and may wait for a driver.
    ///
    /// - Parameters:
    ///   - gpus: Those to look at; none while nothing uses them.
    ///   - moment: The seconds of a monotonic clock.
    /// - Returns: The load; empty at the first call.
    func read(_ gpus: [GPU], at moment: Double) -> MachineLoad {
        history.withLock { history in
            var engines: GPUUsage?
            if !gpus.isEmpty {
                var usage = GPUUsage(of: files.descendants(of: "self").map { "\($0)" }, files, at: moment)
                // What a process has done that has ended since.
                if let last = history.readings.last?.engines { usage.keep(last, since: moment - Self.window) }
                engines = usage
            }
            let now = Reading(moment: moment, processors: ProcessorUsage(grant, files, at: moment), engines: engines)
            history.add(now)
            return load(now, gpus, &history)
        }
    }

    /// The load from the beginning of the window until a reading.
    private func load(_ now: Reading, _ gpus: [GPU], _ history: inout History) -> MachineLoad {
        var load = MachineLoad()
        if let first = history.readings.first { load.processors = now.processors.busy(since: first.processors) }
        if let usage = now.engines, let earlier = history.readings.lazy.compactMap(\.engines).first {
            for (engine, share) in usage.busy(since: earlier) {
                guard let gpu = gpus.first(where: { $0.address == engine.device }) else { continue }
                load.engines[gpu.node, default: [:]][engine.name] = share
            }
        }
        history.telling.formUnion(load.engines.keys)
        for node in history.telling where load.engines[node] == nil { load.engines[node] = [:] }
        return load
    }
}
