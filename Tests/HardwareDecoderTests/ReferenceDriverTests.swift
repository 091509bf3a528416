// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import TestSupport
import Testing

/// Whether the reference driver of this tree decodes.
private let decodes = (try? DriverRig.text(at: "Tests/Drivers/decoding/README.md")) != nil

/// Streams on the reference driver.
@Suite(.enabled(if: decodes, "the reference driver does not decode"))
struct ReferenceDriverTests {
    private static let x264 = "-x264-params bframes=5:b-adapt=0:b-pyramid=normal:keyint=16:scenecut=0"
    private static let x265 = "-x265-params log-level=none:bframes=5:b-adapt=0:keyint=16:scenecut=0"
    private static let cropped = "testsrc2=size=182x102:rate=25"

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let format: String
        let make: @Sendable () throws -> CodedStream

        init(_ name: String, _ format: String, _ make: @escaping @Sendable () throws -> CodedStream) {
            (testDescription, self.format, self.make) = (name, format, make)
        }
    }

    private static let cases = [
        Case("H.264", "nv12 192x112") { try CodedStream(.h264, x264) },
        Case("H.264 Baseline", "nv12 192x112") { try CodedStream(.h264, "-profile:v baseline") },
        Case("H.264 slices", "nv12 192x112") { try CodedStream(.h264, x264 + ":slices=4") },
        Case("H.264 MBAFF", "nv12 192x112") { try CodedStream(.h264, "-flags +ildct+ilme " + x264 + ":tff=1") },
        Case("H.264 cropped", "nv12 182x102") { try CodedStream(.h264, source: cropped, x264) },
        Case("H.264 cropped on all sides", "nv12 174x102") { try CodedStream(.h264, x264 + ":crop-rect=8,4,10,6") },
        Case("H.264 of two sizes", "nv12 182x102, nv12 192x112") {
            try CodedStream(.h264, x264) + CodedStream(.h264, source: cropped, x264)
        },
        Case("HEVC", "nv12 192x112") { try CodedStream(.hevc, x265) },
        Case("HEVC 10 bits, cropped", "p010 182x102") {
            try CodedStream(.hevc, source: cropped, "-pix_fmt yuv420p10le " + x265)
        },
        Case("HEVC of two bit depths", "nv12 192x112, p010 192x112") {
            try CodedStream(.hevc, x265) + CodedStream(.hevc, "-pix_fmt yuv420p10le " + x265)
        },
    ]

    private func run(
        _ stream: CodedStream,
        faults: String = "",
        limits: String = "decode=h264,hevc",
        words: [String] = []
    ) throws -> DriverRig.Outcome {
        let scratch = try ScratchFolder()
        try Data(stream.bytes).write(to: URL(fileURLWithPath: scratch.path("stream")))
        return try DriverRig.run(
            "DecoderScenarios",
            [stream.codec.rawValue] + words + [scratch.path("stream")],
            faults: faults,
            limits: limits
        )
    }

    @Test(arguments: cases) func picturesAreThoseOfTheProcessor(stream: Case) throws {
        let coded = try stream.make()
        let outcome = try run(coded)
        let count = coded.samples.count
        #expect(outcome.status == 0, "\(outcome.lines)")
        #expect(outcome.lines.contains("order equal"))
        #expect(outcome.lines.contains("equal \(count) of \(count): \(stream.format)"), "\(outcome.lines)")
        // libavutil gives no flags with the attributes of surfaces.
        #expect(outcome.findings.allSatisfy { $0 == "surface-attribute-flags" }, "\(outcome.findings)")
        #expect(outcome.unended == 0)
        // No surface is created before there is a picture for it.
        let contexts = outcome.journal.filter { $0.kind == "context" }
        #expect(!contexts.isEmpty && contexts.allSatisfy { $0.values["targets"] == "0" })
    }

    @Test(arguments: [
        (VideoCodec.h264, "-x264-params bframes=0:slices=2"), (.hevc, "-x265-params log-level=none:bframes=0"),
    ])
    func nothingIsHeldBackWithoutReordering(codec: VideoCodec, options: String) throws {
        let outcome = try run(try CodedStream(codec, options), words: ["prompt"])
        #expect(outcome.status == 0 && outcome.lines.contains("equal 30 of 30: nv12 192x112"), "\(outcome.lines)")
    }

    @Test(arguments: [
        ("vaInitialize:1=status:0x1", "unavailable", "vaInitialize returned 1"),
        ("vaCreateConfig:1=status:0xc", "creation-failed", "vaCreateConfig returned 12"),
        ("vaCreateContext:1=status:0x2", "creation-failed", "vaCreateContext returned 2"),
        ("vaCreateSurfaces:1=status:0x2", "creation-failed", "vaCreateSurfaces returned 2"),
        ("vaBeginPicture:3=status:0x1", "frame-failed", "vaBeginPicture returned 1"),
        ("vaEndPicture:5=device-lost", "frame-failed", "vaEndPicture returned 24"),
        ("vaSyncSurface:4=status:0x1", "frame-failed", "vaSyncSurface returned 1"),
    ])
    func failuresOfTheDriverAreNamed(fault: String, code: String, call: String) throws {
        let outcome = try run(try CodedStream(.hevc, frames: 12, Self.x265), faults: fault)
        let line = try #require(outcome.lines.last)
        #expect(line.hasPrefix("error \(code): ") && line.contains(call), "\(line)")
    }

    /// A driver without a copy lends the surface, what it does not release changes no picture, and damage that it reports is
    /// no failure.
    @Test(arguments: [
        "vaGetImage:3=status:0x14", "vaCreateImage:1=status:0x16", "vaDestroyBuffer:7=status:0x1",
        "decoded:5=status:0x17",
    ])
    func decodingContinues(fault: String) throws {
        let outcome = try run(try CodedStream(.hevc, frames: 12, Self.x265), faults: fault)
        #expect(outcome.status == 0 && outcome.lines.contains { $0.hasPrefix("equal 12 of 12") }, "\(outcome.lines)")
        #expect(outcome.lines.contains { $0.hasPrefix("damaged 4:") } == fault.hasPrefix("decoded"))
    }

    @Test(arguments: [
        ("-pix_fmt yuv420p10le", "decode=h264,hevc", "decodes no 4:2:0 of 10 bits", "110, yuv420, 10 bits"),
        ("-pix_fmt yuv422p", "decode=h264,hevc", "decodes no 4:2:2 of 8 bits in H.264", "122, yuv422, 8 bits"),
        ("", "decode=hevc", "decodes no H.264 High", "100, yuv420, 8 bits"),
        ("", "decode=h264 size=160x160", "the driver cannot decode this stream", "100, yuv420, 8 bits"),
    ])
    func refusedStreamsAreNamed(options: String, limits: String, reason: String, given: String) throws {
        let outcome = try run(try CodedStream(.h264, frames: 2, options), limits: limits)
        let line = try #require(outcome.lines.last)
        #expect(line.hasPrefix("error unsupported: ") && line.contains(reason), "\(line)")
        #expect(line.contains("given h264 profile \(given), 192x112"), "\(line)")
    }
}
