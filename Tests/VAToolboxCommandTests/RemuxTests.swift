// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import MediaIO
import MediaTypes
import Remuxing
import TestSupport
import Testing

extension Scratch {
    /// Runs `vatoolbox remux`, which must succeed.
    @discardableResult
    func remux(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) throws -> [String: Any] {
        let result = try run([Self.vatoolbox, "remux"] + arguments + ["--json"])
        try #require(result.status == 0, "\(arguments): \(result.output)", sourceLocation: sourceLocation)
        let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        return try #require(value as? [String: Any], sourceLocation: sourceLocation)
    }

    /// Pictures with B-frames, a key frame each second, and AAC.
    func makeFilm(_ name: String, seconds: Double = 4) throws {
        try generate(
            "testsrc2=size=160x90:rate=25:duration=\(seconds)",
            ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=\(seconds)"]
                + ["-c:v", "libx264", "-preset", "veryfast", "-bf", "2", "-g", "25", "-pix_fmt", "yuv420p"]
                + ["-c:a", "aac", "-movie_timescale", "48000", path(name)]
        )
    }

    /// The slices of a video: the MD5 of the byte stream without delimiters and parameter sets.
    func sliceHash(_ file: String) throws -> String {
        let stream = path("slices-\(UUID().uuidString).h264")
        defer { try? FileManager.default.removeItem(atPath: stream) }
        try ffmpeg([
            "-i", path(file), "-map", "0:v:0", "-c", "copy", "-bsf:v",
            "h264_mp4toannexb,filter_units=remove_types=7-9", "-f", "h264", stream,
        ])
        return try tool("md5sum", stream).split(separator: " ").first.map(String.init) ?? ""
    }

    /// The names of the properties that a copy has lost.
    func lost(_ document: [String: Any]) -> [String] {
        (document["losses"] as? [[String: Any]] ?? []).compactMap { $0["property"] as? String }
    }
}

