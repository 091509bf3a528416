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
}
