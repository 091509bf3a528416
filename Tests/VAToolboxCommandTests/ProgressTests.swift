// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

/// What programs are told of the progress of a run.
@Suite struct ProgressTests {
    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func lines(_ text: String) throws -> [[String: Any]] {
        try text.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        }
    }

    @Test func anEncodeTellsHowFarItIs() throws {
        try scratch.makeClip(seconds: 2)
        try scratch.encode("clip.mkv", "-o", "out.mp4", "--device", "software", "--progress", "progress")
        let told = try lines(scratch.text("progress"))
        let last = try #require(told.last)
        #expect(told.count >= 2)
        #expect(last["phase"] as? String == "encoding" && last["framesIn"] as? Int == 50)
        #expect(last["framesOut"] as? Int == 50)
        // The sound of the clip begins before its video.
        #expect(abs(try #require(last["time"] as? Double) - 2) < 0.1)
        #expect(last["expectedDuration"] as? Double == 2 && (last["bytes"] as? Int ?? 0) > 1000)
        let times = told.compactMap { $0["elapsed"] as? Double }
        #expect(times.count == told.count && times == times.sorted())
    }

    @Test func decodeAndRemuxTellItAsWell() throws {
        try scratch.makeClip(seconds: 1)
        let decoded = try scratch.vatoolbox("decode", "clip.mkv", "-o", "null", "--progress", "decoding")
        #expect(decoded.status == 0, "\(decoded.errors)")
        #expect(try lines(scratch.text("decoding")).last?["pictures"] as? Int == 25)
        let copied = try scratch.vatoolbox("remux", "clip.mkv", "-o", "copy.mp4", "--progress", "copying")
        #expect(copied.status == 0, "\(copied.errors)")
        #expect((try lines(scratch.text("copying")).last?["packets"] as? Int ?? 0) >= 25)
    }

    @Test func aPipeOfTheCallerIsWrittenTo() throws {
        try scratch.makeClip()
        let command = "\(Scratch.vatoolbox) encode clip.mkv -o out.mp4 --device software --progress /dev/fd/3"
        try scratch.tool(
            "bash",
            "-c",
            "\(command) 3> >(cat > told; echo end > ended); while [ ! -e ended ]; do sleep 0.01; done"
        )
        #expect(try lines(scratch.text("told")).last?["framesOut"] as? Int == 25)
    }

    /// Nobody takes what is written, and the work goes on.
    @Test func aReaderThatDoesNotReadHoldsNothingUp() throws {
        try scratch.makeClip(seconds: 1)
        try scratch.tool("mkfifo", scratch.path("fifo"))
        // A pipe of one page is full after the first lines.
        let script = """
            import fcntl, os, subprocess, sys
            reader = os.open("fifo", os.O_RDONLY | os.O_NONBLOCK)
            fcntl.fcntl(reader, 1031, 4096)
            writer = os.open("fifo", os.O_WRONLY | os.O_NONBLOCK)
            try:
                while True: os.write(writer, b"x" * 4096)
            except BlockingIOError: pass
            sys.exit(subprocess.run(sys.argv[1:]).returncode)
            """
        let command = [
            Scratch.vatoolbox, "encode", "clip.mkv", "-o", "out.mp4", "--device", "software", "--progress", "fifo",
        ]
        let result = try scratch.run(["python3", "-c", script] + command)
        #expect(result.status == 0, "\(result.errors)")
        #expect(try scratch.decodedFrameCount("out.mp4") == 25)
    }

    @Test func whatCannotBeWrittenToIsSaidAndNothingIsLost() throws {
        try scratch.makeClip()
        try scratch.write("old", "old")
        try scratch.tool("mkfifo", scratch.path("fifo"))
        func encode(_ progress: String) throws -> ProgramResult {
            try scratch.vatoolbox("encode", "clip.mkv", "-o", "out.mp4", "--device", "software", "--progress", progress)
        }
        let existing = try encode("old")
        #expect(existing.status == 2 && existing.errors.contains("the file for the progress exists: given old"))
        #expect(scratch.text("old") == "old")
        let input = try encode("clip.mkv")
        #expect(input.status == 2)
        let fifo = try encode("fifo")
        #expect(fifo.status == 1 && fifo.errors.contains("no reader has opened the FIFO"), "\(fifo.errors)")
        let folder = try encode("none/progress")
        #expect(folder.status == 1 && folder.errors.contains("No such file or directory"), "\(folder.errors)")
        #expect(scratch.names == ["clip.mkv", "fifo", "old"])
    }

    @Test func severalOutputsHaveOneProgress() throws {
        try scratch.makeClip()
        let outputs = ["-o", "a.mp4", "--progress", "one", "-o", "b.mp4"]
        let command = [Scratch.vatoolbox, "encode", "clip.mkv", "--device", "software"] + outputs
        let twice = try scratch.run(command + ["--progress", "two"])
        #expect(twice.status == 2 && twice.errors.contains("--progress one and --progress two"), "\(twice.errors)")
        #expect(scratch.names == ["clip.mkv"])
        let once = try scratch.run(command)
        #expect(once.status == 0, "\(once.errors)")
        #expect(try lines(scratch.text("one")).last?["framesOut"] as? Int == 25)
    }

    /// Some programs pass sockets where others pass pipes.
    @Test func aSocketOfTheCallerIsWrittenTo() throws {
        try scratch.makeClip()
        let script = """
            import os, socket, subprocess, sys
            near, far = socket.socketpair()
            path = f"/dev/fd/{far.fileno()}"
            child = subprocess.Popen(sys.argv[1:] + ["--progress", path], pass_fds=[far.fileno()])
            far.close()
            text = near.makefile().read()
            open("told", "w").write(text)
            sys.exit(child.wait())
            """
        let command = [Scratch.vatoolbox, "encode", "clip.mkv", "-o", "out.mp4", "--device", "software"]
        let result = try scratch.run(["python3", "-c", script] + command)
        #expect(result.status == 0, "\(result.errors)")
        #expect(try lines(scratch.text("told")).last?["framesOut"] as? Int == 25)
    }

    /// A failure ends with a line, too.
    @Test func theLastLineIsThereAfterAFailure() throws {
        try scratch.write("none.mkv", "this is no media file")
        let failed = try scratch.vatoolbox("encode", "none.mkv", "-o", "out.mp4", "--progress", "progress")
        #expect(failed.status == 1)
        #expect(try lines(scratch.text("progress")).last?["framesIn"] as? Int == 0)
    }
}
