// SPDX-License-Identifier: GPL-2.0-or-later

import TestSupport
import Testing

@testable import Transcoding

/// The search for a quality, with curves that are computed.
@Suite struct QualitySearchTests {
    /// A search to its end: the step with which it ended, and the measurements in their order.
    private struct Run {
        var end: QualitySearch.Step
        var measured: [QualitySearch.Measurement] = []

        init(_ search: QualitySearch, _ curve: (Double) -> Double) {
            var search = search
            end = search.next
            while case .measure(let quality) = end, measured.count <= search.mostMeasurements {
                let measurement = QualitySearch.Measurement(quality: quality, score: curve(quality))
                measured.append(measurement)
                search.add(measurement)
                end = search.next
            }
        }

        /// What the search promises, whatever the curve.
        func check(_ search: QualitySearch, _ target: Double, step: Double, in qualities: ClosedRange<Double>) {
            #expect(measured.count <= search.mostMeasurements)
            #expect(Set(measured.map(\.quality)).count == measured.count, "a quality was measured twice")
            #expect(measured.allSatisfy { qualities.contains($0.quality) })
            switch end {
            case .measure: Issue.record("the search has no end")
            case .found(let found):
                #expect(found.score >= target && measured.contains(found))
                let above = measured.first { abs($0.quality - found.quality - step) < step / 2 }
                if found.quality + step <= qualities.upperBound {
                    #expect(above.map { !($0.score >= target) } == true, "the next step is not known to fail")
                }
            case .unreachable(let best):
                #expect(best.quality == qualities.lowerBound && !(best.score >= target))
            }
        }
    }

    private static let all = 1.0...51.0

    private func search(
        _ metric: QualityMetric,
        _ score: Double,
        step: Double = 0.5,
        first: Double = 24
    ) -> QualitySearch {
        QualitySearch(QualityTarget(metric, score), step: step, first: first)
    }

    /// SSIM as encoders give it: the distance to 1 grows exponentially.
    private func ssim(at quality: Double, half: Double, slope: Double) -> Double {
        1 - 0.02 * exponential((quality - half) * slope)
    }

    private func exponential(_ x: Double) -> Double {
        var (sum, term) = (1.0, 1.0)
        let small = x / 64
        for n in 1...12 {
            term *= small / Double(n)
            sum += term
        }
        return (0..<6).reduce(sum) { value, _ in value * value }
    }

    /// With a falling curve, the answer is the highest quality that reaches the target, for every place of the
    /// crossing.
    @Test(arguments: [0.5, 1.0]) func fallingCurvesGiveTheHighestQuality(step: Double) {
        var most = 0
        for slope in [0.04, 0.08, 0.13] {
            for half in stride(from: 0.7, through: 52, by: 0.37) {
                let search = search(.ssim, 0.98, step: step)
                let curve = { ssim(at: $0, half: half, slope: slope) }
                let run = Run(search, curve)
                run.check(search, 0.98, step: step, in: Self.all)
                let grid = Array(stride(from: 1.0, through: 51, by: step))
                if let best = grid.last(where: { curve($0) >= 0.98 }) {
                    #expect(run.end == .found(.init(quality: best, score: curve(best))))
                } else {
                    #expect(run.end == .unreachable(.init(quality: 1, score: curve(1))))
                }
                most = max(most, run.measured.count)
            }
        }
        #expect(most <= 7, "a smooth curve took \(most) measurements")
    }

    @Test(arguments: QualityMetric.allCases) func everyMetricConverges(metric: QualityMetric) {
        let range = metric == .ssim ? (0.9, 0.9999) : metric == .psnr ? (25, 50) : (20, 99.9)
        for share in stride(from: 0.05, through: 0.95, by: 0.01) {
            let target = range.0 + share * (range.1 - range.0)
            let search = search(metric, target)
            let curve = { (quality: Double) in range.1 - (range.1 - range.0) * (quality - 1) / 50 }
            let run = Run(search, curve)
            run.check(search, target, step: 0.5, in: Self.all)
            guard case .found = run.end else {
                Issue.record("\(metric) \(target): \(run.end)")
                continue
            }
            #expect(run.measured.count <= 9, "\(metric) \(target) took \(run.measured.count) measurements")
        }
    }

    @Test func stepsAreFoundWhereverTheyAre() {
        for metric in QualityMetric.allCases {
            for edge in stride(from: 0.5, through: 51.5, by: 0.5) {
                let (good, bad) = metric == .ssim ? (0.99, 0.6) : (60, 20)
                let target = metric == .ssim ? 0.95 : 50
                let search = search(metric, target)
                let run = Run(search) { $0 <= edge ? good : bad }
                run.check(search, target, step: 0.5, in: Self.all)
                if edge >= 1 {
                    #expect(run.end == .found(.init(quality: min(edge, 51), score: good)))
                } else {
                    #expect(run.end == .unreachable(.init(quality: 1, score: bad)))
                }
            }
        }
    }

    @Test func boundsAreReached() {
        #expect(Run(search(.psnr, 40)) { _ in 50 }.end == .found(.init(quality: 51, score: 50)))
        #expect(Run(search(.psnr, 40)) { _ in 30 }.end == .unreachable(.init(quality: 1, score: 30)))
        #expect(Run(search(.psnr, 40)) { _ in 40 }.end == .found(.init(quality: 51, score: 40)), "a score may be equal")
        #expect(Run(search(.psnr, 40)) { $0 == 1 ? 40 : 30 }.end == .found(.init(quality: 1, score: 40)))
    }

