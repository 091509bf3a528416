// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// From file to file with the built command; other people's tools look at what comes out.
@Suite struct ContainerTests {
    @Test(arguments: ["mp4", "mov", "mkv", "ts"])
    func keepsPicturesTimesAndSound(container: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let output = "out.\(container)"
        try scratch.encode("clip.mkv", "-o", output, "--crf", "12")

        #expect(try scratch.decodedFrameCount(output) == 25)
        #expect(try scratch.worstPSNR("clip.mkv", output) > 36)
        let times = try zip(scratch.presentationTimes("clip.mkv"), scratch.presentationTimes(output))
        #expect(times.allSatisfy { abs($0 - $1) < 0.001 })
        #expect(try scratch.probe(output, "v:0", "stream=codec_name").first == "h264")
        // In a transport stream AAC has headers of its own, so there the packets are counted.
        if container == "ts" {
            let sound = try scratch.probe("clip.mkv", "a:0", "packet=pts_time").count
            #expect(try scratch.probe(output, "a:0", "packet=pts_time").count == sound)
        } else {
            #expect(try scratch.packetHash(output, "a:0") == scratch.packetHash("clip.mkv", "a:0"))
        }
        let starts = try ["v:0", "a:0"].map { try scratch.firstTime(output, $0) }
        let expected = try ["v:0", "a:0"].map { try scratch.firstTime("clip.mkv", $0) }
        #expect(abs((starts[0] - starts[1]) - (expected[0] - expected[1])) < 0.03, "sound out of step")
    }

    @Test func byteStreamNamesWhatItCannotHold() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let result = try scratch.encode("clip.mkv", "-o", "out.h264", "--crf", "12")
        #expect(result.errorLines.contains { $0.hasPrefix("vatoolbox: warning: omitted: audio track 1") })
        #expect(try scratch.decodedFrameCount("out.h264") == 25)
        #expect(try scratch.data("out.h264").prefix(4) == Data([0, 0, 0, 1]))
    }

    @Test func nullWritesNothing() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let result = try scratch.encode("clip.mkv", "-o", "null")
        #expect(scratch.names == ["clip.mkv"])
        #expect(result.errors.contains("25 frames"))
    }

    @Test func fragmentedIsPlayable() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        try scratch.encode("clip.mkv", "-o", "out.mp4", "--fragmented", "--keyframe-interval", "10")
        #expect(try scratch.decodedFrameCount("out.mp4") == 25)
        #expect(try scratch.data("out.mp4").range(of: .init("moof".utf8)) != nil)
    }

    /// While it grows, it has fragments; what is verified and gets the name has none.
    @Test func fragmentsUntilTheEndAreGoneThen() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        try scratch.encode(
            "clip.mkv",
            "-o",
            "out.mp4",
            "--fragmented-until-end",
            "--verify",
            "--keyframe-interval",
            "10"
        )
        #expect(try scratch.decodedFrameCount("out.mp4") == 25)
        #expect(try scratch.data("out.mp4").range(of: .init("moof".utf8)) == nil)
        #expect(scratch.names.sorted() == ["clip.mkv", "out.mp4"])
    }

    @Test func subtitlesAndChaptersAreKept() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 2)
        try scratch.write(
            "s.srt",
            "1\n00:00:00,200 --> 00:00:01,000\nfirst\n\n2\n00:00:01,100 --> 00:00:01,900\nsecond\n"
        )
        try scratch.write(
            "m.txt",
            """
            ;FFMETADATA1
            title=A title
            [CHAPTER]
            TIMEBASE=1/1000
            START=0
            END=1000
            title=One
            [CHAPTER]
            TIMEBASE=1/1000
            START=1000
            END=2000
            title=Two

            """
        )
        try scratch.ffmpeg([
            "-i", scratch.path("clip.mkv"), "-i", scratch.path("s.srt"), "-i", scratch.path("m.txt"), "-map", "0",
            "-map", "1", "-map_metadata", "2", "-map_chapters", "2", "-c", "copy", scratch.path("full.mkv"),
        ])
        try scratch.encode("full.mkv", "-o", "out.mkv")
        #expect(try scratch.packetHash("out.mkv", "s:0") == scratch.packetHash("full.mkv", "s:0"))
        let chapters = try scratch.tool("ffprobe", "-v", "error", "-show_chapters", scratch.path("out.mkv"))
        #expect(chapters.contains("title=One") && chapters.contains("title=Two"))
        #expect(chapters.contains("start_time=1.000000") && chapters.contains("end_time=2.000000"))
        let tags = try scratch.tool("ffprobe", "-v", "error", "-show_entries", "format_tags", scratch.path("out.mkv"))
        #expect(tags.contains("A title"))

        let result = try scratch.encode("full.mkv", "-o", "out.ts")
        #expect(result.errors.contains("warning: omitted: subtitles track 2"))
    }

    /// A timecode track of the input is one of the output, which begins with the same picture or has none.
    @Test func timecodeAndNamesOfTheVideo() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        try scratch.ffmpeg([
            "-i", scratch.path("clip.mkv"), "-c", "copy", "-timecode", "01:02:03:04", "-metadata:s:v", "language=jpn",
            "-metadata:s:v", "handler_name=Angle", scratch.path("full.mp4"),
        ])
        let whole = try scratch.encode("full.mp4", "-o", "out.mp4")
        #expect(!whole.errors.contains("omitted"), "\(whole.errors)")
        let entries = ["-v", "error", "-show_entries", "stream_tags=language,timecode"]
        let tags = try scratch.tool(["ffprobe"] + entries + [scratch.path("out.mp4")])
        #expect(tags.contains("TAG:language=jpn") && tags.contains("TAG:timecode=01:02:03:04"), "\(tags)")

        let part = try scratch.encode("full.mp4", "-o", "part.mp4", "--start", "0.4")
        #expect(part.errors.contains("warning: omitted: the timecode"), "\(part.errors)")
        let tagsOfPart = try scratch.tool(["ffprobe"] + entries + [scratch.path("part.mp4")])
        #expect(tagsOfPart.contains("TAG:language=jpn") && !tagsOfPart.contains("timecode"), "\(tagsOfPart)")
    }

    @Test func standardInputAndOutput() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let command = "cat clip.mkv | \(Scratch.vatoolbox) encode - -o - --format ts --json | cat > out.ts"
        let result = try scratch.run("sh", "-c", command)
        #expect(try scratch.decodedFrameCount("out.ts") == 25)
        let document = try JSONSerialization.jsonObject(with: Data(result.errors.utf8)) as? [String: Any]
        #expect(document?["status"] as? String == "done")
    }

    @Test(arguments: ["nv12", "yuv420p"])
    func rawVideo(pixelFormat: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m")
        try scratch.ffmpeg([
            "-i", scratch.path("clip.y4m"), "-f", "rawvideo", "-pix_fmt", pixelFormat, scratch.path("clip.raw"),
        ])
        try scratch.encode(
            "clip.raw",
            "-o",
            "out.mp4",
            "--input-format",
            "rawvideo",
            "--input-size",
            "160x90",
            "--input-fps",
            "25",
            "--input-pixel-format",
            pixelFormat,
            "--crf",
            "10"
        )
        #expect(try scratch.decodedFrameCount("out.mp4") == 25)
        #expect(try scratch.worstPSNR("clip.y4m", "out.mp4") > 36)
    }
}
