// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

@testable import EncodingBenchmark

/// `vatoolbox bench compare` and `bench report`, as scripts see them.
@Suite struct ReportCommandTests {
    private let usual = SampleReport.make()

    @Test func exitStatusTellsRegressions() throws {
        let slower = SampleReport.make(noise: { 1.1 + 0.001 * Double($0) })
        let same = try compare(usual, usual)
        #expect(same.status == 0)
        #expect(same.output.contains("0 worse"))
        let worse = try compare(usual, slower)
        #expect(worse.status == 1)
        #expect(worse.output.contains("Speed, fps"))
        #expect(try compare(slower, usual).status == 0)
        #expect(try compare(usual, slower, ["--tolerance", "20"]).status == 0)
        let broken = try compare(usual, usual.failing("ended by signal 11") { $0.encoder == "x264 medium" })
        #expect(broken.status == 1)
        #expect(broken.output.contains("ended by signal 11"))
    }

    @Test func whatIsNotTheSameIsRefusedUnlessSomebodyInsists() throws {
        var other = usual
        other.environment.processor.model = "Another"
        let refused = try compare(usual, other)
        #expect(refused.status == 2)
        #expect(refused.errors.contains("CPU A CPU, then Another"))
        #expect(refused.errors.contains("--despite machine"))
        #expect(try compare(usual, other, ["--despite", "machine"]).status == 0)
        #expect(try compare(usual, other, ["--despite", "weather"]).status == 2)
    }

    @Test func whatIsNoReportIsBadInput() throws {
        try withFolder { folder in
            let path = folder + "/a.json"
            try Data("{}".utf8).write(to: URL(fileURLWithPath: path))
            for arguments in [["compare", path, path], ["compare", path, folder + "/none"], ["report", path]] {
                let run = try run(["bench"] + arguments)
                #expect(run.status == 2)
                #expect(!run.errors.isEmpty && run.output.isEmpty)
            }
        }
    }

    @Test func filesAreMadeAnew() throws {
        try withFolder { folder in
            let path = folder + "/a.json"
            try Data(try usual.json()).write(to: URL(fileURLWithPath: path))
            let run = try run(["bench", "report", path, folder])
            #expect(run.status == 0)
            #expect(run.output.contains("x264 medium"))
            #expect(try BenchmarkReport(path: folder + "/report.json") == usual)
            #expect(try String(contentsOfFile: folder + "/report.html", encoding: .utf8) == usual.html)
            #expect(try String(contentsOfFile: folder + "/report.csv", encoding: .utf8) == usual.csv)
        }
    }

    private typealias Outcome = (status: Int32, output: String, errors: String)

    private func compare(
        _ before: BenchmarkReport,
        _ after: BenchmarkReport,
        _ options: [String] = []
    ) throws -> Outcome {
        try withFolder { folder in
            let paths = [folder + "/before.json", folder + "/after.json"]
            for (path, report) in zip(paths, [before, after]) {
                try Data(try report.json()).write(to: URL(fileURLWithPath: path))
            }
            return try run(["bench", "compare"] + paths + options)
        }
    }

    /// Runs the built command, which is beside the test program, to its end.
    private func run(_ arguments: [String]) throws -> Outcome {
        try withFolder { folder in
            let process = Process()
            process.executableURL = URL(fileURLWithPath: try BuiltProgram.path("vatoolbox"))
            process.arguments = arguments
            process.standardInput = FileHandle.nullDevice
            let files = try ["out", "err"].map { name in
                let path = folder + "/" + name
                _ = FileManager.default.createFile(atPath: path, contents: nil)
                return try #require(FileHandle(forWritingAtPath: path))
            }
            (process.standardOutput, process.standardError) = (files[0], files[1])
            try process.run()
            process.waitUntilExit()
            func text(_ name: String) throws -> String {
                try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
            }
            return (process.terminationStatus, try text("out"), try text("err"))
        }
    }

    private func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder.path)
    }
}
