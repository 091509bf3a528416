// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaIO
import MediaTypes
import Testing

@Suite struct SourceContainerTests {
    let folder: ClipFolder

    init() throws { folder = try ClipFolder() }

    private static let video = "-f lavfi -i testsrc2=size=128x96:rate=25:duration=1.2"
    private static let audio = "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=1.2"

    /// Name of the clip, and options of ffmpeg that make it.
    static let containers: [(String, String)] = [
        ("a.mp4", "\(video) \(audio) -c:v libx264 -bf 3 -pix_fmt yuv420p -c:a aac"),
        ("a.mov", "\(video) \(audio) -c:v libx264 -bf 2 -pix_fmt yuv420p -c:a aac"),
        ("a.mkv", "\(video) \(audio) -c:v libx264 -bf 3 -pix_fmt yuv420p -c:a aac"),
        ("a.webm", "\(video) \(audio) -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus"),
        ("a.ts", "\(video) \(audio) -c:v libx264 -bf 3 -pix_fmt yuv420p -c:a aac"),
        ("a.y4m", "\(video) -pix_fmt yuv420p"),
        ("a b: c%d.mkv", "\(video) -c:v ffv1 -pix_fmt yuv420p"),
    ]

    @Test(arguments: containers)
    func framesAndTimesEqualThoseOfFFmpeg(clip: (name: String, arguments: String)) throws {
        try folder.ffmpeg("\(clip.arguments) clip.\(clip.name.split(separator: ".").last ?? "")")
        let made = folder.file("clip.\(clip.name.split(separator: ".").last ?? "")")
        let path = folder.file(clip.name)
        try FileManager.default.moveItem(atPath: made, toPath: path)

        let source = try MediaSource(path: path)
        let reading = try Reading(source)
        #expect(reading.frames.count == 30)
        #expect(try reading.pictures == Tool.pictures("file:\(path)", format: .i420))
        let times = try Tool.probe("file:\(path)", "frame=best_effort_timestamp_time").compactMap(Double.init)
        let starts = try Tool.probe("file:\(path)", "stream=start_time", streams: nil)
        let origin = try #require(starts.compactMap(Double.init).min())
        #expect(zip(reading.seconds, times).allSatisfy { abs($0 - ($1 - origin)) < 0.000_002 })
        #expect(source.video.nominalFrameRate == Rational(25))
        #expect(!source.video.isVariableFrameRate)
        #expect((source.video.width, source.video.height) == (128, 96))
        #expect(abs((source.video.estimatedFrameCount ?? 0) - 30) <= 1)
        #expect(!source.problems.isLossy)
        #expect(source.problems.repairedTimes == 0)
    }

    @Test func rawVideoNeedsAndTakesItsDescription() throws {
        let path = try folder.ffmpeg("\(Self.video) -pix_fmt yuyv422 -f rawvideo a.yuv")
        let error = try openError(path)
        #expect(error.code == .invalidArgument)
        #expect(error.description.contains("pixel format, size and frame rate"))

        let raw = MediaSource.RawVideo(pixelFormat: "yuy2", width: 128, height: 96, frameRate: Rational(30000, 1001))
        let source = try MediaSource(path: path, options: .init(rawVideo: raw))
        let reading = try Reading(source)
        #expect(try reading.pictures == folder.contents("a.yuv"))
        #expect(source.video.pixelFormat == .yuy2)
        #expect(source.video.nominalFrameRate == Rational(30000, 1001))
        #expect(
            reading.frames.map(\.presentationTime) == (0..<30).map { MediaTime(value: $0 * 1001, timescale: 30000) }
        )
        #expect(reading.frames.allSatisfy { $0.duration == MediaTime(value: 1001, timescale: 30000) })

