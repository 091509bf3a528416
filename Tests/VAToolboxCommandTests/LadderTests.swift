// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// Several outputs of one input.
@Suite struct LadderTests {
    /// Every rung is what the same options alone give, its key frames are at the same times, and its sound is complete.
    @Test func rungsAreAsAlone() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 4, size: "640x360")
        let options = ["--preset", "ultrafast", "--keyframe-interval", "25", "--threads", "1", "--asm", "sse2"]
        let result = try scratch.encode(
            ["clip.mkv", "-o", "out-{height}.mp4", "--ladder", "360p:800k,180p,90p:60k"] + options
        )
        for (height, width, rate) in [(360, 640, "800k"), (180, 320, "340k"), (90, 160, "60k")] {
            let name = "out-\(height).mp4"
            #expect(try scratch.probe(name, "v:0", "stream=width").first == "\(width)")
            #expect(try scratch.probe(name, "v:0", "stream=height").first == "\(height)")
            try scratch.encode(
                ["clip.mkv", "-o", "alone-\(height).mp4", "--size", "\(width)x\(height)", "--bitrate", rate] + options
            )
            #expect(try scratch.frameHashes(name) == scratch.frameHashes("alone-\(height).mp4"), "\(name)")
            #expect(try scratch.packetHash(name, "a:0") == scratch.packetHash("clip.mkv", "a:0"))
            let keys = try scratch.tool(
                "ffprobe",
                "-v",
                "error",
                "-select_streams",
                "v",
                "-skip_frame",
                "nokey",
                "-show_entries",
                "frame=pts_time",
                "-of",
                "csv=p=0",
                scratch.path(name)
            )
            let times = keys.split(whereSeparator: \.isNewline).compactMap { Double($0.prefix { $0 != "," }) }
            // AAC of the input begins before the first picture.
            let first = try #require(times.first)
            #expect(times.map { (($0 - first) * 1000).rounded() } == [0, 1000, 2000, 3000], "\(name): \(times)")
        }
        #expect(result.errorLines.filter { $0.hasPrefix("output ") }.count == 3)
    }

    /// A rung that fails leaves no file; the others are complete.
    @Test func rungsFailAlone() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 2)
        // The folder of one rung does not allow files.
        try FileManager.default.createDirectory(atPath: scratch.path("90"), withIntermediateDirectories: false)
        try FileManager.default.createDirectory(atPath: scratch.path("46"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: scratch.path("46/out.ts"), withDestinationPath: "/dev/full")
        let result = try scratch.run([
            Scratch.vatoolbox, "encode", "clip.mkv", "-o", "{height}/out.ts", "--ladder", "90p,46p", "--json",
        ])
        #expect(result.status == 1, "\(result.errors)")
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let outputs = try #require(document?["outputs"] as? [[String: Any]])
        #expect(outputs.map { $0["status"] as? String } == ["done", "failed"])
        #expect(document?["status"] as? String == "failed" && document?["exitStatus"] as? Int == 1)
        let error = outputs[1]["error"] as? [String: Any]
        #expect(error?["code"] as? String == "input-output", "\(outputs[1])")
        #expect(try scratch.decodedFrameCount("90/out.ts") == 50)
    }

    @Test(arguments: [
        (["-o", "out.mp4", "--ladder", "90p,46p"], "--ladder needs a path for each output: given out.mp4"),
        (["-o", "{height}.mp4", "--ladder", "90p,90p"], "--ladder is not valid: given 90p,90p"),
        (["-o", "{height}.mp4", "--ladder", "90"], "--ladder is not valid: given 90"),
        (["-o", "{height}.mp4", "--ladder", "91p"], "--ladder is not valid: given 91p"),
        (["-o", "{height}.mp4", "--ladder", "90p", "--size", "10x10"], "given --ladder and --size 10x10"),
        (["-o", "{height}.mp4", "--ladder", "90p", "--bitrate", "1M"], "given --ladder and --bitrate 1M"),
        (["-o", "{height}.mp4", "--ladder", "90p:1M", "--crf", "20"], "a bitrate in --ladder and --crf"),
    ])
    func badValuesAreRefused(options: [String], message: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let result = try scratch.run([Scratch.vatoolbox, "encode", "clip.mkv"] + options)
        #expect(result.status == 2 && result.errors.contains(message), "\(result.status) \(result.errors)")
        #expect(scratch.names.filter { $0.hasSuffix(".mp4") }.isEmpty)
    }

    /// An interruption completes all rungs.
    @Test func interruptionCompletesAll() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 60, size: "64x64")
        // At the pace of its times the clip takes a minute, so the signal always comes in the middle.
        let program = try RunningProgram(
            [
                Scratch.vatoolbox, "encode", "clip.mkv", "-o", "{height}.mkv", "--ladder", "64p,48p", "--realtime",
                "--low-latency", "--qp", "1", "--json",
            ],
            in: scratch
        )
        try program.wait(until: "both are written") { scratch.unfinishedSizes.filter { $0 > 0 }.count == 2 }
        program.signal(SIGINT)
        #expect(program.end() == 130)
        let counts = try ["64.mkv", "48.mkv"].map { try scratch.decodedFrameCount($0) }
        #expect(counts.allSatisfy { $0 > 0 && $0 < 1500 }, "\(counts)")
        // Each rung may drop frames of its own, but all get the same ones.
        let document = try JSONSerialization.jsonObject(with: Data(program.output.utf8)) as? [String: Any]
        let outputs = try #require(document?["outputs"] as? [[String: Any]])
        let frames = outputs.compactMap { $0["frames"] as? [String: Any] }
        #expect(frames.count == 2 && frames[0]["in"] as? Int == frames[1]["in"] as? Int, "\(frames)")
        #expect(frames.map { $0["out"] as? Int } == counts)
    }
}
