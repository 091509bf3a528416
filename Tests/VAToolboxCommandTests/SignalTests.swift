// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import Testing

@Suite struct SignalTests {
    @Test(arguments: [(SIGINT, "mp4"), (SIGTERM, "mkv"), (SIGHUP, "h264")])
    func firstSignalClosesTheFile(signal: Int32, container: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 60, size: "64x64")
        let output = "out.\(container)"
        // At the pace of its times the clip takes a minute, so the signal always comes in the middle.
        let program = try RunningProgram(
            [Scratch.vatoolbox, "encode", "clip.mkv", "-o", output, "--realtime", "--low-latency", "--qp", "1"],
            in: scratch
        )
        try program.wait(until: "something is written") { scratch.unfinishedSizes.contains { $0 > 0 } }
        program.signal(signal)
        #expect(program.end() == 130)
        #expect(scratch.names == ["clip.mkv", output])
        let count = try scratch.decodedFrameCount(output)
        #expect(count > 0 && count < 1500)
        #expect(program.errors.contains("finishing the frames that were read"))
        #expect(program.errors.contains("stopped   by a signal"))
    }

    @Test func signalBeforeTheFirstFrameLeavesNothing() throws {
        let scratch = try Scratch()
        mkfifo(scratch.path("input"), 0o600)
        let program = try RunningProgram([Scratch.vatoolbox, "encode", "input", "-o", "out.mp4"], in: scratch)
        // Opened without blocking only once the command waits at the other end.
        var descriptor: Int32 = -1
        try program.wait(until: "it opens its input") {
            descriptor = open(scratch.path("input"), O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            return descriptor >= 0
        }
        program.signal(SIGINT)
        #expect(program.end() == 130)
        close(descriptor)
        #expect(scratch.names == ["input"])
        #expect(program.errors.split(separator: "\n").filter { $0.contains("error:") }.count == 1)
    }

    /// Nothing opens the FIFO that is the output: the signal ends the wait.
    @Test func signalBeforeSomebodyReads() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        mkfifo(scratch.path("output"), 0o600)
        let program = try RunningProgram(
            [Scratch.vatoolbox, "encode", "clip.mkv", "-o", "output", "--format", "ts"],
            in: scratch
        )
        try program.wait(until: "it takes signals") { program.isWaiting(for: SIGINT) }
        program.signal(SIGINT)
        #expect(program.end() == 130)
    }

    /// Nobody reads from the FIFO that is the output, so that the first signal alone cannot end it.
    @Test func secondSignalEndsAtOnce() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        mkfifo(scratch.path("output"), 0o600)
        let end = open(scratch.path("output"), O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(end) }
        while write(end, "x", 1) == 1 {}
        let program = try RunningProgram(
            [Scratch.vatoolbox, "encode", "clip.mkv", "-o", "output", "--format", "ts"],
            in: scratch
        )
        try program.wait(until: "it takes signals") { program.isWaiting(for: SIGINT) }
        program.signal(SIGINT)
        try program.wait(untilErrorsContain: "finishing the frames that were read")
        program.signal(SIGINT)
        #expect(program.end() == 130)
    }

    /// Whoever reads standard error has stopped to, and the pipe is full: what is said of the first signal must not keep the
    /// second one waiting.
    @Test func signalsWorkWhileNobodyReadsWhatIsSaid() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 60, size: "64x64")
        mkfifo(scratch.path("said"), 0o600)
        let said = open(scratch.path("said"), O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(said) }
        let words = ["encode", "clip.mkv", "-o", "out.mp4", "--realtime", "--low-latency"]
        let program = try RunningProgram(
            ["sh", "-c", "exec \"$0\" \"$@\" 2>'\(scratch.path("said"))'", Scratch.vatoolbox] + words,
            in: scratch
        )
        try program.wait(until: "something is written") { scratch.unfinishedSizes.contains { $0 > 0 } }
        while write(said, "x", 1) == 1 {}
        program.signal(SIGINT)
        try program.wait(until: "the first signal is taken") { !program.isPending(SIGINT) }
        program.signal(SIGINT)
        #expect(program.end() == 130)
        // Whether it was closed in good order before the second one came is open.
        #expect(scratch.unfinishedSizes.isEmpty)
        if scratch.names.contains("out.mp4") { #expect(try scratch.decodedFrameCount("out.mp4") > 0) }
    }

    /// The encoder's lookahead takes far longer to finish than the second signal to come.
    @Test func secondSignalRemovesTheTemporaryFile() throws {
        let scratch = try Scratch()
        mkfifo(scratch.path("input"), 0o600)
        let source = try RunningProgram(
            [
                "ffmpeg", "-v", "quiet", "-y", "-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=25:duration=60",
                "-pix_fmt", "yuv420p", "-f", "yuv4mpegpipe", scratch.path("input"),
            ],
            in: scratch
        )
        let program = try RunningProgram(
            [Scratch.vatoolbox, "encode", "input", "-o", "out.mp4", "--preset", "placebo"],
            in: scratch
        )
        // Nothing is written before the lookahead is full.
        try program.wait(until: "the output has begun") { scratch.unfinishedSizes.contains { $0 > 0 } }
        program.signal(SIGINT)
        try program.wait(untilErrorsContain: "finishing the frames that were read")
        program.signal(SIGINT)
        #expect(program.end() == 130)
        _ = source.end()
        #expect(scratch.names == ["input"])
    }
}

extension RunningProgram {
    /// Whether a thread holds the signal back, so that it is for the one that waits for it.
    fileprivate func isWaiting(for signal: Int32) -> Bool { has(signal, in: "SigBlk:") }

    /// Whether the signal was sent and nobody has taken it.
    fileprivate func isPending(_ signal: Int32) -> Bool { has(signal, in: "ShdPnd:") }

    private func has(_ signal: Int32, in set: String) -> Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
        return threads.contains { thread in
            let path = "/proc/\(pid)/task/\(thread)/status"
            let lines = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
            let field = lines.first { $0.hasPrefix(set) }?.dropFirst(set.count)
            let mask = field.flatMap { UInt64($0.trimmingCharacters(in: .whitespaces), radix: 16) }
            return (mask ?? 0) & (1 << UInt64(signal - 1)) != 0
        }
    }
}
