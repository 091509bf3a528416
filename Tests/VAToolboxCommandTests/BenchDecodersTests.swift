// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import TestSupport
import Testing

/// `vatoolbox bench decoders`, with the reference driver as a GPU.
@Suite struct BenchDecodersTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// What a command stands behind that shall find GPUs that decode.
    private func machine(nodes: String = "128=generic", _ settings: [String] = []) throws -> [String] {
        let state = "VATOOLBOX_STATE=\(scratch.path("state"))"
        return try Scratch.machine(nodes: nodes, ["REFERENCE_DRIVER_LIMITS=decode=h264,hevc", state] + settings)
    }

    private func makeFilm(_ name: String = "film.mp4", _ options: [String] = Self.h264, seconds: Int = 2) throws {
        try scratch.generate("testsrc2=size=192x112:rate=25:duration=\(seconds)", options + [scratch.path(name)])
    }

    private static let h264 = ["-c:v", "libx264", "-bf", "3", "-pix_fmt", "yuv420p"]

    private func run(_ arguments: [String], on machine: [String] = []) throws -> ProgramResult {
        try scratch.bench(["decoders"] + arguments, machine)
    }

    /// A document of the command.
    struct Document {
        let members: [String: Any]

        var decoders: [[String: Any]] { members["decoders"] as? [[String: Any]] ?? [] }
        var ids: [String] { decoders.compactMap { $0["id"] as? String } }
        var comparisons: [[String: Any]] { members["comparisons"] as? [[String: Any]] ?? [] }
        var rejected: [[String: Any]] { members["rejected"] as? [[String: Any]] ?? [] }
        var input: [String: Any] { members["input"] as? [String: Any] ?? [:] }
        var error: [String: Any] { members["error"] as? [String: Any] ?? [:] }

        /// Whether the frames of each decoder are equal to those of the software decoder, and how many of them.
        var equalities: [[String: Any]] { decoders.dropFirst().map { $0["equality"] as? [String: Any] ?? [:] } }
    }

    private func document(_ arguments: [String], on machine: [String], status: Int32 = 0) throws -> Document {
        let result = try run(arguments + ["--json"], on: machine)
        #expect(result.status == status, "\(result)")
        let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        return Document(members: try #require(value, "\(result)"))
    }

    // MARK: - Decoders that work

    @Test(arguments: [h264, ["-c:v", "libx265", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p10le"]])
    func everyDecoderIsMeasuredAndCompared(options: [String]) throws {
        try makeFilm("film.mp4", options)
        let document = try document(["film.mp4", "--repeats", "2"], on: machine())
        #expect(document.ids == ["software", "renderD128 download", "renderD128 zero-copy"])
        #expect(document.input["samples"] as? Int == 50 && document.input["limit"] is NSNull)
        for decoder in document.decoders {
            #expect(decoder["frames"] as? Int == 50 && decoder["damagedFrames"] as? Int == 0)
            let runs = try #require(decoder["runs"] as? [[String: Any]])
            #expect(runs.map { $0["round"] as? Int } == [0, 1, 2])
            for run in runs {
                #expect(run["frames"] as? Int == 50 && run["failures"] as? Int == 0 && run["reason"] is NSNull)
                for key in ["wallTime", "timeToFirstFrame", "processorTime"] {
                    #expect(try number(run[key]) > 0, "\(key)")
                }
                #expect(run["copiedFrames"] as? Int == (decoder["transfer"] as? String == "download" ? 50 : 0))
            }
            let figures = try #require(decoder["figures"] as? [String: [String: Any]])
            #expect(try number(figures["framesPerSecond"]?["median"]) > 0)
            #expect(try number(figures["processorPerFrame"]?["count"]) == 2)
        }
        for equality in document.equalities {
            #expect(equality["equal"] as? Bool == true && equality["comparedFrames"] as? Int == 50, "\(equality)")
        }
        #expect(document.comparisons.map { $0["decoder"] as? String } == Array(document.ids.dropFirst()))
        // Two rounds permit no verdict.
        let speed = try #require(document.comparisons.first?["speed"] as? [String: Any])
        #expect(try number(speed["count"]) == 2 && speed["verdict"] is NSNull)
    }

    @Test func theReportFitsATerminal() throws {
        try makeFilm()
        let result = try run(["film.mp4", "--repeats", "1", "--frames", "30"], on: machine())
        #expect(result.status == 0 && result.errors.isEmpty, "\(result)")
        for line in result.output.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        for words in [
            "REFERENCE DRIVER:", "film.mp4: H.264, 192x112, 30 samples", "compared with software, round by round",
            "renderD128 zero-copy: 30 frames, equal to the software decoder's",
        ] { #expect(result.output.contains(words), "\(words): \(result.output)") }
        let quiet = try run(["film.mp4", "--repeats", "1", "--quiet"], on: machine())
        #expect(quiet.status == 0 && quiet.output.isEmpty && quiet.errors.isEmpty, "\(quiet)")
    }

    @Test func devicesAreChosen() throws {
        try makeFilm(seconds: 1)
        let both = try machine(nodes: "128=generic,129=generic")
        let ids = { (words: [String]) in try document(["film.mp4", "--repeats", "1"] + words, on: both).ids }
        #expect(try ids([]).count == 5)
        let second = ["--device", "/dev/dri/renderD129"]
        #expect(try ids(second + second) == ["software", "renderD129 download", "renderD129 zero-copy"])
        #expect(try ids(["--device", "software"]) == ["software"])
    }

    // MARK: - Decoders that do not

    /// The twentieth picture is wrong: after the test decode of the GPU, which has eight.
    @Test func wrongFramesAreFound() throws {
        try makeFilm()
        let faulty = try machine(["REFERENCE_DRIVER_FAULTS=decoded:20=negative"])
        let document = try document(["film.mp4", "--repeats", "1"], on: faulty, status: 1)
        #expect(document.members["status"] as? String == "failed")
        for equality in document.equalities {
            #expect(equality["equal"] as? Bool == false, "\(equality)")
            let differing = try number(equality["differingFrames"])
            let first = try #require(equality["first"] as? [String: Any])
            let frame = try number(first["frame"])
            #expect(differing >= 1 && first["difference"] as? String == "samples")
            #expect(try number(first["time"]) == frame / 25)
        }
        let text = try run(["film.mp4", "--repeats", "1"], on: faulty)
        #expect(text.status == 1, "\(text)")
        #expect(text.output.contains("from the software decoder's; the first is"), "\(text.output)")
        let error = "error: renderD128 download: 1 frame differs from the software decoder's; the first is frame "
        #expect(text.errors.contains(error), "\(text.errors)")
    }

    @Test func aDecoderThatFailsForGoodIsNotMeasured() throws {
        try makeFilm()
        let faulty = try machine(["REFERENCE_DRIVER_FAULTS=decoded:20=abort", "VATOOLBOX_BREAKER=off"])
        let document = try document(["film.mp4", "--repeats", "1"], on: faulty, status: 1)
        #expect(document.ids.count == 3 && document.comparisons.isEmpty)
        for (decoder, equality) in zip(document.decoders.dropFirst(), document.equalities) {
            #expect(equality["equal"] is NSNull && (equality["reason"] as? String)?.contains("SIGABRT") == true)
            #expect((decoder["runs"] as? [Any])?.isEmpty == true)
        }
        #expect((document.decoders.first?["runs"] as? [Any])?.count == 2)
    }

    /// Displays: one of the test decode, two of the comparison, two of the warm-ups, and then those of the first round.
    @Test func failuresOfRunsAreReported() throws {
        try makeFilm()
        let count = ["REFERENCE_DRIVER_DISPLAYS=\(scratch.path("displays"))", "VATOOLBOX_BREAKER=off"]
        let writable = "VATOOLBOX_SANDBOX_WRITABLE=\(scratch.folder)"
        let faults = (6...10).map { "vaInitialize#\($0):1=status:0x1" }.joined(separator: ";")
        let failing = try machine(count + [writable, "REFERENCE_DRIVER_FAULTS=\(faults)"])
        let document = try document(["film.mp4", "--repeats", "1"], on: failing)
        let runs = document.decoders.flatMap { $0["runs"] as? [[String: Any]] ?? [] }
        let reasons = runs.compactMap { $0["reason"] as? String }
        #expect(runs.count == 6 && reasons.contains { $0.contains("libref did not start") }, "\(runs)")
        #expect("\(document.members["warnings"] ?? "")".contains("Runs failed: "))

        for name in ["displays", "state"] { try FileManager.default.removeItem(atPath: scratch.path(name)) }
        let once = try machine(count + [writable, "REFERENCE_DRIVER_FAULTS=decoded#6:30=abort"])
        let text = try run(["film.mp4", "--repeats", "1"], on: once)
        #expect(text.status == 0 && text.output.contains("The decoder failed 1 time"), "\(text)")
    }

    @Test func aGPUThatDoesNotDecodeTheInputIsNamed() throws {
        try makeFilm()
        let hevc = try machine(["REFERENCE_DRIVER_LIMITS=decode=hevc"])
        let document = try document(["film.mp4", "--repeats", "1"], on: hevc)
        #expect(document.ids == ["software"])
        #expect(document.rejected.map { $0["name"] as? String } == ["/dev/dri/renderD128"])
        #expect(document.rejected.first?["cause"] as? String == "driver-without-codec")
        // It was asked for, so this is an error, as in `decode`.
        let asked = try self.document(["film.mp4", "--device", "/dev/dri/renderD128"], on: hevc, status: 1)
        #expect(asked.error["cause"] as? String == "driver-without-codec", "\(asked.error)")
        let missing = try run(["film.mp4", "--device", "/dev/dri/renderD140"], on: hevc)
        #expect(missing.status == 1 && missing.errors.contains("no such render node"), "\(missing)")
    }

    @Test func withoutGPUTheCPUIsMeasured() throws {
        try makeFilm()
        let none = try machine(nodes: "")
        let result = try run(["film.mp4", "--repeats", "1"], on: none)
        #expect(result.status == 0, "\(result)")
        #expect(result.output.contains("not measured: no decoder can be used: GPU: "), "\(result.output)")
        #expect(result.output.contains("try: "), "\(result.output)")
        let document = try document(["film.mp4", "--repeats", "1", "--decoder-threads", "1"], on: none)
        #expect(
            document.ids == ["software"] && document.rejected.count == 1 && document.members["threads"] as? Int == 1
        )
    }

    // MARK: - Inputs

    @Test func damagedFramesAreCountedAndNotCompared() throws {
        try makeFilm("whole.ts", Self.h264 + ["-g", "10"])
        var bytes = try scratch.data("whole.ts")
        let middle = bytes.count / 2
        bytes.replaceSubrange(middle..<middle + 188, with: Data(repeating: 0x47, count: 188))
        try bytes.write(to: URL(fileURLWithPath: scratch.path("damaged.ts")))
        let document = try document(["damaged.ts", "--repeats", "1"], on: machine())
        #expect(try number(document.decoders.first?["damagedFrames"]) > 0)
        for equality in document.equalities {
            #expect(equality["equal"] as? Bool == true, "\(equality)")
            #expect(try number(equality["damagedFrames"]) > 0 && number(equality["comparedFrames"]) > 20)
        }
        let text = try run(["damaged.ts", "--repeats", "1"], on: machine()).output
        #expect(
            text.contains("may be wrong, left out of the comparison") && text.contains(" undamaged frames, equal"),
            "\(text)"
        )
    }

    @Test func inputsThatCannotBeDecodedAreErrors() throws {
        try makeFilm("old.mp4", ["-c:v", "mpeg4"])
        try scratch.ffmpeg(["-f", "lavfi", "-i", "sine=duration=1", scratch.path("sound.wav")])
        try Data("no film".utf8).write(to: URL(fileURLWithPath: scratch.path("text")))
        for (name, words) in [
            ("old.mp4", "the video is of another codec: given mpeg4, allowed h264, hevc"),
            ("sound.wav", "the input has no video"), ("text", "cannot be opened as media"),
            ("missing.mp4", "the input does not exist"),
        ] {
            let result = try run([name])
            #expect(result.status == 1 && result.errors.contains(words), "\(name): \(result)")
            #expect(result.output.isEmpty)
        }
    }

    // MARK: - The command line

    @Test func badArgumentsAreUsageErrors() throws {
        for (arguments, words) in [
            ([], "<input>"), (["film.mp4", "--frames", "0"], "--frames is out of range: given 0, allowed 1 to"),
            (["film.mp4", "--repeats", "x"], "--repeats is not valid: given x"),
            (["film.mp4", "--decoder-threads", "65"], "allowed 0 to 64"),
            (["film.mp4", "--device", "gpu"], "--device is not valid: given gpu"),
            (["film.mp4", "--size", "1280x720"], "--size"), (["film.mp4", "--json", "--verbose"], "--verbose"),
        ] {
            let result = try run(arguments)
            #expect(result.status == 2 && result.errors.contains(words), "\(arguments): \(result)")
        }
        let before = try scratch.bench(["--quick", "decoders", "film.mp4"])
        #expect(before.status == 2 && before.errors.contains("those of bench do not apply to it"), "\(before)")
    }

    @Test(arguments: [([String](), "report"), (["--json"], "JSON document")])
    func aReportThatCannotBeWrittenIsAnError(options: [String], name: String) throws {
        try makeFilm(seconds: 1)
        let words = [Scratch.vatoolbox, "bench", "decoders", "film.mp4", "--repeats", "1", "--device", "software"]
        let result = try scratch.run("sh", "-c", "exec \((words + options).joined(separator: " ")) > /dev/full")
        #expect(result.status == 1, "\(result)")
        #expect(result.errors.contains("the \(name) cannot be written to standard output"), "\(result)")
    }

    @Test func theHelpIsThatOfTheCommand() throws {
        let help = try run(["--help"])
        #expect(
            help.status == 0 && help.output.contains("USAGE: vatoolbox bench decoders <input> [options]"),
            "\(help)"
        )
        #expect(help.output.contains("--frames <count>"))
    }

    @Test(arguments: [[String](), ["--json"]])
    func aSignalEndsIt(options: [String]) throws {
        try makeFilm(seconds: 20)
        let program = try RunningProgram(
            try machine() + [Scratch.vatoolbox, "bench", "decoders", "film.mp4", "--repeats", "1000"] + options,
            in: scratch
        )
        // A stored test decode shows that sessions have begun.
        try program.wait(until: "a GPU decodes") {
            FileManager.default.fileExists(atPath: scratch.path("state/proofs"))
        }
        program.signal(SIGINT)
        #expect(program.end() == 130, "\(program.errors)")
        #expect(program.errors.contains("the benchmark was interrupted"), "\(program.errors)")
        #expect(program.output.contains(#""status": "interrupted""#) == !options.isEmpty, "\(program.output)")
    }
}
