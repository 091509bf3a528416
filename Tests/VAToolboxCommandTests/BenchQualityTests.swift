// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// The qualities that `vatoolbox bench` states, against what ffmpeg's filters say of the streams that it keeps.
@Suite struct BenchQualityTests {
    private let scratch: Scratch
    private static let color = "setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709:range=tv"

    init() throws { scratch = try Scratch() }

    /// Writes pictures of a size and depth without loss, so that what is encoded is known outside of the benchmark.
    private func makeClip(depth: Int) throws -> String {
        let source = "testsrc2=size=192x112:rate=30,noise=alls=20:allf=t,format=\(Self.format(depth)),\(Self.color)"
        let words = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, "-frames:v", "12", "-c:v", "ffv1"]
        let result = try scratch.run(words + ["clip.mkv"])
        try #require(result.status == 0, "\(result.errors)")
        return "./clip.mkv"
    }

    /// Each run of it works in a folder of its own.
    @Test(arguments: ["VATOOLBOX_FFMPEG=./mine/ffmpeg", "VATOOLBOX_FFMPEG=other", "PATH=mine:/usr/bin:/bin"])
    func anFFmpegNearbyIsFound(setting: String) throws {
        try FileManager.default.createDirectory(atPath: scratch.path("mine"), withIntermediateDirectories: true)
        // It says that it has a filter, which Debian's has not. Written by another process: programs that are started
        // by other tests meanwhile would keep it open for writing, and so from being run.
        let lines = #"#!/bin/sh\necho "ffmpeg version 99-nearby"\necho " ... libvmaf VV->V nothing"\n"#
        for name in ["ffmpeg", "other"] {
            try scratch.tool("sh", "-c", "printf '\(lines)' > mine/\(name) && chmod 755 mine/\(name)")
        }
        let path = setting.hasSuffix("other") ? ["PATH=mine:/usr/bin:/bin"] : []
        let result = try scratch.bench(
            ["--quick", "--size", "160x96", "--frames", "4", "--points", "200k", "--encoders", "x264:ultrafast"]
                + ["--quiet", "--output", "out"],
            ["env", setting] + path
        )
        #expect(result.status == 0, "\(result.errors)")
        #expect(scratch.text("out/report.json").contains("99-nearby"))
    }

    private static func format(_ depth: Int) -> String { depth > 8 ? "yuv420p10le" : "yuv420p" }

    /// What a filter that compares two videos says of a stream.
    private func judge(_ stream: String, _ filter: String, depth: Int) throws -> String {
        // By their numbers, since containers round times in different ways.
        let same = "settb=1/30,setpts=N,format=\(Self.format(depth)),setparams=range=tv:colorspace=bt709"
        let graph = "[0:v]\(same)[d];[1:v]\(same)[r];[d][r]\(filter)"
        let result = try scratch.run([
            "ffmpeg", "-hide_banner", "-nostdin", "-i", stream, "-i", "clip.mkv", "-lavfi", graph, "-f", "null", "-",
        ])
        try #require(result.status == 0, "\(result.errors)")
        return result.errors
    }

    /// The number after a key, where it stands last.
    private func value(_ text: String, after key: String) throws -> Double {
        let start = try #require(text.range(of: key, options: .backwards)?.upperBound, "\(text)")
        return try #require(Double(text[start...].prefix { "0123456789.".contains($0) }))
    }

    @Test(arguments: [
        ("x264:ultrafast", 8), ("x264:ultrafast", 10), ("x265:ultrafast", 8), ("x265:ultrafast", 10),
        ("/dev/dri/renderD128:h264:full", 8), ("/dev/dri/renderD128:hevc:full", 8),
        ("/dev/dri/renderD128:hevc:full", 10),
    ])
    func qualitiesAreThoseOfFFmpeg(_ encoder: String, depth: Int) throws {
        let clip = try makeClip(depth: depth)
        let isHardware = encoder.hasPrefix("/")
        let result = try scratch.bench(
            ["--quick", "--clips", clip, "--size", "192x112", "--frames", "12", "--points", "qp=22,qp=36", "--quiet"]
                + ["--bit-depth", "\(depth)", "--encoders", encoder, "--keep-streams", "--output", "out"],
            isHardware ? try Scratch.machine() + ["REFERENCE_DRIVER_LIMITS=hevc=main10"] : []
        )
        #expect(result.status == 0, "\(result.errors)")
        let report = try scratch.benchReport(in: "out")
        let described = try #require((report["clips"] as? [[String: Any]])?.first)
        #expect(described["bitDepth"] as? Int == depth)
        let runs = try benchRuns(report)
        #expect(runs.count == 2)
        for (index, (_, figures)) in runs.enumerated() {
            let stream = "out/streams/0000\(index).mp4"
            let entries = ["-show_entries", "stream=pix_fmt", "-of", "csv=p=0"]
            let format = try scratch.run(["ffprobe", "-v", "error"] + entries + [stream]).output
            #expect(format.hasPrefix(Self.format(depth) + "\n"), "\(format)")
            let quality = try #require(figures["quality"] as? [String: Any])
            #expect(quality["frames"] as? Int == 12)
            let (ratios, similarities) = (
                try judge(stream, "psnr", depth: depth), try judge(stream, "ssim", depth: depth)
            )
            for (plane, ratio, similarity) in [
                ("y", " y:", " Y:"), ("u", " u:", " U:"), ("v", " v:", " V:"), ("all", "average:", "All:"),
            ] {
                let psnr = try number(planes(quality, "psnr")[plane])
                let ssim = try number(planes(quality, "ssim")[plane])
                #expect(
                    try abs(psnr - value(ratios, after: ratio)) < 0.01,
                    "\(plane) \(psnr), ffmpeg: \(ratios.suffix(300))"
                )
                #expect(
                    try abs(ssim - value(similarities, after: similarity)) < 0.0005,
                    "\(plane) \(ssim), ffmpeg: \(similarities.suffix(300))"
                )
            }
        }
        // Coarser quantization is seen.
        let luma = try runs.map { try number(planes(#require($0.figures["quality"] as? [String: Any]), "psnr")["y"]) }
        #expect(luma[0] > luma[1] + 3, "\(luma)")
    }

    private func planes(_ quality: [String: Any], _ name: String) throws -> [String: Any] {
        let measured = try #require(quality[name] as? [String: Any])
        return try #require(measured["value"] as? [String: Any], "\(measured)")
    }

    @Test func whatAnEncoderCannotDoIsSaidAndTheOthersGoOn() throws {
        let result = try scratch.bench(
            ["--quick", "--size", "192x112", "--frames", "4", "--points", "qp=30", "--bit-depth", "10", "--quiet"]
                + ["--encoders", "/dev/dri/renderD128:h264:full,x264:ultrafast", "--output", "out"],
            try Scratch.machine()
        )
        #expect(result.status == 0 && result.errors.contains("10"), "\(result.errors)")
        let runs = try #require(try scratch.benchReport(in: "out")["runs"] as? [[String: Any]])
        let results = runs.compactMap { $0["result"] as? [String: Any] }
        #expect(results.count == 2)
        #expect(results.first?["absent"] is String && results.last?["value"] != nil, "\(results)")
    }
}
