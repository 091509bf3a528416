// SPDX-License-Identifier: GPL-2.0-or-later

/// A figure of a run, with its presentation and comparison. Tables, CSV, JSON and comparisons are all based on ``all``.
struct Metric: Sendable, Identifiable {
    /// The better direction.
    enum Direction: Sendable {
        case higher, lower
    }

    /// The key under `derived`; with ``baseUnit``, the column name in a CSV file.
    let id: String
    /// The heading of a column.
    let title: String
    /// The displayed unit; empty for plain numbers.
    let unit: String
    /// The unit of ``value``, as in CSV column names.
    let baseUnit: String
    /// The factor from the base unit to the displayed unit.
    let scale: Double
    /// The displayed number of decimal places.
    let places: Int
    /// The better direction; `nil` if it depends.
    let better: Direction?
    /// The explanation, in one sentence without a full stop.
    let explanation: String
    /// Returns the value in its base unit; `nil` if the run has none.
    let value: @Sendable (BenchmarkReport.Measurement, RunContext) -> Double?

    /// The title with its unit.
    var heading: String { unit.isEmpty ? title : "\(title), \(unit)" }
}

/// The context of a run's measurement.
struct RunContext: Sendable {
    /// The clip.
    let clip: BenchmarkReport.Clip
    /// The point.
    let point: BenchmarkPoint
}

extension Metric {
    static let speed = Metric(
        id: "framesPerSecond",
        title: "Speed",
        unit: "fps",
        baseUnit: "fps",
        scale: 1,
        places: 1,
        better: .higher,
        explanation: "frames per second from the first submitted frame to the last received sample"
    ) { run, _ in run.framesPerSecond }

    static let timesRealTime = Metric(
        id: "timesRealTime",
        title: "Real time",
        unit: "×",
        baseUnit: "ratio",
        scale: 1,
        places: 2,
        better: .higher,
        explanation: "speed divided by the clip's frame rate"
    ) { run, context in
        context.clip.framesPerSecond > 0 ? run.framesPerSecond / context.clip.framesPerSecond : nil
    }

    static let latencyP50 = latency(
        "P50",
        "p50",
        "latency that half of the frames do not exceed, from submission to sample"
    ) { $0.p50 }
    static let latencyP90 = latency("P90", "p90", "latency that 90 % of the frames do not exceed") { $0.p90 }
    static let latencyP99 = latency("P99", "p99", "latency that 99 % of the frames do not exceed") { $0.p99 }
    static let latencyMaximum = latency("Maximum", "max", "latency of the slowest frame") { $0.maximum }

    /// Latencies only include coded frames: without this metric, an encoder that drops most frames would appear fast.
    static let dropped = Metric(
        id: "dropped",
        title: "Dropped",
        unit: "%",
        baseUnit: "ratio",
        scale: 100,
        places: 2,
        better: .lower,
        explanation: "frames that were dropped because the encoder was behind, as with a live source"
    ) { run, _ in run.framesIn > 0 ? Double(run.framesDropped) / Double(run.framesIn) : nil }

    static let timeToFirstSample = Metric(
        id: "timeToFirstSample",
        title: "First sample",
        unit: "ms",
        baseUnit: "s",
        scale: 1e3,
        places: 1,
        better: .lower,
        explanation: "from the start of a session, before its encoder is created, to the first sample"
    ) { run, _ in run.timeToFirstSample }

    static let processorPerFrame = Metric(
        id: "processorPerFrame",
        title: "CPU per frame",
        unit: "ms",
        baseUnit: "s",
        scale: 1e3,
        places: 2,
        better: .lower,
        explanation: "CPU time of the process and its helper per frame"
    ) { run, _ in run.framesOut > 0 ? run.processorTime.total / Double(run.framesOut) : nil }

    static let processorShare = Metric(
        id: "processorShare",
        title: "CPU",
        unit: "%",
        baseUnit: "ratio",
        scale: 100,
        places: 0,
        better: nil,
        explanation: "CPU time per second; 100 % is one logical processor"
    ) { run, _ in run.wallTime > 0 ? run.processorTime.total / run.wallTime : nil }

    static let peakMemory = Metric(
        id: "peakMemory",
        title: "Memory",
        unit: "MB",
        baseUnit: "bytes",
        scale: 1e-6,
        places: 1,
        better: .lower,
        explanation: "peak memory of the process and its helper"
    ) { run, _ in run.peakMemory.value.map(Double.init) }

    static let copiesPerFrame = Metric(
        id: "copiesPerFrame",
        title: "Copies",
        unit: "",
        baseUnit: "per_frame",
        scale: 1,
        places: 2,
        better: .lower,
        explanation: "number of copies of a picture on its way to the encoder"
    ) { run, _ in run.framesOut > 0 ? Double(run.copiedPictures) / Double(run.framesOut) : nil }

    static let bitRate = Metric(
        id: "bitRate",
        title: "Bit rate",
        unit: "kbit/s",
        baseUnit: "bit_per_s",
        scale: 1e-3,
        places: 0,
        better: nil,
        explanation: "size of all samples divided by the clip's duration"
    ) { run, context in context.clip.duration > 0 ? Double(run.bytes) * 8 / context.clip.duration : nil }

