// SPDX-License-Identifier: GPL-2.0-or-later

/// How long the engines of GPUs have worked for processes: the `drm-` lines of their `/proc/PID/fdinfo`, as the kernel's
/// documentation of DRM client usage statistics describes them. i915 and amdgpu tell times, xe tells cycles.
///
/// A client of a GPU may have several descriptors, which all tell the same; it counts once. What a client has used when it is
/// closed is lost, so it has to be asked before.
struct GPUUsage: Sendable, Hashable {
    /// One client of one GPU.
    private struct Client: Sendable, Hashable {
        var device: String
        var number: String
    }

    /// What an engine has done for a client.
    private enum Work: Sendable, Hashable {
        case nanoseconds(UInt64)
        /// Cycles of the client, and those that went by meanwhile, as xe tells.
        case cycles(UInt64, of: UInt64)

        var amount: UInt64 {
            switch self {
            case .nanoseconds(let count), .cycles(let count, _): count
            }
        }
    }

    private var work: [Client: [String: Work]] = [:]
    /// When it was asked, in seconds of a clock that only advances.
    private var moment: Double
    private var absence: String?

    /// Asks the kernel.
    ///
    /// - Parameters:
    ///   - processes: Whose work counts; `self` stands for this process.
    ///   - moment: Seconds of a clock that only advances.
    init(of processes: [String], _ files: MachineFiles = MachineFiles(), at moment: Double) {
        self.moment = moment
        var hasClients = false
        for process in processes {
            let folder = "/proc/\(process)/fdinfo"
            let names: [String]
            do throws(MachineFiles.Absence) {
                names = try files.names(folder)
            } catch {
                // A process that has ended is none that could not be asked.
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

    /// Takes over what another answer knows of clients that this one does not know any more.
    ///
    /// - Parameter earlier: An answer before this one.
    mutating func keep(_ earlier: GPUUsage) {
        for (client, engines) in earlier.work where work[client] == nil { work[client] = engines }
        if !work.isEmpty { absence = nil }
    }

    /// How long engines worked between two answers, in seconds, by the kernel's names for them. On several GPUs the times of
    /// engines with the same name are added.
    ///
    /// - Parameter earlier: The answer before the work.
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
                // A client that came meanwhile: how long its cycles take is not known.
                case (.cycles, _): break
                }
            }
        }
        return .value(seconds)
    }
}
