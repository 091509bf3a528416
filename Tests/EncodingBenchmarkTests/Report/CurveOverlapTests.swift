// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import EncodingBenchmark

/// Curves that share next to nothing are not told from those that do by their numbers.
@Suite struct CurveOverlapTests {
    /// Its curve begins where that of x264 medium ends: both share 1 % of their range of quality.
    private static let far = SampleReport.Contender(encoder: SampleReport.software("slow"), gain: 5.4)
    /// Both share 83 %.
    private static let near = SampleReport.Contender(encoder: SampleReport.software("slower"), gain: 0.5)

    private func section(_ name: String, _ report: BenchmarkReport) throws -> String {
        let sections = report.html.components(separatedBy: "<section id=\"")
        return try #require(sections.first { $0.hasPrefix(name) })
    }

    @Test func terminalsMarkThem() throws {
        let text = SampleReport.make([SampleReport.medium, Self.far, Self.near]).text(width: 200)
        let table = try #require(text.components(separatedBy: "same quality (below 0 is better)\n").last)
        let lines = table.split(separator: "\n")
        #expect(lines.contains { $0.contains("x264 slow ") && $0.contains(" (1 %)") })
        #expect(lines.contains { $0.contains("x264 slower ") && !$0.contains(" %)") })
        #expect(lines.contains { $0.contains("(n %):") })
        #expect(!SampleReport.make([SampleReport.medium, Self.near]).text(width: 200).contains(" %)"))
    }

    @Test func theOverviewMarksThem() throws {
        let marked = try section("overview", SampleReport.make([SampleReport.medium, Self.far]))
        #expect(marked.contains("shares 1 %"))
        let plain = try section("overview", SampleReport.make([SampleReport.medium, Self.near]))
        #expect(!plain.contains("shares"))
    }

    @Test func theChartOfSpeedLeavesThemOut() throws {
        let title = "Speed against bit rate for the same quality"
        #expect(try !section("clip-0", SampleReport.make([SampleReport.medium, Self.far])).contains(title))
        let clip = try section("clip-0", SampleReport.make([SampleReport.medium, Self.far, Self.near]))
        let figure = try #require(clip.components(separatedBy: "<figure>").first { $0.contains(title) })
        #expect(figure.contains("A point for each of 2 encoders"))
        #expect(figure.contains("Omitted because their curves hardly overlap: x264 slow."))
    }

    @Test(arguments: [(-5.4, "share 1 %"), (-8, "share no range")])
    func comparisonsDoNotJudgeByThem(gain: Double, words: String) throws {
        let bad = SampleReport.make([.init(encoder: SampleReport.medium.encoder, gain: gain)])
        let comparison = ReportComparison(SampleReport.make(), bad)
        let rate = try #require(comparison.rows.first { $0.figure == "rate for the same PSNR Y, %" })
        #expect(rate.verdict == .unclear && rate.remark.contains(words))
    }

    /// Curves that share no quality share their rates, by which a loss is seen all the same.
    @Test(arguments: [-5.4, -8])
    func qualityAtTheSameRateIsJudgedInstead(gain: Double) throws {
        let bad = SampleReport.make([.init(encoder: SampleReport.medium.encoder, gain: gain)])
        let comparison = ReportComparison(SampleReport.make(), bad)
        let row = try #require(comparison.rows.first { $0.figure == "PSNR Y for the same rate, dB" })
        #expect(row.verdict == .worse && row.after == Readable.signed(gain, places: 2))
        let back = ReportComparison(bad, SampleReport.make())
        #expect(back.rows.first { $0.figure == row.figure }?.verdict == .better)
        let usual = ReportComparison(SampleReport.make(), SampleReport.make())
        #expect(!usual.rows.contains { $0.figure == row.figure })
    }
}
