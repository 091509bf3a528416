// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Streaming
import Testing

@testable import LiveHLS

/// Live HLS in a folder.
struct FolderStoreTests {
    private static func names(_ path: String) -> [String] {
        (try? FileManager.default.subpathsOfDirectory(atPath: path).sorted()) ?? []
    }

    private func stream(_ address: String, seconds: Double) throws {
        let stream = try LivePackagerTests.clip.get()
        let destination = try HLSDestination(
            try HLSAddress(address),
            keyFrameInterval: MediaTime(value: 2, timescale: 1)
        )
        let connection = try destination.connect(stream.tracks, ConnectionLimits(), try StopSignal())
        for unit in stream.units(to: seconds) { try connection.send(unit) }
        try connection.finish()
        #expect(connection.measurements.sentBytes > 0)
    }

    @Test func ffmpegReadsTheWholeStream() throws {
        let scratch = try Scratch()
        try stream("hls:\(scratch.path)/live?segment=4&dvr=all", seconds: 24)
        let names = Self.names("\(scratch.path)/live")
        #expect(names.filter { $0.hasSuffix(".m4s") }.count == 12)
        #expect(names.filter { $0.contains("part") } == [])
        let text = try String(contentsOfFile: "\(scratch.path)/live/video/index.m3u8", encoding: .utf8)
        #expect(text.contains("#EXT-X-PLAYLIST-TYPE:EVENT\n"))
        #expect(text.hasSuffix("#EXT-X-ENDLIST\n"))
        let playlist = "\(scratch.path)/live/index.m3u8"
        let frames = try Tool.frames(of: playlist, [], ["-map", "0:v", "-fps_mode", "passthrough"])
        #expect(frames.count == 24 * 30)
        let sound = try Tool.frames(of: playlist, [], ["-map", "0:a", "-c", "copy"])
        #expect(abs(sound.count - 1125) < 5)
    }

    @Test func aStreamIsNotReplacedUnasked() throws {
        let scratch = try Scratch()
        try stream("hls:\(scratch.path)?segment=2", seconds: 8)
        _ = try scratch.file("notes.txt", Array("mine".utf8))
        // A rendition of a ladder that was there before.
        mkdir("\(scratch.path)/video-480p", 0o700)
        let old = try scratch.file("video-480p/t-segment-000001.m4s", [1])
        _ = try scratch.file("video-480p/notes.txt", [1])
        #expect {
            try stream("hls:\(scratch.path)?segment=2", seconds: 8)
        } throws: { error in
            (error as? MediaError)?.allowed?.contains("overwrite=1") == true
        }
        let before = Self.names(scratch.path)
        try stream("hls:\(scratch.path)?segment=2&overwrite=1", seconds: 8)
        let after = Self.names(scratch.path)
        #expect(after.contains("notes.txt"))
        #expect(access(old, F_OK) != 0 && access("\(scratch.path)/video-480p/notes.txt", F_OK) == 0)
        #expect(Set(before).intersection(after).filter { $0.hasSuffix(".m4s") } == [])
        #expect(before.count == after.count + 1)
    }

    @Test(arguments: ["/dev/null", "/nonexistent/folder/live"])
    func aFolderThatCannotBe(path: String) throws {
        #expect(throws: MediaError.self) { try stream("hls:\(path)", seconds: 1) }
    }

    @Test func anOutputSendsToIt() async throws {
        let scratch = try Scratch()
        let stream = try LivePackagerTests.clip.get()
        let destination = try HLSDestination(try HLSAddress("hls:\(scratch.path)/live?segment=2&dvr=all"))
        let output = try destination.makeOutput()
        output.start(stream.tracks)
        for unit in stream.units(to: 12) { output.enqueue(unit) }
        try await Tool.apart { output.finish() }
        #expect(output.status.state == .finished)
        #expect(output.status.sentPictures == 360)
        let text = try String(contentsOfFile: "\(scratch.path)/live/video/index.m3u8", encoding: .utf8)
        #expect(Listed(text).durations == Array(repeating: 2_000_000, count: 6))
        #expect(Listed(text).isEnded)
    }

    @Test func whatIsListedIsThereAtEveryMoment() throws {
        let scratch = try Scratch()
        let path = "\(scratch.path)/live"
        let stream = try LivePackagerTests.clip.get()
        let destination = try HLSDestination(
            try HLSAddress("hls:\(path)?segment=2&part=0.5"),
            keyFrameInterval: MediaTime(value: 2, timescale: 1)
        )
        let connection = try destination.connect(stream.tracks, ConnectionLimits(), try StopSignal())
        var looks = 0
        for (number, unit) in stream.units(to: 60).enumerated() {
            try connection.send(unit)
            guard number % 20 == 0 else { continue }
            for folder in ["video", "audio-1"] {
                guard let text = try? String(contentsOfFile: "\(path)/\(folder)/index.m3u8", encoding: .utf8) else {
                    continue
                }
                looks += 1
                let listed = Listed(text)
                let missing = (listed.segments + listed.parts + listed.maps).filter {
                    (FileManager.default.contents(atPath: "\(path)/\(folder)/\($0)")?.count ?? 0) < 100
                }
                #expect(missing == [])
                #expect(text.hasSuffix("\n") && text.contains("#EXT-X-PART:"))
            }
        }
        try connection.finish()
        #expect(looks > 100)
        #expect(Self.names(path).filter { $0.contains(".vatoolbox-") } == [])
    }
}
