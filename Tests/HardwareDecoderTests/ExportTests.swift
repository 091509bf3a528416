// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import TestSupport
import Testing

/// Decoded pictures as DMA-BUFs of the reference driver, which are read without it.
@Suite struct ExportTests {
    private static let x265 = "-x265-params log-level=none:bframes=3"
    /// Wider than a tile.
    private static let wide = "testsrc2=size=608x112:rate=25"

    private func run(
        _ stream: CodedStream,
        limits: String = "",
        persona: String = "intel",
        faults: String = ""
    ) throws -> DriverRig.Outcome {
        let scratch = try ScratchFolder()
        try Data(stream.bytes).write(to: URL(fileURLWithPath: scratch.path("stream")))
        return try DriverRig.run(
            "DecoderScenarios",
            [stream.codec.rawValue, "export", scratch.path("stream")],
            persona: persona,
            faults: faults,
            limits: "decode=h264,hevc " + limits
        )
    }

    /// What honest drivers state; those of AMD do not lend their surfaces to the CPU.
    @Test(
        arguments: [
            ("", "1 objects, modifier 0x0"), ("export=two-objects", "2 objects, modifier 0x0"),
            ("export=tiled", "1 objects, modifier 0x100000000000001"),
        ],
        ["intel", "amd"]
    )
    func everyPictureIsInItsMemory(driver: (limits: String, memory: String), persona: String) throws {
        let streams = [
            try CodedStream(.h264, source: Self.wide, frames: 8, "-x264-params bframes=3"),
            try CodedStream(
                .hevc,
                source: "testsrc2=size=582x102:rate=25",
                frames: 8,
                "-pix_fmt yuv420p10le " + Self.x265
            ),
        ]
        for stream in streams {
            let outcome = try run(stream, limits: driver.limits, persona: persona)
            #expect(outcome.status == 0 && outcome.lines.last == "done", "\(outcome.lines)")
            #expect(outcome.lines.contains("exported 8 of 8: \(driver.memory)"), "\(outcome.lines)")
            #expect(outcome.findings.allSatisfy { $0 == "surface-attribute-flags" }, "\(outcome.findings)")
            #expect(outcome.unended == 0)
            // The test picture was read on a display of its own, once.
            #expect(outcome.journal.count { $0.kind == "initialise" } == 2)
        }
    }

    /// The size of the pictures changes, and with it their layout.
    @Test func eachKindOfSurfaceIsProved() throws {
        let small = try CodedStream(.h264, frames: 4, "-x264-params bframes=0")
        let large = try CodedStream(.h264, source: Self.wide, frames: 4, "-x264-params bframes=0")
        let outcome = try run(try small + large)
        #expect(outcome.lines.contains("exported 8 of 8: 1 objects, modifier 0x0"), "\(outcome.lines)")
        #expect(outcome.journal.count { $0.kind == "initialise" } == 3)
    }

    /// What a driver states wrongly, and what is said of it.
    private static let lies: [(driver: String, reason: String)] = [
        ("export=tiled-as-linear", "shows another picture after its import: given row 0 of plane 0 differs"),
        ("export=linear-as-tiled", "cannot be relied on: "),
        ("export=remembered", "memory that is stated to be linear shows another picture to the CPU"),
        ("export=wrong-offset", "shows another picture after its import: given row 0 of plane 1 differs"),
        ("export=wrong-pitch", "shows another picture after its import: given row 1 of plane 0 differs"),
        ("export=wrong-decoded", "exports a decoded picture with another layout than a test picture"),
        ("export=compressed", "shows another picture after its import: given row 0 of plane 0 differs"),
        ("export=implicit", "without one format modifier for all of it"),
        ("export=two-modifiers", "without one format modifier for all of it"),
    ]

    @Test(arguments: lies.indices, ["intel", "amd"])
    func lyingDriversExportNothing(index: Int, persona: String) throws {
        let lie = Self.lies[index]
        let stream = try CodedStream(.hevc, source: Self.wide, frames: 6, Self.x265)
        let outcome = try run(stream, limits: lie.driver, persona: persona)
        #expect(outcome.status == 0 && outcome.lines.contains("exported 0 of 6: "), "\(outcome.lines)")
        let refusals = outcome.lines.filter { $0.hasPrefix("refused ") }
        #expect(refusals.count == 1 && refusals[0].hasPrefix("refused unsupported: "), "\(refusals)")
        #expect(refusals.first?.contains(lie.reason) == true, "\(refusals)")
        #expect(outcome.unended == 0)
    }

    /// Whatever fails before the proof is complete, nothing is exported, and the test is not repeated.
    @Test(arguments: [
        ("vaExportSurfaceHandle:1=status:0x14", "vaExportSurfaceHandle returned 20"),
        ("vaInitialize:2=status:0x1", "vaInitialize returned 1"),
        ("vaGetImage:1=status:0x1", "vaGetImage"), ("vaPutImage:1=status:0x2", "vaPutImage returned 2"),
        ("vaCreateImage:1=status:0x2", "vaCreateImage returned 2"),
    ])
    func failedTestsExportNothing(fault: String, call: String) throws {
        let outcome = try run(
            try CodedStream(.hevc, source: Self.wide, frames: 6, Self.x265),
            persona: "amd",
            faults: fault
        )
        #expect(outcome.status == 0 && outcome.lines.contains("exported 0 of 6: "), "\(outcome.lines)")
        let refusals = outcome.lines.filter { $0.hasPrefix("refused ") }
        #expect(refusals.count == 1 && refusals[0].contains("the driver's DMA-BUFs cannot be relied on"), "\(refusals)")
        #expect(refusals.first?.contains(call) == true, "\(refusals)")
        #expect(outcome.unended == 0)
    }

    /// After the proof, a failure is that of one picture.
    @Test func aFailedExportIsThatOfItsPicture() throws {
        let stream = try CodedStream(.hevc, source: Self.wide, frames: 6, Self.x265)
        let outcome = try run(stream, faults: "vaExportSurfaceHandle:4=status:0x1")
        #expect(outcome.lines.contains("exported 5 of 6: 1 objects, modifier 0x0"), "\(outcome.lines)")
        let refusals = outcome.lines.filter { $0.hasPrefix("refused ") }
        #expect(refusals.count == 1 && refusals[0].hasPrefix("refused frame-failed: "), "\(refusals)")
    }

    /// The drivers of the distribution, on devices that execute nothing: what the CPU writes to surfaces is all that is
    /// there. Of AMD's, nothing is expected but an answer.
    @Test(arguments: [
        ("kbl", "modifier 0x100000000000002"), ("tgl", "modifier 0x100000000000002"), ("polaris10", ""), ("raven", ""),
    ])
    func vendorDriversOnSimulatedDevices(chip: String, memory: String) throws {
        let stream = try CodedStream(.h264, source: Self.wide, frames: 4, "-x264-params bframes=0")
        let scratch = try ScratchFolder()
        try Data(stream.bytes).write(to: URL(fileURLWithPath: scratch.path("stream")))
        let outcome = try DriverRig.run("DecoderScenarios", ["h264", "export", scratch.path("stream")], chip: chip)
        #expect(outcome.status == 0 && outcome.lines.last == "done", "\(outcome.lines)")
        let exported = outcome.lines.first { $0.hasPrefix("exported ") }
        #expect(exported?.hasSuffix(memory) == true, "\(outcome.lines)")
        let refusals = outcome.lines.filter { $0.hasPrefix("refused ") }
        #expect(refusals.allSatisfy { $0.hasPrefix("refused unsupported: ") }, "\(refusals)")
    }
}
