// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import HostSystem
internal import RenderNodes

/// Describes the machine and its installed software. It only reads files and opens each render node once.
struct MachineSurvey {
    let files: MachineFiles
    /// The environment of the process.
    var variables: [String: String] = Self.variables
    /// Returns whether the kernel has a device file, bypassing the C library.
    var kernelHas: (_ path: String) -> Bool = { linux_kernel_has_device($0) != 0 }

    init(root: String = "/") { files = MachineFiles(root: root) }

    /// Returns all available facts.
    ///
    /// - Parameters:
    ///   - nodes: The render nodes in use, which are listed even if the machine reports none.
    ///   - components: The installed software, as ``InstalledSoftware`` finds it.
    func environment(
        nodes: [String] = [],
        components: [BenchmarkReport.Component] = []
    ) -> BenchmarkReport.Environment {
        var gaps: [String] = []
        let processor = ProcessorSurvey(files: files).processor(&gaps)
        return BenchmarkReport.Environment(
            processor: processor,
            memoryBytes: memory(&gaps),
            operatingSystem: operatingSystem,
            kernel: files.word("/proc/sys/kernel/osrelease") ?? "unknown",
            containment: containment,
            gpus: gpus(nodes, &gaps),
            components: components,
            variables: variables.filter { Self.matters($0.key) },
            loadAverage: files.word("/proc/loadavg")?.split(separator: " ").first.flatMap { Double($0) },
            gaps: gaps
        )
    }

    private func memory(_ gaps: inout [String]) -> Int {
        let lines = KeyedLines(files.word("/proc/meminfo") ?? "")
        if let kibibytes = lines["MemTotal"]?.split(separator: " ").first.flatMap({ Int($0) }) {
            return kibibytes * 1024
        }
        gaps.append("main memory: not in /proc/meminfo")
        return 0
    }

    /// `PRETTY_NAME` of os-release(5), whose values may be quoted.
    private var operatingSystem: String {
        let text = files.word("/etc/os-release") ?? files.word("/usr/lib/os-release") ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
        let value = line?.dropFirst("PRETTY_NAME=".count).drop { $0 == "\"" || $0 == "'" } ?? "unknown"
        return String(value.prefix { $0 != "\"" && $0 != "'" })
    }

    /// The containers, followed by the virtualization of the machine.
    private var containment: [String] {
        var names: [String] = []
        if files.exists("/.dockerenv") { names.append("docker") }
        if files.exists("/run/.containerenv") { names.append("podman") }
        if variables["KUBERNETES_SERVICE_HOST"] != nil { names.append("kubernetes") }
        if let other = files.word("/run/systemd/container"), !names.contains(other) { names.append(other) }
        if let hypervisor { names.append(hypervisor) }
        return names
    }

    private var hypervisor: String? {
        if let type = files.word("/sys/hypervisor/type") { return type }
        let maker = files.word("/sys/class/dmi/id/sys_vendor") ?? ""
        let product = files.word("/sys/class/dmi/id/product_name") ?? ""
        let known = [
            ("QEMU", "kvm"), ("KVM", "kvm"), ("VMware", "vmware"), ("VirtualBox", "virtualbox"),
            ("Virtual Machine", "hyper-v"), ("Amazon EC2", "kvm"), ("Google Compute Engine", "kvm"),
        ]
        let flags = KeyedLines(files.word("/proc/cpuinfo") ?? "")["flags"]?.split(separator: " ") ?? []
        guard flags.contains("hypervisor") else { return nil }
        return known.first { maker.contains($0.0) || product.contains($0.0) }?.1 ?? "a virtual machine"
    }

    // MARK: - GPUs

    private func gpus(_ nodes: [String], _ gaps: inout [String]) -> [BenchmarkReport.GPU] {
        let survey = RenderNodeSurvey(root: files.rootPath)
        if survey.nodes.isEmpty, let absence = survey.absence { gaps.append("GPUs: \(absence.explanation)") }
        let prefix = files.rootPath == "/" ? 0 : files.rootPath.count
        var gpus = survey.nodes.map { node in gpu(node, path: String(node.path.dropFirst(prefix)), &gaps) }
        for node in nodes where !gpus.contains(where: { $0.node == node }) {
            gpus.append(BenchmarkReport.GPU(node: node, isFake: !kernelHas(node)))
        }
        return gpus
    }

    private func gpu(_ node: RenderNode, path: String, _ gaps: inout [String]) -> BenchmarkReport.GPU {
        var firmware: [String: String] = [:]
        for part in (node.firmware ?? "").split(separator: ", ") {
            let words = part.split(separator: " ", maxSplits: 1)
            if words.count == 2 { firmware[String(words[0])] = String(words[1]) }
        }
        switch node.huC {
        case .running: firmware["huc"] = "running"
        case .notRunning: firmware["huc"] = "not running"
        case .unavailable(let code): firmware["huc"] = "unavailable (\(String(cString: strerror(code))))"
        case nil: break
        }
        for (engine, version) in uC(node.minor, &gaps) { firmware[engine] = version }
        return BenchmarkReport.GPU(
            node: path,
            busIdentity: node.pci.map { "\(Self.hexadecimal($0.vendorID)):\(Self.hexadecimal($0.deviceID))" },
            kernelDriver: node.kernelDriver,
            firmware: firmware,
            isFake: !kernelHas(path)
        )
    }

    /// Returns the versions of Intel's GuC and HuC, which debugfs reports to root only.
    private func uC(_ minor: UInt32, _ gaps: inout [String]) -> [String: String] {
        let folder = "/sys/kernel/debug/dri/\(minor)/gt0/uc"
        var versions: [String: String] = [:]
        for engine in ["guc", "huc"] {
            guard let text = try? files.text("\(folder)/\(engine)_info") else { continue }
            // "version: found 70.20.0" in newer kernels, "version: wanted 69.0, found 69.0" in older ones.
            let line = text.split(separator: "\n").first { $0.contains("found ") }
            let found = line?.split(separator: " ").last
            if let found { versions[engine] = String(found) }
        }
        return versions
    }

    private static func hexadecimal(_ number: UInt16) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }

    // MARK: - Variables

    /// Returns whether a variable affects drivers, libraries or this program.
    private static func matters(_ name: String) -> Bool {
        let prefixes = [
            "LIBVA_", "MESA_", "AMD_", "RADEON_", "GALLIUM_", "INTEL_", "IHD_", "VATOOLBOX_", "LD_", "MALLOC_",
            "GLIBC_TUNABLES", "DRI_PRIME", "RENDER_NODES",
        ]
        return prefixes.contains { name.hasPrefix($0) }
    }

    private static var variables: [String: String] {
        var variables: [String: String] = [:]
        guard var next = environ as UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? else { return variables }
        while let variable = next.pointee {
            let parts = String(cString: variable).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            next += 1
        }
        return variables
    }
}
