// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import TestSupport
import Testing

@testable import EncodingBenchmark

/// What everybody knows of x264 and x265, as `vatoolbox bench` measures it.
@Suite struct CurveTests {
    /// Points of one encoder, from the lowest rate up; each with what its repeats took of processors, in seconds.
    private struct Series {
        var rates: [Double] = []
        var psnr: [Double] = []
        var ssim: [Double] = []
        var processorTimes: [[Double]] = []

        var curve: [RateQualityPoint] { zip(rates, psnr).map { RateQualityPoint(rate: $0, quality: $1) } }
    }

    private func series(_ report: BenchmarkReport, _ encoder: String) throws -> Series {
        let duration = try #require(report.clips.first).duration
        let points = Dictionary(grouping: report.runs.filter { $0.encoder == encoder }) { $0.point.bitsPerSecond ?? 0 }
        var series = Series()
        for (_, runs) in points.sorted(by: { $0.key < $1.key }) {
            let measured = try runs.map { try #require($0.result.value, "\($0.result)") }
            let first = try #require(measured.first)
            series.rates.append(Double(first.bytes) * 8 / duration)
            series.psnr.append(try #require(first.quality.psnr.value).all)
            series.ssim.append(try #require(first.quality.ssim.value).all)
            series.processorTimes.append(measured.map(\.processorTime.total))
        }
        return series
    }

    @Test(arguments: [("x264", ["ultrafast", "veryfast", "medium"]), ("x265", ["ultrafast", "medium"])])
    func qualityRisesWithRateAndPresetsKeepTheirOrder(coder: String, presets: [String]) throws {
        let folder = NSTemporaryDirectory() + "vatoolbox-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        _ = try CodedClip.run(
            BuiltProgram.path("vatoolbox"),
            [
                "bench", "--quiet", "--clips", "mixed", "--size", "320x180", "--frames", "60", "--fps", "30",
                "--points", "100k,200k,400k,800k", "--repeats", "3", "--warmups", "0", "--output", folder,
                "--encoders", presets.map { "\(coder):\($0)" }.joined(separator: ","),
            ]
        )
        let report: BenchmarkReport = try BenchmarkFile.read(folder + "/report.json")
        let all = try presets.map { preset in
            let encoder = try #require(report.encoders.first { $0.id == "\(coder) \(preset)" })
            return try series(report, encoder.id)
        }
        for series in all {
            #expect(series.rates.count == 4)
            for values in [series.rates, series.psnr, series.ssim] {
                #expect(zip(values, values.dropFirst()).allSatisfy { $0 < $1 }, "\(values)")
            }
        }
        let slowest = try #require(all.last)
        for (series, preset) in zip(all, presets).dropLast() {
            let delta = try BjontegaardDelta.rate(of: series.curve, against: slowest.curve)
            #expect(delta.value > 2, "\(preset) needs \(delta.value) % more bits than \(presets.last ?? "")")
            let pairs = zip(series.processorTimes.joined(), slowest.processorTimes.joined())
            let ratio = try PairedRatio(pairs.map { ($0, $1) })
            #expect(ratio.verdict == .secondIsLarger, "\(preset): \(ratio.interval)")
        }
    }
}
