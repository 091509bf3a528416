// SPDX-License-Identifier: GPL-2.0-or-later

/// A file to examine.
public struct ProbeRequest: APIObject {
    /// The file.
    public var input = Input()

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A file to examine"
    package static let fields: Fields<Self> = [.required("input", \.input, "The file")]
}

/// The kind of a track.
public enum TrackKind: String, APIEnum {
    /// A kind.
    case video, audio, subtitles, attachment, data
}

/// A track of a file.
public struct Track: APIObject {
    /// Index in the file.
    public var index = 0
    /// Kind.
    public var kind = TrackKind.data
    /// FFmpeg's name of the codec.
    public var codec: String?
    /// Language.
    public var language: String?
    /// Title.
    public var title: String?
    /// Duration in seconds.
    public var duration: Double?
    /// Bit rate in bit/s.
    public var bitRate: Int?
    /// Width in pixels, upright.
    public var width: Int?
    /// Height in pixels, upright.
    public var height: Int?
    /// Frame rate, such as 30000/1001.
    public var frameRate: String?
    /// Whether the times of frames are irregular.
    public var variableFrameRate: Bool?
    /// Bits per sample.
    public var bitDepth: Int?
    /// Chroma format, such as 4:2:0.
    public var chroma: String?
    /// SDR, HDR10, HLG and others.
    public var dynamicRange: String?
    /// Whether it is interlaced.
    public var interlaced: Bool?
    /// Degrees by which players turn it clockwise.
    public var rotation: Int?
    /// Sample rate in Hz.
    public var sampleRate: Int?
    /// Number of channels.
    public var channels: Int?
    /// Layout of the channels, such as 5.1(side).
    public var layout: String?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A track of a file"
    package static let fields: Fields<Self> = .joined(
        [
            .required("index", \.index, in: .count, "Index in the file"),
            .required("kind", \.kind, "Kind"),
            .optional("codec", \.codec, "FFmpeg's name of the codec"),
            .optional("language", \.language, "Language"),
            .optional("title", \.title, "Title"),
            .optional("duration", \.duration, "Duration in seconds"),
            .optional("bitRate", \.bitRate, in: .count, "Bit rate in bit/s"),
        ],
        [
            .optional("width", \.width, in: .count, "Width in pixels, upright"),
            .optional("height", \.height, in: .count, "Height in pixels, upright"),
            .optional("frameRate", \.frameRate, "Frame rate, such as 30000/1001"),
            .optional("variableFrameRate", \.variableFrameRate, "Whether the times of frames are irregular"),
            .optional("bitDepth", \.bitDepth, in: .count, "Bits per sample"),
            .optional("chroma", \.chroma, "Chroma format, such as 4:2:0"),
            .optional("dynamicRange", \.dynamicRange, "SDR, HDR10, HLG and others"),
            .optional("interlaced", \.interlaced, "Whether it is interlaced"),
            .optional("rotation", \.rotation, in: .range(0...359), "Degrees by which players turn it clockwise"),
        ],
        [
            .optional("sampleRate", \.sampleRate, in: .count, "Sample rate in Hz"),
            .optional("channels", \.channels, in: .count, "Number of channels"),
            .optional("layout", \.layout, "Layout of the channels, such as 5.1(side)"),
        ]
    )
}

/// What a file contains.
public struct MediaReport: APIObject {
    /// FFmpeg's name of the format.
    public var format = ""
    /// Duration in seconds.
    public var duration: Double?
    /// Bit rate in bit/s.
    public var bitRate: Int?
    /// Size in bytes.
    public var size = 0
    /// Tracks, in the order of the file.
    public var tracks: [Track] = []
    /// What is wrong with the file.
    public var problems: [String] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "What a file contains"
    package static let fields: Fields<Self> = [
        .required("format", \.format, "FFmpeg's name of the format"),
        .optional("duration", \.duration, "Duration in seconds"),
        .optional("bitRate", \.bitRate, in: .count, "Bit rate in bit/s"),
        .required("size", \.size, in: .count, "Size in bytes"),
        .required("tracks", \.tracks, "Tracks, in the order of the file"),
        .required("problems", \.problems, "What is wrong with the file"),
    ]
}
