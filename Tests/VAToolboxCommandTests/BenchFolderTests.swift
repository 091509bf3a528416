// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import Testing

/// Folders of `vatoolbox bench`: who may work in one, and what can be gone on with.
@Suite struct BenchFolderTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private static let small = [
        "--quick", "--size", "160x96", "--frames", "20", "--points", "100k,200k,400k,800k", "--quiet", "--encoders",
        "x264:ultrafast", "--output", "out",
    ]
    private static let resume = ["--resume", "--output", "out", "--quiet"]

    private var journal: String { scratch.text("out/journal.jsonl") }

    private func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: scratch.path(name)))
    }

    /// Takes the end of the last run out of the journal, as if the benchmark had been interrupted in it.
    private func takeLastRunBack() throws {
        let lines = journal.split(separator: "\n")
        try write(lines.dropLast().joined(separator: "\n") + "\n{\"run\":{\"ke", to: "out/journal.jsonl")
        try FileManager.default.removeItem(atPath: scratch.path("out/report.json"))
    }

    private func makeFile(_ name: String) throws {
        let folder = (scratch.path(name) as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try write("precious", to: name)
    }

    // MARK: - What is there already

    /// A folder of clips is a natural place to try a benchmark in.
    @Test(arguments: ["clips", "streams", "raw"]) func aFolderWithOtherFilesIsRefused(name: String) throws {
        try makeFile("out/\(name)/film.mp4")
        let result = try scratch.bench(Self.small)
        #expect(result.status == 2 && result.errors.contains("out/\(name)/film.mp4"), "\(result.errors)")
        #expect(scratch.text("out/\(name)/film.mp4") == "precious")
        #expect(journal.isEmpty)
    }

    @Test func filesThatAreNotItsOwnStay() throws {
        #expect(try scratch.bench(Self.small).status == 0)
        let made = try FileManager.default.contentsOfDirectory(atPath: scratch.path("out"))
        #expect(!made.contains("clips") && !made.contains("streams"), "\(made)")
        try takeLastRunBack()
        for name in ["out/clips/film.mp4", "out/streams/notes.txt"] { try makeFile(name) }
        #expect(try scratch.bench(Self.resume).status == 0)
        for name in ["out/clips/film.mp4", "out/streams/notes.txt"] { #expect(scratch.text(name) == "precious") }
    }

    @Test func streamsThatWereKeptStay() throws {
        #expect(try scratch.bench(Self.small + ["--keep-streams"]).status == 0)
        let streams = { try FileManager.default.contentsOfDirectory(atPath: scratch.path("out/streams")).sorted() }
        let kept = try streams()
        #expect(kept.count == 4)
        try takeLastRunBack()
        #expect(try scratch.bench(Self.resume).status == 0)
        // The run that was made anew had the last of the names.
        #expect(try streams() == Array(kept.dropLast()))
        #expect(try scratch.bench(Self.resume).status == 0)
        #expect(try streams() == Array(kept.dropLast()))
    }

    // MARK: - At once

    @Test func aFolderIsOneBenchmarksAtATime() throws {
        let program = try RunningProgram([Scratch.vatoolbox, "bench"] + Self.small, in: scratch)
        try program.wait(until: "a run is over") { journal.contains(#"{"run""#) }
        // It stands still, so that it cannot be over before the others have asked.
        program.signal(SIGSTOP)
        for arguments in [Self.small, Self.small + ["--resume"], Self.resume] {
            let before = journal
            let other = try scratch.bench(arguments)
            #expect(other.status == 1, "\(arguments): \(other)")
            #expect(other.errors.contains("another benchmark is running in the folder"), "\(other.errors)")
            #expect(journal == before)
        }
        program.signal(SIGCONT)
        #expect(program.end() == 0, "\(program.errors)")
        // Nothing that the first one needed was deleted: every stream was compared with its clip.
        let runs = try benchRuns(try scratch.benchReport(in: "out"))
        #expect(runs.count == 4)
        for (_, figures) in runs {
            let quality = try #require(figures["quality"] as? [String: Any])
            #expect(quality["frames"] as? Int == 20, "\(quality)")
        }
    }

    // MARK: - Going on

    /// What is said after an interruption goes on with it, also where no folder was named.
    @Test func whatIsToldAfterAnInterruptionGoesOn() throws {
        let arguments = Self.small.filter { !["--output", "out", "--quiet"].contains($0) }
        let program = try RunningProgram([Scratch.vatoolbox, "bench", "--keep-streams"] + arguments, in: scratch)
        var folder = ""
        try program.wait(until: "a run is over") {
            folder = scratch.names.first { $0.hasPrefix("vatoolbox-bench-") } ?? ""
            return scratch.text("\(folder)/journal.jsonl").contains(#"{"run""#)
        }
        program.signal(SIGINT)
        #expect(program.end() == 130)
        let told = "to continue: vatoolbox bench --resume --output '\(folder)' --keep-streams"
        #expect(program.errors.contains(told), "\(program.errors)")
        #expect(try scratch.bench(["--resume", "--output", folder, "--keep-streams", "--quiet"]).status == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path("\(folder)/streams")).count == 4)
        #expect(try benchRuns(try scratch.benchReport(in: folder)).count == 4)
    }

    @Test func aFinishedBenchmarkIsToldAgain() throws {
        // So few pictures that they stand for more frames, of which the report has a note.
        let plan = "{encoders: x264:ultrafast, sizes: 320x240, frames: 24, pictureMemory: 1048576, repeats: 1}"
        try write(plan, to: "plan")
        let first = try scratch.bench(["--plan", "plan", "--points", "100k,200k", "--quiet", "--output", "out"])
        #expect(first.status == 0, "\(first.errors)")
        let report = try scratch.benchReport(in: "out")
        #expect((report["clips"] as? [[String: Any]])?.first?["pictureCount"] as? Int == 9)
        let page = scratch.text("out/report.html")
        #expect(page.contains("9 pictures, played forwards and backwards in turn, make up its 24 frames"))
        for name in ["report.json", "report.html", "report.csv"] {
            try FileManager.default.removeItem(atPath: scratch.path("out/" + name))
        }
        let again = try scratch.bench(Self.resume)
        #expect(again.status == 0, "\(again.errors)")
        #expect(NSDictionary(dictionary: try scratch.benchReport(in: "out")) == NSDictionary(dictionary: report))
        #expect(scratch.text("out/report.html") == page)
    }

    /// Red, green and blue get a matrix as they get one in a session.
    @Test func clipsMayBeRGB() throws {
        try scratch.ffmpeg([
            "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=25:duration=1", "-c:v", "libx264rgb", "-preset",
            "ultrafast", scratch.path("rgb.mp4"),
        ])
        let words = ["--quick", "--frames", "20", "--points", "100k,200k", "--quiet", "--encoders", "x264:ultrafast"]
        let result = try scratch.bench(words + ["--clips", "rgb.mp4", "--size", "160x96", "--output", "out"])
        #expect(result.status == 0, "\(result.errors)")
        let runs = try scratch.benchReport(in: "out")["runs"] as? [[String: Any]] ?? []
        #expect(!runs.isEmpty && runs.allSatisfy { $0["failure"] == nil || $0["failure"] is NSNull })
    }

    @Test func whatIsNoBenchmarkIsNotGoneOnWith() throws {
        for arguments in [Self.resume, Self.small + ["--resume"]] {
            let none = try scratch.bench(arguments)
            #expect(none.status == 1 && none.errors.contains("contains no benchmark to continue"), "\(none.errors)")
        }
        #expect(scratch.names.isEmpty)
        try FileManager.default.createDirectory(atPath: scratch.path("out"), withIntermediateDirectories: true)
        for text in ["{}\n", "nothing of ours\n", #"{"clip":{"_0":{}}}"# + "\n"] {
            try write(text, to: "out/journal.jsonl")
            for arguments in [Self.resume, Self.small + ["--resume"]] {
                let result = try scratch.bench(arguments)
                #expect(result.status == 1 && result.errors.contains("journal.jsonl"), "\(text): \(result.errors)")
                #expect(journal == text)
            }
        }
        // What ended before its beginning was written is none, and lacks nothing.
        try write("{\"header\":", to: "out/journal.jsonl")
        let result = try scratch.bench(Self.small)
        #expect(result.status == 0, "\(result.errors)")
        #expect(try benchRuns(try scratch.benchReport(in: "out")).count == 4)
    }

    @Test func otherPlansVersionsAndMachinesDoNotGoOn() throws {
        #expect(try scratch.bench(Self.small).status == 0)
        let whole = journal
        try takeLastRunBack()
        let interrupted = journal
        func refusal(_ arguments: [String] = Self.resume, _ change: (String) -> String) throws -> String {
            try write(change(interrupted), to: "out/journal.jsonl")
            let result = try scratch.bench(arguments)
            #expect(result.status == 2, "\(result)")
            return result.errors
        }
        let plan = try refusal(Self.small + ["--resume", "--repeats", "2"]) { $0 }
        #expect(plan.contains("another plan"), "\(plan)")
        let program = try #require(interrupted.range(of: #""program":"vatoolbox [^"]*""#, options: .regularExpression))
        let version = try refusal { $0.replacingCharacters(in: program, with: #""program":"vatoolbox 0.0.0""#) }
        #expect(version.contains("another version") && version.contains("vatoolbox 0.0.0"), "\(version)")
        let kernel = try #require(interrupted.range(of: #""kernel":"[^"]*""#, options: .regularExpression))
        let machine = try refusal { $0.replacingCharacters(in: kernel, with: #""kernel":"9.9.9""#) }
        #expect(machine.contains("kernel: 9.9.9, then") && machine.contains("start again in another"), "\(machine)")

        // Where nothing is left to do the machine may be any; the report is of that on which it was done.
        try write(whole.replacingCharacters(in: kernel, with: #""kernel":"9.9.9""#), to: "out/journal.jsonl")
        let told = try scratch.bench(Self.resume)
        #expect(told.status == 0, "\(told.errors)")
        let environment = try scratch.benchReport(in: "out")["environment"] as? [String: Any]
        #expect(environment?["kernel"] as? String == "9.9.9")
    }

    @Test func aClipThatHasChangedDoesNotGoOn() throws {
        func makeClip(_ source: String) throws {
            let input = "\(source)=size=160x96:rate=30:duration=1,format=yuv420p"
            try scratch.tool("ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", input, "-c:v", "ffv1", "clip.mkv")
        }
        try makeClip("testsrc2")
        let arguments = Self.small + ["--clips", "./clip.mkv"]
        #expect(try scratch.bench(arguments).status == 0)
        try takeLastRunBack()
        try makeClip("testsrc")
        let result = try scratch.bench(Self.resume)
        #expect(result.status == 2 && result.errors.contains("a clip has changed"), "\(result.errors)")
        try makeClip("testsrc2")
        #expect(try scratch.bench(Self.resume).status == 0)
        #expect(try benchRuns(try scratch.benchReport(in: "out")).count == 4)
    }

    @Test func clipsOfOneNameAreRefused() throws {
        let result = try scratch.bench(Self.small + ["--clips", "a/film.mp4,b/film.mp4"])
        #expect(result.status == 2 && result.errors.contains("two clips have the name film.mp4"), "\(result.errors)")
        #expect(scratch.names.isEmpty)
    }
}
