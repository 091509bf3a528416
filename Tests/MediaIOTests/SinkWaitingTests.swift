// SPDX-License-Identifier: GPL-2.0-or-later

import CFFmpeg
import Foundation
import MediaTypes
import Testing

@testable import MediaIO

/// Packets that wait for the first video sample, some of them in a file.
@Suite struct SinkWaitingTests {
    private let folder: SinkFolder
    private let packets: [MediaPacket]

    init() throws {
        folder = try SinkFolder()
        let input = folder.path("in.mkv")
        // The delay of Opus comes as side data of its last packet.
        let sources = "-f lavfi -i testsrc2=s=96x64:r=25 -f lavfi -i sine=440:r=48000 -t 0.61"
        try runTool(
            "ffmpeg",
            ("-v error \(sources) -c:v libx264 -c:a libopus").split(separator: " ").map(String.init) + [input]
        )
        var packets: [MediaPacket] = []
        let source = try MediaSource(path: input)
        while let event = try source.next() {
            if case .packet(let packet) = event { packets.append(packet) }
        }
        try FileManager.default.removeItem(atPath: input)
        try #require(packets.allSatisfy { $0.presentationTime.isValid })
        try #require(packets.count > 20 && packets.contains { $0.packet.pointee.side_data_elems > 0 })
        self.packets = packets
    }

    /// Everything that a container is told of a packet.
    private func contents(_ packet: MediaPacket) -> [String] {
        let fields = packet.packet.pointee
        let sideData = (0..<Int(fields.side_data_elems)).map { fields.side_data[$0] }.map {
            "\($0.type.rawValue) \(Data(bytes: $0.data, count: $0.size).base64EncodedString())"
        }
        return [
            "\(packet.presentationTime) \(fields.pts) \(fields.dts) \(fields.duration) \(fields.flags)",
            Data(bytes: fields.data, count: Int(fields.size)).base64EncodedString(),
        ] + sideData
    }

    @Test(arguments: [0, 300, 2000, 1 << 20])
    func theyComeAsTheyWent(mostBytesInMemory: Int) throws {
        let waiting = WaitingPackets(folder: folder.url.path, mostBytesInMemory: mostBytesInMemory)
        for packet in packets { try waiting.append(packet) }
        #expect(try folder.contents.count == (mostBytesInMemory < 1 << 20 ? 1 : 0), "bytes that wait on the disk")
        var found: [[String]] = []
        var tracks: [MediaTrack] = []
        try waiting.drain { packet in
            found.append(contents(packet))
            tracks.append(packet.track)
        }
        #expect(found == packets.map(contents))
        #expect(tracks.allSatisfy { $0 === packets[0].track })
        #expect(try folder.contents == [])
        try waiting.drain { _ in Issue.record("a packet comes twice") }
    }

    @Test(arguments: [0, 2000, 1 << 20]) func theyGoWhenTheirTimeHasCome(mostBytesInMemory: Int) throws {
        let waiting = WaitingPackets(folder: folder.url.path, mostBytesInMemory: mostBytesInMemory)
        let half = packets.count / 2
        for packet in packets.prefix(half) { try waiting.append(packet) }
        var found: [[String]] = []
        let limit = packets[3].presentationTime
        try waiting.drain(upTo: limit) { found.append(contents($0)) }
        #expect(found == packets.prefix(4).map(contents))
        try waiting.drain(upTo: limit) { _ in Issue.record("a packet comes before its time") }
        for packet in packets.dropFirst(half) { try waiting.append(packet) }
        try waiting.drain { found.append(contents($0)) }
        #expect(found == packets.map(contents))
        #expect(waiting.isEmpty)
        #expect(try folder.contents == [])
    }

    @Test func nothingIsLeftOfThoseThatAreForgotten() throws {
        let forgotten = WaitingPackets(folder: folder.url.path, mostBytesInMemory: 0)
        for packet in packets { try forgotten.append(packet) }
        #expect(try folder.contents.count == 1)
        forgotten.discard()
        #expect(try folder.contents == [])
        do {
            let dropped = WaitingPackets(folder: folder.url.path, mostBytesInMemory: 0)
            try dropped.append(packets[0])
        }
        #expect(try folder.contents == [])
    }

