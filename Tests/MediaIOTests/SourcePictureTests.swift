// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaIO
import MediaTypes
import Testing

@Suite struct SourcePictureTests {
    let folder: ClipFolder

    init() throws { folder = try ClipFolder() }

    /// FFmpeg's formats, how they come out, and whether ffmpeg's scaler has to convert on the way.
    static let formats: [(String, PixelFormat, Bool)] = [
        ("yuv420p", .i420, false), ("yuva420p", .i420, false), ("nv12", .nv12, false),
        ("bgra", .bgra, false), ("bgr0", .bgra, false), ("yuyv422", .yuy2, false),
        ("yuv422p", .i420, true), ("yuv444p", .i420, true), ("yuv411p", .i420, true), ("uyvy422", .i420, true),
        ("gray", .i420, true), ("yuv420p10le", .p010, true), ("yuv422p10le", .p010, true),
        ("yuv444p12le", .p010, true), ("yuva444p10le", .p010, true), ("gray10le", .p010, true),
        ("rgb24", .bgra, true), ("gbrp", .bgra, true), ("pal8", .bgra, true), ("gbrp10le", .p010, true),
        ("rgb48le", .p010, true),
    ]

    @Test(arguments: formats)
    func picturesEqualThoseOfFFmpeg(name: String, format: PixelFormat, isConverted: Bool) throws {
        let path = try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=70x50:rate=5:duration=1 -pix_fmt \(name) -c:v rawvideo a.nut"
        )
        let source = try MediaSource(path: path)
        #expect(source.video.pixelFormat == format)
        #expect(source.video.pixelFormatName == name)
        let pictures = try Reading(source).pictures
        var conversion = ""
        if isConverted {
            let common = "flags=bicubic+accurate_rnd+full_chroma_int"
            let deepRGB = "out_color_matrix=smpte170m:out_range=tv:out_h_chr_pos=0:out_v_chr_pos=128"
            let chroma = "in_range=tv:out_range=tv:in_h_chr_pos=0:out_h_chr_pos=0:out_v_chr_pos=128"
            let isRGB = ["rgb24", "gbrp", "pal8", "gbrp10le", "rgb48le"].contains(name)
            conversion = "-vf scale=\(common):\(isRGB ? (format == .bgra ? "" : deepRGB) : chroma)"
        }
        if name == "bgr0" { conversion = "-pix_fmt bgr0" }
        let expected = try Tool.pictures(path, conversion, format: format)
        #expect(pictures.count == expected.count)
        #expect(name == "bgr0" ? pictures.opaque == expected.opaque : pictures == expected)
    }

    @Test func depthAndNameAreThoseOfTheDecoder() throws {
        let path = try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=64x48:rate=5:duration=0.4 -pix_fmt yuv422p10le -c:v ffv1 a.mkv"
        )
        let video = try MediaSource(path: path).video
        #expect(video.pixelFormatName == "yuv422p10le")
        #expect(video.bitDepth == 10)
        #expect(video.codecName == "ffv1")
        #expect(video.color.chromaLocation == .left)
    }

    /// White of deep RGB has to become the white of limited range, by the matrix that its size stands for, and say so. libswscale scales by 219/255
    /// at every depth, which makes it 943 rather than 940.
    @Test(arguments: [("64x48", 64 * 48, ColorDescription.Matrix.bt601Lines525), ("1280x48", 1280 * 48, .bt709)])
    func deepRGBBecomesLimited(size: String, area: Int, matrix: ColorDescription.Matrix) throws {
        let path = try folder.ffmpeg(
            "-f lavfi -i color=white:size=\(size):rate=5:duration=0.2,format=gbrp10le -c:v ffv1 -level 3 a.mkv"
        )
        let frame = try #require(try Reading(path).frames.first)
        let words = try frame.buffer.bytes.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: 2).map {
                bytes.loadUnaligned(fromByteOffset: $0, as: UInt16.self) >> 6
            }
        }
        #expect(words.prefix(area).allSatisfy { (940...943).contains($0) })
        #expect(words.dropFirst(area).allSatisfy { $0 == 512 })
        #expect(frame.buffer.color.matrix == matrix)
        #expect(frame.buffer.color.range == .limited)
    }

    @Test func shallowRGBStaysRGB() throws {
        let path = try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=64x48:rate=5:duration=0.2 -pix_fmt rgb24 -c:v png a.mov"
        )
        let color = try MediaSource(path: path).video.color
        #expect(color.matrix == .rgb)
        #expect(color.range == .full)
    }

    @Test(arguments: [
        ("range=tv:colorspace=bt709:color_primaries=bt709:color_trc=bt709", ColorDescription.bt709),
        (
            "range=pc:colorspace=smpte170m:color_primaries=smpte170m:color_trc=smpte170m",
            ColorDescription(primaries: .bt601Lines525, transfer: .bt601, matrix: .bt601Lines525, range: .full)
        ),
        ("range=unspecified", ColorDescription.unspecified),
    ])
    func colorIsWhatTheStreamSaysAndNothingElse(parameters: String, color: ColorDescription) throws {
        let path = try folder.ffmpeg(
            """
            -f lavfi -i testsrc2=size=64x48:rate=5:duration=0.4 -vf format=yuv420p,setparams=\(parameters) \
            -c:v libx264 a.mp4
            """
        )
        var found = try MediaSource(path: path).video.color
        found.chromaLocation = nil
        #expect(found == color)
    }

    /// Converting a full-range picture must neither compress its range nor forget it.
    @Test(arguments: ["yuvj420p", "yuvj422p", "yuvj444p"])
    func fullRangeSurvivesConversion(name: String) throws {
        let path = try folder.ffmpeg(
            "-f lavfi -i color=white:size=64x48:rate=5:duration=0.2 -pix_fmt \(name) -c:v mjpeg a.avi"
        )
        let frame = try #require(try Reading(path).frames.first)
        #expect(frame.buffer.color.range == .full)
        #expect(try frame.buffer.bytes.prefix(64 * 48).allSatisfy { $0 >= 254 })
    }

    @Test func pixelAspectRatioComesWithTheFrames() throws {
        let path = try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=64x48:rate=5:duration=0.4 -vf setsar=16/15 -c:v libx264 -pix_fmt yuv420p a.mkv"
        )
        let source = try MediaSource(path: path)
        #expect(source.video.pixelAspectRatio == Rational(16, 15))
        #expect(try Reading(source).frames.allSatisfy { $0.buffer.pixelAspectRatio == Rational(16, 15) })
    }

    /// What the container says counts, also where the pictures go through a filter.
    @Test(
        arguments: ["-pix_fmt yuv420p10le", "-pix_fmt yuv420p -flags +ildct+ilme -x264-params tff=1"],
        ["mp4", "mkv"]
    )
    func ratioOfTheContainerSurvivesFilters(coding: String, container: String) throws {
        let clip = "-f lavfi -i testsrc2=size=96x64:rate=5:duration=1 -vf setsar=1"
        try folder.ffmpeg("\(clip) -c:v libx264 \(coding) a.mp4")
        let path = try folder.ffmpeg("-i a.mp4 -c copy -aspect 2:1 b.\(container)")
        let source = try MediaSource(path: path)
        #expect(source.video.pixelAspectRatio == Rational(4, 3))
        let frames = try Reading(source).frames
        #expect(frames.count == 5)
        #expect(frames.allSatisfy { $0.buffer.pixelAspectRatio == Rational(4, 3) })
    }

    /// HDR10 has its chroma at the upper left. Where chroma is not resampled it stays where it is.
    @Test(
        arguments: [
            ("-c:v libx265 -x265-params log-level=none:chromaloc=2 -pix_fmt yuv420p10le a.mkv", .topLeft),
            ("-c:v libx265 -x265-params log-level=none:chromaloc=2 -pix_fmt yuv420p12le a.mkv", .topLeft),
            ("-c:v ffv1 -pix_fmt yuv420p10le a.mkv", nil), ("-c:v ffv1 -pix_fmt yuv422p10le a.mkv", .left),
            ("-c:v ffv1 -pix_fmt gray10le a.mkv", .left),
        ] as [(String, ColorDescription.ChromaLocation?)]
    )
    func chromaStaysWhereItIs(coding: String, location: ColorDescription.ChromaLocation?) throws {
        let path = try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=64x64:rate=5:duration=0.4 -vf setparams=range=tv \(coding)"
        )
        let source = try MediaSource(path: path)
        #expect(source.video.color.chromaLocation == location)
        #expect(try Reading(source).frames.allSatisfy { $0.buffer.color.chromaLocation == location })
    }

    /// Pictures outlive their source, and the decoder does not write into those that are held.
    @Test func buffersOutliveTheirSource() throws {
        let path = try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=64x48:rate=25:duration=1 -pix_fmt yuv420p -c:v mpeg4 a.mp4"
        )
        let frames = try Reading(path).frames
        #expect(try frames.flatMap { try $0.buffer.bytes } == Tool.pictures(path, format: .i420))
    }

    @Test func deepPicturesOfTheRightLayoutAreNotConverted() throws {
        let path = try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=70x50:rate=5:duration=1 -pix_fmt p010le -f rawvideo a.raw"
        )
        let raw = MediaSource.RawVideo(pixelFormat: "p010", width: 70, height: 50, frameRate: Rational(5))
        #expect(try Reading(path, .init(rawVideo: raw)).pictures == folder.contents("a.raw"))
    }

    /// Uncompressed RGB lies upside down in AVI files.
    @Test func rowsThatRunUpwardsAreTurned() throws {
        let path = try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=64x48:rate=5:duration=0.4 -pix_fmt bgra -c:v rawvideo a.avi"
        )
        let pictures = try Reading(path).pictures
        #expect(try pictures.opaque == Tool.pictures(path, format: .bgra).opaque)
        #expect(pictures.count == 2 * 64 * 48 * 4)
    }

    /// A stream may change its size; each frame says its own.
    @Test func sizeMayChangeInTheStream() throws {
        let clip = "-f lavfi -i testsrc2=size=%:rate=25:duration=0.4 -c:v mpeg2video -f mpegts"
        try folder.ffmpeg("\(clip.replacing("%", with: "64x48")) a.ts")
        try folder.ffmpeg("\(clip.replacing("%", with: "96x64")) -pix_fmt yuv422p b.ts")
        let path = try folder.write("c.ts", folder.contents("a.ts") + folder.contents("b.ts"))
        let source = try MediaSource(path: path)
        let frames = try Reading(source).frames
        let widths = try Tool.probe(path, "frame=width").compactMap { Int($0.prefix { $0.isNumber }) }
        #expect(frames.map(\.buffer.width) == widths)
        #expect(Set(widths) == [64, 96])
        #expect(frames.allSatisfy { $0.buffer.format == .i420 })
        #expect(source.video.width == 64)
    }
}

extension [UInt8] {
    /// Without every fourth byte.
    fileprivate var opaque: [UInt8] { indices.filter { $0 % 4 != 3 }.map { self[$0] } }
}
