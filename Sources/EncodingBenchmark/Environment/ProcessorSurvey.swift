// SPDX-License-Identifier: GPL-2.0-or-later

/// The kernel's description of the CPU, and the share of it that this process may use.
struct ProcessorSurvey {
    let files: MachineFiles

    /// - Parameter gaps: Receives a line for each missing fact.
    func processor(_ gaps: inout [String]) -> BenchmarkReport.Processor {
        let information = (try? files.text("/proc/cpuinfo")) ?? ""
        let blocks = information.split(separator: "\n\n").map { KeyedLines(String($0)) }
        let whole = KeyedLines(information)
        let online = online ?? max(1, whole.all("processor").count)
        return BenchmarkReport.Processor(
            model: model(whole, &gaps),
            cores: cores(blocks),
            logicalProcessors: online,
            usableProcessors: min(Double(min(affinity ?? online, online)), quota ?? .infinity),
            governor: governor(&gaps),
            maximumFrequency: files.word("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
                .flatMap { Double($0) }.map { $0 * 1000 },
            microcode: whole["microcode"].map(String.init)
        )
    }

    private func model(_ lines: KeyedLines, _ gaps: inout [String]) -> String {
        // x86 provides the first, some ARM kernels the second; others describe only the board.
        if let name = lines["model name"] ?? lines["Model"], !name.isEmpty { return String(name) }
        if let board = files.word("/proc/device-tree/model") { return String(board.prefix { $0 != "\0" }) }
        gaps.append("the name of the processor: not in /proc/cpuinfo")
        return "unknown"
    }

    /// The number of distinct pairs of socket and core; `nil` if they are not reported.
    private func cores(_ blocks: [KeyedLines]) -> Int? {
        let processors = blocks.filter { $0["processor"] != nil }
        let cores = processors.compactMap { block in
            block["core id"].map { "\(block["physical id"] ?? "0") \($0)" }
        }
        return cores.isEmpty || cores.count < processors.count ? nil : Set(cores).count
    }

    private var online: Int? { files.word("/sys/devices/system/cpu/online").map { Self.count($0[...]) } }

    /// The number of processors that this process may run on.
    private var affinity: Int? {
        KeyedLines(files.word("/proc/self/status") ?? "")["Cpus_allowed_list"].map(Self.count)
    }

    /// Returns the number of processors in a list such as `0-3,8`.
    private static func count(_ list: Substring) -> Int {
        list.split(separator: ",").reduce(0) { sum, part in
            let ends = part.split(separator: "-").compactMap { Int($0) }
            return sum + (ends.last ?? 0) - (ends.first ?? 0) + 1
        }
    }

    private func governor(_ gaps: inout [String]) -> String? {
        let folder = "/sys/devices/system/cpu"
        let processors = ((try? files.names(folder)) ?? []).filter {
            $0.hasPrefix("cpu") && Int($0.dropFirst(3)) != nil
        }
        let governors = Set(processors.compactMap { files.word("\(folder)/\($0)/cpufreq/scaling_governor") })
        if governors.isEmpty { gaps.append("the frequency governor: the kernel shows no \(folder)/cpu0/cpufreq") }
        return governors.isEmpty ? nil : governors.sorted().joined(separator: ", ")
    }

    /// The number of processors that control groups grant, the minimum of all levels; `nil` if none limits it.
    private var quota: Double? {
        var quotas: [Double] = []
        for line in (files.word("/proc/self/cgroup") ?? "").split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let isUnified = fields[1].isEmpty
            guard isUnified || fields[1].split(separator: ",").contains("cpu") else { continue }
            // In a container, the group's own folder is the root of the mount.
            var group = Substring(fields[2])
            while true {
                if let quota = isUnified ? unifiedQuota(group) : oldQuota(group) { quotas.append(quota) }
                guard let slash = group.lastIndex(of: "/"), group != "/", !group.isEmpty else { break }
                group = group[..<slash]
            }
        }
        return quotas.min()
    }

    /// Parses `cpu.max`: a quota or `max`, and a period, in microseconds.
    private func unifiedQuota(_ group: Substring) -> Double? {
        let words = files.word("/sys/fs/cgroup\(group)/cpu.max")?.split(separator: " ") ?? []
        guard words.count == 2, let quota = Double(words[0]), let period = Double(words[1]), period > 0 else {
            return nil
        }
        return quota / period
    }

    private func oldQuota(_ group: Substring) -> Double? {
        let folder = "/sys/fs/cgroup/cpu\(group)/cpu.cfs_"
        guard let quota = files.word(folder + "quota_us").flatMap({ Double($0) }), quota > 0,
            let period = files.word(folder + "period_us").flatMap({ Double($0) }), period > 0
        else { return nil }
        return quota / period
    }
}
