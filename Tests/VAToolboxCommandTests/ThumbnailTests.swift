// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import TestSupport
import Testing

extension Scratch {
    /// Runs `vatoolbox thumbnails --json`, which must end with a status.
    @discardableResult
    func thumbnails(
        _ arguments: String...,
        status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [String: Any] {
        let result = try run([Self.vatoolbox, "thumbnails"] + arguments + ["--json"])
        let text = result.errors + result.output
        #expect(result.status == status, "\(arguments): \(text)", sourceLocation: sourceLocation)
        let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        return try #require(value as? [String: Any], sourceLocation: sourceLocation)
    }

    /// Pictures that all differ, with their number in them; sound, B-frames, and a key frame every two seconds.
    func makeNumberedFilm(_ name: String, seconds: Int, options: [String] = []) throws {
        try generate(
            "testsrc2=size=320x180:rate=25:duration=\(seconds)",
            ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=\(seconds)"]
                + [
                    "-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g", "50", "-pix_fmt", "yuv420p", "-qp",
                    "10",
                ]
                + ["-c:a", "aac"] + options + [path(name)]
        )
    }

    /// Writes what ffmpeg shows at a time as `expected.png`: the last picture at or before it, by decoding everything.
    ///
    /// - Parameter time: In seconds, on the timeline of the file.
    func writeExpected(_ file: String, at time: Double, width: Int, height: Int, filter: String = "null") throws {
        // The ends of pictures with a slack: times of ffmpeg are rounded.
        let shown = "select=lte(t\\,\(time + 0.0005))"
        let scale = "scale=\(width):\(height):flags=bicubic+accurate_rnd+full_chroma_int:in_h_chr_pos=0:out_range=pc"
        try ffmpeg([
            "-copyts", "-i", path(file), "-vf", "\(shown),\(filter),\(scale),setsar=1", "-pix_fmt", "rgb24", "-update",
            "1",
            "-vsync", "passthrough", "-y", path("expected.png"),
        ])
    }
}

extension Scratch {
    /// How near a JPEG is to `expected.png`, in its own luma and chroma: that of 4:2:0 loses much of red, green and blue.
    func worstPSNR(ofJPEG file: String, crop: String = "null") throws -> Double {
        let scale = "scale=flags=bicubic+accurate_rnd+full_chroma_int:out_range=pc:out_color_matrix=smpte170m"
        return try worstPSNR(file, "expected.png", filter: crop, other: "\(scale),format=yuvj420p")
    }
}

/// A strict reader of the WebVTT files that players read as thumbnails.
private struct ThumbnailCues {
    struct Cue {
        var (start, end): (Double, Double)
        var image: String
        var area: [Int]
    }

    var cues: [Cue] = []

    init(_ text: String) throws {
        let blocks = text.components(separatedBy: "\n\n")
        try #require(blocks.first == "WEBVTT" && text.hasSuffix("\n"))
        for block in blocks.dropFirst() {
            let lines = block.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            let isLast = block == blocks.last
            try #require(lines.count == (isLast ? 3 : 2) && (!isLast || lines[2].isEmpty), "\(block)")
            let times = lines[0].components(separatedBy: " --> ")
            try #require(times.count == 2)
            let parts = lines[1].components(separatedBy: "#xywh=")
            try #require(parts.count == 2 && !parts[0].contains(where: { " #?%\"".contains($0) && $0 != "%" }))
            let area = parts[1].split(separator: ",", omittingEmptySubsequences: false).compactMap { Int($0) }
            try #require(area.count == 4 && area.allSatisfy { $0 >= 0 })
            let image = try #require(parts[0].removingPercentEncoding)
            cues.append(
                Cue(start: try Self.seconds(times[0]), end: try Self.seconds(times[1]), image: image, area: area)
            )
        }
    }

