// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import EncodingBenchmark

@Suite struct ReportComparisonTests {
    private let usual = SampleReport.make()

    private func row(_ comparison: ReportComparison, _ figure: String) throws -> ReportComparison.Row {
        try #require(comparison.rows.first { $0.figure == figure })
    }

    @Test func theSameReportHasNotChanged() {
        let comparison = ReportComparison(usual, usual)
        #expect(!comparison.rows.isEmpty)
        #expect(comparison.rows.allSatisfy { $0.verdict == .same })
        #expect(comparison.obstacles.isEmpty && comparison.differences.isEmpty && comparison.unmatched.isEmpty)
        #expect(!comparison.hasRegressions)
    }

    @Test func noiseIsNoChange() throws {
        let other = SampleReport.make(noise: { [1.05, 0.94, 1.02][$0 - 1] })
        #expect(try row(ReportComparison(usual, other), "Speed, fps").verdict == .same)
    }

    @Test func slowerIsWorseAndFasterIsBetter() throws {
        let slow = SampleReport.make(noise: { 1.1 + 0.001 * Double($0) })
        let comparison = ReportComparison(usual, slow)
        let speed = try row(comparison, "Speed, fps")
        #expect(speed.verdict == .worse)
        #expect(try abs(#require(speed.ratio).median - 1 / 1.1) < 0.001)
        #expect(try #require(speed.ratio).confidence >= 0.99)
        #expect(try row(comparison, "CPU per frame, ms").verdict == .worse)
        #expect(comparison.hasRegressions)
        let back = ReportComparison(slow, usual)
        #expect(try row(back, "Speed, fps").verdict == .better)
        #expect(!back.hasRegressions)
    }

    @Test func lessThanTheToleranceIsNoChange() throws {
        let slow = SampleReport.make(noise: { 1.01 + 0.001 * Double($0) })
        #expect(try row(ReportComparison(usual, slow), "Speed, fps").verdict == .same)
        var rule = ReportComparison.Rule()
        rule.tolerance = 0.005
        #expect(try row(ReportComparison(usual, slow, rule: rule), "Speed, fps").verdict == .worse)
    }

    @Test func fewRepeatsTellNothing() throws {
        let (before, after) = (SampleReport.make(repeats: 1), SampleReport.make(repeats: 1, noise: { _ in 2 }))
        let speed = try row(ReportComparison(before, after), "Speed, fps")
        #expect(speed.verdict == .unclear)
        #expect(speed.remark.contains("4 pairs"))
    }

    @Test func lowerQualityIsWorse() throws {
        let bad = SampleReport.make([.init(encoder: SampleReport.medium.encoder, gain: -0.3)])
        let comparison = ReportComparison(usual, bad)
        #expect(try row(comparison, "rate for the same PSNR Y, %").verdict == .worse)
        #expect(try row(ReportComparison(bad, usual), "rate for the same PSNR Y, %").verdict == .better)
        #expect(try row(comparison, "Speed, fps").verdict == .same)
    }

    @Test func whatIsNotTheSameIsNotCompared() {
        func obstacles(_ change: (inout BenchmarkReport) -> Void) -> [ReportComparison.Obstacle] {
            var other = usual
            change(&other)
            let comparison = ReportComparison(usual, other)
            #expect(comparison.rows.isEmpty && comparison.isRefused(accepting: []))
            let accepted = Set(comparison.obstacles.map(\.obstacle))
            #expect(!ReportComparison(usual, other, accepting: accepted).isRefused(accepting: accepted))
            return comparison.obstacles.map(\.obstacle)
        }
        #expect(obstacles { $0.clips[0].digest = "fnv1a64:2" } == [.clips])
        #expect(obstacles { $0.clips[0].frameCount = 50 } == [.clips])
        #expect(obstacles { $0.plan.points = [] } == [.plan])
        #expect(obstacles { $0.environment.processor.model = "Another" } == [.machine])
        #expect(obstacles { $0.environment.gpus = [] } == [.machine])
        #expect(obstacles { $0.encoders[0].transfer = .zeroCopy } == [.settings])
        #expect(obstacles { $0.encoders[0].settings["bframes"] = "0" } == [.settings])
    }

    @Test func insistingComparesAllTheSame() throws {
        var other = SampleReport.make(noise: { 1.1 + 0.001 * Double($0) })
        other.environment.processor.model = "Another"
        let comparison = ReportComparison(usual, other, accepting: [.machine])
        #expect(try row(comparison, "Speed, fps").verdict == .worse)
        #expect(comparison.text(width: 100).contains("CPU A CPU, then Another"))
    }

    @Test func versionsMayDiffer() {
        var other = usual
        other.environment.components[0].version = "165"
        other.environment.kernel = "6.13"
        let comparison = ReportComparison(usual, other)
        #expect(comparison.differences == ["kernel: 6.12, then 6.13", "x264: 164, then 165"])
        #expect(!comparison.rows.isEmpty)
    }

    @Test func oneStreamMoreOrLessIsNoise() {
        func density(_ streams: Int) -> BenchmarkReport {
            var report = usual
            report.density = [
                BenchmarkReport.Density(
                    clip: SampleReport.clip,
                    encoder: "x264 medium",
                    point: .bitRate(1_000_000),
                    streams: streams,
                    isLeastEstimate: false,
                    trials: []
                )
            ]
            return report
        }
        func verdict(_ streams: Int) -> ReportComparison.Verdict? {
            ReportComparison(density(8), density(streams)).rows.first { $0.figure == "streams" }?.verdict
        }
        #expect([6, 7, 8, 9, 10].map(verdict) == [.worse, .same, .same, .same, .better])
    }

    @Test func whatOnlyOneHasIsNamed() {
        let other = SampleReport.make([SampleReport.medium, .init(encoder: SampleReport.software("slow"))])
        #expect(ReportComparison(usual, other).unmatched == ["only after: chart-640x360, x264 slow, throughput"])
        #expect(ReportComparison(other, usual).unmatched == ["only before: chart-640x360, x264 slow, throughput"])
    }
}
