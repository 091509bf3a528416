// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

/// `vatoolbox encode` in a process that is stopped and goes on: by a shell, a debugger, or a container that is paused.
@Suite struct StandstillTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// The clocks by which encoders are found to hang run on meanwhile.
    @Test func longerStandstillThanTheDeadlineCostsNothing() throws {
        try scratch.makeClip("clip.y4m", seconds: 10, size: "320x180")
        let words = ["encode", "clip.y4m", "-o", "out.h264", "--device", "software", "--preset", "veryslow"]
        let program = try RunningProgram([Scratch.vatoolbox] + words + ["--timeout", "10"], in: scratch)
        try program.wait(until: "the encoder works") { isEncoding(program.pid) }
        program.signal(SIGSTOP)
        // Longer than the deadline is what this is about.
        Thread.sleep(forTimeInterval: 14)
        program.signal(SIGCONT)
        #expect(program.end() == 0)
        let counting = [
            "ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0",
        ]
        let frames = try scratch.tool(counting + ["out.h264"])
        let whole = try scratch.tool(counting + ["clip.y4m"])
        #expect(frames == whole)
    }

    /// Whether some of the time on processors was spent in the encoder's thread.
    private func isEncoding(_ process: pid_t) -> Bool {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return tasks.contains { task in
            let stat = (try? String(contentsOfFile: "/proc/\(process)/task/\(task)/stat", encoding: .utf8)) ?? ""
            // Behind the name, which is in parentheses: the state and ten more, then utime in ticks.
            let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
            return stat.contains("(vt-x264)") && fields.count > 11 && (Int(fields[11]) ?? 0) >= 20
        }
    }
}
