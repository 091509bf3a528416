// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// Presentations for HTTP Live Streaming.
@Suite struct StreamTests {
    /// The durations, and the first video times, of the segments of a playlist.
    private func segments(_ scratch: Scratch, _ playlist: String) throws -> [(duration: Double, path: String)] {
        let lines = scratch.text(playlist).split(separator: "\n").map(String.init)
        let folder = playlist.split(separator: "/").dropLast().joined(separator: "/")
        return lines.indices.filter { lines[$0].hasPrefix("#EXTINF:") }.map { index in
            let duration = Double(lines[index].dropFirst(8).dropLast()) ?? .nan
            return (duration, "\(folder)/\(lines[index...].first { !$0.hasPrefix("#") } ?? "")")
        }
    }

    /// The codec of the first sequence parameter set of H.264, in an avcC box or a byte stream.
    private func codec(in data: Data) throws -> String {
        let range = try #require(
            data.range(of: Data([0x61, 0x76, 0x63, 0x43, 1])) ?? data.range(of: Data([0, 0, 1, 0x67]))
        )
        let bytes = data[range.upperBound..<range.upperBound + 3]
        return "avc1." + bytes.map { String(format: "%02x", $0) }.joined()
    }

    private func keyTimes(_ scratch: Scratch, _ file: String) throws -> [Double] {
        let text = try scratch.tool(
            "ffprobe",
            "-v",
            "error",
            "-select_streams",
            "v",
            "-show_entries",
            "packet=pts_time,flags",
            "-of",
            "csv=p=0",
            scratch.path(file)
        )
        return text.split(whereSeparator: \.isNewline).filter { $0.contains(",K") }
            .compactMap { Double($0.prefix { $0 != "," }) }
    }

