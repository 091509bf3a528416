// SPDX-License-Identifier: GPL-2.0-or-later

import CEscapes
import Glibc
import HelperSandbox
import MediaTypes

/// A program that confines itself as the helper does and then tries to get out.
///
///     SandboxEscapes FOLDER VICTIM MEMORY SOCKET DEVICE LIBRARY [NAME]...
///     SandboxEscapes --refuse ERRNO CALL[,CALL]... PROGRAM [ARGUMENT]...
///
/// The first prints a line `warning TEXT` for each warning of the sandbox, and `NAME ERRNO` for each attempt, of all or of
/// those named. The second starts a program for which system calls fail.
@main enum SandboxEscapes {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "--refuse" { startRefused(Array(arguments.dropFirst())) }
        let words = Array(arguments)
        guard words.count >= 6, let victim = pid_t(words[1]), let memory = UInt64(words[2]) else { exit(64) }
        do {
            var policy = try SandboxPolicy.ofThisProcess()
            policy.grants.append(.init(words[4], .devices))
            let start = ContinuousClock.now
            let report = Sandbox.apply(policy)
            say("confined in \(ContinuousClock.now - start)")
            for warning in report.warnings { say("warning \(warning)") }
        } catch {
            say("error \(error)")
            exit(64)
        }
        var targets = escape_targets(
            folder: strdup(words[0]),
            victim: victim,
            victim_memory: memory,
            socket: strdup(words[3]),
            device: strdup(words[4]),
            library: strdup(words[5])
        )
        for name in words.count > 6 ? Array(words[6...]) : allNames { say("\(name) \(escape_try(name, &targets))") }
    }

    private static var allNames: [String] {
        var names: [String] = []
        while let name = escape_name(Int32(names.count)) { names.append(String(cString: name)) }
        return names
    }

    private static func startRefused(_ words: [String]) -> Never {
        guard words.count >= 3, let error = Int32(words[0]) else { exit(64) }
        let calls = words[1].split(separator: ",").map { escape_call_number(String($0)) }
        let arguments = words[2...].map { strdup($0) } + [nil]
        let status = escape_start_refused(error, calls, Int32(calls.count), arguments)
        say("error \(String(cString: strerror(status)))")
        exit(64)
    }

    private static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }
}
