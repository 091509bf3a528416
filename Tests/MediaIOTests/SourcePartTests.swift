// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import MediaIO

/// Files that are a part of something longer, and keep its times.
@Suite struct SourcePartTests {
    let folder: ClipFolder

    init() throws {
        folder = try ClipFolder()
        try folder.ffmpeg(
            """
            -f lavfi -i testsrc2=size=64x48:rate=25:duration=16 -f lavfi -i sine=duration=16 -c:v libx264 \
            -preset veryfast -bf 2 -g 75 -sc_threshold 0 -pix_fmt yuv420p -c:a aac whole.mkv
            """
        )
    }

    private func check(_ path: String, second: Double) throws {
        let first = try Tool.probe(path, "format=start_time", streams: nil).first
        #expect(try #require(first.flatMap(Double.init)) > second - 0.5, "the part does not keep its times")
        let source = try MediaSource(path: path)
        let frames = try Reading(source).frames
        #expect(frames.count == 75)
        #expect(!source.problems.isLossy, "\(source.problems)")
        let duration = try #require(source.video.duration).seconds
        #expect(abs(duration - 3) < 0.05, "\(duration) s")
        #expect(abs((source.video.estimatedFrameCount ?? 0) - 75) <= 1)
    }

    @Test(arguments: ["mkv", "mp4", "nut", "ts"])
    func segmentsAreWhole(container: String) throws {
        try folder.ffmpeg("-i whole.mkv -c copy -f segment -segment_time 3 part%d.\(container)")
        try check(folder.file("part3.\(container)"), second: 9)
    }

    /// One fragment behind the header of all.
    @Test func fragmentsAreWhole() throws {
        try folder.ffmpeg("-i whole.mkv -c copy -f hls -hls_segment_type fmp4 -hls_time 3 list.m3u8")
        let path = try folder.write("part.mp4", folder.contents("init.mp4") + folder.contents("list3.m4s"))
        try check(path, second: 9)
    }

    @Test(arguments: ["mkv", "mp4"]) func segmentThatIsCutSaysSo(container: String) throws {
        let options = container == "mp4" ? "-segment_format_options movflags=+faststart" : ""
        try folder.ffmpeg("-i whole.mkv -c copy -f segment -segment_time 3 \(options) part%d.\(container)")
        let bytes = try folder.contents("part3.\(container)")
        let source = try MediaSource(path: folder.write("cut.\(container)", bytes.prefix(bytes.count * 6 / 10)))
        #expect(try Reading(source).frames.count < 70)
        #expect(source.problems.isLossy)
    }

    /// On a pipe nothing can be skipped: what lies before the start is read, and forgotten.
    @Test func soundBeforeTheStartIsNotKept() throws {
        try folder.ffmpeg("-i whole.mkv -c copy whole.ts")
        let path = try folder.pipe("whole.ts")
        let options = MediaSource.Options(start: MediaTime(value: 14, timescale: 1))
        let demuxer = try Demuxer(path: path, options: options, cancellation: Cancellation())
        let selection = try StreamSelection(demuxer)
        let pipeline = try VideoPipeline(stream: selection.video, demuxer: demuxer, options: options)
        let reader = SourceReader(demuxer: demuxer, pipeline: pipeline, tracks: selection.tracks, options: options)
        _ = try reader.start()
        // Some 650 packets of sound come before the start, and some 80 after it.
        #expect(reader.waitingCount < 90)
        var (sound, pictures) = (0, 0)
        while let event = try reader.next() {
            if case .packet = event { sound += 1 } else { pictures += 1 }
        }
        #expect(pictures == 50)
        #expect((80...90).contains(sound), "\(sound)")
    }
}
