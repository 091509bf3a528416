// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Streaming
import StreamingPlaylists
import Testing

@testable import LiveHLS

/// Several renditions of one video, each with a connection of its own.
struct LadderPackagerTests {
    /// The rendition that leads is the last one.
    private static let (high, low) = (0, 1)
    private static let large = Result { try SimulatedStream() }
    private static let replaced = Result { try SimulatedStream(options: "-profile:v main") }
    private static let small = Result { try SimulatedStream(size: "160x90") }

    /// The units of a rendition, whose key frames are those of all.
    private func units(_ stream: SimulatedStream, from start: Double = 0, to end: Double) -> [LiveUnit] {
        stream.units(from: start, to: end).map { unit in
            guard case .video(var sample) = unit, sample.isKeyFrame else { return unit }
            sample.token = CommonKeyFrame()
            return .video(sample)
        }
    }

    /// A ladder that has begun.
    private func rig(segment: Int = 4, part: Double? = 1) throws -> Rig {
        var rig = try Rig(segment: segment, part: part, renditions: ["180p", "90p"])
        var tracks = try Self.large.get().tracks
        tracks.videoBitRate = 3_000_000
        try rig.packager.begin(tracks, rendition: Self.high, at: rig.time)
        try rig.packager.begin(try Self.small.get().tracks, rendition: Self.low, at: rig.time)
        return rig
    }

    /// Adds some time of both renditions, the high one later by a delay.
    private func add(_ rig: inout Rig, from start: Double = 0, to end: Double, delay: Double = 0) throws {
        for time in stride(from: start, to: end, by: 0.5) {
            try rig.add(units(try Self.small.get(), from: time, to: time + 0.5), rendition: Self.low)
            let from = max(time - delay, start)
            guard time + 0.5 - delay > from else { continue }
            try rig.add(units(try Self.large.get(), from: from, to: time + 0.5 - delay), rendition: Self.high)
        }
    }

    private func close(_ rig: inout Rig) throws {
        try rig.packager.close(rendition: Self.low, isLast: true, at: rig.time)
        #expect(!Listed(rig.store.text(0)).isEnded)
        try rig.packager.close(rendition: Self.high, isLast: true, at: rig.time)
    }

    /// The playlists of both renditions, which have the same segments.
    private func listed(_ rig: Rig) -> (high: Listed, low: Listed) {
        #expect(rig.store.problems == [])
        let (high, low) = (Listed(rig.store.text(0)), Listed(rig.store.text(1)))
        #expect(high.durations == low.durations)
        #expect(high.discontinuities == low.discontinuities)
        #expect(high.isEnded && low.isEnded && Listed(rig.store.text(2)).isEnded)
        return (high, low)
    }

    private func frames(_ rig: Rig, _ folder: String, _ names: [String]) throws -> Int {
        let scratch = try Scratch()
        let path = try scratch.file("all.mp4", rig.store.bytes(folder, names))
        return try Tool.frames(of: path, ["-xerror"], ["-map", "0:v", "-fps_mode", "passthrough"]).count
    }

    @Test(arguments: [0, 1.5]) func allRenditionsHaveTheSameSegments(delay: Double) throws {
        var rig = try rig()
        try add(&rig, to: 20, delay: delay)
        try rig.add(units(try Self.large.get(), from: 20 - delay, to: 20), rendition: Self.high)
        try close(&rig)
        let (high, low) = listed(rig)
        #expect(low.durations == Array(repeating: 4_000_000, count: 5))
        #expect(high.gapParts + high.gapSegments + low.gapParts + low.gapSegments == 0)
        for (folder, list) in [("video-180p", high), ("video-90p", low)] {
            #expect(try frames(rig, folder, ["t-init-1.mp4"] + list.segments) == 600)
            let parts = rig.store.written(folder, "part")
            #expect(rig.store.bytes(folder, parts) == rig.store.bytes(folder, list.segments))
            #expect(parts.count == 20)
        }
        let multivariant = try #require(rig.store.latest?.multivariant)
        let variants = multivariant.split(separator: "\n").filter { $0.hasPrefix("#EXT-X-STREAM-INF") }
        #expect(variants.count == 2)
        #expect(variants[0].contains("RESOLUTION=320x180") && variants[1].contains("RESOLUTION=160x90"))
        let rates = variants.map { Int(Listed.attribute("AVERAGE-BANDWIDTH", String($0)) ?? "") ?? 0 }
        #expect((3_128_000..<3_200_000).contains(rates[0]) && (1_128_000..<1_200_000).contains(rates[1]))
        #expect(variants.allSatisfy { $0.contains("AUDIO=\"audio\"") && $0.contains("mp4a.40.2") })
        #expect(multivariant.components(separatedBy: "TYPE=AUDIO").count == 2)
    }

