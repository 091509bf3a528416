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
