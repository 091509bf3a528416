// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

@Suite struct PictureTests {
    @Test func rotatedVideoComesOutUpright() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mp4")
        let turned = try #require(withDisplayMatrix([0, 1, -1, 0], Array(scratch.data("clip.mp4"))))
        try Data(turned).write(to: URL(fileURLWithPath: scratch.path("turned.mp4")))
        let document = try scratch.document("encode", "turned.mp4", "-o", "out.mp4", "--crf", "12")
        let output = try #require(document["output"] as? [String: Any])
        #expect(output["width"] as? Int == 90 && output["height"] as? Int == 160)
        // ffmpeg turns the reference by itself.
        #expect(try scratch.worstPSNR("turned.mp4", "out.mp4") > 36)
    }

    @Test func letterboxHasBlackBars() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        try scratch.encode("clip.mkv", "-o", "out.mp4", "--size", "160x160", "--crf", "12")
        #expect(try scratch.worstPSNR("clip.mkv", "out.mp4", filter: "pad=160:160:0:35") > 30)
    }

    @Test(arguments: ["aspect-fill", "stretch"])
    func fitsInOtherWays(mode: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        try scratch.encode("clip.mkv", "-o", "out.mp4", "--size", "80x90", "--fit", mode, "--crf", "12")
        let filter = mode == "stretch" ? "scale=80:90:flags=area" : "crop=80:90"
        #expect(try scratch.worstPSNR("clip.mkv", "out.mp4", filter: filter) > 24)
    }

    /// What a shape becomes when one side is given.
    struct Shape: Sendable, CustomTestStringConvertible {
        var input: String
        var ratio = "1"
        var isTurned = false
        var given: String
        var size: String
        var testDescription: String { "\(input) \(ratio)\(isTurned ? " turned" : "") \(given)" }
    }

    @Test(arguments: [
        Shape(input: "160x90", given: "x60", size: "106x60"),
        Shape(input: "160x90", given: "80x", size: "80x46"),
        Shape(input: "160x90", given: "320x", size: "320x180"),
        Shape(input: "90x160", given: "x80", size: "46x80"),
        Shape(input: "160x90", isTurned: true, given: "x80", size: "46x80"),
        Shape(input: "160x90", isTurned: true, given: "60x", size: "60x106"),
        Shape(input: "72x58", ratio: "16/15", given: "x116", size: "144x116"),
        Shape(input: "144x116", ratio: "64/45", given: "72x", size: "72x58"),
        Shape(input: "160x90", given: "x61", size: "106x60"),
    ])
    func oneSideFollowsFromTheOther(shape: Shape) throws {
        let scratch = try Scratch()
        try scratch.generate(
            "testsrc2=size=\(shape.input):rate=25:duration=0.4,setsar=\(shape.ratio)",
            ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "4", "-pix_fmt", "yuv420p", scratch.path("clip.mp4")]
        )
        if shape.isTurned {
            let turned = try #require(withDisplayMatrix([0, 1, -1, 0], Array(scratch.data("clip.mp4"))))
            try Data(turned).write(to: URL(fileURLWithPath: scratch.path("clip.mp4")))
        }
        try scratch.encode("clip.mp4", "-o", "out.mp4", "--size", shape.given, "--crf", "8")
        let found = ["width", "height", "sample_aspect_ratio"].map {
            try? scratch.probe("out.mp4", "v:0", "stream=\($0)")
        }
        #expect("\(found[0]?.first ?? "")x\(found[1]?.first ?? "")" == shape.size)
        // The pictures keep their sample aspect ratio, and so the shape in which they are shown.
        #expect(found[2]?.first == (shape.ratio == "1" ? "1:1" : shape.ratio.replacing("/", with: ":")))
        // No bars: what ffmpeg scales to the whole size is the same.
        let filter = "scale=\(shape.size.replacing("x", with: ":")):flags=area"
        #expect(try scratch.worstPSNR("clip.mp4", "out.mp4", filter: filter) > 24)
    }

    @Test func oneSideIsEnoughForEachOfSeveralOutputs() throws {
        let scratch = try Scratch()
        try scratch.makeClip(size: "640x360")
        try scratch.encode(
            "clip.mkv",
            "--preset",
            "ultrafast",
            "-o",
            "a.mp4",
            "--size",
            "x180",
            "-o",
            "b.mp4",
            "--size",
            "160x"
        )
        try scratch.write(
            "outputs.yaml",
            "- {output: c.mp4, size: x90, preset: ultrafast}\n- {output: d.mkv, size: 128x, preset: ultrafast}\n"
        )
        try scratch.encode("clip.mkv", "--outputs", "outputs.yaml")
        for (file, size) in [("a.mp4", "320x180"), ("b.mp4", "160x90"), ("c.mp4", "160x90"), ("d.mkv", "128x72")] {
            let found = ["width", "height"].compactMap { try? scratch.probe(file, "v:0", "stream=\($0)").first }
            #expect(found.joined(separator: "x") == size, "\(file)")
            #expect(try scratch.decodedFrameCount(file) == 25)
        }
    }

    @Test func sizesWithoutAnySideAreRefused() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        for given in ["x", "axb", "1280", "xx720", "-80x", "80.5x", "x720p", ""] {
            let result = try scratch.vatoolbox("encode", "clip.mkv", "-o", "out.mp4", "--size", given)
            #expect(result.status == 2, "\(given)")
            #expect(result.errors.contains("allowed WIDTHxHEIGHT, WIDTHx or xHEIGHT"), "\(given): \(result.errors)")
        }
        for given in ["x0", "0x", "x40000", "40000x"] {
            let result = try scratch.vatoolbox("encode", "clip.mkv", "-o", "out.mp4", "--size", given)
            #expect(result.status == 2 && result.errors.contains("2x2 to 32768x32768"), "\(given): \(result.errors)")
        }
        #expect(scratch.names == ["clip.mkv"])
    }

    @Test func oddSizesAreRoundedDownAndReported() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let result = try scratch.encode("clip.mkv", "-o", "out.mp4", "--size", "81x45", "--fit", "stretch")
        #expect(result.errors.contains("note: size 81x45 becomes 80x44"))
        #expect(try scratch.probe("out.mp4", "v:0", "stream=width,height") == ["80"])
        #expect(try scratch.probe("out.mp4", "v:0", "stream=height") == ["44"])
    }

    /// Standard input that somebody has read from begins where it stands: uncompressed pictures, which stay in their file for
    /// a GPU, and a container whose index is at its end.
    @Test(arguments: [false, true]) func standardInputBeginsWhereItStands(isOnGPU: Bool) throws {
        let scratch = try Scratch()
        let machine = isOnGPU ? try Scratch.machine() : []
        func encode(_ file: String, after count: Int, _ options: [String], _ output: String) throws {
            let skip = "dd of=skipped bs=\(max(count, 1)) count=\(count == 0 ? 0 : 1) status=none"
            let words = [Scratch.vatoolbox, "encode", "-", "-o", output, "--codec", "h264", "--qp", "30"] + options
            let line = "(\(skip); exec \(words.joined(separator: " "))) < \(file)"
            let result = try scratch.run(machine + ["sh", "-c", line])
            #expect(result.status == 0, "\(result.errors)")
        }
        let raw = "testsrc2=size=64x48:rate=25:duration=1"
        try scratch.generate(raw, ["-pix_fmt", "nv12", "-f", "rawvideo", scratch.path("clip.yuv")])
        let frame = 64 * 48 * 3 / 2
        try scratch.data("clip.yuv").dropFirst(10 * frame).write(to: URL(fileURLWithPath: scratch.path("rest.yuv")))
        let layout = ["--input-format", "rawvideo", "--input-size", "64x48", "--input-fps", "25"]
        let picture = layout + ["--input-pixel-format", "nv12"]
        try encode("rest.yuv", after: 0, picture, "expected.mp4")
        try encode("clip.yuv", after: 10 * frame, picture, "out.mp4")
        #expect(try scratch.frameHashes("out.mp4") == scratch.frameHashes("expected.mp4"))
        #expect(try scratch.decodedFrameCount("out.mp4") == 15)

        try scratch.makeClip("clip.mp4")
        try (Data(repeating: 7, count: 1000) + scratch.data("clip.mp4"))
            .write(to: URL(fileURLWithPath: scratch.path("behind")))
        try encode("clip.mp4", after: 0, [], "expected2.mp4")
        try encode("behind", after: 1000, [], "out2.mp4")
        #expect(try scratch.frameHashes("out2.mp4") == scratch.frameHashes("expected2.mp4"))
        #expect(try scratch.decodedFrameCount("out2.mp4") == 25)
    }

    @Test func tenBitsAreKept() throws {
        let scratch = try Scratch()
        try scratch.generate(
            "gradients=size=160x90:rate=25:duration=0.4:speed=0.1",
            [
                "-pix_fmt", "yuv420p10le", "-c:v", "ffv1", scratch.path("deep.mkv"),
            ]
        )
        try scratch.encode("deep.mkv", "-o", "out.mp4", "--profile", "high10", "--qp", "4")
        #expect(try scratch.probe("out.mp4", "v:0", "stream=pix_fmt") == ["yuv420p10le"])
        #expect(try scratch.worstPSNR("deep.mkv", "out.mp4") > 50)

        let result = try scratch.encode("deep.mkv", "-o", "eight.mp4")
        #expect(result.errors.contains("note: bit depth 10 becomes 8"))
    }
}