        for wrong in [
            MediaSource.RawVideo(pixelFormat: "i421", width: 128, height: 96, frameRate: Rational(25)),
            .init(pixelFormat: "nv12", width: 0, height: 96, frameRate: Rational(25)),
            .init(pixelFormat: "nv12", width: 128, height: 96, frameRate: Rational(0)),
        ] {
            #expect(try openError(path, .init(rawVideo: wrong)).code == .invalidArgument)
        }
        #expect(try openError(path, .init(format: "rawvideo")).code == .invalidArgument)
        #expect(try openError(path, .init(format: "mp4", rawVideo: raw)).code == .invalidArgument)
    }

    /// An elementary stream has no times, B-frames or not: they follow from the frame rate in its parameter sets.
    @Test func elementaryStreamGetsTimesFromItsFrameRate() throws {
        let path = try folder.ffmpeg("\(Self.video) -c:v libx264 -bf 3 -pix_fmt yuv420p a.h264")
        let source = try MediaSource(path: path)
        let reading = try Reading(source)
        #expect(reading.frames.map(\.presentationTime) == (0..<30).map { MediaTime(value: $0, timescale: 25) })
        #expect(source.video.nominalFrameRate == Rational(25))
        #expect(source.tracks.isEmpty)
    }

    @Test func streamsThatAreLeftOutAreNamedWithTheReason() throws {
        try folder.ffmpeg("-f lavfi -i color=size=32x32:duration=0.04 -frames:v 1 cover.png")
        let path = try folder.ffmpeg(
            """
            \(Self.video) \(Self.audio) -f lavfi -i color=size=64x48:rate=25:duration=1 -i cover.png \
            -map 0 -map 1 -map 2 -map 3 -c:v:0 mpeg4 -c:v:1 mpeg4 -c:v:2 copy -disposition:v:2 attached_pic \
            -metadata title=Clip -metadata:s:a:0 language=deu a.mp4
            """
        )
        let source = try MediaSource(path: path)
        #expect(source.video.index == 0)
        #expect((source.video.width, source.video.codecName) == (128, "mpeg4"))
        #expect(source.tracks.map(\.kind) == [.audio])
        #expect(source.tracks.map(\.language) == ["deu"])
        #expect(source.ignoredStreams.map(\.index) == [2, 3])
        #expect(source.ignoredStreams.map(\.codecName) == ["mpeg4", "png"])
        #expect(source.ignoredStreams.last?.reason.contains("picture") == true)
        #expect(source.metadata["title"] == "Clip")
        #expect(source.formatName.contains("mp4"))
    }

    @Test func repeatedOpeningLeaksNoDescriptor() throws {
        let path = try folder.ffmpeg("\(Self.video) \(Self.audio) -c:v mpeg4 a.mp4")
        let text = try folder.write("text.mp4", "no media".utf8)
        for _ in 0..<20 {
            let source = try MediaSource(path: path)
            _ = try source.next()
            _ = try openError(text)
            _ = try openError(folder.path)
        }
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        #expect(!open.contains { $0.hasPrefix(folder.path) })
    }
}

/// Standard input belongs to the whole process, so these run one at a time.
@Suite(.serialized) struct SourceStandardInputTests {
    let folder: ClipFolder

    init() throws { folder = try ClipFolder() }

    /// Runs `body` with standard input coming from `descriptor`.
    private func withStandardInput(_ descriptor: Int32, _ body: () throws -> Void) throws {
        let saved = dup(0)
        dup2(descriptor, 0)
        defer {
            dup2(saved, 0)
            close(saved)
        }
        try body()
    }

    @Test func pipeIsReadAsItComes() throws {
        let path = try folder.ffmpeg("-f lavfi -i testsrc2=size=64x48:rate=25:duration=1 -c:v mpeg4 a.ts")
        let expected = try Reading(path)
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        let bytes = try folder.contents("a.ts")
        let writer = Thread {
            let handle = FileHandle(fileDescriptor: writing, closeOnDealloc: true)
            try? handle.write(contentsOf: Data(bytes))
            try? handle.close()
        }
        writer.start()
        try withStandardInput(reading) {
            let source = try MediaSource(path: "-", options: .init(start: MediaTime(value: 1, timescale: 2)))
            let piped = try Reading(source)
            #expect(try piped.pictures == expected.frames.dropFirst(13).flatMap { try $0.buffer.bytes })
        }
        close(reading)
    }

    /// An mp4 file with its index at the end can only be read where seeking works.
    @Test func fileOnStandardInputIsSoughtIn() throws {
        let path = try folder.ffmpeg("-f lavfi -i testsrc2=size=64x48:rate=25:duration=1 -c:v mpeg4 a.mp4")
        let file = open(path, O_RDONLY)
        try withStandardInput(file) {
            let count = try Reading("-").frames.count
            #expect(count == 25)
        }
        close(file)
    }

    @Test func emptyPipeIsNamed() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        close(ends[1])
        try withStandardInput(ends[0]) {
            let error = try openError("-")
            #expect(error.code == .malformedData)
            #expect(error.message.contains("empty"))
        }
        close(ends[0])
    }
}
