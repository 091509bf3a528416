// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

/// The command while its helpers are killed and stopped. `scripts/verify isolation` runs it with more.
@Suite(.timeLimit(.minutes(60))) struct CommandHelperKillTests {
    private static let frameCount = 200

    @Test func theFileIsWhole() throws {
        let count = max(4, KillSettings.count(sample: 16) / 4)
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 8, size: "320x180")
        var report = KillReport("vatoolbox encode")
        var random = SplitMix(KillSettings.seed)
        while report["kills"] < count {
            let program = try RunningProgram(
                [
                    Scratch.vatoolbox, "encode", "clip.y4m", "-o", "out.mp4", "--overwrite", "--isolation", "process",
                    "--crf", "14", "--preset", "slow", "--json",
                ],
                in: scratch
            )
            // A helper lives long enough that the command does not run into five failed starts in a row.
            let plan = HelperKiller.Plan(
                count: count - report["kills"],
                blows: [.kill, .pause],
                longestDelay: 1_000_000,
                seed: random.next()
            )
            let killer = try HelperKiller(program.pid, plan)
            let status = program.end()
            killer.stop()
            report.add("encodes", 1)
            report.add(killer.dealt)
            try #require(status == 0, "\(program.errors)")
            try check(scratch, program.output, &report)
        }
        report.write()
        #expect(report["frames in the files"] == report["encodes"] * Self.frameCount)
        #expect(report["frames unlike"] == 0)
        #expect(scratch.names == ["clip.y4m", "out.mp4"])
    }

    /// Decodes strictly, and compares each picture with that of the clip.
    private func check(_ scratch: Scratch, _ json: String, _ report: inout KillReport) throws {
        let document = try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        let frames = try #require(document["frames"] as? [String: Int])
        report.add("frames in", frames["in"] ?? -1)
        report.add("frames repeated", frames["repeated"] ?? -1)
        report.add("frames out", frames["out"] ?? -1)
        report.add("frames in the files", try scratch.decodedFrameCount("out.mp4"))
        try scratch.ffmpeg([
            "-y", "-i", "out.mp4", "-i", "clip.y4m", "-lavfi", "psnr=stats_file=psnr.txt", "-vsync", "passthrough",
            "-f", "null", "-",
        ])
        let lines = scratch.text("psnr.txt").split(separator: "\n")
        try FileManager.default.removeItem(atPath: scratch.path("psnr.txt"))
        let likenesses = lines.compactMap { line -> Double? in
            line.split(separator: " ").first { $0.hasPrefix("psnr_avg:") }.flatMap { Double($0.dropFirst(9)) }
        }
        // Neighbours in this clip are like each other by 26 dB at most.
        report.add("frames unlike", Self.frameCount - likenesses.count { $0 > 38 })
    }
}