/// Copies between containers; `scripts/verify remux` has the whole table.
@Suite struct RemuxTests {
    @Test(arguments: [("mp4", "mkv"), ("mkv", "mov"), ("mov", "ts"), ("ts", "mp4"), ("mp4", "h264")])
    func keepsPayloadsTimesAndPictures(from: String, to: String) throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.\(from)")
        let (source, copy) = ("film.\(from)", "copy.\(to)")
        try scratch.remux(source, "-o", copy)
        #expect(try scratch.sliceHash(source) == scratch.sliceHash(copy))
        #expect(try scratch.frameHashes(source) == scratch.frameHashes(copy))
        guard to != "h264" else { return }
        var moves: [Double] = []
        for stream in ["v:0", "a:0"] {
            let before = try scratch.probe(source, stream, "packet=pts_time").compactMap(Double.init)
            let after = try scratch.probe(copy, stream, "packet=pts_time").compactMap(Double.init)
            #expect(before.count == after.count)
            moves += zip(before, after).map { $1 - $0 }
        }
        // Times of ffprobe are rounded to microseconds.
        let spread = try #require(moves.max()) - #require(moves.min())
        #expect(spread <= 0.001_002, "times move by \(spread) s")
        if from != "ts", to != "ts" {
            #expect(try scratch.packetHash(source, "a:0") == scratch.packetHash(copy, "a:0"))
        }
    }

    /// In a transport stream, the sets are in front of each key frame; in MP4 they are not.
    @Test func theWayThroughATransportStreamChangesNothing() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 2)
        try scratch.remux("film.mp4", "-o", "film.ts")
        try scratch.remux("film.ts", "-o", "back.mp4")
        #expect(try scratch.packetHash("film.mp4", "v:0") == scratch.packetHash("back.mp4", "v:0"))
        #expect(try scratch.packetHash("film.mp4", "a:0") == scratch.packetHash("back.mp4", "a:0"))
        #expect(try scratch.probe("back.mp4", "v:0", "stream=codec_tag_string").first == "avc1")
    }

    @Test func keepsWhatTheContainerStores() throws {
        let scratch = try Scratch()
        try scratch.makeRichFile("rich.mkv")
        let whole = try scratch.remux("rich.mkv", "-o", "whole.mkv")
        #expect(scratch.lost(whole).isEmpty)
        #expect(whole["compared"] as? Bool == true)
        #expect(try scratch.probe("whole.mkv", "a", "stream_tags=title") == ["Deutsch", "Commentary"])
        #expect(try scratch.probe("whole.mkv", "v:0", "stream=sample_aspect_ratio").first == "4:3")
        #expect(try scratch.probe("whole.mkv", "t", "stream_tags=filename") == ["f.ttf"])
        let chapters = try scratch.tool("ffprobe", "-v", "error", "-show_chapters", scratch.path("whole.mkv"))
        #expect(chapters.contains("title=Two"))

        let film = try scratch.remux("rich.mkv", "-o", "film.mp4")
        #expect(scratch.lost(film) == ["subtitles subrip", "attachment f.ttf"])
        #expect(try scratch.probe("film.mp4", "a", "stream_tags=language") == ["deu", "fra"])
        #expect(try scratch.probe("film.mp4", "v:0", "stream=sample_aspect_ratio").first == "4:3")

        let stream = try scratch.remux("rich.mkv", "-o", "film.ts")
        #expect(scratch.lost(stream).contains("chapters"))
        #expect(scratch.lost(stream).contains("disposition comment"))
    }

    @Test func keepsRotationTimecodeAndHDRMetadata() throws {
        let scratch = try Scratch()
        try scratch.generate(
            "testsrc2=size=160x90:rate=25:duration=1",
            ["-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params"]
                + [
                    "log-level=none:hdr10=1:max-cll=1000,400:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:"
                        + "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)",
                    scratch.path("light.mkv"),
                ]
        )
        // The encoder writes the metadata into the header as well.
        try scratch.encode("light.mkv", "-o", "plain.mp4", "--codec", "hevc", "--preset", "ultrafast")
        try scratch.ffmpeg([
            "-i", scratch.path("plain.mp4"), "-c", "copy", "-metadata:s:v", "rotate=90", "-tag:v", "hvc1", "-timecode",
            "01:02:03:04", scratch.path("light.mov"),
        ])
        #expect(scratch.lost(try scratch.remux("light.mov", "-o", "copy.mp4")).isEmpty)
        let sides = try scratch.probe("copy.mp4", "v:0", "stream_side_data=side_data_type,rotation,max_content")
        #expect(sides.contains { $0.hasPrefix("Content light level") })
        #expect(sides.contains { $0.hasPrefix("Mastering display") })
        #expect(sides.contains { $0.hasPrefix("Display Matrix") })
        #expect(try scratch.probe("copy.mp4", "v:0", "stream_tags=timecode").first == "01:02:03:04")
        #expect(try scratch.probe("copy.mp4", "v:0", "stream=codec_tag_string").first == "hvc1")
        let stream = scratch.lost(try scratch.remux("light.mov", "-o", "copy.ts"))
        #expect(stream.contains("rotation") && stream.contains("timecode"))
    }

    /// The sound of MP4 begins after its priming, and ends within its last packet.
    @Test func keepsEditListsOfSound() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 2)
        try scratch.encode("film.mp4", "-o", "exact.mp4", "--audio", "aac", "--duration", "1.01")
        for (container, options) in [("mp4", [String]()), ("mov", []), ("mp4", ["--fragmented"])] {
            let copy = "copy-\(options.count).\(container)"
            let result = try scratch.run([Scratch.vatoolbox, "remux", "exact.mp4", "-o", copy, "--json"] + options)
            #expect(result.status == 0)
            #expect(!result.output.contains("priming"), "\(container) \(options)")
            #expect(try scratch.firstTime(copy, "a:0") == scratch.firstTime("exact.mp4", "a:0"))
            guard options.isEmpty else { continue }
            let given = try scratch.probe("exact.mp4", "a:0", "stream=duration_ts")
            #expect(try scratch.probe(copy, "a:0", "stream=duration_ts") == given)
        }
    }

    /// The clock begins anew in the middle.
    @Test func jumpsOfTheClockAreRemoved() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.ts", seconds: 2)
        let twice = try scratch.data("film.ts") + scratch.data("film.ts")
        try twice.write(to: URL(fileURLWithPath: scratch.path("twice.ts")))
        // The last packet before the jump may count as incomplete.
        let told = try scratch.document("remux", "twice.ts", "-o", "twice.mp4")
        #expect((told["problems"] as? [String: Any])?["discontinuities"] as? Int == 1)
        let times = try scratch.presentationTimes("twice.mp4")
        #expect(times.count == 100)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 > $0 && $1 - $0 < 0.2 })
    }

    @Test func rawStreamsGetTimesFromTheirSets() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 2)
        try scratch.remux("film.mp4", "-o", "film.h264")
        try scratch.remux("film.h264", "-o", "back.mp4")
        #expect(try scratch.frameHashes("back.mp4") == scratch.frameHashes("film.mp4"))
        let times = try zip(scratch.presentationTimes("film.mp4"), scratch.presentationTimes("back.mp4"))
        #expect(times.allSatisfy { abs($0 - $1) < 0.00001 })
        let slow = try scratch.remux("film.h264", "-o", "slow.mp4", "--input-fps", "12.5")
        #expect(try abs(#require(slow["duration"] as? Double) - 4) < 0.1)

        try scratch.ffmpeg([
            "-i", scratch.path("film.mp4"), "-map", "0:v", "-c", "copy", "-bsf:v",
            "h264_mp4toannexb,filter_units=remove_types=7-8", "-f", "h264", scratch.path("nosets.h264"),
        ])
        #expect(try scratch.vatoolbox("remux", "nosets.h264", "-o", "none.mp4").status != 0)
        #expect(!scratch.names.contains("none.mp4"))
    }
}

