// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkReport {
    /// A source clip.
    public struct Clip: Codable, Sendable, Hashable, Identifiable {
        /// The identifier, unique in the report and readable: `mixed-1280x720`.
        public var id: String
        /// The path of the file as it was given, or `generated`.
        public var source: String
        /// The content of a generated clip, such as `noise` or `scrolling-text`.
        public var content: String?
        /// The width in luma samples.
        public var width: Int
        /// The height in luma samples.
        public var height: Int
        /// The frame rate, such as `25` or `30000/1001`.
        public var frameRate: String
        /// The number of frames per run.
        public var frameCount: Int
        /// The number of different pictures, if it is lower: they are shown alternately forwards and backwards.
        public var pictureCount: Int?
        /// The pixel format: `NV12`, `I420`, `P010`.
        public var pixelFormat: String
        /// The bit depth.
        public var bitDepth: Int
        /// The range, matrix, primaries and transfer, as text.
        public var color: String
        /// A digest of all samples of all frames, with its kind: `fnv1a64:…`. Clips with the same digest are the same.
        public var digest: String

        /// The duration of the clip in seconds; 0 if its frame rate is invalid.
        public var duration: Double {
            let rate = framesPerSecond
            return rate > 0 ? Double(frameCount) / rate : 0
        }

        /// ``frameRate`` as a number; 0 if it is invalid.
        public var framesPerSecond: Double {
            let parts = frameRate.split(separator: "/", maxSplits: 1).map { Double($0) ?? .nan }
            let rate = parts.count == 2 ? parts[0] / parts[1] : parts.first ?? .nan
            return rate.isFinite && rate > 0 ? rate : 0
        }
    }

    /// An encoder with its settings.
    public struct Encoder: Codable, Sendable, Hashable, Identifiable {
        /// The type of an encoder.
        public enum Kind: String, Codable, Sendable, Hashable, CaseIterable {
            /// On the CPU.
            case software
            /// On a GPU.
            case hardware
        }

        /// The way in which pictures reach the encoder. Figures of different ways are not compared unless this is
        /// accepted.
        public enum PictureTransfer: String, Codable, Sendable, Hashable, CaseIterable {
            /// The encoder reads them in place in main memory, as software does.
            case inPlace = "in-place"
            /// They are copied from main memory to the device: hybrid.
            case upload
            /// They are already on the device: zero-copy.
            case zeroCopy = "zero-copy"
        }

        /// The identifier, unique in the report and readable: `x264 medium`, `renderD128 H.264 low power`.
        public var id: String
        /// The type of the encoder.
        public var kind: Kind
        /// The name of the encoder: `x264`, `VA-API`.
        public var name: String
        /// The codec: `h264` or `hevc`.
        public var codec: String
        /// The render node; `nil` for software.
        public var device: String?
        /// The vendor string of the VA-API driver; `nil` for software.
        public var driver: String?
        /// The entrypoint: `EncSlice` or `EncSliceLP`; `nil` for software.
        public var entrypoint: String?
        /// The preset of x264 or x265, or the driver's quality level; `nil` for the encoder's default.
        public var preset: String?
        /// All effective settings except the rate, with their values.
        public var settings: [String: String]
        /// The way in which pictures reach the encoder.
        public var transfer: PictureTransfer
        /// Whether it runs in a helper process.
        public var isInHelper: Bool
        /// Whether the render node is simulated.
        @NothingIfAbsent public var isFakeNode = false
        /// Whether the driver is the test driver of this project, which runs on the CPU.
        @NothingIfAbsent public var isReferenceDriver = false
    }
}
