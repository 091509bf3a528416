// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Foundation
import MediaIO
import MediaTypes
import Streaming
import StreamingPlaylists
import Synchronization
import Testing

@testable import LiveHLS

/// What comes out of units, decoded by ffmpeg.
struct LivePackagerTests {
    static let clip = Result { try SimulatedStream() }
    static let other = Result { try SimulatedStream(size: "352x200", options: "-profile:v main") }

    private static func decoded(_ store: CheckingStore, _ folder: String, _ names: [String]) throws -> [String] {
        let scratch = try Scratch()
        let path = try scratch.file("all.mp4", store.bytes(folder, names))
        return try Tool.frames(of: path, ["-xerror"], ["-fps_mode", "passthrough"]).map { $0.last ?? "" }
    }

    /// The hashes of pictures in the order in which they are shown.
    private static func original(_ stream: SimulatedStream, _ seconds: Int) throws -> [String] {
        var bytes: [UInt8] = []
        for number in 0..<seconds * Int(stream.frameRate) {
            let data = try stream.picture(number).annexB(withParameterSets: true, withDelimiter: true)
            bytes += data.withUnsafeBytes { Array($0) }
        }
        let scratch = try Scratch()
        let path = try scratch.file("all.h264", bytes)
        return try Tool.frames(of: path, ["-f", "h264"], ["-fps_mode", "passthrough"]).map { $0.last ?? "" }
    }

