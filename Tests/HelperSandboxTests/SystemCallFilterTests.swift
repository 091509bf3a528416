// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Foundation
import Glibc
import Testing

@testable import HelperSandbox

/// The filter's program, run by a machine of the test's own, for both architectures.
@Suite struct SystemCallFilterTests {
    private typealias Architecture = SystemCallFilter.Architecture

    private static let process: Int32 = 4711
    private static let allowed: UInt32 = 0x7FFF_0000
    private static let refused = 0x0005_0000 | UInt32(EPERM)
    private static let unknown = 0x0005_0000 | UInt32(ENOSYS)

    private static func program(_ architecture: Architecture) -> [sock_filter] {
        SystemCallFilter(architecture, process: process).program
    }

    private static let programs = [Architecture.x86: program(.x86), .arm: program(.arm)]

    /// What the kernel would do with a call.
    private func verdict(
        _ architecture: Architecture,
        _ number: UInt32,
        _ arguments: [UInt64] = [],
        audit: UInt32? = nil,
        of program: [sock_filter]? = nil
    ) throws -> UInt32 {
        var data = [number, audit ?? architecture.audit, 0, 0]
        for index in 0..<6 {
            let value = index < arguments.count ? arguments[index] : 0
            data += [UInt32(truncatingIfNeeded: value), UInt32(truncatingIfNeeded: value >> 32)]
        }
        return try run(try program ?? #require(Self.programs[architecture]), data)
    }

    private struct BadProgram: Error {}

    private func run(_ program: [sock_filter], _ data: [UInt32]) throws -> UInt32 {
        var (next, accumulator) = (0, UInt32(0))
        while program.indices.contains(next) {
            let instruction = program[next]
            next += 1
            switch Int32(instruction.code) {
            case BPF_LD | BPF_W | BPF_ABS:
                guard instruction.k % 4 == 0, data.indices.contains(Int(instruction.k / 4)) else { throw BadProgram() }
                accumulator = data[Int(instruction.k / 4)]
            case BPF_ALU | BPF_AND: accumulator &= instruction.k
            case BPF_JMP | BPF_JA: next += Int(instruction.k)
            case BPF_JMP | BPF_JEQ: next += Int(accumulator == instruction.k ? instruction.jt : instruction.jf)
            case BPF_JMP | BPF_JGE: next += Int(accumulator >= instruction.k ? instruction.jt : instruction.jf)
            case BPF_RET: return instruction.k
            default: throw BadProgram()
            }
        }
        throw BadProgram()
    }

    /// The numbers of the kernel's own headers, of those that are installed.
    private static func numbers(_ headers: [String]) throws -> [String: UInt32] {
        var numbers: [String: UInt32] = [:]
        for header in headers {
            let text = try #require(try? String(contentsOfFile: header, encoding: .utf8), "linux-libc-dev is missing")
            for line in text.split(separator: "\n") {
                let words = line.split(separator: " ", omittingEmptySubsequences: true).flatMap {
                    $0.split(separator: "\t")
                }
                guard words.count == 3, words[0] == "#define", words[1].hasPrefix("__NR"), let number = UInt32(words[2])
                else { continue }
                // Calls that other architectures have in two widths.
                let isWide = words[1].hasPrefix("__NR3264_")
                let name = String(words[1].dropFirst(isWide ? 9 : 5))
                numbers[name == "fstatat" ? "newfstatat" : name] = number
            }
        }
        try #require(numbers.count > 250)
        return numbers
    }

    @Test(arguments: [
        (Architecture.x86, ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h"]),
        (.arm, ["/usr/include/asm-generic/unistd.h"]),
    ])
    func numbersAreTheKernels(architecture: SystemCallFilter.Architecture, headers: [String]) throws {
        let numbers = try Self.numbers(headers)
        // Newer than the headers of Debian 12, with one number for all.
        let newest = [
            "futex_waitv": 449, "futex_wake": 454, "futex_wait": 455, "futex_requeue": 456, "fchmodat2": 452,
        ].mapValues { UInt32($0) }
        let ofHelpers = SystemCallFilter.allowedCalls + SystemCallFilter.conditionalCalls(process: 1).map(\.0)
        let ofTasks =
            SystemCallFilter.callsRefusedToTasks
            + SystemCallFilter.conditionalCallsOfTasks(network: true, guardians: [1]).map(\.0)
        #expect(ofHelpers.count > 150 && ofTasks.count > 80)
        for calls in [ofHelpers, ofTasks] {
            #expect(Set(calls.map(\.name)).count == calls.count)
            for call in calls {
                #expect(call.number(on: architecture) == numbers[call.name] ?? newest[call.name], "\(call.name)")
            }
        }
    }

    @Test(arguments: Architecture.allCases)
    func exactlyTheListedCallsAreAllowed(architecture: SystemCallFilter.Architecture) throws {
        let always = Set(SystemCallFilter.allowedCalls.compactMap { $0.number(on: architecture) })
        let sometimes = Set(
            SystemCallFilter.conditionalCalls(process: 4711).compactMap { $0.0.number(on: architecture) }
        )
        for number in 0...UInt32(600) where !sometimes.contains(number) {
            let expected = number > 466 ? Self.unknown : always.contains(number) ? Self.allowed : Self.refused
            #expect(try verdict(architecture, number) == expected, "\(number)")
        }
        // Of other architectures, and by x32 numbers, nothing.
        for number in always {
            #expect(try verdict(architecture, number, audit: 0x4000_0003) == Self.refused)
            if architecture == .x86 { #expect(try verdict(.x86, number | 0x4000_0000) == Self.refused) }
        }
        #expect(try verdict(architecture, .max) != Self.allowed)
    }

    private func verdict(_ name: String, _ arguments: [UInt64]) throws -> Bool {
        let (call, _) = try #require(SystemCallFilter.conditionalCalls(process: 1).first { $0.0.name == name })
        let verdicts = try Architecture.allCases.compactMap { architecture in
            try call.number(on: architecture).map { try verdict(architecture, $0, arguments) }
        }
        #expect(Set(verdicts).count == 1)
        return verdicts.first == Self.allowed
    }

    @Test func threadsAreMadeAndProcessesAreNot() throws {
        // What glibc asks for a thread, and for fork and vfork.
        #expect(try verdict("clone", [0x3D_0F00]))
        for flags: UInt64 in [0x0120_0011, 0x4111, 0x11, 0x3D_0F00 | 0x1000_0000, 0x3D_0F00 | 0x2_0000, 0] {
            #expect(try !verdict("clone", [flags]))
        }
        for architecture in Architecture.allCases { #expect(try verdict(architecture, 435) == Self.unknown) }
    }

    @Test(arguments: ["kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"])
    func signalsReachTheProcessItself(name: String) throws {
        #expect(try verdict(name, [4711, 0, 9]))
        for other: UInt64 in [0, 1, 4710, 4712, UInt64(bitPattern: -1), UInt64(bitPattern: -4711)] {
            #expect(try !verdict(name, [other, 0, 9]))
        }
    }

    @Test func requestsAreThoseOfGraphics() throws {
        // DRM_IOCTL_VERSION, DMA_BUF_IOCTL_SYNC, SYNC_IOC_MERGE, TCGETS, FIONREAD.
        for request: UInt64 in [0xC040_6400, 0x4008_6200, 0xC030_3E03, 0x5401, 0x541B] {
            #expect(try verdict("ioctl", [3, request]))
            // The kernel looks at 32 bits.
            #expect(try verdict("ioctl", [3, request | 1 << 32]))
        }
        // TIOCSTI, TIOCLINUX, SIOCGIFADDR, KVM_CREATE_VM, FIOSETOWN, BLKRRPART, LOOP_CTL_GET_FREE.
        for request: UInt64 in [0x5412, 0x541C, 0x8915, 0xAE01, 0x8901, 0x125F, 0x4C82] {
            #expect(try !verdict("ioctl", [3, request]))
            #expect(try !verdict("ioctl", [3, request | 0x64 << 32]))
        }
    }

    @Test func otherArgumentsAreHeldAgainstTheirLists() throws {
        #expect(try verdict("fcntl", [3, 1030]) && verdict("fcntl", [3, 1033]))
        for command: UInt64 in [8, 10, 15, 1024, 1026] { #expect(try !verdict("fcntl", [3, command])) }
        #expect(try verdict("prctl", [15]) && !verdict("prctl", [1]) && !verdict("prctl", [4]))
        #expect(try !verdict("prctl", [22]) && !verdict("prctl", [0x5961_6D61]))
        #expect(try verdict("kcmp", [4711, 4711]) && !verdict("kcmp", [4711, 1]) && !verdict("kcmp", [1, 4711]))
        // Reading limits, and setting that of descriptors.
        #expect(try verdict("prlimit64", [0, 4, 0, 1]) && verdict("prlimit64", [4711, 7, 1 << 40, 0]))
        #expect(try !verdict("prlimit64", [0, 4, 1 << 40, 0]) && !verdict("prlimit64", [1, 4, 0, 1]))
        #expect(try verdict("setrlimit", [7]) && !verdict("setrlimit", [4]))
        #expect(try verdict("sendto", [3, 1, 1, 0, 0, 0]) && !verdict("sendto", [3, 1, 1, 0, 1 << 40, 16]))
        #expect(try verdict("setpriority", [0, 0, 5]) && !verdict("setpriority", [0, 1, 5]))
        #expect(try !verdict("setpriority", [2, 0, 5]))
        for name in ["sched_setaffinity", "sched_setscheduler", "sched_setparam"] {
            #expect(try verdict(name, [0]) && verdict(name, [4711]) && !verdict(name, [1]))
        }
    }

    @Test func systemVMemoryIsThatOfVideoBoxes() throws {
        let key: UInt64 = 0x4400_5658
        // IPC_CREAT, IPC_EXCL and modes, as iHD asks.
        for flags: UInt64 in [0o3666, 0o1666, 0o666] { #expect(try verdict("semget", [key, 1, flags])) }
        #expect(try verdict("shmget", [key, 12, 0o1666]) && verdict("shmget", [key, 0xFFF, 0o1666]))
        for other: UInt64 in [0, 1, key + 1, key &- 1, key ^ 1 << 31, 0x4456_5800, UInt64(UInt32.max)] {
            #expect(try !verdict("semget", [other, 1, 0o1666]) && !verdict("shmget", [other, 12, 0o1666]))
        }
        // What stays when the process ends is small.
        #expect(try !verdict("semget", [key, 2, 0o1666]))
        for size: UInt64 in [0x1000, 1 << 30, 1 << 32, 1 << 32 | 12, .max] {
            #expect(try !verdict("shmget", [key, size, 0o1666]))
        }
        for name in ["semop", "semtimedop", "shmdt"] { #expect(try verdict(name, [7, 1])) }
        // IPC_RMID, IPC_STAT, GETZCNT, SETVAL; not IPC_SET, IPC_INFO, GETALL, SETALL, SEM_STAT, SEM_INFO, SEM_STAT_ANY.
        for command: UInt64 in [0, 2, 15, 16] { #expect(try verdict("semctl", [7, 0, command])) }
        for command: UInt64 in [1, 3, 13, 17, 18, 19, 20] { #expect(try !verdict("semctl", [7, 0, command])) }
        // Not IPC_SET, IPC_INFO, SHM_LOCK, SHM_UNLOCK, SHM_STAT, SHM_INFO, SHM_STAT_ANY.
        for command: UInt64 in [0, 2] { #expect(try verdict("shmctl", [7, command])) }
        for command: UInt64 in [1, 3, 11, 12, 13, 14, 15] { #expect(try !verdict("shmctl", [7, command])) }
        // Not SHM_RDONLY, which nobody needs, SHM_RND, SHM_REMAP, SHM_EXEC.
        #expect(try verdict("shmat", [7, 0, 0]))
        for flags: UInt64 in [0o10000, 0o20000, 0o40000, 0o100000] { #expect(try !verdict("shmat", [7, 0, flags])) }
        // msgget, msgsnd, msgrcv and msgctl.
        for number: UInt32 in 68...71 { #expect(try verdict(.x86, number) == Self.refused) }
        for number: UInt32 in 186...189 { #expect(try verdict(.arm, number) == Self.refused) }
    }

    /// What a task of the service may do with a call, on both architectures.
    private func task(_ name: String, _ arguments: [UInt64] = [], network: Bool = false) throws -> UInt32 {
        let conditional = SystemCallFilter.conditionalCallsOfTasks(network: network, guardians: [4711, 42])
        let calls = conditional.map(\.0) + SystemCallFilter.callsRefusedToTasks
        let call = try #require(calls.first { $0.name == name })
        let verdicts = try Architecture.allCases.compactMap { architecture in
            let filter = SystemCallFilter(architecture, network: network, guardians: [4711, 42])
            return try call.number(on: architecture).map { number in
                try verdict(architecture, number, arguments, of: filter.program)
            }
        }
        #expect(Set(verdicts).count == 1, "\(name)")
        return try #require(verdicts.first)
    }

    @Test(arguments: Architecture.allCases)
    func aTaskMayDoWhatIsNotListed(architecture: SystemCallFilter.Architecture) throws {
        let program = SystemCallFilter(architecture, network: false, guardians: [4711]).program
        #expect(program.count < 4096)
        let refused = Set(SystemCallFilter.callsRefusedToTasks.compactMap { $0.number(on: architecture) })
        let sometimes = Set(
            SystemCallFilter.conditionalCallsOfTasks(network: false, guardians: [4711]).compactMap {
                $0.0.number(on: architecture)
            }
        )
        for number in 0...UInt32(600) where !sometimes.contains(number) {
            let expected = number > 466 ? Self.unknown : refused.contains(number) ? Self.refused : Self.allowed
            #expect(try verdict(architecture, number, of: program) == expected, "\(number)")
        }
        #expect(try verdict(architecture, 0, audit: 0x4000_0003, of: program) == Self.refused)
        if architecture == .x86 { #expect(try verdict(.x86, 0x4000_0000, of: program) == Self.refused) }
    }

    @Test func aTaskHasTheSocketsThatItWasGranted() throws {
        // AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK.
        for family: UInt64 in [1, 2, 10, 16, 17, 40] {
            #expect(try task("socket", [family, 1]) == Self.refused)
            let expected = family == 2 || family == 10 ? Self.allowed : Self.refused
            #expect(try task("socket", [family, 1], network: true) == expected)
        }
        for kind: UInt64 in [1, 5, 1 | 0o2000000, 5 | 0o4000] {
            #expect(try task("socketpair", [1, kind]) == Self.allowed)
        }
        for (family, kind): (UInt64, UInt64) in [(1, 2), (1, 2 | 0o2000000), (2, 1), (16, 3)] {
            #expect(try task("socketpair", [family, kind], network: true) == Self.refused)
        }
    }

    @Test(arguments: ["kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"])
    func aTaskCannotSignalWhoWatchesIt(name: String) throws {
        for process in [4711, 42, -4711, -42, -1] {
            #expect(try task(name, [UInt64(bitPattern: Int64(process)), 9]) == Self.refused, "\(process)")
            // The kernel looks at 32 bits.
            #expect(try task(name, [UInt64(UInt32(bitPattern: Int32(process))) | 1 << 40, 9]) == Self.refused)
        }
        for process in [0, 4712, -4712] {
            #expect(try task(name, [UInt64(bitPattern: Int64(process)), 9]) == Self.allowed, "\(process)")
        }
    }

    @Test func aTaskChangesItselfAlone() throws {
        // A process, a thread; not namespaces of users, processes, networks and times.
        for flags: UInt64 in [0x11, 0x3D_0F00, 0x4111] { #expect(try task("clone", [flags]) == Self.allowed) }
        for flags: UInt64 in [0x1000_0000, 0x2000_0000, 0x4000_0000, 0x80, 0x2_0000] {
            #expect(try task("clone", [flags | 0x11]) == Self.refused)
        }
        #expect(try task("clone3") == Self.unknown)
        // Success with nothing done.
        #expect(try task("setsid") == 0x0005_0000 && task("setpgid", [0, 0]) == 0x0005_0000)
        #expect(try task("prlimit64", [0, 7, 1 << 40, 0]) == Self.allowed)
        #expect(try task("prlimit64", [99, 7, 0, 1]) == Self.allowed)
        #expect(try task("prlimit64", [99, 7, 1 << 40, 0]) == Self.refused)
        for name in ["sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"] {
            #expect(try task(name, [0]) == Self.allowed && task(name, [99]) == Self.refused)
        }
        #expect(try task("setpriority", [0, 0]) == Self.allowed && task("setpriority", [0, 99]) == Self.refused)
        #expect(try task("ioprio_set", [1, 0]) == Self.allowed && task("ioprio_set", [1, 99]) == Self.refused)
        // TIOCSTI; DRM_IOCTL_VERSION.
        #expect(try task("ioctl", [0, 0x5412]) == Self.refused && task("ioctl", [3, 0xC040_6400]) == Self.allowed)
        // The times of an open file, and of a path.
        #expect(try task("utimensat", [3, 0]) == Self.allowed && task("utimensat", [3, 1 << 40]) == Self.refused)
        for name in ["chmod", "fchmodat", "fchmodat2", "ptrace", "io_uring_setup", "unshare", "tkill"] {
            #expect(try task(name) == Self.refused)
        }
    }

    @Test func theKernelTakesTheProgram() {
        for program in Self.programs.values { #expect(program.count < 4096) }
    }
}
