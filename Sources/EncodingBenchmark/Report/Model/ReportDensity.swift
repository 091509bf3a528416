// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkReport {
    /// How many streams one encoder keeps up with in real time.
    package struct Density: Codable, Sendable, Hashable {
        /// ``Clip/id``: every stream encodes this clip.
        package var clip: String
        /// ``Encoder/id``.
        package var encoder: String
        package var point: RatePoint
        /// The most streams that all kept the rate and the latency; 0 if not even one did.
        package var streams: Int
        /// Whether the search ended at the most that the plan allows, so that there may be more.
        package var isLeastEstimate: Bool
        /// What the next stream broke: the rate, the latency, or an error in words; `nil` if nothing broke.
        package var limit: String?
        /// Everything that was tried, in that order.
        package var trials: [DensityTrial]
    }

    /// Some number of streams at the same time.
    package struct DensityTrial: Codable, Sendable, Hashable {
        /// How many streams there were.
        package var streams: Int
        /// Whether all of them kept the rate and the latency.
        package var isKept: Bool
        /// From the first frame to the last sample, in seconds.
        package var wallTime: Double
        /// Each stream that could be started.
        package var results: [StreamResult]
        package var processorTime: ProcessorTime
        package var peakMemory: Measured<Int>
        /// How long each engine of the GPU was busy, in seconds.
        package var gpuBusy: Measured<[String: Double]>
        /// What was used up, in joules, by counter. No counter includes another.
        package var energy: Measured<[String: Double]>
        /// What failed; `nil` if nothing did.
        package var failure: String?
    }

    /// One stream among others.
    package struct StreamResult: Codable, Sendable, Hashable {
        /// Samples per second, as a share of the target rate.
        package var share: Double
        package var framesDropped: Int
        /// From in to out, in seconds: the time that 99 of 100 frames do not exceed.
        package var latencyP99: Double
    }
}