/// Parts of files.
@Suite struct RemuxPartTests {
    @Test(arguments: ["mp4", "mov"]) func editListsBeginAndEndExactly(container: String) throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mkv")
        let told = try scratch.remux("film.mkv", "-o", "part.\(container)", "--start", "1.5", "--duration", "1.2")
        let all = try scratch.frameHashes("film.mkv")
        // The times of the input begin with the priming of its sound.
        let times = try scratch.probe("film.mkv", "v:0", "packet=pts_time").compactMap(Double.init).sorted()
        let start = try min(times[0], scratch.firstTime("film.mkv", "a:0"))
        let inside = times.indices.filter { times[$0] - start >= 1.499 && times[$0] - start < 2.699 }
        #expect(try scratch.frameHashes("part.\(container)") == inside.map { all[$0] })
        let place = try #require(told["start"] as? [String: Any])
        #expect(place["exact"] as? Bool == true)
        #expect(try abs(#require(told["duration"] as? Double) - 1.2) < 0.001)
        let duration = try scratch.probe("part.\(container)", "a:0", "stream=duration").compactMap(Double.init)
        #expect(try abs(#require(duration.first) - 1.2) < 0.001)
        // The copy of a part hides the same, and says so where it cannot.
        try scratch.remux("part.\(container)", "-o", "again.mov")
        #expect(try scratch.frameHashes("again.mov") == inside.map { all[$0] })
        let shown = try scratch.remux("part.\(container)", "-o", "again.ts")
        #expect(scratch.lost(shown).contains("edit list"))
    }

    @Test(arguments: ["mkv", "ts", "h264"]) func othersBeginAtTheKeyFrameBefore(container: String) throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4")
        let told = try scratch.remux("film.mp4", "-o", "part.\(container)", "--start", "1.5", "--duration", "1.1")
        let place = try #require(told["start"] as? [String: Any])
        #expect(place["exact"] as? Bool == false)
        #expect(try abs(#require(place["actual"] as? Double) - 1) < 0.001)
        let all = try scratch.frameHashes("film.mp4")
        let part = try scratch.frameHashes("part.\(container)")
        // Up to two pictures after the end are needed by others.
        #expect((40...42).contains(part.count))
        #expect(part == Array(all[25..<25 + part.count]))
    }

    /// The main video determines the start; another one begins at its next key frame.
    @Test func eachVideoBeginsAtItsOwnKeyFrame() throws {
        let scratch = try Scratch()
        let second = ["-f", "lavfi", "-i", "mandelbrot=size=80x60:rate=25"]
        try scratch.generate(
            "testsrc2=size=160x90:rate=25:duration=6",
            second + ["-map", "0", "-map", "1", "-t", "6", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "2"]
                + ["-g:v:0", "25", "-g:v:1", "40", "-pix_fmt", "yuv420p", scratch.path("two.mkv")]
        )
        let (first, other) = (try scratch.frameHashes("two.mkv", "v:0"), try scratch.frameHashes("two.mkv", "v:1"))
        #expect(first.count == 150 && other.count == 150)
        for (output, begins) in [("exact.mp4", (78, 80)), ("part.mkv", (75, 80))] {
            try scratch.remux("two.mkv", "-o", output, "--start", "3.1")
            #expect(try scratch.frameHashes(output, "v:0") == Array(first[begins.0...]), "\(output)")
            #expect(try scratch.frameHashes(output, "v:1") == Array(other[begins.1...]), "\(output)")
        }
    }

    /// A start among the packets that were read ahead for a late track loses none of them.
    @Test func thePartMayBeginInWhatWasReadAhead() throws {
        let scratch = try Scratch()
        try scratch.generate(
            "testsrc2=size=64x48:rate=25:duration=6",
            ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", scratch.path("video.mkv")]
        )
        try scratch.ffmpeg([
            "-i", scratch.path("video.mkv"), "-itsoffset", "4", "-f", "lavfi", "-i", "sine=duration=2", "-map", "0:v",
            "-map", "1:a", "-c:v", "copy", "-c:a", "aac", scratch.path("late.mkv"),
        ])
        // What cannot seek is not read again.
        let command = "cat late.mkv | \(Scratch.vatoolbox) remux - -o part.mkv --start 1.2"
        let result = try scratch.run("bash", "-c", command)
        #expect(result.status == 0, "\(result.errors)")
        #expect(try scratch.frameHashes("part.mkv") == Array(scratch.frameHashes("late.mkv")[25...]))
    }

    /// If too much would be held until the start is certain, the copy begins at the last key frame that was found.
    @Test(arguments: [(256 << 20, 3.0), (1, 0.0)]) func littleIsHeldBeforeTheStart(bytes: Int, start: Double) throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.ts")
        mkfifo(scratch.path("input"), 0o600)
        // What cannot seek is read from its beginning.
        let feed = try RunningProgram(["sh", "-c", "cat film.ts > input"], in: scratch)
        var options = PacketSource.Options()
        (options.start, options.output, options.mostHeldBytes) = (MediaTime(value: 7, timescale: 2), .ts, bytes)
        let source = try PacketSource(path: scratch.path("input"), options: options)
        #expect(abs(source.start.seconds - start) < 0.1)
        var pictures = 0
        while let packet = try source.next() { if packet.track.kind == .video { pictures += 1 } }
        #expect(pictures == 100 - Int(start * 25))
        _ = feed.end()
    }

    /// What is read ahead to find the first packet of a late track belongs to the part.
    @Test(arguments: ["0", "3"]) func aTrackMayBeginAfterThePart(start: String) throws {
        let scratch = try Scratch()
        try scratch.generate(
            "testsrc2=size=64x48:rate=25:duration=60",
            ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", scratch.path("video.mkv")]
        )
        try scratch.ffmpeg([
            "-i", scratch.path("video.mkv"), "-itsoffset", "50", "-f", "lavfi", "-i", "sine=duration=5", "-map", "0:v",
            "-map", "1:a", "-c:v", "copy", "-c:a", "aac", scratch.path("late.mkv"),
        ])
        try scratch.remux("late.mkv", "-o", "part.mkv", "--start", start, "--duration", "2")
        let first = try #require(Int(start)) * 25
        let all = try scratch.frameHashes("late.mkv")
        #expect(try scratch.frameHashes("part.mkv") == Array(all[first..<first + 50]))
    }

    @Test func pipesAreReadFromTheirBeginning() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.ts")
        let result = try scratch.run(
            [Scratch.vatoolbox, "remux", "-", "-o", "part.mp4", "--start", "2.2", "--json"],
            input: scratch.path("film.ts")
        )
        #expect(result.status == 0)
        #expect(try scratch.frameHashes("part.mp4") == scratch.frameHashes("film.ts").suffix(45))
    }

    @Test func tracksAreChosenAndOrdered() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 1)
        try scratch.remux("film.mp4", "-o", "turned.mkv", "--tracks", "1,0")
        #expect(try scratch.probe("turned.mkv", "0", "stream=codec_name") == ["aac"])
        try scratch.remux("film.mp4", "-o", "sound.mp4", "--tracks", "1")
        #expect(try scratch.packetHash("sound.mp4", "a:0") == scratch.packetHash("film.mp4", "a:0"))
    }
}

