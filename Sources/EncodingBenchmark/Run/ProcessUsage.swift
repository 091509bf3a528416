// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem

/// The resource usage of this process and its children since they started.
struct ProcessUsage {
    /// The processor time in seconds of this process and its children, including ended ones.
    var time: BenchmarkReport.ProcessorTime

    private static let files = MachineFiles()

    /// The current usage.
    ///
    /// A child that ends between two queries would be counted twice or not at all, so the queries are repeated until
    /// nothing has changed in between.
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

    /// Returns the peak memory of a process in bytes, without shared memory (memfd), which consists of pictures here;
    /// `nil` if the kernel does not report it.
    static func peakMemory(of process: pid_t) -> Int? {
        let status = KeyedLines(files.word("/proc/\(process)/status") ?? "")
        func kibibytes(_ key: Substring) -> Int? { status[key]?.split(separator: " ").first.flatMap { Int($0) } }
        guard let peak = kibibytes("VmHWM") else { return nil }
        return max(0, peak - (kibibytes("RssShmem") ?? 0)) * 1024
    }

    /// The running child processes of this process.
    static var children: [pid_t] { files.children(of: "self") }

    private static func usage(_ who: __rusage_who) -> BenchmarkReport.ProcessorTime {
        var usage = rusage()
        getrusage(.init(who.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return BenchmarkReport.ProcessorTime(user: seconds(usage.ru_utime), system: seconds(usage.ru_stime))
    }

    /// Returns the processor time of another process. The sum is exact; its division has a resolution of 10 ms.
    private static func processorTime(of process: pid_t) -> BenchmarkReport.ProcessorTime {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else {
            return BenchmarkReport.ProcessorTime(user: 0, system: 0)
        }
        let total = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        // proc_pid_stat(5): the name is in parentheses and may contain any character; utime and stime are fields 14 and
        // 15.
        let fields = files.word("/proc/\(process)/stat")?.split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = fields.count > 12 ? (Double(fields[11]) ?? 0, Double(fields[12]) ?? 0) : (1, 0)
        let share = ticks.0 + ticks.1 > 0 ? ticks.0 / (ticks.0 + ticks.1) : 1
        return BenchmarkReport.ProcessorTime(user: total * share, system: total * (1 - share))
    }
}

/// Returns the seconds of CLOCK_MONOTONIC.
func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
