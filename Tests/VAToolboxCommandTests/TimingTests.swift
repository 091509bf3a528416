// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaIO
import MediaTypes
import Testing

@Suite struct TimingTests {
    @Test func variableFrameRateIsKept() throws {
        let scratch = try Scratch()
        try scratch.generate(
            "testsrc2=size=160x90:rate=30:duration=2",
            [
                "-vf", "select='not(mod(n\\,7))+not(mod(n\\,5))+lt(n\\,9)'", "-vsync", "vfr", "-c:v", "libx264",
                "-qp", "10", scratch.path("vfr.mkv"),
            ]
        )
        try scratch.encode("vfr.mkv", "-o", "out.mp4", "--crf", "12")
        let (expected, times) = try (scratch.presentationTimes("vfr.mkv"), scratch.presentationTimes("out.mp4"))
        #expect(times.count == expected.count && expected.count > 20)
        #expect(zip(expected, times).allSatisfy { abs($0 - $1) < 0.0015 })
        #expect(try scratch.worstPSNR("vfr.mkv", "out.mp4") > 36)
    }

    @Test func startAndDurationCutOutAPart() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 3)
        try scratch.encode("clip.mkv", "-o", "out.mp4", "--start", "00:01", "--duration", "1.2", "--crf", "12")
        #expect(try scratch.decodedFrameCount("out.mp4") == 30)
        #expect(try scratch.worstPSNR("clip.mkv", "out.mp4", filter: "trim=start_frame=25:end_frame=55") > 36)
        let sound = try scratch.probe("out.mp4", "a:0", "stream=duration").first.flatMap(Double.init)
        #expect(abs((sound ?? 0) - 1.2) < 0.08)
    }

    @Test(arguments: [("50", 50, 0.02), ("12.5", 13, 0.08), ("30000/1001", 30, 1001.0 / 30000)])
    func convertsTheFrameRate(rate: String, count: Int, interval: Double) throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        try scratch.encode("clip.mkv", "-o", "out.mp4", "--fps", rate)
        let times = try scratch.presentationTimes("out.mp4")
        #expect(times.count == count)
        #expect(zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - interval) < 0.0001 })
    }

    /// Where the sound comes first, zero of the time line is in its unit.
    @Test func exactFrameRateStaysWhereTheSoundComesFirst() throws {
        let scratch = try Scratch()
        try scratch.generate(
            "sine=sample_rate=44100:duration=2",
            [
                "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=30000/1001:duration=2", "-map", "0", "-map", "1",
                "-c:a",
                "aac", "-c:v", "libx264", "-bf", "0", "-pix_fmt", "yuv420p", scratch.path("clip.mp4"),
            ]
        )
        try scratch.encode("clip.mp4", "-o", "out.mp4", "--preset", "ultrafast")
        let times = try scratch.probe("out.mp4", "v:0", "packet=pts").compactMap(Int.init).sorted()
        #expect(times.count == 60)
        #expect(Set(zip(times, times.dropFirst()).map { $1 - $0 }).count == 1, "\(times.prefix(4))")
        #expect(try scratch.probe("out.mp4", "v:0", "stream=time_base") == ["1/30000"])
    }

    /// Two bytes of text with each picture, by their number. Each pair comes once, and none is lost.
    @Test(arguments: [("50", 100), ("12.5", 25), ("25", 50)])
    func captionsComeOnceAtAnyFrameRate(rate: String, count: Int) throws {
        let scratch = try Scratch()
        let delimiter: [UInt8] = [0, 0, 0, 1, 9]
        try scratch.generate(
            "testsrc2=size=64x48:rate=25:duration=2",
            ["-c:v", "libx264", "-bf", "0", "-aud", "1", "-pix_fmt", "yuv420p", scratch.path("plain.h264")]
        )
        func pair(_ index: Int) -> [UInt8] { [0xFC, 0x41 + UInt8(index % 26), 0x61 + UInt8(index % 26)] }
        let units = try [UInt8](scratch.data("plain.h264")).split(separator: delimiter)
        try #require(units.count == 50)
        let stream = units.enumerated().flatMap { index, unit in
            // ATSC A/53 part 4, 6.2.3: one triplet.
            let message = [0xB5, 0, 0x31] + Array("GA94".utf8) + [3, 0x41, 0xFF] + pair(index) + [0xFF]
            let captions = [0, 0, 0, 1, 6, 4, UInt8(message.count)] + message + [0x80]
            return delimiter + unit.prefix(1) + captions + unit.dropFirst(1)
        }
        try Data(stream).write(to: URL(fileURLWithPath: scratch.path("clip.h264")))
        try scratch.encode("clip.h264", "-o", "out.mp4", "--preset", "ultrafast", "--fps", rate)
        var found: [[UInt8]] = []
        let source = try MediaSource(path: scratch.path("out.mp4"))
        while case .frame(let frame)? = try source.next() { found.append(frame.buffer.attachments.captions) }
        #expect(found.count == count)
        let text = found.flatMap { $0 }
        #expect(text == (0..<50).flatMap(pair), "\(found.prefix(4))")
    }

    @Test func realTimePacesFilesAndAccountsForEveryFrame() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let document = try scratch.document("encode", "clip.mkv", "-o", "out.mp4", "--realtime")
        let frames = try #require(document["frames"] as? [String: Int])
        #expect(frames["in"] == 25)
        #expect((frames["out"] ?? 0) + (frames["dropped"] ?? 0) == 25)
        #expect(try #require(document["wallTime"] as? Double) > 0.9, "the last frame is shown after 0.96 s")
    }
}
