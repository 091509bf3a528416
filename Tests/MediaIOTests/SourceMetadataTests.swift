// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaIO
import MediaTypes
import Testing

@Suite struct SourceMetadataTests {
    let folder: ClipFolder

    init() throws { folder = try ClipFolder() }

    /// One message of SMPTE ST 2094-40 before the first picture: nothing encodes it, so it is told.
    @Test func dynamicMetadataIsToldOf() throws {
        let path = try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=64x64:rate=25:duration=0.2 -c:v libx265 -x265-params log-level=none:pools=none a.h265"
        )
        #expect(try MediaSource(path: path).video.lostMetadata.isEmpty)
        var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
        let starts = bytes.indices.dropLast(4).filter { bytes[$0...].starts(with: [0, 0, 1]) }
        let picture = try #require(starts.first { bytes[$0 + 3] >> 1 & 63 < 32 })
        // Country, provider and application, version 1, one window, and no more than zeros.
        let payload: [UInt8] = [0xB5, 0x00, 0x3C, 0x00, 0x01, 0x04, 0x01, 0x40] + Array(repeating: 0, count: 14)
        let unit: [UInt8] = [0x4E, 0x01, 0x04, UInt8(payload.count)] + payload + [0x80]
        bytes.insert(contentsOf: [0, 0, 1] + EmulationPrevention.added(to: unit), at: picture)
        let changed = try folder.write("b.h265", bytes)
        let source = try MediaSource(path: changed)
        #expect(source.video.lostMetadata == ["HDR10+ metadata"])
        #expect(try Reading(source).frames.count == 5)
    }

    @Test func theVideoHasALanguageAndATitle() throws {
        let path = try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=64x64:rate=25:duration=0.2 -c:v libx264 -metadata:s:v language=jpn"
                + " -metadata:s:v title=Angle a.mkv"
        )
        let video = try MediaSource(path: path).video
        #expect(video.language == "jpn" && video.title == "Angle")
    }

    @Test(arguments: ["a.mp4", "a.mkv"])
    func metadataOfHighDynamicRangeIsKept(name: String) throws {
        let path = try folder.ffmpeg(
            """
            -f lavfi -i testsrc2=size=64x64:rate=25:duration=0.2 -vf format=yuv420p10le,\
            setparams=range=tv:colorspace=bt2020nc:color_primaries=bt2020:color_trc=smpte2084 -c:v libx265 -x265-params \
            log-level=none:pools=none:hdr10=1:max-cll=1000,400:\
            master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1) \(name)
            """
        )
        let source = try MediaSource(path: path)
        let display = MasteringDisplay(
            red: .init(x: 34000, y: 16000),
            green: .init(x: 13250, y: 34500),
            blue: .init(x: 7500, y: 3000),
            whitePoint: .init(x: 15635, y: 16450),
            maximumLuminance: 10_000_000,
            minimumLuminance: 1
        )
        let light = ContentLightLevel(maximumContentLightLevel: 1000, maximumFrameAverageLightLevel: 400)
        #expect(source.video.attachments.masteringDisplay == display)
        #expect(source.video.attachments.contentLight == light)
        var color = source.video.color
        color.chromaLocation = nil
        #expect(color == .hdr10)
        #expect(source.video.pixelFormat == .p010)
        let frames = try Reading(source).frames
        #expect(frames.count == 5)
        #expect(frames.allSatisfy { $0.buffer.attachments.masteringDisplay == display })
        #expect(frames.allSatisfy { $0.buffer.attachments.contentLight == light })
    }

    /// Captions lie in an SEI message (ATSC A/53 part 4, 6.2.3) that is put before each picture here.
    @Test func captionsComeWithTheirFrames() throws {
        try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=64x48:rate=25:duration=0.2 -c:v libx264 -bf 0 -aud 1 -pix_fmt yuv420p a.h264"
        )
        var captions: [[UInt8]] = []
        var output: [UInt8] = []
        let delimiter: [UInt8] = [0, 0, 0, 1, 9]
        let stream = try folder.contents("a.h264")
        for unit in stream.split(separator: delimiter) {
            let text: [UInt8] = [0xFC, 0x80 + UInt8(captions.count), 0x45, 0xFD, 0x80, 0x80]
            let message = [0xB5, 0x00, 0x31] + Array("GA94".utf8) + [0x03, 0x42, 0xFF] + text + [0xFF]
            let aud = unit.prefix(1)
            output += delimiter + aud + [0, 0, 0, 1, 6, 4, UInt8(message.count)] + message + [0x80] + unit.dropFirst()
            captions.append(text)
        }
        let path = try folder.write("b.h264", output)
        let source = try MediaSource(path: path)
        #expect(source.video.attachments.captions.isEmpty)
        #expect(try Reading(source).frames.map(\.buffer.attachments.captions) == captions)
        #expect(captions.count == 5)
    }

    @Test func interlacedVideoIsDetectedAndDeinterlaced() throws {
        let path = try folder.ffmpeg(
            """
            -f lavfi -i testsrc2=size=64x48:rate=50:duration=0.4 -vf tinterlace=mode=interleave_top,fieldorder=tff \
            -c:v mpeg2video -flags +ildct+ilme -q:v 2 -pix_fmt yuv420p a.ts
            """
        )
        let source = try MediaSource(path: path)
        #expect(source.video.isInterlaced)
        let reading = try Reading(source)
        #expect(reading.frames.count == 10)
        let deinterlace = "-vf bwdif=mode=send_frame:parity=auto:deint=interlaced"
        #expect(try reading.pictures == Tool.pictures(path, deinterlace, format: .i420))

        let woven = try Reading(path, .init(deinterlacing: .off))
        #expect(try woven.pictures == Tool.pictures(path, format: .i420))
        #expect(woven.frames.map(\.presentationTime) == reading.frames.map(\.presentationTime))
        #expect(try woven.pictures != reading.pictures)
    }

    @Test func progressiveVideoIsNotTouched() throws {
        let path = try folder.ffmpeg("-f lavfi -i testsrc2=size=64x48:rate=25:duration=0.4 -c:v mpeg2video a.ts")
        let source = try MediaSource(path: path)
        #expect(!source.video.isInterlaced)
        #expect(try Reading(source).pictures == Tool.pictures(path, format: .i420))
    }
}
