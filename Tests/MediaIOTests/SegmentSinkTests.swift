// SPDX-License-Identifier: GPL-2.0-or-later

import CFFmpeg
import MediaTypes
import Testing

@testable import MediaIO

@Suite struct SegmentSinkTests {
    /// Writes the standard video and audio, of which one packet is a second too early, into segments.
    ///
    /// - Returns: The number of bytes of audio data that should be in the segments, and what was written.
    private func write(early: Int, _ format: SegmentFormat) throws -> (audio: [[UInt8]], MediaSink.Summary, [[UInt8]]) {
        let folder = try SinkFolder()
        let input = folder.path("in.mkv")
        let source = "-v error -f lavfi -i testsrc2=s=96x64:r=25 -f lavfi -i sine=440:r=48000 -t 0.6"
        try runTool(
            "ffmpeg",
            source.split(separator: " ").map(String.init) + ["-c:v", "libx264", "-c:a", "aac", input]
        )
        var packets: [MediaPacket] = []
        let reader = try MediaSource(path: input)
        while let event = try reader.next() {
            if case .packet(let packet) = event { packets.append(packet) }
        }
        let index = early < 0 ? packets.count + early : early
        packets[index] = try packets[index].moved(by: MediaTime(value: -1, timescale: 1))
        var audio: [[UInt8]] = []
        let sink = try SegmentSink(options: SegmentSink.Options(format: format)) { segment in
            if segment.track.audio != nil, segment.content == .media { audio.append(segment.data) }
        }
        #expect(try sink.addTrack(packets[0].track) == .accepted)
        for packet in packets { try sink.write(packet) }
        for sample in try EncodedVideo.standard.get().samples { try sink.write(sample) }
        let summary = try sink.finish()
        let kept = packets.enumerated().filter { $0.offset != index }.map { _, packet in
            let properties = packet.packet.pointee
            return Array(UnsafeBufferPointer(start: properties.data, count: Int(properties.size)))
        }
        return (audio, summary, kept)
    }

    /// A packet whose time goes back is lost, and no other one, whether it is in the middle or the last.
    @Test(arguments: [10, -1]) func aBadPacketIsLostAlone(early: Int) throws {
        let (audio, summary, kept) = try write(early: early, .fmp4)
        #expect(summary.packetErrors.count == 1, "\(summary.packetErrors)")
        let bytes = audio.flatMap(\.self)
        // A box `mdat` has the packets one after the other.
        var position = bytes.startIndex
        for packet in kept {
            guard let found = bytes[position...].firstRange(of: packet) else {
                Issue.record("a packet of \(packet.count) bytes is missing")
                return
            }
            position = found.upperBound
        }
    }
}
