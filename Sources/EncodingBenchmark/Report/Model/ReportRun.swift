// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

extension BenchmarkReport {
    /// One encode of one clip: the raw data.
    package struct Run: Codable, Sendable, Hashable {
        /// ``Clip/id``.
        package var clip: String
        /// ``Encoder/id``.
        package var encoder: String
        package var point: RatePoint
        package var mode: Mode
        /// Which repeat it is, from 1; 0 for warm-ups, which count nowhere.
        package var repetition: Int
        /// When it began, in seconds from the beginning of the benchmark.
        package var startedAfter: Double
        /// What was measured, or why the run failed.
        package var result: Measured<Measurement>

        /// Whether it only warmed things up.
        package var isWarmUp: Bool { repetition == 0 }
    }

    /// What was measured in one run.
    package struct Measurement: Codable, Sendable, Hashable {
        /// From the first frame handed over to the last sample received, in seconds.
        package var wallTime: Double
        package var framesIn: Int
        package var framesOut: Int
        /// Frames that were not encoded because the encoder was not fast enough for real time.
        package var framesDropped: Int
        /// From the start of the session, before the encoder is made, to the first sample, in seconds.
        package var timeToFirstSample: Double
        /// From a frame's being handed over to its sample's arrival.
        package var latency: Latency
        /// Processor time of this process and its helper, in seconds.
        package var processorTime: ProcessorTime
        /// The most memory that this process and its helper held at a time, in bytes.
        package var peakMemory: Measured<Int>
        /// How often the pixels of a picture were copied on their way to the encoder, in all.
        package var copiedPictures: Int
        /// Size of all samples in bytes.
        package var bytes: Int
        /// Size of the largest sample in bytes.
        package var largestFrame: Int
        /// Bits per second in each second of the stream, by the times at which samples are shown; a last window that is
        /// not full is left out, unless it is the only one.
        package var windows: [Double]
        /// What became of the pictures; decoded after the timed part, from the first repeat that counts.
        package var quality: Quality
        /// How long each engine of the GPU was busy, in seconds, from the kernel's fdinfo: `["video": 1.2]`.
        package var gpuBusy: Measured<[String: Double]>
        /// What was used up, in joules, by counter: `["package-0": 130.5]`. No counter includes another.
        package var energy: Measured<[String: Double]>
        /// What another encoder took over, and what was adjusted: settings that were not honoured. Such figures are not
        /// those of the encoder alone.
        package var deviations: [String] = []

        /// Frames per second.
        package var framesPerSecond: Double { wallTime > 0 ? Double(framesOut) / wallTime : 0 }
    }

    /// Processor time in seconds.
    package struct ProcessorTime: Codable, Sendable, Hashable {
        package var user: Double
        package var system: Double
        package var total: Double { user + system }
    }

    /// How long frames took, in seconds.
    package struct Latency: Codable, Sendable, Hashable {
        package var p50: Double
        package var p90: Double
        package var p99: Double
        package var maximum: Double
        package var histogram: Histogram
    }

    /// How many values lie between two edges.
    package struct Histogram: Codable, Sendable, Hashable {
        /// In the unit of the values, increasing; one more than there are counts.
        package var edges: [Double]
        /// `counts[n]` values lie in `edges[n]..<edges[n + 1]`.
        package var counts: [Int]
    }

    /// Decoded pictures compared with those that were encoded, cropped to the same size.
    package struct Quality: Codable, Sendable, Hashable {
        /// How many frames were compared; other than the clip's count the figures are compared with nothing.
        package var frames: Int
        /// In dB, from the mean of the squared errors of all frames. Identical pictures have none: it would be infinite.
        package var psnr: Measured<Planes>
        /// 0...1: the mean over frames.
        package var ssim: Measured<Planes>
        package var vmaf: Measured<VMAF>
        /// In dB, by ffmpeg's filter.
        package var xpsnr: Measured<Planes>

        /// No quality at all, for one reason.
        package static func absent(_ reason: String) -> Quality {
            Quality(
                frames: 0,
                psnr: .absent(reason),
                ssim: .absent(reason),
                vmaf: .absent(reason),
                xpsnr: .absent(reason)
            )
        }
    }

    /// A quality of each plane.
    package struct Planes: Codable, Sendable, Hashable {
        package var y: Double
        package var u: Double
        package var v: Double
        /// Of all samples of all planes together.
        package var all: Double
    }

    /// 0...100, by libvmaf.
    package struct VMAF: Codable, Sendable, Hashable {
        package var mean: Double
        package var harmonicMean: Double
        package var minimum: Double
        /// The model: `vmaf_v0.6.1`.
        package var model: String
    }
}

extension BenchmarkReport.Histogram {
    /// Sorts values into intervals that grow by the same factor, so that short times are told apart as well as long ones.
    ///
    /// - Parameters:
    ///   - values: Above 0; what is below the least is counted as the least.
    ///   - perDecade: How many intervals a factor of ten has.
    ///   - least: Where the first possible interval begins: 10 microseconds.
    init(_ values: [Double], perDecade: Int = 12, least: Double = 1e-5) {
        let steps = values.filter(\.isFinite).map { value in
            Int((log10(max(value, least) / least) * Double(perDecade)).rounded(.down))
        }
        guard let first = steps.min(), let last = steps.max() else {
            (edges, counts) = ([], [])
            return
        }
        counts = Array(repeating: 0, count: last - first + 1)
        for step in steps { counts[step - first] += 1 }
        edges = (first...last + 1).map { least * pow(10, Double($0) / Double(perDecade)) }
    }
}
