// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Foundation
import Glibc
import MediaTypes
import TestSupport
import Testing

@testable import HelperSandbox

/// What a confined process can do, and what it cannot: the same attempts with the sandbox and without it.
@Suite(.serialized) struct EscapeTests {
    private let targets: EscapeTargets
    private static let hasLandlock = linux_landlock_version() >= 6

    init() throws { targets = try EscapeTargets() }

    /// A driver, or a library where there is none.
    private static let library: String = {
        let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
        let names = ["dri/iHD_drv_video.so", "dri/radeonsi_drv_video.so", "libva.so.2", "libz.so.1"]
        let paths = folders.flatMap { folder in names.map { "\(folder)/\($0)" } }
        return paths.first { access($0, R_OK) == 0 } ?? "libm.so.6"
    }()

    /// The errors of all attempts by name, and the lines besides.
    private func attempt(_ environment: [String: String]) throws -> (errors: [String: Int32], lines: [String]) {
        let arguments = try targets.arguments(library: Self.library)
        let all = environment.merging(["HOME": targets.home.path]) { $1 }
        let (output, status) = try Programs.run(try BuiltProgram.path("SandboxEscapes"), arguments, all)
        #expect(status == 0, "\(output)")
        var errors: [String: Int32] = [:]
        var lines: [String] = []
        for line in output.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 2, let error = Int32(words[1]) {
                errors[String(words[0])] = error
            } else {
                lines.append(String(line))
            }
        }
        #expect(targets.isVictimAlive)
        return (errors, lines)
    }

    /// Landlock's part, and what both it and the filter refuse.
    private static let files = [
        "read-secret", "read-secret-by-link", "list-folder", "write-file", "make-in-folder", "make-in-tmp",
        "make-in-shm",
        "make-in-home", "make-in-device-folder", "make-folder", "remove-file", "open-other-device", "write-to-program",
        "list-processes", "read-environment", "read-command", "open-memory",
    ]
    /// The filter's part.
    private static let calls = [
        "make-link", "truncate-file", "change-mode", "open-by-handle", "new-process", "start-program",
        "start-from-memory", "signal-victim", "signal-thread-of-victim", "signal-thread-by-number", "queue-signal",
        "signal-group", "open-process", "signal-by-owner", "read-memory", "write-memory", "change-priority",
        "change-affinity", "change-limit", "compare-descriptors", "internet-socket", "abstract-socket", "socket-pair",
        "trace", "mount", "new-namespace", "enter-namespace", "change-root", "change-user", "make-map", "open-counter",
        "make-ring", "take-faults", "use-keys", "read-kernel-log", "type-into-terminal", "change-process-options",
        "outlive-client", "raise-file-limit", "other-semaphore", "other-segment", "list-segments",
        "message-queue",
    ]
    private static let callsOfX86 = ["call-as-32-bit", "call-by-x32-number"]
    private static let absent = ["new-process-by-clone3", "call-of-the-future"]
    private static let needed = [
        "run-thread", "load-library", "write-to-null", "read-random", "read-own-maps", "read-device-tree",
        "share-memory",
        "run-written-code", "signal-itself", "lower-own-priority", "wait-a-moment",
        "open-file-limit", "open-device", "share-video-boxes",
    ]
    /// What works without the sandbox wherever tests run, without being root and in a container.
    private static let common = [
        "read-secret", "read-secret-by-link", "list-folder", "write-file", "make-in-folder", "make-in-tmp",
        "make-in-home",
        "make-folder", "remove-file", "open-other-device", "list-processes", "read-environment", "read-command",
        "make-link", "truncate-file", "change-mode", "new-process", "start-program", "start-from-memory",
        "signal-victim",
        "signal-thread-of-victim", "signal-thread-by-number", "queue-signal", "signal-group", "signal-by-owner",
        "change-priority", "change-affinity", "change-limit", "internet-socket", "abstract-socket", "socket-pair",
        "change-user", "change-process-options", "outlive-client", "raise-file-limit", "other-semaphore",
        "other-segment", "list-segments", "message-queue",
    ]

    @Test func nothingGetsOut() throws {
        let (errors, lines) = try attempt([:])
        #expect(!lines.contains { $0.hasPrefix("warning") } || !Self.hasLandlock, "\(lines)")
        for name in Self.calls { #expect(errors[name] == EPERM, "\(name)") }
        for name in Self.absent { #expect(errors[name] == ENOSYS, "\(name)") }
        for name in Self.needed { #expect(errors[name] == 0, "\(name)") }
        #expect(errors["request-of-device"] == ENOTTY)
        // What the tests' own container has is not the sandbox's: its filter may know no `kcmp`, its `/dev` be read-only.
        let outside = try attempt(["VATOOLBOX_SANDBOX": "off"]).errors
        #expect(errors["compare-own-descriptors"] == outside["compare-own-descriptors"])
        if Self.hasLandlock {
            for name in Self.files where errors[name] != EROFS || outside[name] != EROFS {
                #expect(errors[name] == EACCES, "\(name)")
            }
            #expect(errors["request-of-null"] == EACCES)
        }
        #if arch(x86_64)
        for name in Self.callsOfX86 { #expect(errors[name] == EPERM, "\(name)") }
        #endif
        // Each attempt is in one of the lists.
        let known = Set(Self.files + Self.calls + Self.callsOfX86 + Self.absent + Self.needed)
        let others: Set = ["request-of-device", "request-of-null", "compare-own-descriptors"]
        #expect(Set(errors.keys).subtracting(known) == others)
    }

    /// Else the test before would pass for attempts that are no good.
    @Test func withoutTheSandboxTheAttemptsWork() throws {
        let (errors, lines) = try attempt(["VATOOLBOX_SANDBOX": "off"])
        #expect(lines.contains { $0.hasPrefix("warning") && $0.contains("VATOOLBOX_SANDBOX is off") }, "\(lines)")
        for name in Self.common + Self.needed { #expect(errors[name] == 0, "\(name)") }
        // These fail here, but otherwise than in the sandbox.
        #expect(errors["type-into-terminal"] != EPERM)
        #expect(errors["request-of-null"] == ENOTTY)
    }

    /// Where the tests run with every right, nearly everything works.
    @Test(.enabled(if: hasEveryCapability))
    func withoutTheSandboxRootCanDoTheRest() throws {
        let (errors, _) = try attempt(["VATOOLBOX_SANDBOX": "off"])
        let configurable = [
            "use-keys", "make-map", "open-counter", "make-ring", "take-faults", "read-kernel-log", "open-by-handle",
            "call-as-32-bit", "call-by-x32-number", "compare-descriptors", "make-in-shm",
        ]
        // A kernel may be without these, but then it does not say that they are forbidden.
        for name in configurable where errors[name] != nil { #expect(errors[name] != EPERM, "\(name)") }
        for name in ["mount", "new-namespace", "change-root", "trace", "read-memory", "write-memory", "open-memory"] {
            #expect(errors[name] == 0, "\(name)")
        }
        #expect(errors["enter-namespace"] == EBADF)
        // No filter is around these tests, so none but the sandbox's could refuse it.
        #expect(errors["compare-own-descriptors"] == 0)
    }

    /// Root, and not in a container that has taken rights away.
    private static var hasEveryCapability: Bool {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        func value(_ name: String) -> String {
            status.split(separator: "\n").first { $0.hasPrefix("\(name):") }?
                .split(separator: "\t").last.map { String($0) } ?? ""
        }
        let capabilities = UInt64(value("CapEff"), radix: 16) ?? 0
        // CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_SYS_CHROOT.
        let wanted: UInt64 = 1 << 21 | 1 << 19 | 1 << 18
        return geteuid() == 0 && capabilities & wanted == wanted && value("Seccomp") == "0"
    }

    @Test(.enabled(if: hasLandlock)) func furtherFoldersAreWritable() throws {
        let (errors, lines) = try attempt([
            "VATOOLBOX_SANDBOX_WRITABLE": "\(targets.folder.path):/nowhere/at/all"
        ])
        for name in ["read-secret", "list-folder", "write-file", "make-in-folder", "make-folder", "remove-file"] {
            #expect(errors[name] == 0, "\(name)")
        }
        #expect(errors["make-in-shm"] == EACCES)
        #expect(lines.contains { $0.contains("/nowhere/at/all (No such file or directory)") }, "\(lines)")
    }

    // MARK: - Kernels that do not have it all

    private func attemptRefused(_ error: Int32, _ calls: String) throws -> (errors: [String: Int32], lines: [String]) {
        let program = try BuiltProgram.path("SandboxEscapes")
        let arguments = ["--refuse", "\(error)", calls, program] + (try targets.arguments(library: Self.library))
        let (output, status) = try Programs.run(program, arguments, ["HOME": targets.home.path])
        #expect(status == 0, "\(output)")
        let lines = output.split(separator: "\n").map { String($0) }
        let pairs = lines.compactMap { line -> (String, Int32)? in
            let words = line.split(separator: " ")
            return words.count == 2 ? Int32(words[1]).map { (String(words[0]), $0) } : nil
        }
        return (Dictionary(pairs) { $1 }, lines.filter { $0.hasPrefix("warning") })
    }

    @Test(arguments: [ENOSYS, EOPNOTSUPP, EPERM]) func withoutLandlockTheRestHolds(error: Int32) throws {
        let (errors, warnings) = try attemptRefused(error, "landlock_create_ruleset")
        let why = String(cString: strerror(error))
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains("lacks Landlock: landlock_create_ruleset failed (\(why)); an encoder") == true)
        #expect(errors["read-secret"] == 0 && errors["new-process"] == EPERM && errors["run-thread"] == 0)
    }

    @Test(.enabled(if: hasLandlock)) func landlockThatFailsAtItsEndIsTold() throws {
        let (errors, warnings) = try attemptRefused(EPERM, "landlock_restrict_self")
        #expect(warnings.count == 1 && warnings.first?.contains("landlock_restrict_self failed") == true)
        #expect(errors["read-secret"] == 0 && errors["new-process"] == EPERM)
    }

    @Test(.enabled(if: hasLandlock), arguments: [ENOSYS, EPERM]) func withoutSeccompTheRestHolds(error: Int32) throws {
        let (errors, warnings) = try attemptRefused(error, "seccomp,capset")
        #expect(warnings.count == 2)
        #expect(warnings.contains { $0.contains("lacks seccomp: seccomp failed") })
        #expect(warnings.contains { $0.contains("lacks dropped capabilities: capset failed") })
        #expect(errors["read-secret"] == EACCES && errors["new-process"] == 0 && errors["run-thread"] == 0)
        // Landlock confines these as well.
        #expect(errors["trace"] == EPERM && errors["signal-victim"] == EPERM && errors["abstract-socket"] == EPERM)
        #expect(errors["start-program"] == EACCES)
    }

    @Test func anUnknownModeIsAnError() throws {
        let arguments = try targets.arguments(library: Self.library)
        let (output, status) = try Programs.run(
            try BuiltProgram.path("SandboxEscapes"),
            arguments,
            ["VATOOLBOX_SANDBOX": "maybe"]
        )
        #expect(status == 64 && output.contains("given maybe, allowed on, off"))
    }
}
