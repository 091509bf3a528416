// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import Foundation
import MediaTypes
import Testing

@testable import MediaIO

/// Files in fragments that become plain ones, and files without video.
@Suite struct SinkFragmentTests {
    /// An encoded tone of 1.234 s, which is no whole number of packets.
    private struct Tone {
        let track: MediaTrack
        let packets: [MediaPacket]

        init(_ codec: AudioCodec = .aac, seconds: Double = 1.234) throws {
            let format = AudioFormat(sampleType: .int16, sampleRate: 48000, layout: .mono)
            let encoder = try AudioEncoder(AudioEncoderSettings(codec), input: format)
            let track = try MediaTrack(audio: encoder.description)
            let buffer = AudioBuffer(format: format, frameCount: Int(seconds * 48000)) { _, memory in
                for index in 0..<memory.count / 2 {
                    let value = Int16(12000 * sin(Double(index) / 48000 * 440 * 2 * .pi))
                    memory.storeBytes(of: value, toByteOffset: index * 2, as: Int16.self)
                }
            }
            let samples = try encoder.encode(buffer) + encoder.finish()
            self.track = track
            packets = try samples.map { try MediaPacket($0, track: track) }
        }
    }

    /// Writes pictures and sound in the order of their times.
    @discardableResult
    private func write(
        _ samples: [SampleBuffer],
        _ tone: Tone?,
        to path: String,
        _ options: MediaSink.Options
    ) throws -> MediaSink.Summary {
        let sink = try MediaSink(path: path, options: options)
        if let tone { #expect(try sink.addTrack(tone.track) == .accepted) }
        _ = try sink.setMetadata(["title": "Film"])
        let chapter = Chapter(start: .zero, end: MediaTime(value: 1, timescale: 5), title: "One")
        if sink.format.takesChapters { #expect(try sink.setChapters([chapter]) == .accepted) }
        var packets = (tone?.packets ?? [])[...]
        for sample in samples {
            while let packet = packets.first, packet.presentationTime <= sample.decodeTime {
                try sink.write(packet)
                packets.removeFirst()
            }
            try sink.write(sample)
        }
        for packet in packets { try sink.write(packet) }
        return try sink.finish()
    }

    private func soundSamples(_ path: String) throws -> [UInt8] {
        [UInt8](try runTool("ffmpeg", ["-v", "error", "-i", path, "-map", "0:a", "-f", "s16le", "-"]).output)
    }

    private func description(_ packet: Probe.Packet) -> String {
        "\(packet.stream_index) \(packet.pts ?? .min) \(packet.dts ?? .min) \(packet.duration ?? -1) \(packet.flags)"
    }

    /// What was written in fragments is afterwards as if it had not been.
    @Test(arguments: [VideoCodec.h264, .hevc], ["x.mp4", "x.mov"])
    func defragmentedFilesEqualPlainOnes(codec: VideoCodec, name: String) throws {
        let video = try (codec == .h264 ? EncodedVideo.standard : EncodedVideo.hevc).get()
        let folder = try SinkFolder()
        let tone = try Tone()
        let (plain, other) = (folder.path("plain-" + name), folder.path("other-" + name))
        let expected = try write(video.samples, tone, to: plain, .init())
        let summary = try write(
            video.samples,
            tone,
            to: other,
            .init {
                $0.isFragmented = true
                $0.fragmentInterval = MediaTime(value: 1, timescale: 10)
                $0.isDefragmented = true
            }
        )
        #expect(summary.defragmentationError == nil && summary.duration == expected.duration)
        #expect(summary.sampleCount == video.samples.count)
        #expect(try boxTypes(of: other) == boxTypes(of: plain))
        #expect(try summary.byteCount == Data(contentsOf: URL(fileURLWithPath: other)).count)
        #expect(try frameHashes(of: other) == video.hashes)
        #expect(try soundSamples(other) == soundSamples(plain))
        let (one, two) = (try Probe(plain), try Probe(other))
        #expect(one.packets.map(description) == two.packets.map(description))
        #expect(two.streams.map(\.codec_tag_string) == one.streams.map(\.codec_tag_string))
        #expect(two.streams.map(\.time_base) == one.streams.map(\.time_base))
        #expect(two.format.duration == one.format.duration && two.format.tags?["title"] == "Film")
        #expect(two.chapters.map(\.end_time) == ["0.200000"])
        #expect(try folder.contents == ["other-" + name, "plain-" + name])
    }

    /// Parameter sets that change stay with their samples.
    @Test func defragmentedFilesKeepOtherParameterSets() throws {
        let (first, second) = (try EncodedVideo.standard.get(), try EncodedVideo.other.get())
        let folder = try SinkFolder()
        let shift = MediaTime(value: 1, timescale: 1)
        let later = second.samples.map { sample in
            sample.changed {
                $0.presentationTime = $0.presentationTime + shift
                $0.decodeTime = $0.decodeTime + shift
            }
        }
        let path = folder.path("x.mp4")
        try write(
            first.samples + later,
            nil,
            to: path,
            .init {
                $0.isFragmented = true
                $0.isDefragmented = true
            }
        )
        #expect(try Probe(path).streams[0].codec_tag_string == "avc3")
        #expect(try !boxTypes(of: path).contains("moof"))
        #expect(try frameHashes(of: path) == first.hashes + second.hashes)
    }

    /// The disk has room for the fragments and not for the second pass.
    @Test(.enabled(if: SmallDisk.isPossible)) func fragmentsSurviveAFullDisk() throws {
        let video = try EncodedVideo(frames: 400, options: ["-bf", "0", "-g", "25", "-crf", "10"])
        let folder = try SinkFolder()
        let whole = folder.path("whole.mp4")
        let options = MediaSink.Options { $0.isFragmented = true }
        let size = try write(video.samples, nil, to: whole, options).byteCount
        let disk = try SmallDisk(size: Int(size) * 3 / 2)
        defer { disk.unmount() }
        let path = disk.folder.path("x.mp4")
        let summary = try write(
            video.samples,
            nil,
            to: path,
            .init {
                $0.isFragmented = true
                $0.isDefragmented = true
            }
        )
        #expect(summary.defragmentationError?.code == .inputOutput, "\(summary)")
        #expect(summary.byteCount == size && summary.sampleCount == 400)
        #expect(try boxTypes(of: path).contains("moof"))
        #expect(try frameHashes(of: path) == video.hashes)
        #expect(try disk.folder.contents == ["x.mp4"])
    }

    @Test func whatCannotBeDefragmentedIsRefused() throws {
        let folder = try SinkFolder()
        func code(_ name: String, _ change: (inout MediaSink.Options) -> Void) throws -> MediaError.Code? {
            #expect(throws: MediaError.self) {
                try MediaSink.validate(path: folder.path(name), options: .init(change))
            }?.code
        }
        #expect(try code("x.mp4") { $0.isDefragmented = true } == .invalidArgument)
        #expect(
            try code("x.mp4") { options in
                options.isFragmented = true
                options.initialFragmentInterval = MediaTime(value: 1, timescale: 1)
            } == .invalidArgument
        )
        try #require(mkfifo(folder.path("fifo.mp4"), 0o600) == 0)
        #expect(try code("fifo.mp4") { ($0.isFragmented, $0.isDefragmented) = (true, true) } == .invalidArgument)
        #expect(try code("x.h264") { $0.hasVideo = false } == .invalidArgument)
    }