    private static func seconds(_ text: String) throws -> Double {
        let match = try #require(text.wholeMatch(of: /(\d{2,}):([0-5]\d):([0-5]\d)\.(\d{3})/), "\(text)")
        let numbers = [match.1, match.2, match.3, match.4].compactMap { Double($0) }
        return numbers[0] * 3600 + numbers[1] * 60 + numbers[2] + numbers[3] / 1000
    }
}

/// `vatoolbox thumbnails`, compared with ffmpeg.
@Suite struct ThumbnailTests {
    /// The pictures are those that ffmpeg finds when it decodes everything.
    @Test(arguments: ["mp4", "mkv", "ts"])
    func picturesAreThoseOfTheirTimes(container: String) throws {
        let scratch = try Scratch()
        let file = "film.\(container)"
        try scratch.makeNumberedFilm(file, seconds: 12)
        let document = try scratch.thumbnails(file, "-o", "thumb-%03d.png", "--every", "1.7", "--width", "160")
        let output = try #require(document["output"] as? [String: Any])
        #expect(
            output["width"] as? Int == 160 && output["height"] as? Int == 90 && output["format"] as? String == "png"
        )
        let files = try #require(output["files"] as? [String])
        #expect(files == (1...8).map { "thumb-00\($0).png" })
        #expect(scratch.names.filter { $0.hasSuffix(".png") } == files)
        // The timeline begins with the first picture or sound.
        let first = try min(scratch.firstTime(file, "v:0"), container == "mp4" ? 0 : scratch.firstTime(file, "a:0"))
        for (number, name) in files.enumerated() {
            let time = first + Double(number) * 1.7
            try scratch.writeExpected(file, at: max(time, try scratch.firstTime(file, "v:0")), width: 160, height: 90)
            #expect(try scratch.worstPSNR(name, "expected.png") > 50, "\(name) of \(file)")
        }
        #expect(try scratch.probe("thumb-001.png", "v", "stream=pix_fmt") == ["rgb24"])
    }

