// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// `encode --verify`: good outputs pass, whatever they are made of.
@Suite struct VerifyTests {
    @Test(arguments: ["mp4", "mov", "mkv", "ts", "h264"], ["h264", "hevc"])
    func goodOutputsPass(container: String, codec: String) throws {
        let container = container == "h264" && codec == "hevc" ? "h265" : container
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 1.2)
        for options in [
            ["--crf", "45"], container.hasPrefix("h26") ? [] : ["--audio", "aac"],
            ["--size", "96x54", "--fps", "12.5"], ["--size", "96x96"],
            ["--start", "0.3", "--duration", "0.5", "--b-frames", "off"],
        ] {
            let result = try scratch.encode(
                [
                    "clip.mkv", "-o", "out.\(container)", "--codec", codec, "--verify", "--overwrite", "--preset",
                    "ultrafast",
                ]
                    + options
            )
            let line = try #require(result.errorLines.first { $0.hasPrefix("verified") }, "\(result.errors)")
            let hasBars = options == ["--size", "96x96"]
            let count = try scratch.decodedFrameCount("out.\(container)")
            #expect(line.contains("\(count) frames decoded, \(hasBars ? 0 : count) frames compared"), "\(line)")
            #expect(line.hasSuffix(", 1 audio track") == !container.hasPrefix("h26"), "\(line)")
        }
    }

    @Test func onlyFilesCanBeVerified() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        for arguments in [["-o", "null"], ["-o", "-", "--format", "ts"], ["-o", "/dev/null", "--format", "ts"]] {
            let result = try scratch.run([Scratch.vatoolbox, "encode", "clip.mkv", "--verify"] + arguments)
            #expect(result.status == 2 && result.errors.contains("only files can be verified"), "\(result.errors)")
        }
    }
}
