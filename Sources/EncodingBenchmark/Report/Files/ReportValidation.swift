// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension BenchmarkReport {
    /// Refuses values that no benchmark writes, so that code that uses reports need not expect them.
    func check(name: String) throws(MediaError) {
        func refuse(_ what: String, _ given: String) -> MediaError {
            MediaError(.malformedData, "\(name): \(what)", given: given)
        }
        let (clipIDs, encoderIDs) = (Set(clips.map(\.id)), Set(encoders.map(\.id)))
        guard clipIDs.count == clips.count else { throw refuse("two clips have the same id", "\(clips.map(\.id))") }
        guard encoderIDs.count == encoders.count else {
            throw refuse("two encoders have the same id", "\(encoders.map(\.id))")
        }
        for subject in runs.map(\.clip) + density.map(\.clip) where !clipIDs.contains(subject) {
            throw refuse("there is no such clip", subject)
        }
        for subject in runs.map(\.encoder) + density.map(\.encoder) where !encoderIDs.contains(subject) {
            throw refuse("there is no such encoder", subject)
        }
        for clip in clips {
            guard clip.framesPerSecond > 0 else { throw refuse("the frame rate of a clip is invalid", clip.frameRate) }
            guard Self.counts.contains(clip.frameCount), Self.counts.contains(clip.width),
                Self.counts.contains(clip.height), Self.counts.contains(clip.bitDepth),
                Self.counts.contains(clip.pictureCount ?? 0)
            else { throw refuse("the size, bit depth or frame count of a clip is invalid", "\(clip)") }
        }
        for (index, run) in runs.enumerated() {
            guard let measurement = run.result.value else { continue }
            if let problem = measurement.problem { throw refuse("run \(index) is invalid", problem) }
        }
        for density in density {
            if let problem = density.problem { throw refuse("the density of \(density.encoder) is invalid", problem) }
        }
    }

    /// The plausible range of counts and sizes.
    fileprivate static let counts = 0...1 << 50
    /// The plausible range of times and other quantities.
    fileprivate static let quantities = 0...1e15
}

extension BenchmarkReport.Measurement {
    /// The first implausible value; `nil` if there is none.
    fileprivate var problem: String? {
        let counts = [
            framesIn, framesOut, framesDropped, copiedPictures, bytes, largestFrame, quality.frames,
            peakMemory.value ?? 0,
        ]
        if let bad = counts.first(where: { !BenchmarkReport.counts.contains($0) }) { return "a count of \(bad)" }
        let quantities =
            [
                wallTime, timeToFirstSample, latency.p50, latency.p90, latency.p99, latency.maximum,
                processorTime.user, processorTime.system,
            ] + windows + latency.histogram.edges + (gpuBusy.value ?? [:]).values + (energy.value ?? [:]).values
        if let bad = quantities.first(where: { !BenchmarkReport.quantities.contains($0) }) {
            return "a quantity of \(bad)"
        }
        let qualities =
            [quality.psnr, quality.ssim, quality.xpsnr].compactMap(\.value).flatMap { [$0.y, $0.u, $0.v] }
            + [quality.vmaf.value?.mean, quality.vmaf.value?.minimum].compactMap(\.self)
        if let bad = qualities.first(where: { !(-1000...1000).contains($0) }) { return "a quality of \(bad)" }
        let histogram = latency.histogram
        let isHistogram =
            histogram.counts.isEmpty
            || histogram.edges.count == histogram.counts.count + 1
                && zip(histogram.edges, histogram.edges.dropFirst()).allSatisfy(<)
                && histogram.counts.allSatisfy(BenchmarkReport.counts.contains)
        return isHistogram ? nil : "a histogram of \(histogram.counts.count) counts and \(histogram.edges.count) edges"
    }
}

extension BenchmarkReport.Density {
    /// The first implausible value; `nil` if there is none.
    fileprivate var problem: String? {
        let counts = [streams] + trials.map(\.streams) + trials.compactMap(\.peakMemory.value)
        if let bad = counts.first(where: { !BenchmarkReport.counts.contains($0) }) { return "a count of \(bad)" }
        let quantities = trials.flatMap { trial in
            [trial.wallTime, trial.processorTime.user, trial.processorTime.system]
                + trial.results.flatMap { [$0.share, $0.latencyP99] } + (trial.energy.value ?? [:]).values
        }
        return quantities.first { !BenchmarkReport.quantities.contains($0) }.map { "a quantity of \($0)" }
    }
}
