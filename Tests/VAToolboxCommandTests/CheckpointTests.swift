// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import Testing

/// `vatoolbox encode --checkpoints`: encodes that go on after an interruption.
@Suite struct CheckpointTests {
    /// What makes the encoders of all runs give the same bytes.
    private static let fixed = ["--device", "software", "--threads", "1", "--asm", "sse2"]

    private func arguments(_ input: String, _ output: String, _ more: [String] = fixed) -> [String] {
        [Scratch.vatoolbox, "encode", input, "-o", output, "--checkpoints", "parts", "--chunk-duration", "1", "--json"]
            + more
    }

    private func document(_ result: ProgramResult) throws -> [String: Any] {
        #expect(result.status == 0, "\(result.errors)")
        return try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    }

    private func chunks(_ result: ProgramResult) throws -> [String: Int] {
        try #require(try document(result)["chunks"] as? [String: Int])
    }

    private func expectAll(
        _ output: String,
        of input: String,
        in scratch: Scratch,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(try scratch.worstPSNR(input, output) > 30, sourceLocation: sourceLocation)
        let (expected, found) = (try scratch.presentationTimes(input), try scratch.presentationTimes(output))
        #expect(expected.count == found.count, sourceLocation: sourceLocation)
        #expect(zip(expected, found).allSatisfy { abs($0 - $1) < 0.0011 }, sourceLocation: sourceLocation)
        // Strictly increasing, and none after the picture is shown.
        let decode = try scratch.probe(output, "v:0", "packet=dts_time").compactMap(Double.init)
        #expect(zip(decode, decode.dropFirst()).allSatisfy { $0 < $1 }, sourceLocation: sourceLocation)
        #expect(!scratch.names.contains("parts"), sourceLocation: sourceLocation)
        #expect(!scratch.names.contains { $0.hasPrefix(".vatoolbox-") }, sourceLocation: sourceLocation)
    }

