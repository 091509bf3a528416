// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// `vatoolbox bench` as it was built, on small clips.
@Suite struct BenchTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Options of a benchmark that takes no time.
    private static let small = [
        "--quick", "--size", "160x96", "--frames", "45", "--points", "100k,200k,400k,800k", "--quiet",
    ]

    // MARK: - Figures

    @Test func figuresOfSoftwareAreThoseOfTheStreams() throws {
        let result = try scratch.bench(
            Self.small + ["--encoders", "x264:ultrafast,x265:ultrafast", "--keep-streams", "--output", "out"]
        )
        #expect(result.status == 0, "\(result.errors)")
        let runs = try benchRuns(try scratch.benchReport(in: "out"))
        #expect(runs.count == 8)
        for (index, (run, figures)) in runs.enumerated() {
            try check(figures, run, stream: "out/streams/0000\(index).mp4", frames: 45, rate: 30)
        }
        // More bits where more were asked for, for each encoder.
        for encoder in ["x264 ultrafast", "x265 ultrafast"] {
            let sizes = try runs.filter { $0.run["encoder"] as? String == encoder }.map {
                try number($0.figures["bytes"])
            }
            #expect(sizes.count == 4 && sizes == sizes.sorted() && Set(sizes).count == 4, "\(encoder): \(sizes)")
        }
    }

    @Test func figuresOfTheReferenceDriverAreThoseOfTheStreams() throws {
        let result = try scratch.bench(
            Self.small + ["--encoders", "/dev/dri/renderD128", "--keep-streams", "--output", "out"],
            try Scratch.machine()
        )
        #expect(result.status == 0, "\(result.errors)")
        let report = try scratch.benchReport(in: "out")
        let encoders = try #require(report["encoders"] as? [[String: Any]])
        #expect(!encoders.isEmpty && encoders.allSatisfy { $0["isReferenceDriver"] as? Bool == true })
        #expect(encoders.allSatisfy { $0["isFakeNode"] as? Bool == true && $0["isInHelper"] as? Bool == true })
        let runs = try benchRuns(report)
        #expect(runs.count == 4 * encoders.count)
        for (index, (run, figures)) in runs.enumerated() {
            let number = index < 10 ? "0\(index)" : "\(index)"
            try check(figures, run, stream: "out/streams/000\(number).mp4", frames: 45, rate: 30)
        }
    }

    /// Holds the figures of a run against each other, and against what ffprobe finds in its stream.
    private func check(
        _ figures: [String: Any],
        _ run: [String: Any],
        stream: String,
        frames: Int,
        rate: Double
    ) throws {
        let name = Comment(rawValue: "\(run["encoder"] ?? "") \(run["point"] ?? "") \(run["mode"] ?? "")")
        let packets = try scratch.tool(
            "ffprobe",
            "-v",
            "error",
            "-select_streams",
            "v",
            "-show_entries",
            "packet=size",
            "-of",
            "csv=p=0",
            stream
        ).split(separator: "\n").compactMap { Int($0.prefix { $0.isNumber }) }
        let bytes = try number(figures["bytes"])
        #expect(packets.count == frames, name)
        #expect(
            try number(figures["framesOut"]) == Double(frames) && number(figures["framesIn"]) == Double(frames),
            name
        )
        #expect(try number(figures["framesDropped"]) == 0, name)
        #expect(Double(packets.reduce(0, +)) == bytes, name)
        #expect(try number(figures["largestFrame"]) == Double(packets.max() ?? 0), name)
        // The first second is full, the second one is not and is left out.
        let windows = try #require(figures["windows"] as? [NSNumber], name).map(\.doubleValue)
        #expect(windows.count == Int(Double(frames) / rate), name)
        #expect(windows.reduce(0, +) <= bytes * 8 && windows[0] > 0, name)

        let wall = try number(figures["wallTime"])
        let latency = try #require(figures["latency"] as? [String: Any], name)
        let ranks = try ["p50", "p90", "p99", "maximum"].map { try number(latency[$0]) }
        #expect(ranks == ranks.sorted() && ranks[0] > 0 && ranks[3] <= wall, name)
        let first = try number(figures["timeToFirstSample"])
        #expect(first > 0, name)
        let time = try #require(figures["processorTime"] as? [String: Any], name)
        let used = try number(time["user"]) + number(time["system"])
        let processors = Double(ProcessInfo.processInfo.processorCount)
        // The kernel counts in pieces; what is used at the edges may fall on either side.
        #expect(used > 0 && used <= wall * processors + 0.1, name)
        let memory = try #require(figures["peakMemory"] as? [String: Any], name)
        #expect(try number(memory["value"]) > 1e6, name)
    }

    @Test func pacedRunsTakeAsLongAsTheClip() throws {
        let result = try scratch.bench(
            ["--quick", "--size", "160x96", "--frames", "20", "--fps", "20", "--points", "200k", "--quiet"]
                + ["--encoders", "x264:ultrafast", "--modes", "real-time,low-latency", "--output", "out"]
        )
        #expect(result.status == 0, "\(result.errors)")
        for (run, figures) in try benchRuns(try scratch.benchReport(in: "out")) {
            // The last of 20 frames is due 0.95 s after the first.
            let wall = try number(figures["wallTime"])
            #expect(wall >= 0.95, "\(run["mode"] ?? "")")
            let frames = try number(figures["framesOut"]) + number(figures["framesDropped"])
            #expect(frames == 20)
        }
    }

    // MARK: - Plans

    @Test func listNamesTheRunsAndMakesNone() throws {
        let result = try scratch.bench([
            "--list", "--encoders", "x264:fast", "--points", "1M,2M", "--repeats", "2", "--density",
        ])
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 2 * 3 + 1)
        #expect(lines.first?.contains("x264 fast, mixed-1280x720, 1M, throughput, warm-up") == true)
        #expect(lines.last?.contains("density") == true)
        #expect(scratch.names.isEmpty)
    }

    @Test func wrongPlansAreRefused() throws {
        try Data("encoders: x264\nrepeat: 3\n".utf8).write(to: URL(fileURLWithPath: scratch.path("plan.yaml")))
        for (arguments, words) in [
            (["--plan", "plan.yaml"], ["repeat", "repeats", "line 2"]),
            (["--plan", "plan.yaml", "--quick"], ["--quick", "--plan"]),
            (["--encoders", "x263:fast"], ["--encoders", "x263:fast", "x264"]),
            (["--points", "1M,crf=20", "--encoders", "x264"], ["crf", "rates"]),
            (["--size", "0x0"], ["--size", "0x0"]),
            (["--fps", "30,60", "--encoders", "x264"], ["--fps", "30,60", "one value"]),
            (["--encoders", "x264,x264:medium,x264", "--clips", "chart,chart"], ["clips"]),
            (["--resume"], ["--output"]),
        ] {
            let result = try scratch.bench(arguments)
            #expect(result.status == 2, "\(arguments): \(result.errors)")
            for word in words { #expect(result.errors.contains(word), "\(arguments): \(result.errors)") }
        }
        #expect(scratch.names == ["plan.yaml"])
    }

    /// A benchmark of which nothing came is not one that is done.
    @Test func nothingIsNoResult() throws {
        let result = try scratch.bench([
            "--quick", "--size", "160x96", "--frames", "4", "--points", "100k", "--quiet", "--output", "out",
            "--encoders",
            "/dev/dri/renderD250:h264:full",
        ])
        #expect(result.status == 1, "\(result.errors)")
        #expect(result.errors.contains("no encoder of the benchmark produced a result"), "\(result.errors)")
        #expect(FileManager.default.fileExists(atPath: scratch.path("out/report.json")), "why is in the report")
    }

    @Test func aFileThatIsMissingIsNamed() throws {
        let result = try scratch.bench([
            "--quick", "--encoders", "x264", "--clips", "./missing.mp4", "--output", "out", "--quiet",
        ])
        #expect(result.status == 1)
        #expect(result.errors.contains("missing.mp4"))
        #expect(!FileManager.default.fileExists(atPath: scratch.path("out/report.json")))
    }

    // MARK: - Interruptions

    @Test(arguments: [SIGINT, SIGTERM, SIGKILL])
    func whatWasInterruptedGoesOn(_ signal: Int32) throws {
        let arguments =
            ["--quick", "--size", "160x96", "--frames", "20", "--points", "100k,200k,400k,800k", "--quiet"]
            + ["--encoders", "x264:ultrafast", "--repeats", "5", "--output", "out"]
        let program = try RunningProgram([Scratch.vatoolbox, "bench"] + arguments, in: scratch)
        try program.wait(until: "two runs are over") { finishedRuns >= 2 }
        program.signal(signal)
        let status = program.end()
        #expect(status == (signal == SIGKILL ? 1000 + signal : 130))
        #expect(!FileManager.default.fileExists(atPath: scratch.path("out/report.json")))
        let before = finishedRuns
        #expect(before < 20, "it was over before the signal came")

        // What was begun stays as it is, and another plan does not go on with it.
        #expect(try scratch.bench(arguments).status == 2)
        #expect(try scratch.bench(arguments + ["--frames", "21", "--resume"]).status == 2)
        let rest = try scratch.bench(["--resume", "--output", "out", "--quiet"])
        #expect(rest.status == 0, "\(rest.errors)")
        let report = try scratch.benchReport(in: "out")
        #expect(report["isComplete"] as? Bool == true)
        let runs = try benchRuns(report)
        #expect(runs.count == 20)
        let kinds = Set(try runs.map { "\(try #require($0.run["point"] as? String)) \($0.run["repetition"] ?? "")" })
        #expect(kinds.count == 20, "each once")
        // Times go on where they stopped.
        let starts = try runs.map { try number($0.run["startedAfter"]) }
        #expect(starts == starts.sorted())
        #expect(try number(report["duration"]) >= starts[19])
    }

    /// Lines of runs in the journal that are complete.
    private var finishedRuns: Int {
        let text = scratch.text("out/journal.jsonl")
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        return lines.count { $0.hasPrefix(#"{"run""#) }
    }

    // MARK: - Density

    @Test func densityStopsAtTheLimitOfThePlan() throws {
        let plan = """
            encoders: [x264:ultrafast]
            sizes: 160x96
            frames: 10
            points: 100k
            repeats: 1
            warmups: 0
            density: {seconds: 0.5, maximumStreams: 3, confirmations: 1, latencyBound: 3600, rateShare: 0.01}
            """
        try Data(plan.utf8).write(to: URL(fileURLWithPath: scratch.path("plan.yaml")))
        let result = try scratch.bench(["--plan", "plan.yaml", "--output", "out", "--quiet"])
        #expect(result.status == 0, "\(result.errors)")
        let density = try #require((try scratch.benchReport(in: "out")["density"] as? [[String: Any]])?.first)
        #expect(density["streams"] as? Int == 3 && density["isLeastEstimate"] as? Bool == true)
        let trials = try #require(density["trials"] as? [[String: Any]])
        #expect(trials.compactMap { $0["streams"] as? Int } == [1, 2, 3])
        #expect(trials.allSatisfy { ($0["results"] as? [Any])?.count == $0["streams"] as? Int })
    }

    @Test func whatNoMachineKeepsHasDensityZero() throws {
        let plan = """
            encoders: [x264:medium]
            sizes: 160x96
            frames: 10
            points: 100k
            repeats: 1
            warmups: 0
            density: {seconds: 0.5, latencyBound: 0.001, maximumStreams: 3, confirmations: 1}
            """
        try Data(plan.utf8).write(to: URL(fileURLWithPath: scratch.path("plan.yaml")))
        let result = try scratch.bench(["--plan", "plan.yaml", "--output", "out", "--quiet"])
        #expect(result.status == 0, "\(result.errors)")
        let density = try #require((try scratch.benchReport(in: "out")["density"] as? [[String: Any]])?.first)
        #expect(density["streams"] as? Int == 0 && (density["limit"] as? String)?.contains("latency") == true)
    }
}
