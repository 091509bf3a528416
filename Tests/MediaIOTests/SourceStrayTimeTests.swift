// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import MediaIO

/// One time of a file that lies far ahead of all others.
@Suite struct SourceStrayTimeTests {
    let folder: ClipFolder

    init() throws { folder = try ClipFolder() }

    /// Four seconds of pictures and sound in `clip`, as it should be.
    private func makeClip(_ name: String, bFrames: Int, options: String = "") throws -> Reading {
        try Reading(MediaSource(path: clip(name, bFrames: bFrames, options)))
    }

    private func clip(_ name: String, bFrames: Int, _ options: String) throws -> String {
        try folder.ffmpeg(
            """
            -f lavfi -i testsrc2=size=64x48:rate=25:duration=4 -f lavfi -i sine=sample_rate=48000:duration=4 \
            -c:v libx264 -preset veryfast -bf \(bFrames) -g 50 -pix_fmt yuv420p -c:a aac \(options) \(name)
            """
        )
    }

    /// The option of ffmpeg that moves one packet's time an hour later.
    private func moving(_ stray: Int, of stream: String) -> String {
        "-bsf:\(stream) setts=pts='if(eq(N\\,\(stray))\\,PTS+3600/TB\\,PTS)':dts=DTS"
    }

    private func reading(_ path: String) throws -> (Reading, SourceProblems) {
        let source = try MediaSource(path: path)
        let reading = try Reading(source)
        return (reading, source.problems)
    }

    private func packetTimes(_ reading: Reading) -> [MediaTime] { reading.packets.map(\.presentationTime) }

    /// Its own time is the one that is missing among the others.
    @Test(arguments: [("a.mkv", 0), ("a.mkv", 3), ("a.mp4", 0), ("a.mp4", 3)], [1, 30, 51])
    func strayPictureMovesNothingElse(clip: (name: String, bFrames: Int), stray: Int) throws {
        let whole = try makeClip(clip.name, bFrames: clip.bFrames)
        let path = try folder.ffmpeg("-i \(clip.name) -c copy \(moving(stray, of: "v")) stray-\(clip.name)")
        let (reading, problems) = try reading(path)
        #expect(reading.frames.count == 100)
        let moved = zip(reading.seconds, whole.seconds).filter { abs($0 - $1) > 0.001 }
        #expect(moved.isEmpty, "\(moved.prefix(3))")
        #expect(problems.repairedTimes == 1)
        #expect(packetTimes(reading) == packetTimes(whole))
        #expect(try reading.pictures == whole.pictures)
    }

    /// What follows the picture before the last one could only be shown before it if the file reordered pictures.
    @Test func strayPictureNearTheEndMovesNothing() throws {
        let whole = try makeClip("a.mkv", bFrames: 0)
        let (reading, problems) = try reading(folder.ffmpeg("-i a.mkv -c copy \(moving(98, of: "v")) stray.mkv"))
        #expect(reading.seconds == whole.seconds)
        #expect(problems.repairedTimes == 1)
    }

    @Test func straySoundEndsNothing() throws {
        let whole = try makeClip("a.mkv", bFrames: 3)
        // Not by a copy: ffmpeg 7 takes the times of sound that it copies from `dts` alone.
        let (reading, problems) = try reading(clip("stray.mkv", bFrames: 3, moving(60, of: "a")))
        #expect(reading.seconds == whole.seconds)
        #expect(problems.repairedTimes == 1)
        let (found, wanted) = (packetTimes(reading), packetTimes(whole))
        #expect(found.count == wanted.count)
        #expect(zip(found, wanted).allSatisfy { abs(($0 - $1).seconds) < 0.025 })
    }

    /// A subtitle a minute after the one before it is not looked into, nor is what it says moved.
    @Test func subtitlesComeWhenThereIsSomethingToSay() throws {
        let lines = "1\n00:00:01,000 --> 00:00:02,000\none\n\n2\n00:01:01,000 --> 00:01:02,000\ntwo\n\n3\n00:01:03,000 "
        _ = try folder.write("a.srt", Array((lines + "--> 00:01:04,000\nthree\n").utf8))
        let path = try folder.ffmpeg(
            """
            -f lavfi -i testsrc2=size=64x48:rate=5:duration=70 -i a.srt -c:v libx264 -preset veryfast -pix_fmt yuv420p \
            -c:s srt a.mkv
            """
        )
        let source = try MediaSource(path: path)
        let reading = try Reading(source)
        #expect(source.problems.repairedTimes == 0 && reading.frames.count == 350)
        #expect(packetTimes(reading).map(\.seconds) == [1, 61, 63])
    }

    /// Pictures on both sides of the gap are coded in disorder.
    @Test(arguments: ["a.mkv", "a.mp4"], [0, 3]) func gapsStay(name: String, bFrames: Int) throws {
        try folder.ffmpeg(
            """
            -f lavfi -i testsrc2=size=64x48:rate=25:duration=4 -vf setpts=PTS+gte(N\\,41)*600/TB -fps_mode passthrough \
            -c:v libx264 -preset veryfast -bf \(bFrames) -b_strategy 0 -g 200 -pix_fmt yuv420p coded.mkv
            """
        )
        // Straight into MP4, ffmpeg 7 gives the last picture no duration, and an edit list that leaves it out.
        let path = try folder.ffmpeg("-i coded.mkv -c copy \(name)")
        let source = try MediaSource(path: path)
        let reading = try Reading(source)
        #expect(source.problems.repairedTimes == 0)
        let wanted = (0..<100).map { Double($0) / 25 + ($0 >= 41 ? 600 : 0) }
        #expect(reading.seconds.count == 100)
        #expect(zip(reading.seconds, wanted).allSatisfy { abs($0 - $1) < 0.001 })
    }
}
