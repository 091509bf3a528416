// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// What not every encoder has, from the command line to the stream.
@Suite struct StreamOptionTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 2, size: "320x180")
    }

    /// Encodes the clip reproducibly, in two seconds of 25 frames each.
    private func encode(_ output: String, _ arguments: [String]) throws -> [String: Any] {
        let common = ["encode", "clip.y4m", "-o", output, "--device", "software", "--threads", "1", "--asm", "sse2"]
        let result = try scratch.run([Scratch.vatoolbox] + common + arguments + ["--json"])
        try #require(result.status == 0, "\(result.errors)")
        let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        return try #require(value as? [String: Any])
    }

    private func adjustments(_ document: [String: Any]) throws -> [String] {
        try #require(document["adjustments"] as? [[String: String]]).map { adjustment in
            "\(adjustment["property"] ?? ""): \(adjustment["requested"] ?? "") -> \(adjustment["used"] ?? "")"
        }
    }

    /// The values of a syntax element in the order in which ffmpeg's reader of headers sees them.
    private func values(of element: String, in file: String) throws -> [Int] {
        let trace = try scratch.run([
            "ffmpeg", "-i", scratch.path(file), "-c", "copy", "-bsf:v", "trace_headers", "-f", "null", "-",
        ])
        return trace.errorLines.filter { $0.contains(" \(element) ") }.compactMap { line in
            line.split(separator: " ").last.flatMap { Int($0) }
        }
    }

    @Test(arguments: ["in-process", "process"]) func slices(isolation: String) throws {
        let document = try encode("out.h264", ["--slices", "4", "--isolation", isolation])
        #expect(try adjustments(document) == [])
        // Twelve rows of twenty macroblocks.
        let firsts = try values(of: "first_mb_in_slice", in: "out.h264")
        #expect(firsts.count == 200)
        #expect(Set(firsts) == [0, 60, 120, 180])
        #expect(try scratch.decodedFrameCount("out.h264") == 50)
    }

    @Test func intraRefresh() throws {
        let document = try encode("out.h264", ["--intra-refresh", "--keyframe-interval", "20"])
        #expect(try adjustments(document) == [])
        #expect(try values(of: "nal_unit_type", in: "out.h264").count { $0 == 5 } == 1)
        #expect(try values(of: "recovery_frame_cnt", in: "out.h264").count == 2)
        #expect(try scratch.decodedFrameCount("out.h264") == 50)
        #expect(try scratch.worstPSNR("clip.y4m", "out.h264") > 25)
    }

    @Test(arguments: [("vbr", "2M"), ("avbr", "40k")]) func quantizerLimits(mode: String, rate: String) throws {
        let limits = ["--min-qp", "30", "--max-qp", "33"]
        let document = try encode("out.h264", ["--rate-control", mode, "--bitrate", rate] + limits)
        #expect(try adjustments(document) == [])
        let base = 26 + (try #require(try values(of: "pic_init_qp_minus26", in: "out.h264").first))
        let quantizers = try values(of: "slice_qp_delta", in: "out.h264").map { base + $0 }
        #expect(quantizers.count == 50)
        #expect(quantizers.allSatisfy { (30...33).contains($0) }, "\(quantizers)")
    }

    @Test(arguments: [
        ("cqp", "quantizer"), ("cbr", "constant"), ("vbr", "average"), ("avbr", "average"), ("icq", "quality"),
        ("qvbr", "quality"),
    ]) func everyKindOfRateControlEncodes(mode: String, control: String) throws {
        let document = try encode("out.mp4", ["--rate-control", mode])
        let rate = try #require(document["bitRate"] as? [String: Any])
        #expect(rate["control"] as? String == control)
        #expect((rate["peak"] as? Int != nil) == ["cbr", "vbr", "qvbr"].contains(mode))
        #expect(try scratch.decodedFrameCount("out.mp4") == 50)
    }

    /// Regions go along with the pictures, also to another process, and are scaled with them.
    @Test func regions() throws {
        let plain = ["--crf", "36", "--preset", "veryfast"]
        let favoured = plain + ["--roi", "80,40,160,100,-14"]
        #expect(try adjustments(try encode("plain.h264", plain)) == [])
        for isolation in ["in-process", "process"] {
            let document = try encode("\(isolation).h264", favoured + ["--isolation", isolation])
            #expect(try adjustments(document) == [])
        }
        #expect(try scratch.data("process.h264") == scratch.data("in-process.h264"))
        #expect(try scratch.decodedFrameCount("process.h264") == 50)
        for (size, area) in [("320x180", "160:100:80:40"), ("640x360", "320:200:160:80")] {
            let scaled = ["--size", size, "--overwrite"]
            _ = try encode("plain.h264", plain + scaled)
            _ = try encode("favoured.h264", favoured + scaled)
            // What both make of a picture that is as good as the source.
            _ = try encode("source.h264", ["--qp", "4"] + scaled)
            let before = try quality("plain.h264", area)
            let after = try quality("favoured.h264", area)
            #expect(after > before + 4, "\(size): \(before) dB, \(after) dB")
        }
    }

    /// The worst frame's PSNR in a part of the picture.
    private func quality(_ file: String, _ area: String) throws -> Double {
        let name = "area-\(file)"
        for (from, to) in [("source.h264", "area-source.mkv"), (file, "\(name).mkv")] {
            try scratch.ffmpeg([
                "-y", "-i", scratch.path(from), "-vf", "crop=\(area)", "-c:v", "ffv1", scratch.path(to),
            ])
        }
        return try scratch.worstPSNR("area-source.mkv", "\(name).mkv")
    }

    @Test func whatIsNotHonouredIsInTheReport() throws {
        let document = try encode(
            "out.mp4",
            [
                "--temporal-layers", "2", "--max-frame-size", "20k", "--qp", "28", "--roi", "300,0,40,16,-3",
                "--quality-level", "3", "--low-power", "on", "--async-depth", "2",
            ]
        )
        #expect(
            try adjustments(document) == [
                "region of interest: 40x16 at 300,0 -> 20x16 at 300,0", "temporal layers: 2 -> 1",
                "maximum frame size: 20000 bytes -> none", "regions of interest: those of the pictures -> none",
            ]
        )
        #expect(try scratch.decodedFrameCount("out.mp4") == 50)
    }
}
