// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import Glibc
import MediaTypes
import Synchronization
import TestSupport

/// What this process uses of the system.
struct ProcessMeasure: Sendable, CustomStringConvertible {
    /// The most that was seen.
    struct Peak: Sendable, CustomStringConvertible {
        var threads = 0
        var descriptors = 0
        var kilobytes = 0

        var description: String { "\(threads) threads, \(descriptors) descriptors, \(kilobytes / 1024) MiB" }
    }

    /// Threads of Dispatch and of the cooperative pool come and go by themselves: about one for each processor in each of
    /// two pools, and a few more on a busy machine.
    private static let mostPoolThreads = 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN)) + 4
    /// What memory may grow by from the first round to a later one, of which each job has other threads: what the heap
    /// cannot give back. A lost picture of every job would be more after some rounds.
    private static func allowedKilobytes(_ jobs: Int) -> Int { (16 << 10) + (jobs << 8) }

    var threads: [String]
    var descriptors: Int
    var children: Int
    var kilobytes: Int

    var description: String {
        "\(threads.count) threads, \(descriptors) descriptors, \(children) children, \(kilobytes / 1024) MiB"
    }

    /// How many threads are Dispatch's, by the names that it gives them.
    private var poolThreads: Int { threads.count { $0.hasSuffix("-qos") || $0.hasSuffix(".overcommit") } }

    static var now: ProcessMeasure {
        ProcessMeasure(
            threads: ProcessFiles.names("/proc/self/task").map { thread in
                ProcessFiles.text("/proc/self/task/\(thread)/comm").trimmed
            },
            descriptors: ProcessFiles.names("/proc/self/fd").count,
            children: ProcessFiles.children(of: "self").count,
            kilobytes: kilobytes
        )
    }

    /// The resident memory, in KiB.
    static var kilobytes: Int {
        let line = ProcessFiles.text("/proc/self/status").split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
    }

    /// What it uses when nothing works any more; what threads hold is waited for.
    ///
    /// - Parameter before: What it is to be like; `nil` if that is not known yet.
    static func atRest(like before: ProcessMeasure?) async -> ProcessMeasure {
        _ = await Patience.wait {
            let now = now
            return now.findings(since: before ?? now).isEmpty
        }
        trimHeap()
        return now
    }

    /// Gives free memory back: malloc_trim(3), which the module of the C library does not have.
    private static func trimHeap() {
        typealias Trim = @convention(c) (Int) -> Int32
        guard let function = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(function, to: Trim.self)(0)
    }

    /// What there is more than before.
    func findings(since before: ProcessMeasure) -> [String] {
        var findings: [String] = []
        let isMore = threads.count - poolThreads > before.threads.count - before.poolThreads
        // Those of the package are called vt-..., as in vt-x264.
        let ours = threads.count { $0.hasPrefix("vt-") }
        if poolThreads > Self.mostPoolThreads || isMore || ours > 0 {
            findings.append("threads are left: \(threads.sorted()), before \(before.threads.sorted())")
        }
        if descriptors != before.descriptors {
            findings.append("\(descriptors) descriptors, before \(before.descriptors)")
        }
        if children != before.children { findings.append("\(children) helper processes are left") }
        return findings
    }

    /// Whether memory has grown.
    func memoryFindings(since first: ProcessMeasure, _ round: Int, _ jobs: Int) -> [String] {
        let allowed = Self.allowedKilobytes(jobs)
        return kilobytes - first.kilobytes > allowed
            ? ["round \(round): memory has grown by \(kilobytes - first.kilobytes) KiB, allowed are \(allowed)"] : []
    }
}

/// Looks at this process every while, on a thread of its own.
final class PeakSampler: Sendable {
    private let peak = Mutex(ProcessMeasure.Peak())
    private let isOver = Gate()
    private let isDone = Gate()

    init() throws {
        try PlainThread.start(name: "sampler") { [self] in
            repeat {
                let now = ProcessMeasure.now
                peak.withLock { peak in
                    peak.threads = max(peak.threads, now.threads.count)
                    peak.descriptors = max(peak.descriptors, now.descriptors)
                    peak.kilobytes = max(peak.kilobytes, now.kilobytes)
                }
            } while !isOver.wait(until: .now() + .milliseconds(50))
            isDone.open()
        }
    }

    func end() -> ProcessMeasure.Peak {
        isOver.open()
        isDone.wait()
        return peak.withLock { $0 }
    }
}

extension String {
    fileprivate var trimmed: String { last?.isNewline == true ? String(dropLast()) : self }
}
