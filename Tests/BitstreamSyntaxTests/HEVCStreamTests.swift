// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

@testable import BitstreamSyntax

/// Parameter sets of real encoders, against FFmpeg's reading of them.
@Suite struct HEVCStreamTests {
    /// Options of ffmpeg's libx265; what each is for is what its name says. FOLDER is where the test's files are.
    static let options = [
        "-pix_fmt yuv420p",
        "-pix_fmt yuv420p10le -profile:v main10",
        "-pix_fmt yuv422p10le",
        "-pix_fmt yuv444p12le",
        "-pix_fmt gray",
        "-pix_fmt yuv420p -x265-params keyint=1:profile=mainstillpicture -frames:v 1",
        "-pix_fmt yuv444p -x265-params lossless=1",
        "-pix_fmt yuv420p -x265-params hrd=1:vbv-maxrate=500:vbv-bufsize=500:bitrate=400:aud=1",
        "-pix_fmt yuv420p -x265-params scaling-list=default",
        "-pix_fmt yuv420p -x265-params temporal-layers=1:bframes=3:b-adapt=0",
        "-pix_fmt yuv420p -x265-params wpp=0:rect=1:amp=1:sao=0:tskip=1:signhide=0",
        "-pix_fmt yuv420p -x265-params open-gop=1:keyint=3:bframes=2:ref=5",
        "-pix_fmt yuv420p -x265-params interlace=tff:field=1",
        "-pix_fmt yuv420p -x265-params overscan=crop:videoformat=1:chromaloc=2:display-window=2,2,4,4",
        "-pix_fmt yuv420p -x265-params sar=117\\:113:annexb=1:vui-timing-info=1:vui-hrd-info=1",
        "-pix_fmt yuv420p -x265-params ctu=16:min-cu-size=8:max-tu-size=16:deblock=-2,1:cbqpoffs=3:crqpoffs=-3",
        "-pix_fmt yuv420p -x265-params cu-lossless=1:constrained-intra=1:weightb=1",
        "-vf format=yuv420p10le,setparams=range=pc:colorspace=bt2020nc:color_primaries=bt2020:color_trc=smpte2084",
        "-pix_fmt yuv420p -x265-params level-idc=5.1:high-tier=1:opt-qp-pps=1:opt-ref-list-length-pps=1",
        "-pix_fmt yuv420p -x265-params multi-pass-opt-rps=1:pass=1:stats=FOLDER/x265.log:bframes=3",
    ]

    @Test(arguments: options) func libx265(options: String) throws {
        let folder = try TemporaryFolder()
        for size in ["128x72", "102x52"] {
            let options = options.replacingOccurrences(of: "FOLDER", with: folder.url.path)
            let arguments = EncodedStream.encoding("libx265", size: size, options)
            try check(EncodedStream(codec: .hevc, arguments, in: folder))
        }
    }

    /// What the properties say, against what ffprobe says of the same stream.
    @Test func propertiesAreThoseOfFFprobe() throws {
        let folder = try TemporaryFolder()
        let options = """
            -x265-params level-idc=4.1:bframes=2 -vf setsar=40/33,format=yuv422p10le,\
            setparams=range=pc:colorspace=bt2020nc:color_primaries=bt2020:color_trc=smpte2084
            """
        let stream = try EncodedStream(
            codec: .hevc,
            EncodedStream.encoding("libx265", size: "102x52", options),
            in: folder
        )
        let unit = try #require(
            try stream.nalUnits.first { try HEVCNALUnitHeader(nalUnit: $0).nalUnitType == .sequenceParameterSet }
        )
        let sps = try HEVCSequenceParameterSet(nalUnit: unit)
        #expect(sps.profileTierLevel.general.profileIdc == 4)
        #expect(sps.profileTierLevel.level == "4.1")
        #expect(sps.codedSize == PictureSize(width: 104, height: 56))
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
            codec: .hevc,
            in: folder
        )
        #expect(
            probed == [
                "profile": "Rext", "level": "\(sps.profileTierLevel.generalLevelIdc)", "width": "102",
                "height": "52", "pix_fmt": "yuv422p10le", "sample_aspect_ratio": "40:33",
                "has_b_frames": "\(sps.maxNumReorderPics)",
            ]
        )
    }

    /// Every parameter set is written as it was read, and FFmpeg reads the same elements in it.
    private func check(_ stream: EncodedStream) throws {
        var types: Set<HEVCNALUnitHeader.UnitType> = []
        for unit in stream.nalUnits {
            let header = try HEVCNALUnitHeader(nalUnit: unit)
            let (written, trace): ([UInt8], [SyntaxElement])
            switch header.nalUnitType {
            case .videoParameterSet:
                let set = try HEVCVideoParameterSet(nalUnit: unit)
                (written, trace) = (try set.nalUnit(), try set.trace())
            case .sequenceParameterSet:
                let set = try HEVCSequenceParameterSet(nalUnit: unit)
                (written, trace) = (try set.nalUnit(), try set.trace())
            case .pictureParameterSet:
                let set = try HEVCPictureParameterSet(nalUnit: unit)
                (written, trace) = (try set.nalUnit(), try set.trace())
            default:
                continue
            }
            #expect(written == unit)
            #expect(stream.differences(from: trace) == [])
            types.insert(header.nalUnitType)
        }
        #expect(types.count == 3)
    }
}
