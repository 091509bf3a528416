// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkReport {
    /// How many streams one encoder keeps up with in real time.
    public struct Density: Codable, Sendable, Hashable {
        /// ``Clip/id``: every stream encodes this clip.
        public var clip: String
        /// ``Encoder/id``.
        public var encoder: String
        /// What each encoder was told about rate or quality.
        public var point: BenchmarkPoint
        /// The most streams that all kept the rate and the latency; 0 if not even one did.
        public var streams: Int
        /// Whether the search ended at the most that the plan allows, so that there may be more.
        public var isLeastEstimate: Bool
        /// What the next stream broke: the rate, the latency, or an error in words; `nil` if nothing broke.
        public var limit: String?
        /// Everything that was tried, in that order.
        public var trials: [DensityTrial]
    }

    /// Some number of streams at the same time.
    public struct DensityTrial: Codable, Sendable, Hashable {
        /// How many streams there were.
        public var streams: Int
        /// Whether all of them kept the rate and the latency.
        public var isKept: Bool
        /// From the first frame to the last sample, in seconds.
        public var wallTime: Double
        /// Each stream that could be started.
        public var results: [StreamResult]
        /// Of all streams and their helpers together.
        public var processorTime: ProcessorTime
        /// The most that all of them held at a time, in bytes.
        public var peakMemory: Measured<Int>
        /// How long each engine of the GPU was busy, in seconds.
        public var gpuBusy: Measured<[String: Double]>
        /// What was used up, in joules, by counter. No counter includes another.
        public var energy: Measured<[String: Double]>
        /// What failed; `nil` if nothing did.
        public var failure: String?
    }

    /// One stream among others.
    public struct StreamResult: Codable, Sendable, Hashable {
        /// Samples per second, as a share of the target rate.
        public var share: Double
        /// Frames that were not encoded because the encoder was behind.
        public var framesDropped: Int
        /// From in to out, in seconds: the time that 99 of 100 frames do not exceed.
        public var latencyP99: Double
    }
}
