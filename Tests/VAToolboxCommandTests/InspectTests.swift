// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import Testing

extension Scratch {
    /// Runs `vatoolbox inspect --json`, which must end with a status.
    func inspect(
        _ arguments: String...,
        status: Int32 = 0,
        input: String = "/dev/null",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [String: Any] {
        let result = try run([Self.vatoolbox, "inspect"] + arguments + ["--json"], input: input)
        let text = result.errors + result.output
        #expect(result.status == status, "\(arguments): \(text)", sourceLocation: sourceLocation)
        let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        return try #require(value as? [String: Any], sourceLocation: sourceLocation)
    }

    /// What ffprobe says of a file: the container, and its streams.
    func ffprobe(_ file: String) throws -> (format: [String: Any], streams: [[String: Any]]) {
        let text = try tool("ffprobe", "-v", "error", "-of", "json", "-show_format", "-show_streams", path(file))
        let value = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let format = try #require(value["format"] as? [String: Any])
        return (format, try #require(value["streams"] as? [[String: Any]]))
    }
}

extension [String: Any] {
    fileprivate var tracks: [[String: Any]] { self["tracks"] as? [[String: Any]] ?? [] }
    fileprivate var problems: [String] { self["problems"] as? [String] ?? [] }
    fileprivate func text(_ key: String) -> String? { self[key] as? String }
    fileprivate func number(_ key: String) -> Double? { (self[key] as? NSNumber)?.doubleValue }
    /// A number that ffprobe writes as text.
    fileprivate func written(_ key: String) -> Double? { text(key).flatMap(Double.init) }
}

/// `vatoolbox inspect`, compared with ffprobe.
@Suite struct InspectTests {
    /// Everything that both programs tell of a file is the same.
    private func agrees(_ document: [String: Any], _ file: String, _ scratch: Scratch) throws {
        let (format, streams) = try scratch.ffprobe(file)
        #expect(document.text("format") == format.text("format_name"))
        #expect(document.text("formatName") == format.text("format_long_name"))
        #expect(document.number("size") == format.written("size"))
        if let duration = format.written("duration"), !file.hasSuffix(".mkv") {
            let found = try #require(document.number("duration"))
            #expect(abs(found - duration) < 1e-5)
            // ffprobe rounds down.
            let rate = try #require(document.number("bitRate"))
            #expect(try abs(rate - #require(format.written("bit_rate"))) <= 1)
        }
        let tracks = document.tracks
        try #require(tracks.count == streams.count)
        let kinds = ["subtitle": "subtitles"]
        let names = [
            "codec": "codec_name", "profile": "profile", "layout": "channel_layout", "pixelFormat": "pix_fmt",
            "colorPrimaries": "color_primaries", "colorTransfer": "color_transfer", "colorMatrix": "color_space",
        ]
        for (track, stream) in zip(tracks, streams) {
            #expect(track.number("index") == stream.number("index"))
            let kind = try #require(stream.text("codec_type"))
            #expect(track.text("kind") == kinds[kind] ?? kind)
            for (ours, theirs) in names where track[ours] != nil && kind != "attachment" {
                #expect(track.text(ours) == stream.text(theirs), "\(ours) of \(file)")
            }
            for key in ["width", "height", "channels"] where track[key] != nil {
                #expect(track.number(key) == stream.number(key), "\(key) of \(file)")
            }
            if let rate = stream.written("sample_rate") { #expect(track.number("sampleRate") == rate) }
            if let rate = track.number("bitRate") { #expect(stream.written("bit_rate") == rate) }
            let tags = stream["tags"] as? [String: Any] ?? [:]
            #expect(track.text("language") == tags.text("language"))
            #expect(track.text("title") == tags.text("title"))
            let flags = (stream["disposition"] as? [String: Int] ?? [:]).filter { $0.value == 1 }.map(\.key)
            #expect(Set(track["dispositions"] as? [String] ?? []) == Set(flags))
        }
    }

    @Test(arguments: ["mp4", "mkv", "ts", "mov"])
    func tellsWhatFFprobeTells(container: String) throws {
        let scratch = try Scratch()
        let file = "film.\(container)"
        try scratch.makeFilm(file, seconds: 3)
        let document = try scratch.inspect(file)
        try agrees(document, file, scratch)
        #expect(document.text("status") == "done" && document.problems.isEmpty)
        let video = try #require(document.tracks.first)
        #expect(video.text("frameRate") == "25" && video["variableFrameRate"] as? Bool == false)
        #expect(video.text("dynamicRange") == "SDR" && video["interlaced"] as? Bool == false)
        #expect(video.text("chroma") == "4:2:0" && video.number("bitDepth") == 8)
        // The encoder pads 160x90 to whole macroblocks.
        #expect(video.number("codedWidth") == 160 && video.number("codedHeight") == 96)
        #expect(video.number("bFrames") == 2)
        let keys = try #require(video["keyFrames"] as? [String: Any])
        #expect(keys.number("examinedPictures") == 75 && keys.number("count") == 3)
        #expect(keys.number("longestInterval") == 1)
        let audio = document.tracks[1]
        // Only edit lists tell it.
        #expect(audio.number("priming") == (["ts", "mkv"].contains(container) ? 0 : 1024))
        let text = try scratch.vatoolbox("inspect", file)
        #expect(text.status == 0 && text.errors.isEmpty)
        #expect(text.output.contains("Track 1: audio") && text.output.contains("No problems found"))
        #expect(text.output.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(text.output)")
    }

    @Test func aRawStreamHasTheRateOfItsParameterSets() throws {
        let scratch = try Scratch()
        let options = ["-c:v", "libx264", "-pix_fmt", "yuv420p", scratch.path("film.h264")]
        try scratch.generate("testsrc2=size=160x90:rate=30000/1001:duration=1", options)
        let document = try scratch.inspect("film.h264")
        #expect(document.text("format") == "h264" && document["duration"] is NSNull)
        #expect(document.tracks.first?.text("frameRate") == "30000/1001")
        let given = try scratch.inspect("film.h264", "--input-fps", "24")
        #expect(given.tracks.first?.text("frameRate") == "24")
        let bad = try scratch.inspect("film.h264", "--input-fps", "0", status: 2)
        #expect((bad["error"] as? [String: Any])?.text("message") == "--input-fps is out of range")
        // As what it is not, it has nothing that can be decoded.
        let forced = try scratch.inspect("film.h264", "--input-format", "hevc", status: 3)
        #expect(forced.problems.contains("the size of track 0 is not stated"))
        let unknown = try scratch.inspect("film.h264", "--input-format", "nonsense", status: 2)
        #expect((unknown["error"] as? [String: Any])?.text("message") == "unknown input format")
    }

    @Test func aRawStreamWithoutTimesSaysSo() throws {
        let scratch = try Scratch()
        let options = [
            "-c:v", "libx265", "-x265-params", "log-level=none:vui-timing-info=0", scratch.path("film.h265"),
        ]
        try scratch.generate("testsrc2=size=160x96:rate=30:duration=0.4", options)
        let document = try scratch.inspect("film.h265")
        #expect(document.tracks.first?["frameRate"] is NSNull)
        #expect(document.problems == ["the stream does not state its frame rate: players assume one, such as 25"])
        #expect(try scratch.inspect("film.h265", "--input-fps", "30").problems.isEmpty)
    }

    /// By its headers the file is regular; the pictures are not.
    @Test(arguments: ["mkv", "mp4"])
    func looksAtPicturesForAVariableRate(container: String) throws {
        let scratch = try Scratch()
        let file = "vfr.\(container)"
        try scratch.generate(
            "testsrc2=size=160x90:rate=25:duration=4",
            ["-vf", "select='mod(n,7)*mod(n,3)'", "-vsync", "vfr", "-c:v", "libx264", "-pix_fmt", "yuv420p"]
                + [scratch.path(file)]
        )
        let video = try #require(try scratch.inspect(file).tracks.first)
        #expect(video["variableFrameRate"] as? Bool == true)
        let encoded = try scratch.document("encode", file, "-o", "other.mp4", "--preset", "ultrafast")
        let input = try #require(encoded["input"] as? [String: Any])
        #expect(input["variableFrameRate"] as? Bool == true)
        // An encode has decoded the first pictures when it averages.
        #expect(try abs(rate(input) / rate(video) - 1) < 0.1)
    }

    private func rate(_ track: [String: Any]) throws -> Double {
        let parts = try #require(track.text("frameRate")).split(separator: "/").compactMap { Double($0) }
        return try #require(parts.first) / (parts.count > 1 ? parts[1] : 1)
    }

    @Test func turnedAndStretchedPicturesHaveTheirShape() throws {
        let scratch = try Scratch()
        let coding = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]
        try scratch.generate(
            "testsrc2=size=720x576:rate=25:duration=0.4",
            ["-vf", "setsar=16/15"] + coding + [scratch.path("pal.mp4")]
        )
        try scratch.ffmpeg([
            "-i", scratch.path("pal.mp4"), "-c", "copy", "-metadata:s:v", "rotate=90", scratch.path("turned.mp4"),
        ])
        // FFmpeg counts counterclockwise.
        let pal = try #require(try scratch.inspect("pal.mp4").tracks.first)
        #expect(pal.text("sampleAspectRatio") == "16:15" && pal.number("rotation") == 0)
        #expect(pal.number("displayWidth") == 768 && pal.number("displayHeight") == 576)
        let turned = try #require(try scratch.inspect("turned.mp4").tracks.first)
        #expect(turned.number("width") == 720 && turned.number("rotation") == 270)
        #expect(turned.number("displayWidth") == 576 && turned.number("displayHeight") == 768)
        // As an encode shows them.
        let input = try scratch.document("encode", "turned.mp4", "-o", "upright.mp4")["input"] as? [String: Any]
        #expect(input?.text("orientation") == "270")
        // Lines are wrapped.
        let words = try scratch.vatoolbox("inspect", "turned.mp4").output.split(whereSeparator: \.isWhitespace)
        let text = words.joined(separator: " ")
        #expect(text.contains("turned by 270 degrees clockwise") && text.contains("shown as 576x768"), "\(text)")
    }

    @Test func tellsDynamicRangesAndTheirMetadata() throws {
        let scratch = try Scratch()
        let colors = "colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:range=limited"
        let display = "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)"
        try scratch.generate(
            "testsrc2=size=160x96:rate=25:duration=0.4",
            ["-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params"]
                + ["log-level=none:hdr10=1:max-cll=1000,400:\(display):\(colors)", scratch.path("light.mkv")]
        )
        try scratch.encode("light.mkv", "-o", "light.mp4", "--codec", "hevc", "--preset", "ultrafast")
        for file in ["light.mkv", "light.mp4"] {
            let document = try scratch.inspect(file)
            try agrees(document, file, scratch)
            let video = try #require(document.tracks.first)
            #expect(video.text("dynamicRange") == "HDR10" && video.number("bitDepth") == 10)
            #expect(video.text("colorRange") == "limited" && video.text("level")?.hasSuffix("(Main tier)") == true)
            #expect(video.number("maxCLL") == 1000 && video.number("maxFALL") == 400)
            let display = try #require(video["masteringDisplay"] as? [String: Any])
            #expect(display.number("maximumLuminance") == 1000 && display.number("minimumLuminance") == 0.005)
            #expect(display["green"] as? [Double] == [0.265, 0.69])
        }
        #expect(try scratch.vatoolbox("inspect", "light.mkv").output.contains("MaxCLL 1000, MaxFALL 400"))

        try scratch.generate(
            "testsrc2=size=160x96:rate=25:duration=0.4",
            ["-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-color_primaries", "bt2020", "-colorspace", "bt2020nc"]
                + ["-color_trc", "arib-std-b67", "-x265-params", "log-level=none", scratch.path("hlg.mp4")]
        )
        #expect(try scratch.inspect("hlg.mp4").tracks.first?.text("dynamicRange") == "HLG")

        // The box of the mastering display has the length of a Dolby Vision configuration: version 1.0, profile 8, level 6,
        // with RPU and base layer, which HDR10 displays show (compatibility 1).
        var data = try scratch.data("light.mp4")
        let box = try #require(data.range(of: Data("mdcv".utf8)))
        let contents: [UInt8] = [1, 0, 8 << 1, 6 << 3 | 0b101, 1 << 4] + [UInt8](repeating: 0, count: 19)
        data.replaceSubrange(box.lowerBound..<box.upperBound + 24, with: Array("dvvC".utf8) + contents)
        try data.write(to: URL(fileURLWithPath: scratch.path("vision.mp4")))
        let vision = try #require(try scratch.inspect("vision.mp4").tracks.first)
        #expect(vision.text("dynamicRange") == "Dolby Vision" && vision.text("dolbyVisionProfile") == "8.1")
    }

    @Test func tellsTheFieldsOfInterlacedVideo() throws {
        let scratch = try Scratch()
        for (order, name) in [("tff", "top-first"), ("bff", "bottom-first")] {
            let file = scratch.path("\(order).ts")
            try scratch.generate(
                "testsrc2=size=160x96:rate=50:duration=1",
                ["-vf", "interlace=scan=\(order)", "-flags", "+ildct+ilme", "-c:v", "libx264", "-x264-params"]
                    + ["\(order)=1", "-pix_fmt", "yuv420p", file]
            )
            let video = try #require(try scratch.inspect("\(order).ts").tracks.first)
            #expect(video["interlaced"] as? Bool == true && video.text("fieldOrder") == name)
        }
        #expect(try scratch.vatoolbox("inspect", "tff.ts").output.contains("interlaced, top field first"))
    }

    @Test func tellsAllTracksChaptersAndMetadata() throws {
        let scratch = try Scratch()
        try scratch.makeRichFile("rich.mkv")
        let document = try scratch.inspect("rich.mkv")
        try agrees(document, "rich.mkv", scratch)
        #expect(document.tracks.compactMap { $0.text("kind") }.filter { $0 == "audio" }.count == 2)
        #expect(document.tracks.contains { $0.text("kind") == "attachment" })
        let cover = try #require(document.tracks.first { $0["dispositions"] as? [String] == ["attached_pic"] })
        #expect(cover.text("kind") == "video" && cover.text("codec") == "mjpeg")
        #expect((document["metadata"] as? [String: Any])?.text("title") == "My film")
        let chapters = try #require(document["chapters"] as? [[String: Any]])
        #expect(chapters.map { $0.text("title") } == ["One", "Two"] && chapters[1].number("start") == 1)
        #expect(chapters[1].number("end") == 2)
        let text = try scratch.vatoolbox("inspect", "rich.mkv").output
        for line in ["Track 2: audio, fra, \"Commentary\", comment", "  1    0:00.000 One"] {
            #expect(text.contains(line), "\(text)")
        }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(text)")
    }

    @Test func standardInputIsInspectedToo() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.ts", seconds: 2)
        let file = try scratch.inspect("-", input: scratch.path("film.ts"))
        #expect(file.text("path") == "-" && file.tracks.count == 2)
        let piped = try scratch.run("sh", "-c", "cat film.ts | \(Scratch.vatoolbox) inspect - --json")
        #expect(piped.status == 0)
        let value = try JSONSerialization.jsonObject(with: Data(piped.output.utf8)) as? [String: Any]
        #expect(value?["size"] is NSNull && value?.tracks.first?.text("codec") == "h264")
    }

    @Test func damageIsTold() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 4)
        try scratch.ffmpeg([
            "-i", scratch.path("film.mp4"), "-c", "copy", "-movflags", "+faststart", scratch.path("fast.mp4"),
        ])
        try scratch.ffmpeg(["-i", scratch.path("film.mp4"), "-c", "copy", scratch.path("film.mkv")])
        try scratch.ffmpeg([
            "-i", scratch.path("film.mp4"), "-c", "copy", "-live", "1", scratch.path("live.mkv"),
        ])
        try scratch.ffmpeg([
            "-i", scratch.path("film.mp4"), "-c", "copy", "-movflags", "frag_keyframe+empty_moov",
            scratch.path("fragments.mp4"),
        ])
        try scratch.ffmpeg(["-i", scratch.path("film.mp4"), "-c", "copy", scratch.path("film.ts")])
        for (file, bytes) in [("fast.mp4", 90_000), ("film.mkv", 90_000), ("fragments.mp4", 90_000)] {
            try #require(try scratch.data(file).count > bytes + 10_000)
            try scratch.tool("sh", "-c", "head -c \(bytes) \(file) > cut-\(file)")
            let cut = try scratch.inspect("cut-\(file)", status: 3)
            #expect(cut.text("status") == "damaged-input" && cut.tracks.count == 2)
            #expect(cut.problems.first?.contains("ends in the middle of its data") == true, "\(cut.problems)")
            #expect(try scratch.inspect(file).problems.isEmpty)
        }
        #expect(
            try scratch.inspect("live.mkv").problems == [
                "the file was not finished: it states no length, and may have no index"
            ]
        )
        // The index is at the end of the file, which is missing.
        try scratch.tool("sh", "-c", "head -c 90000 film.mp4 > cut-film.mp4")
        let error = try #require(try scratch.inspect("cut-film.mp4", status: 1)["error"] as? [String: Any])
        #expect(error.text("message")?.hasPrefix("the file has no index (moov box)") == true)
        // A recording that begins in the middle of a group of pictures, and one that has another behind it.
        try scratch.tool("sh", "-c", "tail -c +7521 film.ts > late.ts; cat film.ts film.ts > twice.ts")
        let late = try scratch.inspect("late.ts", status: 3)
        #expect(late.problems.contains { $0.contains("before the first key frame") }, "\(late.problems)")
        let twice = try scratch.vatoolbox("inspect", "twice.ts", "--json")
        #expect(twice.output.contains("the clock of the file jumps 1 time at the beginning"), "\(twice.output)")
        // Zeros in the first pictures.
        var data = try scratch.data("film.ts")
        for packet in stride(from: 188 * 20, to: 188 * 60, by: 188) {
            data.replaceSubrange(packet + 40..<packet + 188, with: [UInt8](repeating: 0, count: 148))
        }
        try data.write(to: URL(fileURLWithPath: scratch.path("zeros.ts")))
        let zeros = try scratch.inspect("zeros.ts", status: 3)
        #expect(zeros.problems.contains { $0.contains("cannot be decoded without damage") }, "\(zeros.problems)")
    }

    @Test func unknownCodecsAreNamed() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mkv", seconds: 1)
        var data = try scratch.data("film.mkv")
        let entry = try #require(data.range(of: Data("A_AAC".utf8)))
        data.replaceSubrange(entry, with: Array("A_ODD".utf8))
        try data.write(to: URL(fileURLWithPath: scratch.path("odd.mkv")))
        let document = try scratch.inspect("odd.mkv")
        #expect(document.tracks[1]["codec"] is NSNull)
        #expect(document.problems == ["the codec of track 1 (audio) is not known"])
        #expect(try scratch.vatoolbox("inspect", "odd.mkv").output.contains("  codec     unknown"))
    }

    @Test func picturesBeyondTheLimitsAreNotDecoded() throws {
        let scratch = try Scratch()
        let header = Data("YUV4MPEG2 W40000 H2 F25:1 Ip A1:1 C420jpeg\nFRAME\n".utf8)
        let file = header + Data(repeating: 128, count: 40000 * 2 * 3 / 2)
        try file.write(to: URL(fileURLWithPath: scratch.path("wide.y4m")))
        let document = try scratch.inspect("wide.y4m")
        #expect(document.problems == ["track 0 is too large to encode: 40000x2, at most 32768x32768"])
        let video = try #require(document.tracks.first)
        #expect(video.number("width") == 40000 && video["bFrames"] is NSNull)
    }

    /// Whatever is wrong with the bytes, there is a report or an error, in bounded time.
    @Test(arguments: ["film.mp4", "film.mkv", "film.ts"])
    func damagedBytesAreHarmless(file: String) throws {
        let scratch = try Scratch()
        try scratch.makeFilm(file, seconds: 1)
        let whole = try scratch.data(file)
        // As repeatable as the file.
        var state: UInt64 = 1
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        for round in 0..<20 {
            var data = whole
            for _ in 0..<[1, 10, 200][round % 3] {
                // Headers more often than contents.
                let place = random(round % 2 == 0 ? min(2000, data.count) : data.count)
                data[data.startIndex + place] = UInt8(random(256))
            }
            if round % 4 == 3 { data = data.prefix(random(data.count) + 1) }
            try data.write(to: URL(fileURLWithPath: scratch.path("damaged-\(file)")))
            let result = try scratch.vatoolbox("inspect", "damaged-\(file)", "--json")
            #expect([0, 1, 3].contains(result.status), "round \(round): \(result.errors)")
            #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(result.output.utf8)) }
        }
    }

    @Test func whatIsNoMediaFileIsAnError() throws {
        let scratch = try Scratch()
        try scratch.write("notes.txt", "Some notes.\n\u{1B}[31mred\n")
        try scratch.tool("sh", "-c", ": > empty.mp4; head -c 100000 /dev/urandom > noise.bin; mkdir folder")
        let cases: [(String, Int32, String)] = [
            ("notes.txt", 1, "malformed-data"), ("empty.mp4", 1, "malformed-data"), ("noise.bin", 1, "malformed-data"),
            ("missing.mp4", 1, "unavailable"), ("folder", 2, "invalid-argument"),
        ]
        for (file, status, code) in cases {
            let document = try scratch.inspect(file, status: status)
            #expect((document["error"] as? [String: Any])?.text("code") == code, "\(file)")
            let text = try scratch.vatoolbox("inspect", file)
            #expect(text.output.isEmpty && text.errors.hasPrefix("vatoolbox: error: "), "\(file)")
        }
        #expect(try scratch.inspect("-", status: 1)["error"] != nil)
    }

    @Test func aSignalEndsTheWaitForAPipe() throws {
        let scratch = try Scratch()
        try scratch.tool("mkfifo", scratch.path("input"), scratch.path("ready"))
        let writer = try RunningProgram(["sh", "-c", "exec 3> input; echo > ready; read line < ready"], in: scratch)
        let program = try RunningProgram([Scratch.vatoolbox, "inspect", "input"], in: scratch)
        try scratch.tool("sh", "-c", "read line < ready")
        program.signal(SIGINT)
        #expect(program.end() == 130)
        try scratch.tool("sh", "-c", "echo > ready")
        #expect(writer.end() == 0)
    }
}
