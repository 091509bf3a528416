// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkReport {
    /// What was encoded.
    package struct Clip: Codable, Sendable, Hashable, Identifiable {
        /// Unique in the report, for people: `mixed-1280x720`.
        package var id: String
        /// The file's path as it was given, or `generated`.
        package var source: String
        /// For a generated clip, what it shows: `noise`, `scrolling-text`.
        package var content: String?
        package var width: Int
        package var height: Int
        /// Frames per second: `25`, `30000/1001`.
        package var frameRate: String
        /// How many frames are encoded in each run.
        package var frameCount: Int
        /// `NV12`, `I420`, `P010`.
        package var pixelFormat: String
        /// Bits per sample.
        package var bitDepth: Int
        /// Range, matrix, primaries and transfer, in words.
        package var color: String
        /// A digest of all samples of all frames, with its kind: `fnv1a64:…`. Clips are the same if it is the same.
        package var digest: String

        /// How long the clip is shown, in seconds; 0 if its rate makes no sense.
        package var duration: Double {
            let rate = framesPerSecond
            return rate > 0 ? Double(frameCount) / rate : 0
        }

        /// ``frameRate`` as a number; 0 if it makes no sense.
        package var framesPerSecond: Double {
            let parts = frameRate.split(separator: "/", maxSplits: 1).map { Double($0) ?? .nan }
            let rate = parts.count == 2 ? parts[0] / parts[1] : parts.first ?? .nan
            return rate.isFinite && rate > 0 ? rate : 0
        }
    }

    /// An encoder with its settings.
    package struct Encoder: Codable, Sendable, Hashable, Identifiable {
        /// What it runs on.
        package enum Kind: String, Codable, Sendable, Hashable, CaseIterable {
            case software, hardware
        }

        /// How pictures get to it. Figures of different ways are not compared unless somebody insists.
        package enum PictureTransfer: String, Codable, Sendable, Hashable, CaseIterable {
            /// It reads them where they are, in main memory, as software does.
            case inPlace = "in-place"
            /// They are copied from main memory to the device: hybrid.
            case upload
            /// They are on the device already: zero-copy.
            case zeroCopy = "zero-copy"
        }

        /// Unique in the report, for people: `x264 medium`, `renderD128 H.264 low power`.
        package var id: String
        package var kind: Kind
        /// The encoder's own name: `x264`, `VA-API`.
        package var name: String
        /// `h264` or `hevc`.
        package var codec: String
        /// The render node; `nil` for software.
        package var device: String?
        /// How libva's driver calls itself; `nil` for software.
        package var driver: String?
        /// `EncSlice` or `EncSliceLP`; `nil` for software.
        package var entrypoint: String?
        /// x264's and x265's preset, or the driver's quality level; `nil` if it was left to the encoder.
        package var preset: String?
        /// Every setting that is not the rate, with its value, as it was in force.
        package var settings: [String: String]
        package var transfer: PictureTransfer
        /// Whether it runs in a process of its own.
        package var isInHelper: Bool
        /// Whether the render node is only pretended.
        package var isFakeNode = false
        /// Whether the driver is the one of this project's tests, which runs on the CPU.
        package var isReferenceDriver = false
    }
}
