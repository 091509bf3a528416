// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// What a media file has, as ``MediaInspector`` finds it out by its headers, its index and its beginning.
package struct MediaReport: Sendable {
    /// FFmpeg's name of the container, for example `mov,mp4,m4a,3gp,3g2,mj2`.
    package var formatName: String
    /// The name of the container for people, for example `QuickTime / MOV`.
    package var formatTitle: String
    /// The time of the first picture or sound; `nil` if the file has no times.
    package var startTime: MediaTime?
    /// The duration of the whole; `nil` if not known.
    package var duration: MediaTime?
    /// The size of the file in bytes; `nil` if the input cannot be measured, as a pipe.
    package var byteCount: Int64?
    /// The average rate of the whole file in bits per second; `nil` without a size or duration.
    package var bitRate: Int64?
    /// The tracks, in the order of their indices.
    package var tracks: [TrackReport] = []
    /// The chapters, on the timeline of the file.
    package var chapters: [Chapter] = []
    /// The metadata of the whole file, with FFmpeg's keys, sorted by them.
    package var metadata: [(key: String, value: String)] = []
    /// What is wrong with the file, in the order of importance.
    package var problems: [MediaProblem] = []

    /// Whether part of the file is missing or damaged.
    package var isDamaged: Bool { problems.contains(where: \.isDamage) }
}

/// Something that is wrong with a file.
package struct MediaProblem: Sendable, Hashable {
    /// The kinds of problems, the most important first.
    package enum Kind: Int, Sendable, Comparable {
        /// The file ends too early.
        case truncated
        /// The first packets or pictures are damaged, or the first pictures cannot be decoded.
        case damagedBeginning
        /// There is nothing by which players could seek.
        case missingIndex
        /// Times of packets go back.
        case timesGoBack
        /// The codec of a track is not known, or FFmpeg has no decoder.
        case unknownCodec
        /// Something is larger than this package processes, or than a report shows.
        case beyondLimits
        /// Something that players need is not stated.
        case unstated

        package static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
    }

    package var kind: Kind
    /// The problem, worded for users.
    package var text: String

    /// Whether part of the file is missing or damaged; otherwise, everything in it can be read.
    package var isDamage: Bool { kind == .truncated || kind == .damagedBeginning }

    package init(_ kind: Kind, _ text: String) { (self.kind, self.text) = (kind, text) }
}

/// The properties of one track.
package struct TrackReport: Sendable {
    /// The index of the stream, as FFmpeg counts.
    package var index: Int
    package var kind: MediaTrack.Kind
    /// FFmpeg's name of the codec, for example `h264`; `nil` if it is not known.
    package var codec: String?
    /// The container's code of the codec, for example `avc1`; `nil` if it has none.
    package var codecTag: String?
    /// The name of the profile, for example `High`.
    package var profile: String?
    /// The level as the specification writes it, for example `4.1`.
    package var level: String?
    /// The language as stored (mostly ISO 639-2).
    package var language: String?
    package var title: String?
    /// FFmpeg's names of the disposition flags that are set, for example `default`.
    package var dispositions: [String] = []
    /// The time of the first packet.
    package var startTime: MediaTime?
    package var duration: MediaTime?
    /// The average rate in bits per second, if the file states it.
    package var bitRate: Int64?
    /// The number of packets or pictures, if the file states it.
    package var frameCount: Int64?
    /// What only video has; `nil` for all else.
    package var video: VideoProperties?
    /// What only audio has; `nil` for all else.
    package var audio: AudioProperties?
    /// The other metadata of the track, sorted by FFmpeg's keys.
    package var metadata: [(key: String, value: String)] = []

    package init(index: Int, kind: MediaTrack.Kind) { (self.index, self.kind) = (index, kind) }

    /// Whether it is a cover picture rather than video.
    package var isCover: Bool { dispositions.contains("attached_pic") }
}

