// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import MediaIO

@Suite struct SinkContainerTests {
    @Test(arguments: ["a.h264", "a.mp4", "a.mov", "a.mkv", "a.ts", "A.M4V"])
    func everyContainerDecodesToTheSameFrames(name: String) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let summary = try writeSamples(video.samples, to: folder.path(name))
        #expect(try folder.contents == [name])
        #expect(try frameHashes(of: folder.path(name)) == video.hashes)
        #expect(summary.sampleCount == 16)
        #expect(summary.duration == MediaTime(value: 16, timescale: 25))
        let size = try FileManager.default.attributesOfItem(atPath: folder.path(name))[.size] as? Int64
        #expect(summary.byteCount == size)
    }

    @Test(arguments: ["a.mp4", "a.mov"], ["25", "24000/1001", "30000/1001", "50", "1000/7"])
    func times(name: String, rate: String) throws {
        let video = try EncodedVideo(rate: rate)
        let folder = try SinkFolder()
        try writeSamples(video.samples, to: folder.path(name))
        let probe = try Probe(folder.path(name))
        try expect(probe, matches: video.samples)
        #expect(probe.streams[0].codec_tag_string == "avc1")
    }

    private func expect(_ probe: Probe, matches samples: [SampleBuffer]) throws {
        let timescale = try #require(Int32(probe.streams[0].time_base.dropFirst(2)))
        #expect(probe.packets.count == samples.count)
        for (packet, sample) in zip(probe.packets, samples) {
            #expect(MediaTime(value: packet.pts ?? -1, timescale: timescale) == sample.presentationTime)
            #expect(MediaTime(value: packet.dts ?? -1, timescale: timescale) == sample.decodeTime)
            #expect(MediaTime(value: packet.duration ?? -1, timescale: timescale) == sample.duration)
            #expect(packet.flags.hasPrefix("K") == sample.isKeyFrame)
        }
    }
}
