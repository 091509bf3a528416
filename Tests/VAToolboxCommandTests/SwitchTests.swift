// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// What the built command tells of encoders that fail in the middle of a stream.
@Suite struct SwitchTests {
    /// Encodes two seconds on a driver that fails.
    ///
    /// - Parameter faults: As `REFERENCE_DRIVER_FAULTS`; each helper counts anew.
    private func encode(_ faults: String, _ arguments: String..., in scratch: Scratch) throws -> ProgramResult {
        try scratch.makeClip("clip.y4m", seconds: 2, size: "64x64")
        let codec = arguments.contains("--codec") ? [] : ["--codec", "h264"]
        let command = [Scratch.vatoolbox, "encode", "clip.y4m", "-o", "out.mp4"] + codec
        return try scratch.run(try Scratch.machine(["REFERENCE_DRIVER_FAULTS=\(faults)"]) + command + arguments)
    }

    private func expectAll(in scratch: Scratch) throws {
        #expect(try scratch.decodedFrameCount("out.mp4") == 50)
        #expect(try scratch.worstPSNR("clip.y4m", "out.mp4") > 30)
    }

    private func switches(_ result: ProgramResult) throws -> [[String: Any]] {
        let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        return try #require(document?["switches"] as? [[String: Any]])
    }

    /// The thirtieth picture fails, once: the new helper's driver gets no more than twenty-odd.
    @Test func aNewEncoderOnTheSameDeviceIsToldOfInOneLine() throws {
        let scratch = try Scratch()
        let result = try encode("vaEndPicture:30=status:0x18", "--b-frames", "2", in: scratch)
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.errorLines.filter { $0.hasPrefix("vatoolbox: ") }
        #expect(lines.count == 1, "\(result.errors)")
        let line = try #require(lines.first)
        let start = "vatoolbox: warning: a new encoder of vaapi-h264 on /dev/dri/renderD128 takes over at 1."
        #expect(line.hasPrefix(start), "\(line)")
        #expect(line.contains(" s (frame 2") && line.contains(" encoded again: "), "\(line)")
        #expect(line.hasSuffix("(VA_STATUS_ERROR_ENCODING_ERROR) (vaEndPicture returned 24)"), "\(line)")
        #expect(result.errors.contains("\nswitches  1, "), "\(result.errors)")
        try expectAll(in: scratch)
    }

    @Test func programsAreToldWithCallAndStatus() throws {
        let scratch = try Scratch()
        let result = try encode("vaEndPicture:30=status:0x18", "--b-frames", "2", "--json", in: scratch)
        #expect(result.status == 0, "\(result.errors)")
        let change = try #require(try switches(result).first)
        #expect(try switches(result).count == 1)
        let frame = try #require(change["frame"] as? Int)
        #expect((20..<30).contains(frame))
        #expect(abs(try #require(change["time"] as? Double) - Double(frame) / 25) < 1e-6)
        for end in ["from", "to"] {
            let encoder = try #require(change[end] as? [String: Any])
            #expect(encoder["name"] as? String == "vaapi-h264" && encoder["codec"] as? String == "h264")
            #expect(encoder["device"] as? String == "/dev/dri/renderD128")
        }
        #expect(change["reason"] as? String == "failure")
        #expect(try #require(change["repeatedFrames"] as? Int) > 0)
        let failures = try #require(change["failures"] as? [[String: Any]])
        #expect(failures.count == 1)
        let failure = try #require(failures.first)
        #expect(failure["stage"] as? String == "work" && failure["code"] as? String == "frame-failed")
        #expect(failure["call"] as? String == "vaEndPicture" && failure["callStatus"] as? Int == 0x18)
        #expect((failure["encoder"] as? [String: Any])?["device"] as? String == "/dev/dri/renderD128")
        try expectAll(in: scratch)
    }