    /// The variants have the frames of files with the same options, segments and key frames at the same times, and the
    /// sound of the input, which they share.
    @Test(arguments: ["fmp4", "ts"])
    func ladder(format: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 7, size: "320x180")
        let options = ["--preset", "ultrafast", "--threads", "1", "--asm", "sse2", "--b-frames", "2"]
        let result = try scratch.run(
            [
                Scratch.vatoolbox, "encode", "clip.mkv", "-o", "show.m3u8", "--ladder", "180p:400k,90p:100k",
                "--segment-duration", "3", "--segment-format", format, "--json", "--verify",
            ] + options
        )
        #expect(result.status == 0, "\(result.errors)")
        #expect(scratch.names == ["clip.mkv", "show", "show.m3u8"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path("show")).count == 3)
        for (height, width, rate) in [(180, 320, "400k"), (90, 160, "100k")] {
            let playlist = "show/\(height)p/index.m3u8"
            #expect(try segments(scratch, playlist).map(\.duration) == [3, 3, 1])
            let first = try #require(try keyTimes(scratch, playlist).first)
            #expect(
                try keyTimes(scratch, playlist).map { Int((($0 - first) * 1000).rounded()) } == [
                    0, 2000, 3000, 5000, 6000,
                ]
            )
            #expect(try scratch.decodedFrameCount(playlist) == 175)
            // Key frames are elsewhere in a file, but not what is shown.
            try scratch.encode(
                ["clip.mkv", "-o", "\(height).mp4", "--size", "\(width)x\(height)", "--bitrate", rate] + options
            )
            #expect(try scratch.worstPSNR("\(height).mp4", playlist) > 25)
        }
        if format == "fmp4" {
            // In transport streams, packets have headers.
            #expect(try scratch.packetHash("show/audio-1/index.m3u8", "a:0") == scratch.packetHash("clip.mkv", "a:0"))
        }
        #expect(try segments(scratch, "show/audio-1/index.m3u8").count == 3)
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let stream = try #require(document?["stream"] as? [String: Any])
        #expect(stream["path"] as? String == "show.m3u8" && stream["targetDuration"] as? Int == 3)
        let variants = try #require(stream["variants"] as? [[String: Any]])
        #expect(variants.map { $0["path"] as? String } == ["show/180p/index.m3u8", "show/90p/index.m3u8"])
        #expect((stream["audio"] as? [[String: Any]])?.first?["codec"] as? String == "mp4a.40.2")
        let outputs = try #require(document?["outputs"] as? [[String: Any]])
        let verified = outputs.compactMap { $0["verification"] as? [String: Any] }
        #expect(verified.map { $0["comparedFrames"] as? Int } == [175, 175])
        #expect(verified.map { $0["audioTracks"] as? Int } == [1, 0])
    }

    /// The byte ranges of the playlist of I-frames are pictures that can be decoded alone.
    @Test(arguments: ["fmp4", "ts"])
    func iFrames(format: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 5)
        try scratch.encode([
            "clip.mkv", "-o", "a.m3u8", "--preset", "ultrafast", "--codec", "h264", "--segment-duration", "2.5",
            "--keyframe-interval", "25", "--segment-format", format,
        ])
        let lines = scratch.text("a/video/iframes.m3u8").split(separator: "\n").map(String.init)
        let ranges = lines.indices.filter { lines[$0].hasPrefix("#EXT-X-BYTERANGE:") }
        // The encoder's interval counts from its last key frame: pictures 0, 25, 50; 62, 87, 112; 124.
        #expect(ranges.count == 7)
        for (number, index) in ranges.enumerated() {
            let numbers = lines[index].dropFirst(17).split(separator: "@").compactMap { Int($0) }
            let data = try scratch.data("a/video/\(lines[index + 1])")
            let start = format == "ts" ? Data() : try scratch.data("a/video/init-1.mp4")
            if format == "ts" {
                // A PAT and a PMT come first.
                let pids = [0, 188].map { Int(data[numbers[1] + $0 + 1] & 0x1F) << 8 | Int(data[numbers[1] + $0 + 2]) }
                #expect(pids == [0, 0x1000])
            }
            let name = "frame-\(number).\(format == "ts" ? "ts" : "mp4")"
            try (start + data[numbers[1]..<numbers[1] + numbers[0]]).write(
                to: URL(fileURLWithPath: scratch.path(name))
            )
            #expect(try scratch.decodedFrameCount(name) == 1, "\(lines[index])")
        }
    }

    /// libavformat's DASH demuxer finds the same pictures and the same sound.
    @Test func dash() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 5)
        try scratch.encode([
            "clip.mkv", "-o", "a.m3u8", "--preset", "ultrafast", "--codec", "h264", "--segment-duration", "2", "--dash",
            "--ladder", "90p:200k,46p:60k",
        ])
        #expect(scratch.names == ["a", "a.m3u8", "a.mpd", "clip.mkv"])
        let played = try scratch.tool(
            "ffmpeg",
            "-v",
            "error",
            "-i",
            scratch.path("a.mpd"),
            "-map",
            "0:v:0",
            "-f",
            "framemd5",
            "-"
        )
        let direct = try scratch.tool(
            "ffmpeg",
            "-v",
            "error",
            "-i",
            scratch.path("a/90p/index.m3u8"),
            "-map",
            "0:v:0",
            "-f",
            "framemd5",
            "-"
        )
        func hashes(_ text: String) -> [Substring] {
            text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: " ").last }
        }
        #expect(hashes(played).count == 125 && hashes(played) == hashes(direct))
        #expect(try scratch.packetHash("a.mpd", "a:0") == scratch.packetHash("clip.mkv", "a:0"))
    }

    /// A click in the sound is where it was, relative to a flash in the pictures.
    @Test(arguments: ["fmp4", "ts"])
    func soundStaysInStep(format: String) throws {
        let scratch = try Scratch()
        try scratch.ffmpeg([
            "-f", "lavfi", "-i",
            "color=black:s=64x64:r=25:d=8,drawbox=color=white:t=fill:enable='eq(n,100)'", "-f", "lavfi", "-i",
            "aevalsrc='if(between(t,4,4.04),0.9*sin(2*PI*1000*t),0)':s=48000:d=8", "-c:v", "ffv1", "-c:a", "pcm_s16le",
            "in.mkv",
        ])
        try scratch.encode([
            "in.mkv", "-o", "a.m3u8", "--preset", "ultrafast", "--codec", "h264", "--segment-duration", "3",
            "--segment-format", format,
        ])
        let brightness = try scratch.tool(
            "ffmpeg",
            "-v",
            "error",
            "-copyts",
            "-i",
            scratch.path("a.m3u8"),
            "-map",
            "0:v:0",
            "-vf",
            "signalstats,metadata=print:key=lavfi.signalstats.YAVG:file=-",
            "-f",
            "null",
            "-"
        )
        var flash: Double?
        var time = 0.0
        for line in brightness.split(separator: "\n") {
            if let range = line.range(of: "pts_time:") { time = Double(line[range.upperBound...]) ?? time }
            if let range = line.range(of: "YAVG="), flash == nil, Double(line[range.upperBound...]) ?? 0 > 100 {
                flash = time
            }
        }
        let loud = try scratch.tool(
            "ffmpeg",
            "-v",
            "error",
            "-copyts",
            "-i",
            scratch.path("a.m3u8"),
            "-map",
            "0:a:0",
            "-af",
            "asetnsamples=48,astats=metadata=1:reset=1,"
                + "ametadata=print:key=lavfi.astats.Overall.Peak_level:file=-",
            "-f",
            "null",
            "-"
        )
        var click: Double?
        for line in loud.split(separator: "\n") {
            if let range = line.range(of: "pts_time:") { time = Double(line[range.upperBound...]) ?? time }
            if let range = line.range(of: "Peak_level="), click == nil, Double(line[range.upperBound...]) ?? -99 > -10 {
                click = time
            }
        }
        let difference = try #require(click) - #require(flash)
        #expect(abs(difference) < 0.004, "\(difference)")
    }

    /// Sound that begins late or ends early has silence there, so that all renditions have the same duration.
    @Test(arguments: ["fmp4", "ts"])
    func soundIsAsLongAsThePictures(format: String) throws {
        let scratch = try Scratch()
        try scratch.ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=7", "-itsoffset", "2", "-f", "lavfi", "-i",
            "sine=frequency=440:duration=2", "-c:v", "ffv1", "-c:a", "flac", scratch.path("in.mkv"),
        ])
        try scratch.encode([
            "in.mkv", "-o", "a.m3u8", "--preset", "ultrafast", "--codec", "h264", "--audio", "aac",
            "--segment-duration", "2", "--segment-format", format,
        ])
        let durations = try ["video", "audio-1"].map { name in
            try segments(scratch, "a/\(name)/index.m3u8").map(\.duration)
        }
        #expect(durations.map(\.count) == [4, 4], "\(durations)")
        #expect(abs(durations[0].reduce(0, +) - durations[1].reduce(0, +)) < 0.03, "\(durations)")
    }

    /// The frame rate that a playlist states is the highest one.
    @Test func variableFrameRate() throws {
        let scratch = try Scratch()
        try scratch.ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=7", "-vf", "select='lt(n,50)+not(mod(n,3))'",
            "-fps_mode", "vfr", "-c:v", "libx264", "-preset", "ultrafast", scratch.path("in.mp4"),
        ])
        try scratch.encode(["in.mp4", "-o", "a.m3u8", "--preset", "ultrafast", "--codec", "h264", "--dash"])
        #expect(scratch.text("a.m3u8").contains("FRAME-RATE=25.000,"), "\(scratch.text("a.m3u8"))")
        #expect(scratch.text("a.mpd").contains("frameRate=\"25\""))
    }

    /// A presentation is replaced on request, and only if there is nothing else in its folder.
    @Test func replacing() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let command = [
            Scratch.vatoolbox, "encode", "clip.mkv", "-o", "a.m3u8", "--preset", "ultrafast", "--codec", "h264",
        ]
        #expect(try scratch.run(command).status == 0)
        let refused = try scratch.run(command)
        #expect(refused.status == 2 && refused.errors.contains("given a.m3u8"), "\(refused.errors)")
        let before = scratch.text("a.m3u8")
        #expect(try scratch.run(command + ["--overwrite", "--crf", "40"]).status == 0)
        #expect(scratch.text("a.m3u8") != before)
        #expect(try scratch.decodedFrameCount("a.m3u8") == 25)
        try scratch.write("a/video/notes.txt", "mine")
        let foreign = try scratch.run(command + ["--overwrite"])
        #expect(foreign.status == 2 && foreign.errors.contains("a/video/notes.txt"), "\(foreign.errors)")
        #expect(scratch.text("a/video/notes.txt") == "mine")
        #expect(scratch.names == ["a", "a.m3u8", "clip.mkv"])
    }

    @Test(arguments: [
        (["-o", "a.m3u8", "--segment-duration", "0.4"], "given 0.4 s, allowed 0.5 to 60 s"),
        (["-o", "a.m3u8", "--segment-duration", "61"], "given 61.0 s, allowed 0.5 to 60 s"),
        (["-o", "a.m3u8", "--segment-format", "mkv"], "given mkv, allowed fmp4, ts"),
        (["-o", "a.m3u8", "--segment-format", "ts", "--codec", "hevc"], "only H.264 in transport streams"),
        (["-o", "a.m3u8", "--start-date", "today"], "given today, allowed a date and time of RFC 3339"),
        (["-o", "a.m3u8", "--open-gop"], "given open GOPs, allowed closed GOPs"),
        (
            ["-o", "a.m3u8", "--segment-format", "ts", "--dash", "--codec", "h264"],
            "DASH needs fragmented MP4: given ts"
        ),
        (["-o", "a.mp4", "--dash"], "--dash needs a playlist as output"),
        (["-o", "a.m3u8", "--fragmented"], "given -o a.m3u8 and --fragmented"),
        (["-o", "missing/a.m3u8"], "the output's folder does not exist"),
        (["-o", "a.mp4", "--segment-duration", "6"], "allowed with -o NAME.m3u8"),
        (["-o", "a.m3u8", "--audio", "opus"], "opus"),
    ])
    func badValuesAreRefused(options: [String], message: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let result = try scratch.run([Scratch.vatoolbox, "encode", "clip.mkv"] + options)
        #expect(result.status == 2 && result.errors.contains(message), "\(result.status) \(result.errors)")
        #expect(scratch.names == ["clip.mkv"])
    }

    /// After an interruption the presentation is complete, as far as it goes.
    @Test func interruption() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 60, size: "64x64")
        let program = try RunningProgram(
            [
                Scratch.vatoolbox, "encode", "clip.mkv", "-o", "a.m3u8", "--ladder", "64p,48p", "--realtime", "--codec",
                "h264", "--low-latency", "--segment-duration", "0.5",
            ],
            in: scratch
        )
        func unfinished() -> [String] {
            scratch.names.filter { $0.hasPrefix(".vatoolbox-") }.flatMap { name in
                FileManager.default.subpaths(atPath: scratch.path(name)) ?? []
            }
        }
        try program.wait(until: "each variant has a segment") {
            ["64p", "48p"].allSatisfy { rung in unfinished().contains { $0 == "\(rung)/00001.m4s" } }
        }
        program.signal(SIGINT)
        #expect(program.end() == 130, "\(program.errors)")
        #expect(scratch.names == ["a", "a.m3u8", "clip.mkv"])
        let counts = try ["a/64p/index.m3u8", "a/48p/index.m3u8"].map { try scratch.decodedFrameCount($0) }
        #expect(counts.allSatisfy { $0 > 0 && $0 < 1500 }, "\(counts)")
    }

    /// A variant that cannot be written leaves nothing of the others, and nothing of the old presentation is lost.
    @Test func failureLeavesNothing() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 4)
        let command = [
            Scratch.vatoolbox, "encode", "clip.mkv", "-o", "a.m3u8", "--ladder", "90p:9M,46p:9M", "--codec", "h264",
            "--overwrite",
        ]
        #expect(try scratch.run(command + ["--preset", "ultrafast"]).status == 0)
        let before = scratch.text("a.m3u8")
        let failed = try scratch.run(["prlimit", "--fsize=20000"] + command)
        #expect(failed.status == 1, "\(failed.errors)")
        #expect(scratch.names == ["a", "a.m3u8", "clip.mkv"])
        #expect(scratch.text("a.m3u8") == before)
        #expect(try scratch.decodedFrameCount("a/90p/index.m3u8") == 100)
    }

    /// An encoder that takes over has other parameter sets: its segments have their own initialization section, and
    /// `CODECS` names both.
    @Test(arguments: ["fmp4", "ts"])
    func switchOfEncoders(format: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 4, size: "64x64")
        let faults = "REFERENCE_DRIVER_FAULTS=vaEndPicture:30=status:0x18;vaCreateContext:2+=status:0x12"
        let result = try scratch.run(
            try Scratch.machine([faults]) + [
                Scratch.vatoolbox, "encode", "clip.y4m", "-o", "a.m3u8", "--codec", "h264", "--isolation", "in-process",
                "--segment-duration", "2", "--segment-format", format, "--preset", "ultrafast", "--json",
            ]
        )
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("\"to\""), "\(result.output)")
        let playlist = scratch.text("a/video/index.m3u8")
        let maps = playlist.components(separatedBy: "#EXT-X-MAP:").count - 1
        #expect(maps == (format == "ts" ? 0 : 2), "\(playlist)")
        let listed = try segments(scratch, "a/video/index.m3u8")
        #expect(listed.count == 3, "\(playlist)")
        // The GPU's High profile, and the Baseline profile of this preset of x264.
        let files = format == "ts" ? ["00001.ts", "00003.ts"] : ["init-1.mp4", "init-2.mp4"]
        let codecs = try files.map { try codec(in: scratch.data("a/video/\($0)")) }
        #expect(codecs[0].hasPrefix("avc1.64") && codecs[1].hasPrefix("avc1.42"), "\(codecs)")
        let named = "CODECS=\"\(codecs[0]),\(codecs[1])\""
        #expect(scratch.text("a.m3u8").components(separatedBy: named).count == 3, "\(named) \(scratch.text("a.m3u8"))")
        #expect(try scratch.decodedFrameCount("a/video/index.m3u8") == 100)
        #expect(try scratch.worstPSNR("clip.y4m", "a/video/index.m3u8") > 30)
    }
}
