// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// Sound with faults, encoded by the command: what is heard stays at its place beside the pictures.
///
/// Clicks of one sample mark places of the input; those of the output are found by decoding it with ffmpeg.
@Suite struct BadAudioTests {
    private static let rate = 48000

    /// Writes samples of clicks, as raw PCM.
    private func writeClicks(
        _ scratch: Scratch,
        _ name: String,
        _ clicks: [Int],
        count: Int,
        channels: Int = 1
    ) throws {
        var samples = [Int16](repeating: 0, count: count * channels)
        for click in clicks { samples[click * channels] = 30000 }
        try samples.withUnsafeBytes { bytes in
            try Data(bytes).write(to: URL(fileURLWithPath: scratch.path(name)))
        }
    }

    private func raw(_ scratch: Scratch, _ name: String, rate: Int = rate, channels: Int = 1) -> [String] {
        ["-f", "s16le", "-ar", "\(rate)", "-ac", "\(channels)", "-i", scratch.path(name)]
    }

    private func video(_ seconds: Int, rate: String = "25") -> [String] {
        ["-f", "lavfi", "-i", "testsrc2=size=64x64:rate=\(rate):duration=\(seconds)"]
    }

    private let quick = ["-c:v", "libx264", "-preset", "ultrafast"]

    /// The samples above a level in the output, from time zero, without the neighbours of louder ones.
    private func clicks(
        _ scratch: Scratch,
        _ file: String,
        rate: Int = rate,
        above level: Int = 6000
    ) throws -> (places: [Int], count: Int) {
        let raw = scratch.path("decoded.raw")
        try scratch.ffmpeg([
            "-i", scratch.path(file), "-map", "0:a:0", "-af", "atrim=start=0", "-f", "s16le", "-ac", "1", "-ar",
            "\(rate)", "-y", raw,
        ])
        let data = try Data(contentsOf: URL(fileURLWithPath: raw))
        return data.withUnsafeBytes { bytes in
            let samples = bytes.bindMemory(to: Int16.self)
            var places: [Int] = []
            for index in samples.indices where samples[index].magnitude > level {
                if let last = places.last, index - last < 100 {
                    if samples[index].magnitude > samples[last].magnitude { places[places.count - 1] = index }
                } else {
                    places.append(index)
                }
            }
            return (places, samples.count)
        }
    }

    private func encode(_ scratch: Scratch, _ input: String, _ output: String) throws -> ProgramResult {
        try scratch.encode([
            input, "-o", output, "--audio", "aac", "--audio-bitrate", "256k", "--preset", "ultrafast", "--verify",
        ])
    }

    @Test func startsFiveSecondsLate() throws {
        let scratch = try Scratch()
        try writeClicks(scratch, "in.raw", [123, 40000], count: 48000)
        let sound = ["-itsoffset", "5"] + raw(scratch, "in.raw")
        try scratch.ffmpeg(video(7) + sound + quick + ["-c:a", "pcm_s16le", scratch.path("in.mov")])
        let result = try encode(scratch, "in.mov", "out.mp4")
        #expect(!result.errors.contains("timestamp jump"), "\(result.errors)")
        let found = try clicks(scratch, "out.mp4")
        #expect(found.places == [240_123, 280_000])
    }

