// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import Testing

/// The PNG files of `vatoolbox decode`.
@Suite struct DecodePictureFileTests {
    /// How FFmpeg makes the same pictures: with the interpolation and rounding that this package asks libswscale for. FFmpeg's
    /// own defaults repeat chroma samples instead of interpolating them, and ignore where chroma is located.
    private static let accurate = "scale=flags=bicubic+accurate_rnd+full_chroma_int:out_range=pc:interl=-1"

    /// A kind of stream, what FFmpeg's scaler is told about it, and the pixel format of the files.
    struct Kind: Sendable, CustomTestStringConvertible {
        var options: [String]
        var scaling: String
        var samples: String
        var testDescription: String { options.joined(separator: " ") + " as \(samples)" }
    }

    private static let bt709 = ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]

    private static let kinds: [Kind] = [
        Kind(
            options: ["-c:v", "libx264", "-bf", "3", "-pix_fmt", "yuv420p"],
            scaling: "in_color_matrix=smpte170m:in_range=tv:in_h_chr_pos=0",
            samples: "rgb24"
        ),
        Kind(
            options: ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-x264-params", "chromaloc=1"] + bt709,
            scaling: "in_color_matrix=bt709:in_range=tv:in_h_chr_pos=128",
            samples: "rgb24"
        ),
        Kind(
            options: ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-x264-params", "chromaloc=2"] + bt709,
            scaling: "in_color_matrix=bt709:in_range=tv:in_h_chr_pos=0:in_v_chr_pos=0",
            samples: "rgb24"
        ),
        Kind(
            options: ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-color_range", "pc"] + bt709,
            scaling: "in_color_matrix=bt709:in_range=pc:in_h_chr_pos=0",
            samples: "rgb24"
        ),
        Kind(
            options: ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-x264-params", "interlaced=1"] + bt709,
            scaling: "in_color_matrix=bt709:in_range=tv:in_h_chr_pos=0",
            samples: "rgb24"
        ),
        Kind(
            options: ["-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-colorspace", "bt2020nc"]
                + ["-x265-params", "log-level=none:chromaloc=2"],
            scaling: "in_color_matrix=bt2020:in_range=tv:in_h_chr_pos=0:in_v_chr_pos=0",
            samples: "rgb48be"
        ),
        Kind(
            options: ["-c:v", "libx264", "-pix_fmt", "yuv422p10le"] + bt709,
            scaling: "in_color_matrix=bt709:in_range=tv:in_h_chr_pos=0",
            samples: "rgb48be"
        ),
        Kind(
            options: ["-c:v", "libx264", "-pix_fmt", "yuv444p"] + bt709,
            scaling: "in_color_matrix=bt709:in_range=tv",
            samples: "rgb24"
        ),
        Kind(
            options: ["-c:v", "libx264", "-pix_fmt", "gray", "-color_range", "tv"],
            scaling: "in_range=tv",
            samples: "gray"
        ),
        Kind(
            options: ["-c:v", "libx264", "-pix_fmt", "gray10le", "-color_range", "tv"],
            scaling: "in_range=tv",
            samples: "gray16be"
        ),
    ]

    @Test(arguments: kinds) func filesHoldThePicturesThatFFmpegConverts(kind: Kind) throws {
        let scratch = try Scratch()
        try scratch.generate("testsrc2=size=160x96:rate=25:duration=0.4", kind.options + [scratch.path("film.mkv")])
        let document = try scratch.decode("film.mkv", "-o", "picture-%03d.png")
        let files = (1...10).map { "picture-0\($0 < 10 ? "0" : "")\($0).png" }
        #expect(scratch.names == ["film.mkv"] + files)
        let filter = "\(Self.accurate):\(kind.scaling),format=\(kind.samples)"
        #expect(
            try scratch.pictureHashes("picture-%03d.png") == scratch.pictureHashes("film.mkv", ["-vf", filter])
        )
        let output = try #require(document["output"] as? [String: Any])
        #expect(output["samples"] as? String == kind.samples)
        #expect(output["assumedMatrix"] as? String == (kind.scaling.contains("smpte170m") ? "BT.601" : nil))
        let sizes = try files.map { try scratch.data($0).count }
        #expect(output["bytes"] as? Int == sizes.reduce(0, +))
        #expect(try scratch.probe(files[0], "v", "stream=pix_fmt") == [kind.samples])
    }

    /// Without chroma to interpolate, FFmpeg's defaults give the same files: samples, pixel aspect ratio, primaries and
    /// transfer characteristics.
    @Test func filesAreThoseOfFFmpeg() throws {
        let scratch = try Scratch()
        let options = ["-vf", "setsar=4/3", "-c:v", "libx264", "-pix_fmt", "yuv444p"] + Self.bt709
        try scratch.generate("testsrc2=size=160x96:rate=25:duration=0.2", options + [scratch.path("film.mp4")])
        try scratch.decode("film.mp4", "-o", "ours-%d.png")
        try scratch.ffmpeg(["-i", scratch.path("film.mp4"), "-fps_mode", "passthrough", scratch.path("theirs-%d.png")])
        for number in 1...5 {
            #expect(try scratch.data("ours-\(number).png") == scratch.data("theirs-\(number).png"))
        }
        let bytes = try scratch.data("ours-1.png")
        for chunk in ["pHYs", "cHRM", "gAMA"] { #expect(bytes.range(of: Data(chunk.utf8)) != nil, "\(chunk)") }
    }

    /// The colours that were encoded come back, whichever matrix and range the stream has.
    @Test(arguments: [("bt709", "tv"), ("bt709", "pc"), ("smpte170m", "tv"), ("bt2020nc", "tv"), ("smpte240m", "pc")])
    func coloursComeBack(matrix: String, range: String) throws {
        let scratch = try Scratch()
        let name = matrix.replacing("nc", with: "")
        let convert = "scale=out_color_matrix=\(name):out_range=\(range):flags=accurate_rnd+full_chroma_int"
        let options = ["-vf", "\(convert),format=yuv444p", "-c:v", "libx264", "-qp", "0"]
        try scratch.generate(
            "color=c=0x3366CC:size=64x48:rate=25:duration=0.04,format=rgb24",
            options + ["-colorspace", matrix, "-color_range", range, scratch.path("colour.mkv")]
        )
        try scratch.decode("colour.mkv", "-o", "colour.png")
        try scratch.ffmpeg(["-i", scratch.path("colour.png"), "-f", "rawvideo", scratch.path("colour.rgb")])
        let pixel = try scratch.data("colour.rgb").prefix(3).map(Int.init)
        // Rounding to integers of 8 bits, there and back.
        #expect(zip(pixel, [0x33, 0x66, 0xCC]).allSatisfy { abs($0 - $1) <= 2 }, "\(pixel)")
    }

    /// FFmpeg's scaler takes grey levels for full range, so that these are computed here.
    @Test(arguments: [8, 10]) func greyLevelsOfHEVCAreStretched(bitDepth: Int) throws {
        let scratch = try Scratch()
        let format = bitDepth == 8 ? "gray" : "gray10le"
        let options = ["-c:v", "libx265", "-pix_fmt", format, "-color_range", "tv", "-x265-params", "log-level=none"]
        try scratch.generate("testsrc2=size=160x96:rate=25:duration=0.04", options + [scratch.path("film.mkv")])
        try scratch.decode("film.mkv", "-o", "grey.png")
        for (from, to) in [("film.mkv", "coded"), ("grey.png", "shown")] {
            try scratch.ffmpeg(["-i", scratch.path(from), "-f", "rawvideo", scratch.path(to)])
        }
        let (coded, shown) = (try scratch.data("coded"), try scratch.data("shown"))
        let count = 160 * 96
        try #require(coded.count == shown.count && coded.count == count * (bitDepth == 8 ? 1 : 2))
        let errors = (0..<count).map { index in
            if bitDepth == 8 {
                let exact = (Double(coded[index]) - 16) / 219 * 255
                return abs(min(max(exact, 0), 255) - Double(shown[index]))
            }
            let sample = Int(coded[2 * index]) | Int(coded[2 * index + 1]) << 8
            let exact = (Double(sample) - 64) / 876 * 65535
            return abs(min(max(exact, 0), 65535) - Double(Int(shown[2 * index]) << 8 | Int(shown[2 * index + 1])))
        }
        // Of 16 bits, libswscale makes white 0xFF00.
        #expect(try #require(errors.max()) <= (bitDepth == 8 ? 1 : 0x100))
    }

    @Test(arguments: ["90", "180", "270"]) func picturesAreUpright(angle: String) throws {
        let scratch = try Scratch()
        try scratch.generate(
            "testsrc2=size=160x96:rate=25:duration=0.2",
            ["-vf", "setsar=4/3", "-c:v", "libx264", "-pix_fmt", "yuv444p", scratch.path("plain.mp4")]
        )
        let turn = ["-c", "copy", "-metadata:s:v", "rotate=\(angle)", scratch.path("film.mp4")]
        try scratch.ffmpeg(["-i", scratch.path("plain.mp4")] + turn)
        try scratch.decode("film.mp4", "-o", "picture-%d.png")
        let expected = try scratch.pictureHashes("film.mp4", ["-vf", "format=rgb24"])
        #expect(try scratch.pictureHashes("picture-%d.png") == expected)
        let shape = try scratch.probe("picture-1.png", "v", "stream=sample_aspect_ratio")
        #expect(shape == [angle == "180" ? "4:3" : "3:4"])
    }

    @Test func aPathWithoutNumberTakesTheFirstPicture() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 4)
        let document = try scratch.decode("film.mp4", "-o", "100%%.png", "--start", "1.5")
        #expect(document["pictures"] as? Int == 1)
        #expect(scratch.names == ["100%.png", "film.mp4"])
        let filter = "\(Self.accurate):in_color_matrix=smpte170m:in_range=tv:in_h_chr_pos=0,format=rgb24"
        let all = try scratch.pictureHashes("film.mp4", ["-vf", filter])
        try scratch.tool("mv", scratch.path("100%.png"), scratch.path("moved.png"))
        #expect(try scratch.pictureHashes("moved.png") == [all[38]])
        let part = try scratch.decode("film.mp4", "-o", "part.png", "--start", "1", "--duration", "0.04")
        #expect(part["pictures"] as? Int == 1)
        #expect(try scratch.pictureHashes("part.png") == [all[25]])
    }

    @Test func aPartIsNumberedFromOneOn() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 2)
        let filter = "\(Self.accurate):in_color_matrix=smpte170m:in_range=tv:in_h_chr_pos=0,format=rgb24"
        let all = try scratch.pictureHashes("film.mp4", ["-vf", filter])
        try scratch.decode("film.mp4", "-o", "part-%d.png", "--start", "0.6", "--duration", "0.2")
        #expect(try scratch.pictureHashes("part-%d.png") == Array(all[15..<20]))
        let document = try scratch.decode("film.mp4", "-o", "overview-%02d.png", "--skip-disposable")
        let count = try #require(document["pictures"] as? Int)
        #expect(count < 50 && (document["skippedSamples"] as? Int ?? 0) == 50 - count)
        #expect(scratch.names.filter { $0.hasPrefix("overview") }.count == count)
    }

    @Test func sizesMayChange() throws {
        let scratch = try Scratch()
        for (name, size) in [("a.h264", "160x90"), ("b.h264", "128x72")] {
            let options = ["-c:v", "libx264", "-pix_fmt", "yuv420p", scratch.path(name)]
            try scratch.generate("testsrc2=size=\(size):rate=25:duration=0.2", options)
        }
        try scratch.tool("sh", "-c", "cat a.h264 b.h264 > both.h264")
        try scratch.decode("both.h264", "-o", "picture-%d.png")
        #expect(try scratch.probe("picture-5.png", "v", "stream=width") == ["160"])
        #expect(try scratch.probe("picture-6.png", "v", "stream=width") == ["128"])
    }

    @Test func badPathsAreRefusedWithAReason() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 1)
        try scratch.tool("sh", "-c", ": > old-7.png; : > old-07.png; mkdir folder")
        let cases: [(path: String, status: Int32, text: String)] = [
            ("a-%d-%d.png", 2, "more than one number: given a-%d-%d.png, allowed one %d, or %0Nd"),
            ("a-%4d.png", 2, "the number of digits is not valid"),
            ("a-%021d.png", 2, "up to 20"),
            ("a-%s.png", 2, "a percent sign without a number"),
            ("a-50%.png", 2, "%% for a percent sign"),
            ("folder-%d/a.png", 2, "the number is in the name of a folder"),
            ("missing/a-%d.png", 2, "folder does not exist"),
            ("missing/a.png", 2, "folder does not exist"),
            ("old-%d.png", 2, "already exists: given old-7.png"),
            ("old-%02d.png", 2, "already exists: given old-07.png"),
            ("old-7.png", 2, "already exists"),
            ("a-%d.jpg", 2, "ends with .y4m or .png"),
        ]
        for (path, status, text) in cases {
            let result = try scratch.run(Scratch.vatoolbox, "decode", "film.mp4", "-o", path)
            #expect(result.status == status, "\(path): \(result.errors)")
            // Lines are wrapped.
            let words = result.errors.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(words.contains(text), "\(path): \(words)")
        }
        #expect(scratch.names == ["film.mp4", "folder", "old-07.png", "old-7.png"])
        // Another number of digits is another name.
        try scratch.decode("film.mp4", "-o", "old-%03d.png", "--duration", "0.2")
        try scratch.decode("film.mp4", "-o", "old-%d.png", "--overwrite")
        #expect(try scratch.pictureHashes("old-%d.png").count == 25)
    }

    /// What comes second cannot be converted: earlier files stay, and nothing is added.
    @Test func afterAnErrorThereIsWhatWasThereBefore() throws {
        let scratch = try Scratch()
        for (name, matrix) in [("a.h264", "bt709"), ("b.h264", "ycgco")] {
            let options = ["-c:v", "libx264", "-pix_fmt", "yuv444p", "-colorspace", matrix, scratch.path(name)]
            try scratch.generate("testsrc2=size=160x96:rate=25:duration=1", options)
        }
        try scratch.tool("sh", "-c", "cat a.h264 b.h264 > both.h264; echo old > picture-01.png")
        let document = try scratch.decode("both.h264", "-o", "picture-%02d.png", "--overwrite", status: 1)
        let error = try #require(document["error"] as? [String: Any])
        #expect(error["code"] as? String == "unsupported" && error["given"] as? String == "8")
        #expect(scratch.names == ["a.h264", "b.h264", "both.h264", "picture-01.png"])
        #expect(scratch.text("picture-01.png") == "old\n")
    }

    /// A limit on the size of files stands for a disk that runs full: the picture of noise after grey ones exceeds it.
    @Test func aFullDiskLeavesNothing() throws {
        let scratch = try Scratch()
        let grey = "color=gray:size=320x180:rate=25:duration=0.4[a]"
        let noise = "nullsrc=size=320x180:rate=25:duration=0.2,geq=random(1)*255:128:128[b]"
        let graph = "\(grey);\(noise);[a][b]concat,format=yuv420p"
        let film = scratch.path("film.mkv")
        try scratch.ffmpeg(["-filter_complex", graph, "-c:v", "libx264", "-qp", "4", "-preset", "ultrafast", film])
        let command = [Scratch.vatoolbox, "decode", "film.mkv", "-o", "picture-%02d.png", "--quiet"]
        let failed = try scratch.run(["prlimit", "--fsize=32768"] + command)
        #expect(failed.status == 1, "\(failed.errors)")
        let error = failed.errors
        #expect(error.contains("picture-11.png") && error.contains("File too large"), "\(error)")
        #expect(scratch.names == ["film.mkv"])
        // With room, there are all.
        #expect(try scratch.run(command).status == 0)
        #expect(scratch.names.count == 16)
    }

    @Test func aSignalCompletesTheFiles() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.ts", seconds: 4)
        try scratch.tool("mkfifo", scratch.path("input"), scratch.path("go"))
        // The input does not end, so that the decoder waits for more of it.
        let script = "exec 3> input; cat film.ts >&3; read line < go"
        let writer = try RunningProgram(["sh", "-c", script], in: scratch)
        let program = try RunningProgram([Scratch.vatoolbox, "decode", "input", "-o", "p-%04d.png"], in: scratch)
        try program.wait(until: "a picture") { !scratch.unfinishedSizes.isEmpty }
        #expect(!scratch.names.contains { $0.hasSuffix(".png") })
        program.signal(SIGINT)
        #expect(program.end() == 130)
        try scratch.tool("sh", "-c", "echo > go")
        #expect(writer.end() == 0)
        #expect(scratch.unfinishedSizes.isEmpty)
        let files = scratch.names.filter { $0.hasSuffix(".png") }
        #expect(!files.isEmpty)
        #expect(try scratch.pictureHashes("p-%04d.png").count == files.count)
    }
}
