// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import Logging
internal import ServiceAPI
internal import ServiceLifecycle

/// Knows the devices of this machine, and notices those that come and go.
actor DeviceMonitor {
    private let commands: any CommandRunning
    private let changes: ChangeSignal
    private let logger: Logger
    private var known: (capabilities: Capabilities, nodes: [String])?
    private var probing: Task<Capabilities, any Error>?

    init(commands: any CommandRunning, changes: ChangeSignal, logger: Logger) {
        self.commands = commands
        self.changes = changes
        self.logger = logger
    }

    /// What the devices can do, as of the last look at them.
    ///
    /// - Throws: `APIError` `unavailable` if they cannot be asked.
    func capabilities() async throws -> Capabilities {
        if let known { return known.capabilities }
        return try await probe()
    }

    /// What is known without asking.
    var present: Capabilities? { known?.capabilities }

    /// The GPUs that tasks can use now, as of the last look at them.
    var usable: [Device] { present?.devices.filter(\.usable) ?? [] }

    /// Asks all drivers again.
    func probe() async throws -> Capabilities {
        if let probing { return try await probing.value }
        let nodes = Self.nodes()
        let task = Task { [commands] in try await Self.ask(commands) }
        probing = task
        defer { probing = nil }
        let capabilities = try await task.value
        if known?.capabilities.devices != capabilities.devices {
            for device in capabilities.devices {
                logger.notice(
                    "device",
                    metadata: [
                        "node": "\(device.node)", "usable": "\(device.usable)", "driver": "\(device.driver ?? "none")",
                        "cause": "\(device.cause ?? "none")",
                    ]
                )
            }
            if capabilities.devices.isEmpty { logger.notice("there is no GPU: tasks run on the CPU") }
            changes.send()
        }
        known = (capabilities, nodes)
        return capabilities
    }

    /// Looks every few seconds whether render nodes have come or gone, and asks drivers again from time to time.
    func run() async throws {
        try? await cancelWhenGracefulShutdown { [self] in
            var next = -Double.infinity
            while !Task.isCancelled {
                let now = Clock.monotonic
                if await hasChanged() || now >= next {
                    next = now + 600
                    do { _ = try await probe() } catch {
                        logger.error("the devices cannot be asked", metadata: ["error": "\(error)"])
                        next = now + 30
                    }
                }
                try await Task.sleep(for: .seconds(3))
            }
        }
    }

    private func hasChanged() -> Bool { known.map { $0.nodes != Self.nodes() } ?? false }

    private static func nodes() -> [String] {
        ((try? Files.names(in: "/dev/dri")) ?? []).filter { $0.hasPrefix("renderD") }
    }

    private static func ask(_ commands: any CommandRunning) async throws -> Capabilities {
        let command = WorkerCommand(arguments: ["probe", "--json"], tellsProgress: false, timeLimit: 120)
        let ended = try await commands.run(command) { _ in
        } onLogLine: { _ in
        }
        guard ended.exit == .status(0), let report = ended.json else {
            let said = ended.lastLines.suffix(3).joined(separator: "; ")
            throw APIError(
                .unavailable,
                "The devices cannot be asked: vatoolbox probe ended with \(ended.exit): \(said)"
            )
        }
        return DeviceReport.capabilities(report, at: Clock.now)
    }
}

extension DeviceMonitor: Service {}

/// What the command `probe --json` tells, as clients see it. Pure values.
enum DeviceReport {
    static func capabilities(_ report: JSONValue, at date: Double) -> Capabilities {
        Capabilities {
            $0.version = report["version"]?.string ?? ""
            $0.checkedAt = Timestamp(seconds: date)
            $0.softwareEncoders = (report["softwareEncoders"]?.elements ?? []).map { encoder in
                SoftwareEncoder {
                    $0.name = encoder["name"]?.string ?? ""
                    $0.codec = encoder["codec"]?.string ?? ""
                }
            }
            $0.devices = (report["renderNodes"]?.elements ?? []).map { device($0, at: date) }
            $0.absence = report["absence"].flatMap(absence)
        }
    }

    private static func device(_ node: JSONValue, at date: Double) -> Device {
        let driver = node["driver"]
        // Not `nil` for none: as a JSON value, that is `.null`.
        let refusal = node["refusal"].flatMap { $0 == .null ? Optional.none : $0 }
        let test = node["testEncode"]
        let isSuspended = node["breaker"]?["state"]?.string == "open"
        let hasFailed = test?["status"]?.string == "failed"
        return Device {
            $0.node = node["path"]?.string ?? ""
            $0.kernelDriver = node["kernelDriver"]?.string
            $0.pciAddress = node["pci"]?["address"]?.string
            $0.driver = driver?["name"]?.string
            $0.vendor = driver?["vendor"]?.string
            $0.encodes = (driver?["encodes"]?.elements ?? []).compactMap { $0["profile"]?.string }
            $0.decodes = (driver?["decoders"]?.elements ?? []).compactMap { $0["profile"]?.string }
            let remaining = node["breaker"]?["remaining"]?.double ?? 0
            $0.suspended = isSuspended ? Timestamp(seconds: date + remaining) : nil
            $0.sessions = node["sessions"]?.elements.count ?? 0
            $0.usable = refusal == nil && !$0.encodes.isEmpty && !hasFailed && !isSuspended
            let limitation = node["limitations"]?.elements.first
            let reason = refusal ?? (hasFailed ? test : limitation)
            $0.cause = reason?["cause"]?.string
            $0.explanation = reason?["explanation"]?.string ?? reason?["reason"]?.string
            $0.remedies = reason?["remedies"]?.elements.compactMap(\.string) ?? []
        }
    }

    private static func absence(_ value: JSONValue) -> Absence? {
        guard let cause = value["cause"]?.string else { return nil }
        return Absence {
            $0.cause = cause
            $0.explanation = value["explanation"]?.string ?? ""
            $0.remedies = value["remedies"]?.elements.compactMap(\.string) ?? []
        }
    }
}