    static let rateError = Metric(
        id: "rateError",
        title: "Off asked",
        unit: "%",
        baseUnit: "ratio",
        scale: 100,
        places: 1,
        better: nil,
        explanation: "deviation of the delivered bitrate from the requested one"
    ) { run, context in
        guard let asked = context.point.bitsPerSecond, let delivered = bitRate.value(run, context) else { return nil }
        return delivered / Double(asked) - 1
    }

    static let windowDeviation = Metric(
        id: "windowDeviation",
        title: "1 s deviation",
        unit: "%",
        baseUnit: "ratio",
        scale: 100,
        places: 1,
        better: nil,
        explanation: "standard deviation of the bitrate in windows of one second, divided by its mean"
    ) { run, _ in
        guard run.windows.count > 1 else { return nil }
        let mean = run.windows.reduce(0, +) / Double(run.windows.count)
        let squares = run.windows.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        return mean > 0 ? (squares / Double(run.windows.count)).squareRoot() / mean : nil
    }

    static let largestFrame = Metric(
        id: "largestFrame",
        title: "Largest frame",
        unit: "kB",
        baseUnit: "bytes",
        scale: 1e-3,
        places: 1,
        better: nil,
        explanation: "the size of the largest sample"
    ) { run, _ in Double(run.largestFrame) }

    static let psnr = quality(
        "psnr",
        "PSNR Y",
        "peak signal-to-noise ratio of luma, from the mean squared error of all frames",
        inDecibels: true
    ) { $0.psnr.value?.y }

    static let ssim = quality("ssim", "SSIM Y", "structural similarity of luma, mean over frames", places: 4) {
        $0.ssim.value?.y
    }

    static let vmaf = quality("vmaf", "VMAF", "by libvmaf, mean over frames", baseUnit: "score") { $0.vmaf.value?.mean }

    static let xpsnr = quality(
        "xpsnr",
        "XPSNR Y",
        "perceptually weighted peak signal-to-noise ratio of luma, by ffmpeg",
        inDecibels: true
    ) { $0.xpsnr.value?.y }

    static let gpuBusy = Metric(
        id: "gpuBusy",
        title: "GPU",
        unit: "%",
        baseUnit: "ratio",
        scale: 100,
        places: 0,
        better: nil,
        explanation: "the share of time in which the GPU's busiest engine worked"
    ) { run, _ in run.wallTime > 0 ? run.gpuBusy.value?.values.max().map { $0 / run.wallTime } : nil }

    static let power = Metric(
        id: "power",
        title: "Power",
        unit: "W",
        baseUnit: "watts",
        scale: 1,
        places: 1,
        better: .lower,
        explanation: "the sum of all energy counters, divided by the duration of the run"
    ) { run, _ in run.wallTime > 0 ? joules(run).map { $0 / run.wallTime } : nil }

    static let energyPerFrame = Metric(
        id: "energyPerFrame",
        title: "Energy per frame",
        unit: "mJ",
        baseUnit: "joules",
        scale: 1e3,
        places: 1,
        better: .lower,
        explanation: "the sum of all energy counters, divided by the number of frames"
    ) { run, _ in run.framesOut > 0 ? joules(run).map { $0 / Double(run.framesOut) } : nil }

    /// All metrics, in the order of tables.
    static let all: [Metric] = [
        speed, timesRealTime, latencyP50, latencyP90, latencyP99, latencyMaximum, dropped, timeToFirstSample,
        processorPerFrame, processorShare, peakMemory, copiesPerFrame, bitRate, rateError, windowDeviation,
        largestFrame, psnr, ssim, vmaf,
        xpsnr, gpuBusy, power, energyPerFrame,
    ]

    /// The picture qualities for curves, the most meaningful one last.
    static let qualities: [Metric] = [psnr, ssim, xpsnr, vmaf]

    private static func latency(
        _ name: String,
        _ title: String,
        _ explanation: String,
        _ part: @escaping @Sendable (BenchmarkReport.Latency) -> Double
    ) -> Metric {
        Metric(
            id: "latency\(name)",
            title: "Latency \(title)",
            unit: "ms",
            baseUnit: "s",
            scale: 1e3,
            places: 1,
            better: .lower,
            explanation: explanation
        ) { run, _ in part(run.latency) }
    }

    /// Returns a picture quality, unless frames are missing: it would then be that of another clip.
    private static func quality(
        _ id: String,
        _ title: String,
        _ explanation: String,
        inDecibels: Bool = false,
        baseUnit: String = "ratio",
        places: Int = 2,
        _ part: @escaping @Sendable (BenchmarkReport.Quality) -> Double?
    ) -> Metric {
        Metric(
            id: id,
            title: title,
            unit: inDecibels ? "dB" : "",
            baseUnit: inDecibels ? "db" : baseUnit,
            scale: 1,
            places: places,
            better: .higher,
            explanation: explanation
        ) { run, context in run.quality.frames == context.clip.frameCount ? part(run.quality) : nil }
    }

    private static func joules(_ run: BenchmarkReport.Measurement) -> Double? {
        guard let counters = run.energy.value, !counters.isEmpty else { return nil }
        return counters.values.reduce(0, +)
    }
}
