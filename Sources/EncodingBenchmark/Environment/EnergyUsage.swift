// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem

/// The energy counters of the machine: RAPL of processors (`/sys/class/powercap`), and those of graphics cards
/// (`energy1_input` of hwmon, which i915 and xe provide).
///
/// They count for the whole machine, including other processes. Counters that are part of another one (cores and the
/// integrated GPU of a package, packages of a platform) are excluded, so that the sum of all is the total energy.
struct EnergyUsage: Sendable, Hashable {
    private struct Counter: Sendable, Hashable {
        var microjoules: UInt64
        /// The value at which the counter wraps to zero; `nil` if it does not wrap.
        var range: UInt64?
    }

    private var counters: [String: Counter] = [:]
    private var absence: String?

    /// Reads the counters.
    init(_ files: MachineFiles = MachineFiles()) {
        var reasons: [String] = []
        readProcessors(files, &reasons)
        readCards(files, &reasons)
        if counters.isEmpty { absence = reasons.joined(separator: "; ") }
    }

    private mutating func readProcessors(_ files: MachineFiles, _ reasons: inout [String]) {
        let root = "/sys/class/powercap"
        let zones: [String]
        do throws(MachineFiles.Absence) {
            zones = try files.names(root).filter { $0.split(separator: ":").count > 1 }
        } catch {
            return reasons.append(error.reason)
        }
        if zones.isEmpty { reasons.append("\(root) has no counters") }
        let names = zones.map { files.word("\(root)/\($0)/name") ?? $0 }
        let hasPackages = names.contains { $0.hasPrefix("package") }
        for (zone, name) in zip(zones, names) {
            let isPart = zone.split(separator: ":").count > 2
            // Memory is not part of a package, although its zone is below it; a platform contains the packages. A
            // package appears twice if its counter can be accessed in two ways (intel-rapl-mmio).
            guard isPart ? name == "dram" : !(name == "psys" && hasPackages), !zone.hasPrefix("intel-rapl-mmio") else {
                continue
            }
            let package = isPart ? zone.split(separator: ":").dropFirst().first.map { "-\($0)" } ?? "" : ""
            do throws(MachineFiles.Absence) {
                let energy = UInt64(try files.text("\(root)/\(zone)/energy_uj"))
                guard let energy else { continue }
                let range = files.word("\(root)/\(zone)/max_energy_range_uj").flatMap { UInt64($0) }
                counters[name + package] = Counter(microjoules: energy, range: range)
            } catch {
                reasons.append(error.reason)
            }
        }
    }

    private mutating func readCards(_ files: MachineFiles, _ reasons: inout [String]) {
        let root = "/sys/class/hwmon"
        let monitors: [String]
        do throws(MachineFiles.Absence) {
            monitors = try files.names(root)
        } catch {
            return reasons.append(error.reason)
        }
        var hasCard = false
        for monitor in monitors {
            guard let name = files.word("\(root)/\(monitor)/name"), ["i915", "xe"].contains(name) else { continue }
            hasCard = true
            // xe numbers the card as 1 and the package, a part of it, as 2.
            for channel in ["energy1", "energy2"] {
                guard let energy = files.word("\(root)/\(monitor)/\(channel)_input").flatMap({ UInt64($0) }) else {
                    continue
                }
                counters["\(name)-\(monitor)"] = Counter(microjoules: energy)
                break
            }
        }
        if !hasCard { reasons.append("\(root) has no graphics card with an energy counter") }
    }

    /// Returns the energy between two readings, in joules.
    ///
    /// - Parameter earlier: The earlier reading.
    func spent(since earlier: EnergyUsage) -> Measured<[String: Double]> {
        if let absence { return .absent(absence) }
        var joules: [String: Double] = [:]
        for (name, now) in counters {
            guard let before = earlier.counters[name] else { continue }
            if now.microjoules >= before.microjoules {
                joules[name] = Double(now.microjoules - before.microjoules) / 1e6
            } else if let range = now.range, before.microjoules <= range {
                joules[name] = Double(range - before.microjoules + now.microjoules) / 1e6
            }
        }
        return joules.isEmpty ? .absent(earlier.absence ?? "the counters were reset") : .value(joules)
    }
}
