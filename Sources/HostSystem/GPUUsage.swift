// SPDX-License-Identifier: GPL-2.0-or-later

/// The time that GPU engines have worked for processes, from the `drm-` lines of `/proc/PID/fdinfo`, which the kernel's
/// DRM client usage statistics documentation describes. i915 and amdgpu report times, xe reports cycles.
///
/// Only the processes that are asked for are known, and only those of a user that this process may look at: what other
/// programs do with a GPU is not seen.
///
/// A GPU client may have several descriptors that all report the same values; it counts once. The usage of a client is
/// lost when it is closed, so it must be read before.
package struct GPUUsage: Sendable, Hashable {
    /// A client of a GPU.
    private struct Client: Sendable, Hashable {
        var device: String
        var number: String
    }

    /// The work of an engine for a client.
    private enum Work: Sendable, Hashable {
        case nanoseconds(UInt64)
        /// The cycles of the client and the total elapsed cycles, as reported by xe.
        case cycles(UInt64, of: UInt64)

        var amount: UInt64 {
            switch self {
            case .nanoseconds(let count), .cycles(let count, _): count
            }
        }
    }

    /// A kind of engine of a GPU, such as `video` of i915: decoders and encoders; `video-enhance`: processing of pictures.
    package struct Engine: Sendable, Hashable {
        /// The PCI address, or the name of the kernel's driver for a GPU that has none.
        package var device: String
        /// The kernel's name.
        package var name: String

        package init(device: String, name: String) {
            self.device = device
            self.name = name
        }
    }

    /// What a client's engines have done, and when that was read.
    private struct Sighting: Sendable, Hashable {
        var engines: [String: Work]
        var moment: Double
    }

    private var work: [Client: Sighting] = [:]
    /// How many engines of a kind there are, where that is more than one.
    private var capacities: [Engine: Double] = [:]
    /// The time of the reading, in seconds of a monotonic clock.
    private var moment: Double
    /// Why nothing is known; `nil` if something is.
    package private(set) var absence: String?

    /// Reads the usage.
    ///
    /// - Parameters:
    ///   - processes: The processes to include; `self` stands for this process.
    ///   - moment: The seconds of a monotonic clock.
    package init(of processes: [String], _ files: MachineFiles = MachineFiles(), at moment: Double) {
        self.moment = moment
        var hasClients = false
        for process in processes {
            let folder = "/proc/\(process)/fdinfo"
            let names: [String]
            do throws(MachineFiles.Absence) {
                names = try files.names(folder)
            } catch {
                // A process that has ended is not an error.
                if files.exists("/proc/\(process)") { absence = error.reason }
                continue
            }
            for name in names {
                guard let text = try? files.text("\(folder)/\(name)"), text.contains("drm-driver:") else { continue }
                hasClients = true
                add(KeyedLines(text))
            }
        }
        if work.isEmpty, absence == nil {
            absence =
                hasClients
                ? "the kernel driver does not report the busy time of engines"
                : "the encoding processes do not use a GPU"
        }
    }

    private mutating func add(_ lines: KeyedLines) {
        guard let number = lines["drm-client-id"] else { return }
        let client = Client(device: String(lines["drm-pdev"] ?? lines["drm-driver"] ?? ""), number: String(number))
        for (key, value) in lines.pairs {
            guard let count = value.split(separator: " ").first.flatMap({ UInt64($0) }) else { continue }
            if let engine = Self.name(key, "drm-engine-capacity-") {
                capacities[Engine(device: client.device, name: engine)] = Double(max(count, 1))
            } else if let engine = Self.name(key, "drm-engine-"), value.hasSuffix("ns") {
                note(.nanoseconds(count), of: engine, client)
            } else if let engine = Self.name(key, "drm-cycles-"),
                let total = lines[Substring("drm-total-cycles-" + engine)].flatMap({ UInt64($0) })
            {
                note(.cycles(count, of: total), of: engine, client)
            }
        }
    }

    private mutating func note(_ amount: Work, of engine: String, _ client: Client) {
        work[client, default: Sighting(engines: [:], moment: moment)].engines[engine] = amount
    }

    private static func name(_ key: Substring, _ prefix: String) -> String? {
        key.hasPrefix(prefix) ? String(key.dropFirst(prefix.count)) : nil
    }

    /// Copies the values of clients that no longer exist from an earlier reading.
    ///
    /// - Parameters:
    ///   - earlier: The earlier reading.
    ///   - oldest: Clients that have not existed since this moment are left out.
    package mutating func keep(_ earlier: GPUUsage, since oldest: Double = -.infinity) {
        for (client, sighting) in earlier.work where work[client] == nil && sighting.moment >= oldest {
            work[client] = sighting
        }
        capacities.merge(earlier.capacities) { new, _ in new }
        if !work.isEmpty { absence = nil }
    }

    /// The busy time of engines between two readings, in seconds. That of several engines of a kind is added.
    ///
    /// - Parameter earlier: The reading before the work.
    package func spent(since earlier: GPUUsage) -> [Engine: Double] {
        var seconds: [Engine: Double] = [:]
        for (client, now) in work {
            let before = earlier.work[client]
            for (name, amount) in now.engines {
                let engine = Engine(device: client.device, name: name)
                switch (amount, before?.engines[name]) {
                case (.nanoseconds(let count), let first):
                    seconds[engine, default: 0] += (Double(count) - Double(first?.amount ?? 0)) / 1e9
                case (.cycles(let count, let total), .cycles(let first, let firstTotal)) where total > firstTotal:
                    let duration = now.moment - (before?.moment ?? now.moment)
                    let share = (Double(count) - Double(first)) / Double(total - firstTotal)
                    seconds[engine, default: 0] += share * duration
                // A new client: the duration of its cycles is unknown.
                case (.cycles, _): break
                }
            }
        }
        return seconds
    }

    /// The share of the time between two readings in which engines were busy, 0 to 1. All engines of a kind are busy at 1.
    ///
    /// - Parameter earlier: The reading before.
    package func busy(since earlier: GPUUsage) -> [Engine: Double] {
        let duration = moment - earlier.moment
        guard duration > 0 else { return [:] }
        var shares: [Engine: Double] = [:]
        for (engine, seconds) in spent(since: earlier) {
            shares[engine] = min(max(seconds / duration / (capacities[engine] ?? 1), 0), 1)
        }
        return shares
    }
}
