// SPDX-License-Identifier: GPL-2.0-or-later

@testable import EncodingBenchmark

/// A report of a benchmark that never ran: one clip, x264 medium and what else a test adds.
enum SampleReport {
    static let clip = "chart-640x360"
    static let points: [BenchmarkPoint] = [
        .bitRate(500_000), .bitRate(1_000_000), .bitRate(2_000_000), .bitRate(4_000_000),
    ]

    /// An encoder that is so many times as fast as x264 medium, and so many decibels better at the same rate.
    struct Contender {
        var encoder: BenchmarkReport.Encoder
        var speed = 1.0
        var gain = 0.0
    }

    static let medium = Contender(encoder: software("medium"))

    static func software(_ preset: String) -> BenchmarkReport.Encoder {
        BenchmarkReport.Encoder(
            id: "x264 \(preset)",
            kind: .software,
            name: "x264",
            codec: "h264",
            preset: preset,
            settings: ["profile": "high"],
            transfer: .inPlace,
            isInHelper: false
        )
    }

    static func hardware(_ id: String, _ transfer: BenchmarkReport.Encoder.PictureTransfer) -> BenchmarkReport.Encoder {
        BenchmarkReport.Encoder(
            id: id,
            kind: .hardware,
            name: "VA-API",
            codec: "h264",
            device: "/dev/dri/renderD128",
            driver: "some driver",
            entrypoint: "EncSlice",
            settings: [:],
            transfer: transfer,
            isInHelper: true
        )
    }

    /// - Parameters:
    ///   - repeats: Repeats of each point, after a warm-up that is a hundred times as slow.
    ///   - noise: A factor of each repeat's time.
    static func make(
        _ contenders: [Contender] = [medium],
        clip id: String = clip,
        repeats: Int = 3,
        noise: (Int) -> Double = { 1 + 0.001 * Double($0) }
    ) -> BenchmarkReport {
        var plan = BenchmarkPlan()
        plan.repeats = repeats
        plan.points = points
        let clip = BenchmarkReport.Clip(
            id: id,
            source: "generated",
            content: "chart",
            width: 640,
            height: 360,
            frameRate: "25",
            frameCount: 100,
            pixelFormat: "I420",
            bitDepth: 8,
            color: "BT.709",
            digest: "fnv1a64:1"
        )
        var runs: [BenchmarkReport.Run] = []
        for repetition in 0...repeats {
            for point in points {
                for contender in contenders {
                    let factor = repetition == 0 ? 100 : noise(repetition)
                    runs.append(run(contender, point, repetition, clip, slower: factor))
                }
            }
        }
        return BenchmarkReport(
            program: "vatoolbox 1.2.3",
            startedAt: "2026-03-01T09:30:00Z",
            duration: 61,
            isComplete: true,
            environment: environment,
            plan: plan,
            clips: [clip],
            encoders: contenders.map(\.encoder),
            runs: runs
        )
    }

    private static func run(
        _ contender: Contender,
        _ point: BenchmarkPoint,
        _ repetition: Int,
        _ clip: BenchmarkReport.Clip,
        slower: Double
    ) -> BenchmarkReport.Run {
        let rate = Double(point.bitsPerSecond ?? 0)
        let psnr = 30 + 3 * (rate / 500_000).squareRoot() + contender.gain
        let quality =
            repetition == 1
            ? BenchmarkReport.Quality(
                frames: clip.frameCount,
                psnr: .value(.init(y: psnr, u: psnr + 2, v: psnr + 2, all: psnr + 0.5)),
                ssim: .absent("not asked for"),
                vmaf: .absent("no ffmpeg with libvmaf was found"),
                xpsnr: .absent("not asked for")
            ) : .absent("taken from the first repeat")
        let latency = BenchmarkReport.Latency(
            p50: 0.01,
            p90: 0.02,
            p99: 0.03,
            maximum: 0.04,
            histogram: BenchmarkReport.Histogram((1...100).map { Double($0) * 4e-4 })
        )
        let wall = slower / contender.speed
        let measurement = BenchmarkReport.Measurement(
            wallTime: wall,
            framesIn: 100,
            framesOut: 100,
            framesDropped: 0,
            timeToFirstSample: 0.1,
            latency: latency,
            processorTime: .init(user: 3 * wall, system: wall),
            peakMemory: .value(50_000_000),
            copiedPictures: 50,
            bytes: Int(rate / 8 * clip.duration),
            largestFrame: 30_000,
            windows: [rate * 0.9, rate, rate, rate * 1.1],
            quality: quality,
            gpuBusy: .absent("no GPU takes part"),
            energy: .absent("RAPL cannot be read")
        )
        return BenchmarkReport.Run(
            clip: clip.id,
            encoder: contender.encoder.id,
            point: point,
            mode: .throughput,
            repetition: repetition,
            startedAfter: 0,
            result: .value(measurement)
        )
    }

    static let environment = BenchmarkReport.Environment(
        processor: .init(model: "A CPU", logicalProcessors: 8, usableProcessors: 8, governor: "performance"),
        memoryBytes: 16_000_000_000,
        operatingSystem: "Debian",
        kernel: "6.12",
        gpus: [.init(node: "/dev/dri/renderD128", busIdentity: "8086:56a0")],
        components: [.init(name: "x264", version: "164")]
    )
}

extension BenchmarkReport {
    /// The same report with other measurements, where `isChanged` says so.
    func changing(
        where isChanged: (Run) -> Bool = { _ in true },
        _ change: (inout Measurement) -> Void
    ) -> BenchmarkReport {
        var report = self
        for index in runs.indices where isChanged(runs[index]) {
            guard var measurement = runs[index].result.value else { continue }
            change(&measurement)
            report.runs[index].result = .value(measurement)
        }
        return report
    }

    /// The same report with runs that failed, where `hasFailed` says so.
    func failing(_ reason: String, where hasFailed: (Run) -> Bool) -> BenchmarkReport {
        var report = self
        for index in runs.indices where hasFailed(runs[index]) { report.runs[index].result = .absent(reason) }
        return report
    }
}