    /// A film in which pictures stay for different times.
    @Test func irregularPicturesAreFound() throws {
        let scratch = try Scratch()
        try scratch.makeNumberedFilm(
            "vfr.mkv",
            seconds: 10,
            options: ["-vf", "select='not(mod(n,9))+gt(n,180)'", "-vsync", "vfr"]
        )
        let times = try scratch.probe("vfr.mkv", "v:0", "packet=pts_time").compactMap(Double.init).sorted()
        let origin = try min(#require(times.first), scratch.firstTime("vfr.mkv", "a:0"))
        let document = try scratch.thumbnails("vfr.mkv", "-o", "v-%d.png", "--every", "0.5", "--duration", "9")
        let thumbnails = try #require(document["thumbnails"] as? [[String: Any]])
        #expect(thumbnails.count == 18)
        for thumbnail in thumbnails {
            let time = try #require(thumbnail["time"] as? Double)
            let shown = try #require(times.last { $0 <= origin + time + 0.0005 } ?? times.first)
            let found = try #require(thumbnail["pictureTime"] as? Double)
            #expect(abs(found - (shown - origin)) < 0.001, "at \(time)")
        }
        for number in [1, 6, 15, 18] {
            let time = origin + Double(number - 1) * 0.5
            try scratch.writeExpected("vfr.mkv", at: max(time, times[0]), width: 320, height: 180)
            #expect(try scratch.worstPSNR("v-\(number).png", "expected.png") > 50, "\(number)")
        }
    }

    @Test func onlyWhatIsNeededIsDecoded() throws {
        let scratch = try Scratch()
        try scratch.makeNumberedFilm("film.mp4", seconds: 20)
        let far = try scratch.thumbnails("film.mp4", "-o", "far-%d.png", "--every", "5")
        #expect(far["seeks"] as? Int == 3)
        // Between key frames, decoding goes on.
        let near = try scratch.thumbnails("film.mp4", "-o", "near-%d.png", "--every", "0.2", "--duration", "1.8")
        #expect(near["seeks"] as? Int == 0)
        for number in 0..<4 {
            try scratch.writeExpected("film.mp4", at: Double(number) * 5, width: 320, height: 180)
            #expect(try scratch.worstPSNR("far-\(number + 1).png", "expected.png") > 50)
        }
    }

    /// Pictures that are shown before the key frame that precedes them in the file need the group of pictures before it.
    @Test(arguments: ["mp4", "mkv"])
    func openGroupsOfPicturesAreExact(container: String) throws {
        let scratch = try Scratch()
        let file = "open.\(container)"
        try scratch.generate(
            "testsrc2=size=320x180:rate=25:duration=12",
            ["-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-x265-params"]
                + ["log-level=none:open-gop=1:keyint=75:min-keyint=75:scenecut=0:bframes=4:b-adapt=0:qp=8"]
                + [scratch.path(file)]
        )
        // Shortly before the key frames at 3, 6 and 9 s.
        let document = try scratch.thumbnails(file, "-o", "o-%d.png", "--every", "2.96", "--start", "2.96")
        #expect(document["seeks"] as? Int ?? 0 > 0)
        #expect((document["thumbnails"] as? [Any])?.count == 4)
        for number in 1...3 {
            try scratch.writeExpected(file, at: Double(number) * 2.96, width: 320, height: 180)
            #expect(try scratch.worstPSNR("o-\(number).png", "expected.png") > 50, "\(number)")
        }
    }

    @Test func picturesAreUprightAndInShape() throws {
        let scratch = try Scratch()
        let coding = [
            "-c:v", "libx264", "-qp", "10", "-pix_fmt", "yuv420p", "-colorspace", "bt709", "-color_primaries", "bt709",
        ]
        try scratch.generate(
            "testsrc2=size=720x576:rate=25:duration=1,setsar=16/15",
            coding + ["-color_trc", "bt709", scratch.path("pal.mp4")]
        )
        let turned = try #require(withDisplayMatrix([0, 1, -1, 0], Array(scratch.data("pal.mp4"))))
        try Data(turned).write(to: URL(fileURLWithPath: scratch.path("turned.mp4")))
        let shown = "scale=in_color_matrix=bt709"
        for (file, size, filter) in [("pal.mp4", (200, 150), shown), ("turned.mp4", (150, 200), shown)] {
            let document = try scratch.thumbnails(file, "-o", "one.png", "--width", "\(size.0)", "--overwrite")
            let output = try #require(document["output"] as? [String: Any])
            #expect(output["width"] as? Int == size.0 && output["height"] as? Int == size.1, "\(file)")
            // ffmpeg turns by itself.
            let scale = "scale=\(size.0):\(size.1):flags=bicubic+accurate_rnd+full_chroma_int:in_color_matrix=bt709"
            try scratch.ffmpeg([
                "-i", scratch.path(file), "-vf", "\(scale):in_h_chr_pos=0,setsar=1", "-frames:v", "1", "-pix_fmt",
                "rgb24",
                "-y", scratch.path("expected.png"),
            ])
            #expect(try scratch.worstPSNR("one.png", "expected.png", filter: filter) > 40, "\(file)")
        }
        // A small input is not enlarged.
        try scratch.makeClip("small.mp4")
        try scratch.thumbnails("small.mp4", "-o", "small.png")
        #expect(try scratch.probe("small.png", "v", "stream=width") == ["160"])
    }

    @Test func jpegHasItsQualityAndColours() throws {
        let scratch = try Scratch()
        try scratch.makeNumberedFilm("film.mp4", seconds: 4)
        try scratch.thumbnails("film.mp4", "-o", "good-%d.jpg", "--count", "4", "--quality", "95")
        try scratch.thumbnails("film.mp4", "-o", "bad-%d.jpeg", "--count", "4", "--quality", "20")
        #expect(try scratch.probe("good-1.jpg", "v", "stream=pix_fmt") == ["yuvj420p"])
        for number in 1...4 {
            // The middles of four equal parts.
            try scratch.writeExpected("film.mp4", at: Double(number) - 0.5, width: 320, height: 180)
            let good = try scratch.worstPSNR(ofJPEG: "good-\(number).jpg")
            let bad = try scratch.worstPSNR(ofJPEG: "bad-\(number).jpeg")
            #expect(good > 36 && good > bad + 3, "\(number): \(good) and \(bad)")
        }
        #expect(try scratch.data("good-1.jpg").count > 2 * scratch.data("bad-1.jpeg").count)
        // 85 is the usual quality.
        try scratch.thumbnails("film.mp4", "-o", "a.jpg", "--start", "1.5")
        try scratch.thumbnails("film.mp4", "-o", "b.jpg", "--start", "1.5", "--quality", "85")
        #expect(try scratch.data("a.jpg") == scratch.data("b.jpg"))
    }

    /// Cues cover the part without a gap, rectangles are inside of their pictures, and hold the thumbnails.
    @Test(arguments: [
        (["--every", "1"], 0.0, 12.0, "jpg"), (["--count", "7", "--format", "png"], 0, 12, "png"),
        (["--every", "5"], 0, 12, "jpg"),
        (["--every", "0.7", "--start", "2", "--duration", "5", "--columns", "3", "--rows", "2"], 2, 7, "jpg"),
        (["--count", "5", "--columns", "2", "--rows", "1", "--width", "64", "--format", "png"], 0, 12, "png"),
    ])
    func sheetsHaveATrack(options: [String], start: Double, end: Double, name: String) throws {
        let scratch = try Scratch()
        try scratch.makeNumberedFilm("film.mp4", seconds: 12)
        let arguments = ["thumbnails", "film.mp4", "-o", "a sprite.vtt", "--json"] + options
        let result = try scratch.run([Scratch.vatoolbox] + arguments)
        try #require(result.status == 0, "\(result.errors)\(result.output)")
        let document = try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        let output = try #require(document["output"] as? [String: Any])
        let size = [try #require(output["width"] as? Int), try #require(output["height"] as? Int)]
        let files = try #require(output["files"] as? [String])
        #expect(Set(scratch.names) == Set(files + ["film.mp4", "a sprite.vtt"]))
        #expect(files == (1...files.count).map { "a sprite-\($0).\(name)" })
        let cues = try ThumbnailCues(scratch.text("a sprite.vtt")).cues
        let thumbnails = try #require(document["thumbnails"] as? [[String: Any]])
        #expect(cues.count == thumbnails.count)
        #expect(cues.first?.start == start && abs((cues.last?.end ?? 0) - end) < 0.03, "\(cues)")
        for (cue, following) in zip(cues, cues.dropFirst()) {
            #expect(cue.end == following.start && cue.start < cue.end)
        }
        for file in Set(cues.map(\.image)) {
            let width = try #require(Int(scratch.probe(file, "v", "stream=width").first ?? ""))
            let height = try #require(Int(scratch.probe(file, "v", "stream=height").first ?? ""))
            let areas = cues.filter { $0.image == file }.map(\.area)
            #expect(areas.allSatisfy { $0[0] + $0[2] <= width && $0[1] + $0[3] <= height && [$0[2], $0[3]] == size })
            #expect(Set(areas).count == areas.count)
            // Nothing is wasted beside the last row.
            #expect(width == areas.map { $0[0] + $0[2] }.max() && height == areas.map { $0[1] + $0[3] }.max())
        }
        for (cue, thumbnail) in zip(cues, thumbnails) {
            let time = try #require(thumbnail["time"] as? Double)
            try scratch.writeExpected("film.mp4", at: time, width: size[0], height: size[1])
            let crop = "crop=\(cue.area[2]):\(cue.area[3]):\(cue.area[0]):\(cue.area[1])"
            if name == "png" {
                #expect(try scratch.worstPSNR(cue.image, "expected.png", filter: crop) > 50, "\(cue)")
            } else {
                #expect(try scratch.worstPSNR(ofJPEG: cue.image, crop: crop) > 36, "\(cue)")
            }
        }
    }

    /// A stream without times and duration ends where its pictures end.
    @Test func rawStreamsHaveThumbnailsToTheirEnd() throws {
        let scratch = try Scratch()
        try scratch.makeNumberedFilm("film.mp4", seconds: 5)
        try scratch.ffmpeg(["-i", scratch.path("film.mp4"), "-map", "0:v", "-c", "copy", scratch.path("film.h264")])
        try scratch.thumbnails("film.h264", "-o", "s.vtt", "--every", "2")
        let cues = try ThumbnailCues(scratch.text("s.vtt")).cues
        #expect(cues.map(\.start) == [0, 2, 4] && abs((cues.last?.end ?? 0) - 5) < 0.1, "\(cues)")
        let failed = try scratch.thumbnails("film.h264", "-o", "t.vtt", "--count", "3", status: 2)
        let error = try #require(failed["error"] as? [String: Any])
        #expect((error["message"] as? String)?.contains("needs the duration") == true)
        #expect(scratch.names == ["film.h264", "film.mp4", "s-1.jpg", "s.vtt"])
    }

    @Test func interlacedAndDeepVideoHasThumbnails() throws {
        let scratch = try Scratch()
        let fields = ["-vf", "interlace", "-flags", "+ildct+ilme", "-c:v", "libx264", "-x264-params", "tff=1"]
        try scratch.generate(
            "testsrc2=size=320x180:rate=50:duration=2",
            fields + ["-pix_fmt", "yuv420p", scratch.path("fields.ts")]
        )
        let document = try scratch.thumbnails("fields.ts", "-o", "f-%d.png", "--every", "0.5")
        #expect((document["thumbnails"] as? [Any])?.count == 4)
        try scratch.generate(
            "testsrc2=size=320x180:rate=25:duration=1",
            ["-c:v", "libx265", "-pix_fmt", "yuv422p10le", "-color_trc", "smpte2084", "-x265-params", "log-level=none"]
                + [scratch.path("deep.mkv")]
        )
        let deep = try scratch.vatoolbox("thumbnails", "deep.mkv", "-o", "d.png")
        #expect(deep.status == 0 && deep.errors.contains("not tone-mapped"), "\(deep.errors)")
        #expect(try scratch.probe("d.png", "v", "stream=pix_fmt") == ["rgb24"])
    }

    @Test func aTruncatedFileHasThumbnailsOfWhatIsThere() throws {
        let scratch = try Scratch()
        try scratch.makeNumberedFilm("film.mp4", seconds: 10, options: ["-movflags", "+faststart"])
        let size = try scratch.data("film.mp4").count
        try scratch.tool("sh", "-c", "head -c \(size / 2) film.mp4 > cut.mp4")
        let document = try scratch.thumbnails("cut.mp4", "-o", "s.vtt", "--every", "1", status: 3)
        let cues = try ThumbnailCues(scratch.text("s.vtt")).cues
        #expect((3...7).contains(cues.count) && cues[0].start == 0, "\(cues.count)")
        for (cue, following) in zip(cues, cues.dropFirst()) { #expect(cue.end == following.start) }
        #expect((cues.last?.end ?? 0) < 8)
        #expect((document["problems"] as? [String: Any])?["readErrors"] as? Int ?? 0 > 0)
    }

    @Test func badRequestsAreRefused() throws {
        let scratch = try Scratch()
        try scratch.makeNumberedFilm("film.mp4", seconds: 2)
        try scratch.write("notes.txt", "no video")
        try scratch.tool("sh", "-c", ": > old.vtt; : > old2-1.jpg")
        try scratch.generate("sine=duration=1", [scratch.path("sound.m4a")])
        let cases: [(arguments: [String], status: Int32, text: String)] = [
            (["film.mp4", "-o", "t.gif"], 2, "ends with .jpg, .png or .vtt"),
            (["film.mp4", "-o", "t.png", "--every", "1"], 2, "takes one thumbnail"),
            (["film.mp4", "-o", "t.png", "--count", "2"], 2, "takes one thumbnail"),
            (["film.mp4", "-o", "t-%d.png", "--count", "2", "--every", "1"], 2, "contradict"),
            (["film.mp4", "-o", "t-%d.png", "--format", "jpg"], 2, "contradict"),
            (["film.mp4", "-o", "t-%d.png", "--quality", "5"], 2, "no quality"),
            (["film.mp4", "-o", "t-%d.jpg", "--quality", "0"], 2, "1...100"),
            (["film.mp4", "-o", "t-%d.jpg", "--columns", "3"], 2, "for sheets"),
            (["film.mp4", "-o", "t-%d.jpg", "--every", "0"], 2, "from 0.001 s"),
            (["film.mp4", "-o", "t-%d.jpg", "--every", "0.0001"], 2, "from 0.001 s"),
            (["film.mp4", "-o", "t-%d.jpg", "--count", "0"], 2, "1...10000"),
            (["film.mp4", "-o", "t-%d.jpg", "--width", "33"], 2, "32 or 34"),
            (["film.mp4", "-o", "t-%d.jpg", "--width", "x"], 2, "a whole number"),
            (["film.mp4", "-o", "t.vtt", "--width", "4000"], 2, "sheets are too large"),
            (["film.mp4", "-o", "t.vtt", "--rows", "101"], 2, "1...100"),
            (["film.mp4", "-o", "t-%d.jpg", "--start", "5"], 2, "below 2"),
            (["film.mp4", "-o", "old.vtt"], 2, "already exists"),
            (["film.mp4", "-o", "old2.vtt"], 2, "already exists"),
            (["film.mp4", "-o", "missing/t.vtt"], 2, "folder does not exist"),
            (["notes.txt", "-o", "t.vtt"], 1, "cannot be opened as media"),
            (["sound.m4a", "-o", "t.vtt"], 1, "no video"),
            (["missing.mp4", "-o", "t.vtt"], 1, "does not exist"),
        ]
        let before = scratch.names
        for (arguments, status, text) in cases {
            let result = try scratch.run([Scratch.vatoolbox, "thumbnails"] + arguments)
            #expect(result.status == status, "\(arguments): \(result.errors)")
            #expect(result.errors.contains(text), "\(arguments): \(result.errors)")
        }
        #expect(scratch.names == before)
        try scratch.thumbnails("film.mp4", "-o", "old.vtt", "--overwrite")
        #expect(scratch.text("old.vtt").hasPrefix("WEBVTT\n"))
    }

    /// A limit on the size of files stands for a disk that runs full.
    @Test func aFullDiskLeavesNothing() throws {
        let scratch = try Scratch()
        try scratch.makeNumberedFilm("film.mp4", seconds: 4)
        let command = [
            Scratch.vatoolbox, "thumbnails", "film.mp4", "-o", "s.vtt", "--every", "0.1", "--rows", "1", "--quiet",
        ]
        let failed = try scratch.run(["prlimit", "--fsize=4096"] + command)
        #expect(failed.status == 1 && failed.errors.contains("File too large"), "\(failed.errors)")
        #expect(scratch.names == ["film.mp4"])
        #expect(try scratch.run(command).status == 0)
        #expect(scratch.names == ["film.mp4", "s-1.jpg", "s-2.jpg", "s-3.jpg", "s-4.jpg", "s.vtt"])
    }

    @Test func progressIsTold() throws {
        let scratch = try Scratch()
        try scratch.makeNumberedFilm("film.mp4", seconds: 4)
        try scratch.thumbnails("film.mp4", "-o", "t-%d.png", "--every", "1", "--progress", "progress")
        let last = try #require(scratch.text("progress").split(separator: "\n").last)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any])
        #expect(object["thumbnails"] as? Int == 4 && object["expectedThumbnails"] as? Int == 4)
        #expect(object["time"] as? Double == 3)
    }

    @Test func aSignalCompletesTheFiles() throws {
        let scratch = try Scratch()
        try scratch.makeNumberedFilm("film.ts", seconds: 8)
        try scratch.tool("mkfifo", scratch.path("input"), scratch.path("go"))
        // The input does not end, so that the command waits for more of it.
        let writer = try RunningProgram(["sh", "-c", "exec 3> input; cat film.ts >&3; read line < go"], in: scratch)
        let command = [Scratch.vatoolbox, "thumbnails", "input", "-o", "t-%02d.png", "--every", "1", "--json"]
        let program = try RunningProgram(command, in: scratch)
        try program.wait(until: "a thumbnail") { !scratch.unfinishedSizes.isEmpty }
        #expect(!scratch.names.contains { $0.hasSuffix(".png") })
        program.signal(SIGINT)
        #expect(program.end() == 130)
        try scratch.tool("sh", "-c", "echo > go")
        #expect(writer.end() == 0)
        let files = scratch.names.filter { $0.hasSuffix(".png") }
        #expect(!files.isEmpty && scratch.unfinishedSizes.isEmpty)
        let document = try JSONSerialization.jsonObject(with: Data(program.output.utf8)) as? [String: Any]
        #expect((document?["output"] as? [String: Any])?["files"] as? [String] == files)
        #expect(document?["stopped"] as? Bool == true)
    }
}
