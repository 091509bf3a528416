// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import SoftwareEncoder
import Testing

/// Captions of pictures come back, with their pictures, from FFmpeg's decoder.
@Suite struct CaptionTests {
    @Test func captionsTravelWithTheirFrames() throws {
        // Frame 5 has none, frame 6 more than a message holds, frame 7 an incomplete triplet besides a whole one.
        let counts = [1, 2, 20, 31, 32, 0, 70, 1, 3, 3, 3, 3]
        let captions: [[UInt8]] = counts.enumerated().map { frame, count in
            (0..<UInt8(count)).flatMap { [0xFC, UInt8(frame), $0] }
        }
        var configuration = EncoderConfiguration(width: TestClip.small.width, height: TestClip.small.height)
        configuration.bFrames = .maximum(3)
        configuration.rateControl = .constantQuality(30)
        let recording = try Recording(configuration)
        #expect(recording.properties.supportedProperties.contains(.captions))
        for (index, triplets) in captions.enumerated() {
            let buffer = try TestClip.small.buffer(index, format: .nv12)
            buffer.attachments.captions = triplets + (index == 7 ? [0xFC] : [])
            try recording.encode(buffer)
        }
        try recording.encoder.drain()
        #expect(recording.frames.map(\.number) != Array(0..<Int64(counts.count)), "reordered")

        let scratch = try Scratch()
        let source = try MediaSource(path: scratch.write(recording.annexB, to: "captions.h264"))
        var found: [[UInt8]] = []
        while let event = try source.next() {
            if case .frame(let frame) = event { found.append(frame.buffer.attachments.captions) }
        }
        #expect(found == captions)
    }
}