/// What must not work, and what must not be left.
@Suite struct RemuxFailureTests {
    @Test(arguments: [
        (["film.mp4", "-o", "film.mp4", "--overwrite"], "same file"),
        (["film.mp4", "-o", "there.mkv"], "already exists"),
        (["film.mp4", "-o", "out.xyz"], "cannot be derived"), (["vorbis.mkv", "-o", "out.ts"], "mp4 or mkv"),
        (["vorbis.mkv", "-o", "out.h264"], "allowed h264 video"),
        (["film.mp4", "-o", "out.h265"], "allowed hevc video"),
        (["film.mp4", "-o", "out.mp4", "--start", "100"], "key frame"),
        (["film.mp4", "-o", "out.mp4", "--tracks", "0,7"], "allowed 0, 1"),
        (["film.mp4", "-o", "out.mp4", "--tracks", "0,0"], "each once"),
        (["film.mp4", "-o", "out.mp4", "--duration", "0"], "duration"),
        (["film.mp4", "-o", "out.mkv", "--fragmented"], "fragments"),
        (["film.mp4", "-o", "out.mp4", "--input-fps", "0"], "frame"),
    ])
    func isRefusedBeforeAFileIsCreated(arguments: [String], message: String) throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 1)
        try scratch.write("there.mkv", "precious")
        try scratch.generate("sine=duration=1", ["-c:a", "libvorbis", scratch.path("vorbis.mkv")])
        let before = scratch.names
        let result = try scratch.run([Scratch.vatoolbox, "remux"] + arguments)
        #expect(result.status == 2, "\(result.errors)")
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(scratch.names == before)
        #expect(scratch.text("there.mkv") == "precious")
    }

    @Test func damagedInputsAreCopiedAsFarAsTheyGo() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.ts")
        try scratch.remux("film.ts", "-o", "whole.mp4")
        let bytes = try scratch.data("whole.mp4")
        try bytes.prefix(bytes.count * 2 / 3).write(to: URL(fileURLWithPath: scratch.path("cut.mp4")))
        let result = try scratch.vatoolbox("remux", "cut.mp4", "-o", "copy.mkv", "--json")
        #expect(result.status == 3)
        #expect(result.output.contains("its header states"))
        let count = try scratch.probe("copy.mkv", "v:0", "packet=pts").count
        #expect(count > 20 && count < 100)

        try Data("no media".utf8).write(to: URL(fileURLWithPath: scratch.path("text.mp4")))
        #expect(try scratch.vatoolbox("remux", "text.mp4", "-o", "text.mkv").status == 1)
        #expect(!scratch.names.contains("text.mkv"))
    }

    @Test func videoWithoutAKeyFrameIsRefused() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 1)
        try scratch.ffmpeg([
            "-i", scratch.path("film.mp4"), "-c", "copy", "-bsf:v", "noise=drop=key", scratch.path("n.mkv"),
        ])
        let result = try scratch.vatoolbox("remux", "n.mkv", "-o", "out.mp4")
        #expect(result.status == 1)
        #expect(result.errors.contains("no key frame"))
        let part = try scratch.vatoolbox("remux", "n.mkv", "-o", "out.mp4", "--start", "0.5")
        #expect(part.status == 2 && part.errors.contains("there is no key frame before or after the start time"))
        #expect(scratch.names == ["film.mp4", "n.mkv"])
    }

    @Test func fullDeviceIsAnError() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 1)
        let result = try scratch.vatoolbox("remux", "film.mp4", "-o", "/dev/full", "--format", "ts")
        #expect(result.status == 1)
        #expect(result.errors.contains("No space left on device"))
    }

    @Test func firstSignalClosesTheFile() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mkv", seconds: 60)
        mkfifo(scratch.path("input"), 0o600)
        let program = try RunningProgram([Scratch.vatoolbox, "remux", "input", "-o", "out.ts"], in: scratch)
        // The writer keeps the FIFO open, so the input never ends.
        let feed = try RunningProgram(["sh", "-c", "exec 3>input; cat film.mkv >&3; exec sleep 600"], in: scratch)
        try program.wait(until: "something is written") { scratch.unfinishedSizes.contains { $0 > 0 } }
        program.signal(SIGINT)
        #expect(program.end() == 130)
        #expect(scratch.names.contains("out.ts"))
        #expect(try scratch.probe("out.ts", "v:0", "packet=pts").count > 0)
        feed.signal(SIGKILL)
    }

    @Test func cancellingLeavesNothing() async throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mkv", seconds: 10)
        mkfifo(scratch.path("input"), 0o600)
        let feed = try RunningProgram(["sh", "-c", "exec 3>input; cat film.mkv >&3; exec sleep 600"], in: scratch)
        let remuxer = Remuxer(RemuxRequest(input: scratch.path("input"), output: scratch.path("out.mkv")))
        let running = Task { try await remuxer.run() }
        #expect(await Patience.wait { !scratch.unfinishedSizes.isEmpty })
        running.cancel()
        let error = await #expect(throws: MediaError.self) { try await running.value }
        #expect(error?.code == .cancelled)
        #expect(!scratch.names.contains { $0.hasPrefix(".vatoolbox-") || $0 == "out.mkv" })
        await #expect(throws: MediaError.self) { try await remuxer.run() }
        feed.signal(SIGKILL)
    }
}