    /// With --single-encoder the output is encoded again from the beginning: it is what the CPU alone gives.
    @Test(arguments: ["out.mp4", "out.m3u8"])
    func singleEncoderStartsAgain(name: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 2, size: "64x64")
        let common = ["clip.y4m", "--codec", "h264", "--threads", "1", "--asm", "sse2", "--keyframe-interval", "25"]
        let machine = try Scratch.machine(["REFERENCE_DRIVER_FAULTS=\(Self.lostForGood)"])
        let options = ["-o", name, "--single-encoder", "--isolation", "in-process", "--json"]
        let result = try scratch.run(machine + [Scratch.vatoolbox, "encode"] + common + options)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("software, from the beginning"), "\(result.output)")
        #expect(result.output.contains("\"name\": \"x264") && result.output.contains("\"switches\": []"))
        #expect(!scratch.names.contains { $0.hasPrefix(".vatoolbox-") }, "\(scratch.names)")
        let file = name == "out.mp4" ? name : "out/video/index.m3u8"
        try scratch.encode(common + ["-o", "cpu.mp4", "--device", "software"])
        #expect(try scratch.frameHashes(file) == scratch.frameHashes("cpu.mp4"))
        if name == "out.m3u8" { #expect(scratch.text(file).components(separatedBy: "#EXT-X-MAP").count == 2) }
        let refused = try scratch.run(
            [Scratch.vatoolbox, "encode", "-", "-o", "b.mp4", "--single-encoder"],
            input: scratch.path("clip.y4m")
        )
        #expect(refused.status == 2 && refused.errors.contains("can be read again: given -"), "\(refused.errors)")
    }

    /// In this process the driver's occurrences go on: after the thirtieth picture no context can be made any more.
    private static let lostForGood = "vaEndPicture:30=status:0x18;vaCreateContext:2+=status:0x12"

    @Test func theCPUIsToldOfInOneLine() throws {
        let scratch = try Scratch()
        let result = try encode(Self.lostForGood, "--isolation", "in-process", in: scratch)
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.errorLines.filter { $0.hasPrefix("vatoolbox: ") }
        #expect(lines.count == 1, "\(result.errors)")
        let line = try #require(lines.first)
        let start = "vatoolbox: warning: x264 takes over from vaapi-h264 on /dev/dri/renderD128 at 1."
        #expect(line.hasPrefix(start), "\(line)")
        #expect(line.contains("(vaEndPicture returned 24); then "), "\(line)")
        #expect(line.contains("(vaCreateContext returned 18)"), "\(line)")
        #expect(result.errors.contains("encoder   x264 core"))
        try expectAll(in: scratch)
    }

    /// A stream that a GPU has begun as HEVC goes on as HEVC, though `auto` would be H.264 on this CPU.
    @Test(arguments: ["auto", "hevc"]) func hevcGoesOnInSoftware(codec: String) throws {
        let scratch = try Scratch()
        let result = try encode(Self.lostForGood, "--isolation", "in-process", "--codec", codec, in: scratch)
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.errorLines.filter { $0.hasPrefix("vatoolbox: ") }
        let start = "vatoolbox: warning: x265 takes over from vaapi-hevc on /dev/dri/renderD128 at 1."
        #expect(lines.contains { $0.hasPrefix(start) }, "\(result.errors)")
        #expect(result.errors.contains("encoder   x265 "), "\(result.errors)")
        try expectAll(in: scratch)
        #expect(try scratch.probe("out.mp4", "v", "stream=codec_tag_string") == ["hev1"])
    }

    @Test func programsAreToldOfTheCPUWithEveryFailure() throws {
        let scratch = try Scratch()
        let result = try encode(Self.lostForGood, "--isolation", "in-process", "--json", in: scratch)
        #expect(result.status == 0, "\(result.errors)")
        let change = try #require(try switches(result).first)
        #expect(try switches(result).count == 1)
        #expect((change["from"] as? [String: Any])?["name"] as? String == "vaapi-h264")
        let to = try #require(change["to"] as? [String: Any])
        #expect(to["name"] as? String == "x264" && to["device"] is NSNull)
        let failures = try #require(change["failures"] as? [[String: Any]])
        #expect(failures.map { $0["stage"] as? String } == ["work"] + failures.dropFirst().map { _ in "creation" })
        #expect(failures.count >= 2)
        #expect(failures.last?["call"] as? String == "vaCreateContext")
        try expectAll(in: scratch)
    }

    /// The driver takes no picture after the thirtieth, and nothing else may be used.
    @Test(arguments: [false, true]) func aJobThatFailsTellsOfTheSwitchesBefore(asDocument: Bool) throws {
        let scratch = try Scratch()
        let result = try encode(
            "vaEndPicture:30=status:0x18;vaEndPicture:40+=status:0x18",
            "--isolation",
            "in-process",
            "--require-hardware",
            asDocument ? "--json" : "--verbose",
            in: scratch
        )
        #expect(result.status == 1, "\(result.errors)")
        #expect(!scratch.names.contains("out.mp4"))
        #expect(result.errors.contains("vatoolbox: error: "), "\(result.errors)")
        #expect(result.errors.contains(" takes over at "), "\(result.errors)")
        if asDocument { #expect(try switches(result).count >= 1) }
    }
}
