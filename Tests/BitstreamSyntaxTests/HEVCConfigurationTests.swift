// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Testing

@Suite struct HEVCConfigurationTests {
    @Test(arguments: [
        "-pix_fmt yuv420p", "-pix_fmt yuv422p10le",
        "-pix_fmt yuv420p -x265-params temporal-layers=1:bframes=3:b-adapt=0",
    ])
    func isTheBoxOfLibavformat(options: String) throws {
        let folder = try TemporaryFolder()
        let stream = try EncodedStream(codec: .hevc, EncodedStream.encoding("libx265", options), in: folder)
        let raw = folder.path("x.h265")
        try Data(stream.bytes).write(to: URL(fileURLWithPath: raw))
        for tag in ["hvc1", "hev1"] {
            let mp4 = folder.path("\(tag).mp4")
            _ = try run("ffmpeg", ["-y", "-i", raw, "-c", "copy", "-tag:v", tag, mp4], in: folder)
            let expected = try box("hvcC", in: mp4)
            let made = try HEVCDecoderConfigurationRecord(nalUnits: stream.nalUnits, isComplete: tag == "hvc1")
            #expect(try made.bytes() == expected)
            #expect(try HEVCDecoderConfigurationRecord(bytes: expected) == made)
        }
    }

    @Test func everyTruncationIsAnError() throws {
        var record = HEVCDecoderConfigurationRecord()
        record.avgFrameRate = 7680
        record.arrays = [
            .init(isComplete: true, nalUnitType: .videoParameterSet, nalUnits: [[0x40, 1, 2]]),
            .init(isComplete: false, nalUnitType: .prefixSEI, nalUnits: [[0x4E, 1], [0x4E, 1, 9, 9]]),
        ]
        let bytes = try record.bytes()
        #expect(try HEVCDecoderConfigurationRecord(bytes: bytes) == record)
        #expect(record.nalUnits(of: .prefixSEI) == [[0x4E, 1], [0x4E, 1, 9, 9]])
        for count in bytes.indices {
            let error = #expect(throws: BitstreamError.self) {
                try HEVCDecoderConfigurationRecord(bytes: bytes.prefix(count))
            }
            #expect(error?.reason == .truncated)
        }
    }

    @Test func refusesStreamsWithoutSequenceParameterSet() {
        #expect(throws: BitstreamError.self) {
            try HEVCDecoderConfigurationRecord(nalUnits: [[0x40, 1, 2]], isComplete: true)
        }
    }
}
