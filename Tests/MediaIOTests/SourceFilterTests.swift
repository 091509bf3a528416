// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CFFmpeg
import MediaTypes
import Testing
import VideoDecoding

@testable import MediaIO

/// What libavfilter makes of frames.
@Suite struct SourceFilterTests {
    private static let timeBase = AVRational(num: 1, den: 90000)

    private func filter(deinterlaces: Bool) throws -> PictureFilter {
        try PictureFilter(
            PictureFilter.Configuration(
                width: 64,
                height: 48,
                layout: try #require(PictureLayout(rawFormat: AV_PIX_FMT_YUV420P.rawValue)),
                demand: PictureDemand(chromaFormat: .yuv420, maximumBitDepth: 10),
                isBottomUp: false,
                color: .unspecified,
                pixelAspectRatio: AVRational(num: 1, den: 1),
                timeBase: Self.timeBase,
                deinterlaces: deinterlaces,
                orientation: deinterlaces ? .upright : .turnedRight,
                threads: 1
            )
        )
    }

    private func frame(at time: Int64) throws -> FrameReference {
        let reference = try FrameReference()
        reference.frame.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        (reference.frame.pointee.width, reference.frame.pointee.height) = (64, 48)
        reference.frame.pointee.pts = time
        try #require(av_frame_get_buffer(reference.frame, 0) == 0)
        return reference
    }

    /// The frames themselves say nothing of how long they last, so that no version of a filter can be what is right.
    @Test(arguments: [false, true]) func durationsGoRoundTheFilters(deinterlaces: Bool) throws {
        let filter = try filter(deinterlaces: deinterlaces)
        let durations: [Int64] = [3600, 1800, 7200, 0, 3600]
        var (time, sent, received): (Int64, [[Int64]], [[Int64]]) = (-900, [], [])
        func receive() throws {
            while let output = try filter.receive() {
                received.append([output.frame.frame.pointee.pts, output.duration])
            }
        }
        for duration in durations {
            try filter.send(frame(at: time), duration: duration)
            sent.append([time, duration])
            time += max(duration, 900)
            try receive()
        }
        try filter.send(nil)
        try receive()
        #expect(received == sent)
    }
}
