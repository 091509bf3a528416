// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import EncodingBenchmark

@Suite struct DerivedFiguresTests {
    @Test func warmUpsCountNowhere() throws {
        let figures = DerivedFigures(SampleReport.make())
        #expect(figures.points.count == 4)
        for point in figures.points {
            let speed = try #require(point[.speed])
            #expect(speed.count == 3)
            #expect(speed.low > 99)
        }
    }

    @Test func metricsAreThoseOfTheRun() throws {
        let point = try #require(DerivedFigures(SampleReport.make()).points.first)
        func median(_ metric: Metric) throws -> Double { try #require(point[metric]).median }
        #expect(try abs(median(.timesRealTime) - 100 / 1.002 / 25) < 1e-9)
        #expect(try abs(median(.processorShare) - 4) < 1e-9)
        #expect(try abs(median(.processorPerFrame) - 0.04 * 1.002) < 1e-9)
        #expect(try median(.bitRate) == 500_000)
        #expect(try median(.rateError) == 0)
        #expect(try abs(median(.windowDeviation) - 0.0707106781) < 1e-9)
        #expect(try median(.psnr) == 33)
        #expect(point[.vmaf] == nil)
        #expect(point[.power] == nil)
    }

    @Test func qualityOfOtherFramesIsNone() throws {
        var report = SampleReport.make()
        for index in report.runs.indices {
            guard var run = report.runs[index].result.value, run.quality.frames > 0 else { continue }
            run.quality.frames = 99
            report.runs[index].result = .value(run)
        }
        let figures = DerivedFigures(report)
        #expect(figures.points.allSatisfy { $0[.psnr] == nil })
        #expect(figures.warnings.contains { $0.message.contains("99 frames were compared instead of 100") })
    }

    @Test func aBetterEncoderNeedsLessRate() throws {
        let report = SampleReport.make([
            SampleReport.medium, .init(encoder: SampleReport.software("slow"), speed: 0.5, gain: 0.5),
        ])
        let comparison = try #require(DerivedFigures(report).comparisons.first { $0.series.encoder == "x264 slow" })
        #expect(comparison.anchor == "x264 medium")
        let curve = try #require(comparison.curves.first { $0.quality.id == "psnr" })
        #expect(try #require(curve.rate.value).value < -5)
        #expect(try abs(#require(curve.gain.value).value - 0.5) < 1e-9)
        #expect(comparison.curves.first { $0.quality.id == "vmaf" }?.rate.absence?.contains("too few points") == true)
        #expect(try abs(#require(comparison.speed.value).median - 0.5) < 1e-9)
    }

    @Test func hybridIsNotComparedWithZeroCopy() {
        let hybrid = SampleReport.hardware("a", .upload)
        let zeroCopy = SampleReport.hardware("b", .zeroCopy)
        #expect(hybrid.refusal(against: zeroCopy) == "a is hybrid and b is zero-copy")
        #expect(zeroCopy.refusal(against: hybrid) != nil)
        #expect(hybrid.refusal(against: SampleReport.medium.encoder) == nil)
        let report = SampleReport.make([.init(encoder: hybrid), .init(encoder: zeroCopy)])
        #expect(DerivedFigures(report).warnings.contains { $0.message.contains("does not compare them") })
    }

    @Test func aBuildWithoutOptimisationIsWarnedOf() {
        var report = SampleReport.make()
        func isWarned() -> Bool { DerivedFigures(report).warnings.contains { $0.message.contains("debug build") } }
        #expect(!isWarned())
        let detail = InstalledSoftware.withoutOptimisation
        report.environment.components.append(.init(name: "vatoolbox", version: "0", detail: detail))
        #expect(isWarned())
    }

    @Test func whatIsNoHardwareIsSaidFirst() throws {
        var reference = SampleReport.hardware("a", .upload)
        reference.isReferenceDriver = true
        var fake = SampleReport.hardware("b", .upload)
        fake.isFakeNode = true
        let report = SampleReport.make([.init(encoder: reference), .init(encoder: fake)])
        let warnings = DerivedFigures(report).warnings
        #expect(warnings[0].weight == .banner && warnings[0].subject == "a")
        #expect(warnings[1].weight == .banner && warnings[1].subject == "b")
        #expect(warnings.dropFirst(2).allSatisfy { $0.weight != .banner })
        let text = report.text(width: 100)
        #expect(text.hasPrefix("!!!!"))
        #expect(text.contains("REFERENCE DRIVER"))
        #expect(text.contains("FAKE RENDER NODE"))
    }

    @Test func streamsHaveTheirCostAndPower() throws {
        func trial(_ streams: Int, _ isKept: Bool) -> BenchmarkReport.DensityTrial {
            BenchmarkReport.DensityTrial(
                streams: streams,
                isKept: isKept,
                wallTime: 10,
                results: [],
                processorTime: .init(user: 30, system: 10),
                peakMemory: .absent("no"),
                gpuBusy: .absent("no"),
                energy: .value(["package-0": 300, "dram-0": 100])
            )
        }
        let density = BenchmarkReport.Density(
            clip: "c",
            encoder: "e",
            point: .quality(23),
            streams: 8,
            isLeastEstimate: false,
            limit: "the rate",
            trials: [trial(4, true), trial(16, false), trial(8, true), trial(9, false)]
        )
        let figures = DensityFigures(density, price: 2)
        #expect(figures.power == .value(40))
        #expect(figures.streamsPerWatt == .value(0.2))
        #expect(figures.costPerStreamHour == .value(0.25))
        #expect(figures.processorShare == 4)
        #expect(DensityFigures(density, price: nil).costPerStreamHour.absence == "no price was given")
    }

    @Test func histogramsHoldEveryValue() {
        let histogram = BenchmarkReport.Histogram([1e-9, 1e-5, 0.001, 0.0011, 1, 5, .infinity])
        #expect(histogram.counts.reduce(0, +) == 6)
        #expect(histogram.counts.first == 2)
        #expect(histogram.counts.last == 1)
        #expect(histogram.edges.count == histogram.counts.count + 1)
        #expect(zip(histogram.edges, histogram.edges.dropFirst()).allSatisfy(<))
        #expect(histogram.edges[histogram.edges.count - 2] <= 5 && 5 < (histogram.edges.last ?? 0))
        #expect(BenchmarkReport.Histogram([]).counts.isEmpty)
    }

    @Test func sharesOfHistogramsRiseToAll() throws {
        let steps = [
            BenchmarkReport.Histogram(edges: [1, 2, 4], counts: [1, 1]),
            BenchmarkReport.Histogram(edges: [2, 4], counts: [2]),
        ].cumulative
        #expect(steps.map(\.value) == [1, 2, 4])
        #expect(steps.map(\.share) == [0, 0.25, 1])
        #expect([BenchmarkReport.Histogram]().cumulative.isEmpty)
    }
}
