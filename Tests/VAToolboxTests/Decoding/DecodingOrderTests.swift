// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HelperIPC
import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// Sessions that return frames in decoding order.
@Suite(.usesHelpers, .timeLimit(.minutes(60))) struct DecodingOrderTests {
    private static let x264 = "-x264-params bframes=0:keyint=12:scenecut=0"
    private static let x265 = "-x265-params log-level=none:bframes=0:keyint=12:scenecut=0"

    enum Stream: CaseIterable {
        case h264, h264WithoutDepth, hevc

        func make() throws -> CodedStream {
            switch self {
            case .h264: try CodedStream(.h264, x264)
            // Without the type of picture order counts that implies the depth, and without B-frames.
            case .h264WithoutDepth: try CodedStream(.h264, x264 + ":bframes=1:b-bias=-100").withoutReorderDepth()
            case .hevc: try CodedStream(.hevc, x265)
            }
        }
    }

    private func makeSession(
        _ format: FormatDescription,
        inHelper: Bool = false
    ) async throws -> DecompressionSession {
        var options = DecompressionOptions()
        options.order = .decoding
        let candidate =
            inHelper ? try DecoderCandidate.planned(DecoderPlan(), codec: format.codec) : .software(format.codec)
        return try await DecompressionSession(formatDescription: format, options: options, candidates: [candidate])
    }

    /// Each sample is submitted only after the frame of the one before has come, and the frames are those of ffmpeg.
    @Test(arguments: Stream.allCases, [false, true])
    func aFrameComesBeforeTheNextSample(stream: Stream, inHelper: Bool) async throws {
        let coded = try stream.make()
        let session = try await makeSession(coded.samples[0].formatDescription, inHelper: inHelper)
        var frames = session.frames.makeAsyncIterator()
        var pictures: [[UInt8]] = []
        for (index, sample) in coded.samples.enumerated() {
            try await session.decode(sample, token: index)
            let frame = try #require(try await frames.next())
            #expect(frame.token as? Int == index && !frame.isDamaged)
            pictures.append(try frame.buffer.packed())
        }
        try await session.finish()
        #expect(try await frames.next() == nil)
        #expect(try pictures == coded.pictures("yuv420p", byteCount: 192 * 112 * 3 / 2))
    }

    @Test(arguments: [
        (VideoCodec.h264, "-x264-params bframes=3:b-adapt=0:b-pyramid=none", "by up to 1"),
        (.h264, "-x264-params bframes=3:b-adapt=0:b-pyramid=normal", "by up to 2"),
        (.hevc, "-x265-params log-level=none:bframes=3:b-adapt=0:b-pyramid=1", "by up to 2"),
    ])
    func aStreamThatStatesReorderingIsRefused(codec: VideoCodec, options: String, given: String) async throws {
        let coded = try CodedStream(codec, frames: 5, options)
        let error = await #expect(throws: MediaError.self) {
            _ = try await makeSession(coded.samples[0].formatDescription)
        }
        #expect(error?.code == .unsupported && error?.given == given)
        #expect(error?.allowed?.contains("the order .presentation") == true)
        // The same holds where such a stream begins within another.
        let plain = try CodedStream(codec, frames: 5, codec == .h264 ? Self.x264 : Self.x265)
        let session = try await makeSession(plain.samples[0].formatDescription)
        for sample in plain.samples { try await session.decode(sample) }
        let later = await #expect(throws: MediaError.self) { try await session.decode(coded.samples[0]) }
        #expect(later == error)
    }

    @Test func aSampleBeforeItsPredecessorEndsTheSession() async throws {
        let coded = try CodedStream(.h264, "-x264-params bframes=3:b-adapt=0:b-pyramid=none").withoutReorderDepth()
        var samples = coded.samples
        for (position, index) in try coded.presentationOrder().enumerated() {
            samples[index].presentationTime = MediaTime(value: Int64(position), timescale: 25)
        }
        let session = try await makeSession(samples[0].formatDescription)
        var frames = session.frames.makeAsyncIterator()
        for sample in samples[..<2] {
            try await session.decode(sample)
            #expect(try await frames.next()?.presentationTime == sample.presentationTime)
        }
        let error = await #expect(throws: MediaError.self) { try await session.decode(samples[2]) }
        #expect(error?.code == .unsupported && error?.given == "0.04 s after 0.16 s")
        let last = await #expect(throws: MediaError.self) { _ = try await frames.next() }
        #expect(last == error)
    }

    /// Gaps must not make libavcodec expect pictures in between, and hold back what follows.
    @Test func framesComeWithoutDelayAfterGaps() async throws {
        var samples = try Stream.h264WithoutDepth.make().samples
        for index in [3, 4, 13, 17] { samples.remove(at: index) }
        let session = try await makeSession(samples[0].formatDescription)
        var frames = session.frames.makeAsyncIterator()
        for sample in samples {
            try await session.decode(sample)
            #expect(try await frames.next()?.presentationTime == sample.presentationTime)
        }
    }

    /// A stream that begins again at an IDR picture, as after a loop, reorders nothing.
    @Test func timesMayBeginAgainAtAnIDRPicture() async throws {
        let samples = try CodedStream(.h264, frames: 6, Self.x264).samples
        let session = try await makeSession(samples[0].formatDescription)
        var frames = session.frames.makeAsyncIterator()
        for sample in samples + samples {
            try await session.decode(sample)
            #expect(try await frames.next()?.presentationTime == sample.presentationTime)
        }
    }
}
