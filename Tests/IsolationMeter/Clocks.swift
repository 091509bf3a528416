// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import TestSupport

/// Clocks that the kernel keeps in nanoseconds.
enum Clocks {
    /// Microseconds of processor time, user and system, of all threads of a process; 0 for the calling process.
    static func processorTime(of process: pid_t) -> Double? {
        var clock = clockid_t()
        guard clock_getcpuclockid(process, &clock) == 0 else { return nil }
        return read(clock)
    }

    /// Microseconds since some moment.
    static var now: Double { read(CLOCK_MONOTONIC) ?? 0 }

    private static func read(_ clock: clockid_t) -> Double? {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return nil }
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    /// Sleeps until a time of ``now``.
    static func sleep(until time: Double) {
        let microseconds = Int(max(time, 0))
        var wanted = timespec(tv_sec: microseconds / 1_000_000, tv_nsec: microseconds % 1_000_000 * 1000)
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wanted, nil) == EINTR {}
    }
}

/// What the kernel says about this process.
struct ProcessState {
    var descriptors: Int
    var threads: Int
    /// Threads that belong to encoders: of sessions and of helpers.
    var encoderThreads: Int
    /// Resident memory in KiB: all of it, and with shared pages divided among those who share them.
    var residentKiB: Int
    var proportionalKiB: Int
    /// Child processes that run, and those that have ended and were not waited for.
    var children: [pid_t]
    var zombies: Int

    static var now: ProcessState {
        let tasks = ProcessFiles.names("/proc/self/task")
        let all = children
        let zombies = all.count { child in
            ProcessFiles.text("/proc/\(child)/stat").split(separator: ")").last?.hasPrefix(" Z") == true
        }
        return ProcessState(
            descriptors: ProcessFiles.names("/proc/self/fd").count,
            threads: tasks.count,
            encoderThreads: tasks.count { ProcessFiles.text("/proc/self/task/\($0)/comm").hasPrefix("vt-") },
            residentKiB: kibibytes("Rss"),
            proportionalKiB: kibibytes("Pss"),
            children: all,
            zombies: zombies
        )
    }

    static var children: [pid_t] { ProcessFiles.children(of: "self") }

    private static func kibibytes(_ key: String) -> Int {
        let line = ProcessFiles.text("/proc/self/smaps_rollup").split(separator: "\n").first { $0.hasPrefix("\(key):") }
        return line?.split(separator: " ").compactMap { Int($0) }.first ?? 0
    }
}
