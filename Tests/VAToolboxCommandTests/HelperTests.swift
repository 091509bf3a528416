// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import TestSupport
import Testing

/// The command with its encoder in a helper process.
@Suite struct HelperTests {
    /// A helper ends with the command, even if it is stopped and so sees no end of its socket.
    @Test(arguments: [false, true]) func noHelperOutlivesTheCommand(isStopped: Bool) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 2, size: "320x180")
        let program = try RunningProgram(
            [Scratch.vatoolbox, "encode", "clip.y4m", "-o", "out.h264", "--realtime", "--isolation", "process"],
            in: scratch
        )
        var helper: pid_t?
        // At work: what is stopped in its very first steps cannot know yet that it has to end with its parent.
        try program.wait(until: "there is a helper with an encoder") {
            helper = children(of: program.pid).first { name(of: $0) == "vatoolbox-helpe" }
            return helper.map { threads(of: $0).contains("vt-encode") } ?? false
        }
        let process = try #require(helper)
        if isStopped { kill(process, SIGSTOP) }
        program.signal(SIGKILL)
        #expect(program.end() == 1000 + SIGKILL)
        let isGone = Patience.block { !isRunning(process) }
        #expect(isGone)
    }

    private func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

    private func children(of process: pid_t) -> [pid_t] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return tasks.flatMap { task in
            text("/proc/\(process)/task/\(task)/children").split(separator: " ").compactMap { pid_t($0) }
        }
    }

    private func threads(of process: pid_t) -> [String] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return tasks.map { text("/proc/\(process)/task/\($0)/comm").trimmingCharacters(in: .newlines) }
    }

    private func name(of process: pid_t) -> String {
        text("/proc/\(process)/comm").trimmingCharacters(in: .newlines)
    }

    /// Whether it is there, and more than an entry that nobody has waited for.
    private func isRunning(_ process: pid_t) -> Bool {
        let state = text("/proc/\(process)/stat").split(separator: " ").dropFirst(2).first
        return state != nil && state != "Z"
    }
}
