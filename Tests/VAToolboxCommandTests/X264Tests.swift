// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// The same frames as the `x264` command line gives, with instructions with which x264 agrees with itself.
@Suite struct X264Tests {
    @Test(arguments: ["ultrafast", "veryfast", "medium"], [["--bitrate", "300"], ["--crf", "24"], ["--qp", "27"]])
    func givesTheFramesOfX264(preset: String, rateControl: [String]) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 2, size: "320x180")
        // The y4m file says where its chroma samples lie, which x264's command line does not take from it.
        let reference = try scratch.run(
            [
                "x264", "--quiet", "--preset", preset, "--threads", "2", "--keyint", "125", "--chromaloc", "1", "--asm",
                "sse2",
            ]
                + rateControl
                + ["-o", "x264.h264", "clip.y4m"]
        )
        try #require(reference.status == 0, "\(reference.errors)")
        // x264's command line counts bitrates in thousands.
        let suffix = rateControl[0] == "--bitrate" ? "k" : ""
        try scratch.encode(
            "clip.y4m",
            "-o",
            "out.h264",
            "--preset",
            preset,
            "--threads",
            "2",
            "--asm",
            "sse2",
            rateControl[0],
            rateControl[1] + suffix
        )
        let hashes = try scratch.frameHashes("out.h264")
        #expect(hashes.count == 50)
        #expect(try hashes == scratch.frameHashes("x264.h264"))
    }

    @Test func givesTheSameFileFromAHelperProcess() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 2, size: "320x180")
        for mode in ["in-process", "process"] {
            try scratch.encode(
                "clip.y4m",
                "-o",
                "\(mode).h264",
                "--qp",
                "27",
                "--threads",
                "1",
                "--asm",
                "sse2",
                "--isolation",
                mode
            )
        }
        let data = try scratch.data("process.h264")
        #expect(data.count > 1000)
        #expect(try data == scratch.data("in-process.h264"))
    }
}
