// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// The system calls of a task of the encoding service. A task is a whole program that starts helpers, so everything is
/// allowed that is not listed here. Its helpers confine themselves further.
extension SystemCallFilter {
    /// The calls that fail with `EPERM`, with any arguments.
    static let callsRefusedToTasks = [others, attributes, kernel, machine, queues].flatMap { SystemCall.list($0) }

    /// Access to other processes. Landlock denies most of it as well.
    private static let others = """
        ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440
        pidfd_getfd 438 438, tkill 200 130, migrate_pages 256 238, move_pages 279 239, setns 308 268
        unshare 272 97
        """

    /// Attributes of files by their path, which Landlock does not cover.
    private static let attributes = """
        chmod 90 -, fchmodat 268 53, fchmodat2 452 452, chown 92 -, lchown 94 -, fchownat 260 54
        setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14, lremovexattr 198 15
        fremovexattr 199 16, utime 132 -, utimes 235 -, futimesat 261 -, mknod 133 -, mknodat 259 33
        open_by_handle_at 304 265, name_to_handle_at 303 264, fanotify_init 300 262, fanotify_mark 301 263
        """

    /// Parts of the kernel that media tools do not use and that had most of its faults. Operations of a ring
    /// (`io_uring`) are not seen by a filter.
    private static let kernel = """
        bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425 425
        io_uring_enter 426 426, io_uring_register 427 427, add_key 248 217, request_key 249 218
        keyctl 250 219, personality 135 92, modify_ldt 154 -, lookup_dcookie 212 18, syslog 103 116
        uselib 134 -, nfsservctl 180 42, create_module 174 -
        """

    /// The machine: mounts, modules, clocks, swap, names.
    private static let machine = """
        mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, open_tree 428 428
        move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433
        mount_setattr 442 442, swapon 167 224, swapoff 168 225, quotactl 179 60, quotactl_fd 443 443
        acct 163 89, kexec_load 246 104, kexec_file_load 320 294, init_module 175 105
        finit_module 313 273, delete_module 176 106, reboot 169 142, settimeofday 164 170
        clock_settime 227 112, clock_adjtime 305 266, adjtimex 159 171, sethostname 170 161
        setdomainname 171 162, iopl 172 -, ioperm 173 -, vhangup 153 58
        """

    /// Message queues, which other processes of the same user may have.
    private static let queues = """
        mq_open 240 180, mq_unlink 241 181, msgget 68 186, msgsnd 69 189, msgrcv 70 188, msgctl 71 187
        """

    /// Returns the calls that depend on their arguments, and those that must fail with a specific error.
    static func conditionalCallsOfTasks(network: Bool, guardians: [Int32]) -> [(SystemCall, Rule)] {
        // A negative number is a group; -1 is every process.
        let guarded = (guardians + guardians.map { -$0 } + [-1]).map { UInt32(bitPattern: $0) }
        let guardian = Condition(argument: 0, values: guarded)
        let itself = Condition(argument: 0, values: [0])
        let noPath = [Condition(argument: 1, values: [0]), Condition(argument: 1, half: .high, values: [0])]
        let noNewLimit = [Condition(argument: 2, values: [0]), Condition(argument: 2, half: .high, values: [0])]
        return [
            (call("socket", 41, 198), network ? .allowedIf([[internet]]) : .refused(EPERM)),
            // Pairs with helpers. A pair of datagram sockets could be connected to others by their paths.
            (
                call("socketpair", 53, 199),
                .allowedIf([
                    [Condition(argument: 0, values: [1]), Condition(argument: 1, mask: 0xF, values: [1, 5])]
                ])
            ),
            // New processes and threads, without CLONE_NEW*.
            (call("clone", 56, 220), .allowedIf([[Condition(argument: 0, mask: 0x7E02_0080, values: [0])]])),
            // Its flags are in memory, which a filter cannot inspect. Without it, the C library uses clone.
            (call("clone3", 435, 435), .refused(ENOSYS)),
            // All processes of a task stay in one group, which can be killed in one step, whatever it starts meanwhile.
            // A group matters to those that a terminal's keys reach, and a task has no terminal.
            (call("setsid", 112, 157), .pretended),
            (call("setpgid", 109, 154), .pretended),
            (call("kill", 62, 129), .refusedIf([guardian])),
            (call("tgkill", 234, 131), .refusedIf([guardian])),
            (call("rt_sigqueueinfo", 129, 138), .refusedIf([guardian])),
            (call("rt_tgsigqueueinfo", 297, 240), .refusedIf([guardian])),
            // TIOCSTI and TIOCLINUX, which type into a terminal.
            (call("ioctl", 16, 29), .refusedIf([Condition(argument: 1, values: [0x5412, 0x541C])])),
            // Limits, priorities and processors of the calling process or thread.
            (call("prlimit64", 302, 261), .allowedIf([[itself], noNewLimit])),
            (
                call("setpriority", 141, 140),
                .allowedIf([[itself, Condition(argument: 1, values: [0])]])
            ),
            (call("ioprio_set", 251, 30), .allowedIf([[Condition(argument: 1, values: [0])]])),
            (call("sched_setaffinity", 203, 122), .allowedIf([[itself]])),
            (call("sched_setscheduler", 144, 119), .allowedIf([[itself]])),
            (call("sched_setparam", 142, 118), .allowedIf([[itself]])),
            (call("sched_setattr", 314, 274), .allowedIf([[itself]])),
            // Times of an open file.
            (call("utimensat", 280, 88), .allowedIf([noPath])),
        ] + videoBoxCalls
    }

    /// AF_INET and AF_INET6. Landlock does not restrict sockets with a path, behind which a daemon may listen.
    private static let internet = Condition(argument: 0, values: [2, 10])
}
