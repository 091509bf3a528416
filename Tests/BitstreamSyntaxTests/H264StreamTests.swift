// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import BitstreamSyntax

/// Parameter sets of real encoders, against FFmpeg's reading of them.
@Suite struct H264StreamTests {
    private static let flat8x8 = Array(repeating: "40", count: 64).joined(separator: ",")

    /// Options of ffmpeg's libx264; what each is for is what its name says.
    static let options = [
        "-profile:v baseline -level 3.0",
        "-profile:v main -bf 3 -g 4 -flags +cgop",
        "-profile:v high -preset veryslow",
        "-profile:v high10 -pix_fmt yuv420p10le",
        "-profile:v high422 -pix_fmt yuv422p10le",
        "-profile:v high444 -pix_fmt yuv444p -x264-params cqm=jvt",
        "-pix_fmt gray",
        "-pix_fmt yuv444p10le -qp 0",
        "-g 1 -pix_fmt yuv420p10le",
        "-flags +ildct+ilme -x264-params tff=1",
        "-x264-params nal-hrd=cbr:vbv-maxrate=500:vbv-bufsize=500:bitrate=500:filler=1",
        "-x264-params nal-hrd=vbr:vbv-maxrate=800:vbv-bufsize=400:bitrate=500:pic-struct=1:force-cfr=1",
        "-x264-params cqm=jvt:transform-8x8=1",
        "-x264-params cqm4=16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,30:cqm8p=\(flat8x8)",
        "-x264-params open-gop=1:bframes=2:keyint=3",
        "-vf format=yuv420p,setparams=range=tv:colorspace=bt709:color_primaries=bt709:color_trc=bt709",
        "-vf format=yuv420p,setparams=range=pc:colorspace=bt2020nc:color_primaries=bt2020:color_trc=smpte2084",
        "-x264-params overscan=show:videoformat=pal:chromaloc=2",
        "-aspect 40:11",
        "-vf setsar=117/113",
        "-x264-params fake-interlaced=1:level=5.1",
        "-x264-params constrained-intra=1:weightp=2:ref=5:slices=4:chroma-qp-offset=-5",
        "-tune stillimage -level 1.1",
        "-x264-params sps-id=7:aud=1",
    ]

    @Test(arguments: options) func libx264(options: String) throws {
        let folder = try TemporaryFolder()
        for size in ["96x64", "102x52"] {
            let arguments = EncodedStream.encoding("libx264", size: size, options)
            try check(EncodedStream(codec: .h264, arguments, in: folder))
        }
    }

    @Test func openh264() throws {
        let folder = try TemporaryFolder()
        let file = folder.path("openh264.h264")
        let pipeline = "videotestsrc num-buffers=5 ! video/x-raw,width=130,height=98 ! openh264enc ! filesink location="
        _ = try run("gst-launch-1.0", ["-q"] + (pipeline + file).split(separator: " ").map(String.init), in: folder)
        try check(EncodedStream(codec: .h264, [], source: file, in: folder))
    }

    /// What the properties say, against what ffprobe says of the same stream.
    @Test func propertiesAreThoseOfFFprobe() throws {
        let folder = try TemporaryFolder()
        let options = """
            -level 3.1 -bf 2 -vf setsar=40/33,format=yuv422p10le,\
            setparams=range=pc:colorspace=bt2020nc:color_primaries=bt2020:color_trc=smpte2084
            """
        let stream = try EncodedStream(
            codec: .h264,
            EncodedStream.encoding("libx264", size: "102x52", options),
            in: folder
        )
        let sps = try #require(try stream.nalUnits.compactMap(parsedSPS).first)
        #expect(sps.profileIdc == 122)
        #expect(sps.level == "3.1")
        #expect(sps.codedSize == PictureSize(width: 112, height: 64))
        #expect(sps.displaySize == PictureSize(width: 102, height: 52))
        #expect(sps.chromaFormatIdc == .yuv422)
        #expect((sps.lumaBitDepth, sps.chromaBitDepth) == (10, 10))
        #expect(sps.sampleAspectRatio == PositiveRatio(40, 33))
        #expect(sps.frameRate == PositiveRatio(25, 1))
        #expect(sps.isFullRange)
        #expect(
            sps.colourDescription
                == ColourCodePoints(colourPrimaries: 9, transferCharacteristics: 16, matrixCoefficients: 9)
        )
        let probed = try stream.probe(
            ["profile", "level", "width", "height", "pix_fmt", "sample_aspect_ratio", "has_b_frames"],
            codec: .h264,
            in: folder
        )
        #expect(
            probed == [
                "profile": "High 4:2:2", "level": "31", "width": "102", "height": "52", "pix_fmt": "yuv422p10le",
                "sample_aspect_ratio": "40:33", "has_b_frames": "\(sps.maxNumReorderFrames)",
            ]
        )
    }

    private func parsedSPS(_ unit: [UInt8]) throws -> H264SequenceParameterSet? {
        guard try H264NALUnitHeader(nalUnit: unit).nalUnitType == .sequenceParameterSet else { return nil }
        return try H264SequenceParameterSet(nalUnit: unit)
    }

    /// Every parameter set is written as it was read, and FFmpeg reads the same elements in it.
    private func check(_ stream: EncodedStream) throws {
        var sets = (sps: 0, pps: 0)
        var chromaFormat = ChromaFormat.yuv420
        for unit in stream.nalUnits {
            switch try H264NALUnitHeader(nalUnit: unit).nalUnitType {
            case .sequenceParameterSet:
                let set = try H264SequenceParameterSet(nalUnit: unit)
                chromaFormat = set.chromaFormatIdc
                #expect(try set.nalUnit() == unit)
                #expect(set.unknownData.count == 0)
                #expect(try stream.differences(from: set.trace()) == [])
                sets.sps += 1
            case .pictureParameterSet:
                let set = try H264PictureParameterSet(nalUnit: unit, chromaFormat: chromaFormat)
                #expect(try set.nalUnit() == unit)
                #expect(set.unknownData.count == 0)
                #expect(try stream.differences(from: set.trace()) == [])
                sets.pps += 1
            default:
                break
            }
        }
        #expect(sets.sps > 0 && sets.pps > 0)
    }
}
