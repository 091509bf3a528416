// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// HEVC from the command line to files, in software.
@Suite struct HEVCTests {
    private static let fast = ["--device", "software", "--preset", "ultrafast"]

    /// The same frames as the `x265` command line gives.
    @Test(
        arguments: [["--crf", "24"], ["--qp", "27"]],
        [
            "yuv420p", "yuv420p10le", "yuv420p12le", "yuv422p", "yuv422p10le", "yuv422p12le", "yuv444p", "yuv444p10le",
            "yuv444p12le",
        ]
    )
    func givesTheFramesOfX265(rateControl: [String], format: String) throws {
        let scratch = try Scratch()
        let bitDepth = format.hasSuffix("12le") ? 12 : format.hasSuffix("10le") ? 10 : 8
        try scratch.generate(
            "testsrc2=size=320x180:rate=25:duration=1",
            [
                "-pix_fmt", format, "-strict", "-1", scratch.path("clip.y4m"),
            ]
        )
        let reference = try scratch.run(
            [
                "x265", "--log-level", "none", "--no-progress", "--preset", "veryfast", "--pools", "2", "--keyint",
                "125",
                "--no-open-gop", "--output-depth", "\(bitDepth)",
            ]
                + rateControl + ["-o", "x265.hevc", "clip.y4m"]
        )
        try #require(reference.status == 0, "\(reference.errors)")
        let kept = format.hasPrefix("yuv420p") && bitDepth < 12 ? [] : ["--chroma", "source", "--bit-depth", "source"]
        try scratch.encode(
            ["clip.y4m", "-o", "out.h265", "--device", "software", "--preset", "veryfast", "--threads", "2"]
                + rateControl + kept
        )
        let hashes = try scratch.frameHashes("out.h265")
        #expect(hashes.count == 25)
        #expect(try hashes == scratch.frameHashes("x265.hevc"))
        #expect(try scratch.probe("out.h265", "v", "stream=pix_fmt").first == format)
    }

    /// What cameras give, YUY2, is the same stream as its samples in planes, as it is and scaled.
    @Test(arguments: [[], ["--size", "160x120", "--fit", "stretch"], ["--size", "200x300"]])
    func packedPicturesAreEncodedAsPlanesAre(options: [String]) throws {
        let scratch = try Scratch()
        let size = "320x180"
        for format in ["yuyv422", "yuv422p"] {
            let raw = ["-pix_fmt", format, "-f", "rawvideo", scratch.path("\(format).raw")]
            try scratch.generate("testsrc2=size=\(size):rate=25:duration=0.4,format=yuv422p", raw)
            let input = ["--input-format", "rawvideo", "--input-size", size, "--input-fps", "25"]
            try scratch.encode(
                ["\(format).raw", "-o", "\(format).h265", "--chroma", "4:2:2", "--device", "software"] + options
                    + input + ["--input-pixel-format", format, "--qp", "20", "--preset", "ultrafast"]
            )
        }
        let hashes = try scratch.frameHashes("yuyv422.h265")
        #expect(hashes.count == 10)
        #expect(try hashes == scratch.frameHashes("yuv422p.h265"))
        #expect(try scratch.probe("yuyv422.h265", "v", "stream=pix_fmt").first == "yuv422p")
    }

    /// Chroma of 4:2:2 is where the left one of two luma samples is; between both, pictures would differ by 37 dB.
    @Test func redGreenAndBlueBecome422AsByFFmpeg() throws {
        let scratch = try Scratch()
        let raw = ["-c:v", "rawvideo", scratch.path("rgb.nut")]
        try scratch.generate("testsrc2=size=320x180:rate=25:duration=0.2,format=bgr24", raw)
        let options = ["--chroma", "4:2:2", "--qp", "1", "--device", "software", "--preset", "ultrafast"]
        try scratch.encode(["rgb.nut", "-o", "out.h265"] + options)
        let scale = "scale=flags=bicubic+accurate_rnd+full_chroma_int:out_color_matrix=smpte170m:out_range=tv"
        let filter = "\(scale):out_h_chr_pos=0,format=yuv422p"
        #expect(try scratch.worstPSNR("rgb.nut", "out.h265", filter: filter) > 55)
    }