    @Test func partsAndSegmentsDecodeToTheSameFrames() throws {
        let stream = try Self.clip.get()
        var rig = try Rig()
        try rig.packager.begin(stream.tracks, at: rig.time)
        try rig.add(stream.units(to: 20))
        try rig.packager.finish(at: rig.time)
        #expect(rig.store.problems == [])
        let wanted = try Self.original(stream, 20)
        let parts = rig.store.written("video", "part")
        #expect(try Self.decoded(rig.store, "video", ["t-init-1.mp4"] + parts) == wanted)
        let segments = rig.store.written("video", "segment")
        #expect(try Self.decoded(rig.store, "video", ["t-init-1.mp4"] + segments) == wanted)
        #expect(rig.store.bytes("video", parts) == rig.store.bytes("video", segments))
        let listed = Listed(rig.store.text(0))
        #expect(listed.isEnded)
        #expect(listed.durations == Array(repeating: 4_000_000, count: 5))
        #expect(parts.count == 20)
        #expect(listed.hint == nil)
        let multivariant = try #require(rig.store.latest?.multivariant)
        #expect(
            multivariant.contains("CODECS=\"avc1.64000D,mp4a.40.2\"")
                || multivariant.contains("CODECS=\"avc1.64000d,mp4a.40.2\"")
        )
        #expect(multivariant.contains("RESOLUTION=320x180,FRAME-RATE=30.000"))
    }

    @Test func soundIsExactOverAMinute() throws {
        let stream = try Self.clip.get()
        var rig = try Rig(segment: 2, part: 0.5)
        try rig.packager.begin(stream.tracks, at: rig.time)
        let units = stream.units(to: 62)
        try rig.add(units)
        try rig.packager.finish(at: rig.time)
        #expect(rig.store.problems == [])
        let parts = rig.store.written("audio-1", "segment")
        let scratch = try Scratch()
        let path = try scratch.file("all.mp4", rig.store.bytes("audio-1", ["t-init-1.mp4"] + parts))
        let packets = try Tool.frames(of: path, [], ["-c", "copy", "-copyts"])
        // From the first picture that is shown to the end of the last one.
        let first = Int((48000.0 / 1024 / Double(stream.frameRate)).rounded(.up))
        let count = packets.count
        #expect(count >= 62 * 48000 / 1024 - 4)
        #expect(packets.map { $0[2] } == (0..<count).map { "\((first + $0) * 1024)" })
        let samples = try Tool.frames(of: path, [], ["-c:a", "pcm_s16le"]).reduce(0) { $0 + (Int($1[3]) ?? 0) }
        #expect(samples == count * 1024)
        let total = Listed(rig.store.text(1)).durations.reduce(0, +)
        #expect(total == (Int64(count) * 1024 * 1_000_000 + 24000) / 48000)
    }

    @Test func anotherEncoderIsADiscontinuityOfAllTracks() throws {
        let (first, second) = (try Self.clip.get(), try Self.other.get())
        var rig = try Rig()
        try rig.packager.begin(first.tracks, at: rig.time)
        try rig.add(first.units(to: 6))
        try rig.add(second.units(from: 6, to: 14))
        try rig.packager.finish(at: rig.time)
        #expect(rig.store.problems == [])
        let (video, audio) = (Listed(rig.store.text(0)), Listed(rig.store.text(1)))
        #expect(video.maps.count == 2)
        #expect(Set(audio.maps) == ["t-init-1.mp4"])
        #expect(video.discontinuities == 1)
        #expect(audio.discontinuities == 1)
        #expect(video.durations.reduce(0, +) == 14_000_000)
        #expect(video.durations.prefix(3) == [4_000_000, 2_000_000, 4_000_000])
        for (map, numbers) in [(1, 0..<2), (2, 2..<4)] {
            let names = ["t-init-\(map).mp4"] + numbers.map { video.segments[$0] }
            #expect(try Self.decoded(rig.store, "video", names).count == (map == 1 ? 180 : 240))
        }
    }

    @Test func anotherConnectionContinuesThePlaylists() throws {
        let stream = try Self.clip.get()
        var rig = try Rig()
        try rig.packager.begin(stream.tracks, at: rig.time)
        try rig.add(stream.units(to: 5.5))
        try rig.packager.begin(stream.tracks, at: rig.time)
        rig.now = 9
        // A connection begins with a key frame.
        try rig.add(stream.units(from: 7, to: 8))
        try rig.add(stream.units(from: 8, to: 16))
        try rig.packager.finish(at: rig.time)
        #expect(rig.store.problems == [])
        let (video, audio) = (Listed(rig.store.text(0)), Listed(rig.store.text(1)))
        #expect(video.discontinuities == 1)
        #expect(audio.discontinuities == 1)
        #expect(video.segments.count == 4)
        #expect(video.segments.count == audio.segments.count)
        #expect(rig.store.text(0).contains("#EXT-X-MEDIA-SEQUENCE:0\n"))
        #expect(video.durations.reduce(0, +) == 13_500_000)
    }

    @Test func otherTracksAreRefused() throws {
        let stream = try Self.clip.get()
        var rig = try Rig()
        try rig.packager.begin(stream.tracks, at: rig.time)
        #expect(throws: MediaError.self) { try rig.packager.begin(LiveTracks(video: nil), at: rig.time) }
        var unsupported = stream.tracks
        unsupported.audio[0].codecName = "opus"
        #expect(throws: MediaError.self) { try rig.packager.begin(unsupported, at: rig.time) }
    }

    @Test func aFullDiskIsAGapInTheStream() throws {
        let stream = try Self.clip.get()
        let units = stream.units(to: 24)
        for failing in [0, 1, 2, 3, 5, 8, 11, 14] {
            var rig = try Rig(segment: 2)
            try rig.packager.begin(stream.tracks, at: rig.time)
            rig.store.state.withLock { $0.writesLeft = failing }
            var failures = 0
            for unit in units {
                do {
                    try rig.add([unit])
                } catch {
                    failures += 1
                    rig.store.state.withLock { $0.writesLeft = nil }
                    try rig.packager.begin(stream.tracks, at: rig.time)
                }
            }
            try rig.packager.finish(at: rig.time)
            #expect(failures == 1)
            #expect(rig.store.problems == [], "the write \(failing) fails")
            let listed = Listed(rig.store.text(0))
            #expect(listed.segments.count >= 10)
            #expect(listed.isEnded)
        }
    }

    @Test func soundThatIsLostHoldsNobodyUp() throws {
        let stream = try Self.clip.get()
        var rig = try Rig(segment: 2)
        try rig.packager.begin(stream.tracks, at: rig.time)
        let units = stream.units(to: 20).filter { unit in
            if case .audio(let packet, _) = unit { return !(5.0..<12.3).contains(packet.presentationTime.seconds) }
            return true
        }
        try rig.add(units)
        try rig.packager.finish(at: rig.time)
        #expect(rig.store.problems == [])
        let (video, audio) = (Listed(rig.store.text(0)), Listed(rig.store.text(1)))
        #expect(abs(video.durations.count - audio.durations.count) <= 1)
        #expect(audio.gapSegments == 3)
        #expect(abs(video.durations.reduce(0, +) - audio.durations.reduce(0, +)) < 100_000)
        let limit = try #require(audio.partTarget)
        #expect(audio.partDurations.allSatisfy { $0 <= limit })
    }

    @Test func timesThatJitter() throws {
        let stream = try Self.clip.get()
        var tracks = stream.tracks
        tracks.frameRate = nil
        var generator = SystemRandomNumberGenerator()
        var units: [LiveUnit] = []
        for unit in stream.units(to: 20) {
            guard case .video(var sample) = unit else {
                units.append(unit)
                continue
            }
            let jitter = Double.random(in: -0.008...0.008, using: &generator)
            let decode = MediaTime(
                seconds: sample.decodeTime.seconds + 0.01 + jitter,
                preferredTimescale: 1_000_000_000
            )
            sample.presentationTime = decode + (sample.presentationTime - sample.decodeTime)
            sample.decodeTime = decode
            sample.duration = .invalid
            units.append(.video(sample))
        }
        var rig = try Rig(part: 0.5)
        try rig.packager.begin(tracks, at: rig.time)
        try rig.add(units)
        try rig.packager.finish(at: rig.time)
        #expect(rig.store.problems == [])
        let video = Listed(rig.store.text(0))
        let limit = try #require(video.partTarget)
        #expect(video.partDurations.allSatisfy { $0 <= limit })
        let parts = rig.store.written("video", "part")
        #expect(try Self.decoded(rig.store, "video", ["t-init-1.mp4"] + parts).count == 600)
    }

    @Test func soundAlone() throws {
        let stream = try Self.clip.get()
        var tracks = stream.tracks
        tracks.video = nil
        tracks.frameRate = nil
        var rig = try Rig(interval: nil)
        try rig.packager.begin(tracks, at: rig.time)
        try rig.add(
            stream.units(to: 30).filter { unit in
                if case .audio = unit { true } else { false }
            }
        )
        try rig.packager.finish(at: rig.time)
        #expect(rig.store.problems == [])
        let listed = Listed(rig.store.text(0))
        #expect(listed.segments.count == 8)
        #expect(rig.store.latest?.entries.count == 1)
        #expect(rig.store.latest?.multivariant.contains("audio-1/index.m3u8\n") == true)
        let total = listed.durations.reduce(0, +)
        #expect(abs(total - 30_000_000) < 30_000)
    }

    @Test func filesAreDeletedBehindTheWindow() throws {
        let stream = try Self.clip.get()
        var rig = try Rig(segment: 2, window: 12)
        try rig.packager.begin(stream.tracks, at: rig.time)
        try rig.add(stream.units(to: 180))
        #expect(rig.store.problems == [])
        let listed = Listed(rig.store.text(0))
        #expect((6...8).contains(listed.segments.count))
        // A window, what was listed for as long again, and the newest parts.
        #expect(rig.store.state.withLock { $0.mostFiles } < 90)
        #expect(rig.store.written("video", "segment").count == 89)
    }

    @Test func withoutPartsThereAreOnlySegments() throws {
        let stream = try Self.clip.get()
        var rig = try Rig(part: nil, store: CheckingStore(holdsRequests: false))
        try rig.packager.begin(stream.tracks, at: rig.time)
        try rig.add(stream.units(to: 20))
        let text = rig.store.text(0)
        #expect(!text.contains("EXT-X-PART") && !text.contains("SERVER-CONTROL") && !text.contains("PRELOAD"))
        try rig.packager.finish(at: rig.time)
        #expect(rig.store.problems == [])
        let segments = Listed(rig.store.text(0)).segments
        #expect(try Self.decoded(rig.store, "video", ["t-init-1.mp4"] + segments) == Self.original(stream, 20))
    }

    @Test func partsOfAMuxerKnowWhatTheyHave() throws {
        let stream = try Self.clip.get()
        let muxer = PartMuxer(video: stream.video[0].formatDescription, frameRate: Rational(stream.frameRate))
        let step = MediaTime(value: 1, timescale: stream.frameRate)
        #expect(try muxer.takePart() == nil)
        #expect(muxer.initialization == nil)
        for number in 0..<90 {
            try muxer.write(stream.picture(number), duration: step)
            guard number % 30 == 29 else { continue }
            let part = try #require(try muxer.takePart())
            #expect(part.sampleCount == 30)
            #expect(part.duration == MediaTime(value: 1, timescale: 1))
            #expect(part.start == MediaTime(value: Int64(number / 30), timescale: 1))
            #expect(part.isIndependent == (number / 30 != 1))
            #expect(part.startsWithKeyFrame == (number / 30 != 1))
            #expect(part.bytes[4..<8] == Array("moof".utf8)[...])
        }
        #expect(muxer.initialization?[4..<8] == Array("ftyp".utf8)[...])
        #expect(throws: MediaError.self) { try muxer.write(stream.packet(0), duration: step) }
        #expect(throws: MediaError.self) { try muxer.write(stream.picture(3), duration: step) }
    }
}
