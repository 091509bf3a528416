// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// What the command says, where, and when it keeps quiet.
@Suite struct ReportTests {
    @Test func documentTellsEverything() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let document = try scratch.document(
            "encode",
            "clip.mkv",
            "-o",
            "out.mp4",
            "--bitrate",
            "400k",
            "--device",
            "software"
        )
        #expect(document["status"] as? String == "done")
        #expect(document["exitStatus"] as? Int == 0)
        #expect(document["stopped"] as? Bool == false)
        #expect(document["duration"] as? Double == 1)
        let input = try #require(document["input"] as? [String: Any])
        #expect(input["codec"] as? String == "h264" && input["width"] as? Int == 160)
        let output = try #require(document["output"] as? [String: Any])
        #expect(output["format"] as? String == "mp4")
        #expect(try output["bytes"] as? Int == scratch.data("out.mp4").count)
        let encoder = try #require(document["encoder"] as? [String: Any])
        #expect(
            encoder["codec"] as? String == "h264" && encoder["reason"] as? String == "a software encoder was requested"
        )
        #expect(encoder["isolation"] as? String == "in-process")
        let bitRate = try #require(document["bitRate"] as? [String: Any])
        #expect(bitRate["asked"] as? Int == 400_000 && bitRate["control"] as? String == "average")
        let bytes = try scratch.probe("out.mp4", "v:0", "packet=size").compactMap(Int.init).reduce(0, +)
        #expect(abs(try #require(bitRate["delivered"] as? Double) - Double(bytes * 8)) < 100_000)
        let frames = [
            "in": 25, "out": 25, "dropped": 0, "lost": 0, "repeated": 0, "copied": 0, "convertedByEncoder": 0,
        ]
        #expect((document["frames"] as? [String: Int]) == frames)
    }

    @Test func documentTellsInWhichProcessTheEncoderWorked() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let document = try scratch.document("encode", "clip.mkv", "-o", "out.mp4", "--isolation", "process")
        #expect((document["encoder"] as? [String: Any])?["isolation"] as? String == "process")
        #expect((document["frames"] as? [String: Int])?["out"] == 25)
    }

    @Test func failureIsADocumentToo() throws {
        let scratch = try Scratch()
        let document = try scratch.document("encode", "missing.mp4", "-o", "out.mp4")
        #expect(document["exitStatus"] as? Int == 1)
        let error = try #require(document["error"] as? [String: Any])
        #expect(error["code"] as? String == "unavailable" && error["given"] as? String == "missing.mp4")

        let usage = try scratch.document("encode", "missing.mp4", "-o", "out.mp4", "--no-such-option")
        #expect((usage["error"] as? [String: Any])?["code"] as? String == "usage")
        #expect(usage["exitStatus"] as? Int == 2)
    }

    @Test func summaryNamesEncoderReasonRatesAndSpeed() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let result = try scratch.encode("clip.mkv", "-o", "out.mp4", "--bitrate", "400k", "--device", "software")
        let lines = result.errorLines
        #expect(lines.count == 7, "\(lines)")
        #expect(lines[0].hasPrefix("output    out.mp4, ") && lines[0].hasSuffix(" 1.00 s, 25 frames, 160x90"))
        #expect(lines[1].hasPrefix("decoder   libavcodec ") && lines[1].hasSuffix(": no encoder is on a GPU"))
        #expect(lines[2].hasPrefix("encoder   x264 core ") && lines[2].contains("H.264 High"))
        #expect(lines[3] == "why       a software encoder was requested")
        #expect(lines[4].hasPrefix("bitrate   400 kbit/s requested, ") && lines[4].hasSuffix(" delivered"))
        #expect(lines[5] == "audio     aac, copied")
        #expect(lines[6].hasPrefix("speed     "))
        #expect(result.output.isEmpty)
        #expect(!result.errors.contains("\u{1B}"), "no control sequences into a file")
    }

    @Test func quietSaysNothing() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let result = try scratch.encode("clip.mkv", "-o", "out.mp4", "--quiet")
        #expect(result.errors.isEmpty && result.output.isEmpty)
    }

    /// On a pseudo-terminal of 50 columns, made by script(1) of util-linux.
    @Test func progressFitsTheTerminal() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 1.5)
        let command = "stty cols 50; \(Scratch.vatoolbox) encode clip.mkv -o out.mp4 --realtime"
        try scratch.tool("script", "--quiet", "--return", "--command", command, scratch.path("screen"))
        let screen = scratch.text("screen")
        let updates = screen.components(separatedBy: "\r\u{1B}[K").dropFirst()
        #expect(updates.count >= 3, "\(screen)")
        #expect(updates.contains { $0.contains(" frames") && $0.contains(" %") })
        for update in updates {
            let line = update.prefix { !$0.isNewline }
            #expect(line.count <= 49 || line.contains("vatoolbox:"), "\(line)")
        }
        let last = try #require(updates.last)
        #expect(last.hasPrefix("output    out.mp4"), "the summary takes the progress line's place: \(last)")
    }

    @Test func probeAnswersWithOrWithoutAGPU() throws {
        let scratch = try Scratch()
        let result = try scratch.vatoolbox("probe")
        #expect(result.status == 0 && result.errors.isEmpty)
        #expect(result.output.contains("x264 core") && result.output.contains("FFmpeg"))
        #expect(!result.output.contains("\u{1B}"))
        let document = try scratch.document("probe")
        let nodes = try #require(document["renderNodes"] as? [Any])
        #expect(nodes.isEmpty == (document["absence"] is [String: Any]))
    }

    @Test func versionAndHelp() throws {
        let scratch = try Scratch()
        let version = try scratch.vatoolbox("--version")
        #expect(version.status == 0 && version.output.split(separator: ".").count == 3)
        let help = try scratch.vatoolbox("encode", "--help")
        #expect(help.status == 0 && help.errors.isEmpty)
        for option in ["--bitrate", "--peak-window", "--keyframe-interval", "--input-pixel-format", "--realtime"] {
            #expect(help.output.contains(option))
        }
    }
}
