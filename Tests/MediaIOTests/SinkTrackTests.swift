// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import MediaIO

/// Tracks that are copied beside the video.
@Suite struct SinkTrackTests {
    /// A file with test pictures like those of ``EncodedVideo/standard`` and the tracks that `arguments` make.
    private func makeInput(_ name: String, _ arguments: String, in folder: SinkFolder) throws -> String {
        try Data("1\n00:00:00,100 --> 00:00:00,300\nEins\n\n2\n00:00:00,300 --> 00:00:00,600\nZwei\n".utf8)
            .write(to: folder.url.appending(path: "text.srt"))
        let path = folder.path(name)
        try runTool(
            "ffmpeg",
            ["-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25", "-f", "lavfi", "-i", "sine=440:r=44100"]
                + ["-i", folder.path("text.srt"), "-t", "0.64", "-map", "0", "-c:v", "libx264", "-bf", "0"]
                + arguments.split(separator: " ").map(String.init) + [path]
        )
        return path
    }

    /// Copies every track of an input, in the order of the input, beside the samples.
    private func copy(
        from input: String,
        to output: String,
        samples: [SampleBuffer],
        _ options: MediaSink.Options = .init()
    ) throws -> [MediaSink.Acceptance] {
        let source = try MediaSource(path: input)
        let sink = try MediaSink(path: output, options: options)
        let answers = try source.tracks.map { try sink.addTrack($0) }
        var rest = samples[...]
        var start: MediaTime?
        func write(_ sample: SampleBuffer) throws {
            let offset = start ?? .zero
            try sink.write(
                sample.changed {
                    $0.presentationTime = $0.presentationTime + offset
                    $0.decodeTime = $0.decodeTime + offset
                }
            )
        }
        while let event = try source.next() {
            switch event {
            case .frame(let frame):
                start = start ?? frame.presentationTime
                if let sample = rest.popFirst() { try write(sample) }
            case .packet(let packet):
                guard let index = source.tracks.firstIndex(where: { $0 === packet.track }) else { continue }
                if answers[index] == .accepted { try sink.write(packet) }
            }
        }
        for sample in rest { try write(sample) }
        _ = try sink.finish()
        return answers
    }

