// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

/// Where `vatoolbox encode` decodes, on a GPU that is not there: what comes out is the same, and what was used is told.
@Suite struct EncodeDecoderTests {
    /// What came of an encode.
    private struct Encode {
        let document: [String: Any]
        let result: ProgramResult
        /// The hashes of the output's pictures.
        var pictures: [String] = []

        private func part(_ key: String) -> [String: Any] { document[key] as? [String: Any] ?? [:] }
        var device: String? { part("decoder")["device"] as? String }
        var reason: String { part("decoder")["reason"] as? String ?? "" }
        var failures: [String] { part("decoder")["failures"] as? [String] ?? [] }
        var encoderDevice: String? { part("encoder")["device"] as? String }
        var frames: Int { part("frames")["out"] as? Int ?? -1 }
        var problems: NSDictionary { part("problems") as NSDictionary }
        var error: String { part("error")["message"] as? String ?? "" }
    }

    private static let node = "/dev/dri/renderD128"

    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Encodes a clip of the folder on a machine with a GPU that encodes and decodes.
    private func encode(
        _ input: String,
        decoder: String,
        _ arguments: [String] = [],
        faults: String = "",
        output: String? = nil,
        status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Encode {
        let settings = [
            "REFERENCE_DRIVER_LIMITS=decode=h264,hevc", "REFERENCE_DRIVER_FAULTS=\(faults)",
            // What is known of devices is not that of other tests.
            "XDG_CACHE_HOME=\(scratch.folder)", "XDG_STATE_HOME=\(scratch.folder)", "HOME=\(scratch.folder)",
        ]
        let name = output ?? "out-\(decoder).mkv"
        let command = [Scratch.vatoolbox, "encode", input, "-o", name, "--overwrite", "--decoder", decoder, "--json"]
        let result = try scratch.run(try Scratch.machine(settings) + command + arguments)
        try #require(result.status == status, "\(input) \(arguments): \(result)", sourceLocation: sourceLocation)
        let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        var encode = Encode(document: try #require(value), result: result)
        if status == 0 { encode.pictures = try scratch.frameHashes(name) }
        return encode
    }

    private static let software = ["--device", "software", "--preset", "ultrafast", "--qp", "12", "--threads", "1"]

    private static let clips: [(name: String, options: [String])] = [
        ("b.mp4", ["-c:v", "libx264", "-bf", "3", "-g", "12", "-pix_fmt", "yuv420p"]),
        ("open.ts", ["-c:v", "libx264", "-x264-params", "open-gop=1:keyint=12", "-pix_fmt", "yuv420p"]),
        ("ten.mkv", ["-c:v", "libx265", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p10le"]),
        ("fields.mkv", ["-vf", "interlace", "-c:v", "libx264", "-flags", "+ilme+ildct", "-pix_fmt", "yuv420p"]),
        ("uneven.mkv", ["-vf", "select='not(mod(n,3))+lt(n,20)'", "-fps_mode", "vfr", "-c:v", "libx264"]),
    ]

    private func makeClip(_ name: String) throws {
        let options = try #require(Self.clips.first { $0.name == name }).options
        try scratch.generate("testsrc2=size=160x96:rate=25:duration=2", options + [scratch.path(name)])
    }

    /// With the same encoder, the output is the same bit by bit.
    @Test(arguments: clips.map(\.name)) func bothDecodersGiveTheSamePictures(name: String) throws {
        try makeClip(name)
        let software = try encode(name, decoder: "software", Self.software)
        let hardware = try encode(name, decoder: "hardware", Self.software)
        #expect(software.device == nil && software.reason == "decoding on the CPU was requested")
        #expect(hardware.device == Self.node && hardware.reason == "a GPU was requested")
        #expect(hardware.frames == software.frames && hardware.pictures == software.pictures)
        #expect(hardware.problems == software.problems && hardware.failures == [])
    }

    @Test func partsAtAnotherRateAndSizeAreTheSame() throws {
        try makeClip("b.mp4")
        let part = ["--start", "0.7", "--duration", "0.9", "--fps", "30", "--size", "96x64"] + Self.software
        let software = try encode("b.mp4", decoder: "software", part)
        let hardware = try encode("b.mp4", decoder: "hardware", part)
        #expect(hardware.device == Self.node && hardware.frames == software.frames)
        #expect(hardware.pictures == software.pictures)
    }

    /// The GPU decodes if it encodes, and both ends are told.
    @Test func theGPUThatEncodesDecodes() throws {
        try makeClip("b.mp4")
        let encode = try encode("b.mp4", decoder: "auto", ["--codec", "h264"])
        #expect(encode.encoderDevice == Self.node && encode.device == Self.node)
        #expect(encode.reason == "both ends are on the GPU")
        #expect(encode.frames == 50 && encode.pictures.count == 50)
        let onCPU = try self.encode("b.mp4", decoder: "software", ["--codec", "h264"])
        #expect(onCPU.encoderDevice == Self.node && onCPU.device == nil)
        #expect(onCPU.pictures == encode.pictures)
    }

    /// The rungs of a ladder share the decoder and the process.
    @Test func aLadderDecodesOnce() throws {
        try makeClip("b.mp4")
        let journal = scratch.path("journal")
        let settings = [
            "REFERENCE_DRIVER_LIMITS=decode=h264,hevc", "REFERENCE_DRIVER_JOURNAL=\(journal)",
            "VATOOLBOX_SANDBOX_WRITABLE=\(scratch.folder)", "XDG_CACHE_HOME=\(scratch.folder)",
            "XDG_STATE_HOME=\(scratch.folder)", "HOME=\(scratch.folder)",
        ]
        let command = [
            Scratch.vatoolbox, "encode", "b.mp4", "-o", "{height}.mkv", "--ladder", "96p,64p", "--codec", "h264",
            "--json",
        ]
        let result = try scratch.run(try Scratch.machine(settings) + command)
        try #require(result.status == 0, "\(result)")
        let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let outputs = try #require(value?["outputs"] as? [[String: Any]])
        let decoders = outputs.compactMap { $0["decoder"] as? [String: Any] }
        #expect(decoders.map { $0["device"] as? String } == [Self.node, Self.node])
        #expect(try ["96.mkv", "64.mkv"].map { try scratch.decodedFrameCount($0) } == [50, 50])
    }

    @Test(arguments: [
        ("fields.mkv", "interlaced video is deinterlaced on the CPU"),
        ("turned.mp4", "the pictures are turned upright on the CPU"),
        ("mpeg4.mp4", "videos of this codec"), ("full.mp4", "decodes no 4:2:2 of 8 bits"),
    ])
    func whatTheGPUCannotDoIsDoneByTheCPU(name: String, reason: String) throws {
        switch name {
        case "fields.mkv": try makeClip(name)
        case "turned.mp4":
            try makeClip("b.mp4")
            try scratch.ffmpeg(
                ["-i", scratch.path("b.mp4"), "-c", "copy", "-metadata:s:v", "rotate=90", scratch.path(name)]
            )
        case "mpeg4.mp4":
            try scratch.generate("testsrc2=size=160x96:duration=2", ["-c:v", "mpeg4", scratch.path(name)])
        default:
            let options = ["-c:v", "libx264", "-pix_fmt", "yuv422p", scratch.path(name)]
            try scratch.generate("testsrc2=size=160x96:duration=2", options)
        }
        let encode = try encode(name, decoder: "auto", ["--codec", "h264"])
        #expect(encode.encoderDevice == Self.node && encode.device == nil)
        #expect(encode.reason.contains(reason), "\(encode.reason)")
        #expect(
            encode.frames == (name == "fields.mkv" ? 25 : 50) && !encode.result.errors.contains("warning"),
            "\(encode.result.errors)"
        )
    }

    @Test func withoutAGPUEncoderTheCPUDecodes() throws {
        try makeClip("b.mp4")
        let encode = try encode("b.mp4", decoder: "auto", Self.software)
        #expect(encode.device == nil && encode.reason == "no encoder is on a GPU")
    }

    @Test func hardwareThatIsRequiredIsNotReplaced() throws {
        try scratch.generate("testsrc2=size=160x96:duration=1", ["-c:v", "mpeg4", scratch.path("a.mp4")])
        let other = try encode("a.mp4", decoder: "hardware", Self.software, output: "a.mkv", status: 1)
        #expect(other.error.hasPrefix("videos of this codec"), "\(other.error)")
        #expect(other.result.errors.contains("--decoder auto"), "\(other.result.errors)")
        try makeClip("b.mp4")
        let result = try scratch.run(
            [Scratch.vatoolbox, "encode", "b.mp4", "-o", "b.mkv", "--decoder", "hardware"] + Self.software
        )
        #expect(result.status == 1 && result.errors.contains("no decoder can be used"), "\(result.errors)")
        let bad = try scratch.run([Scratch.vatoolbox, "encode", "b.mp4", "-o", "b.mkv", "--decoder", "gpu"])
        #expect(bad.status == 2 && bad.errors.contains("--decoder is not valid: given gpu, allowed auto, hardware"))
        #expect(scratch.names.filter { $0.hasSuffix(".mkv") }.isEmpty)
    }

    /// Whatever becomes of the decoder, every frame comes out once, as from the CPU.
    @Test(arguments: ["decoded:20=abort", "vaEndPicture:30=segv"])
    func failuresOfTheDecoderLoseNothing(fault: String) throws {
        try makeClip("b.mp4")
        let expected = try encode("b.mp4", decoder: "software", Self.software)
        let encode = try encode("b.mp4", decoder: "hardware", Self.software + ["--timeout", "5"], faults: fault)
        #expect(encode.frames == 50 && encode.pictures == expected.pictures)
        #expect(!encode.failures.isEmpty)
        #expect(
            encode.result.errors.contains("decoding with vaapi-h264 on \(Self.node) failed: "),
            "\(encode.result.errors)"
        )
    }

    /// A stream that begins with a recovery point, as one that was recorded after its start: pictures could not be decoded
    /// again after a crash of the driver, so they do not stay on the GPU.
    @Test func picturesWithoutARandomAccessPointAreCopied() throws {
        let options = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-x264-params", "intra-refresh=1:keyint=12:bframes=0"]
        try scratch.generate("testsrc2=size=160x96:rate=25:duration=2", options + [scratch.path("whole.ts")])
        // Without the first picture, which is the only IDR picture.
        let filter = ["-c", "copy", "-bsf:v", "filter_units=remove_types=5", scratch.path("refresh.ts")]
        try scratch.ffmpeg(["-i", scratch.path("whole.ts")] + filter)
        let settings = ["REFERENCE_DRIVER_LIMITS=decode=h264,hevc", "XDG_STATE_HOME=\(scratch.folder)"]
        for (input, isCopied) in [("refresh.ts", true), ("whole.ts", false)] {
            let command = [Scratch.vatoolbox, "encode", input, "-o", input + ".mkv", "--codec", "h264"]
            let result = try scratch.run(try Scratch.machine(settings) + command)
            #expect(result.status == 0 && result.errors.contains("both ends are on the GPU"), "\(result.errors)")
            let note = "decoded pictures are copied from the GPU, beginning with the one at "
            #expect(result.errors.components(separatedBy: note).count == (isCopied ? 2 : 1), "\(result.errors)")
            let reason = "it follows no IDR picture and no open random access point"
            #expect(result.errors.contains(reason) == isCopied)
        }
    }

    /// x264 holds more pictures than a decoder has memory for.
    @Test func encodersThatHoldManyPicturesDoNotStopTheDecoder() throws {
        try makeClip("b.mp4")
        let slow = ["--device", "software", "--preset", "slow", "--threads", "1", "--crf", "23"]
        let encode = try encode("b.mp4", decoder: "hardware", slow)
        #expect(try encode.pictures == self.encode("b.mp4", decoder: "software", slow).pictures)
    }

    /// An input that arrives through a pipe cannot be read again after its first picture.
    @Test func pipesAreDecodedFromTheirFirstPicture() throws {
        try makeClip("open.ts")
        let expected = try encode("open.ts", decoder: "software", Self.software)
        let settings = ["REFERENCE_DRIVER_LIMITS=decode=h264,hevc", "HOME=\(scratch.folder)"]
        let words =
            try Scratch.machine(settings) + [Scratch.vatoolbox, "encode", "-", "-o", "piped.mkv"]
            + ["--decoder", "hardware"] + Self.software
        let result = try scratch.run(["sh", "-c", "cat open.ts | " + words.joined(separator: " ")])
        #expect(
            result.status == 0 && result.errors.contains("on \(Self.node): a GPU was requested"),
            "\(result.errors)"
        )
        #expect(try scratch.frameHashes("piped.mkv") == expected.pictures)
    }

    @Test func aSignalCompletesTheOutput() throws {
        try scratch.makeClip(seconds: 60, size: "64x64")
        let program = try RunningProgram(
            try Scratch.machine(["REFERENCE_DRIVER_LIMITS=decode=h264,hevc", "HOME=\(scratch.folder)"])
                + [Scratch.vatoolbox, "encode", "clip.mkv", "-o", "out.mkv", "--realtime", "--low-latency"]
                + ["--decoder", "hardware", "--json"] + Self.software,
            in: scratch
        )
        try program.wait(until: "it is written") { scratch.unfinishedSizes.contains { $0 > 0 } }
        program.signal(SIGINT)
        #expect(program.end() == 130)
        let count = try scratch.decodedFrameCount("out.mkv")
        #expect(count > 0 && count < 1500)
    }
}
