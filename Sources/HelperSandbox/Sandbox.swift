// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc

/// Confines this process permanently, before it loads untrusted code.
public enum Sandbox {
    /// Applies a policy. Call it first in `main`: Landlock and the dropped capabilities apply to the calling thread and
    /// the threads that it starts, so existing threads are reported.
    ///
    /// - Returns: The confinement that the kernel did not provide. This is never an error: with an old kernel, or in a
    ///   container that forbids such calls, the process is confined less.
    public static func apply(_ policy: SandboxPolicy) -> SandboxReport {
        var report = SandboxReport()
        if linux_forbid_new_privileges() != 0 {
            report.addError(
                of: "prctl(PR_SET_NO_NEW_PRIVS)",
                "the no-new-privileges flag",
                "set-user-id programs keep their privileges"
            )
        }
        limit(policy, &report)
        guard policy.isOn else {
            report.add(
                "Landlock, seccomp and dropped capabilities",
                "\(SandboxPolicy.modeVariable) is off",
                "an encoder has all rights of its user"
            )
            return report
        }
        // The kernel ends this protection when the process becomes another program.
        if policy.calls == .helper, linux_forbid_tracing() != 0 {
            report.addError(
                of: "prctl(PR_SET_DUMPABLE)",
                "protection from debuggers",
                "other processes can read its memory"
            )
        }
        reportThreads(&report)
        let version = confineFiles(policy, &report)
        if linux_drop_capabilities() != 0 {
            report.addError(of: "capset", "dropped capabilities", "an encoder keeps the capabilities of its user")
        }
        // The filter also refuses what an older Landlock does not support.
        if !filterCalls(policy.calls, &report), let version { reportMissing(inVersion: version, &report) }
        return report
    }

    private static func reportThreads(_ report: inout SandboxReport) {
        guard let folder = opendir("/proc/self/task") else { return }
        defer { closedir(folder) }
        var count = -2
        while readdir(folder) != nil { count += 1 }
        if count > 1 {
            report.add(
                "Landlock in \(count - 1) of \(count) threads",
                "a preloaded library started them",
                "they can access every file"
            )
        }
    }

    // MARK: - Limits

    /// `RLIMIT_NPROC` is not limited, because it counts all processes and threads of a user everywhere, and new
    /// processes are refused anyway. `RLIMIT_AS` is not limited, because drivers map gigabytes that they do not use.
    private static func limit(_ policy: SandboxPolicy, _ report: inout SandboxReport) {
        // A crash is reported by its signal; the pictures of a session do not belong in a file.
        set(RLIMIT_CORE, 0, &report, "the limit of core files", "a crash may write pictures into a core file")
        set(RLIMIT_FSIZE, rlim_t(policy.largestFile), &report, "the limit of file sizes", "a driver may fill the disk")
        let descriptors = rlim_t(policy.mostDescriptors)
        set(RLIMIT_NOFILE, descriptors, &report, "the limit of descriptors", "only the kernel's limits apply")
    }

    /// Lowers both limits to the value. The soft limit of descriptors is raised to it, because a shell's usual 1024 are
    /// too few for many encoders.
    private static func set(
        _ resource: __rlimit_resource,
        _ value: rlim_t,
        _ report: inout SandboxReport,
        _ what: String,
        _ meaning: String
    ) {
        let raises = resource == RLIMIT_NOFILE
        let resource = __rlimit_resource_t(UInt32(resource.rawValue))
        var limits = rlimit()
        guard getrlimit(resource, &limits) == 0 else { return report.addError(of: "getrlimit", what, meaning) }
        limits.rlim_max = min(limits.rlim_max, value)
        limits.rlim_cur = raises ? limits.rlim_max : min(limits.rlim_cur, limits.rlim_max)
        if setrlimit(resource, &limits) != 0 { report.addError(of: "setrlimit", what, meaning) }
    }

    // MARK: - Files

    private static let filesMeaning = "an encoder can access every file that its user can access"

    /// - Returns: The version of Landlock that confines files.
    private static func confineFiles(_ policy: SandboxPolicy, _ report: inout SandboxReport) -> Int32? {
        let version = linux_landlock_version()
        guard version > 0 else {
            report.addError(of: "landlock_create_ruleset", "Landlock", filesMeaning)
            return nil
        }
        let rights = LandlockRights(version: version)
        let network = policy.calls.allowsNetwork ? 0 : rights.network
        let rules = linux_landlock_create(rights.files, network, rights.scopes)
        guard rules >= 0 else {
            report.addError(of: "landlock_create_ruleset", "Landlock", filesMeaning)
            return nil
        }
        defer { close(rules) }
        for grant in policy.grants { allow(grant, rights, rules, &report) }
        guard linux_landlock_restrict(rules) == 0 else {
            report.addError(of: "landlock_restrict_self", "Landlock", filesMeaning)
            return nil
        }
        return version
    }

    private static func reportMissing(inVersion version: Int32, _ report: inout SandboxReport) {
        let missing = LandlockRights.missing(inVersion: version)
        guard !missing.isEmpty else { return }
        report.add(
            "parts of Landlock",
            "the kernel has version \(version) of Landlock",
            "not denied: \(missing.joined(separator: ", "))"
        )
    }

    private static func allow(
        _ grant: SandboxPolicy.Grant,
        _ rights: LandlockRights,
        _ rules: Int32,
        _ report: inout SandboxReport
    ) {
        let path = linux_open_path(grant.path)
        guard path >= 0 else {
            if grant.access == .everything {
                report.unreachable.append("\(grant.path) (\(String(cString: strerror(errno))))")
            }
            return
        }
        var status = stat()
        let isFolder = fstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        if linux_landlock_allow(rules, path, rights.granted(by: grant.access, isFolder: isFolder)) != 0 {
            let error = String(cString: strerror(errno))
            report.unreachable.append("\(grant.path) (landlock_add_rule: \(error))")
        }
        // A rule applies to an inode, and /proc creates a new one once the name of the old one is no longer held.
        if !grant.path.hasPrefix("/proc/") { close(path) }
    }

    // MARK: - System calls

    private static let callsMeaning =
        "an encoder can make every system call, for example start programs and open sockets"

    /// - Returns: Whether the filter is active.
    private static func filterCalls(_ calls: SandboxPolicy.Calls, _ report: inout SandboxReport) -> Bool {
        guard let architecture = SystemCallFilter.Architecture.current else {
            report.add("seccomp", "there is no filter for this architecture", callsMeaning)
            return false
        }
        let filter =
            switch calls {
            case .helper: SystemCallFilter(architecture, process: getpid())
            case .task(let network, let guardians):
                SystemCallFilter(architecture, network: network, guardians: guardians)
            }
        let program = filter.program
        let count = UInt16(program.count)
        let result = linux_seccomp_filter(program, count, 1)
        if result == 0 { return true }
        // Otherwise, a thread has a filter of its own.
        guard result > 0, linux_seccomp_filter(program, count, 0) == 0 else {
            report.addError(of: "seccomp", "seccomp", callsMeaning)
            return false
        }
        report.add("seccomp in some threads", "thread \(result) rejects the filter", callsMeaning)
        return false
    }
}