    @Test(arguments: [
        ("a.mp4", "-map 1 -c:a aac", ["x.mp4", "x.mov", "x.mkv", "x.ts"]),
        ("a.ts", "-map 1 -c:a aac", ["x.mp4", "x.mov", "x.mkv", "x.ts"]),
        ("a.mkv", "-map 1 -ar 48000 -c:a libopus", ["x.mp4", "x.mkv", "x.ts"]),
        ("a.mp4", "-map 1 -c:a libmp3lame", ["x.mp4", "x.mov", "x.mkv", "x.ts"]),
        ("a.mp4", "-map 1 -c:a ac3", ["x.mp4", "x.mov", "x.mkv", "x.ts"]),
        ("a.mkv", "-map 1 -c:a flac", ["x.mkv"]),
        ("a.mov", "-map 1 -c:a pcm_s16le", ["x.mov", "x.mkv"]),
        ("a.mkv", "-map 1 -c:a vorbis -strict -2 -ac 2", ["x.mp4", "x.mkv"]),
    ])
    func audioStaysInSync(input: String, arguments: String, outputs: [String]) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let path = try makeInput(input, arguments, in: folder)
        let expected = try times(of: path, stream: 1)
        try #require(expected.count > 3)
        for output in outputs {
            for isFragmented in [false, true] where !isFragmented || ["x.mp4", "x.mov"].contains(output) {
                let answers = try copy(
                    from: path,
                    to: folder.path(output),
                    samples: video.samples,
                    .init { ($0.isFragmented, $0.overwrite) = (isFragmented, true) }
                )
                #expect(answers == [.accepted])
                let found = try times(of: folder.path(output), stream: 1)
                #expect(found.count == expected.count, "\(output)")
                let worst = zip(found, expected).map { abs($0 - $1) }.max() ?? 1
                #expect(worst <= 0.0011, "\(output)")
                #expect(try frameHashes(of: folder.path(output)) == video.hashes, "\(output)")
                try expectAudioDecodes(folder.path(output))
            }
        }
    }

    /// The presentation times of a stream's packets, counted from the first presentation of the first stream.
    private func times(of path: String, stream: Int) throws -> [Double] {
        let probe = try Probe(path)
        let zero = probe.packets(ofStream: 0).compactMap { Double($0.pts_time ?? "") }.min() ?? .nan
        return probe.packets(ofStream: stream).compactMap { Double($0.pts_time ?? "") }.map { $0 - zero }
    }

    private func expectAudioDecodes(_ path: String) throws {
        let result = try runTool(
            "ffmpeg",
            ["-v", "error", "-xerror", "-err_detect", "explode", "-i", path, "-map", "0:a", "-f", "null", "-"],
            mayFail: true
        )
        #expect(result.status == 0 && result.errors.isEmpty, "\(path): \(result.errors)")
    }

    @Test(arguments: [
        ("a.mkv", "-map 2 -c:s srt", "x.mkv", nil), ("a.mkv", "-map 2 -c:s ass", "x.mkv", nil),
        ("a.mp4", "-map 2 -c:s mov_text", "x.mp4", nil), ("a.mp4", "-map 2 -c:s mov_text", "x.mov", nil),
        ("a.mkv", "-map 2 -c:s srt", "x.mp4", "mp4 does not support subrip subtitles"),
        ("a.mkv", "-map 2 -c:s ass", "x.mov", "mov does not support ass subtitles"),
        ("a.mp4", "-map 2 -c:s mov_text", "x.mkv", "mkv does not support mov_text subtitles"),
        ("a.mkv", "-map 2 -c:s srt", "x.ts", "ts does not support subrip subtitles"),
        ("a.mkv", "-map 2 -c:s srt", "x.h264", "h264 does not support subtitles"),
        ("a.mp4", "-map 1 -c:a aac", "x.h264", "h264 does not support audio"),
        ("a.mov", "-map 1 -c:a pcm_s16le", "x.ts", "ts does not support pcm_s16le audio"),
        ("a.mkv", "-map 1 -c:a flac", "x.ts", "ts does not support flac audio"),
    ])
    func whatDoesNotFitIsNamed(input: String, arguments: String, output: String, reason: String?) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let path = try makeInput(input, arguments, in: folder)
        let answers = try copy(from: path, to: folder.path(output), samples: video.samples)
        #expect(answers == [reason.map { .refused(reason: $0) } ?? .accepted])
        #expect(try frameHashes(of: folder.path(output)) == video.hashes)
        guard reason == nil else {
            #expect(try Probe(folder.path(output)).streams.count == 1)
            return
        }
        let (before, after) = (try Probe(path), try Probe(folder.path(output)))
        #expect(after.streams.map(\.codec_name) == before.streams.map(\.codec_name))
        let cues = [before, after].map { probe in
            probe.packets(ofStream: 1).filter { $0.pts_time != nil }.map {
                "\($0.pts_time ?? "") \($0.duration_time ?? "")"
            }
        }
        #expect(cues[0] == cues[1])
    }

    /// What became part of MP4 in libavformat 61, and what the command `ffmpeg` copies into it, is taken.
    @Test(arguments: [
        ("a.mov", "-map 1 -c:a pcm_s16le", "mp4 does not support pcm_s16le audio"),
        ("a.mkv", "-map 1 -c:a flac", "mp4 does not support flac audio: Experimental feature"),
    ])
    func mp4TakesWhatTheLibraryKnows(input: String, arguments: String, reason: String) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let path = try makeInput(input, arguments, in: folder)
        let copied = ["-v", "error", "-i", path, "-map", "0:a", "-c", "copy", folder.path("copied.mp4")]
        let isKnown = try runTool("ffmpeg", copied, mayFail: true).status == 0
        let answers = try copy(from: path, to: folder.path("x.mp4"), samples: video.samples)
        #expect(answers == [isKnown ? .accepted : .refused(reason: reason)])
        #expect(try frameHashes(of: folder.path("x.mp4")) == video.hashes)
        #expect(try Probe(folder.path("x.mp4")).streams.count == (isKnown ? 2 : 1))
        if isKnown { try expectAudioDecodes(folder.path("x.mp4")) }
    }

    @Test func languagesAndDispositionsAreKept() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let path = try makeInput(
            "a.mkv",
            "-map 1 -map 1 -map 2 -c:a aac -c:s srt -metadata:s:a:0 language=deu -metadata:s:a:1 language=fra"
                + " -metadata:s:a:1 title=Commentary -disposition:a:0 0 -disposition:a:1 default",
            in: folder
        )
        let answers = try copy(from: path, to: folder.path("x.mkv"), samples: video.samples)
        #expect(answers == [.accepted, .accepted, .accepted])
        let streams = try Probe(folder.path("x.mkv")).streams
        #expect(streams.map(\.codec_name) == ["h264", "aac", "aac", "subrip"])
        #expect(
            streams.map { $0.tags?["language"] }[1...2] == ["ger", "fre"]
                || streams.map { $0.tags?["language"] }[1...2] == ["deu", "fra"]
        )
        #expect(streams.map { $0.disposition?["default"] }[0...2] == [1, 0, 1])
        #expect(streams[2].tags?["title"] == "Commentary")
        _ = try copy(from: path, to: folder.path("x.mp4"), samples: video.samples)
        let inMP4 = try Probe(folder.path("x.mp4")).streams
        #expect(inMP4.map { $0.disposition?["default"] } == [1, 0, 1])
        #expect(inMP4[2].tags?["handler_name"] == "Commentary")
    }

    @Test(arguments: [ContainerFormat.mp4, .mov, .mkv, .ts], ["a.mp4", "a.ts"])
    func audioReachesPipes(format: ContainerFormat, input: String) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let path = try makeInput(input, "-map 1 -c:a aac", in: folder)
        let pipe = try FIFOReader(in: folder)
        let answers = try copy(from: path, to: pipe.path, samples: video.samples, .init { $0.format = format })
        #expect(answers == [.accepted])
        let output = pipe.waitForEnd()
        #expect(try times(of: output, stream: 1).count == times(of: path, stream: 1).count)
        #expect(try frameHashes(of: output) == video.hashes)
        try expectAudioDecodes(output)
    }

    @Test func packetsBeforeTheVideoWaitForIt() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let path = try makeInput("a.mp4", "-map 1 -c:a aac", in: folder)
        let source = try MediaSource(path: path)
        let sink = try MediaSink(path: folder.path("x.mp4"))
        #expect(try sink.addTrack(source.tracks[0]) == .accepted)
        while let event = try source.next() {
            if case .packet(let packet) = event { try sink.write(packet) }
        }
        for sample in video.samples { try sink.write(sample) }
        _ = try sink.finish()
        #expect(try times(of: folder.path("x.mp4"), stream: 1) == times(of: path, stream: 1))
    }

    @Test func packetsThatCannotFollowAreRefusedAndTheRestIsWritten() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let path = try makeInput("a.mp4", "-map 1 -c:a aac", in: folder)
        let (source, stranger) = (try MediaSource(path: path), try MediaSource(path: path))
        let sink = try MediaSink(path: folder.path("x.mp4"))
        #expect(try sink.addTrack(source.tracks[0]) == .accepted)
        for sample in video.samples { try sink.write(sample) }
        #expect(throws: MediaError.self) { try sink.addTrack(stranger.tracks[0]) }
        var packets: [MediaPacket] = []
        while let event = try source.next() { if case .packet(let packet) = event { packets.append(packet) } }
        for packet in packets.prefix(20) { try sink.write(packet) }
        let back = #expect(throws: MediaError.self) { try sink.write(packets[0]) }
        #expect(back?.code == .malformedData)
        while let event = try stranger.next() {
            guard case .packet(let packet) = event else { continue }
            let error = #expect(throws: MediaError.self) { try sink.write(packet) }
            #expect(error?.code == .invalidArgument)
            break
        }
        for packet in packets.dropFirst(20) { try sink.write(packet) }
        _ = try sink.finish()
        #expect(try times(of: folder.path("x.mp4"), stream: 1) == times(of: path, stream: 1))
    }

    /// Where packets of a transport stream were lost, the filter that takes ADTS headers off finds none in the remains.
    @Test(arguments: [false, true])
    func malformedPacketsAreLeftOutAndTheRestIsWritten(packetsComeFirst: Bool) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let path = try makeInput("a.ts", "-map 1 -c:a aac", in: folder)
        try dropEveryThirdPacket(of: 0x101, in: path)
        let source = try MediaSource(path: path)
        let sink = try MediaSink(path: folder.path("x.mp4"))
        #expect(try sink.addTrack(source.tracks[0]) == .accepted)
        var errors: [MediaError] = []
        var written = 0
        if !packetsComeFirst { try sink.write(video.samples[0]) }
        while let event = try source.next() {
            guard case .packet(let packet) = event else { continue }
            do throws(MediaError) {
                try sink.write(packet)
                written += 1
            } catch {
                errors.append(error)
            }
        }
        for sample in video.samples.dropFirst(packetsComeFirst ? 0 : 1) { try sink.write(sample) }
        let summary = try sink.finish()
        #expect(packetsComeFirst ? errors.isEmpty : summary.packetErrors.isEmpty)
        errors += summary.packetErrors
        #expect(!errors.isEmpty)
        #expect(errors.allSatisfy { $0.code == .malformedData })
        #expect(errors.allSatisfy { $0.given?.hasPrefix("track 1 (aac) at ") == true }, "\(errors)")
        #expect(try Probe(folder.path("x.mp4")).packets(ofStream: 1).count == written - summary.packetErrors.count)
        #expect(try frameHashes(of: folder.path("x.mp4")) == video.hashes)
    }

    /// Loses packets of 188 bytes, ISO/IEC 13818-1 2.4.3.2.
    private func dropEveryThirdPacket(of pid: Int, in path: String) throws {
        let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
        var count = 0
        var kept: [UInt8] = []
        for start in stride(from: 0, to: bytes.count - 187, by: 188) {
            if Int(bytes[start + 1] & 0x1F) << 8 | Int(bytes[start + 2]) == pid {
                count += 1
                if count % 3 == 0 { continue }
            }
            kept += bytes[start..<start + 188]
        }
        try Data(kept).write(to: URL(fileURLWithPath: path))
    }
}
