// SPDX-License-Identifier: GPL-2.0-or-later

/// What one process measured: raw, with nothing left out. The file of a run under `raw` in a benchmark's folder.
package struct StreamRecord: Codable, Sendable, Hashable {
    /// Each stream.
    package var streams: [Stream]
    /// From the first frame handed over to the last sample, in seconds.
    package var wallTime: Double
    /// Processor time of this process and its helpers between these, in seconds.
    package var processorTime: BenchmarkReport.ProcessorTime
    /// The most memory of this process and its helpers, without the pictures, in bytes; `nil` if the kernel does not tell.
    package var peakMemory: Int?
    /// How long each engine of the GPU was busy meanwhile, in seconds.
    package var gpuBusy: Measured<[String: Double]>
    /// What was used up meanwhile, in joules, by counter.
    package var energy: Measured<[String: Double]>
    /// What the encoder is.
    package var encoder: EncoderFacts

    /// One stream. Times are seconds from the first frame of all streams.
    package struct Stream: Codable, Sendable, Hashable {
        /// When each frame was handed over; in paced modes when it was due.
        package var handedOver: [Double]
        /// When the sample of each frame arrived; below zero for frames without one.
        package var arrived: [Double]
        /// Bytes of each frame's sample; 0 for frames without one.
        package var sizes: [Int]
        /// Which frames are key frames.
        package var keyFrames: [Int]
        /// How long the session took to be made, in seconds.
        package var creationTime: Double
        /// How often pictures were copied as a whole on their way to the encoder.
        package var copiedPictures: Int
        /// Frames that the session dropped because the encoder was not fast enough.
        package var droppedFrames: Int
        /// How often an encoder failed, and another one went on.
        package var failedEncoders: Int
        /// Frames that were encoded again because of that.
        package var repeatedFrames: Int
        /// Of the samples in decoding order, if they were wanted: streams with the same bytes decode to the same pictures.
        package var digest: String
        /// What failed; `nil` if nothing did.
        package var failure: String?

        /// From being handed over to the sample, of each frame that has one.
        package var latencies: [Double] {
            zip(handedOver, arrived).compactMap { handedOver, arrived in arrived < 0 ? nil : arrived - handedOver }
        }

        /// Samples that came.
        package var codedFrames: Int { arrived.count { $0 >= 0 } }
    }

    /// What a session said of its encoder.
    package struct EncoderFacts: Codable, Sendable, Hashable {
        /// As the session names it: `x264`, or what the driver calls itself.
        package var name: String
        package var profile: String
        package var level: String
        /// How pictures lay in memory, which is how the encoder likes them.
        package var pixelFormat: String
        /// Whether it worked in a process of its own.
        package var isInHelper: Bool
        /// Its settings in its own words, those about the rate excepted; `nil` if its stream does not tell.
        package var options: String?
        /// What was done differently from what was asked.
        package var adjustments: [String]
    }
}
