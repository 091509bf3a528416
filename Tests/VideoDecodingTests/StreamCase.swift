// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import TestSupport
import Testing
import VideoDecoding

/// Streams whose pictures have to be those of ffmpeg's decoder.
struct StreamCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let codec: VideoCodec
    let format: PixelFormat
    /// FFmpeg's name of the format in which pictures are compared.
    let comparedFormat: String
    let make: @Sendable () throws -> CodedStream

    init(
        _ codec: VideoCodec,
        _ name: String,
        _ options: String,
        format: PixelFormat = .i420,
        comparedFormat: String? = nil,
        source: String = "testsrc2=size=192x112:rate=25"
    ) {
        self.init(codec, name, format: format, comparedFormat: comparedFormat) {
            try CodedStream(codec, source: source, options)
        }
    }

    init(
        _ codec: VideoCodec,
        _ name: String,
        format: PixelFormat = .i420,
        comparedFormat: String? = nil,
        make: @escaping @Sendable () throws -> CodedStream
    ) {
        (self.codec, self.format, self.make) = (codec, format, make)
        self.comparedFormat = comparedFormat ?? format.ffmpegName
        testDescription = "\(codec.rawValue) \(name)"
    }

    static let pyramid = "-x264-params bframes=5:b-adapt=0:b-pyramid=normal:keyint=16:scenecut=0"
    static let x265 = "-x265-params log-level=none:keyint=16:scenecut=0:bframes=5:b-adapt=0:b-pyramid=1"

    static let all = h264 + hevc

    private static let h264 = [
        StreamCase(.h264, "pyramid", pyramid),
        StreamCase(.h264, "open GOP", pyramid + ":open-gop=1"),
        StreamCase(.h264, "MBAFF", "-flags +ildct+ilme " + pyramid + ":tff=1"),
        StreamCase(.h264, "10 bit", "-pix_fmt yuv420p10le " + pyramid, format: .p010),
        StreamCase(.h264, "4:2:2", "-pix_fmt yuv422p " + pyramid, format: .i422),
        StreamCase(.h264, "4:2:2 10 bit", "-pix_fmt yuv422p10le " + pyramid, format: .i210),
        StreamCase(.h264, "4:4:4", "-pix_fmt yuv444p " + pyramid, format: .i444),
        StreamCase(.h264, "4:4:4 10 bit", "-pix_fmt yuv444p10le " + pyramid, format: .i410),
        StreamCase(.h264, "red, green and blue", "-c:v libx264rgb -pix_fmt rgb24 " + pyramid, format: .bgra),
        StreamCase(.h264, "monochrome", "-pix_fmt gray " + pyramid, comparedFormat: "yuvj420p"),
        StreamCase(.h264, "slices", pyramid + ":slices=4"),
        StreamCase(
            .h264,
            "weighted prediction",
            pyramid + ":weightp=2:weightb=1",
            source: "testsrc2=size=192x112:rate=25,fade=in:0:30"
        ),
        StreamCase(.h264, "cropping", pyramid, source: "testsrc2=size=182x102:rate=25"),
        StreamCase(.h264, "intra refresh", "-x264-params intra-refresh=1:keyint=12"),
        StreamCase(.h264, "baseline", "-profile:v baseline -g 10"),
        StreamCase(.h264, "a change of the parameter sets") {
            let others = try ["-x264-params cabac=0:bframes=2:ref=1:weightp=0", "-profile:v baseline"]
                .map { try CodedStream(.h264, $0) }
            return try others.reduce(CodedStream(.h264, pyramid), +)
        },
        StreamCase(.h264, "no reorder depth") { try CodedStream(.h264, frames: 40, pyramid).withoutReorderDepth() },
    ]

    private static let hevc = [
        StreamCase(.hevc, "pyramid", x265 + ":no-open-gop=1"),
        StreamCase(.hevc, "open GOP", x265 + ":open-gop=1"),
        StreamCase(.hevc, "monochrome", "-pix_fmt gray " + x265, comparedFormat: "yuvj420p"),
        StreamCase(.hevc, "10 bit", "-pix_fmt yuv420p10le " + x265, format: .p010),
        StreamCase(.hevc, "12 bit", "-pix_fmt yuv420p12le " + x265, format: .i012),
        StreamCase(.hevc, "4:2:2 10 bit", "-pix_fmt yuv422p10le " + x265, format: .i210),
        StreamCase(.hevc, "4:4:4", "-pix_fmt yuv444p " + x265, format: .i444),
        StreamCase(.hevc, "4:4:4 12 bit", "-pix_fmt yuv444p12le " + x265, format: .i412),
        StreamCase(.hevc, "slices", x265 + ":slices=3:ctu=16", source: "testsrc2=size=192x192:rate=25"),
        StreamCase(
            .hevc,
            "weighted prediction",
            x265 + ":weightp=1:weightb=1",
            source: "testsrc2=size=192x112:rate=25,fade=in:0:30"
        ),
        StreamCase(.hevc, "cropping", x265, source: "testsrc2=size=182x102:rate=25"),
        StreamCase(.hevc, "wavefronts", x265 + ":wpp=1:ctu=16"),
        StreamCase(.hevc, "a change of the parameter sets") {
            try CodedStream(.hevc, x265)
                + CodedStream(.hevc, "-x265-params log-level=none:bframes=0:ref=1")
        },
    ]
}

extension CodedStream {
    /// Removes the reorder depth from the sequence parameter sets.
    func withoutReorderDepth() throws -> CodedStream {
        var result: [UInt8] = []
        for range in try NALUnitFraming.annexB.nalUnits(in: bytes) {
            var unit = Array(bytes[range])
            if codec == .h264, unit[0] & 31 == 7 {
                var set = try H264SequenceParameterSet(nalUnit: unit)
                set.vui?.bitstreamRestriction = nil
                unit = try set.nalUnit()
            }
            result += [0, 0, 0, 1] + unit
        }
        return try CodedStream(codec, bytes: result)
    }
}
