// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import MediaIO

/// The pictures of an input, told without decoding: the same that decoding returns.
@Suite struct FrameIndexTests {
    let folder: ClipFolder

    init() throws {
        folder = try ClipFolder()
        try folder.ffmpeg(
            """
            -f lavfi -i testsrc2=size=64x48:rate=25:duration=8 -f lavfi -i sine=duration=8 -c:v libx264 \
            -preset veryfast -bf 2 -g 50 -sc_threshold 0 -pix_fmt yuv420p -c:a aac whole.mkv
            """
        )
    }

    private func expectSame(_ path: String, _ options: MediaSource.Options = .init()) throws {
        let index = try MediaSource(path: path, options: options).readFrameIndex()
        let source = try MediaSource(path: path, options: options)
        let frames = try Reading(source).frames
        #expect(index.frames.map(\.presentationTime) == frames.map(\.presentationTime))
        let last = try #require(frames.last)
        #expect(index.end == last.presentationTime + last.duration)
        #expect(index.frames.allSatisfy { $0.byteCount > 0 })
        // A part begins at any of its pictures.
        let number = index.frames.count / 3
        var part = options
        part.start = index.offset + index.frames[number].presentationTime
        part.duration = nil
        let first = try #require(try Reading(MediaSource(path: path, options: part)).frames.first)
        #expect(first.presentationTime.seconds < 0.001)
        let picture = try #require(frames.dropFirst(number).first)
        #expect(try first.buffer.bytes == picture.buffer.bytes)
    }

    @Test(arguments: ["mkv", "mp4", "mov", "ts", "nut"]) func ofEachContainer(container: String) throws {
        try expectSame(folder.ffmpeg("-i whole.mkv -c copy copy.\(container)"))
    }

    @Test func ofAPart() throws {
        let options = MediaSource.Options(
            start: MediaTime(value: 13, timescale: 10),
            duration: MediaTime(value: 41, timescale: 10)
        )
        try expectSame(folder.ffmpeg("-i whole.mkv -c copy copy.mp4"), options)
    }

    /// The edit list hides the pictures before the cut, from which decoding begins.
    @Test func ofAnEditList() throws {
        try expectSame(folder.ffmpeg("-ss 1.2 -i whole.mkv -c copy cut.mp4"))
    }

    @Test func ofAVariableRate() throws {
        try expectSame(
            folder.ffmpeg(
                """
                -i whole.mkv -vf select='not(mod(n\\,3))+not(mod(n\\,7))' -vsync vfr -c:v libx264 -bf 3 -g 30 -c:a copy \
                vfr.mkv
                """
            )
        )
    }

    @Test func ofOpenGroups() throws {
        let parameters = "open-gop=1:keyint=25:log-level=0"
        try expectSame(folder.ffmpeg("-i whole.mkv -c:v libx265 -x265-params \(parameters) open.mp4"))
    }

    @Test func ofUncompressedVideo() throws {
        try expectSame(folder.ffmpeg("-i whole.mkv -an -t 2 raw.y4m"))
    }

    private func expectRefusal(_ path: String, _ reason: String, _ options: MediaSource.Options = .init()) throws {
        let source = try MediaSource(path: path, options: options)
        let error = #expect(throws: MediaError.self) { try source.readFrameIndex() }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains(reason) == true, "\(error as Any)")
    }

    private static let interlaced = "-i whole.mkv -an -c:v libx264 -flags +ilme+ildct -x264-params tff=1 tff.mkv"

    @Test func refusesWhatOnlyDecodingTells() throws {
        try expectRefusal(folder.ffmpeg(Self.interlaced), "interlaced")
        try folder.ffmpeg("-i whole.mkv -c copy whole.ts")
        try expectRefusal(folder.pipe("whole.ts"), "not seekable, or has no times")
        try folder.ffmpeg("-i whole.mkv -an -c:v copy raw.h264")
        try expectRefusal(folder.file("raw.h264"), "not seekable, or has no times")
        let bytes = try folder.contents("whole.mkv")
        try expectRefusal(folder.write("cut.mkv", bytes.prefix(bytes.count / 2)), "its header states")
    }

    @Test func keepsFieldsWithoutDeinterlacing() throws {
        try expectSame(folder.ffmpeg(Self.interlaced), MediaSource.Options(deinterlacing: .off))
    }
}
