// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// `--audio-gain` and `--audio-loudness`, measured by ffmpeg in the output.
@Suite struct LoudnessTests {
    /// What ffmpeg's `ebur128` measures of the first audio track.
    private func measured(_ scratch: Scratch, _ file: String) throws -> (integrated: Double, peak: Double) {
        let result = try scratch.run([
            "ffmpeg", "-hide_banner", "-nostats", "-i", scratch.path(file), "-map", "0:a:0", "-af", "ebur128=peak=true",
            "-f",
            "null", "-",
        ])
        try #require(result.status == 0, "\(result.errors)")
        func number(_ word: String) throws -> Double {
            let found = try #require(result.errors.range(of: word, options: .backwards))
            return try #require(result.errors[found.upperBound...].split(separator: " ").first.flatMap { Double($0) })
        }
        return (try number("I:"), try number("Peak:"))
    }

    /// A clip with sound.
    private func make(_ scratch: Scratch, _ name: String, _ sounds: String..., seconds: Int = 6) throws {
        var arguments = ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=\(seconds)"]
        for sound in sounds { arguments += ["-f", "lavfi", "-i", sound] }
        for index in 0...sounds.count { arguments += ["-map", "\(index)"] }
        try scratch.ffmpeg(arguments + ["-c:v", "ffv1", "-c:a", "pcm_f32le", scratch.path(name)])
    }

    private func document(_ scratch: Scratch, _ arguments: [String]) throws -> [String: Any] {
        let text = try scratch.encode(arguments + ["--json"]).output
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private let tone = "aevalsrc='0.05*sin(2000*t)|0.03*sin(3000*t)':c=stereo:s=48000:d=6"

    @Test(arguments: [-23.0, -16, -30])
    func loudnessIsReached(target: Double) throws {
        let scratch = try Scratch()
        try make(scratch, "in.mkv", tone)
        let before = try measured(scratch, "in.mkv")
        let result = try document(
            scratch,
            [
                "in.mkv", "-o", "out.mp4", "--audio", "aac", "--audio-bitrate", "256k", "--audio-loudness",
                "\(target)",
            ]
        )
        let after = try measured(scratch, "out.mp4")
        #expect(abs(after.integrated - target) <= 0.2, "\(after)")
        let audio = try #require((result["audio"] as? [[String: Any]])?.first)
        let loudness = try #require(audio["loudness"] as? [String: Any])
        #expect(abs((loudness["measured"] as? Double ?? 0) - before.integrated) <= 0.11, "\(loudness)")
        #expect(abs((loudness["truePeak"] as? Double ?? 0) - before.peak) <= 0.21, "\(loudness)")
        #expect(loudness["limited"] as? Bool == false && loudness["target"] as? Double == target)
        #expect(abs((audio["gain"] as? Double ?? 0) - (target - before.integrated)) <= 0.11, "\(audio)")
    }

    /// Short peaks on a quiet sound do not leave room for the whole gain.
    @Test func truePeakLimitsTheGain() throws {
        let scratch = try Scratch()
        try make(scratch, "in.mkv", "aevalsrc='(0.02+0.6*lt(mod(t\\,2)\\,0.02))*sin(2000*t)':s=48000:d=6")
        let result = try scratch.encode(
            "in.mkv",
            "-o",
            "out.mkv",
            "--audio",
            "flac",
            "--audio-loudness",
            "-16",
            "--audio-true-peak",
            "-3"
        )
        let after = try measured(scratch, "out.mkv")
        #expect(abs(after.peak + 3) <= 0.2, "\(after)")
        #expect(after.integrated < -17)
        #expect(result.errors.contains("note: loudness of audio track 1 -16.0 LUFS becomes -"), "\(result.errors)")
        #expect(result.errors.contains("its true peak would exceed -3.0 dBTP"), "\(result.errors)")
    }

    /// Each output has its own target and channels; a silent track stays as it is, and the other one does not.
    @Test func outputsAndTracks() throws {
        let scratch = try Scratch()
        let surround =
            "aevalsrc='0.1*sin(900*t)|0.1*sin(1900*t)|0.2*sin(2900*t)|0.4*sin(300*t)|0.1*sin(t)|0.1*sin(600*t)'"
        try make(scratch, "in.mkv", surround + ":s=48000:c=5.1:d=6", "anullsrc=r=48000:cl=stereo:d=6")
        let result = try scratch.encode([
            "in.mkv", "--audio", "flac", "-o", "a.mkv", "--audio-loudness", "-23", "-o", "b.mkv", "--audio-loudness",
            "-20", "--audio-channels", "stereo", "-o", "c.mkv", "--audio-gain", "-6", "-o", "d.mkv",
        ])
        let (whole, mixed) = (try measured(scratch, "a.mkv"), try measured(scratch, "b.mkv"))
        #expect(abs(whole.integrated + 23) <= 0.2, "\(whole)")
        #expect(abs(mixed.integrated + 20) <= 0.2, "\(mixed)")
        let (quieter, same) = (try measured(scratch, "c.mkv"), try measured(scratch, "d.mkv"))
        #expect(abs(same.integrated - quieter.integrated - 6) <= 0.11, "\(same) \(quieter)")
        #expect(
            result.errors.contains("a.mkv: loudness of audio track 2 -23.0 LUFS becomes unchanged: the track is"),
            "\(result.errors)"
        )
        #expect(result.errors.contains("silent\n"), "\(result.errors)")
    }

