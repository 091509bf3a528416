// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

extension BenchmarkReport {
    /// One encode of one clip: the raw data.
    public struct Run: Codable, Sendable, Hashable {
        /// ``Clip/id``.
        public var clip: String
        /// ``Encoder/id``.
        public var encoder: String
        /// What the encoder was told about rate or quality.
        public var point: BenchmarkPoint
        /// How pictures were handed over.
        public var mode: BenchmarkMode
        /// Which repeat it is, from 1; 0 for warm-ups, which count nowhere.
        public var repetition: Int
        /// When it began, in seconds from the beginning of the benchmark.
        public var startedAfter: Double
        /// What was measured, or why the run failed.
        public var result: Measured<Measurement>

        /// Whether it only warmed things up.
        public var isWarmUp: Bool { repetition == 0 }
    }

    /// What was measured in one run.
    public struct Measurement: Codable, Sendable, Hashable {
        /// From the first frame handed over to the last sample received, in seconds.
        public var wallTime: Double
        /// Frames that were handed over.
        public var framesIn: Int
        /// Samples that came back.
        public var framesOut: Int
        /// Frames that were not encoded because the encoder was not fast enough for real time.
        public var framesDropped: Int
        /// From the start of the session, before the encoder is made, to the first sample, in seconds.
        public var timeToFirstSample: Double
        /// From a frame's being handed over to its sample's arrival.
        public var latency: Latency
        /// Processor time of this process and its helper, in seconds.
        public var processorTime: ProcessorTime
        /// The most memory that this process and its helper held at a time, in bytes.
        public var peakMemory: Measured<Int>
        /// How often the pixels of a picture were copied on their way to the encoder, in all.
        public var copiedPictures: Int
        /// Size of all samples in bytes.
        public var bytes: Int
        /// Size of the largest sample in bytes.
        public var largestFrame: Int
        /// Bits per second in each second of the stream, by the times at which samples are shown; a last window that is
        /// not full is left out, unless it is the only one.
        public var windows: [Double]
        /// What became of the pictures; decoded after the timed part.
        public var quality: Quality
        /// How long each engine of the GPU was busy, in seconds, from the kernel's fdinfo: `["video": 1.2]`.
        public var gpuBusy: Measured<[String: Double]>
        /// What was used up, in joules, by counter: `["package-0": 130.5]`. No counter includes another.
        public var energy: Measured<[String: Double]>
        /// What another encoder took over, and what was adjusted: settings that were not honoured. Such figures are not
        /// those of the encoder alone.
        @NothingIfAbsent public var deviations: [String] = []

        /// Frames per second.
        public var framesPerSecond: Double { wallTime > 0 ? Double(framesOut) / wallTime : 0 }
    }

    /// Processor time in seconds.
    public struct ProcessorTime: Codable, Sendable, Hashable {
        /// In the program.
        public var user: Double
        /// In the kernel on its behalf.
        public var system: Double
        /// Both together.
        public var total: Double { user + system }
    }

    /// How long frames took, in seconds.
    public struct Latency: Codable, Sendable, Hashable {
        /// What half of the frames do not exceed.
        public var p50: Double
        /// What 90 of 100 frames do not exceed.
        public var p90: Double
        /// What 99 of 100 frames do not exceed.
        public var p99: Double
        /// The slowest frame.
        public var maximum: Double
        /// All frames.
        public var histogram: Histogram
    }

    /// How many values lie between two edges.
    public struct Histogram: Codable, Sendable, Hashable {
        /// In the unit of the values, increasing; one more than there are counts.
        public var edges: [Double]
        /// `counts[n]` values lie in `edges[n]..<edges[n + 1]`.
        public var counts: [Int]
    }

    /// Decoded pictures compared with those that were encoded, cropped to the same size.
    public struct Quality: Codable, Sendable, Hashable {
        /// How many frames were compared; other than the clip's count the figures are compared with nothing.
        public var frames: Int
        /// In dB, from the mean of the squared errors of all frames. Identical pictures have none: it would be infinite.
        public var psnr: Measured<Planes>
        /// 0...1: the mean over frames.
        public var ssim: Measured<Planes>
        /// By ffmpeg with libvmaf.
        public var vmaf: Measured<VMAF>
        /// In dB, by ffmpeg's filter.
        public var xpsnr: Measured<Planes>

        /// No quality at all, for one reason.
        public static func absent(_ reason: String) -> Quality {
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
    public struct Planes: Codable, Sendable, Hashable {
        /// Luma.
        public var y: Double
        /// Blue difference.
        public var u: Double
        /// Red difference.
        public var v: Double
        /// Of all samples of all planes together.
        public var all: Double
    }

    /// 0...100, by libvmaf.
    public struct VMAF: Codable, Sendable, Hashable {
        /// Over frames.
        public var mean: Double
        /// Over frames; bad ones weigh more.
        public var harmonicMean: Double
        /// The worst frame.
        public var minimum: Double
        /// The model: `vmaf_v0.6.1`.
        public var model: String
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
