// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

extension BenchmarkReport {
    /// The raw data of one encode of one clip.
    public struct Run: Codable, Sendable, Hashable {
        /// ``Clip/id`` of the clip.
        public var clip: String
        /// ``Encoder/id`` of the encoder.
        public var encoder: String
        /// The requested rate or quality.
        public var point: BenchmarkPoint
        /// The mode of submitting pictures.
        public var mode: BenchmarkMode
        /// The repetition, from 1; 0 for warm-ups, which do not count.
        public var repetition: Int
        /// The start time in seconds since the beginning of the benchmark.
        public var startedAfter: Double
        /// The measurement, or the reason why the run failed.
        public var result: Measured<Measurement>

        /// Whether it is a warm-up.
        public var isWarmUp: Bool { repetition == 0 }
    }

    /// The measurement of one run.
    public struct Measurement: Codable, Sendable, Hashable {
        /// The time from the submission of the first frame to the last sample, in seconds.
        public var wallTime: Double
        /// The number of submitted frames.
        public var framesIn: Int
        /// The number of returned samples.
        public var framesOut: Int
        /// The number of frames that were not encoded because the encoder was too slow for real time.
        public var framesDropped: Int
        /// The time from the start of the session, before the encoder is created, to the first sample, in seconds.
        public var timeToFirstSample: Double
        /// The latency from the submission of a frame to its sample.
        public var latency: Latency
        /// The processor time of this process and its helper, in seconds.
        public var processorTime: ProcessorTime
        /// The peak memory of this process and its helper, in bytes.
        public var peakMemory: Measured<Int>
        /// The total number of copies of pictures on the way to the encoder.
        public var copiedPictures: Int
        /// The size of all samples in bytes.
        public var bytes: Int
        /// The size of the largest sample in bytes.
        public var largestFrame: Int
        /// The bitrate in each second of the stream, in bits per second, by presentation time. An incomplete last
        /// window is dropped, unless it is the only one.
        public var windows: [Double]
        /// The quality of the pictures; decoded after the measurement.
        public var quality: Quality
        /// The busy time of each GPU engine, in seconds, from the kernel's fdinfo: `["video": 1.2]`.
        public var gpuBusy: Measured<[String: Double]>
        /// The energy in joules, by counter: `["package-0": 130.5]`. No counter includes another.
        public var energy: Measured<[String: Double]>
        /// Encoder switches and adjustments: settings that were not applied. Such figures do not describe the encoder
        /// alone.
        @NothingIfAbsent public var deviations: [String] = []

        /// Frames per second.
        public var framesPerSecond: Double { wallTime > 0 ? Double(framesOut) / wallTime : 0 }
    }

    /// Processor time in seconds.
    public struct ProcessorTime: Codable, Sendable, Hashable {
        /// The time in user mode.
        public var user: Double
        /// The time in kernel mode.
        public var system: Double
        /// The sum of both.
        public var total: Double { user + system }
    }

    /// The latency of frames, in seconds.
    public struct Latency: Codable, Sendable, Hashable {
        /// The latency that half of the frames do not exceed.
        public var p50: Double
        /// The latency that 90 of 100 frames do not exceed.
        public var p90: Double
        /// The latency that 99 of 100 frames do not exceed.
        public var p99: Double
        /// The latency of the slowest frame.
        public var maximum: Double
        /// The distribution of all frames.
        public var histogram: Histogram
    }

    /// The number of values between edges.
    public struct Histogram: Codable, Sendable, Hashable {
        /// The edges in the unit of the values, ascending; one more than there are counts.
        public var edges: [Double]
        /// The number of values in `edges[n]..<edges[n + 1]` for each index `n`.
        public var counts: [Int]
    }

    /// The comparison of decoded pictures with the source pictures, cropped to the same size.
    public struct Quality: Codable, Sendable, Hashable {
        /// The number of compared frames; if it differs from the clip's, the figures are not used in comparisons.
        public var frames: Int
        /// The PSNR in dB, from the mean squared error of all frames. Absent for identical pictures, for which it is
        /// infinite.
        public var psnr: Measured<Planes>
        /// The SSIM, 0...1: the mean over frames.
        public var ssim: Measured<Planes>
        /// The VMAF, by ffmpeg with libvmaf.
        public var vmaf: Measured<VMAF>
        /// The XPSNR in dB, by ffmpeg's filter.
        public var xpsnr: Measured<Planes>

        /// Creates a value without any quality, for one reason.
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

    /// The quality of each plane.
    public struct Planes: Codable, Sendable, Hashable {
        /// Luma.
        public var y: Double
        /// Blue difference.
        public var u: Double
        /// Red difference.
        public var v: Double
        /// All samples of all planes together.
        public var all: Double
    }

    /// A VMAF result, 0...100, by libvmaf.
    public struct VMAF: Codable, Sendable, Hashable {
        /// The mean over frames.
        public var mean: Double
        /// The harmonic mean over frames, in which bad frames have more weight.
        public var harmonicMean: Double
        /// The value of the worst frame.
        public var minimum: Double
        /// The model, such as `vmaf_v0.6.1`.
        public var model: String
    }
}

extension BenchmarkReport.Histogram {
    /// Sorts values into intervals that grow by a constant factor, so that short and long times have the same relative
    /// resolution.
    ///
    /// - Parameters:
    ///   - values: The values, above 0; smaller values count as `least`.
    ///   - perDecade: The number of intervals per factor of ten.
    ///   - least: The beginning of the first possible interval: 10 microseconds.
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