    @Test func aRenditionThatStallsHoldsUpNoOther() throws {
        var rig = try rig()
        try add(&rig, to: 6)
        try rig.add(units(try Self.small.get(), from: 6, to: 14), rendition: Self.low)
        // The leading one is complete up to its last picture; the other one has gaps.
        #expect(Listed(rig.store.text(1)).segments.count == 3)
        #expect(Listed(rig.store.text(0)).durations == [4_000_000, 4_000_000])
        #expect(Listed(rig.store.text(0)).gapParts > 0)
        // What comes too late is left out, up to the next key frame in time.
        try rig.add(units(try Self.large.get(), from: 6, to: 14), rendition: Self.high)
        try add(&rig, from: 14, to: 24)
        try close(&rig)
        let (high, low) = listed(rig)
        #expect(low.durations == Array(repeating: 4_000_000, count: 6))
        #expect(low.gapSegments == 0)
        #expect(try frames(rig, "video-90p", ["t-init-1.mp4"] + low.segments) == 720)
        let count = try frames(rig, "video-180p", ["t-init-1.mp4"] + high.segments)
        #expect((480...660).contains(count))
    }

    @Test func aKeyFrameThatIsMissingCostsItsPicturesOnly() throws {
        var rig = try rig(segment: 2, part: nil)
        try add(&rig, to: 4)
        let rest = units(try Self.large.get(), from: 4, to: 5)
        try rig.add(units(try Self.small.get(), from: 4, to: 5), rendition: Self.low)
        let found = rest.firstIndex { $0.isKeyFrame }
        let key = try #require(found)
        try rig.add(Array(rest[..<key] + rest[(key + 1)...]), rendition: Self.high)
        try add(&rig, from: 5, to: 10)
        try close(&rig)
        let (high, low) = listed(rig)
        #expect(low.durations == Array(repeating: 2_000_000, count: 5))
        #expect((high.gapSegments, low.gapSegments) == (1, 0))
        #expect(try frames(rig, "video-180p", ["t-init-1.mp4"] + high.segments) == 240)
    }

    /// An encoder that is replaced begins with a key frame of its own, anywhere.
    @Test func anotherEncoderOfOneRenditionIsADiscontinuityOfAll() throws {
        var rig = try rig()
        try add(&rig, to: 6)
        // The key frame at 6 s is not a boundary of segments.
        for time in stride(from: 6, to: 20, by: 0.5) {
            try rig.add(units(try Self.small.get(), from: time, to: time + 0.5), rendition: Self.low)
            try rig.add(units(try Self.replaced.get(), from: time, to: time + 0.5), rendition: Self.high)
        }
        try close(&rig)
        let (high, low) = listed(rig)
        #expect(low.discontinuities == 1)
        #expect(Listed(rig.store.text(2)).discontinuities == 1)
        #expect((Set(high.maps).count, Set(low.maps).count) == (2, 1))
        // Until the discontinuity, the new parameter sets are in the stream.
        #expect(try frames(rig, "video-180p", ["t-init-1.mp4"] + high.segments.prefix(2)) == 240)
        #expect(try frames(rig, "video-180p", ["t-init-2.mp4"] + high.segments.dropFirst(2)) == 360)
        #expect(low.durations == Array(repeating: 4_000_000, count: 5))
    }

    /// The other connection may have its next key frame at once, or later.
    @Test(arguments: [6.0, 8.0]) func aConnectionThatBeginsAgainIsADiscontinuityOfAll(start: Double) throws {
        var rig = try rig(segment: 2, part: 0.5)
        try add(&rig, to: 5)
        try rig.packager.close(rendition: Self.high, isLast: false, at: rig.time)
        try rig.add(units(try Self.small.get(), from: 5, to: 5.5), rendition: Self.low)
        try rig.packager.begin(try Self.large.get().tracks, rendition: Self.high, at: rig.time)
        try rig.add(units(try Self.small.get(), from: 5.5, to: start), rendition: Self.low)
        try add(&rig, from: start, to: 16)
        try close(&rig)
        #expect(rig.store.problems == [])
        let (high, low) = (Listed(rig.store.text(0)), Listed(rig.store.text(1)))
        #expect((high.discontinuities, low.discontinuities) == (1, 1))
        #expect(high.segments.count == low.segments.count - (start > 6 ? 1 : 0))
        let common = Int((16 - start) / 2)
        #expect(high.durations.suffix(common) == low.durations.suffix(common))
        #expect(high.isEnded && low.isEnded)
        let names = ["t-init-2.mp4"] + high.segments.suffix(common)
        #expect(try frames(rig, "video-180p", names) == common * 60)
    }

    @Test func theEndDoesNotWaitForAConnectionThatIsLost() throws {
        var rig = try rig()
        try add(&rig, to: 8)
        try rig.packager.close(rendition: Self.low, isLast: true, at: rig.time)
        #expect(!Listed(rig.store.text(0)).isEnded)
        try rig.packager.close(rendition: Self.high, isLast: false, at: rig.time)
        #expect(Listed(rig.store.text(0)).isEnded)
        #expect(Listed(rig.store.text(1)).isEnded)
    }
}
