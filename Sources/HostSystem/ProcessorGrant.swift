// SPDX-License-Identifier: GPL-2.0-or-later

/// The processors that this process may use: those of its affinity, of which its control groups may grant a part.
package struct ProcessorGrant: Sendable, Hashable {
    /// The numbers of the processors on which it may run, which are online.
    package var allowed: [Int]
    /// How many of them control groups grant, the minimum of all levels; `nil` if none limits it.
    package var quota: Quota?

    /// What a control group grants.
    package struct Quota: Sendable, Hashable {
        /// A number of processors, such as 1.5.
        package var processors: Double
        /// The file in which the kernel counts the time of the group; `nil` for groups of version 1.
        package var statistics: String?
    }

    /// The number of processors, such as 1.5.
    package var count: Double { min(Double(allowed.count), quota?.processors ?? .infinity) }

    /// Reads what the kernel tells.
    package init(_ files: MachineFiles = MachineFiles()) {
        let online = files.word("/sys/devices/system/cpu/online").map { Self.numbers($0[...]) }
        let affinity = KeyedLines(files.word("/proc/self/status") ?? "")["Cpus_allowed_list"].map(Self.numbers)
        switch (online, affinity) {
        case (let online?, let affinity?): allowed = affinity.filter(Set(online).contains)
        case (let known?, nil), (nil, let known?): allowed = known
        case (nil, nil):
            let count = KeyedLines(files.word("/proc/cpuinfo") ?? "").all("processor").count
            allowed = Array(0..<max(count, 1))
        }
        quota = Self.quota(files)
    }

    /// The numbers in a list such as `0-3,8`.
    package static func numbers(_ list: Substring) -> [Int] {
        list.split(separator: ",").flatMap { part -> [Int] in
            let ends = part.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last, last < 1 << 20 else { return [] }
            return Array(first...last)
        }
    }

    private static func quota(_ files: MachineFiles) -> Quota? {
        var quotas: [Quota] = []
        for line in (files.word("/proc/self/cgroup") ?? "").split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            let isUnified = fields[1].isEmpty
            guard isUnified || fields[1].split(separator: ",").contains("cpu") else { continue }
            // In a container, the group's own folder is the root of the mount.
            var group = Substring(fields[2])
            while true {
                if let quota = isUnified ? unifiedQuota(group, files) : oldQuota(group, files) { quotas.append(quota) }
                guard let slash = group.lastIndex(of: "/"), group != "/", !group.isEmpty else { break }
                group = group[..<slash]
            }
        }
        return quotas.min { $0.processors < $1.processors }
    }

    /// Parses `cpu.max`: a quota or `max`, and a period, in microseconds.
    private static func unifiedQuota(_ group: Substring, _ files: MachineFiles) -> Quota? {
        let folder = "/sys/fs/cgroup\(group)"
        let words = files.word(folder + "/cpu.max")?.split(separator: " ") ?? []
        guard words.count == 2, let quota = Double(words[0]), let period = Double(words[1]), period > 0 else {
            return nil
        }
        return Quota(processors: quota / period, statistics: folder + "/cpu.stat")
    }

    private static func oldQuota(_ group: Substring, _ files: MachineFiles) -> Quota? {
        let folder = "/sys/fs/cgroup/cpu\(group)/cpu.cfs_"
        guard let quota = files.word(folder + "quota_us").flatMap({ Double($0) }), quota > 0,
            let period = files.word(folder + "period_us").flatMap({ Double($0) }), period > 0
        else { return nil }
        return Quota(processors: quota / period)
    }
}

/// How long processors have worked, from the first columns of `/proc/stat`, and for a group with a quota from its
/// `cpu.stat`.
package struct ProcessorUsage: Sendable {
    private let grant: ProcessorGrant
    /// The clock ticks of the allowed processors: of work, and of all.
    private var ticks = (worked: 0.0, all: 0.0)
    /// The seconds that the group with the quota has worked.
    private var groupTime: Double?
    private let moment: Double

    /// Reads the usage.
    ///
    /// - Parameter moment: The seconds of a monotonic clock.
    package init(_ grant: ProcessorGrant, _ files: MachineFiles = MachineFiles(), at moment: Double) {
        self.grant = grant
        self.moment = moment
        let names = Set(grant.allowed.map { "cpu\($0)" })
        for line in (files.word("/proc/stat") ?? "").split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let name = words.first, names.contains(String(name)) else { continue }
            // proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; guests are in the first two.
            let times = words.dropFirst().prefix(8).map { Double($0) ?? 0 }
            guard times.count >= 5 else { continue }
            let all = times.reduce(0, +)
            ticks.all += all
            ticks.worked += all - times[3] - times[4]
        }
        if let path = grant.quota?.statistics {
            let words = files.word(path)?.split(whereSeparator: \.isWhitespace) ?? []
            if let place = words.firstIndex(of: "usage_usec"), words.indices.contains(place + 1) {
                groupTime = Double(words[place + 1]).map { $0 / 1e6 }
            }
        }
    }

    /// The share of the processors, or of the quota, that was used between two readings, 0 to 1; `nil` if it is not known.
    ///
    /// - Parameter earlier: The reading before.
    package func busy(since earlier: ProcessorUsage) -> Double? {
        let all = ticks.all - earlier.ticks.all
        var share = all > 0 ? (ticks.worked - earlier.ticks.worked) / all : nil
        let duration = moment - earlier.moment
        if let quota = grant.quota?.processors, let groupTime, let before = earlier.groupTime, duration > 0 {
            share = max(share ?? 0, (groupTime - before) / duration / quota)
        }
        return share.map { min(max($0, 0), 1) }
    }
}
