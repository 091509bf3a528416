// SPDX-License-Identifier: GPL-2.0-or-later

package import Glibc

extension MachineFiles {
    /// The processes that a process has started and not yet waited for, sorted; none if the kernel does not tell
    /// (`CONFIG_PROC_CHILDREN`).
    ///
    /// - Parameter process: Its number, or `self`. None if it has ended.
    package func children(of process: String) -> [pid_t] {
        let threads = (try? names("/proc/\(process)/task")) ?? []
        return threads.flatMap { thread in
            (word("/proc/\(process)/task/\(thread)/children") ?? "").split(separator: " ").compactMap { pid_t($0) }
        }.sorted()
    }

    /// The processes that a process has started, those that these have started, and so on. Those that begin or end
    /// meanwhile may be among them, or not.
    package func descendants(of process: String) -> [pid_t] {
        var all: [pid_t] = []
        var rest = children(of: process)
        while let next = rest.popLast() {
            all.append(next)
            rest += children(of: "\(next)")
        }
        return all
    }
}