    /// libavformat waits ten seconds for a track that has given nothing yet.
    @Test func theFirstPictureStandsBeforeTheSoundThatWaited() throws {
        let input = folder.path("sound.mkv")
        let sources = "-f lavfi -i testsrc2=s=96x64:r=1 -f lavfi -i sine=440:r=48000 -t 60"
        try runTool(
            "ffmpeg",
            ("-v error \(sources) -c:v libx264 -c:a aac").split(separator: " ").map(String.init) + [input]
        )
        let source = try MediaSource(path: input)
        let output = folder.path("out.ts")
        let sink = try MediaSink(path: output)
        #expect(try sink.addTrack(source.tracks[0]) == .accepted)
        var count = 0
        while let event = try source.next() {
            guard case .packet(let packet) = event else { continue }
            try sink.write(packet)
            count += 1
        }
        let samples = try EncodedVideo.standard.get().samples
        for sample in samples { try sink.write(sample) }
        #expect(try sink.finish().packetErrors.isEmpty)
        let probe = try Probe(output)
        let first = try #require(probe.packets.firstIndex { $0.stream_index == 0 })
        #expect(first < 10, "\(first) packets of sound come first")
        #expect(probe.streams[0].width == 96)
        #expect(probe.packets(ofStream: 0).count == samples.count)
        #expect(probe.packets(ofStream: 1).count == count)
    }

    /// The first sample is written before the packets that waited: one that is refused lets them wait on.
    @Test func packetsWaitOnWhereTheFirstSampleIsRefused() throws {
        let track = packets[0].track
        let sink = try MediaSink(path: folder.path("out.ts"))
        #expect(try sink.addTrack(track) == .accepted)
        for packet in packets { try sink.write(packet) }
        let samples = try EncodedVideo.standard.get().samples
        // No NAL unit is as long as that.
        let broken = samples[0].changed { $0.data = CodedData([0x7F, 0xFF, 0xFF, 0xFF, 0x65]) }
        #expect(throws: MediaError.self) { try sink.write(broken) }
        for sample in samples { try sink.write(sample) }
        let summary = try sink.finish()
        #expect(summary.sampleCount == samples.count)
        let probe = try Probe(folder.path("out.ts"))
        #expect(probe.packets(ofStream: 0).count == samples.count)
        #expect(probe.packets(ofStream: 1).count == packets.count)
    }

    @Test func aFailureOfTheOneWhoTakesThemEndsIt() throws {
        let waiting = WaitingPackets(folder: folder.url.path, mostBytesInMemory: 0)
        for packet in packets { try waiting.append(packet) }
        var count = 0
        #expect(throws: MediaError.self) {
            try waiting.drain { (_) throws(MediaError) in
                count += 1
                if count == 3 { throw MediaError(.inputOutput, "the disk is full") }
            }
        }
        #expect(count == 3)
        #expect(try folder.contents == [])
    }

    @Test func aFolderWithoutPlaceIsNamed() throws {
        let waiting = WaitingPackets(folder: folder.path("missing"), mostBytesInMemory: packets[0].byteCount)
        try waiting.append(packets[0])
        let error = #expect(throws: MediaError.self) { try waiting.append(packets[1]) }
        #expect(error?.code == .inputOutput)
        #expect(error?.given == folder.path("missing"))
    }

    @Test func aFileThatSomebodyCutIsNotBelieved() throws {
        let waiting = WaitingPackets(folder: folder.url.path, mostBytesInMemory: 0)
        for packet in packets { try waiting.append(packet) }
        let file = try FileHandle(forWritingTo: folder.url.appending(path: try #require(try folder.contents.first)))
        try file.truncate(atOffset: UInt64(packets[0].byteCount))
        var count = 0
        let error = #expect(throws: MediaError.self) { try waiting.drain { _ in count += 1 } }
        #expect(error?.code == .inputOutput)
        #expect(count == 1)
    }
}
