// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing
import Transcoding

@testable import VAToolboxCommand

/// Several outputs in one command line.
@Suite struct OutputGroupTests {
    private func groups(_ arguments: [String], file: String = "") throws(MediaError) -> OutputGroups {
        try OutputGroups(["encode"] + arguments) { (_) throws(MediaError) in file }
    }

    @Test func eachOutputHasTheCommonOptionsAndItsOwn() throws {
        let groups = try groups([
            "in.mkv", "--codec", "h264", "-o", "a.mp4", "--crf", "20", "--output=b.ts", "--cbr", "-oc",
        ])
        #expect(
            groups.groups.map { groups.arguments(of: $0) } == [
                ["encode", "in.mkv", "--codec", "h264", "-o", "a.mp4", "--crf", "20"],
                ["encode", "in.mkv", "--codec", "h264", "--output=b.ts", "--cbr"],
                ["encode", "in.mkv", "--codec", "h264", "-oc"],
            ]
        )
    }

    @Test(arguments: [["in.mkv", "-o", "a.mp4"], ["in.mkv"], [], ["in.mkv", "-o", "a.mp4", "--", "-o"]])
    func oneOutputIsAnOrdinaryCommandLine(arguments: [String]) throws {
        #expect(try groups(arguments).groups.isEmpty)
        #expect(try OutputGroups(["probe", "-o", "a", "-o", "b"]) { (_) throws(MediaError) in "" }.groups.isEmpty)
    }

    @Test func filesHaveTheSameMeaning() throws {
        let file = """
            # comment
            - output: "a b.mp4"
              size: 640x360
              overwrite: true
              verify: false
              device: [/dev/dri/renderD128, /dev/dri/renderD129]
            - {output: null, crf: -1}
            """
        let groups = try groups(["in.mkv", "--outputs", "x/plan.yaml", "--json"], file: file)
        #expect(
            groups.groups.map { groups.arguments(of: $0) } == [
                [
                    "encode", "in.mkv", "--json", "--output", "a b.mp4", "--size=640x360", "--overwrite",
                    "--device=/dev/dri/renderD128", "--device=/dev/dri/renderD129",
                ],
                ["encode", "in.mkv", "--json", "--output", "null", "--crf=-1"],
            ]
        )
        #expect(groups.groups.map(\.place) == ["plan.yaml, line 2", "plan.yaml, line 7"])
    }

    @Test(arguments: [
        ("", "not a list of outputs"), ("a: b", "not a list of outputs"), ("- a", "plan.yaml, line 1"),
        ("- {size: 1x1}", "needs one path"), ("- {output: [a, b]}", "needs one path"),
        ("- {output: a, Size: 1x1}", "not an option"), ("- {output: a, outputs: b}", "not an option"),
        ("- {output: a, crf: }", "has no value"), ("- {output: a, crf: {b: c}}", "has no value"),
        ("- {output: a", "plan.yaml, line 1"),
    ])
    func badFilesAreRefused(file: String, message: String) throws {
        let error = try #require(throws: MediaError.self) { try groups(["in", "--outputs=plan.yaml"], file: file) }
        #expect("\(error)".contains(message), "\(error)")
    }

    /// Outputs of different containers, codecs, sizes, rates and sound, from one command.
    @Test func outputsAreAsAlone() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 2, size: "320x180")
        let common = ["clip.mkv", "--preset", "ultrafast", "--threads", "1", "--asm", "sse2"]
        let outputs = [
            ["-o", "a.mp4", "--codec", "h264", "--bitrate", "500k", "--verify"],
            ["-o", "b.mkv", "--codec", "hevc", "--size", "160x90", "--audio", "flac"],
            ["-o", "c.ts", "--codec", "h264", "--fps", "10", "--audio", "none"],
        ]
        let result = try scratch.run([Scratch.vatoolbox, "encode"] + common + outputs.flatMap(\.self) + ["--json"])
        #expect(result.status == 0, "\(result.errors)")
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let told = try #require(document?["outputs"] as? [[String: Any]])
        #expect(told.compactMap { ($0["output"] as? [String: Any])?["path"] as? String } == ["a.mp4", "b.mkv", "c.ts"])
        for output in outputs {
            let alone = "alone-\(output[1])"
            try scratch.encode(common + ["-o", alone] + output.dropFirst(2))
            #expect(try scratch.frameHashes(output[1]) == scratch.frameHashes(alone), "\(output)")
        }
        #expect(try scratch.probe("b.mkv", "a:0", "stream=codec_name") == ["flac"])
        #expect(try scratch.probe("c.ts", "a:0", "stream=codec_name").isEmpty)
    }

    @Test func variantsOfAPlaylistFromAFile() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 2)
        try scratch.write(
            "plan.yaml",
            """
            - {output: a.m3u8, variant: large, codec: h264, crf: 30}
            - {output: a.m3u8, variant: small, codec: h264, size: 80x44}
            """
        )
        try scratch.encode(["clip.mkv", "--outputs", "plan.yaml", "--preset", "ultrafast"])
        for name in ["large", "small"] { #expect(try scratch.decodedFrameCount("a/\(name)/index.m3u8") == 50) }
        #expect(scratch.text("a.m3u8").contains("RESOLUTION=80x44"))
    }

    @Test(arguments: [
        (["-o", "a.mp4", "-o", "./a.mp4"], "two outputs have the same path"),
        (["-o", "a.mp4", "-o", "a.m3u8"], "a playlist and another output cannot be written together"),
        (["-o", "a.m3u8", "-o", "a.m3u8"], "two outputs have the same path: given video"),
        (["-o", "a.mp4", "-o", "b.mp4", "--start", "1"], "options of the input in front of the first -o"),
        (["--outputs", "none.yaml"], "the file of the outputs cannot be read: given none.yaml"),
        (["--outputs", "none.yaml", "-o", "a.mp4"], "given --outputs and -o"),
        (["-o", "a.mp4", "--variant", "x"], "--variant needs a playlist as output"),
        (["-o", "a.m3u8", "--variant", "../x"], "the name of a variant is not valid: given ../x"),
    ])
    func contradictionsAreRefused(options: [String], message: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let result = try scratch.run([Scratch.vatoolbox, "encode", "clip.mkv"] + options)
        #expect(result.status == 2 && result.errors.contains(message), "\(result.status) \(result.errors)")
        #expect(scratch.names == ["clip.mkv"])
    }

    @Test func helpIsShown() throws {
        let result = try Scratch().run([Scratch.vatoolbox, "encode", "in", "-o", "a.mp4", "-o", "b.mp4", "--help"])
        #expect(result.status == 0 && result.output.contains("--segment-duration"), "\(result.output)")
    }
}
