// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Testing

/// What streams of HEVC say of themselves, whichever encoder makes them: level and tier, transfer characteristics.
@Suite struct HEVCDescriptionTests {
    enum Backend: CaseIterable {
        case cpu
        case gpu
    }

    /// Encodes with x265, or with the reference driver.
    private func encode(_ scratch: Scratch, _ backend: Backend, _ arguments: [String]) throws -> ProgramResult {
        let environment =
            switch backend {
            case .cpu: ["env"]
            case .gpu: try Scratch.machine()
            }
        let device = backend == .cpu ? "software" : "/dev/dri/renderD128"
        return try scratch.run(
            environment + [Scratch.vatoolbox, "encode"] + arguments + ["--device", device, "--preset", "ultrafast"]
        )
    }

    /// Level and tier of each parameter set that tells them.
    private func levels(_ scratch: Scratch, _ name: String) throws -> [String] {
        var found: [String] = []
        let stream = [UInt8](try scratch.data(name))
        for range in try NALUnitFraming.annexB.nalUnits(in: stream) {
            let unit = stream[range]
            let header = try HEVCNALUnitHeader(nalUnit: unit)
            let general: HEVCProfileTierLevel
            switch header.nalUnitType {
            case .videoParameterSet: general = try HEVCVideoParameterSet(nalUnit: unit).profileTierLevel
            case .sequenceParameterSet: general = try HEVCSequenceParameterSet(nalUnit: unit).profileTierLevel
            default: continue
            }
            found.append("\(general.generalLevelIdc) \(general.general.tierFlag)")
        }
        return found
    }

    @Test(arguments: Backend.allCases, [("4", 120, false), ("5.1-high", 153, true)])
    func theLevelIsTheOneThatWasAskedFor(backend: Backend, level: (name: String, number: Int, isHigh: Bool)) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv")
        // The Main tier holds these rates, and x265 says so, in the stream and in a note.
        let isHigh = level.isHigh && backend == .gpu
        for output in ["out.mp4", "out.h265"] {
            let rate = ["--codec", "hevc", "--level", level.name, "--bitrate", "300k"]
            let result = try encode(scratch, backend, ["clip.mkv", "-o", output] + rate)
            #expect(result.status == 0, "\(result)")
            let isReported = result.errors.contains("note: level \(level.name) becomes 5.1")
            #expect(isReported == (level.isHigh != isHigh), "\(result)")
            #expect(try scratch.probe(output, "v", "stream=level") == ["\(level.number)"])
        }
        let sets = try Set(levels(scratch, "out.h265"))
        #expect(sets == ["\(level.number) \(isHigh)"])
        // hvcC: configurationVersion, then space, tier and profile; the level stands after flags of 10 bytes.
        let file = try scratch.data("out.mp4")
        let box = try #require(file.range(of: Data("hvcC".utf8)))
        let record = [UInt8](file[box.upperBound..<file.index(box.upperBound, offsetBy: 13)])
        #expect(record[0] == 1 && (record[1] & 0x20 != 0) == isHigh && Int(record[12]) == level.number)
    }

    @Test(arguments: Backend.allCases) func aLevelThatIsTooSmallIsRefused(backend: Backend) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv")
        let rows: [([String], [String])] = [
            (["--size", "1920x1080", "--level", "3"], ["2073600 luma samples", "level 4 or higher"]),
            (["--level", "3", "--bitrate", "9M"], ["bit/s, more than 6000000", "or higher"]),
            (["--level", "1b"], ["1b", "6.2-high"]),
        ]
        for (arguments, words) in rows {
            let result = try encode(scratch, backend, ["clip.mkv", "-o", "out.h265"] + arguments)
            #expect(result.status == 2 || result.status == 1, "\(result)")
            for word in words { #expect(result.errors.contains(word), "\(word): \(result.errors)") }
            #expect(!scratch.names.contains("out.h265"))
        }
    }

    /// A level that both codecs have leaves the codec open.
    @Test func aLevelOfBothCodecsLeavesTheChoice() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv")
        for (backend, codec, number) in [(Backend.cpu, "h264", "40"), (.gpu, "hevc", "120")] {
            let result = try encode(scratch, backend, ["clip.mkv", "-o", "\(codec).mp4", "--level", "4"])
            #expect(result.status == 0, "\(result)")
            #expect(try scratch.probe("\(codec).mp4", "v", "stream=codec_name") == [codec])
            #expect(try scratch.probe("\(codec).mp4", "v", "stream=level") == [number])
        }
    }

    /// HLG is told by the transfer characteristics of the stream itself, also where the source told it by the message for
    /// receivers of SDR (HEVC D.3.38).
    @Test(arguments: Backend.allCases, ["transfer=arib-std-b67", "transfer=bt2020-10:atc-sei=18"])
    func hlgStaysHLG(backend: Backend, transfer: String) throws {
        let scratch = try Scratch()
        let settings = "log-level=none:colorprim=bt2020:colormatrix=bt2020nc:range=limited:\(transfer)"
        try scratch.generate(
            "testsrc2=size=192x128:rate=25:duration=0.4",
            [
                "-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", settings,
                scratch.path("hlg.hevc"),
            ]
        )
        let result = try encode(scratch, backend, ["hlg.hevc", "-o", "out.mp4", "--codec", "hevc"])
        #expect(result.status == 0, "\(result)")
        let expected = [
            "profile": "Main 10", "pix_fmt": "yuv420p10le", "color_range": "tv", "color_space": "bt2020nc",
            "color_transfer": "arib-std-b67", "color_primaries": "bt2020",
        ]
        for (name, value) in expected { #expect(try scratch.probe("out.mp4", "v", "stream=\(name)") == [value]) }
        #expect(try scratch.decodedFrameCount("out.mp4") == 10)
    }
}
