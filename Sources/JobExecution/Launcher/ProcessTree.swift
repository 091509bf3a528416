// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// The processes of the system, as far as a tree of them is looked for.
struct ProcessTree: Sendable, Hashable {
    /// A process, from `/proc/PID/stat`.
    struct Entry: Sendable, Hashable {
        var process: pid_t
        var parent: pid_t
        var group: pid_t
        /// Whether it has ended, and only its parent has not noticed.
        var isZombie: Bool

        init(process: pid_t, parent: pid_t, group: pid_t, isZombie: Bool = false) {
            self.process = process
            self.parent = parent
            self.group = group
            self.isZombie = isZombie
        }

        /// Reads `PID (NAME) STATE PARENT GROUP …`. The name may contain anything.
        init?(stat: String) {
            guard let open = stat.firstIndex(of: "("), let close = stat.lastIndex(of: ")"), open < close,
                let process = pid_t(stat[..<open].dropLast())
            else { return nil }
            let fields = stat[stat.index(after: close)...].split(separator: " ", maxSplits: 4)
            guard fields.count > 3, let parent = pid_t(fields[1]), let group = pid_t(fields[2]) else { return nil }
            self.init(process: process, parent: parent, group: group, isZombie: "ZX".contains(fields[0]))
        }
    }

    var entries: [Entry]

    /// The processes below one, without those that have ended.
    func descendants(of root: pid_t) -> [Entry] {
        let children = Dictionary(grouping: entries, by: \.parent)
        var found: [Entry] = []
        var waiting = children[root] ?? []
        while let next = waiting.popLast() {
            if !next.isZombie { found.append(next) }
            waiting += children[next.process] ?? []
        }
        return found
    }

    /// The processes now.
    static func current() -> ProcessTree {
        guard let folder = opendir("/proc") else { return ProcessTree(entries: []) }
        defer { closedir(folder) }
        var entries: [Entry] = []
        while let entry = readdir(folder) {
            guard let process = number(of: &entry.pointee), let stat = kernelText("/proc/\(process)/stat") else {
                continue
            }
            if let entry = Entry(stat: stat) { entries.append(entry) }
        }
        return ProcessTree(entries: entries)
    }

    private static func number(of entry: inout dirent) -> pid_t? {
        withUnsafeBytes(of: &entry.d_name) { bytes in
            let name = bytes.prefix { $0 != 0 }
            guard let first = name.first, (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(first) else { return nil }
            return pid_t(String(decoding: name, as: UTF8.self))
        }
    }

    /// The memory of a process in bytes, from `/proc/PID/status`: what is its own, and shared memory that it has
    /// mapped.
    static func memory(status: String) -> UInt64 {
        status.split(separator: "\n").reduce(0) { sum, line in
            guard line.hasPrefix("RssAnon:") || line.hasPrefix("RssShmem:") else { return sum }
            let words = line.split { $0 == " " || $0 == "\t" }
            return sum + (words.count > 1 ? (UInt64(words[1]) ?? 0) * 1024 : 0)
        }
    }
}
