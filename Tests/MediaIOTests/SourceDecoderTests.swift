// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaIO
import MediaTypes
import Synchronization
import Testing
import VideoDecoding

/// A source whose samples another decoder decodes returns the same as with its own: here, libavcodec behind
/// `DecoderBackend`.
@Suite struct SourceDecoderTests {
    let folder: ClipFolder

    init() throws { folder = try ClipFolder() }

    private func decodingElsewhere(
        _ path: String,
        _ options: MediaSource.Options = .init(),
        _ factory: (any DecoderFactory)? = nil
    ) throws -> MediaSource {
        var options = options
        options.allowsOtherDecoder = true
        let source = try MediaSource(path: path, options: options)
        let codec = try source.formatForOtherDecoder().codec
        try source.decode(with: factory ?? SoftwareDecoderFactory(codec: codec))
        return source
    }

    /// Compares all that two sources return.
    private func compare(
        _ path: String,
        _ options: MediaSource.Options = .init(),
        again: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> MediaSource {
        let own = try MediaSource(path: path, options: options)
        let expected = try Reading(own)
        let source = try decodingElsewhere(again ?? path, options)
        let reading = try Reading(source)
        // A pipe does not tell how long it is.
        if again == nil { #expect(source.video == own.video, sourceLocation: sourceLocation) }
        try #require(reading.frames.count == expected.frames.count, sourceLocation: sourceLocation)
        for (frame, other) in zip(reading.frames, expected.frames) {
            #expect(frame.presentationTime == other.presentationTime, sourceLocation: sourceLocation)
            #expect(frame.duration == other.duration, sourceLocation: sourceLocation)
            let (description, wanted) = (frame.buffer.pictureDescription, other.buffer.pictureDescription)
            #expect(description == wanted, "at \(frame.presentationTime)", sourceLocation: sourceLocation)
            #expect(try frame.buffer.bytes == other.buffer.bytes, sourceLocation: sourceLocation)
        }
        #expect(reading.packets.count == expected.packets.count, sourceLocation: sourceLocation)
        #expect(source.problems.repairedTimes == own.problems.repairedTimes, sourceLocation: sourceLocation)
        #expect(source.problems.discontinuities == own.problems.discontinuities, sourceLocation: sourceLocation)
        return source
    }

    private static let clip = "-f lavfi -i testsrc2=size=160x96:rate=25:duration=2 -f lavfi -i sine=duration=2"
    private static let x264 = "-c:v libx264 -preset veryfast -g 12 -pix_fmt yuv420p"

    private static let hdr =
        "-c:v libx265 -pix_fmt yuv420p10le -color_primaries bt2020 -color_trc smpte2084 "
        + "-x265-params log-level=none:hdr10=1:max-cll=1000,400:"
        + "master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)"

    private static let clips: [(name: String, options: String)] = [
        ("b.mp4", "\(x264) -bf 3"),
        ("open.ts", "\(x264) -x264-params open-gop=1"),
        ("b.mkv", "-vf setsar=4/3 -color_range pc -colorspace bt709 -color_primaries bt709 -color_trc bt709 \(x264)"),
        ("ten.mkv", "-c:v libx265 -x265-params log-level=none -pix_fmt yuv420p10le"),
        ("hdr.mp4", hdr),
        ("fields.mkv", "-vf interlace \(x264) -flags +ilme+ildct -x264-params tff=1"),
        ("odd.mov", "-vf scale=161:91 -c:v libx264 -pix_fmt yuv444p"),
        ("uneven.mkv", "-vf select='not(mod(n,3))+lt(n,20)' -fps_mode vfr \(x264)"),
    ]

    @Test(arguments: clips.map(\.name)) func picturesAndTimesAreTheSame(name: String) throws {
        let options = try #require(Self.clips.first { $0.name == name }).options
        let path = try folder.ffmpeg("\(Self.clip) \(options) -c:a aac \(name)")
        let source = try compare(path)
        #expect(!source.problems.isLossy && source.problems.repairedTimes == 0)
    }

    /// The display matrix of the container turns the pictures, which needs a filter.
    @Test func picturesAreTurnedUpright() throws {
        try folder.ffmpeg("\(Self.clip) \(Self.x264) a.mp4")
        let path = try folder.ffmpeg("-i a.mp4 -c copy -metadata:s:v rotate=90 b.mp4")
        let source = try compare(path)
        #expect(source.video.orientation != .upright && source.video.width == 96)
    }

    @Test(arguments: [
        ("b.mp4", 0, 0.04), ("b.mp4", 0.48, 0.4), ("b.mp4", 1.01, 0.2), ("open.ts", 1.3, 0.5), ("fields.mkv", 0.7, 0.6),
    ])
    func partsAreTheSame(name: String, start: Double, duration: Double) throws {
        let options = try #require(Self.clips.first { $0.name == name }).options
        let path = try folder.ffmpeg("\(Self.clip) \(options) -c:a aac \(name)")
        var part = MediaSource.Options()
        part.start = MediaTime(seconds: start, preferredTimescale: 1000)
        part.duration = MediaTime(seconds: duration, preferredTimescale: 1000)
        _ = try compare(path, part)
    }

    /// The samples that precede the choice of the decoder are kept, so the input need not be read twice.
    @Test func pipesAreReadOnce() throws {
        try folder.ffmpeg("\(Self.clip) \(Self.x264) -bf 3 -c:a aac a.ts")
        _ = try compare(folder.file("a.ts"), again: folder.pipe("a.ts"))
    }

    /// It begins in the middle of a group of pictures: libavcodec returns nothing that lacks its references.
    @Test func recordingThatBeginsAnywhereBeginsWithTheSamePicture() throws {
        try folder.ffmpeg("\(Self.clip) \(Self.x264) -bf 2 -c:a aac a.ts")
        let bytes = try folder.contents("a.ts")
        _ = try compare(folder.write("b.ts", bytes.dropFirst(188 * 30)))
    }

    @Test func changeOfSizeIsTheSame() throws {
        try folder.ffmpeg("-f lavfi -i testsrc2=size=160x96:rate=25:duration=1 \(Self.x264) -bf 0 a.ts")
        try folder.ffmpeg("-f lavfi -i testsrc2=size=128x64:rate=25:duration=1 \(Self.x264) -bf 0 b.ts")
        let bytes = try folder.contents("a.ts") + folder.contents("b.ts")
        let source = try compare(folder.write("c.ts", bytes))
        #expect(source.video.width == 160)
    }

    /// A picture with damaged data counts as damaged, and a packet without a picture as one that cannot be decoded.
    @Test(arguments: ["a.mp4", "a.ts"]) func damageIsReported(name: String) throws {
        try folder.ffmpeg("\(Self.clip) \(Self.x264) \(name)")
        var bytes = try folder.contents(name)
        for place in stride(from: bytes.count / 3, to: bytes.count / 2, by: 97) { bytes[place] ^= 0x55 }
        let path = try folder.write("b-\(name)", bytes)
        let own = try MediaSource(path: path)
        let expected = try Reading(own).frames
        let source = try decodingElsewhere(path)
        let frames = try Reading(source).frames
        #expect(abs(frames.count - expected.count) <= 2, "\(frames.count) of \(expected.count)")
        #expect(source.problems.readErrors == own.problems.readErrors)
        #expect(source.problems.decodeErrors + source.problems.damagedFrames > 0)
        #expect(own.problems.decodeErrors + own.problems.damagedFrames > 0)
        #expect((1...SourceProblems.describedCount).contains(source.problems.descriptions.count))
        // Nothing is wrong after the next key frame.
        let (last, expectedLast) = (try #require(frames.last), try #require(expected.last))
        #expect(try last.buffer.bytes == expectedLast.buffer.bytes)
    }

    @Test func whatOthersCannotDecodeIsRefusedWithTheReason() throws {
        let cases = [("a.avi", "-c:v mpeg4", "given mpeg4"), ("b.avi", "\(Self.x264) -bf 2", "no presentation times")]
        for (name, options, reason) in cases {
            try folder.ffmpeg("\(Self.clip) \(options) \(name)")
            var allowing = MediaSource.Options()
            allowing.allowsOtherDecoder = true
            let source = try MediaSource(path: folder.file(name), options: allowing)
            let error = #expect(throws: MediaError.self) { try source.formatForOtherDecoder() }
            let text = error.map { "\($0)" } ?? ""
            #expect(error?.code == .unsupported && text.contains(reason), "\(name): \(text)")
            // The source still decodes by itself.
            #expect(try Reading(source).frames.count == 50)
        }
        let source = try MediaSource(path: folder.file("b.avi"))
        let error = #expect(throws: MediaError.self) { try source.formatForOtherDecoder() }
        #expect(error?.code == .invalidState)
    }

    /// An error of the other decoder ends the reading.
    @Test func errorOfTheDecoderIsThatOfTheSource() throws {
        let path = try folder.ffmpeg("\(Self.clip) \(Self.x264) a.mp4")
        let source = try decodingElsewhere(path, .init(), FailingFactory(after: 7))
        let error = #expect(throws: MediaError.self) { try Reading(source) }
        #expect(error?.code == .frameFailed)
    }
}

/// Makes decoders that fail.
private struct FailingFactory: DecoderFactory {
    let identity = DecoderIdentity(name: "failing", codec: .h264)
    /// The samples that are accepted.
    let after: Int

    func makeDecoder(_ request: DecoderRequest) -> any DecoderBackend { Failing(after) }

    private final class Failing: DecoderBackend {
        let properties = DecoderProperties(name: "failing")
        private var left: Int

        init(_ left: Int) { self.left = left }

        func decode(_ sample: DecoderSample) throws(MediaError) {
            left -= 1
            if left < 0 { throw MediaError(.frameFailed, "as agreed") }
        }

        func drain() {}
    }
}