    /// x265 predicts from memory that it never wrote where a picture is one block. The C library fills such memory.
    @Test(arguments: ["16x16", "32x32", "48x48", "64x64"], [85, 255])
    func smallPicturesAreWhatTheyWere(size: String, filling: Int) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 3, size: size)
        let options = ["--qp", "20", "--device", "software", "--threads", "1", "-o", "out.h265"]
        let result = try scratch.run(
            ["env", "MALLOC_PERTURB_=\(filling)", Scratch.vatoolbox, "encode", "clip.y4m"] + options
        )
        try #require(result.status == 0, "\(result.errors)")
        #expect(result.errors.contains("one coding tree block") == (size == "16x16"))
        #expect(try scratch.worstPSNR("clip.y4m", "out.h265") > 30)
    }

    @Test(arguments: [
        ("out.h265", ""), ("out.mp4", "hvc1"), ("out.mov", "hvc1"), ("out.mkv", ""), ("out.ts", "HEVC"),
        ("fragments.mp4", "hev1"),
    ])
    func everyContainerHoldsIt(name: String, tag: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv")
        let fragments = name.hasPrefix("fragments") ? ["--fragmented"] : []
        let codec = name.hasSuffix(".h265") ? [] : ["--codec", "hevc"]
        try scratch.encode(["clip.mkv", "-o", name] + Self.fast + codec + fragments)
        #expect(try scratch.decodedFrameCount(name) == 25)
        let stream = try scratch.tool(
            "ffprobe",
            "-v",
            "error",
            "-select_streams",
            "v",
            "-show_entries",
            "stream=codec_name,profile,codec_tag_string",
            "-of",
            "compact=p=0",
            scratch.path(name)
        )
        #expect(stream.contains("codec_name=hevc") && stream.contains("profile=Main|"), "\(stream)")
        if !tag.isEmpty { #expect(stream.contains("codec_tag_string=\(tag)"), "\(stream)") }
        if !name.hasSuffix(".h265") {
            let times = try scratch.presentationTimes(name)
            #expect(zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - 0.04) < 0.002 })
        }
    }

    // MARK: - HDR10

    private static let primaries = "G(8500,39850)B(6550,2300)R(35400,14600)WP(15635,16450)L(10000000,1)"

    /// A clip of ten bits in BT.2020 with PQ, the display that it was made on and its light.
    private func makeHDRClip(_ scratch: Scratch, _ name: String) throws {
        let settings = "log-level=none:crf=14:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:range=limited"
        try scratch.generate(
            "testsrc2=size=192x128:rate=25:duration=1",
            [
                "-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params",
                "\(settings):master-display=\(Self.primaries):max-cll=1234,321", scratch.path(name),
            ]
        )
    }

    /// What ffprobe says of colours, display and light, of the stream and of the first frame.
    private func colours(_ scratch: Scratch, _ name: String) throws -> Set<String> {
        let text = try scratch.tool(
            "ffprobe",
            "-v",
            "error",
            "-select_streams",
            "v",
            "-read_intervals",
            "%+#1",
            "-show_frames",
            "-show_streams",
            "-of",
            "default",
            scratch.path(name)
        )
        let wanted = [
            "profile=", "pix_fmt=", "color_", "red_", "green_", "blue_", "white_", "min_lum", "max_lum", "max_content",
            "max_average",
        ]
        let lines = text.split(separator: "\n").map(String.init)
        return Set(lines.filter { line in wanted.contains { line.hasPrefix($0) } })
    }

    @Test(arguments: ["hdr.mp4", "hdr.mkv", "hdr.hevc"], ["out.mp4", "out.mkv", "out.ts", "out.h265"])
    func hdr10StaysHDR10(input: String, output: String) throws {
        let scratch = try Scratch()
        try makeHDRClip(scratch, input)
        let codec = output.hasSuffix(".h265") ? [] : ["--codec", "hevc"]
        try scratch.encode([input, "-o", output] + Self.fast + codec)
        #expect(try scratch.decodedFrameCount(output) == 25)
        let found = try colours(scratch, output)
        let expected: Set = [
            "profile=Main 10", "pix_fmt=yuv420p10le", "color_space=bt2020nc", "color_transfer=smpte2084",
            "color_primaries=bt2020", "color_range=tv", "red_x=35400/50000", "red_y=14600/50000", "green_x=8500/50000",
            "green_y=39850/50000", "blue_x=6550/50000", "blue_y=2300/50000", "white_point_x=15635/50000",
            "white_point_y=16450/50000", "min_luminance=1/10000", "max_luminance=10000000/10000", "max_content=1234",
            "max_average=321",
        ]
        #expect(expected.isSubset(of: found), "\(expected.subtracting(found)) of \(found)")
        // MP4 tells them beside the stream as well.
        if output == "out.mp4" {
            let boxes = try scratch.data(output)
            for name in ["mdcv", "clli", "hvc1"] { #expect(boxes.range(of: Data(name.utf8)) != nil, "\(name)") }
        }
    }

    @Test func tenBitsAreKeptByHEVCAndToldOfOtherwise() throws {
        let scratch = try Scratch()
        try makeHDRClip(scratch, "hdr.mp4")
        let open = try scratch.encode(["hdr.mp4", "-o", "open.mp4"] + Self.fast)
        #expect(open.errors.contains("note: bit depth 10 becomes 8: the profile has 8 bits; high10 keeps ten"))
        #expect(try scratch.probe("open.mp4", "v", "stream=codec_name") == ["h264"])
        let eight = try scratch.encode(["hdr.mp4", "-o", "eight.h265", "--bit-depth", "8"] + Self.fast)
        #expect(eight.errors.contains("note: bit depth 10 becomes 8: the profile has 8 bits; main10 keeps ten"))
        #expect(try scratch.probe("eight.h265", "v", "stream=pix_fmt") == ["yuv420p"])
        let ten = try scratch.encode(["hdr.mp4", "-o", "ten.h265"] + Self.fast)
        #expect(!ten.errors.contains("bit depth"))
        try scratch.makeClip("clip.mkv")
        try scratch.encode(["clip.mkv", "-o", "deep.h265", "--profile", "main10"] + Self.fast)
        #expect(try scratch.probe("deep.h265", "v", "stream=profile") == ["Main 10"])
    }
}
