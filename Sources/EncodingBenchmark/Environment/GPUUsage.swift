// SPDX-License-Identifier: GPL-2.0-or-later

/// The time that GPU engines have worked for processes, from the `drm-` lines of `/proc/PID/fdinfo`, which the kernel's
/// DRM client usage statistics documentation describes. i915 and amdgpu report times, xe reports cycles.
///
/// A GPU client may have several descriptors that all report the same values; it counts once. The usage of a client is
/// lost when it is closed, so it must be read before.
struct GPUUsage: Sendable, Hashable {
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

    private var work: [Client: [String: Work]] = [:]
    /// The time of the reading, in seconds of a monotonic clock.
    private var moment: Double
    private var absence: String?

    /// Reads the usage.
    ///
    /// - Parameters:
    ///   - processes: The processes to include; `self` stands for this process.
    ///   - moment: The seconds of a monotonic clock.
    init(of processes: [String], _ files: MachineFiles = MachineFiles(), at moment: Double) {
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
            if let engine = Self.name(key, "drm-engine-"), !engine.hasPrefix("capacity-"), value.hasSuffix("ns") {
                work[client, default: [:]][engine] = .nanoseconds(count)
            } else if let engine = Self.name(key, "drm-cycles-"),
                let total = lines[Substring("drm-total-cycles-" + engine)].flatMap({ UInt64($0) })
            {
                work[client, default: [:]][engine] = .cycles(count, of: total)
            }
        }
    }

    private static func name(_ key: Substring, _ prefix: String) -> String? {
        key.hasPrefix(prefix) ? String(key.dropFirst(prefix.count)) : nil
    }

    /// Copies the values of clients that no longer exist from an earlier reading.
    ///
    /// - Parameter earlier: The earlier reading.
    mutating func keep(_ earlier: GPUUsage) {
        for (client, engines) in earlier.work where work[client] == nil { work[client] = engines }
        if !work.isEmpty { absence = nil }
    }

    /// Returns the busy time of engines between two readings, in seconds, by the kernel's engine names. With several
    /// GPUs, the times of engines with the same name are added.
    ///
    /// - Parameter earlier: The reading before the work.
    func spent(since earlier: GPUUsage) -> Measured<[String: Double]> {
        if let absence { return .absent(absence) }
        var seconds: [String: Double] = [:]
        for (client, engines) in work {
            for (engine, now) in engines {
                let before = earlier.work[client]?[engine]
                let amount = Double(now.amount) - Double(before?.amount ?? 0)
                switch (now, before) {
                case (.nanoseconds, _): seconds[engine, default: 0] += amount / 1e9
                case (.cycles(_, let total), .cycles(_, let first)) where total > first:
                    seconds[engine, default: 0] += amount / Double(total - first) * (moment - earlier.moment)
                // A new client: the duration of its cycles is unknown.
                case (.cycles, _): break
                }
            }
        }
        return .value(seconds)
    }
}
