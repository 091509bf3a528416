// SPDX-License-Identifier: GPL-2.0-or-later

/// A system call with its number on each architecture; `nil` if it does not exist there.
struct SystemCall: Sendable, Hashable {
    var name: String
    var x86: UInt32?
    var arm: UInt32?

    func number(on architecture: SystemCallFilter.Architecture) -> UInt32? {
        switch architecture {
        case .x86: x86
        case .arm: arm
        }
    }

    /// Parses `NAME NUMBER NUMBER, ...`: the number on x86-64, then on aarch64, `-` for none.
    static func list(_ text: String) -> [SystemCall] {
        text.split { $0 == "," || $0 == "\n" }.compactMap { entry in
            let words = entry.split(separator: " ")
            guard words.count == 3 else { return nil }
            return SystemCall(name: String(words[0]), x86: UInt32(words[1]), arm: UInt32(words[2]))
        }
    }
}

extension SystemCallFilter {
    /// The newest known call. Newer calls fail with `ENOSYS` in a confined process, so the C library does not use them.
    static let newestKnownCall: UInt32 = 466

    /// The calls that are allowed with any arguments. A call in none of the lists is refused.
    static let allowedCalls = [files, descriptors, sockets, memory, threads, signals, time, itself].flatMap {
        SystemCall.list($0)
    }

    /// Files: Landlock restricts which ones, and for what.
    private static let files = """
        open 2 -, openat 257 56, openat2 437 437, creat 85 -, close 3 57, close_range 436 436, access 21 -
        faccessat 269 48, faccessat2 439 439, stat 4 -, lstat 6 -, fstat 5 80, newfstatat 262 79
        statx 332 291, statfs 137 43, fstatfs 138 44, readlink 89 -, readlinkat 267 78, getcwd 79 17
        getdents 78 -, getdents64 217 61, rename 82 -, renameat 264 38, renameat2 316 276, mkdir 83 -
        mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35, umask 95 166
        """

    /// Open descriptors.
    private static let descriptors = """
        read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69
        pwritev 296 70, preadv2 327 286, pwritev2 328 287, lseek 8 62, ftruncate 77 46, fallocate 285 47
        fadvise64 221 223, fsync 74 82, fdatasync 75 83, flock 73 32, dup 32 23, dup2 33 -, dup3 292 24
        pipe 22 -, pipe2 293 59, eventfd 284 -, eventfd2 290 19, poll 7 -, ppoll 271 73, select 23 -
        pselect6 270 72, epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -
        epoll_pwait 281 22, epoll_pwait2 441 441
        """

    /// Sockets that this process was given; it cannot create new ones.
    private static let sockets = """
        sendmsg 46 211, recvmsg 47 212, recvfrom 45 207, shutdown 48 210, getsockopt 55 209
        getsockname 51 204, getpeername 52 205
        """

    /// Memory. Mapping code and making written memory executable must stay allowed: drivers are loaded later, and Mesa
    /// compiles code for the CPU.
    private static let memory = """
        mmap 9 222, munmap 11 215, mprotect 10 226, mremap 25 216, madvise 28 233, brk 12 214, msync 26 227
        mincore 27 232, memfd_create 319 279, membarrier 324 283, get_mempolicy 239 236
        """

    /// Threads of this process.
    private static let threads = """
        futex 202 98, futex_waitv 449 449, futex_wake 454 454, futex_wait 455 455, futex_requeue 456 456
        set_robust_list 273 99, set_tid_address 218 96, rseq 334 293, restart_syscall 219 128, exit 60 93
        exit_group 231 94, sched_yield 24 124, sched_getaffinity 204 123, sched_getscheduler 145 120
        sched_getparam 143 121, sched_getattr 315 275, sched_get_priority_max 146 125
        sched_get_priority_min 147 126, getpriority 140 141, getcpu 309 168, arch_prctl 158 -
        """

    /// Signals to this process.
    private static let signals = """
        rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136
        rt_sigsuspend 130 133, rt_sigtimedwait 128 137, sigaltstack 131 132, pause 34 -, alarm 37 -
        getitimer 36 102, setitimer 38 103, signalfd 282 -, signalfd4 289 74
        """

    /// Time.
    private static let time = """
        clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101
        gettimeofday 96 169, time 201 -, times 100 153, timer_create 222 107, timer_settime 223 110
        timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111, timerfd_create 283 85
        timerfd_settime 286 86, timerfd_gettime 287 87
        """

    /// Information about this process and its environment.
    private static let itself = """
        getpid 39 172, getppid 110 173, gettid 186 178, getuid 102 174, geteuid 107 175, getgid 104 176
        getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158, getpgid 121 155
        getpgrp 111 -, getsid 124 156, capget 125 90, uname 63 160, sysinfo 99 179, getrusage 98 165
        getrlimit 97 163, getrandom 318 278
        """
}
