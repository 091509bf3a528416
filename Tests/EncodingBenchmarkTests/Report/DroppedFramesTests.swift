// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import EncodingBenchmark

/// Frames that a live source would have lost are seen wherever figures are.
@Suite struct DroppedFramesTests {
    private let paced: BenchmarkReport = {
        var report = SampleReport.make()
        for index in report.runs.indices { report.runs[index].mode = .realTime }
        return report
    }()

    private func dropping(
        _ frames: Int,
        where isChanged: (BenchmarkReport.Run) -> Bool = { _ in true }
    ) -> BenchmarkReport {
        paced.changing(where: { !$0.isWarmUp && isChanged($0) }) { run in
            run.framesDropped = frames
            run.framesOut = run.framesIn - frames
        }
    }

    private func row(_ before: BenchmarkReport, _ after: BenchmarkReport) -> ReportComparison.Row? {
        ReportComparison(before, after).rows.first { $0.figure == "Dropped, %" }
    }

    @Test func tablesOfPacedModesHaveThem() throws {
        let text = dropping(75).text(width: 400)
        let head = try #require(text.split(separator: "\n").first { $0.contains("p99 ms") })
        #expect(head.contains("p99 ms  Dropped %"))
        #expect(text.contains("75.00"))
        #expect(!SampleReport.make().text(width: 400).contains("Dropped"))
    }

    @Test func filesHaveThem() throws {
        let lines = dropping(75).csv.components(separatedBy: "\r\n")
        let heads = lines[0].components(separatedBy: ",")
        let column = try #require(heads.firstIndex(of: "dropped_ratio"))
        #expect(lines[1].components(separatedBy: ",")[column] == "0.0")
        #expect(lines[5].components(separatedBy: ",")[column] == "0.75")
        #expect(String(decoding: try dropping(75).json(), as: UTF8.self).contains("\"dropped\""))
    }

    @Test func thePageHasThem() throws {
        let html = dropping(75).html
        let sections = html.components(separatedBy: "<section id=\"")
        let overview = try #require(sections.first { $0.hasPrefix("overview") })
        #expect(overview.contains("Dropped, %") && overview.contains("75.00<small>real time</small>"))
        let clip = try #require(sections.first { $0.hasPrefix("clip-0") })
        // The table of the chart of latencies, and the one of all encoders.
        #expect(clip.components(separatedBy: "Dropped, %").count - 1 == 2)
        let unpaced = SampleReport.make().html.components(separatedBy: "<section id=\"")
        let shown = unpaced.filter { $0.hasPrefix("overview") || $0.hasPrefix("clip-0") }
        #expect(shown.count == 2 && !shown.contains { $0.contains("Dropped") })
    }

    @Test func theCautionCountsThem() {
        let report = dropping(75) { $0.point == .bitRate(4_000_000) && $0.repetition > 1 }
        let messages = DerivedFigures(report).warnings.map(\.message).filter { $0.contains("dropped") }
        #expect(
            messages == [
                "150 of 1200 frames of chart-640x360 were dropped in real time mode; in the worst run 75 of 100."
            ]
        )
        #expect(!DerivedFigures(paced).warnings.contains { $0.message.contains("dropped") })
    }

    @Test func moreOfThemIsWorse() throws {
        let lost = try #require(row(paced, dropping(75)))
        #expect(lost.verdict == .worse && lost.before == "0.00" && lost.after == "75.00" && lost.ratio == nil)
        #expect(ReportComparison(paced, dropping(75)).hasRegressions)
        #expect(row(dropping(75), paced)?.verdict == .better)
        #expect(row(dropping(75), dropping(75))?.verdict == .same)
        #expect(row(paced, paced)?.verdict == .same)
        // Less than two frames of a hundred are within the tolerance.
        #expect(row(paced, dropping(1))?.verdict == .same)
    }

    /// An encoder that cannot keep up with the highest rate alone.
    @Test func onePointIsEnough() throws {
        let lost = try #require(row(paced, dropping(75) { $0.point == .bitRate(4_000_000) }))
        #expect(lost.verdict == .worse && lost.after == "75.00" && lost.remark == "at 4M")
    }

    @Test func oneStrayRunIsNot() throws {
        let stray = try #require(
            row(paced, dropping(75) { $0.point == .bitRate(4_000_000) && $0.repetition == 2 })
        )
        #expect(stray.verdict == .same)
        let most = try #require(row(paced, dropping(75) { $0.point == .bitRate(4_000_000) && $0.repetition > 1 }))
        #expect(most.verdict == .unclear && !most.remark.isEmpty)
    }

    @Test func oneRepeatTellsNothing() {
        func single(_ report: BenchmarkReport) -> BenchmarkReport {
            var report = report
            report.runs.removeAll { $0.repetition > 1 }
            return report
        }
        #expect(row(single(paced), single(dropping(75)))?.verdict == .unclear)
    }

    @Test func whatDropsNothingByItsNatureHasNoRow() {
        #expect(row(SampleReport.make(), SampleReport.make()) == nil)
    }
}
