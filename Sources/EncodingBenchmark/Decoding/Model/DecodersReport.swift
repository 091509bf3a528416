// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax
package import VAToolbox

/// What was measured of decoders: the input, the decoders, every run, and whether their frames are equal.
///
/// Times are in seconds. Figures that follow from the runs are computed: ``figures(of:)``, ``comparisons``, ``warnings``.
package struct DecodersReport: Sendable, Hashable {
    /// The program that measured, with its version.
    package var program: String
    /// The machine and its installed software.
    package var environment: BenchmarkReport.Environment
    /// What was decoded.
    package var input: Input
    /// The measured rounds; every decoder runs once in each.
    package var repeats: Int
    /// The threads of the software decoder; 0 for one per processor.
    package var threadCount: Int
    /// The decoders, the software decoder first.
    package var decoders: [Decoder] = []
    /// Every run, in the order of execution, warm-ups included.
    package var runs: [Run] = []
    /// The GPUs that do not decode the input, by the paths of their render nodes; `GPU` if there is no render node.
    package var rejections: [DecoderDescription.Rejection] = []

    /// The samples that every run decodes, from memory.
    package struct Input: Sendable, Hashable {
        /// The path.
        package var path: String
        /// FFmpeg's name of the container.
        package var container: String
        /// The codec.
        package var codec: VideoCodec
        /// The width in luma samples.
        package var width: Int
        /// The height in luma samples.
        package var height: Int
        /// The number of samples.
        package var samples: Int
        /// Their size in bytes.
        package var bytes: Int
        /// Why the samples are not all of the input; `nil` if they are.
        package var limit: Limit?
        /// The number of parts of the input that could not be read.
        package var losses: Int

        /// What ended the reading before the end of the input.
        package enum Limit: String, Sendable, Hashable {
            /// As many samples as were requested.
            case samples
            /// As many bytes as are kept in memory.
            case bytes
        }
    }

    /// How the pictures of a GPU decoder are used.
    package enum Transfer: String, Sendable, Hashable {
        /// Each picture is copied from the device to memory, as for a filter or an encoder on the CPU.
        case download
        /// Pictures stay on the device, as for an encoder on the same GPU.
        case zeroCopy = "zero-copy"
    }

    /// A measured decoder.
    package struct Decoder: Sendable, Hashable {
        /// The unique name: `software`, `renderD128 download`, `renderD128 zero-copy`.
        package var id: String
        /// The path of the render node; `nil` for the CPU.
        package var device: String?
        /// How its pictures are used; `nil` for the CPU, which decodes to memory.
        package var transfer: Transfer?
        /// The name and version of the library or the driver.
        package var name: String
        /// Whether the render node is only simulated by a program.
        package var isFakeNode: Bool
        /// The number of frames that it returns.
        package var frames: Int
        /// The number of frames among them that may be damaged.
        package var damagedFrames: Int
        /// The comparison with the software decoder's frames, or the reason why there is none; `nil` for the software
        /// decoder itself.
        package var comparison: Measured<FrameComparison>?

        /// Whether it is the reference driver, which decodes on the CPU.
        package var isReferenceDriver: Bool { name.contains("reference driver") }

        /// Whether its frames are not those of the software decoder, or not known to be.
        package var isWrong: Bool { comparison.map { $0.value?.differing != 0 } ?? false }

        /// Returns the name of the software decoder, or of one on a GPU.
        package static func id(device: String?, transfer: Transfer?) -> String {
            guard let device else { return softwareID }
            let node = device.split(separator: "/").last.map(String.init) ?? device
            return transfer.map { "\(node) \($0.rawValue)" } ?? node
        }

        /// The ``id`` of the software decoder.
        package static let softwareID = "software"
    }

    /// One run of one decoder.
    package struct Run: Sendable, Hashable {
        /// ``Decoder/id`` of the decoder.
        package var decoder: String
        /// The round, from 1; 0 for the warm-up, which does not count.
        package var round: Int
        /// The measurement, or the reason why the run failed.
        package var result: Measured<Measurement>
    }

    /// The measurement of one run.
    package struct Measurement: Sendable, Hashable {
        /// The time from the first submitted sample to the last frame.
        package var wallTime: Double
        /// The number of frames.
        package var frames: Int
        /// The time from the start of the session, before its decoder is created, to the first frame.
        package var timeToFirstFrame: Double
        /// The processor time of this process and its helper from the first submitted sample to the last frame.
        package var processorTime: Double
        /// The number of frames that were copied from the device to memory.
        package var copiedFrames: Int
        /// The failures of the decoder after which the session has continued with a new one.
        package var failures: Int
    }
}
