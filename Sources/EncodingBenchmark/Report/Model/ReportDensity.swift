// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkReport {
    /// The number of streams that one encoder sustains in real time.
    public struct Density: Codable, Sendable, Hashable {
        /// ``Clip/id`` of the clip that every stream encodes.
        public var clip: String
        /// ``Encoder/id`` of the encoder.
        public var encoder: String
        /// The requested rate or quality.
        public var point: BenchmarkPoint
        /// The largest number of streams that all sustained the rate and the latency; 0 if not even one did.
        public var streams: Int
        /// Whether the search ended at the maximum of the plan, so that more may be possible.
        public var isLeastEstimate: Bool
        /// The condition that one more stream violated: the rate, the latency, or an error as text; `nil` if there is
        /// none.
        public var limit: String?
        /// All trials, in order.
        public var trials: [DensityTrial]
    }

    /// A trial with a number of simultaneous streams.
    public struct DensityTrial: Codable, Sendable, Hashable {
        /// The number of streams.
        public var streams: Int
        /// Whether all of them sustained the rate and the latency.
        public var isKept: Bool
        /// The time from the first frame to the last sample, in seconds.
        public var wallTime: Double
        /// The results of the streams that could be started.
        public var results: [StreamResult]
        /// The processor time of all streams and their helpers together.
        public var processorTime: ProcessorTime
        /// The peak memory of all of them together, in bytes.
        public var peakMemory: Measured<Int>
        /// The busy time of each GPU engine, in seconds.
        public var gpuBusy: Measured<[String: Double]>
        /// The energy in joules, by counter. No counter includes another.
        public var energy: Measured<[String: Double]>
        /// The reason for a failure; `nil` if there is none.
        public var failure: String?
    }

    /// The result of one of several streams.
    public struct StreamResult: Codable, Sendable, Hashable {
        /// The rate of samples, as a share of the target rate.
        public var share: Double
        /// Frames that were not encoded because the encoder was behind.
        public var framesDropped: Int
        /// The latency that 99 of 100 frames do not exceed, from submission to their sample, in seconds.
        public var latencyP99: Double
    }
}
