// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem

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
            usableProcessors: ProcessorGrant(files).count,
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

    /// The number of processors that are online.
    private var online: Int? {
        files.word("/sys/devices/system/cpu/online").map { ProcessorGrant.numbers($0[...]).count }
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
}
