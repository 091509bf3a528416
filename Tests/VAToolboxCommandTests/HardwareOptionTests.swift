// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// What becomes of options on a GPU that cannot have them as they are: it is said in which way, and why.
@Suite struct HardwareOptionTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 0.4, size: "640x360")
    }

    /// Encodes the clip of ten frames, 40x23 macroblocks and 10x6 blocks of 64x64.
    ///
    /// - Returns: Its adjustments, `PROPERTY: REQUESTED -> USED, REASON`.
    private func adjustments(_ codec: String, _ options: [String], limits: String) throws -> [String] {
        let machine = try Scratch.machine(["REFERENCE_DRIVER_LIMITS=\(limits)"])
        let command = [Scratch.vatoolbox, "encode", "clip.y4m", "-o", "out.mp4", "--json", "--overwrite"]
        let wanted = ["--codec", codec, "--require-hardware", "--qp", "30"]
        let result = try scratch.run(machine + command + wanted + options)
        try #require(result.status == 0, "\(result.errors)")
        #expect(try scratch.decodedFrameCount("out.mp4") == 10)
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        return try #require(document?["adjustments"] as? [[String: String]]).map { each in
            "\(each["property"] ?? ""): \(each["requested"] ?? "") -> \(each["used"] ?? ""), \(each["reason"] ?? "")"
        }
    }

    /// Options for the other kind of encoder are not passed over in silence.
    @Test func optionsOfOtherEncodersAreNamed() throws {
        let command = [Scratch.vatoolbox, "encode", "clip.y4m", "-o", "out.mp4", "--codec", "h264", "--overwrite"]
        let options = ["--preset", "fast", "--tune", "film", "--quality-level", "4", "--async-depth", "2"]
        let machine = try Scratch.machine([])
        let hardware = try scratch.run(machine + command + options + ["--require-hardware"])
        #expect(hardware.status == 0)
        #expect(hardware.errors.contains("note: --preset, --tune: no effect on a GPU encoder"))
        let software = try scratch.run(command + options + ["--device", "software"])
        #expect(software.status == 0)
        #expect(software.errors.contains("note: --quality-level, --async-depth: no effect on a software encoder"))
        let plain = try scratch.run(command + ["--preset", "fast", "--device", "software"])
        #expect(plain.status == 0 && !plain.errors.contains("note: "), "\(plain.errors)")
    }

    /// The limit that holds is the one that is named: the level's, the driver's, or the picture's.
    @Test(arguments: [
        ("hevc", "64", "3", "", "64 -> 30, level 3 allows no more for this size and frame rate"),
        // Table A-4: a slice for each 22 of the first picture's 920 macroblocks.
        ("h264", "200", "3", "", "200 -> 41, level 3 allows no more for this size and frame rate"),
        ("hevc", "64", "", "slices=12", "64 -> 12, the driver divides pictures into at most 12 slices"),
        ("h264", "64", "3", "slices=12", "64 -> 12, the driver divides pictures into at most 12 slices"),
        ("hevc", "64", "", "", "64 -> 60, the picture has only that many blocks"),
        // Rows only: VA_ENC_SLICE_STRUCTURE_ARBITRARY_ROWS.
        ("hevc", "64", "3", "slice-structures=0x10", "64 -> 6, the picture has only that many rows of blocks"),
        ("h264", "64", "3", "slice-structures=0x10", "64 -> 23, the picture has only that many rows of blocks"),
        ("h264", "4", "", "slices=1", "4 -> 1, the driver does not support multiple slices"),
    ])
    func slicesAreAsManyAsThereMayBe(codec: String, asked: String, level: String, limits: String, told: String) throws {
        let options = ["--slices", asked] + (level.isEmpty ? [] : ["--level", level])
        #expect(try adjustments(codec, options, limits: limits) == ["slices: \(told)"])
    }

    /// Without the layers above it each layer has half of the rate: that takes one B-frame in two layers, three in three,
    /// or none.
    @Test(arguments: ["h264", "hevc"])
    func bFramesFillTemporalLayers(codec: String) throws {
        let told = { (change: String, layers: Int, filling: Int) in
            "B-frames: \(change), \(layers) temporal layers, each of which doubles the rate, have \(filling) in a row or none"
        }
        for (layers, asked, expected) in [
            (3, 2, [told("2 -> 0", 3, 3)]), (3, 3, []), (3, 7, [told("7 -> 3", 3, 3)]), (2, 1, []),
            (2, 2, [told("2 -> 1", 2, 1)]),
        ] {
            let options = ["--temporal-layers", "\(layers)", "--b-frames", "\(asked)"]
            #expect(try adjustments(codec, options, limits: "") == expected, "\(options)")
        }
    }
}
