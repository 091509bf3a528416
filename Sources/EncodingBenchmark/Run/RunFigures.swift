// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension StreamRecord {
    /// Returns the figures of a run with one stream.
    ///
    /// - Parameters:
    ///   - frameRate: The frame rate of the clip.
    ///   - quality: The quality of the pictures.
    /// - Throws: `frameFailed` if the stream failed or contains no samples.
    func measurement(
        frameRate: Double,
        quality: BenchmarkReport.Quality
    ) throws(MediaError) -> BenchmarkReport.Measurement {
        let stream = streams[0]
        if let failure = stream.failure { throw MediaError(.frameFailed, failure) }
        guard stream.codedFrames > 0, let first = stream.arrived.filter({ $0 >= 0 }).min() else {
            throw MediaError(.frameFailed, "the encoder returned no sample")
        }
        let begin = stream.handedOver.first ?? 0
        let last = stream.arrived.max() ?? 0
        return BenchmarkReport.Measurement(
            wallTime: last - begin,
            framesIn: stream.handedOver.count,
            framesOut: stream.codedFrames,
            framesDropped: stream.droppedFrames,
            timeToFirstSample: stream.creationTime + first - begin,
            latency: try BenchmarkReport.Latency(stream.latencies),
            processorTime: processorTime,
            peakMemory: peakMemory.map { .value($0) } ?? .absent("the kernel does not report it"),
            copiedPictures: stream.copiedPictures,
            bytes: stream.sizes.reduce(0, +),
            largestFrame: stream.sizes.max() ?? 0,
            windows: stream.windows(frameRate: frameRate),
            quality: quality,
            gpuBusy: gpuBusy,
            energy: energy,
            deviations: encoder.adjustments + stream.restarts
        )
    }
}

extension StreamRecord.Stream {
    /// The encoder failures, as text.
    fileprivate var restarts: [String] {
        failedEncoders == 0
            ? [] : ["an encoder failed \(failedEncoders) times, and \(repeatedFrames) frames were encoded again"]
    }
}

extension BenchmarkReport.Latency {
    /// - Throws: `invalidArgument` if there are no values.
    init(_ latencies: [Double]) throws(MediaError) {
        let distribution = try Distribution(latencies)
        self.init(
            p50: distribution.quantile(0.5),
            p90: distribution.quantile(0.9),
            p99: distribution.quantile(0.99),
            maximum: distribution.maximum,
            histogram: BenchmarkReport.Histogram(latencies)
        )
    }
}

extension StreamRecord.Stream {
    /// Returns the bitrate in each second of the stream, in bits per second, by presentation time. An incomplete last
    /// second is dropped unless it is the only one, in which case its rate is that of its frames.
    func windows(frameRate: Double) -> [Double] {
        var windows: [(bits: Double, frames: Int)] = []
        for (frame, size) in sizes.enumerated() {
            let second = Int((Double(frame) / frameRate).rounded(.down))
            while windows.count <= second { windows.append((0, 0)) }
            windows[second].bits += Double(size) * 8
            windows[second].frames += 1
        }
        let isLastFull = Double(sizes.count) >= Double(windows.count) * frameRate
        if windows.count == 1, !isLastFull { return windows.map { $0.bits * frameRate / Double($0.frames) } }
        return (isLastFull ? windows[...] : windows.dropLast()).map(\.bits)
    }
}

extension StreamRecord {
    /// Returns the result of a trial with simultaneous streams.
    func densityTrial(frameRate: Double, _ plan: DensityPlan) -> BenchmarkReport.DensityTrial {
        let results = streams.map { stream in
            BenchmarkReport.StreamResult(
                share: Double(stream.codedFrames) / Double(max(1, stream.handedOver.count)),
                framesDropped: stream.droppedFrames,
                latencyP99: (try? Distribution(stream.latencies).quantile(0.99)) ?? 0
            )
        }
        let failure = streams.compactMap(\.failure).first
        return BenchmarkReport.DensityTrial(
            streams: streams.count,
            isKept: failure == nil
                && results.allSatisfy { $0.share >= plan.rateShare && $0.latencyP99 <= plan.latencyBound },
            wallTime: wallTime,
            results: results,
            processorTime: processorTime,
            peakMemory: peakMemory.map { .value($0) } ?? .absent("the kernel does not report it"),
            gpuBusy: gpuBusy,
            energy: energy,
            failure: failure
        )
    }
}

extension BenchmarkReport.DensityTrial {
    /// Returns the condition that the trial violated, as text; `nil` if there is none.
    func limit(_ plan: DensityPlan) -> String? {
        if let failure { return failure }
        let share = results.map(\.share).min() ?? 1
        if share < plan.rateShare { return "a stream reached \((share * 1000).rounded() / 10) % of the rate" }
        let latency = results.map(\.latencyP99).max() ?? 0
        if latency > plan.latencyBound { return "latency rose to \((latency * 1000).rounded() / 1000) s" }
        return nil
    }
}