    @Test(arguments: [-100.0, 1, 24.3, 51, 1000]) func everyBeginningEndsInTheSameAnswer(first: Double) {
        let search = search(.psnr, 40, first: first)
        let run = Run(search) { 60 - $0 }
        run.check(search, 40, step: 0.5, in: Self.all)
        #expect(run.end == .found(.init(quality: 20, score: 40)))
    }

    /// Noise, waves and plateaus: what is promised holds, although there may be several answers.
    @Test func curvesThatRiseInPlacesKeepThePromise() {
        var random = SplitMix(20)
        for round in 0..<3000 {
            let metric = QualityMetric.allCases[round % 3]
            let step = round % 2 == 0 ? 0.5 : 1
            let (top, target) = metric == .ssim ? (0.9999, 0.97) : (70.0, 45)
            let noise = (metric == .ssim ? 0.02 : 20) * Double(random.next() % 100) / 100
            var known: [Double: Double] = [:]
            let search = search(metric, target, step: step, first: Double(random.next() % 60))
            let run = Run(search) { quality in
                if let score = known[quality] { return score }
                let base = top - (metric == .ssim ? 0.0012 : 0.8) * quality
                let score = base + noise * (Double(random.next() % 2001) / 1000 - 1)
                known[quality] = score
                return score
            }
            run.check(search, target, step: step, in: Self.all)
        }
    }

    @Test func valuesThatAreNoNumbersFail() {
        for value in [Double.nan, .infinity, -.infinity] {
            let search = search(.ssim, 0.98)
            let run = Run(search) { $0 < 10 ? 0.99 : value }
            #expect(run.measured.count <= search.mostMeasurements)
            if case .found = run.end { continue }
            Issue.record("\(value): \(run.end)")
        }
        #expect(Run(search(.psnr, 40)) { _ in .nan }.measured.count <= search(.psnr, 40).mostMeasurements)
    }

    /// What was not asked for does no harm.
    @Test func measurementsOutOfPlaceDoNotTrap() {
        var random = SplitMix(3)
        for _ in 0..<500 {
            var search = search(.psnr, 40, step: 1)
            for _ in 0..<60 {
                let quality = Double(random.next() % 200) - 80
                search.add(.init(quality: quality, score: Double(random.next() % 80)))
                _ = search.next
            }
        }
    }
}

/// Which samples stand for an input, and what they tell.
@Suite struct SamplePlanTests {
    @Test func shortInputsAreOneSample() {
        for duration in [0.04, 1, 7.99, 8] {
            #expect(SamplePlan.samples(of: duration) == [InputSample(start: 0, duration: duration)])
        }
    }

    @Test func samplesAreSpreadAndDoNotOverlap() {
        for duration in [8.01, 9, 25, 60, 119, 600, 7200, 1e6] {
            let samples = SamplePlan.samples(of: duration)
            #expect((3...12).contains(samples.count))
            #expect(samples.allSatisfy { $0.duration == SamplePlan.sampleDuration && $0.start >= 0 })
            #expect(samples.allSatisfy { $0.start + $0.duration <= duration })
            for (one, next) in zip(samples, samples.dropFirst()) { #expect(one.start + one.duration <= next.start) }
            // As far from the start as from the end.
            let last = samples[samples.count - 1]
            #expect(abs(samples[0].start - (duration - last.start - last.duration)) < 1e-6)
        }
        #expect(SamplePlan.samples(of: 30).count == 6 && SamplePlan.samples(of: 3600).count == 12)
    }

    private func sample(_ duration: Double, _ bytes: Int, key: Int, _ time: Double = 1) -> CodedSample {
        CodedSample(duration: duration, byteCount: bytes, keyFrameByteCount: key, time: time)
    }

    @Test func aWholeSampleIsThePrediction() {
        let prediction = SizePrediction([sample(6, 1000, key: 300, 2)], duration: 6, keyFrameInterval: 5)
        #expect(prediction == SizePrediction([sample(6, 1000, key: 0, 2)], duration: 6, keyFrameInterval: nil))
        #expect(prediction.byteCount == 1000 && prediction.time == 2)
    }

    @Test func keyFramesCountOncePerInterval() {
        // 100 bytes a second beside key frames of 500 bytes, of which there are 12 in a minute, or 1, or one per
        // sample.
        let samples = (0..<3).map { _ in sample(2, 700, key: 500, 4) }
        func bytes(_ interval: Double?) -> Int {
            SizePrediction(samples, duration: 60, keyFrameInterval: interval).byteCount
        }
        #expect(bytes(5) == 6000 + 12 * 500)
        #expect(bytes(nil) == 6000 + 500 && bytes(1000) == 6000 + 500)
        #expect(bytes(0.5) == 700 * 30 && bytes(2) == 700 * 30)
        #expect(SizePrediction(samples, duration: 60, keyFrameInterval: 5).time == 120)
    }

    @Test func nothingIsPredictedFromNothing() {
        for prediction in [
            SizePrediction([], duration: 60, keyFrameInterval: 5),
            SizePrediction([sample(2, 10, key: 5)], duration: 0, keyFrameInterval: 5),
            SizePrediction([sample(0, 10, key: 5)], duration: 60, keyFrameInterval: 5),
        ] {
            #expect(prediction.byteCount == 0 && prediction.time == 0)
        }
    }
}