    @Test func hasHoles() throws {
        let scratch = try Scratch()
        let marks = [30000, 150_000, 290_000]
        try writeClicks(scratch, "in.raw", marks, count: 336_000)
        // Whole packets of 1024 samples are missing: from 1 s to 2 s, and from 4 s to 5.5 s.
        let holes = "aselect='not(between(t,1,2)+between(t,4,5.5))'"
        try scratch.ffmpeg(
            video(7) + raw(scratch, "in.raw") + ["-af", holes] + quick + ["-c:a", "pcm_s16le", scratch.path("in.mkv")]
        )
        let result = try encode(scratch, "in.mkv", "out.mp4")
        #expect(result.errors.contains("audio track 1 with 2 timestamp jumps becomes continuous"), "\(result.errors)")
        let found = try clicks(scratch, "out.mp4")
        // Matroska has times in milliseconds.
        #expect(found.places.count == 3)
        for (place, mark) in zip(found.places, marks) { #expect(abs(place - mark) <= 48, "\(found.places)") }
    }

    @Test func endsEarly() throws {
        let scratch = try Scratch()
        try writeClicks(scratch, "in.raw", [47000], count: 48001)
        try scratch.ffmpeg(
            video(6) + raw(scratch, "in.raw") + quick + ["-c:a", "pcm_s16le", scratch.path("in.mov")]
        )
        let result = try encode(scratch, "in.mov", "out.mp4")
        #expect(result.status == 0)
        #expect(try clicks(scratch, "out.mp4").places == [47000])
        #expect(try scratch.decodedFrameCount("out.mp4") == 150)
        let duration = try #require(try scratch.probe("out.mp4", "a:0", "stream=duration").first.flatMap(Double.init))
        #expect(abs(duration - 48001.0 / 48000) < 0.0001)
    }

    /// A transport stream whose sound changes at 3 s, as between programmes.
    @Test(arguments: [(44100, 1), (32000, 1), (48000, 2), (44100, 2)])
    func changesInMidStream(rate: Int, channels: Int) throws {
        let scratch = try Scratch()
        let parts = [("a", Self.rate, 1, 0), ("b", rate, channels, 3)]
        for (name, rate, channels, start) in parts {
            // Clicks at 0.5, 1.5 and 2.5 s.
            let marks = [1, 3, 5].map { $0 * rate / 2 }
            try writeClicks(scratch, "\(name).raw", marks, count: rate * 3, channels: channels)
            try scratch.ffmpeg(
                video(3) + raw(scratch, "\(name).raw", rate: rate, channels: channels) + quick
                    + ["-c:a", "aac", "-b:a", "\(192 * channels)k", "-output_ts_offset", "\(start)"]
                    + ["-muxdelay", "0", "-muxpreload", "0", scratch.path("\(name).ts")]
            )
        }
        let joined = try scratch.data("a.ts") + scratch.data("b.ts")
        try joined.write(to: URL(fileURLWithPath: scratch.path("in.ts")))
        let result = try scratch.run([
            Scratch.vatoolbox, "encode", "in.ts", "-o", "out.mp4", "--audio", "aac", "--audio-bitrate", "256k",
            "--preset", "ultrafast",
        ])
        // The end of the first part may count as damage.
        #expect(result.status == 0 || result.status == 3, "\(result.errors)")
        // At most the seam, where the second encoder's priming overlaps the first one's end.
        let jumps = result.errors.contains("timestamp jump") ? result.errors.contains("with 1 timestamp jump ") : true
        #expect(jumps, "\(result.errors)")
        let shifts = try ["a.ts", "b.ts"].map { try scratch.firstTime($0, "v:0") }
        let found = try clicks(scratch, "out.mp4", above: 4000)
        #expect(found.places.count == 6, "\(found.places)")
        for (index, place) in found.places.enumerated() {
            // From the first picture of its part, which is later than zero by the priming of the sound.
            let expected = (shifts[index / 3] + 0.5 + Double(index % 3)) * Double(Self.rate)
            #expect(abs(Double(place) - expected) <= 48, "\(found.places) \(shifts)")
        }
    }

    /// Rates that are no multiples of each other do not drift apart: 44.1 kHz beside 29.97 frames per second, for a minute
    /// or the seconds in `VATOOLBOX_ODD_RATES`.
    @Test(arguments: ["mov", "mkv", "ts"])
    func oddRatesStayInStep(container: String) throws {
        let scratch = try Scratch()
        let rate = 44100
        let seconds = ProcessInfo.processInfo.environment["VATOOLBOX_ODD_RATES"].flatMap(Int.init) ?? 60
        let marks = stride(from: 10, to: seconds, by: 23).map { $0 * rate + 77 }
        try writeClicks(scratch, "in.raw", marks, count: seconds * rate)
        let codec = container == "ts" ? ["-c:a", "aac", "-b:a", "192k"] : ["-c:a", "pcm_s16le"]
        try scratch.ffmpeg(
            video(seconds, rate: "30000/1001") + raw(scratch, "in.raw", rate: rate) + quick + ["-g", "300"] + codec
                + [scratch.path("in.\(container)")]
        )
        let result = try scratch.encode([
            "in.\(container)", "-o", "out.mp4", "--audio", "aac", "--audio-bitrate", "192k", "--preset", "ultrafast",
        ])
        #expect(!result.errors.contains("timestamp jump") && !result.errors.contains("drift"), "\(result.errors)")
        let found = try clicks(scratch, "out.mp4", rate: rate)
        #expect(found.places.count == marks.count)
        // The start of the sound beside the pictures is exact to a tick of the container, and then nothing moves.
        let shift = (found.places.first ?? 0) - marks[0]
        #expect(abs(shift) <= (container == "mov" ? 0 : container == "mkv" ? 45 : 1100), "\(shift)")
        #expect(found.places.map { $0 - shift } == marks, "\(found.places)")
    }
}