    @Test(arguments: [
        ["--codec", "h264"], ["--codec", "hevc"], ["--codec", "h264", "--b-frames", "3", "--crf", "25"],
    ])
    func theOutputIsComplete(options: [String]) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 6)
        let result = try scratch.run(arguments("clip.mkv", "out.mp4", Self.fixed + options + ["--verify"]))
        #expect(try chunks(result) == ["count": 6, "reused": 0, "repeated": 0])
        try expectAll("out.mp4", of: "clip.mkv", in: scratch)
        #expect(try scratch.packetHash("clip.mkv", "a") == scratch.packetHash("out.mp4", "a"))
        let verification = try #require(try document(result)["verification"] as? [String: Any])
        #expect(verification["frames"] as? Int == 150 && verification["comparedFrames"] as? Int == 150)
    }

    /// The coded pictures of each chunk are those that an encode of this part alone gives.
    @Test func payloadsAreThoseOfTheParts() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 3)
        let result = try scratch.run(arguments("clip.y4m", "out.mp4", Self.fixed + ["--codec", "h264", "--aud"]))
        #expect(try chunks(result)["count"] == 3)
        try scratch.ffmpeg(["-i", scratch.path("out.mp4"), "-c", "copy", scratch.path("joined.h264")])
        var parts = Data()
        for second in 0..<3 {
            let name = "part\(second).mp4"
            let part = ["--start", "\(second)", "--duration", "1", "--codec", "h264", "--aud"]
            try scratch.encode(["clip.y4m", "-o", name] + part + Self.fixed)
            try scratch.ffmpeg(["-i", scratch.path(name), "-c", "copy", scratch.path("part\(second).h264")])
            parts += try scratch.data("part\(second).h264")
        }
        #expect(try scratch.data("joined.h264") == parts)
    }

    /// Killed at any moment, again and again, it ends with the same output as one that was not.
    @Test func aKilledRunGoesOn() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 8, size: "320x240")
        let slow = Self.fixed + ["--codec", "h264", "--preset", "veryslow"]
        _ = try document(scratch.run(arguments("clip.mkv", "other.mp4", slow)))
        for finished in [1, 3, 6] {
            let program = try RunningProgram(arguments("clip.mkv", "out.mp4", slow), in: scratch)
            try program.wait(until: "chunks are finished") { finishedChunks(scratch) >= finished }
            program.signal(SIGKILL)
            #expect(program.end() == 1009)
            #expect(!scratch.names.contains("out.mp4"))
        }
        let result = try scratch.run(arguments("clip.mkv", "out.mp4", slow))
        let reused = try #require(try chunks(result)["reused"])
        #expect(reused >= 6, "\(result.output)")
        try expectAll("out.mp4", of: "clip.mkv", in: scratch)
        #expect(try scratch.packetHash("out.mp4", "v") == scratch.packetHash("other.mp4", "v"))
        #expect(try scratch.packetHash("out.mp4", "a") == scratch.packetHash("other.mp4", "a"))
    }

    private func finishedChunks(_ scratch: Scratch) -> Int {
        let names = try? FileManager.default.contentsOfDirectory(atPath: scratch.path("parts"))
        return (names ?? []).filter { $0.hasSuffix(".txt") && !$0.hasPrefix(".") }.count
    }

    @Test func aSignalKeepsWhatIsFinished() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 8, size: "320x240")
        let slow = Self.fixed + ["--codec", "h264", "--preset", "veryslow"]
        let command = arguments("clip.mkv", "out.mp4", slow).filter { $0 != "--json" }
        let program = try RunningProgram(command, in: scratch)
        try program.wait(until: "a chunk is finished") { finishedChunks(scratch) >= 1 }
        program.signal(SIGINT)
        #expect(program.end() == 130)
        #expect(program.errors.contains("keeping the chunks that are finished"), "\(program.errors)")
        #expect(program.errors.contains(" of 8 chunks finished; they are kept for the next run"), "\(program.errors)")
        #expect(scratch.names == ["clip.mkv", "parts"])
        let kept = finishedChunks(scratch)
        let result = try scratch.run(arguments("clip.mkv", "out.mp4", slow))
        #expect(try #require(try chunks(result)["reused"]) >= kept)
        try expectAll("out.mp4", of: "clip.mkv", in: scratch)
    }

    /// Leaves a folder with the chunks of a run that could not write its output.
    private func finishChunks(_ scratch: Scratch, _ options: [String]) throws {
        let program = try RunningProgram(arguments("clip.mkv", "out.mp4", options), in: scratch)
        try program.wait(until: "most chunks are finished") { finishedChunks(scratch) >= 3 }
        program.signal(SIGKILL)
        _ = program.end()
        try #require(finishedChunks(scratch) >= 3)
    }

    @Test(arguments: ["chunk", "record"]) func aDamagedChunkIsEncodedAgain(what: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 6, size: "320x240")
        let slow = Self.fixed + ["--codec", "h264", "--preset", "veryslow"]
        try finishChunks(scratch, slow)
        let kept = finishedChunks(scratch)
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path("parts"))
        let name = what == "chunk" ? names.first { $0.hasPrefix("00001-") } : "00001.txt"
        let damaged = "parts/" + (try #require(name))
        var bytes = try scratch.data(damaged)
        if what == "chunk" { bytes[bytes.count / 2] ^= 0xFF } else { bytes.removeLast(20) }
        try bytes.write(to: URL(fileURLWithPath: scratch.path(damaged)))
        let result = try scratch.run(arguments("clip.mkv", "out.mp4", slow))
        #expect(try chunks(result)["reused"] == kept - 1, "\(result.output)")
        try expectAll("out.mp4", of: "clip.mkv", in: scratch)
    }

    @Test func foldersOfOthersAreRefused() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 6, size: "320x240")
        let slow = Self.fixed + ["--codec", "h264", "--preset", "veryslow"]
        try finishChunks(scratch, slow)
        let before = scratch.names
        let other = try scratch.run(arguments("clip.mkv", "out.mp4", slow + ["--crf", "30"]))
        #expect(other.status == 2 && other.output.contains("the chunks of another encode"), "\(other.output)")
        #expect(scratch.names == before && finishedChunks(scratch) >= 3)
        let program = try RunningProgram(arguments("clip.mkv", "out.mp4", slow), in: scratch)
        try program.wait(until: "it has begun") { finishedChunks(scratch) >= 4 }
        let second = try scratch.run(arguments("clip.mkv", "second.mp4", slow))
        #expect(second.status == 1 && second.output.contains("another process uses the folder"), "\(second.output)")
        program.signal(SIGKILL)
        _ = program.end()
        try scratch.write("parts/notes.md", "mine")
        let foreign = try scratch.run(arguments("clip.mkv", "out.mp4", slow))
        #expect(foreign.status == 2 && foreign.output.contains("parts/notes.md"), "\(foreign.output)")
        #expect(scratch.text("parts/notes.md") == "mine")
    }

    /// An input of the same size and times is another one if its pictures differ.
    @Test func inputsAreToldByTheirPictures() throws {
        let scratch = try Scratch()
        for (name, source) in [("one", "testsrc2"), ("other", "testsrc")] {
            let path = scratch.path("\(name).y4m")
            try scratch.generate("\(source)=size=64x64:rate=25:duration=4", ["-pix_fmt", "yuv420p", path])
        }
        try FileManager.default.copyItem(atPath: scratch.path("one.y4m"), toPath: scratch.path("clip.y4m"))
        let options = Self.fixed + ["--codec", "h264", "--keep-chunks"]
        _ = try document(scratch.run(arguments("clip.y4m", "out.mp4", options)))
        #expect(try chunks(scratch.run(arguments("one.y4m", "copy.mp4", options)))["reused"] == 4)
        let refused = try scratch.run(arguments("other.y4m", "other.mp4", options))
        #expect(refused.status == 2 && refused.output.contains("the chunks of another encode"), "\(refused.output)")
    }

    /// Chunks of an encoder that may not be used now are encoded again.
    @Test func encodersThatAreNotAllowedAreNotReused() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 4, size: "64x64")
        let options = ["--codec", "h264", "--keep-chunks"]
        _ = try document(scratch.run(arguments("clip.mkv", "cpu.mp4", options + ["--device", "software"])))
        let machine = try Scratch.machine([])
        let result = try scratch.run(machine + arguments("clip.mkv", "gpu.mp4", options + ["--require-hardware"]))
        #expect(try chunks(result) == ["count": 4, "reused": 0, "repeated": 0])
        let encoder = try #require(try document(result)["encoder"] as? [String: Any])
        #expect(encoder["device"] as? String == "/dev/dri/renderD128")
    }

    /// Without sound, nothing but the subtitles tells that the part has not ended.
    @Test func subtitlesAloneAreKept() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 4)
        try scratch.write(
            "titles.srt",
            "1\n00:00:00,500 --> 00:00:01,000\nOne\n\n2\n00:00:02,000 --> 00:00:02,500\nTwo\n"
        )
        let inputs = ["-i", scratch.path("clip.y4m"), "-i", scratch.path("titles.srt")]
        try scratch.ffmpeg(inputs + ["-c:v", "libx264", "-qp", "10", scratch.path("titled.mkv")])
        let options = Self.fixed + ["--codec", "h264", "--duration", "3"]
        _ = try document(scratch.run(arguments("titled.mkv", "out.mkv", options)))
        #expect(try scratch.probe("out.mkv", "s", "packet=pts_time").compactMap(Double.init) == [0.5, 2])
        #expect(try scratch.decodedFrameCount("out.mkv") == 75)
    }

    @Test func severalChunksAtATime() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 6)
        let options = Self.fixed + ["--codec", "h264"]
        _ = try document(scratch.run(arguments("clip.mkv", "one.mp4", options)))
        _ = try document(scratch.run(arguments("clip.mkv", "out.mp4", options + ["--parallel", "3"])))
        try expectAll("out.mp4", of: "clip.mkv", in: scratch)
        #expect(try scratch.packetHash("out.mp4", "v") == scratch.packetHash("one.mp4", "v"))
    }

    /// Three processes share the work. One of them is taken for dead and replaced, and goes on later.
    @Test func processesShareTheWork() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 9, size: "320x240")
        let slow = Self.fixed + ["--codec", "h264", "--preset", "veryslow"]
        _ = try document(scratch.run(arguments("clip.mkv", "one.mp4", slow)))
        func part(_ number: Int) -> [String] {
            arguments("clip.mkv", "out.mp4", slow + ["--only-chunks", "\(number)/3"])
        }
        let parts = try (1...3).map { try RunningProgram(part($0), in: scratch) }
        try parts[0].wait(until: "there are chunks") { finishedChunks(scratch) >= 1 }
        parts[0].signal(SIGSTOP)
        let replacement = try scratch.run(part(1))
        #expect(replacement.status == 0, "\(replacement.errors)")
        for part in parts[1...] { #expect(part.end() == 0, "\(part.errors)") }
        #expect(finishedChunks(scratch) == 9)
        #expect(try chunks(scratch.run(part(2))) == ["count": 9, "reused": 3, "repeated": 0])
        #expect(!scratch.names.contains("out.mp4"))
        let busy = try scratch.run(arguments("clip.mkv", "out.mp4", slow))
        #expect(busy.status == 1 && busy.output.contains("another process uses the folder"), "\(busy.output)")
        parts[0].signal(SIGCONT)
        let result = try scratch.run(arguments("clip.mkv", "out.mp4", slow + ["--keep-chunks"]))
        #expect(try chunks(result) == ["count": 9, "reused": 9, "repeated": 0])
        #expect(parts[0].end() == 0, "\(parts[0].errors)")
        #expect(finishedChunks(scratch) == 9)
        try FileManager.default.removeItem(atPath: scratch.path("parts"))
        #expect(try scratch.packetHash("out.mp4", "v") == scratch.packetHash("one.mp4", "v"))
        try expectAll("out.mp4", of: "clip.mkv", in: scratch)
    }

    @Test func allElseIsKept() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 4)
        try scratch.write("titles.srt", "1\n00:00:00,500 --> 00:00:03,500\nWords\n")
        try scratch.write("data.txt", ";FFMETADATA1\ntitle=Film\n[CHAPTER]\nTIMEBASE=1/1\nSTART=0\nEND=2\ntitle=One\n")
        let inputs = ["-i", scratch.path("clip.mkv"), "-i", scratch.path("titles.srt"), "-i", scratch.path("data.txt")]
        try scratch.ffmpeg(
            inputs + [
                "-map", "0", "-map", "1", "-map_metadata", "2", "-c", "copy", "-t", "4", scratch.path("full.mkv"),
            ]
        )
        let options = Self.fixed + ["--codec", "h264", "--audio", "opus", "--size", "128x72"]
        _ = try document(scratch.run(arguments("full.mkv", "out.mkv", options)))
        let streams = try ["v", "a", "s"].flatMap { try scratch.probe("out.mkv", $0, "stream=codec_name") }
        #expect(streams == ["h264", "opus", "subrip"])
        let path = scratch.path("out.mkv")
        let format = try scratch.tool("ffprobe", "-v", "error", "-show_format", "-show_chapters", path)
        #expect(format.contains("TAG:title=Film") && format.contains("TAG:title=One"), "\(format)")
        #expect(try scratch.decodedFrameCount("out.mkv") == 100)
        let samples = try scratch.frameHashes("out.mkv", "a").count
        #expect(samples > 0)
    }

    @Test func aPartOfTheInput() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 8)
        let part = Self.fixed + ["--codec", "h264", "--start", "1.5", "--duration", "4"]
        _ = try document(scratch.run(arguments("clip.mkv", "out.mp4", part)))
        try scratch.ffmpeg(["-i", scratch.path("clip.mkv"), "-ss", "1.5", "-t", "4", "-an", scratch.path("part.y4m")])
        #expect(try scratch.worstPSNR("part.y4m", "out.mp4") > 30)
        #expect(try scratch.decodedFrameCount("out.mp4") == 100)
    }

    @Test func variableFrameRates() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 8)
        try scratch.ffmpeg([
            "-i", scratch.path("clip.mkv"), "-vf", "select='not(mod(n,3))+not(mod(n,7))'", "-vsync", "vfr", "-c:v",
            "libx264",
            "-qp", "10", "-c:a", "copy", scratch.path("vfr.mkv"),
        ])
        _ = try document(scratch.run(arguments("vfr.mkv", "out.mkv", Self.fixed + ["--codec", "h264"])))
        try expectAll("out.mkv", of: "vfr.mkv", in: scratch)
    }

    /// What only decoding tells is encoded in one piece, and that is said.
    @Test(arguments: ["interlaced", "damaged"]) func oddInputsAreEncodedInOnePiece(kind: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 4, size: "160x96")
        if kind == "interlaced" {
            try scratch.ffmpeg([
                "-i", scratch.path("clip.mkv"), "-c:v", "libx264", "-flags", "+ilme+ildct", "-x264-params", "tff=1",
                scratch.path("odd.mkv"),
            ])
        } else {
            let whole = try scratch.data("clip.mkv")
            try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: scratch.path("odd.mkv")))
        }
        let result = try scratch.run(arguments("odd.mkv", "out.mp4", Self.fixed + ["--codec", "h264"]))
        #expect(result.status == (kind == "damaged" ? 3 : 0), "\(result.errors)")
        #expect(result.output.contains("one piece"), "\(result.output)")
        #expect(try scratch.decodedFrameCount("out.mp4") > 30)
        #expect(!scratch.names.contains("parts"))
    }

    /// A GPU that fails in one chunk: in the end, all chunks have one encoder.
    @Test func mixedEncodersBecomeOne() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 4, size: "64x64")
        // In this process, the driver makes no context after the second chunk.
        let faults = "REFERENCE_DRIVER_FAULTS=vaEndPicture:40=status:0x18;vaCreateContext:3+=status:0x12"
        let options = ["--codec", "h264", "--isolation", "in-process"]
        let result = try scratch.run(try Scratch.machine([faults]) + arguments("clip.mkv", "out.mp4", options))
        let document = try document(result)
        #expect((document["encoder"] as? [String: Any])?["device"] is NSNull, "\(result.output)")
        #expect(try #require(chunks(result)["repeated"]) > 0, "\(result.output)")
        try expectAll("out.mp4", of: "clip.mkv", in: scratch)
    }

    @Test func onAGPU() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 4, size: "64x64")
        let options = ["--codec", "h264", "--parallel", "2"]
        let result = try scratch.run(try Scratch.machine([]) + arguments("clip.mkv", "out.mp4", options))
        let encoder = try #require(try document(result)["encoder"] as? [String: Any])
        #expect(encoder["device"] as? String == "/dev/dri/renderD128", "\(result.output)")
        #expect(try chunks(result)["count"] == 4)
        try expectAll("out.mp4", of: "clip.mkv", in: scratch)
    }

    /// A peak limit holds across joints, in the buffer of a decoder that begins as x264 assumes.
    @Test func thePeakHoldsAcrossJoints() throws {
        let scratch = try Scratch()
        // Each second begins with a picture that has nothing of the one before.
        try scratch.generate(
            "mandelbrot=size=320x240:rate=25:start_scale=0.3",
            ["-t", "6", "-vf", "noise=alls=40:allf=t+u", "-pix_fmt", "yuv420p", scratch.path("clip.y4m")]
        )
        let options = Self.fixed + ["--codec", "h264", "--crf", "18", "--peak-bitrate", "800k"]
        let result = try scratch.run(arguments("clip.y4m", "out.mp4", options))
        let document = try document(result)
        #expect(try #require(chunks(result)["count"]) == 6)
        let sizes = try scratch.probe("out.mp4", "v:0", "packet=size").compactMap(Double.init)
        let times = try scratch.probe("out.mp4", "v:0", "packet=dts_time").compactMap(Double.init)
        try #require(sizes.count == 150 && times.count == 150)
        var (filling, last, lowest) = (0.9 * 800_000.0, times[0], 0.0)
        for (size, time) in zip(sizes, times) {
            filling = min(filling + (time - last) * 800_000, 800_000) - size * 8
            (last, lowest) = (time, min(lowest, filling))
        }
        let adjustments = try #require(document["adjustments"] as? [[String: Any]])
        let isTold = adjustments.contains { $0["property"] as? String == "peak bitrate" }
        #expect(lowest > -8000 || isTold, "\(lowest) bits, \(result.output)")
        #expect(!isTold, "\(result.output)")
    }

    @Test func whatCannotBeInChunksIsRefused() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let refused: [([String], String)] = [
            (["-o", "a.mp4", "--checkpoints", "parts", "--fps", "30"], "30 frames per second"),
            (["-o", "a.mp4", "--checkpoints", "parts", "--realtime"], "no real time"),
            (["-o", "a.m3u8", "--checkpoints", "parts"], "an output file"),
            (["-o", "a-{height}.mp4", "--ladder", "90p,72p", "--checkpoints", "parts"], "one output"),
            (["-o", "a.mp4", "--checkpoints", "parts", "--target", "psnr:40"], "a quality target"),
            (["-o", "a.mp4", "--checkpoints", "parts", "--only-chunks", "4/3"], "a NUMBER of 1 to COUNT"),
            (["-o", "a.mp4", "--only-chunks", "1/3"], "with --checkpoints FOLDER"),
            (["-o", "a.mp4", "--parallel", "2"], "with --checkpoints FOLDER"),
            (["-o", "a.mp4", "--checkpoints", "parts", "--parallel", "0"], "1 to 64"),
            (["-o", "a.mp4", "--checkpoints", "parts", "--chunk-duration", "0.5"], "1 to 3600"),
        ]
        for (options, text) in refused {
            let result = try scratch.run([Scratch.vatoolbox, "encode", "clip.mkv"] + options)
            #expect(result.status == 2 && result.errors.contains(text), "\(options): \(result.errors)")
        }
        let piped = try scratch.run(
            [Scratch.vatoolbox, "encode", "-", "-o", "a.mp4", "--checkpoints", "parts"],
            input: scratch.path("clip.mkv")
        )
        #expect(piped.status == 2 && piped.errors.contains("a regular file as input"), "\(piped.errors)")
        let nowhere = try scratch.run(arguments("clip.mkv", "a.mp4").map { $0 == "parts" ? "no/parts" : $0 })
        #expect(nowhere.status == 1 && nowhere.output.contains("no/parts"), "\(nowhere.output)")
        #expect(scratch.names == ["clip.mkv"])
    }
}
