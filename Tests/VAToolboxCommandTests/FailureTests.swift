// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// One line that names what was given and what is allowed, the right exit status, and nothing left behind.
@Suite struct FailureTests {
    /// A command line that fails.
    struct Case: CustomTestStringConvertible, Sendable {
        var arguments: [String]
        var status: Int32 = 2
        var given: String
        var allowed: String

        var testDescription: String { arguments.joined(separator: " ") }
    }

    static let wrongValues = [
        Case(arguments: ["--bitrate", "5X"], given: "5X", allowed: "800k"),
        Case(arguments: ["--bitrate", "0"], given: "0 bit/s", allowed: "1000...1000000000 bit/s"),
        Case(arguments: ["--bitrate", "999G"], given: "999000000000 bit/s", allowed: "1000...1000000000 bit/s"),
        Case(arguments: ["--bitrate", "1M", "--peak-bitrate", "500k"], given: "500000", allowed: "at least 1000000"),
        Case(
            arguments: ["--bitrate", "1M", "--cbr", "--peak-window", "99"],
            given: "99.0 s",
            allowed: "0.01...60.0 s"
        ),
        Case(arguments: ["--peak-window", "1"], given: "--peak-window 1", allowed: "--cbr"),
        Case(arguments: ["--crf", "20", "--qp", "30"], given: "--crf 20 and --qp 30", allowed: "one of"),
        Case(arguments: ["--bitrate", "1M", "--qp", "30"], given: "--bitrate 1M and --qp 30", allowed: "one of"),
        Case(arguments: ["--cbr", "--crf", "30"], given: "--cbr and --crf 30", allowed: "--bitrate"),
        Case(
            arguments: ["--qp", "20", "--peak-bitrate", "1M"],
            given: "--peak-bitrate 1M and --qp 20",
            allowed: "one"
        ),
        Case(arguments: ["--cbr", "--peak-bitrate", "1M"], given: "--peak-bitrate 1M and --cbr", allowed: "one"),
        Case(arguments: ["--crf", "52"], given: "52.0", allowed: "0...51"),
        Case(arguments: ["--qp", "52"], given: "52", allowed: "0...51"),
        Case(arguments: ["--qp", "-1"], given: "-1", allowed: "whole number"),
        Case(arguments: ["--size", "0x0"], given: "0x0", allowed: "2x2"),
        Case(arguments: ["--size", "1x90"], given: "1x90", allowed: "2x2"),
        Case(arguments: ["--size", "99999x90"], given: "99999x90", allowed: "2x2 to"),
        Case(arguments: ["--size", "720p"], given: "720p", allowed: "WIDTHxHEIGHT"),
        Case(arguments: ["--size", "1920x1080", "--level", "3"], given: "8160 macroblocks", allowed: "level 4"),
        Case(arguments: ["--fit", "crop"], given: "crop", allowed: "letterbox, aspect-fill, stretch"),
        Case(arguments: ["--fps", "0"], given: "0", allowed: "0.01...1000"),
        Case(arguments: ["--fps", "100000"], given: "100000", allowed: "0.01...1000"),
        Case(arguments: ["--fps", "30/0"], given: "30/0", allowed: "30000/1001"),
        Case(arguments: ["--keyframe-interval", "0"], given: "0 frames", allowed: "1...1000000"),
        Case(arguments: ["--keyframe-interval", "0s"], given: "0.0 s", allowed: "above 0"),
        Case(arguments: ["--b-frames", "17"], given: "17", allowed: "1...16"),
        Case(arguments: ["--b-frames", "2", "--profile", "baseline"], given: "2", allowed: "off"),
        Case(arguments: ["--b-frames", "2", "--low-latency"], given: "2", allowed: "off"),
        Case(arguments: ["--rate-control", "abr"], given: "abr", allowed: "cqp, cbr, vbr, avbr, icq, qvbr"),
        Case(
            arguments: ["--rate-control", "icq", "--qp", "20"],
            given: "--rate-control icq and --qp 20",
            allowed: "icq with --crf"
        ),
        Case(arguments: ["--min-qp", "30", "--max-qp", "20"], given: "30 and 20", allowed: "within 0...51"),
        Case(arguments: ["--max-qp", "52"], given: "0...52", allowed: "within 0...51"),
        Case(arguments: ["--qp", "20", "--min-qp", "24"], given: "20", allowed: "24...51"),
        Case(arguments: ["--max-frame-size", "0"], given: "0 bytes", allowed: "1...536870911 bytes"),
        Case(arguments: ["--max-frame-size", "big"], given: "big", allowed: "200k"),
        Case(arguments: ["--slices", "0"], given: "0", allowed: "1...256"),
        Case(arguments: ["--slices", "257"], given: "257", allowed: "1...256"),
        Case(arguments: ["--temporal-layers", "4"], given: "4", allowed: "1...3"),
        Case(arguments: ["--intra-refresh", "--temporal-layers", "2"], given: "2 temporal layers", allowed: "1"),
        Case(arguments: ["--intra-refresh", "--b-frames", "2"], given: "2", allowed: "off"),
        Case(arguments: ["--intra-refresh", "--open-gop"], given: "open groups", allowed: "closed"),
        Case(arguments: ["--intra-refresh", "--keyframe-interval", "1"], given: "1 frame", allowed: "at least 2"),
        Case(arguments: ["--quality-level", "0"], given: "0", allowed: "at least 1"),
        Case(arguments: ["--low-power", "yes"], given: "yes", allowed: "auto, on, off"),
        Case(arguments: ["--async-depth", "17"], given: "17", allowed: "1...16"),
        Case(arguments: ["--async-depth", "2", "--low-latency"], given: "2", allowed: "1"),
        Case(arguments: ["--roi", "0,0,16,16"], given: "0,0,16,16", allowed: "X,Y,WIDTH,HEIGHT,OFFSET"),
        Case(arguments: ["--roi", "0,0,16,16,-52"], given: "-52", allowed: "-51...51"),
        Case(arguments: ["--roi", "32,0,16,16,1"], given: "16x16 at 32,0", allowed: "within 32x32"),
        Case(arguments: ["--roi", "0,0,0,16,1"], given: "0x16 at 0,0", allowed: "within 32x32"),
        Case(arguments: ["--profile", "extended"], given: "extended", allowed: "baseline, main, high, high10"),
        Case(arguments: ["--level", "7"], given: "7", allowed: "6.2"),
        Case(arguments: ["--bit-depth", "12", "--codec", "h264"], given: "12", allowed: "8, 10 for H.264"),
        Case(arguments: ["--bit-depth", "11", "--codec", "hevc"], given: "11", allowed: "8, 10, 12 for HEVC"),
        Case(arguments: ["--bit-depth", "deep"], given: "deep", allowed: "8, 10, 12, source"),
        Case(arguments: ["--chroma", "4:4:0"], given: "4:4:0", allowed: "4:2:0, 4:2:2, 4:4:4, source"),
        Case(arguments: ["--chroma", "4:2:2", "--codec", "h264"], given: "4:2:2", allowed: "4:2:0; HEVC has it"),
        Case(
            arguments: ["--chroma", "4:4:4", "--profile", "main422-10"],
            given: "profile hevc-main422-10",
            allowed: "hevc-main444-10, hevc-main444-12"
        ),
        Case(
            arguments: ["--chroma", "source", "--profile", "main10"],
            given: "--chroma source and --profile",
            allowed: "one of them"
        ),
        Case(arguments: ["--bit-depth", "10", "--profile", "main"], given: "10 bits", allowed: "8 bits"),
        Case(arguments: ["--preset", "fastest"], given: "fastest", allowed: "ultrafast"),
        Case(arguments: ["--threads", "1000"], given: "1000", allowed: "0...128"),
        Case(arguments: ["--device", "gpu"], given: "gpu", allowed: "auto, software"),
        Case(
            arguments: ["--device", "software", "--require-hardware"],
            given: "--device software and --require-hardware",
            allowed: "one of them"
        ),
        Case(arguments: ["--start", "1:75"], given: "1:75", allowed: "[HH:]MM:SS"),
        Case(arguments: ["--duration", "0"], given: "0", allowed: "above zero"),
        Case(arguments: ["--input-size", "16x16"], given: "--input-size", allowed: "--input-pixel-format together"),
        Case(arguments: ["--fit", "stretch"], given: "--fit stretch", allowed: "with --size"),
        Case(arguments: ["--quiet", "--verbose"], given: "--quiet and --verbose", allowed: "one of them"),
        Case(arguments: ["--format", "avi"], given: "avi", allowed: "mp4, mov, mkv, ts"),
        Case(arguments: ["--codec", "vp9"], given: "vp9", allowed: "auto, h264, hevc"),
        Case(arguments: ["--codec", "hevc", "--profile", "high"], given: "high", allowed: "hevc-main, hevc-main10"),
        Case(arguments: ["--codec", "hevc", "--level", "1b"], given: "1b", allowed: "6.2-high"),
        Case(arguments: ["--codec", "hevc", "--format", "h264"], given: "hevc", allowed: "auto, h264"),
        Case(arguments: ["--fragmented", "--format", "mkv"], given: "mkv", allowed: "mp4, mov"),
        Case(arguments: ["--fragmented-until-end", "--format", "mkv"], given: "mkv", allowed: "mp4, mov"),
        Case(
            arguments: ["--fragmented", "--fragmented-until-end"],
            given: "--fragmented and --fragmented-until-end",
            allowed: "one of them"
        ),
    ]

