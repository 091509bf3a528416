// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension BenchmarkReport {
    /// Returns the warnings for the reader, most important first: observations during the measurement, and findings in
    /// the data.
    func warnings(points: [PointFigures]) -> [Warning] {
        let all =
            encoderWarnings + remarks + machineWarnings + clipWarnings + runWarnings(points)
            + environment.gaps.map(Self.gap)
        return Warning.Weight.allCases.flatMap { weight in all.filter { $0.weight == weight } }
    }

    private static func gap(_ text: String) -> Warning { Warning(.note, text) }

    private var encoderWarnings: [Warning] {
        encoders.flatMap { encoder -> [Warning] in
            var warnings: [Warning] = []
            if encoder.isReferenceDriver { warnings.append(.referenceDriver("encoder", subject: encoder.id)) }
            if encoder.isFakeNode { warnings.append(.fakeNode(subject: encoder.id)) }
            return warnings
        }
            + (environment.gpus.filter { gpu in gpu.isFake && !encoders.contains { $0.device == gpu.node } }.map {
                gpu in
                Warning(.note, "\(gpu.node) is a fake render node; nothing ran on it.")
            })
    }

    private var machineWarnings: [Warning] {
        var warnings: [Warning] = []
        if !isComplete { warnings.append(Warning(.caution, "The benchmark was stopped before its plan was complete.")) }
        warnings += environment.warnings
        if Set(encoders.map(\.transfer)).isSuperset(of: [.upload, .zeroCopy]) {
            let message = "The report contains hybrid and zero-copy encoders, but does not compare them."
            warnings.append(Warning(.caution, message))
        }
        if plan.repeats < 6 { warnings.append(.fewRepeats(plan.repeats, per: "point")) }
        return warnings
    }

    private var clipWarnings: [Warning] {
        clips.compactMap { clip in
            clip.pictureCount.map { count in
                let message =
                    "\(count) pictures, played forwards and backwards in turn, make up its \(clip.frameCount) frames."
                return Warning(.note, message, subject: clip.id)
            }
        }
    }

    private func runWarnings(_ points: [PointFigures]) -> [Warning] {
        var seen: Set<Warning> = []
        var warnings: [Warning] = []
        func add(_ warning: Warning) {
            if seen.insert(warning).inserted { warnings.append(warning) }
        }
        for point in points {
            let encoder = point.series.encoder
            for failure in point.failures { add(Warning(.caution, "Runs failed: \(failure)", subject: encoder)) }
            for (_, run) in point.measurements {
                for deviation in run.deviations { add(Warning(.caution, deviation, subject: encoder)) }
                if run.quality.frames != 0, run.quality.frames != point.context.clip.frameCount {
                    let message =
                        "\(point.series.clip): \(run.quality.frames) frames were compared instead of "
                        + "\(point.context.clip.frameCount), so no quality is reported."
                    add(Warning(.caution, message, subject: encoder))
                }
            }
            if point.series.mode == .throughput, let speed = point[.speed], speed.count > 1,
                speed.high - speed.low > 0.2 * speed.median
            {
                let message = "Speed on \(point.series.clip) varies by more than a fifth from repeat to repeat."
                add(Warning(.caution, message, subject: encoder))
            }
        }
        return warnings + droppedWarnings(points)
    }

    /// Returns warnings about the dropped frames of each series.
    private func droppedWarnings(_ points: [PointFigures]) -> [Warning] {
        let series = points.map(\.series).reduce(into: [SeriesKey]()) { if !$0.contains($1) { $0.append($1) } }
        return series.compactMap { key in
            let runs = points.filter { $0.series == key }.flatMap { $0.measurements.map(\.run) }
            func share(_ run: Measurement) -> Double { Double(run.framesDropped) / Double(max(1, run.framesIn)) }
            let dropped = runs.reduce(0) { $0 + Double($1.framesDropped) }
            guard dropped > 0, let worst = runs.max(by: { share($0) < share($1) }) else { return nil }
            let all = runs.reduce(0) { $0 + Double($1.framesIn) }
            let message =
                "\(Readable.number(dropped, places: 0)) of \(Readable.number(all, places: 0)) frames of \(key.clip) were "
                + "dropped in \(key.mode.title) mode; in the worst run \(worst.framesDropped) of \(worst.framesIn)."
            return Warning(.caution, message, subject: key.encoder)
        }
    }
}

extension BenchmarkMode {
    /// The metrics that only have a meaning in modes with paced frames, as from a live source.
    var pacedMetrics: [Metric] { self == .throughput ? [] : [.dropped] }

    /// The name for people.
    var title: String {
        switch self {
        case .throughput: "throughput"
        case .realTime: "real time"
        case .lowLatency: "low latency"
        }
    }
}
