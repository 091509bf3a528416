// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import TestSupport
import Testing

@testable import EncodingBenchmark

/// An ffmpeg with libvmaf and xpsnr, of which Debian 12 has none; `scripts/verify bench` brings one.
private let capable = ProcessInfo.processInfo.environment["VATOOLBOX_TEST_FFMPEG"]

@Suite struct VMAFTests {
    @Test(.enabled(if: capable != nil), arguments: [(8, "libx264", 24), (8, "libx264", 40), (10, "libx265", 34)])
    func agreesWithAnFFmpegRunByHand(depth: Int, codec: String, crf: Int) throws {
        let program = try #require(capable)
        // The filter xpsnr of FFmpeg 9.0 takes pictures of 10 bits whose rows have different strides for something else (-4 dB
        // instead of 33): by hand it is right only where decoders and uncompressed pictures pad alike.
        let coded = try CodedClip(.mixed, 384, 218, depth: depth, pictures: 8, frames: 20)
        let stream = try coded.encode(codec, crf: crf)
        let quality = try coded.quality(stream, program: QualityProgram.search(path: program))

        let vmaf = try #require(quality.vmaf.value, "\(quality.vmaf.absence ?? "")")
        #expect(vmaf.model == "vmaf_v0.6.1" && vmaf.minimum <= vmaf.harmonicMean && vmaf.harmonicMean <= vmaf.mean)
        let log = coded.folder + "/vmaf.json"
        let score = try coded.judge(
            stream,
            "libvmaf=log_fmt=json:log_path=\(log)",
            by: program
        )
        #expect(abs(try CodedClip.number(score, after: "VMAF score:") - vmaf.mean) < 0.0001)
        let pooled = try String(contentsOfFile: log, encoding: .utf8).components(separatedBy: "\"vmaf\": {").last ?? ""
        #expect(abs(try CodedClip.number(pooled, after: "\"min\":") - vmaf.minimum) < 0.0001)
        #expect(abs(try CodedClip.number(pooled, after: "\"harmonic_mean\":") - vmaf.harmonicMean) < 0.0001)

        let xpsnr = try #require(quality.xpsnr.value, "\(quality.xpsnr.absence ?? "")")
        let ratios = try coded.judge(stream, "xpsnr", by: program, isReferenceFirst: true)
        for (key, value) in [("  y:", xpsnr.y), ("  u:", xpsnr.u), ("  v:", xpsnr.v)] {
            #expect(abs(try CodedClip.number(ratios, after: key) - value) < 0.0001)
        }
        #expect((min(xpsnr.y, xpsnr.u, xpsnr.v)...max(xpsnr.y, xpsnr.u, xpsnr.v)).contains(xpsnr.all))
    }

    /// A program that says what an ffmpeg with these filters says, and otherwise does as told.
    private func program(_ coded: CodedClip, filters: String, work: String) throws -> String {
        let path = coded.folder + "/ffmpeg-for-test"
        let script = """
            #!/bin/sh
            case "$*" in
            *-filters) printf '%b' ' .. libvmaf2  V->V  other\\n\(filters)' ;;
            *-version) echo 'ffmpeg version 9.1-test Copyright (c) somebody' ;;
            *) \(work) ;;
            esac
            """
        try ProgramText.write(script, to: path)
        return path
    }

    private let both = " .. libvmaf  VV->V  Calculate\\n T. xpsnr  VV->V  Calculate\\n"

    @Test func saysWhatAProgramLacks() throws {
        let coded = try CodedClip(frames: 2)
        let path = try program(coded, filters: " T. psnr VV->V x\\n", work: "exit 9")
        let quality = try coded.quality(coded.encode(), program: QualityProgram.search(path: path))
        #expect(quality.vmaf.absence == "\(path) (ffmpeg 9.1-test) has no filter libvmaf")
        #expect(quality.xpsnr.absence == "\(path) (ffmpeg 9.1-test) has no filter xpsnr")
        #expect(quality.psnr.value != nil)
        guard case .found(let poor) = QualityProgram.search(path: path) else { throw CancellationError() }
        #expect(poor.component == nil)
        _ = try program(coded, filters: both, work: "exit 0")
        guard case .found(let able) = QualityProgram.search(path: path) else { throw CancellationError() }
        #expect(able.component == .init(name: "ffmpeg for VMAF and XPSNR", version: "9.1-test", detail: path))
    }

    @Test(arguments: [
        ("cat > /dev/null; echo 'nothing of that'; exit 3", "nothing of that"),
        ("echo 'cannot begin' >&2; exit 1", "cannot begin"),
        ("cat > /dev/null", "cannot be parsed"),
    ])
    func aProgramThatFailsCostsNoOtherFigure(work: String, words: String) throws {
        let coded = try CodedClip(frames: 8)
        let path = try program(coded, filters: both, work: work)
        let quality = try coded.quality(coded.encode(), program: QualityProgram.search(path: path))
        #expect(quality.vmaf.absence?.contains(words) == true, "\(quality.vmaf)")
        #expect(quality.xpsnr.absence?.contains(words) == true, "\(quality.xpsnr)")
        #expect(quality.psnr.value != nil && quality.ssim.value != nil && quality.frames == 8)
    }

    @Test func theProgramGetsBothPicturesInOne() throws {
        let coded = try CodedClip(.text, 64, 48, pictures: 3, frames: 3)
        let path = try program(
            coded,
            filters: both,
            work: "cat > \(coded.folder)/taken; echo \"$@\" > \(coded.folder)/words"
        )
        _ = try coded.quality(coded.encode(crf: 0), program: QualityProgram.search(path: path))
        let taken = try [UInt8](Data(contentsOf: URL(fileURLWithPath: coded.folder + "/taken")))
        let source = try [UInt8](Data(contentsOf: URL(fileURLWithPath: coded.clip.path)))
        var expected: [UInt8] = []
        for start in stride(from: 0, to: source.count, by: 64 * 48 * 3 / 2) {
            for plane in [0..<3072, 3072..<3840, 3840..<4608] {
                let samples = source[start + plane.lowerBound..<start + plane.upperBound]
                // The stream is lossless: the decoded picture is the source's.
                expected += samples + samples
            }
        }
        #expect(taken == expected)
        let words = try String(contentsOfFile: coded.folder + "/words", encoding: .utf8)
        #expect(words.contains("-video_size 64x96 -framerate 25"))
    }

    @Test func saysThatThereIsNoProgram() throws {
        guard case .missing(let reason) = QualityProgram.search(path: "/nowhere/ffmpeg") else {
            Issue.record("found one that is not there")
            return
        }
        #expect(reason.contains("/nowhere/ffmpeg"))
    }
}
