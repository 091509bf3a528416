// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

@Suite struct PictureTests {
    @Test func rotatedVideoComesOutUpright() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mp4")
        try scratch.ffmpeg([
            "-i", scratch.path("clip.mp4"), "-c", "copy", "-metadata:s:v", "rotate=90", scratch.path("turned.mp4"),
        ])
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
