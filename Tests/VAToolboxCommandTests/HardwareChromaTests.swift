// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// HEVC in 4:2:2, 4:4:4 and 12 bits by a GPU, from the command line to what ffmpeg decodes.
@Suite struct HardwareChromaTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func makeClip(_ format: String, seconds: Double = 0.4) throws {
        try scratch.generate(
            "testsrc2=size=178x102:rate=25:duration=\(seconds),noise=alls=12:allf=t",
            ["-pix_fmt", format, "-strict", "-1", scratch.path("clip.y4m")]
        )
    }

    /// Runs `encode` on the reference driver, which lists what is asked for beyond Main and Main 10.
    private func encode(
        _ options: [String],
        input: [String] = ["clip.y4m"],
        profiles: String = "all",
        settings: [String] = [],
        status: Int32 = 0
    ) throws -> ProgramResult {
        let machine = try Scratch.machine(
            [
                "REFERENCE_DRIVER_LIMITS=hevc=\(profiles)", "REFERENCE_DRIVER_JOURNAL=\(scratch.path("journal"))",
                "VATOOLBOX_SANDBOX_WRITABLE=\(scratch.folder)", "VATOOLBOX_PROOF=on",
                "VATOOLBOX_STATE=\(scratch.path("state"))",
            ] + settings
        )
        let kept = ["--chroma", "source", "--bit-depth", "source", "--json", "--overwrite"]
        let command = [Scratch.vatoolbox, "encode", "-o", "out.mp4"] + input + kept + options
        let result = try scratch.run(machine + command)
        try #require(result.status == status, "\(result.output) \(result.errors)")
        return result
    }

    private func document(_ result: ProgramResult) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    }

    /// The journal's pictures of the context that was made last, in the order in which they are shown.
    private func pictures() throws -> [[String: Any]] {
        let text = try String(contentsOfFile: scratch.path("journal"), encoding: .utf8)
        let entries = try text.split(whereSeparator: \.isNewline).map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(entries.filter { $0["kind"] as? String == "finding" }.isEmpty, "\(text.prefix(4000))")
        let coded = entries.filter { $0["kind"] as? String == "picture" }
        let last = try #require(coded.last)
        func number(_ entry: [String: Any], _ key: String) -> Int { entry[key] as? Int ?? -1 }
        return coded.filter {
            number($0, "process") == number(last, "process") && number($0, "context") == number(last, "context")
        }
        .sorted { number($0, "poc") < number($1, "poc") }
    }

    /// What ffmpeg decodes is the driver's reconstruction bit for bit, and the driver was given the samples of the input.
    @Test(arguments: [
        ("yuv420p12le", "Main 12"), ("yuv422p", "Main 4:2:2 10"), ("yuv422p10le", "Main 4:2:2 10"),
        ("yuv422p12le", "Main 4:2:2 12"), ("yuv444p", "Main 4:4:4"), ("yuv444p10le", "Main 4:4:4 10"),
        ("yuv444p12le", "Main 4:4:4 12"),
    ])
    func everyFormatIsBitExact(format: String, profile: String) throws {
        try makeClip(format)
        let result = try document(encode(["--require-hardware", "--qp", "26"]))
        let encoder = try #require(result["encoder"] as? [String: Any])
        #expect(encoder["profile"] as? String == profile)
        #expect((result["adjustments"] as? [Any])?.isEmpty == true, "\(result["adjustments"] ?? "")")
        let pictures = try pictures()
        #expect(pictures.count == 10)
        let decoded = try scratch.frameHashes("out.mp4")
        #expect(decoded == pictures.map { $0["reconstruction_md5"] as? String })
        #expect(try scratch.frameHashes("clip.y4m") == pictures.map { $0["source_md5"] as? String })
        #expect(try scratch.probe("out.mp4", "v", "stream=pix_fmt").first == format)
    }

    /// YUY2 lies in memory as in the driver's surfaces, whose last blocks go beyond the picture.
    @Test(arguments: [[], ["REFERENCE_DRIVER_LIMITS=hevc=all user-pointer=no"]])
    func packedPicturesAreBitExact(settings: [String]) throws {
        try makeClip("yuv422p")
        let raw = ["-pix_fmt", "yuyv422", "-f", "rawvideo", scratch.path("clip.raw")]
        try scratch.tool(["ffmpeg", "-v", "error", "-i", scratch.path("clip.y4m")] + raw)
        let input = [
            "clip.raw", "--input-format", "rawvideo", "--input-pixel-format", "yuyv422", "--input-size", "178x102",
            "--input-fps", "25",
        ]
        let result = try document(encode(["--require-hardware", "--qp", "26"], input: input, settings: settings))
        #expect((result["adjustments"] as? [Any])?.isEmpty == true, "\(result["adjustments"] ?? "")")
        let pictures = try pictures()
        #expect(try scratch.frameHashes("out.mp4") == pictures.map { $0["reconstruction_md5"] as? String })
        #expect(try scratch.frameHashes("clip.y4m") == pictures.map { $0["source_md5"] as? String })
    }

    /// Pictures of another chroma format and size are converted before they come to the driver.
    @Test(arguments: [("yuv420p", "4:4:4", "yuv444p"), ("yuv444p10le", "4:2:2", "yuv422p10le")])
    func otherPicturesAreConverted(source: String, chroma: String, coded: String) throws {
        try makeClip(source)
        let wanted = ["--chroma", chroma, "--require-hardware", "--qp", "20", "--size", "128x96", "--fit", "stretch"]
        _ = try encode(wanted)
        #expect(try scratch.frameHashes("out.mp4") == pictures().map { $0["reconstruction_md5"] as? String })
        #expect(try scratch.probe("out.mp4", "v", "stream=pix_fmt").first == coded)
        #expect(try scratch.worstPSNR("clip.y4m", "out.mp4", filter: "scale=128:96,format=\(coded)") > 24)
    }

    /// A GPU without the profile is passed over, and why is said.
    @Test func withoutTheProfileTheCPUEncodes() throws {
        try makeClip("yuv422p10le")
        let result = try document(encode(["--qp", "26", "--preset", "ultrafast"], profiles: "main10"))
        let encoder = try #require(result["encoder"] as? [String: Any])
        #expect((encoder["name"] as? String)?.hasPrefix("x265") == true)
        #expect(try scratch.probe("out.mp4", "v", "stream=pix_fmt").first == "yuv422p10le")
        let refused = try encode(["--qp", "26", "--require-hardware"], profiles: "main10", status: 1)
        let failure = refused.output + refused.errors
        #expect(failure.contains("profile-missing") && failure.contains("hevc-main422-10"), "\(failure)")
    }

    /// A GPU that fails in mid-stream is replaced by x265, in the same chroma format, and no frame is lost.
    @Test(arguments: ["yuv422p10le", "yuv444p"]) func failoverKeepsEveryFrame(format: String) throws {
        try makeClip(format, seconds: 2)
        let settings = ["VATOOLBOX_PROOF=off", "REFERENCE_DRIVER_FAULTS=coded:15+=status:0x8000"]
        let result = try document(encode(["--qp", "24", "--preset", "ultrafast"], settings: settings))
        #expect((result["switches"] as? [Any])?.isEmpty == false, "\(result)")
        #expect(try scratch.frameHashes("out.mp4").count == 50)
        #expect(try scratch.probe("out.mp4", "v", "stream=pix_fmt").first == format)
        #expect(try scratch.worstPSNR("clip.y4m", "out.mp4") > 28)
    }
}
