// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

/// `encode --target`, judged by ffmpeg's filters `ssim` and `psnr`.
@Suite struct TargetTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// What an encode says of its target.
    private struct Target {
        let document: [String: Any]
        let target: [String: Any]
        let tries: [(quality: Double, score: Double, bytes: Int)]

        init(_ result: ProgramResult) throws {
            let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
            document = try #require(value, "\(result.errors)")
            target = try #require(document["target"] as? [String: Any], "\(document)")
            tries = (target["tries"] as? [[String: Any]] ?? []).map { attempt in
                (
                    attempt["quality"] as? Double ?? .nan, attempt["score"] as? Double ?? .nan,
                    attempt["bytes"] as? Int ?? -1
                )
            }
        }

        var quality: Double { target["quality"] as? Double ?? .nan }
        var score: Double { target["score"] as? Double ?? .nan }
        var predicted: [String: Any] { target["predicted"] as? [String: Any] ?? [:] }
        var measured: [String: Any] { target["measured"] as? [String: Any] ?? [:] }
        var encoder: [String: Any] { target["encoder"] as? [String: Any] ?? [:] }

        /// The chosen quality was tried and reaches the target, and the next one was tried and does not.
        func checkSearch(_ wanted: Double, step: Double = 0.5) {
            #expect(target["reached"] as? Bool == true && target["wanted"] as? Double == wanted)
            let chosen = tries.first { $0.quality == quality }
            #expect(chosen?.score == score && score >= wanted, "\(target)")
            let next = tries.first { $0.quality == quality + step }
            #expect(quality == 51 || (next.map { $0.score < wanted } ?? false), "\(target)")
            #expect(predicted["bytes"] as? Int == chosen?.bytes && (predicted["seconds"] as? Double ?? 0) > 0)
        }
    }

    private func encode(_ arguments: [String]) throws -> Target {
        try Target(scratch.encode(arguments + ["--json", "--overwrite"]))
    }

    /// What ffmpeg says of a file against another one: the SSIM or the PSNR of luma.
    private func measure(_ metric: String, _ file: String, _ reference: String) throws -> Double {
        let graph = "[0:v]settb=1,setpts=N[a];[1:v]settb=1,setpts=N[b];[a][b]\(metric)"
        // At widths that are no multiples of 16, the assembly of FFmpeg 5.1's filter `ssim` differs from its C code.
        let result = try scratch.run([
            "ffmpeg", "-hide_banner", "-cpuflags", "0", "-i", scratch.path(file), "-i", scratch.path(reference),
            "-lavfi", graph, "-f",
            "null", "-",
        ])
        try #require(result.status == 0, "\(result.errors)")
        let key = metric == "ssim" ? "Y:" : "y:"
        let line = result.errors.split(separator: "\n").last { $0.contains(metric.uppercased()) } ?? ""
        let word = line.split(separator: " ").first { $0.hasPrefix(key) } ?? ""
        return try #require(Double(word.dropFirst(2)), "\(result.errors)")
    }

    private static let noise = "testsrc2=size=320x180:rate=25:duration=2,noise=alls=20:allf=t"
    private static let fractal = "mandelbrot=size=320x180:rate=25:end_scale=0.01"

    /// A source of few seconds is one sample, so the output has exactly the score that was measured on it.
    @Test(arguments: [
        (noise, "ssim:0.95", ["--codec", "h264"]), (fractal, "ssim:0.985", ["--codec", "h264", "--asm", "avx2"]),
        (noise, "ssim:0.9", ["--codec", "hevc"]), (fractal, "psnr:38", ["--codec", "h264", "--b-frames", "off"]),
        (noise, "psnr:33.5", ["--codec", "hevc", "--fps", "12.5"]),
        (fractal, "ssim:0.98", ["--codec", "hevc", "--bit-depth", "10"]),
        (noise, "ssim:0.93", ["--codec", "h264", "--profile", "high10"]),
        (fractal, "ssim:0.97", ["--codec", "h264", "--size", "200x112"]),
    ])
    func theOutputHasTheScoreOfItsSample(source: String, target: String, options: [String]) throws {
        let isDeep = options.contains("10") || options.contains("high10")
        try scratch.generate(
            source,
            ["-frames:v", "50", "-c:v", "ffv1", "-pix_fmt", isDeep ? "yuv420p10le" : "yuv420p", scratch.path("in.mkv")]
        )
        let common = ["--preset", "ultrafast"] + options
        let found = try encode(["in.mkv", "-o", "out.mkv", "--target", target, "--verify"] + common)
        let words = target.split(separator: ":")
        let (metric, wanted) = (String(words[0]), try #require(Double(words[1])))
        found.checkSearch(wanted)
        #expect(found.encoder["name"] as? String == (options.contains("hevc") ? "x265" : "x264"))
        // What the encoder gets if pictures are scaled or dropped: the same without a loss.
        var reference = "in.mkv"
        if options.contains("--size") || options.contains("--fps") {
            reference = "lossless.mkv"
            let filters = Array(options[2...])
            try scratch.encode(["in.mkv", "-o", reference, "--codec", "h264", "--qp", "0"] + filters)
        }
        let score = try measure(metric, "out.mkv", reference)
        #expect(abs(score - found.score) < (metric == "ssim" ? 2e-4 : 0.02), "ffmpeg: \(score), \(found.target)")
        let bytes = try #require(found.predicted["bytes"] as? Int)
        let actual = try #require(found.measured["bytes"] as? Int)
        #expect(abs(Double(bytes) / Double(actual) - 1) < 0.01, "\(found.target)")
        // A smaller output by the next step would miss the target: the same command without a search.
        let crf = "\(found.quality + 0.5)"
        try scratch.encode(["in.mkv", "-o", "worse.mkv", "--crf", crf] + common)
        #expect(try measure(metric, "worse.mkv", reference) < wanted + 1e-4)
        let seen = try #require(found.measured["score"] as? Double)
        #expect(abs(seen - score) < (metric == "ssim" ? 0.05 : 2), "\(found.target)")
    }

    /// Samples stand for the whole: the score of a longer output is near the target, and its size near the prediction.
    @Test func samplesStandForALongerInput() throws {
        // Quiet and busy parts that change every few seconds.
        try scratch.generate(
            "testsrc2=size=320x180:rate=25:duration=40,noise=alls=12:allf=t:enable='lt(mod(t,6),3)'",
            ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "4", "-pix_fmt", "yuv420p", scratch.path("in.mkv")]
        )
        let found = try encode(
            [
                "in.mkv", "-o", "out.mp4", "--target", "ssim:0.96", "--preset", "ultrafast", "--codec", "h264",
                "--verify",
            ]
        )
        found.checkSearch(0.96)
        #expect((found.target["samples"] as? [Any])?.count == 8)
        // What eight samples of 2 s in 40 s may miss.
        #expect(try measure("ssim", "out.mp4", "in.mkv") > 0.96 - 0.015, "\(found.target)")
        let bytes = try #require(found.predicted["bytes"] as? Int)
        let actual = try #require(found.measured["bytes"] as? Int)
        #expect((0.7...1.4).contains(Double(bytes) / Double(actual)), "\(found.target)")
    }

    @Test func aPartOfTheInputIsSearched() throws {
        // The beginning is much simpler than the part.
        try scratch.generate(
            "testsrc2=size=320x180:rate=25:duration=4,noise=alls=40:allf=t:enable='gte(t,2)'",
            ["-c:v", "ffv1", "-pix_fmt", "yuv420p", scratch.path("in.mkv")]
        )
        let common = ["in.mkv", "-o", "out.mkv", "--target", "ssim:0.9", "--preset", "ultrafast", "--codec", "h264"]
        let simple = try encode(common + ["--duration", "2"])
        let part = try encode(common + ["--start", "2"])
        part.checkSearch(0.9)
        simple.checkSearch(0.9)
        #expect(part.quality < simple.quality - 3, "\(part.target) \(simple.target)")
        #expect(part.measured["score"] is NSNull && simple.measured["frames"] as? Int == 0)
    }

    @Test func aPredictionWritesNothing() throws {
        try scratch.makeClip(seconds: 2)
        let options = ["clip.mkv", "-o", "out.mp4", "--target", "psnr:40", "--preset", "ultrafast", "--codec", "h264"]
        let predicted = try encode(options + ["--target-only"])
        predicted.checkSearch(40)
        #expect(scratch.names == ["clip.mkv"] && predicted.target["measured"] is NSNull)
        let text = try scratch.encode(options + ["--target-only"]).errors
        #expect(text.contains("out.mp4, not written") && text.contains("predicted "), "\(text)")
        let encoded = try encode(options)
        #expect(encoded.quality == predicted.quality && encoded.score == predicted.score)
        let rate = encoded.document["bitRate"] as? [String: Any] ?? [:]
        #expect(rate["control"] as? String == "quality" && rate["quality"] as? Double == predicted.quality)
    }

    @Test func severalOutputsHaveTheirOwnTargets() throws {
        try scratch.makeClip(seconds: 1)
        let result = try scratch.encode([
            "clip.mkv", "--preset", "ultrafast", "--codec", "h264", "--json", "-o", "a.mp4", "--target", "ssim:0.99",
            "-o",
            "b.mp4", "--target", "psnr:30", "--size", "80x", "-o", "c.mp4", "--crf", "30",
        ])
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let outputs = try #require(document?["outputs"] as? [[String: Any]])
        let targets = outputs.map { $0["target"] as? [String: Any] }
        #expect(targets[0]?["metric"] as? String == "ssim" && targets[1]?["metric"] as? String == "psnr")
        #expect(targets[2] == nil && scratch.names == ["a.mp4", "b.mp4", "c.mp4", "clip.mkv"])
    }

    /// One output cannot reach its target, and the other one is written.
    @Test func whatCannotBeReachedFails() throws {
        try scratch.generate(Self.noise, ["-c:v", "ffv1", "-pix_fmt", "yuv420p", scratch.path("in.mkv")])
        let common = ["in.mkv", "--preset", "ultrafast", "--codec", "h264", "--json"]
        let result = try scratch.run(
            [Scratch.vatoolbox, "encode"] + common + ["-o", "out.mp4", "--target", "psnr:75"]
        )
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let error = try #require(document?["error"] as? [String: Any], "\(result)")
        #expect(result.status == 1 && error["code"] as? String == "target-unreachable", "\(error)")
        #expect(error["given"] as? String == "PSNR 75.00 dB" && scratch.names == ["in.mkv"])
        let remedies = error["remedies"] as? [String] ?? []
        #expect(remedies.contains { $0.contains("--target-shortfall best") }, "\(remedies)")
        // What the first remedy says can be reached.
        let remedy = try #require(remedies.first { $0.contains("--target psnr:") }?.split(separator: ":").last)
        try encode(["in.mkv", "-o", "less.mp4", "--target", "psnr:\(remedy)"] + common.dropFirst()).checkSearch(
            try #require(Double(remedy))
        )
        let best = try encode(
            ["in.mkv", "-o", "best.mp4", "--target", "psnr:75", "--target-shortfall", "best"] + common.dropFirst()
        )
        #expect(best.target["reached"] as? Bool == false && best.quality == 1 && scratch.names.contains("best.mp4"))
        let adjustments = best.document["adjustments"] as? [[String: Any]] ?? []
        #expect(adjustments.contains { $0["property"] as? String == "quality target" }, "\(adjustments)")
        let pair = try scratch.run(
            [Scratch.vatoolbox, "encode"] + common
                + ["-o", "bad.mp4", "--target", "psnr:75", "-o", "good.mp4", "--target", "psnr:30"]
        )
        #expect(pair.status == 1 && scratch.names.contains("good.mp4") && !scratch.names.contains("bad.mp4"))
    }

    @Test(arguments: [
        ["--target", "ssim:0.98", "--crf", "20"], ["--target", "ssim:0.98", "--bitrate", "2M"],
        ["--target", "ssim:0.98", "--qp", "20"], ["--target", "ssim:0.98", "--cbr"],
        ["--target", "ssim:0.98", "--rate-control", "icq"], ["--target", "ssim:0.98", "--realtime"],
        ["--target", "ssim:1"], ["--target", "ssim:0.2"], ["--target", "ssim:nan"], ["--target", "psnr:0"],
        ["--target", "psnr"], ["--target", "xpsnr:40"], ["--target", "vmaf:101"], ["--target", "ssim:0.98:1"],
        ["--target-only"], ["--target-shortfall", "best"],
        ["--target", "ssim:0.98", "--target-shortfall", "worst"],
    ])
    func contradictionsAreRefused(options: [String]) throws {
        try scratch.makeClip()
        let result = try scratch.run([Scratch.vatoolbox, "encode", "clip.mkv", "-o", "out.mp4"] + options)
        #expect(result.status == 2 && result.errors.contains(options[0]), "\(result)")
        #expect(result.errors.contains(options.last ?? "") && scratch.names == ["clip.mkv"], "\(result)")
    }

    @Test func aLadderAndAPipeHaveNoTarget() throws {
        try scratch.makeClip()
        let ladder = try scratch.vatoolbox(
            "encode",
            "clip.mkv",
            "-o",
            "out-{height}.mp4",
            "--ladder",
            "90p,60p",
            "--target",
            "ssim:0.9"
        )
        #expect(ladder.status == 2 && ladder.errors.contains("--ladder and --target ssim:0.9"), "\(ladder.errors)")
        let pipe = try scratch.run([
            "bash", "-c", "cat clip.mkv | \(Scratch.vatoolbox) encode - -o out.mp4 --target ssim:0.9",
        ])
        #expect(pipe.status == 2 && pipe.errors.contains("allowed a regular file"), "\(pipe.errors)")
        let mixed = try scratch.vatoolbox(
            "encode",
            "clip.mkv",
            "-o",
            "a.mp4",
            "--target",
            "ssim:0.9",
            "--target-only",
            "-o",
            "b.mp4"
        )
        #expect(mixed.status == 2 && mixed.errors.contains("--target-only is about all outputs"), "\(mixed.errors)")
        #expect(scratch.names == ["clip.mkv"])
    }

    @Test func theSearchTellsItsProgress() throws {
        try scratch.makeClip(seconds: 8, size: "640x360")
        try scratch.encode(
            "clip.mkv",
            "-o",
            "out.mp4",
            "--device",
            "software",
            "--target",
            "ssim:0.97",
            "--progress",
            "p"
        )
        let told = try scratch.text("p").split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        }
        let phases = told.compactMap { $0["phase"] as? String }
        #expect(phases.contains("searching") && phases.last == "encoding", "\(phases)")
        let searching = told.filter { $0["phase"] as? String == "searching" }
        let times = searching.compactMap { $0["time"] as? Double }
        #expect(times.count == searching.count && times == times.sorted() && (times.last ?? 0) > 0)
        #expect(searching.allSatisfy { $0["expectedDuration"] is NSNull })
    }

    /// A signal during the search ends it without an output.
    @Test func anInterruptionEndsTheSearch() throws {
        try scratch.makeClip(seconds: 8, size: "640x360")
        let program = try RunningProgram(
            [
                Scratch.vatoolbox, "encode", "clip.mkv", "-o", "out.mp4", "--device", "software", "--target",
                "ssim:0.97",
                "--preset", "placebo", "--progress", "p",
            ],
            input: "/dev/null",
            in: scratch
        )
        try program.wait(until: "it searches") { scratch.text("p").contains("\"searching\"") }
        program.signal(2)
        let status = program.end()
        #expect(status == 130, "\(program.errors)")
        #expect(scratch.names.filter { $0.contains("out") }.isEmpty)
    }

    /// Another program measures VMAF: it gets each pair, and its score decides.
    @Test func vmafIsMeasuredByAnotherProgram() throws {
        try scratch.makeClip(seconds: 1)
        // The score falls with the mean difference of the upper and the lower picture.
        try ProgramText.write(
            """
            #!/usr/bin/env python3
            import json, re, sys
            words = sys.argv
            if "-version" in words: print("ffmpeg version 99-judge"); sys.exit()
            if "-filters" in words: print(" ... libvmaf VV->V nothing"); sys.exit()
            width, height = map(int, words[words.index("-video_size") + 1].split("x"))
            data = sys.stdin.buffer.read()
            size = width * height * 3 // 2
            assert data and len(data) % size == 0, len(data)
            total = count = 0
            for start in range(0, len(data), size):
                half = width * height // 2
                above, below = data[start:start + half], data[start + half:start + 2 * half]
                total += sum(abs(a - b) for a, b in zip(above[::7], below[::7]))
                count += len(above[::7])
            score = max(100 - 5 * total / count, 0)
            pooled = {"min": 0, "mean": score, "harmonic_mean": score}
            json.dump({"pooled_metrics": {"vmaf": pooled}}, open("vmaf.json", "w"))
            """,
            to: scratch.path("judge")
        )
        let command = [
            Scratch.vatoolbox, "encode", "clip.mkv", "-o", "out.mp4", "--preset", "ultrafast", "--codec", "h264",
            "--target",
            "vmaf:90", "--verify", "--json",
        ]
        let result = try scratch.run(["env", "VATOOLBOX_FFMPEG=\(scratch.path("judge"))"] + command)
        try #require(result.status == 0, "\(result)")
        let found = try Target(result)
        found.checkSearch(90)
        #expect(found.target["metric"] as? String == "vmaf" && found.measured["score"] is NSNull)
        let none = try scratch.run(["env", "VATOOLBOX_FFMPEG=/nowhere/ffmpeg"] + command + ["--overwrite"])
        #expect(none.status == 1 && none.output.contains("libvmaf"), "\(none)")
    }

    /// The GPU that encodes the output encodes the samples, with whole qualities.
    @Test func theEncoderOfTheOutputIsSearched() throws {
        try scratch.generate(
            "testsrc2=size=192x112:rate=25:duration=1,noise=alls=20:allf=t",
            ["-c:v", "ffv1", "-pix_fmt", "yuv420p", scratch.path("in.mkv")]
        )
        let machine = try Scratch.machine(
            ["REFERENCE_DRIVER_LIMITS=decode=h264,hevc", "VATOOLBOX_STATE=\(scratch.path("state"))"]
        )
        for codec in ["h264", "hevc"] {
            let result = try scratch.run(
                machine + [
                    Scratch.vatoolbox, "encode", "in.mkv", "-o", "\(codec).mkv", "--codec", codec, "--require-hardware",
                    "--target", "ssim:0.9", "--verify", "--json",
                ]
            )
            try #require(result.status == 0, "\(result)")
            let found = try Target(result)
            found.checkSearch(0.9, step: 1)
            #expect(found.tries.allSatisfy { $0.quality == $0.quality.rounded() })
            #expect(found.encoder["device"] as? String == "/dev/dri/renderD128", "\(found.encoder)")
            let encoder = found.document["encoder"] as? [String: Any] ?? [:]
            #expect(encoder["device"] as? String == "/dev/dri/renderD128")
            let score = try measure("ssim", "\(codec).mkv", "in.mkv")
            #expect(abs(score - found.score) < 2e-4, "ffmpeg: \(score), \(found.target)")
        }
    }
}
