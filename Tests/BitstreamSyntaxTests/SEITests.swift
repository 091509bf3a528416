// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

@testable import BitstreamSyntax

/// Supplemental enhancement information, against streams of x264 and FFmpeg's parser.
@Suite struct SEITests {
    /// Every message of x264's CBR stream is read, and written to the same bytes.
    @Test(arguments: ["-x264-params nal-hrd=cbr:bframes=2", "-x264-params nal-hrd=vbr:pic-struct=1:open-gop=1"])
    func messagesOfX264ComeBack(options: String) throws {
        let rate = "-b:v 300k -maxrate 300k -bufsize 300k -g 10"
        let arguments = EncodedStream.encoding("libx264", frames: 25, "\(rate) \(options)")
        let stream = try EncodedStream(codec: .h264, arguments, in: TemporaryFolder())
        var sps = H264SequenceParameterSet()
        var seen: [SEIMessage.PayloadType: Int] = [:]
        for unit in stream.nalUnits {
            let type = try H264NALUnitHeader(nalUnit: unit).nalUnitType
            if type == .sequenceParameterSet { sps = try H264SequenceParameterSet(nalUnit: unit) }
            guard type == .sei else { continue }
            let messages = try SEIMessage.messages(in: unit, codec: .h264)
            #expect(SEIMessage.nalUnit(messages, codec: .h264) == unit)
            for message in messages {
                seen[message.type, default: 0] += 1
                switch message.type {
                case .bufferingPeriod:
                    let period = try H264BufferingPeriod(payload: message.payload, for: sps)
                    #expect(period.nal.count == 1 && period.nal[0].delay > 0)
                    #expect(try period.message(for: sps) == message)
                case .pictureTiming:
                    let timing = try H264PictureTiming(payload: message.payload, for: sps)
                    #expect(try timing.message(for: sps) == message)
                case .recoveryPoint:
                    #expect(try H264RecoveryPoint(payload: message.payload).message() == message)
                default: break
                }
            }
        }
        #expect(seen[.bufferingPeriod, default: 0] >= 2 && seen[.pictureTiming] == 25)
        #expect(seen[.unregisteredUserData] == 1)
        if options.contains("open-gop") { #expect(seen[.recoveryPoint, default: 0] >= 1) }
    }

    /// The same for x265, whose messages are HEVC's, and FFmpeg's parser agrees on their lengths.
    @Test func messagesOfX265ComeBack() throws {
        let rate = "hrd=1:vbv-maxrate=300:vbv-bufsize=300:bitrate=300"
        let structure = "keyint=10:min-keyint=10:open-gop=1:bframes=2:scenecut=0"
        let arguments = EncodedStream.encoding("libx265", frames: 25, "-x265-params \(rate):\(structure)")
        let stream = try EncodedStream(codec: .hevc, arguments, in: TemporaryFolder())
        var sps = HEVCSequenceParameterSet()
        var seen: [SEIMessage.PayloadType: Int] = [:]
        for unit in stream.nalUnits {
            let header = try HEVCNALUnitHeader(nalUnit: unit)
            if header.nalUnitType == .sequenceParameterSet { sps = try HEVCSequenceParameterSet(nalUnit: unit) }
            guard header.isPrefixSEI else { continue }
            for message in try SEIMessage.messages(in: unit, codec: .hevc) {
                seen[message.type, default: 0] += 1
                switch message.type {
                case .bufferingPeriod:
                    let period = try HEVCBufferingPeriod(payload: message.payload, for: sps)
                    #expect(period.nal.count == 1 && period.nal[0].delay > 0 && period.vcl.isEmpty)
                    #expect(try period.message(for: sps) == message)
                case .pictureTiming:
                    let timing = try HEVCPictureTiming(payload: message.payload, for: sps)
                    #expect(try timing.message(for: sps) == message)
                case .recoveryPoint:
                    #expect(try HEVCRecoveryPoint(payload: message.payload).message() == message)
                default: break
                }
            }
        }
        #expect(seen[.bufferingPeriod, default: 0] >= 2 && seen[.pictureTiming] == 25, "\(seen)")
        // Without a clock for arrivals the timing says how pictures are shown, and no delay can be said.
        sps.vui?.hrd = nil
        sps.vui?.frameFieldInfoPresentFlag = true
        var shown = HEVCPictureTiming()
        (shown.picStruct, shown.sourceScanType, shown.duplicateFlag) = (7, 1, true)
        let message = try shown.message(for: sps)
        #expect(message.payload.count == 1)
        #expect(try HEVCPictureTiming(payload: message.payload, for: sps) == shown)
        shown.picDpbOutputDelay = 1
        #expect(throws: BitstreamError.self) { try shown.message(for: sps) }
    }

    @Test func longTypesAndSizesTakeMoreBytes() throws {
        let messages = [0, 254, 255, 256, 600].map { size in
            SEIMessage(type: .init(rawValue: UInt32(size)), payload: Array(repeating: 0, count: size))
        }
        for codec in [VideoCodec.h264, .hevc] {
            let unit = SEIMessage.nalUnit(messages, codec: codec)
            #expect(try SEIMessage.messages(in: unit, codec: codec) == messages)
            #expect(try codec.nalUnitHeader(of: unit).isVideoCodingLayer == false)
        }
    }

    @Test func whatIsCutOffIsRefused() {
        let unit = SEIMessage.nalUnit([.init(type: .recoveryPoint, payload: [1, 2, 3, 4])], codec: .h264)
        for count in 2..<(unit.count - 2) {
            #expect(throws: BitstreamError.self) {
                try SEIMessage.messages(in: unit.prefix(count) + [0x80], codec: .h264)
            }
        }
        #expect(throws: BitstreamError.self) { try H264RecoveryPoint(payload: []) }
        let endless = [UInt8(6)] + Array(repeating: UInt8(0xFF), count: 100)
        #expect(throws: BitstreamError.self) { try SEIMessage.messages(in: endless, codec: .h264) }
    }

    @Test func captionsAreThoseOfFFmpeg() throws {
        // 32 triplets, and the first byte of another.
        var triplets: [UInt8] = []
        for letter in UInt8(0x20)..<0x40 { triplets += [0xFC, letter, 0x80] }
        triplets.append(0xFC)
        let messages = CaptionMessage.messages(triplets)
        let sizes = messages.map(\.payload.count)
        #expect(sizes == [104, 14])
        #expect(CaptionMessage.messages([1, 2]).isEmpty)

        let folder = try TemporaryFolder()
        let arguments = EncodedStream.encoding("libx264", frames: 1, "-preset ultrafast")
        let stream = try EncodedStream(codec: .h264, arguments, in: folder)
        var units = stream.nalUnits
        let slice = try #require(try units.firstIndex { try H264NALUnitHeader(nalUnit: $0).isVideoCodingLayer })
        units.insert(SEIMessage.nalUnit(CaptionMessage.messages(Array(triplets.prefix(93))), codec: .h264), at: slice)
        let file = folder.path("captions.h264")
        try Data(NALUnitFraming.annexB.join(units)).write(to: URL(fileURLWithPath: file))
        let found = try run(
            "ffprobe",
            ["-v", "error", "-show_frames", "-show_entries", "frame_side_data=side_data_type,side_data_size", file],
            in: folder
        )
        #expect(found.contains("side_data_type=ATSC A53 Part 4 Closed Captions"), "\(found)")
    }
}