extension Scratch {
    /// Video with a pixel aspect ratio and colours, two audio tracks, subtitles, chapters, a font and a cover.
    func makeRichFile(_ name: String) throws {
        try write("f.ttf", "font")
        try write("s.srt", "1\n00:00:00,200 --> 00:00:01,000\nfirst\n\n2\n00:00:01,100 --> 00:00:01,900\nsecond\n")
        try write(
            "m.txt",
            ";FFMETADATA1\ntitle=My film\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=One\n"
                + "[CHAPTER]\nTIMEBASE=1/1000\nSTART=1000\nEND=2000\ntitle=Two\n"
        )
        try generate("color=red:size=64x64", ["-frames:v", "1", path("cover.jpg")])
        var arguments = [
            "-f", "lavfi", "-i", "sine=duration=2", "-f", "lavfi", "-i", "sine=300:sample_rate=48000:duration=2",
        ]
        arguments += ["-i", path("s.srt"), "-i", path("m.txt"), "-map", "0", "-map", "1", "-map", "2", "-map", "3"]
        arguments += ["-map_metadata", "4", "-map_chapters", "4", "-vf", "setsar=4/3", "-c:v", "libx264", "-g", "25"]
        arguments += [
            "-preset", "veryfast", "-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709",
        ]
        arguments += [
            "-c:a", "aac", "-c:s", "srt", "-metadata:s:a:0", "language=deu", "-metadata:s:a:0", "title=Deutsch",
        ]
        arguments += [
            "-metadata:s:a:1", "language=fra", "-metadata:s:a:1", "title=Commentary", "-disposition:a:1", "comment",
        ]
        arguments += ["-attach", path("f.ttf"), "-metadata:s:t:0", "mimetype=font/ttf"]
        arguments += ["-attach", path("cover.jpg"), "-metadata:s:t:1", "mimetype=image/jpeg", path(name)]
        try generate("testsrc2=size=160x90:rate=25:duration=2", arguments)
    }
}
