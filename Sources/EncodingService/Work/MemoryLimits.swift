// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import ServiceAPI

/// The memory that this machine, or the container, has.
enum MemoryLimits {
    /// What programs can still get, and what there is.
    static func status() -> MemoryStatus {
        let machine = fields("/proc/meminfo")
        var total = (machine["MemTotal"] ?? 0) * 1024
        var available = (machine["MemAvailable"] ?? 0) * 1024
        // A container sees its own group here (cgroup v2), with `max` for no limit.
        if let limit = number("/sys/fs/cgroup/memory.max"), let used = number("/sys/fs/cgroup/memory.current") {
            // What the kernel can drop from its cache of files is not really used.
            let cache = fields("/sys/fs/cgroup/memory.stat")["inactive_file"] ?? 0
            total = min(total, limit)
            available = min(available, max(limit - used + cache, 0))
        }
        return MemoryStatus {
            $0.total = total
            $0.available = available
        }
    }

    private static func text(_ path: String) -> String? {
        ((try? Files.read(path)) ?? nil).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func number(_ path: String) -> Int? {
        text(path)?.split(separator: "\n").first.flatMap { Int($0) }
    }

    /// Lines of a name and a number.
    private static func fields(_ path: String) -> [String: Int] {
        var fields: [String: Int] = [:]
        for line in (text(path) ?? "").split(separator: "\n") {
            let words = line.split { $0 == " " || $0 == ":" || $0 == "\t" }
            if words.count >= 2, let number = Int(words[1]) { fields[String(words[0])] = number }
        }
        return fields
    }
}
