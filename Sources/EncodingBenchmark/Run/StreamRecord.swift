// SPDX-License-Identifier: GPL-2.0-or-later

/// The complete raw measurement of one process, stored as the file of a run under `raw` in a benchmark's folder.
package struct StreamRecord: Codable, Sendable, Hashable {
    /// The streams.
    package var streams: [Stream]
    /// The time from the submission of the first frame to the last sample, in seconds.
    package var wallTime: Double
    /// The processor time of this process and its helpers in that time, in seconds.
    package var processorTime: BenchmarkReport.ProcessorTime
    /// The peak memory of this process and its helpers, without the pictures, in bytes; `nil` if the kernel does not
    /// report it.
    package var peakMemory: Int?
    /// The busy time of each GPU engine in that time, in seconds.
    package var gpuBusy: Measured<[String: Double]>
    /// The energy in that time, in joules, by counter.
    package var energy: Measured<[String: Double]>
    /// The description of the encoder.
    package var encoder: EncoderFacts

    /// One stream. Times are seconds from the first frame of all streams.
    package struct Stream: Codable, Sendable, Hashable {
        /// The submission time of each frame; in paced modes, the time at which it was due.
        package var handedOver: [Double]
        /// The arrival time of each frame's sample; negative for frames without one.
        package var arrived: [Double]
        /// The size of each frame's sample in bytes; 0 for frames without one.
        package var sizes: [Int]
        /// The numbers of the key frames.
        package var keyFrames: [Int]
        /// The time that the creation of the session took, in seconds.
        package var creationTime: Double
        /// The number of copies of whole pictures on the way to the encoder.
        package var copiedPictures: Int
        /// The number of frames that the session dropped because the encoder was too slow.
        package var droppedFrames: Int
        /// The number of encoder failures after which another encoder continued.
        package var failedEncoders: Int
        /// The number of frames that were encoded again because of these failures.
        package var repeatedFrames: Int
        /// The digest of the samples in decoding order, if they were kept: streams with the same bytes decode to the
        /// same pictures.
        package var digest: String
        /// The reason for a failure; `nil` if there is none.
        package var failure: String?

        /// The latencies from submission to the sample, for all frames that have one.
        package var latencies: [Double] {
            zip(handedOver, arrived).compactMap { handedOver, arrived in arrived < 0 ? nil : arrived - handedOver }
        }

        /// The number of samples.
        package var codedFrames: Int { arrived.count { $0 >= 0 } }
    }

    /// The session's description of its encoder.
    package struct EncoderFacts: Codable, Sendable, Hashable {
        /// The name in the session: `x264`, or the driver's vendor string.
        package var name: String
        package var profile: String
        package var level: String
        /// The pixel format of the pictures, which is the one that the encoder prefers.
        package var pixelFormat: String
        /// Whether it ran in a helper process.
        package var isInHelper: Bool
        /// Its settings as it reports them, without those of the rate; `nil` if its stream does not contain them.
        package var options: String?
        /// The adjustments of the request.
        package var adjustments: [String]
    }
}
