// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkReport {
    /// What was encoded.
    public struct Clip: Codable, Sendable, Hashable, Identifiable {
        /// Unique in the report, for people: `mixed-1280x720`.
        public var id: String
        /// The file's path as it was given, or `generated`.
        public var source: String
        /// For a generated clip, what it shows: `noise`, `scrolling-text`.
        public var content: String?
        /// Luma samples from left to right.
        public var width: Int
        /// Luma samples from top to bottom.
        public var height: Int
        /// Frames per second: `25`, `30000/1001`.
        public var frameRate: String
        /// How many frames are encoded in each run.
        public var frameCount: Int
        /// How many different pictures these are, if they are fewer: shown forwards and backwards in turn.
        public var pictureCount: Int?
        /// `NV12`, `I420`, `P010`.
        public var pixelFormat: String
        /// Bits per sample.
        public var bitDepth: Int
        /// Range, matrix, primaries and transfer, in words.
        public var color: String
        /// A digest of all samples of all frames, with its kind: `fnv1a64:…`. Clips are the same if it is the same.
        public var digest: String

        /// How long the clip is shown, in seconds; 0 if its rate makes no sense.
        public var duration: Double {
            let rate = framesPerSecond
            return rate > 0 ? Double(frameCount) / rate : 0
        }

        /// ``frameRate`` as a number; 0 if it makes no sense.
        public var framesPerSecond: Double {
            let parts = frameRate.split(separator: "/", maxSplits: 1).map { Double($0) ?? .nan }
            let rate = parts.count == 2 ? parts[0] / parts[1] : parts.first ?? .nan
            return rate.isFinite && rate > 0 ? rate : 0
        }
    }

    /// An encoder with its settings.
    public struct Encoder: Codable, Sendable, Hashable, Identifiable {
        /// What it runs on.
        public enum Kind: String, Codable, Sendable, Hashable, CaseIterable {
            /// On the processor.
            case software
            /// On a GPU.
            case hardware
        }

        /// How pictures get to it. Figures of different ways are not compared unless somebody insists.
        public enum PictureTransfer: String, Codable, Sendable, Hashable, CaseIterable {
            /// It reads them where they are, in main memory, as software does.
            case inPlace = "in-place"
            /// They are copied from main memory to the device: hybrid.
            case upload
            /// They are on the device already: zero-copy.
            case zeroCopy = "zero-copy"
        }

        /// Unique in the report, for people: `x264 medium`, `renderD128 H.264 low power`.
        public var id: String
        /// What it runs on.
        public var kind: Kind
        /// The encoder's own name: `x264`, `VA-API`.
        public var name: String
        /// `h264` or `hevc`.
        public var codec: String
        /// The render node; `nil` for software.
        public var device: String?
        /// How libva's driver calls itself; `nil` for software.
        public var driver: String?
        /// `EncSlice` or `EncSliceLP`; `nil` for software.
        public var entrypoint: String?
        /// x264's and x265's preset, or the driver's quality level; `nil` if it was left to the encoder.
        public var preset: String?
        /// Every setting that is not the rate, with its value, as it was in force.
        public var settings: [String: String]
        /// How pictures get to it.
        public var transfer: PictureTransfer
        /// Whether it runs in a process of its own.
        public var isInHelper: Bool
        /// Whether the render node is only pretended.
        @NothingIfAbsent public var isFakeNode = false
        /// Whether the driver is the one of this project's tests, which runs on the CPU.
        @NothingIfAbsent public var isReferenceDriver = false
    }
}