    /// Only the part that is encoded counts, and sound that starts late is not louder for that.
    @Test func partsOfAnInput() throws {
        let scratch = try Scratch()
        try make(scratch, "in.mkv", "aevalsrc='(0.02+0.3*gt(t\\,3))*sin(2000*t)':s=44100:d=6")
        try scratch.ffmpeg([
            "-i", scratch.path("in.mkv"), "-itsoffset", "1.5", "-i", scratch.path("in.mkv"), "-map", "0:v", "-map",
            "1:a",
            "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", "-b:a", "200k", scratch.path("late.mp4"),
        ])
        for options in [["--duration", "2"], ["--start", "5", "--duration", "2"], []] {
            try scratch.encode(
                ["late.mp4", "-o", "out.mkv", "--audio", "flac", "--audio-loudness", "-25", "--overwrite"] + options
            )
            let after = try measured(scratch, "out.mkv")
            #expect(abs(after.integrated + 25) <= 0.3, "\(options): \(after)")
        }
    }

    @Test func gainThatClipsIsTold() throws {
        let scratch = try Scratch()
        try make(scratch, "in.mkv", "aevalsrc='0.5*sin(2000*t)':s=48000:d=1", seconds: 1)
        let loud = try scratch.encode("in.mkv", "-o", "a.mkv", "--audio", "flac", "--audio-gain", "12")
        let note = "up to 6.0 dB above full scale: the peak of the track is -6.0 dBFS"
        #expect(loud.errors.contains(note), "\(loud.errors)")
        let fine = try scratch.encode("in.mkv", "-o", "b.mkv", "--audio", "flac", "--audio-gain", "+5.5")
        #expect(!fine.errors.contains("full scale") && fine.errors.contains(", gain 5.5 dB"), "\(fine.errors)")
        #expect(abs(try measured(scratch, "b.mkv").peak + 0.5) <= 0.11)
    }

    /// The variants of a playlist share one audio rendition.
    @Test func playlists() throws {
        let scratch = try Scratch()
        try make(scratch, "in.mkv", tone)
        try scratch.encode([
            "in.mkv", "-o", "show.m3u8", "--ladder", "64p:100k,32p:50k", "--audio", "aac", "--audio-loudness", "-20",
        ])
        let after = try measured(scratch, "show.m3u8")
        #expect(abs(after.integrated + 20) <= 0.2, "\(after)")
    }

    @Test func inputsThatCanBeReadOnceAreRefused() throws {
        let scratch = try Scratch()
        try make(scratch, "in.mkv", tone)
        let result = try scratch.vatoolbox(
            "encode",
            "-",
            "-o",
            "out.mp4",
            "--audio",
            "aac",
            "--audio-loudness",
            "-23",
            input: scratch.path("in.mkv")
        )
        #expect(result.status == 2, "\(result.errors)")
        #expect(result.errors.contains("loudness is measured in a first pass"), "\(result.errors)")
        #expect(result.errors.contains("save the input to a file first"), "\(result.errors)")
        #expect(!scratch.names.contains("out.mp4"))
    }

    @Test(arguments: [
        (["--audio-loudness", "-23"], "--audio-loudness needs a codec to encode with"),
        (["--audio", "copy", "--audio-gain", "3"], "--audio-gain needs a codec to encode with"),
        (["--audio", "aac", "--audio-gain", "loud"], "--audio-gain is not valid: given loud"),
        (["--audio", "aac", "--audio-gain", "120"], "the audio gain is out of range: given 120.0 dB"),
        (["--audio", "aac", "--audio-loudness", "3"], "given 3.0 LUFS, allowed -70.0 to 0.0 LUFS"),
        (["--audio", "aac", "--audio-loudness", "-23", "--audio-true-peak", "1"], "true peak is out of range"),
        (["--audio", "aac", "--audio-loudness", "-23", "--audio-gain", "1"], "two options contradict each other"),
        (["--audio", "aac", "--audio-true-peak", "-1"], "--audio-true-peak needs --audio-loudness"),
    ])
    func badValuesAreRefused(options: [String], message: String) throws {
        let scratch = try Scratch()
        try make(scratch, "in.mkv", "sine=d=1", seconds: 1)
        let result = try scratch.run([Scratch.vatoolbox, "encode", "in.mkv", "-o", "out.mp4"] + options)
        #expect(result.status == 2 && result.errors.contains(message), "\(result.status) \(result.errors)")
        #expect(!scratch.names.contains("out.mp4"))
    }
}