/// The properties of video, without its times.
package struct VideoProperties: Sendable, Hashable {
    /// A size in samples.
    package struct Size: Sendable, Hashable {
        package var width: Int
        package var height: Int

        package init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
    }

    /// The size of the pictures as decoded, without padding, before they are turned upright.
    package var size: Size
    /// The size with padding, if a decoder has found it.
    package var codedSize: Size?
    /// The width of a sample divided by its height; `nil` if the file does not state it, so that samples are square.
    package var sampleAspectRatio: Rational?
    /// What makes the pictures upright.
    package var orientation = Orientation.upright
    /// FFmpeg's name of the pixel format, for example `yuv420p10le`.
    package var pixelFormat: String?
    package var bitDepth: Int?
    /// The chroma format, for example `4:2:0`; `RGB` for red, green and blue.
    package var chroma: String?
    /// FFmpeg's names of the code points of ITU-T H.273; `nil` if unspecified.
    package var (primaries, transfer, matrix): (String?, String?, String?)
    /// `limited` or `full`; `nil` if unspecified.
    package var range: String?
    package var dynamicRange = DynamicRange.standard
    package var masteringDisplay: MasteringDisplay?
    package var contentLight: ContentLightLevel?
    /// The order of the fields of interlaced video; `nil` for progressive video.
    package var fieldOrder: FieldOrder?
    /// The average frame rate in frames per second; `nil` if not known.
    package var frameRate: Rational?
    /// Whether pictures have irregular times.
    package var isVariableFrameRate = false
    /// The most B-frames in a row among the first pictures; `nil` if none was decoded.
    package var bFrames: Int?
    /// The key frames at the beginning; `nil` if no packet was read.
    package var keyFrames: KeyFrames?
    /// Whether the first pictures carry closed captions.
    package var hasCaptions = false

    package init(size: Size) { self.size = size }

    /// The order of two fields.
    package enum FieldOrder: String, Sendable, Hashable {
        case topFirst = "top-first"
        case bottomFirst = "bottom-first"
    }

    /// The key frames among the first pictures.
    package struct KeyFrames: Sendable, Hashable {
        /// The number of pictures that were examined.
        package var pictures: Int
        /// The number of key frames among them.
        package var count: Int
        /// The longest distance of two key frames in seconds; `nil` for fewer than two.
        package var longestInterval: Double?

        package init(pictures: Int, count: Int, longestInterval: Double?) {
            (self.pictures, self.count, self.longestInterval) = (pictures, count, longestInterval)
        }
    }

    /// The size in which the pictures are shown: upright, with square samples.
    package var displaySize: Size {
        var shown = size
        if let ratio = sampleAspectRatio, ratio.isPositive {
            // Players enlarge the side that is too short.
            let value = ratio.doubleValue
            if value > 1 {
                shown.width = Int(clamping: Int64((Double(size.width) * value).rounded()))
            } else {
                shown.height = Int(clamping: Int64((Double(size.height) / value).rounded()))
            }
        }
        return orientation.swapsAxes ? Size(width: shown.height, height: shown.width) : shown
    }
}

/// How bright pictures can be, and how they say so.
package enum DynamicRange: Sendable, Hashable {
    case standard
    /// Hybrid log-gamma (ITU-R BT.2100).
    case hybridLogGamma
    /// PQ (SMPTE ST 2084) with the primaries of BT.2020.
    case hdr10
    /// HDR10 with metadata for each scene (SMPTE ST 2094-40).
    case hdr10Plus
    /// Dolby Vision with its profile and, if another decoder can show the base layer, how (`8.1`).
    case dolbyVision(profile: String)
    /// PQ with other primaries.
    case perceptualQuantizer

    /// The common name.
    package var name: String {
        switch self {
        case .standard: "SDR"
        case .hybridLogGamma: "HLG"
        case .hdr10: "HDR10"
        case .hdr10Plus: "HDR10+"
        case .dolbyVision: "Dolby Vision"
        case .perceptualQuantizer: "PQ"
        }
    }

    /// The profile of Dolby Vision.
    package var profile: String? {
        if case .dolbyVision(let profile) = self { profile } else { nil }
    }

    /// Makes the dynamic range of a stream.
    ///
    /// - Parameters:
    ///   - primaries: The code point of ITU-T H.273.
    ///   - transfer: The code point of ITU-T H.273.
    ///   - dolbyVision: The profile, if the stream is configured for Dolby Vision.
    ///   - hasSceneMetadata: Whether pictures have HDR10+ metadata.
    package init(primaries: Int, transfer: Int, dolbyVision: String?, hasSceneMetadata: Bool) {
        // ITU-T H.273: 16 is PQ, 18 is HLG; primaries 9 are those of BT.2020.
        if let dolbyVision {
            self = .dolbyVision(profile: dolbyVision)
        } else if transfer == 16 {
            self = primaries == 9 ? hasSceneMetadata ? .hdr10Plus : .hdr10 : .perceptualQuantizer
        } else {
            self = transfer == 18 ? .hybridLogGamma : .standard
        }
    }
}

/// The properties of audio.
package struct AudioProperties: Sendable, Hashable {
    /// Samples per second.
    package var sampleRate: Int
    package var channels: Int
    /// FFmpeg's name of the loudspeakers, for example `5.1(side)`; `nil` if not known.
    package var layout: String?
    /// The bits of a sample of a lossless codec; `nil` for all others.
    package var bitDepth: Int?
    /// The number of samples at the beginning that are not played.
    package var priming = 0

    package init(sampleRate: Int, channels: Int) { (self.sampleRate, self.channels) = (sampleRate, channels) }
}
