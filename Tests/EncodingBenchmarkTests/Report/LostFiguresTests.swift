// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import EncodingBenchmark

/// What an earlier report has and a later one has not.
@Suite struct LostFiguresTests {
    private let usual = SampleReport.make([SampleReport.medium, .init(encoder: SampleReport.software("veryfast"))])

    private func rows(
        _ before: BenchmarkReport,
        _ after: BenchmarkReport,
        _ figure: String
    ) -> [ReportComparison.Row] {
        ReportComparison(before, after).rows.filter { $0.figure == figure }
    }

    @Test func anEncoderThatFailsIsWorse() throws {
        let broken = usual.failing("the helper was ended by signal 11") { $0.encoder == "x264 veryfast" }
        let failed = rows(usual, broken, "runs that failed")
        #expect(failed.count == 4)
        #expect(failed.allSatisfy { $0.verdict == .worse && $0.subject.contains("x264 veryfast") })
        let first = try #require(failed.first)
        #expect(first.before == "0 of 3" && first.after == "3 of 3" && first.remark.contains("signal 11"))
        #expect(first.subject.contains("at 500k"))
        let comparison = ReportComparison(usual, broken)
        #expect(comparison.hasRegressions)
        #expect(comparison.text(width: 200).contains("4 worse"))
        #expect(rows(broken, usual, "runs that failed").allSatisfy { $0.verdict == .better })
        #expect(!ReportComparison(broken, usual).hasRegressions)
    }

    @Test(arguments: [60, 80, 100, 200])
    func whoFailedAndWhyIsSaidInNarrowTerminals(width: Int) {
        let broken = usual.failing("the helper was ended by signal 11") { $0.encoder == "x264 veryfast" }
        let text = ReportComparison(usual, broken).text(width: width)
        for words in ["x264 veryfast, throughput at 500k", "x264 veryfast, throughput at 4M", "0 of 3", "signal 11"] {
            #expect(text.contains(words), "\(words)")
        }
    }

    @Test func oneRepeatThatFailsIsWorseUnlessItDidBefore() {
        let broken = usual.failing("it crashed") { $0.repetition == 2 && $0.point == .bitRate(1_000_000) }
        #expect(rows(usual, broken, "runs that failed").map(\.after) == ["1 of 3", "1 of 3"])
        #expect(rows(broken, broken, "runs that failed").isEmpty)
        let warmUp = usual.failing("it crashed") { $0.isWarmUp }
        #expect(rows(usual, warmUp, "runs that failed").isEmpty)
    }

    @Test func qualityThatIsGoneIsWorse() throws {
        let blind = usual.changing { $0.quality = .absent("the stream cannot be decoded") }
        let lost = rows(usual, blind, "points with a quality figure")
        #expect(lost.count == 2)
        let first = try #require(lost.first)
        #expect(first.verdict == .worse && first.before == "4" && first.after == "0")
        #expect(first.remark.contains("cannot be decoded"))
        #expect(rows(blind, usual, "points with a quality figure").isEmpty)
        #expect(rows(usual, usual, "points with a quality figure").isEmpty)
        let partly = usual.changing(where: { $0.point == .bitRate(4_000_000) }) { $0.quality.frames = 99 }
        let one = try #require(rows(usual, partly, "points with a quality figure").first)
        #expect(one.verdict == .worse && one.after == "3" && one.remark.contains("99 of 100 frames"))
    }

    /// Such a frame may be chance, and is a figure of its own.
    @Test func qualityOfSomePointsThatDroppedFramesIsUnclear() throws {
        func dropped(_ isChanged: (BenchmarkReport.Run) -> Bool) -> BenchmarkReport {
            usual.changing(where: isChanged) { run in
                run.framesDropped = 1
                run.quality = .absent("frames are missing")
            }
        }
        let some = rows(usual, dropped { $0.point == .bitRate(4_000_000) }, "points with a quality figure")
        #expect(some.map(\.verdict) == [.unclear, .unclear])
        let all = rows(usual, dropped { _ in true }, "points with a quality figure")
        #expect(all.map(\.verdict) == [.worse, .worse])
    }

    @Test func aKindOfQualityThatIsGoneIsNamed() {
        let rich = usual.changing(where: { $0.repetition == 1 }) { run in
            run.quality.vmaf = .value(.init(mean: 90, harmonicMean: 90, minimum: 80, model: "vmaf_v0.6.1"))
        }
        let lost = ReportComparison(rich, usual)
        #expect(lost.unmatched == ["only before: VMAF (no ffmpeg with libvmaf was found)"])
        #expect(!lost.hasRegressions)
        #expect(ReportComparison(usual, rich).unmatched == ["only after: VMAF"])
    }

    @Test func pointsThatOnlyOneHasAreNamed() {
        var short = usual
        short.runs.removeAll { $0.encoder == "x264 veryfast" && $0.point == .bitRate(4_000_000) }
        let point = "chart-640x360, x264 veryfast, throughput at 4M"
        #expect(ReportComparison(usual, short).unmatched == ["only before: \(point)"])
        #expect(ReportComparison(short, usual).unmatched == ["only after: \(point)"])
    }

    // MARK: - Streams

    private func density(_ streams: Int?) -> BenchmarkReport {
        var report = usual
        report.density =
            streams.map { streams in
                [
                    BenchmarkReport.Density(
                        clip: SampleReport.clip,
                        encoder: "x264 veryfast",
                        point: .bitRate(1_000_000),
                        streams: streams,
                        isLeastEstimate: false,
                        trials: []
                    )
                ]
            } ?? []
        return report
    }

    @Test func noStreamAtAllIsNoNoise() throws {
        let lost = try #require(rows(density(1), density(0), "streams").first)
        #expect(lost.verdict == .worse && lost.remark.contains("no stream"))
        #expect(rows(density(0), density(1), "streams").map(\.verdict) == [.better])
        #expect(rows(density(0), density(0), "streams").map(\.verdict) == [.same])
        #expect(rows(density(2), density(1), "streams").map(\.verdict) == [.same])
    }

    @Test func streamsThatAreNotCountedAnyMoreAreWorse() throws {
        let lost = try #require(rows(density(8), density(nil), "streams").first)
        #expect(lost.verdict == .worse && lost.before == "8" && lost.after == "-" && !lost.remark.isEmpty)
        #expect(ReportComparison(density(nil), density(8)).unmatched.contains { $0.hasPrefix("only after: ") })
    }

    @Test func streamsThatNobodyAskedForAreNotMissed() {
        var (before, other, unasked) = (density(8), density(nil), density(nil))
        other.encoders.removeAll { $0.id == "x264 veryfast" }
        other.runs.removeAll { $0.encoder == "x264 veryfast" }
        #expect(!ReportComparison(before, other).hasRegressions)
        let name = "only before: chart-640x360, x264 veryfast, density at 1M"
        #expect(ReportComparison(before, other).unmatched.contains(name))
        before.plan.density = DensityPlan()
        unasked.plan.density = nil
        let comparison = ReportComparison(before, unasked, accepting: [.plan])
        #expect(!comparison.hasRegressions && comparison.unmatched == [name])
    }
}
