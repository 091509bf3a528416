// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

extension SystemCallFilter {
    /// Returns the calls that are allowed only with certain arguments, and those that must fail with a specific error.
    static func conditionalCalls(process: UInt32) -> [(SystemCall, Rule)] {
        let own = Condition(argument: 0, values: [process])
        let ownOrThisThread = Condition(argument: 0, values: [0, process])
        return [
            // A new thread has this flag and none of those that create namespaces. A new process does not.
            (call("clone", 56, 220), .allowedIf([[startOfThread]])),
            // Its flags are in memory, which a filter cannot inspect. Without it, the C library uses clone.
            (call("clone3", 435, 435), .refused(ENOSYS)),
            (call("ioctl", 16, 29), .allowedIf([[deviceRequests], [descriptorRequests]])),
            (call("fcntl", 72, 25), .allowedIf([[descriptorCommands]])),
            (call("prctl", 157, 167), .allowedIf([[processOptions]])),
            (call("kill", 62, 129), .allowedIf([[own]])),
            (call("tgkill", 234, 131), .allowedIf([[own]])),
            (call("rt_sigqueueinfo", 129, 138), .allowedIf([[own]])),
            (call("rt_tgsigqueueinfo", 297, 240), .allowedIf([[own]])),
            // Mesa compares its own descriptors.
            (call("kcmp", 312, 272), .allowedIf([[own, Condition(argument: 1, values: [process])]])),
            // Limits may be read. The limit of descriptors may change, within the limit that the process sets
            // permanently.
            (
                call("prlimit64", 302, 261),
                .allowedIf([
                    [ownOrThisThread] + isNull(2),
                    [ownOrThisThread, Condition(argument: 1, values: [descriptorLimit])],
                ])
            ),
            (call("setrlimit", 160, 164), .allowedIf([[Condition(argument: 0, values: [descriptorLimit])]])),
            // Only without an address; the sockets are connected.
            (call("sendto", 44, 206), .allowedIf([isNull(4)])),
            // Only for the calling thread: x264 lowers the priority of its lookahead. Mesa cannot move its threads, and
            // continues.
            (
                call("setpriority", 141, 140),
                .allowedIf([[Condition(argument: 0, values: [0]), Condition(argument: 1, values: [0])]])
            ),
            (call("sched_setaffinity", 203, 122), .allowedIf([[ownOrThisThread]])),
            (call("sched_setscheduler", 144, 119), .allowedIf([[ownOrThisThread]])),
            (call("sched_setparam", 142, 118), .allowedIf([[ownOrThisThread]])),
        ] + videoBoxCalls
    }

    /// The calls that iHD needs on GPUs with several video engines, of the generations on which it distributes the work
    /// itself: its processes count their work in a System V shared memory segment, protected by a semaphore
    /// (`CreateIPC` and `DestroyIPC` of media-driver). It does not start without them.
    ///
    /// Only one key is allowed, and a segment is at most one page. IDs cannot be restricted here, because other
    /// processes create and remove the objects: see docs/threat-model.md.
    static let videoBoxCalls: [(SystemCall, Rule)] = [
        (call("semget", 64, 190), .allowedIf([[videoBoxKey, Condition(argument: 1, values: [0, 1])]])),
        (call("shmget", 29, 194), .allowedIf([[videoBoxKey] + isBelowPage(1)])),
        (call("semop", 65, 193), .allowed),
        (call("semtimedop", 220, 192), .allowed),
        // IPC_RMID, IPC_STAT, GETZCNT and SETVAL: nothing that lists existing objects or changes their owner.
        (call("semctl", 66, 191), .allowedIf([[Condition(argument: 2, values: [0, 2, 15, 16])]])),
        (call("shmctl", 31, 195), .allowedIf([[Condition(argument: 1, values: [0, 2])]])),
        // Not executable, and not over an existing mapping.
        (call("shmat", 30, 196), .allowedIf([[Condition(argument: 2, values: [0])]])),
        (call("shmdt", 67, 197), .allowed),
    ]

    /// The bytes `D`, 0, `V`, `X`, highest byte first.
    private static let videoBoxKey = Condition(argument: 0, values: [0x4400_5658])

    private static func isBelowPage(_ argument: UInt32) -> [Condition] {
        [
            Condition(argument: argument, mask: 0xFFFF_F000, values: [0]),
            Condition(argument: argument, half: .high, values: [0]),
        ]
    }

    static func call(_ name: String, _ x86: UInt32, _ arm: UInt32) -> SystemCall {
        SystemCall(name: name, x86: x86, arm: arm)
    }

    /// CLONE_THREAD, and no CLONE_NEW* flag.
    private static let startOfThread = Condition(argument: 0, mask: 0x7E03_0080, values: [0x1_0000])
    /// RLIMIT_NOFILE.
    private static let descriptorLimit: UInt32 = 7

    private static func isNull(_ argument: UInt32) -> [Condition] {
        [Condition(argument: argument, values: [0]), Condition(argument: argument, half: .high, values: [0])]
    }

    /// The types of requests to DRM devices (`d`), DMA-BUFs (`b`) and fences (`>`).
    private static let deviceRequests = Condition(
        argument: 1,
        mask: 0xFF00,
        values: "db>".utf8.map { UInt32($0) << 8 }
    )

    /// TCGETS and TCGETS2, with which the C library detects a terminal; TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX,
    /// FIOCLEX.
    private static let descriptorRequests = Condition(
        argument: 1,
        values: [0x5401, 0x802C_542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451]
    )

    /// F_DUPFD, F_GETFD to F_SETLKW, open file description locks, F_DUPFD_CLOEXEC, F_GETPIPE_SZ, F_ADD_SEALS,
    /// F_GET_SEALS. Without the commands that make the kernel send signals on behalf of the process.
    private static let descriptorCommands = Condition(
        argument: 1,
        values: [0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032, 1033, 1034]
    )

    /// PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP, PR_CAPBSET_READ, PR_SET_TIMERSLACK,
    /// PR_GET_TIMERSLACK, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, and PR_SET_VMA, which names memory.
    private static let processOptions = Condition(
        argument: 0,
        values: [3, 15, 16, 21, 23, 29, 30, 38, 39, 0x5356_4D41]
    )
}
