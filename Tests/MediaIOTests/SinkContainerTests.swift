// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import MediaIO

@Suite struct SinkContainerTests {
    @Test(arguments: ["a.h264", "a.mp4", "a.mov", "a.mkv", "a.ts", "A.M4V"])
    func everyContainerDecodesToTheSameFrames(name: String) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let summary = try writeSamples(video.samples, to: folder.path(name))
        #expect(try folder.contents == [name])
        #expect(try frameHashes(of: folder.path(name)) == video.hashes)
        #expect(summary.sampleCount == 16)
        #expect(summary.duration == MediaTime(value: 16, timescale: 25))
        let size = try FileManager.default.attributesOfItem(atPath: folder.path(name))[.size] as? Int64
        #expect(summary.byteCount == size)
    }

    @Test(arguments: ["a.h265", "a.mp4", "a.mov", "a.mkv", "a.ts"], [false, true])
    func hevcToo(name: String, isFragmented: Bool) throws {
        guard !isFragmented || name == "a.mp4" || name == "a.mov" else { return }
        let video = try EncodedVideo.hevc.get()
        let folder = try SinkFolder()
        try writeSamples(video.samples, to: folder.path(name), .init { $0.isFragmented = isFragmented })
        #expect(try frameHashes(of: folder.path(name)) == video.hashes)
        guard name == "a.mp4" || name == "a.mov" else { return }
        #expect(try Probe(folder.path(name)).streams[0].codec_tag_string == (isFragmented ? "hev1" : "hvc1"))
    }

    @Test(arguments: [("a.mp4", "25"), ("b.mp4", "24000/1001"), ("c.mov", "1000/7")], [false, true])
    func movieTimesAreExact(output: (name: String, rate: String), isFragmented: Bool) throws {
        let video = try EncodedVideo(rate: output.rate)
        let folder = try SinkFolder()
        try writeSamples(video.samples, to: folder.path(output.name), .init { $0.isFragmented = isFragmented })
        let probe = try Probe(folder.path(output.name))
        let timescale = try #require(Int32(probe.streams[0].time_base.dropFirst(2)))
        #expect(probe.packets.count == video.samples.count)
        for (packet, sample) in zip(probe.packets, video.samples) {
            #expect(MediaTime(value: packet.pts ?? -1, timescale: timescale) == sample.presentationTime)
            #expect(MediaTime(value: packet.dts ?? -1, timescale: timescale) == sample.decodeTime)
            #expect(MediaTime(value: packet.duration ?? -1, timescale: timescale) == sample.duration)
            #expect(packet.flags.hasPrefix("K") == sample.isKeyFrame)
        }
        let length = video.samples.reduce(MediaTime.zero) { $0 + $1.duration }
        #expect(abs(try #require(Double(probe.format.duration ?? "")) - length.seconds) < 0.002)
    }

    @Test func matroskaRoundsPresentationTimesToTheNearestMillisecond() throws {
        let video = try EncodedVideo(rate: "24000/1001")
        let folder = try SinkFolder()
        let path = folder.path("a.mkv")
        try writeSamples(video.samples, to: path, .init { $0.frameRate = Rational(24000, 1001) })
        let probe = try Probe(path)
        #expect(probe.packets.map(\.pts) == video.samples.map { $0.presentationTime.converted(to: 1000).value })
        #expect(probe.streams[0].avg_frame_rate == "24000/1001")
    }

    @Test func transportStreamKeepsTimesButForOneOffset() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        try writeSamples(video.samples, to: folder.path("a.ts"))
        let packets = try Probe(folder.path("a.ts")).packets
        let firstTime = try #require(packets.first?.dts)
        let first = video.samples[0].decodeTime
        #expect(packets.map { ($0.pts ?? 0) - firstTime } == video.samples.map { ticks($0.presentationTime - first) })
        #expect(packets.map { ($0.dts ?? 0) - firstTime } == video.samples.map { ticks($0.decodeTime - first) })
        #expect(packets.filter { $0.flags.hasPrefix("K") }.count == 4)
    }

    private func ticks(_ time: MediaTime) -> Int64 { time.converted(to: 90000).value }

    @Test func transportStreamsLeaveDecodersTimeToFillTheirBuffers() throws {
        let folder = try SinkFolder()
        try writeSamples(EncodedVideo.standard.get().samples, to: folder.path("a.ts"))
        let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: folder.path("a.ts"))))
        // The first adaptation field with a PCR, ISO/IEC 13818-1 2.4.3.4.
        let starts = Array(stride(from: 0, to: bytes.count, by: 188))
        func hasClock(_ start: Int) -> Bool {
            guard bytes[start + 3] & 0x20 != 0, bytes[start + 4] > 6 else { return false }
            return bytes[start + 5] & 0x10 != 0
        }
        let start = try #require(starts.first(where: hasClock))
        var clock: Int64 = 0
        for byte in bytes[start + 6..<start + 10] { clock = clock << 8 | Int64(byte) }
        clock <<= 1
        let decodeTime = try #require(Probe(folder.path("a.ts")).packets.first?.dts)
        #expect((45_000...126_000).contains(decodeTime - clock), "\(decodeTime) - \(clock)")
    }

    @Test func variableFrameRateKeepsItsTimes() throws {
        let folder = try SinkFolder()
        let video = try EncodedVideo(options: ["-bf", "0", "-g", "4"])
        let starts: [Int64] = [0, 41, 42, 100, 133, 1000, 1001, 1013, 2000, 5000, 5001, 5040, 5041, 5042, 6000, 7000]
        let samples = zip(video.samples, starts).map { sample, start in
            sample.changed {
                $0.presentationTime = MediaTime(value: start, timescale: 1000)
                $0.decodeTime = $0.presentationTime
                $0.duration = .invalid
            }
        }
        for name in ["a.mp4", "a.mkv"] {
            try writeSamples(samples, to: folder.path(name))
            let probe = try Probe(folder.path(name))
            #expect(probe.packets.compactMap { Double($0.pts_time ?? "") } == starts.map { Double($0) / 1000 })
        }
    }

    @Test func theIndexStandsBeforeTheMediaData() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        try writeSamples(video.samples, to: folder.path("a.mp4"))
        let types = try boxTypes(of: folder.path("a.mp4"))
        #expect(types.filter { ["moov", "mdat"].contains($0) } == ["moov", "mdat"])
        #expect(!types.contains("moof"))
        #expect(try Probe(folder.path("a.mp4")).streams[0].codec_tag_string == "avc1")
    }

    @Test(arguments: ["a.mp4", "a.mov"])
    func fragmentsBeginAtKeyFramesAndCarryParameterSets(name: String) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        try writeSamples(video.samples, to: folder.path(name), .init { $0.isFragmented = true })
        let types = try boxTypes(of: folder.path(name))
        #expect(types.filter { $0 == "moof" }.count == 4)
        #expect(types.first { ["moov", "moof", "mdat"].contains($0) } == "moov")
        #expect(try frameHashes(of: folder.path(name)) == video.hashes)
        #expect(try Probe(folder.path(name)).streams[0].codec_tag_string == "avc3")
        #expect(try parameterSetCounts(of: folder.path(name)) == video.samples.map { $0.isKeyFrame ? 2 : 0 })
    }

    @Test(arguments: [("a.h264", true), ("a.ts", true), ("a.mp4", false), ("a.mkv", false)])
    func onlyStreamsCarryParameterSetsInBand(name: String, inBand: Bool) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        try writeSamples(video.samples, to: folder.path(name))
        let expected = video.samples.map { $0.isKeyFrame && inBand ? 2 : 0 }
        #expect(try parameterSetCounts(of: folder.path(name)) == expected)
    }

    @Test(arguments: ["a.h264", "a.mp4", "a.mov", "a.mkv", "a.ts"], [false, true])
    func parameterSetsMayChangeAtAKeyFrame(name: String, isFragmented: Bool) throws {
        guard !isFragmented || name.hasPrefix("a.m") && name != "a.mkv" else { return }
        let (first, second) = (try EncodedVideo.standard.get(), try EncodedVideo.other.get())
        try #require(first.format.parameterSets != second.format.parameterSets)
        let end = MediaTime(value: 16, timescale: 25)
        let later = second.samples.enumerated().map { index, sample in
            sample.changed {
                $0.presentationTime = $0.presentationTime + end
                $0.decodeTime = $0.decodeTime + end
                $0.formatDescriptionChanged = index == 0
            }
        }
        let folder = try SinkFolder()
        try writeSamples(first.samples + later, to: folder.path(name), .init { $0.isFragmented = isFragmented }) {
            $0.repeatsParameterSets = true
        }
        #expect(try frameHashes(of: folder.path(name)) == first.hashes + second.hashes)
        let counts = try parameterSetCounts(of: folder.path(name))
        // Also before the change: a player that goes back has forgotten what the header said.
        #expect(counts == (first.samples + second.samples).map { $0.isKeyFrame ? 2 : 0 })
        if name != "a.h264", name != "a.mkv", name != "a.ts" {
            #expect(try Probe(folder.path(name)).streams[0].codec_tag_string == "avc3")
        }
    }

    /// How many parameter sets each packet of the first stream has, as ffmpeg's parser of the syntax sees them.
    private func parameterSetCounts(of path: String) throws -> [Int] {
        let log = try runTool(
            "ffmpeg",
            ["-hide_banner", "-nostats", "-i", path, "-map", "0:v", "-c", "copy"]
                + ["-bsf:v", "trace_headers", "-f", "null", "-"]
        ).errors
        var counts: [Int] = []
        for line in log.split(separator: "\n") where line.hasPrefix("[trace_headers") {
            if line.contains("] Packet: ") { counts.append(0) }
            guard !counts.isEmpty, line.hasSuffix("Parameter Set") else { continue }
            counts[counts.count - 1] += 1
        }
        return counts
    }

    @Test(arguments: ["a.mp4", "a.mov", "a.mkv"])
    func colorAspectAndHDRReachTheContainer(name: String) throws {
        let primary = MasteringDisplay.Chromaticity(x: 34000, y: 16000)
        let attachments = PixelAttachments(
            masteringDisplay: MasteringDisplay(
                red: primary,
                green: .init(x: 13250, y: 34500),
                blue: .init(x: 7500, y: 3000),
                whitePoint: .init(x: 15635, y: 16450),
                maximumLuminance: 10_000_000,
                minimumLuminance: 50
            ),
            contentLight: ContentLightLevel(maximumContentLightLevel: 1000, maximumFrameAverageLightLevel: 400)
        )
        let video = try EncodedVideo(color: .hdr10, pixelAspectRatio: Rational(4, 3), attachments: attachments)
        let folder = try SinkFolder()
        try writeSamples(video.samples, to: folder.path(name))
        let stream = try Probe(folder.path(name)).streams[0]
        #expect((stream.width, stream.height) == (96, 64))
        #expect(stream.sample_aspect_ratio == "4:3")
        #expect(stream.color_primaries == "bt2020")
        #expect(stream.color_transfer == "smpte2084")
        #expect(stream.color_space == "bt2020nc")
        // QuickTime's colour parameters have no range.
        #expect(stream.color_range == (name == "a.mov" ? nil : "tv"))
        let display = stream.side_data_list?.first { $0.side_data_type == "Mastering display metadata" }
        #expect(display?.red_x.map(value) == 0.68)
        #expect(display?.max_luminance.map(value) == 1000)
        let light = stream.side_data_list?.first { $0.side_data_type == "Content light level metadata" }
        #expect((light?.max_content, light?.max_average) == (1000, 400))
    }

    /// The value of a fraction such as `34000/50000`.
    private func value(_ fraction: String) -> Double {
        let parts = fraction.split(separator: "/").compactMap { Double($0) }
        return parts.count == 2 ? ((parts[0] / parts[1]) * 1_000_000).rounded() / 1_000_000 : .nan
    }

    @Test(arguments: [("a.mp4", false), ("a.mp4", true), ("a.mov", false), ("a.mov", true), ("a.mkv", false)])
    func chaptersAndTexts(name: String, isFragmented: Bool) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let chapters = [
            Chapter(start: .zero, end: MediaTime(value: 1, timescale: 4), title: "Erstes"),
            Chapter(
                start: MediaTime(value: 1, timescale: 4),
                end: MediaTime(value: 16, timescale: 25),
                title: "Zweites"
            ),
        ]
        let options = MediaSink.Options { ($0.encoderName, $0.isFragmented) = ("test encoder", isFragmented) }
        try writeSamples(video.samples, to: folder.path(name), options) { sink in
            let answers = [try sink.setChapters(chapters), try sink.setMetadata(["title": "Ein Titel"])]
            #expect(answers == [.accepted, .accepted])
        }
        let probe = try Probe(folder.path(name))
        #expect(probe.chapters.map(\.start_time) == ["0.000000", "0.250000"])
        #expect(probe.chapters.last?.end_time == "0.640000")
        #expect(probe.chapters.map { $0.tags?["title"] } == ["Erstes", "Zweites"])
        #expect(probe.format.tags?["title"] == "Ein Titel")
        #expect((probe.streams[0].tags?["encoder"] ?? probe.streams[0].tags?["ENCODER"]) == "test encoder")
        #expect(probe.packets(ofStream: 0).count == 16)
    }

    @Test func whatHoldsNoChaptersSaysSo() throws {
        let folder = try SinkFolder()
        let chapters = [Chapter(start: .zero, end: MediaTime(value: 1, timescale: 1), title: nil)]
        let stream = try MediaSink(path: folder.path("a.h264"))
        #expect(try stream.setChapters(chapters) == .refused(reason: "h264 does not support chapters"))
        #expect(try stream.setMetadata(["title": "a"]) == .refused(reason: "h264 does not support metadata"))
    }

    @Test func nullCountsAndWritesNothing() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let summary = try writeSamples(video.samples, to: folder.path("x"), .init { $0.format = .null })
        #expect((summary.byteCount, summary.sampleCount) == (0, 16))
        #expect(try folder.contents == [])
        #expect(try MediaSink(path: "null").format == .null)
    }

    @Test func droppedSamplesArePassedOver() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let dropped = video.samples[3].changed {
            $0.isDropped = true
            $0.data = CodedData([])
            $0.decodeTime = .invalid
        }
        let summary = try writeSamples(
            video.samples.prefix(3) + [dropped] + video.samples.dropFirst(3),
            to: folder.path("a.mp4")
        )
        #expect(summary.sampleCount == 16)
        #expect(try frameHashes(of: folder.path("a.mp4")) == video.hashes)
    }
}