    /// The first fragment is complete when little is written.
    @Test func theFirstFragmentMayBeShorter() throws {
        let video = try EncodedVideo(frames: 150, options: ["-bf", "0", "-g", "150"])
        let folder = try SinkFolder()
        let sink = try MediaSink(
            path: folder.path("x.mp4"),
            options: .init {
                $0.isFragmented = true
                $0.fragmentInterval = MediaTime(value: 2, timescale: 1)
                $0.initialFragmentInterval = MediaTime(value: 1, timescale: 5)
            }
        )
        var counts: [Int] = []
        let temporary = try #require(sink.temporaryPath)
        for sample in video.samples {
            try sink.write(sample)
            counts.append(try boxTypes(of: temporary).count { $0 == "moof" })
        }
        _ = try sink.finish()
        // After 0.2 s, and then every two seconds; a fragment is complete when the next sample is there.
        let times = (1...3).map { count in counts.firstIndex { $0 >= count }.map { Double($0) / 25 } ?? .infinity }
        #expect(zip(times, [0.2, 2.2, 4.2]).allSatisfy { abs($0 - $1) < 0.13 }, "\(times)")
        #expect(try frameHashes(of: folder.path("x.mp4")) == video.hashes)
    }

    @Test(
        arguments: [AudioCodec.aac, .opus, .flac],
        ["x.mp4", "x.mov", "x.mkv", "x.ts", "fragmented.mp4", "fragmented.mov"]
    )
    func soundAlone(codec: AudioCodec, name: String) throws {
        let folder = try SinkFolder()
        let tone = try Tone(codec)
        let path = folder.path(name)
        let options = MediaSink.Options {
            $0.hasVideo = false
            $0.isFragmented = name.hasPrefix("fragmented")
        }
        let sink = try MediaSink(path: path, options: options)
        guard try sink.addTrack(tone.track) == .accepted else { return }
        #expect(throws: MediaError.self) { try sink.write(EncodedVideo.standard.get().samples[0]) }
        for packet in tone.packets { try sink.write(packet) }
        let summary = try sink.finish()
        #expect(summary.sampleCount == 0 && abs(summary.duration.seconds - 1.234) < 0.03)
        let probe = try Probe(path)
        #expect(probe.streams.map(\.codec_name) == [tone.track.codecName])
        #expect(probe.packets.count == tone.packets.count)
        let count = try soundSamples(path).count / 2
        // Not every container has a place for priming and the end, and ffmpeg does not cut both in each.
        #expect(codec == .flac ? count == 59232 : (59232...59232 + 3 * 1024).contains(count), "\(count)")
        let empty = try MediaSink(path: folder.path("empty-" + name), options: options)
        _ = try empty.addTrack(tone.track)
        #expect(#expect(throws: MediaError.self) { try empty.finish() }?.code == .malformedData)
        #expect(try folder.contents == [name])
    }
}
