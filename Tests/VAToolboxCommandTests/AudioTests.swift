// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// What `encode` does with sound, as ffmpeg and ffprobe find it in the file.
@Suite struct AudioTests {
    /// A second of sound for each channel, a click of one sample in each at its own place, beside two seconds of video.
    ///
    /// - Parameter count: The number of samples.
    private func makeClicks(
        _ scratch: Scratch,
        _ name: String,
        rate: Int,
        count: Int,
        clicks: [Int],
        channels: Int = 1,
        offset: Double = 0
    ) throws {
        var samples = [Int16](repeating: 0, count: count * channels)
        for (channel, click) in clicks.enumerated() { samples[click * channels + channel] = 30000 }
        try samples.withUnsafeBytes { bytes in
            try Data(bytes).write(to: URL(fileURLWithPath: scratch.path("\(name).raw")))
        }
        try scratch.ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=2", "-itsoffset", "\(offset)", "-f", "s16le",
            "-ar", "\(rate)", "-ac", "\(channels)", "-i", scratch.path("\(name).raw"), "-c:v", "ffv1", "-c:a",
            "pcm_s16le",
            "-y", scratch.path(name),
        ])
    }

    /// The samples that ffmpeg decodes of a track, one array per channel, from time zero: what is before it is not.
    private func decoded(_ scratch: Scratch, _ file: String, rate: Int, channels: Int = 1) throws -> [[Int16]] {
        let raw = scratch.path("decoded.raw")
        try scratch.ffmpeg([
            "-i", scratch.path(file), "-map", "0:a:0", "-af", "atrim=start=0", "-f", "s16le", "-ar", "\(rate)", "-y",
            raw,
        ])
        let data = try Data(contentsOf: URL(fileURLWithPath: raw))
        let samples = data.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
        return (0..<channels).map { channel in
            stride(from: channel, to: samples.count, by: channels).map { samples[$0] }
        }
    }

    private func loudest(_ samples: [Int16]) -> Int? {
        samples.indices.max { samples[$0].magnitude < samples[$1].magnitude }
    }

    /// The edit list of the last track: duration in units of the movie, and first time in units of the track.
    private func edit(_ scratch: Scratch, _ file: String) throws -> (duration: Int, start: Int) {
        let data = try scratch.data(file)
        let name = try #require(data.range(of: Data("elst".utf8), options: .backwards))
        func number(_ offset: Int) -> Int {
            data[name.upperBound + offset..<name.upperBound + offset + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        #expect(number(4) == 1, "one edit")
        return (number(8), number(12))
    }

    /// The first and the last sample are in the boxes: edit list and roll group.
    @Test(arguments: [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350])
    func samplesKeepTheirPlace(rate: Int) throws {
        let scratch = try Scratch()
        let (count, click) = (rate * 2 - 777, rate + 123)
        try makeClicks(scratch, "in.mkv", rate: rate, count: count, clicks: [click])
        for output in ["out.mp4", "out.mov"] {
            let result = try scratch.encode("in.mkv", "-o", output, "--audio", "aac", "--preset", "ultrafast")
            #expect(result.errors.contains("encoded from pcm_s16le"), "\(result.errors)")
            #expect(loudest(try decoded(scratch, output, rate: rate)[0]) == click, "\(output)")
            let edit = try edit(scratch, output)
            #expect(edit.duration == count && edit.start == 1024, "\(output): \(edit)")
            #expect(try scratch.data(output).range(of: Data("roll".utf8)) != nil)
        }
    }

    @Test(arguments: ["out.mkv", "out.ts", "fragmented.mp4"])
    func soundIsInStepInOtherContainers(output: String) throws {
        let scratch = try Scratch()
        try makeClicks(scratch, "in.mkv", rate: 48000, count: 96000, clicks: [48123])
        let options = output.hasPrefix("fragmented") ? ["--fragmented"] : []
        try scratch.encode(["in.mkv", "-o", output, "--audio", "aac"] + options)
        // By the times of the packets, against the first picture's.
        let start = try scratch.firstTime(output, "v:0")
        let raw = scratch.path("decoded.raw")
        try scratch.ffmpeg([
            "-copyts", "-i", scratch.path(output), "-map", "0:a:0", "-af",
            "asetpts=PTS-\(start)/TB,aresample=async=1:first_pts=0",
            "-f", "s16le", "-y", raw,
        ])
        let data = try Data(contentsOf: URL(fileURLWithPath: raw))
        let click = try #require(loudest(data.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }))
        // Matroska has milliseconds, and its packets' rounding and the picture's differ.
        #expect(abs(click - 48123) <= (output == "out.mkv" ? 48 : 1), "\(click)")
    }

    @Test(arguments: [
        ("opus", "out.mkv"), ("opus", "out.mp4"), ("flac", "out.mkv"), ("pcm", "out.mov"), ("pcm", "out.mkv"),
    ])
    func otherCodecs(codec: String, output: String) throws {
        let scratch = try Scratch()
        try makeClicks(scratch, "in.mkv", rate: 48000, count: 90000, clicks: [40000])
        try scratch.encode("in.mkv", "-o", output, "--audio", codec)
        let name = try #require(try scratch.probe(output, "a:0", "stream=codec_name").first)
        #expect(name == (codec == "pcm" ? "pcm_s16le" : codec))
        #expect(loudest(try decoded(scratch, output, rate: 48000)[0]) == 40000)
    }

    /// Each channel stays what it is.
    @Test(arguments: [1, 2, 6, 8])
    func channelsKeepTheirOrder(channels: Int) throws {
        let scratch = try Scratch()
        // The subwoofer of 5.1 and 7.1 has no high frequencies, and so no click.
        let clicks = (0..<channels).map { 20000 + 5000 * $0 }
        try makeClicks(scratch, "in.mkv", rate: 48000, count: 90000, clicks: clicks, channels: channels)
        try scratch.encode("in.mkv", "-o", "out.mp4", "--audio", "aac", "--audio-bitrate", "\(200 * channels)k")
        let samples = try decoded(scratch, "out.mp4", rate: 48000, channels: channels)
        for channel in 0..<channels where !(channels > 2 && channel == 3) {
            #expect(loudest(samples[channel]) == clicks[channel], "channel \(channel)")
        }
        #expect(try scratch.probe("out.mp4", "a:0", "stream=channels").first == "\(channels)")
    }

    @Test func soundThatStartsLateOrEarly() throws {
        let scratch = try Scratch()
        try makeClicks(scratch, "late.mkv", rate: 48000, count: 48000, clicks: [100], offset: 0.5)
        try scratch.encode("late.mkv", "-o", "late.mp4", "--audio", "aac")
        #expect(loudest(try decoded(scratch, "late.mp4", rate: 48000)[0]) == 24100)
        #expect(try edit(scratch, "late.mp4") == (72000, 1024))

        // The part from 0.6 s on: its sound begins with the first packet after that.
        try scratch.encode(
            "late.mkv",
            "-o",
            "part.mp4",
            "--audio",
            "flac",
            "--start",
            "0.1",
            "--duration",
            "0.7",
            "--format",
            "mkv"
        )
        let samples = try decoded(scratch, "part.mp4", rate: 48000)[0]
        #expect(samples.count == 33600)
        #expect(loudest(samples) == 19300)
    }

    @Test func holesAreToldAndFilled() throws {
        let scratch = try Scratch()
        try scratch.ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=4", "-f", "lavfi", "-i", "sine=r=48000:d=4",
            "-af",
            "aselect='not(between(t,1,2))'", "-c:v", "ffv1", "-c:a", "pcm_s16le", scratch.path("in.mkv"),
        ])
        let result = try scratch.encode("in.mkv", "-o", "out.mp4", "--audio", "aac")
        #expect(
            result.errors.contains("note: audio track 1 with 1 timestamp jump becomes continuous, 1.00"),
            "\(result.errors)"
        )
        let samples = try decoded(scratch, "out.mp4", rate: 48000)[0]
        #expect(samples[60000..<90000].allSatisfy { $0.magnitude < 20 })
        #expect(samples[100_000..<190_000].contains { $0.magnitude > 1000 })
    }

    /// A lost packet that is shorter than any hole of a device: what follows keeps its place.
    @Test func lostPacketsOfAAC() throws {
        let scratch = try Scratch()
        var samples = [Int16](repeating: 0, count: 96000)
        for click in [20000, 70000] { samples[click] = 30000 }
        try samples.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: scratch.path("in.raw"))) }
        try scratch.ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=2", "-f", "s16le", "-ar", "48000", "-ac", "1",
            "-i",
            scratch.path("in.raw"), "-c:v", "ffv1", "-c:a", "aac", "-b:a", "256k", "-bsf:a", "noise=drop=eq(n\\,40)",
            scratch.path("in.mov"),
        ])
        let result = try scratch.encode("in.mov", "-o", "out.mkv", "--audio", "flac")
        #expect(!result.errors.contains("drift"), "\(result.errors)")
        let decoded = try decoded(scratch, "out.mkv", rate: 48000)[0]
        let loud = decoded.indices.filter { decoded[$0].magnitude > 15000 }
        #expect(loud == [20000, 70000])
    }

    /// Full scale in all channels does not exceed it in two.
    @Test func mixingDoesNotClip() throws {
        let scratch = try Scratch()
        try scratch.ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=1", "-f", "lavfi", "-i",
            "aevalsrc=0.99*sin(2000*t)|0.99*sin(2000*t)|0.99*sin(2000*t)|0|0.99*sin(2000*t)|0.99*sin(2000*t):c=5.1:d=1",
            "-c:v", "ffv1", "-c:a", "pcm_f32le", scratch.path("in.mkv"),
        ])
        try scratch.encode("in.mkv", "-o", "out.mkv", "--audio", "pcm", "--audio-channels", "stereo")
        let samples = try decoded(scratch, "out.mkv", rate: 48000, channels: 2)
        let loudest = samples[0].map(\.magnitude).max() ?? 0
        #expect(loudest > 31000 && loudest < 32700, "\(loudest)")
    }

    /// A codec that the container lacks is encoded, unless copying was asked for.
    @Test func copiesWhereItCan() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let copied = try scratch.encode("clip.mkv", "-o", "a.mp4", "--json")
        let document = try JSONSerialization.jsonObject(with: Data(copied.output.utf8)) as? [String: Any]
        let audio = try #require((document?["audio"] as? [[String: Any]])?.first)
        #expect(audio["copied"] as? Bool == true && audio["codec"] as? String == "aac")
        #expect(try scratch.packetHash("a.mp4", "a:0") == scratch.packetHash("clip.mkv", "a:0"))

        try scratch.ffmpeg([
            "-i", scratch.path("clip.mkv"), "-c:v", "copy", "-c:a", "pcm_s16le", scratch.path("pcm.mkv"),
        ])
        let encoded = try scratch.encode("pcm.mkv", "-o", "b.ts")
        #expect(encoded.errors.contains("note: audio track 1 pcm_s16le becomes aac"), "\(encoded.errors)")
        #expect(try scratch.probe("b.ts", "a:0", "stream=codec_name").first == "aac")
        let omitted = try scratch.encode("pcm.mkv", "-o", "c.ts", "--audio", "copy")
        #expect(omitted.errors.contains("warning: omitted: audio track 1"), "\(omitted.errors)")
        #expect(try scratch.probe("c.ts", "a:0", "stream=codec_name").isEmpty)
        let none = try scratch.encode("clip.mkv", "-o", "d.mp4", "--audio", "none")
        #expect(!none.errors.contains("omitted"))
        #expect(try scratch.probe("d.mp4", "a:0", "stream=codec_name").isEmpty)
    }

    @Test func tracksAreChosenAndOrdered() throws {
        let scratch = try Scratch()
        try scratch.ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=1", "-f", "lavfi", "-i", "sine=f=300:d=1", "-f",
            "lavfi", "-i", "sine=f=600:d=1", "-f", "lavfi", "-i", "sine=f=900:d=1", "-map", "0", "-map", "1", "-map",
            "2",
            "-map", "3", "-c:v", "ffv1", "-c:a", "flac", "-metadata:s:a:0", "language=deu", "-metadata:s:a:1",
            "language=fra", "-metadata:s:a:2", "language=jpn", scratch.path("in.mkv"),
        ])
        try scratch.encode("in.mkv", "-o", "out.mkv", "--audio-tracks", "3,1", "--audio", "aac")
        let tags = try scratch.probe("out.mkv", "a", "stream_tags=language")
        #expect(tags == ["jpn", "deu"])
        let bad = try scratch.run([Scratch.vatoolbox, "encode"] + ["in.mkv", "-o", "bad.mkv", "--audio-tracks", "4"])
        #expect(bad.errors.contains("given 4, allowed 1 to 3, each once"), "\(bad.errors)")
        #expect(!scratch.names.contains("bad.mkv"))
    }

    @Test(arguments: [
        (["--audio", "mp3"], "--audio is not valid: given mp3, allowed auto, copy, none, aac, opus, flac, pcm"),
        (["--audio-bitrate", "64k"], "--audio-bitrate needs a codec to encode with"),
        (["--audio", "aac", "--audio-bitrate", "1"], "allowed 8000 to 264600 bit/s"),
        (["--audio", "flac", "--audio-bitrate", "64k"], "flac has no audio bitrate"),
        (["--audio", "aac", "--audio-rate", "5"], "given 5 Hz, allowed 1000 to 768000 Hz"),
        (["--audio", "aac", "--audio-channels", "9.1"], "--audio-channels is not valid: given 9.1"),
        (["--audio", "none", "--audio-tracks", "1"], "two options contradict each other"),
        (["--audio-tracks", "1,x"], "--audio-tracks is not valid: given 1,x"),
        (["--audio-tracks", "1,1"], "given 1,1, allowed 1 to 1, each once"),
        (["--audio", "pcm"], "mp4 does not support pcm_s16le"),
    ])
    func badValuesAreRefused(options: [String], message: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        try scratch.ffmpeg([
            "-i", scratch.path("clip.mkv"), "-c:v", "copy", "-c:a", "pcm_s16le", scratch.path("in.mkv"),
        ])
        // FFmpeg 7 can store PCM in MP4.
        if options == ["--audio", "pcm"], try scratch.tool("ffmpeg", "-version").contains("version 7") { return }
        let result = try scratch.run([Scratch.vatoolbox, "encode"] + ["in.mkv", "-o", "out.mp4"] + options)
        #expect(result.status == 2 && result.errors.contains(message), "\(result.status) \(result.errors)")
        #expect(!scratch.names.contains("out.mp4"))
    }

    /// Damaged packets become silence of the same length.
    @Test func damagedSound() throws {
        let scratch = try Scratch()
        try scratch.ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=4", "-f", "lavfi", "-i", "sine=r=48000:d=4",
            "-c:v",
            "ffv1", "-c:a", "flac", "-bsf:a", "noise=drop=eq(n\\,20)", scratch.path("in.mkv"),
        ])
        let result = try scratch.run([Scratch.vatoolbox, "encode"] + ["in.mkv", "-o", "out.mp4", "--audio", "aac"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(abs(try edit(scratch, "out.mp4").duration - 192_000) < 60)
    }
}
