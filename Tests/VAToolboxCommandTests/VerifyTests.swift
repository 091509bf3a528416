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

    /// The measured PSNR is that of ffmpeg; pictures that the output has in another size or with bars are measured, too.
    @Test(arguments: [
        ["--crf", "30"], ["--codec", "hevc", "--crf", "30"], ["--size", "96x54", "--crf", "15"],
        ["--size", "96x96", "--crf", "15"], ["--codec", "hevc", "--bit-depth", "10", "--crf", "15"],
    ])
    func psnrIsMeasured(options: [String]) throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 1)
        let text = try scratch.encode(
            ["clip.mkv", "-o", "out.mp4", "--preset", "ultrafast", "--verify-psnr", "20.5", "--json"] + options
        ).output
        let document = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let verification = try #require(document["verification"] as? [String: Any])
        let psnr = try #require(verification["psnr"] as? [String: Any], "\(document)")
        let (lowest, mean) = (psnr["lowest"] as? Double ?? 0, psnr["mean"] as? Double ?? 0)
        #expect(psnr["frames"] as? Int == 25 && verification["frames"] as? Int == 25, "\(psnr)")
        #expect(lowest > 20.5 && mean >= lowest && mean < 60, "\(psnr)")
        guard !options.contains("--size"), !options.contains("--bit-depth") else { return }
        let graph = "[0:v]settb=1,setpts=N[a];[1:v]settb=1,setpts=N[b];[a][b]psnr=stats_file=-"
        let lines = try scratch.ffmpeg([
            "-i", scratch.path("clip.mkv"), "-i", scratch.path("out.mp4"), "-filter_complex", graph, "-f", "null", "-",
        ])
        let values = lines.split(whereSeparator: \.isWhitespace).filter { $0.hasPrefix("psnr_y:") }
            .compactMap { Double($0.dropFirst(7)) }
        try #require(values.count == 25, "\(lines)")
        #expect(abs(lowest - (values.min() ?? 0)) < 0.01)
        #expect(abs(mean - values.reduce(0, +) / 25) < 0.01)
    }

    @Test func tooLowAPSNRIsAFailure() throws {
        let scratch = try Scratch()
        try scratch.makeClip(seconds: 1)
        let result = try scratch.run([
            Scratch.vatoolbox, "encode", "clip.mkv", "-o", "out.mp4", "--qp", "51", "--verify-psnr", "60",
        ])
        #expect(result.status == 1 && result.errors.contains("has a PSNR of "), "\(result.errors)")
        #expect(result.errors.contains(" dB instead of 60.0 dB or more, and "), "\(result.errors)")
        #expect(scratch.names.filter { $0.contains("out") }.isEmpty)
    }

    @Test(arguments: ["0", "0.9", "100.5", "nan", "high", "-30"]) func badPSNRsAreRefused(value: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let result = try scratch.vatoolbox("encode", "clip.mkv", "-o", "out.mp4", "--verify-psnr", value)
        #expect(result.status == 2 && result.errors.contains(value), "\(result.errors)")
        #expect(!scratch.names.contains("out.mp4"))
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