    @Test(arguments: wrongValues)
    func wrongValue(_ wrong: Case) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 0.08, size: "32x32")
        let result = try scratch.run([Scratch.vatoolbox, "encode", "clip.y4m", "-o", "out.mp4"] + wrong.arguments)
        expectOneLine(result, wrong)
        #expect(scratch.names == ["clip.y4m"])
    }

    @Test func wrongSyntax() throws {
        let scratch = try Scratch()
        for arguments in [["encode"], ["encode", "a.mp4"], ["encode", "a", "-o", "b", "--bogus"], ["bogus"]] {
            let result = try scratch.run([Scratch.vatoolbox] + arguments)
            #expect(result.status == 2 && result.output.isEmpty)
            #expect(result.errorLines.count == 1 && result.errors.hasPrefix("vatoolbox: error: "), "\(result.errors)")
            #expect(result.errors.contains("--help"))
        }
        #expect(scratch.names.isEmpty)
    }

    private func expectOneLine(_ result: ProgramResult, _ wrong: Case) {
        #expect(result.status == wrong.status)
        #expect(result.output.isEmpty)
        #expect(result.errorLines.count == 1, "\(result.errors)")
        #expect(result.errors.hasPrefix("vatoolbox: error: "))
        #expect(result.errors.contains("given \(wrong.given)"), "\(result.errors)")
        #expect(result.errors.contains(wrong.allowed), "\(result.errors)")
    }

    // MARK: - Inputs

    /// Tries to encode and expects an error about the input.
    private func expectRefusal(_ scratch: Scratch, _ input: String, _ texts: [String], status: Int32 = 1) throws {
        let before = scratch.names
        let result = try scratch.vatoolbox("encode", input, "-o", "out.mp4")
        #expect(result.status == status, "\(result.errors)")
        #expect(result.errorLines.count == 1, "\(result.errors)")
        for text in texts + [input] { #expect(result.errors.contains(text), "\(result.errors)") }
        #expect(scratch.names == before)
    }

    @Test func missingInput() throws {
        try expectRefusal(Scratch(), "missing.mp4", ["vatoolbox: error: ", "allowed"])
    }

    @Test func unreadableInput() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mp4", seconds: 0.2)
        // Root reads everything, so there the test looks at a file that nobody can read as media.
        chmod(scratch.path("clip.mp4"), 0)
        if geteuid() == 0 { try scratch.write("clip.mp4", "neither video nor sound") }
        try expectRefusal(scratch, "clip.mp4", ["vatoolbox: error: "])
    }

    @Test func emptyInput() throws {
        let scratch = try Scratch()
        try scratch.write("empty.mp4", "")
        try expectRefusal(scratch, "empty.mp4", ["empty"])
    }

    @Test func folderAsInput() throws {
        let scratch = try Scratch()
        try FileManager.default.createDirectory(atPath: scratch.path("folder"), withIntermediateDirectories: false)
        try expectRefusal(scratch, "folder", ["folder"], status: 2)
    }

    @Test func soundOnly() throws {
        let scratch = try Scratch()
        try scratch.tool("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=duration=0.2", scratch.path("sound.wav"))
        try expectRefusal(scratch, "sound.wav", ["no video", "audio", "allowed a file with a video stream"])
    }

    @Test func fileCutBeforeItsIndex() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mp4")
        try scratch.data("clip.mp4").prefix(5000).write(to: URL(fileURLWithPath: scratch.path("cut.mp4")))
        try expectRefusal(scratch, "cut.mp4", ["vatoolbox: error: "])
    }

    @Test func cutFileGivesWhatIsThere() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mp4")
        try scratch.ffmpeg([
            "-i", scratch.path("clip.mp4"), "-c", "copy", "-movflags", "+faststart", scratch.path("whole.mp4"),
        ])
        let whole = try scratch.data("whole.mp4")
        try whole.prefix(whole.count / 2).write(to: URL(fileURLWithPath: scratch.path("cut.mp4")))
        let result = try scratch.vatoolbox("encode", "cut.mp4", "-o", "out.mp4")
        #expect(result.status == 3, "\(result.errors)")
        #expect(result.errors.contains("warning: part of the input could not be decoded"))
        let count = try scratch.decodedFrameCount("out.mp4")
        #expect((5..<25).contains(count))
    }

    @Test func damagedFileGivesWhatDecodes() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 2)
        var data = try scratch.data("clip.mkv")
        for offset in stride(from: data.count / 3, to: data.count / 2, by: 7) { data[offset] ^= 0xA5 }
        try data.write(to: URL(fileURLWithPath: scratch.path("damaged.mkv")))
        let result = try scratch.vatoolbox("encode", "damaged.mkv", "-o", "out.mp4")
        #expect(result.status == 3, "\(result.errors)")
        #expect(result.errors.contains("warning: part of the input could not be decoded: "))
        #expect(try scratch.decodedFrameCount("out.mp4") > 10)
        let document = try scratch.document("encode", "damaged.mkv", "-o", "again.mp4")
        #expect(document["exitStatus"] as? Int == 3 && document["status"] as? String == "damaged-input")
        let problems = try #require(document["problems"] as? [String: Any])
        #expect((problems["descriptions"] as? [String])?.isEmpty == false)
    }

    // MARK: - Outputs

    private static let outputs = [
        Case(arguments: ["out.xyz"], given: "out.xyz", allowed: ".mp4"),
        Case(arguments: ["missing/out.mp4"], given: "missing/out.mp4", allowed: "existing folder"),
        Case(arguments: ["clip.y4m", "--format", "ts"], given: "clip.y4m", allowed: "a file other than"),
        Case(arguments: ["there.mp4"], given: "there.mp4", allowed: "overwrite"),
        Case(arguments: ["."], given: ".", allowed: ".mp4"),
        Case(arguments: ["null", "--format", "mp4"], given: "-o null and --format mp4", allowed: "./null"),
    ]

    @Test(arguments: outputs)
    func wrongOutput(_ wrong: Case) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 0.08, size: "32x32")
        try scratch.write("there.mp4", "old")
        let result = try scratch.run([Scratch.vatoolbox, "encode", "clip.y4m", "-o"] + wrong.arguments)
        expectOneLine(result, wrong)
        #expect(scratch.names == ["clip.y4m", "there.mp4"])
        #expect(scratch.text("there.mp4") == "old")
    }

    @Test func existingOutputIsRefusedBeforeTheInputIsOpened() throws {
        let scratch = try Scratch()
        try scratch.write("there.mp4", "old")
        let result = try scratch.vatoolbox("encode", "missing.mp4", "-o", "there.mp4")
        #expect(result.status == 2 && result.errors.contains("the output already exists"), "\(result.errors)")
    }

    @Test(arguments: ["file:clip.ts", "file://PATH", "./clip.ts"])
    func theOutputIsNotTheInputByAnotherName(input: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.ts", seconds: 0.2)
        let before = try scratch.data("clip.ts")
        let name = input.replacingOccurrences(of: "PATH", with: scratch.path("clip.ts"))
        let result = try scratch.vatoolbox("encode", name, "-o", "clip.ts", "--overwrite")
        #expect(result.status == 2 && result.errors.contains("same file as the input"), "\(result.errors)")
        #expect(try scratch.data("clip.ts") == before)
    }

    /// The index of such a file stands behind everything that it is about.
    @Test func aPipedMP4WithItsIndexAtTheEnd() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mp4", seconds: 4, size: "640x360")
        let result = try scratch.run("bash", "-c", "cat clip.mp4 | exec \(Scratch.vatoolbox) encode - -o out.mkv")
        #expect(result.status == 1 && result.errors.contains("-movflags +faststart"), "\(result.errors)")
        #expect(scratch.names == ["clip.mp4"])
    }

    @Test func aCoverIsNoVideo() throws {
        let scratch = try Scratch()
        try scratch.ffmpeg([
            "-f", "lavfi", "-i", "sine=duration=1", "-f", "lavfi", "-i", "color=red:size=64x64:rate=1:duration=1",
            "-map", "0", "-map", "1", "-c:v", "png", "-frames:v", "1", "-disposition:v", "attached_pic",
            scratch.path("song.mp3"),
        ])
        let result = try scratch.vatoolbox("encode", "song.mp3", "-o", "out.mp4")
        #expect(result.status == 1 && result.errors.contains("only audio, cover picture"), "\(result.errors)")
    }

    @Test(arguments: [
        ("clip.mp4", "vatoolbox encode clip.mp4 -o out.mp4"),
        (
            "encod",
            "allowed: encode, decode, remux, inspect, thumbnails, probe, bench, devices, record, stream, play, serve"
        ),
    ])
    func whatIsNoCommandIsNamed(word: String, told: String) throws {
        let result = try Scratch().vatoolbox(word, "-o", "x.mp4")
        #expect(result.status == 2 && result.errors.contains("unknown subcommand (given \(word)"))
        #expect(result.errors.contains(told) && !result.errors.contains("Unknown option"), "\(result.errors)")
    }

    @Test(arguments: ["VATOOLBOX_PROOF=maybe", "VATOOLBOX_SANDBOX=yes", "VATOOLBOX_BREAKER=3,600,x,60,3600"])
    func variablesThatAreNotUnderstood(setting: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let words = ["env", setting, Scratch.vatoolbox, "encode", "clip.mkv", "-o", "out.mp4"]
        let result = try scratch.run(words)
        let name = setting.prefix { $0 != "=" }
        #expect(result.status == 2 && result.errors.contains("\(name) is not valid"), "\(result.errors)")
        #expect(scratch.names == ["clip.mkv"])
        let empty = try scratch.run(["env", "\(name)=", Scratch.vatoolbox, "encode", "clip.mkv", "-o", "out.mp4"])
        #expect(empty.status == 0, "\(empty.errors)")
    }

    @Test(arguments: ["clip.ts", "-"])
    func standardOutputIsNotTheInput(input: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.ts", seconds: 0.2)
        let before = try scratch.data("clip.ts")
        let command = "exec \(Scratch.vatoolbox) encode \(input) -o - --format ts < clip.ts >> clip.ts"
        let result = try scratch.run("bash", "-c", command)
        #expect(result.status == 2 && result.errors.contains("same file as the input"), "\(result.errors)")
        #expect(try scratch.data("clip.ts") == before)
    }

    @Test func documentThatCannotBeWrittenIsAFailure() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 0.08, size: "32x32")
        let command = "exec \(Scratch.vatoolbox) encode clip.y4m -o out.mp4 --json > /dev/full"
        let result = try scratch.run("bash", "-c", command)
        #expect(result.status == 1, "\(result.errors)")
        #expect(result.errors.contains("vatoolbox: error: the JSON document cannot be written"))
    }

    @Test func errorsForPeopleHaveNoNumbersOfLibraries() throws {
        let scratch = try Scratch()
        try scratch.write("text.mp4", "neither video nor sound")
        let result = try scratch.vatoolbox("encode", "text.mp4", "-o", "out.mp4")
        #expect(result.status == 1 && !result.errors.contains("returned"), "\(result.errors)")
        let document = try scratch.document("encode", "text.mp4", "-o", "out.mp4")
        let error = try #require(document["error"] as? [String: Any])
        #expect(try #require(error["callStatus"] as? Int) < 0)
    }

    @Test func documentAndLogContradictEachOther() throws {
        let result = try Scratch().vatoolbox("encode", "clip.y4m", "-o", "out.mp4", "--json", "--verbose")
        #expect(result.status == 2 && result.errors.contains("--json and --verbose"), "\(result.errors)")
    }

    @Test func renderNodeThatIsNotUsedIsAWarning() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 0.08, size: "32x32")
        let result = try scratch.encode(
            "clip.y4m",
            "-o",
            "out.mp4",
            "--quiet",
            "--device",
            "/dev/dri/no-such-node"
        )
        #expect(result.errorLines.count == 1, "\(result.errors)")
        #expect(result.errors.hasPrefix("vatoolbox: warning: /dev/dri/no-such-node is not used: "))
    }

    @Test func overwriteReplacesOnlyBySuccess() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 0.2, size: "32x32")
        try scratch.write("out.mp4", "old")
        let failed = try scratch.vatoolbox("encode", "clip.y4m", "-o", "out.mp4", "--overwrite", "--qp", "99")
        #expect(failed.status == 2 && scratch.text("out.mp4") == "old")
        try scratch.encode("clip.y4m", "-o", "out.mp4", "--overwrite")
        #expect(try scratch.decodedFrameCount("out.mp4") == 5)
        #expect(scratch.names == ["clip.y4m", "out.mp4"])
    }

    /// A limit on the size of files stands for a disk that runs full in the middle.
    @Test(arguments: ["mp4", "mkv", "ts", "h264"])
    func fullDisk(container: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.mkv", seconds: 2)
        let command = "ulimit -f 32; exec \(Scratch.vatoolbox) encode clip.mkv -o out.\(container) --qp 4 --quiet"
        let result = try scratch.run("bash", "-c", command)
        #expect(result.status == 1, "\(result.errors)")
        #expect(result.errors.contains("vatoolbox: error: ") && result.errors.contains("out.\(container)"))
        #expect(scratch.names == ["clip.mkv"])
    }

    @Test func deviceThatIsFull() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 0.2)
        let result = try scratch.vatoolbox("encode", "clip.y4m", "-o", "/dev/full", "--format", "h264")
        #expect(result.status == 1)
        #expect(result.errorLines.count == 1 && result.errors.contains("/dev/full"), "\(result.errors)")
    }

    @Test func closedPipe() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 4, size: "320x180")
        let command = "\(Scratch.vatoolbox) encode clip.y4m -o - --format h264 --qp 2; echo status $? >&2"
        let result = try scratch.run("bash", "-c", "(\(command)) | head -c 1000 >/dev/null")
        #expect(result.errors.contains("status 1"), "\(result.errors)")
        #expect(result.errors.contains("vatoolbox: error: "))
    }

    /// The name would be another one, under which nobody finds the file.
    @Test func namesThatAreNoTextAreRefused() throws {
        let scratch = try Scratch()
        try scratch.makeClip()
        let script = #"exec "$0" encode clip.mkv -o "$(printf 'z\377.mp4')" --device software"#
        let result = try scratch.run(["sh", "-c", script, Scratch.vatoolbox])
        #expect(result.status == 2 && result.errors.contains("not valid UTF-8 (given argument 4;"), "\(result.errors)")
        #expect(scratch.names == ["clip.mkv"])
    }

    /// Whoever reads the stream gets no document in it.
    @Test(arguments: [["-o", "-"], ["-o-"], ["--output", "-"], ["--output=-"]])
    func theDocumentKeepsOutOfTheStream(output: [String]) throws {
        let scratch = try Scratch()
        let result = try scratch.run([Scratch.vatoolbox, "encode", "clip.mkv", "--json", "--bogus"] + output)
        #expect(result.status == 2 && result.output.isEmpty, "\(result)")
        let document = try JSONSerialization.jsonObject(with: Data(result.errors.utf8)) as? [String: Any]
        #expect((document?["error"] as? [String: Any])?["message"] != nil, "\(result.errors)")
    }
}
