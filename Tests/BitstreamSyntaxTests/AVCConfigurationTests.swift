// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Testing

/// The content of the first box of this type anywhere in a file.
func box(_ type: String, in file: String) throws -> [UInt8] {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
    let name = try #require(bytes.range(of: Data(type.utf8)))
    let size = bytes[name.lowerBound - 4..<name.lowerBound].reduce(0) { $0 << 8 | Int($1) }
    return Array(bytes[name.upperBound..<name.lowerBound - 4 + size])
}

@Suite struct AVCConfigurationTests {
    @Test(arguments: [
        "-profile:v baseline", "-profile:v main", "-profile:v high", "-pix_fmt yuv422p10le", "-pix_fmt gray",
    ])
    func isTheBoxOfLibavformat(options: String) throws {
        let folder = try TemporaryFolder()
        let stream = try EncodedStream(codec: .h264, EncodedStream.encoding("libx264", options), in: folder)
        let raw = folder.path("x.h264")
        try Data(stream.bytes).write(to: URL(fileURLWithPath: raw))
        let mp4 = folder.path("x.mp4")
        _ = try run("ffmpeg", ["-y", "-i", raw, "-c", "copy", mp4], in: folder)
        let expected = try box("avcC", in: mp4)

        let made = try AVCDecoderConfigurationRecord(nalUnits: stream.nalUnits)
        #expect(try made.bytes() == expected)
        let read = try AVCDecoderConfigurationRecord(bytes: expected)
        #expect(read == made)
    }

    @Test func keepsSeveralSetsExtensionsAndUnknownData() throws {
        var record = AVCDecoderConfigurationRecord()
        record.profileIndication = 110
        record.lengthSize = .two
        record.sequenceParameterSets = [[0x67, 1], [0x67, 2, 3]]
        record.pictureParameterSets = [[0x68, 1], [0x68], [0x68, 7, 7, 7]]
        record.high = .init()
        record.high?.sequenceParameterSetExtensions = [[0x6D, 9]]
        for byte in [0xA5, 0] as [UInt8] {
            for bit in 0..<8 { record.unknownData.append(byte & (0x80 >> UInt8(bit)) != 0) }
        }
        let bytes = try record.bytes()
        #expect(bytes.suffix(2) == [0xA5, 0])
        #expect(try AVCDecoderConfigurationRecord(bytes: bytes) == record)
        for count in 0..<bytes.count - 2 {
            let error = #expect(throws: BitstreamError.self) {
                let part = try AVCDecoderConfigurationRecord(bytes: bytes.prefix(count))
                // Old files end before the elements of the high profiles.
                if part.high == nil { throw BitstreamError(field: "high", bitPosition: count * 8, reason: .truncated) }
            }
            #expect(error?.reason == .truncated)
        }
    }

    @Test func refusesWhatItCannotHold() throws {
        #expect(throws: BitstreamError.self) { try AVCDecoderConfigurationRecord(nalUnits: [[0x68, 0xCE]]) }
        #expect(throws: BitstreamError.self) { try AVCDecoderConfigurationRecord(bytes: [0]) }
        var record = AVCDecoderConfigurationRecord()
        record.pictureParameterSets = [[UInt8](repeating: 1, count: 65536)]
        #expect(throws: BitstreamError.self) { try record.bytes() }
        record.pictureParameterSets = Array(repeating: [0x68], count: 256)
        #expect(throws: BitstreamError.self) { try record.bytes() }
        record.pictureParameterSets = []
        record.high = .init()
        let noHighProfile = BitstreamError(
            field: "chroma_format",
            bitPosition: 56,
            reason: .outOfRange(value: 1, allowed: 0...0)
        )
        record.profileIndication = 66
        #expect(throws: noHighProfile) { try record.bytes() }
        var odd = try AVCDecoderConfigurationRecord().bytes()
        odd[4] = 0xFE
        #expect(throws: BitstreamError(field: "lengthSizeMinusOne", bitPosition: 38, reason: .invalidCode)) {
            try AVCDecoderConfigurationRecord(bytes: odd)
        }
    }
}
