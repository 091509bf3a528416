// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import EncodingBenchmark

/// PSNR and SSIM of streams, against ffmpeg's filters `psnr` and `ssim`.
@Suite struct StreamQualityTests {
    struct Case: CustomTestStringConvertible {
        var content: ClipContent
        var width: Int
        var height: Int
        var depth = 8
        var codec = "libx264"
        var crf = 30
        var pictures = 8
        var frames = 8
        var testDescription: String { "\(content) \(width)x\(height) \(depth) bits \(codec) \(crf)" }
    }

    private static let cases = [
        Case(content: .mixed, width: 320, height: 180, pictures: 12, frames: 30),
        Case(content: .noise, width: 194, height: 110, crf: 40),
        Case(content: .gradient, width: 256, height: 144, crf: 20),
        Case(content: .text, width: 258, height: 130, crf: 45),
        // Neither side is a multiple of a block: 1920x1088 are coded.
        Case(content: .chart, width: 1918, height: 1078, crf: 34, pictures: 3, frames: 5),
        Case(content: .mixed, width: 198, height: 102, depth: 10),
        Case(content: .mixed, width: 1918, height: 1078, depth: 10, crf: 36, pictures: 2, frames: 3),
        Case(content: .chart, width: 226, height: 134, depth: 10, codec: "libx265", crf: 34),
        Case(content: .text, width: 226, height: 134, codec: "libx265", crf: 34),
    ]

    @Test(arguments: cases)
    func agreesWithFFmpeg(given: Case) throws {
        let coded = try CodedClip(
            given.content,
            given.width,
            given.height,
            depth: given.depth,
            pictures: given.pictures,
            frames: given.frames
        )
        let stream = try coded.encode(given.codec, crf: given.crf)
        let quality = try coded.quality(stream)
        #expect(quality.frames == given.frames)

        let psnr = try #require(quality.psnr.value)
        let ratios = try coded.judge(stream, "psnr")
        for (key, value) in [(" y:", psnr.y), (" u:", psnr.u), (" v:", psnr.v), ("average:", psnr.all)] {
            let expected = try CodedClip.number(ratios, after: key)
            #expect(abs(value - expected) < 0.001, "\(key) \(value), ffmpeg has \(expected)")
        }
        let ssim = try #require(quality.ssim.value)
        let similarities = try coded.judge(stream, "ssim")
        for (key, value) in [(" Y:", ssim.y), (" U:", ssim.u), (" V:", ssim.v), ("All:", ssim.all)] {
            let expected = try CodedClip.number(similarities, after: key)
            #expect(abs(value - expected) < 0.00001, "\(key) \(value), ffmpeg has \(expected)")
        }
    }

    @Test func losslessStreamsAreIdentical() throws {
        let coded = try CodedClip()
        let quality = try coded.quality(coded.encode(crf: 0))
        #expect(quality.psnr.absence?.contains("infinite") == true)
        #expect(quality.ssim.value == .init(y: 1, u: 1, v: 1, all: 1))
        #expect(quality.vmaf.absence == "none is wanted" && quality.xpsnr.absence == "none is wanted")
    }

    /// What the error says with which a stream is refused.
    private func refusal(_ coded: CodedClip, _ stream: String) throws -> String {
        let error = #expect(throws: MediaError.self) { try coded.quality(stream) }
        #expect(error?.code == .malformedData)
        return try #require(error).description
    }

    @Test(arguments: [
        ("colorspace=bt709:color_primaries=bt709", "primaries 1, transfer 2, matrix 1"),
        ("colorspace=smpte170m:color_primaries=bt709:color_trc=bt709:range=tv", "primaries 1, transfer 1, matrix 6"),
        (
            "colorspace=bt709:color_primaries=bt709:color_trc=bt709:range=pc",
            "primaries 1, transfer 1, matrix 1, full range"
        ),
        ("colorspace=bt709:color_primaries=bt2020:color_trc=bt709:range=tv", "primaries 9, transfer 1, matrix 1"),
    ])
    func refusesAnotherColour(color: String, words: String) throws {
        let coded = try CodedClip(frames: 2)
        let text = try refusal(coded, coded.encode(color: color))
        #expect(text.contains("colour") && text.contains("given \(words)"))
        #expect(text.contains("allowed primaries 1, transfer 1, matrix 1, limited range"))
    }

    @Test func refusesAnotherSizeOrDepth() throws {
        let coded = try CodedClip(frames: 2)
        let small = try refusal(coded, coded.encode(filter: "crop=190:108:0:0"))
        #expect(small.contains("given 190x108 with 8 bits, allowed 192x108 with 8 bits"))
        let deep = try refusal(coded, coded.encode(format: "yuv420p10le", name: "deep.mp4"))
        #expect(deep.contains("given 192x108 with 10 bits, allowed 192x108 with 8 bits"))
    }

    @Test(arguments: [
        ("select=not(eq(n\\,3))", "the first missing one is 3: given 7 frames, allowed 8"),
        ("trim=end_frame=5", "the first missing one is 5: given 5 frames, allowed 8"),
        ("tpad=stop=1", "frame 8 was decoded but was not encoded"),
    ])
    func refusesAnotherNumberOfFrames(filter: String, words: String) throws {
        let coded = try CodedClip()
        let text = try refusal(coded, coded.encode(filter: filter, options: ["-fps_mode", "passthrough"]))
        #expect(text.contains(words))
    }

    @Test func framesThatWereDroppedAreNotMissed() throws {
        let coded = try CodedClip()
        let stream = try coded.encode(
            filter: "select=not(eq(n\\,3)+eq(n\\,7))",
            options: ["-fps_mode", "passthrough"]
        )
        let kept = (0..<8).map { $0 != 3 && $0 != 7 }
        let quality = try coded.quality(stream, codedFrames: kept)
        let whole = try coded.quality(coded.encode(name: "whole.mp4"))
        #expect(quality.frames == 6)
        // A frame that is paired with the one before or after has half of that.
        #expect(abs(try #require(quality.psnr.value).all - #require(whole.psnr.value).all) < 2)
        let error = #expect(throws: MediaError.self) {
            try coded.quality(stream, codedFrames: (0..<8).map { $0 != 2 && $0 != 7 })
        }
        #expect(error?.message == "frame 2 was decoded but was not encoded")
    }

    @Test func refusesFramesAtOtherTimes() throws {
        let coded = try CodedClip()
        let text = try refusal(coded, coded.encode(rate: "24"))
        #expect(text.contains("does not match any source frame") && text.contains("multiples of 1/25 s"))
    }

    @Test func timesOfCoarseContainersArePaired() throws {
        let coded = try CodedClip(pictures: 4, frames: 40, rate: Rational(30000, 1001))
        let quality = try coded.quality(coded.encode(name: "coded.mkv"))
        #expect(quality.frames == 40 && (quality.psnr.value?.y ?? 0) > 20)
    }

    @Test func refusesDamage() throws {
        let coded = try CodedClip(pictures: 8, frames: 24)
        let path = try coded.encode(crf: 20)
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        for place in data.count / 2..<data.count / 2 + 400 { data[place] ^= 0x5A }
        try data.write(to: URL(fileURLWithPath: path))
        #expect(try refusal(coded, path).contains("damaged"))
    }
}
