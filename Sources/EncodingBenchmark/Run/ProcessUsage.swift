// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// What this process and its children have used since they began.
struct ProcessUsage {
    /// Processor time in seconds, of this process and of children, living and ended.
    var time: BenchmarkReport.ProcessorTime

    /// The state now.
    ///
    /// A child that ends between two questions would be counted twice or not at all, so they are asked again until
    /// nothing changed meanwhile.
    static var now: ProcessUsage {
        while true {
            let (before, ended) = (children, usage(RUSAGE_CHILDREN))
            var time = usage(RUSAGE_SELF)
            time.user += ended.user
            time.system += ended.system
            for child in before {
                let used = processorTime(of: child)
                time.user += used.user
                time.system += used.system
            }
            if usage(RUSAGE_CHILDREN) == ended, children == before { return ProcessUsage(time: time) }
        }
    }

    /// The most memory that a process held, in bytes, without what it shares by memory of its own (memfd), which are
    /// pictures here; `nil` if the kernel does not tell.
    static func peakMemory(of process: pid_t) -> Int? {
        let status = text("/proc/\(process)/status")
        func kibibytes(_ key: String) -> Int? {
            let line = status.split(separator: "\n").first { $0.hasPrefix("\(key):") }
            return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
        }
        guard let peak = kibibytes("VmHWM") else { return nil }
        return max(0, peak - (kibibytes("RssShmem") ?? 0)) * 1024
    }

    /// Processes that this one has started and that run.
    static var children: [pid_t] {
        names("/proc/self/task").flatMap { task in
            text("/proc/self/task/\(task)/children").split(whereSeparator: \.isWhitespace).compactMap { pid_t($0) }
        }.sorted()
    }

    private static func usage(_ who: __rusage_who) -> BenchmarkReport.ProcessorTime {
        var usage = rusage()
        getrusage(.init(who.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return BenchmarkReport.ProcessorTime(user: seconds(usage.ru_utime), system: seconds(usage.ru_stime))
    }

    /// Of another process. The sum is exact; how it is divided comes in ticks of 10 ms.
    private static func processorTime(of process: pid_t) -> BenchmarkReport.ProcessorTime {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            return BenchmarkReport.ProcessorTime(user: 0, system: 0)
        }
        let total = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        // proc_pid_stat(5): the name is in parentheses and may hold any character; utime and stime are fields 14 and 15.
        let fields = text("/proc/\(process)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = fields.count > 12 ? (Double(fields[11]) ?? 0, Double(fields[12]) ?? 0) : (1, 0)
        let share = ticks.0 + ticks.1 > 0 ? ticks.0 / (ticks.0 + ticks.1) : 1
        return BenchmarkReport.ProcessorTime(user: total * share, system: total * (1 - share))
    }

    private static func names(_ folder: String) -> [String] {
        guard let handle = opendir(folder) else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    /// The beginning of a file, up to 4096 bytes; empty if there is none.
    private static func text(_ path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }
}

/// Seconds of the clock that no one sets (CLOCK_MONOTONIC).
func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
